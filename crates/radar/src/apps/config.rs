//! How an application is to run.

use std::num::NonZeroUsize;

use super::{Alloc, Conj, Placement, Style};

/// How an application is to run: the same questions for all of them.
///
/// ```
/// use rimms_radar::apps::{Config, Style};
///
/// let config = Config { style: Style::Best, ..Config::default() };
/// assert_eq!(config.repeat.get(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// How it is written; each application says what that means for it.
    pub style: Style,
    /// Where the reference's spectrum is conjugated, in applications that conjugate one: pulse Doppler, radar
    /// correlator.
    pub conj: Conj,
    /// How the rows of a stage are allocated. Programs without rows always have one datum a stage.
    pub alloc: Alloc,
    /// Where the stages run.
    pub placement: Placement,
    /// How often, each time on the same input.
    pub repeat: NonZeroUsize,
    /// Whether pulse Doppler is to hand out the whole range–Doppler map too. It is read after the last run, which is
    /// neither timed nor counted.
    pub picture: bool,
}

impl Default for Config {
    fn default() -> Self {
        let (style, conj, alloc, placement) = Default::default();
        Self { style, conj, alloc, placement, repeat: NonZeroUsize::MIN, picture: false }
    }
}
