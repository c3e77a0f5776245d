//! What an application can be asked to do in more than one way. Each way has a name on command lines.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

macro_rules! named {
    ($type:ident, $what:literal, $($variant:ident = $name:literal),+) => {
        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name used on command lines and in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == text).ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
                    Error::argument($what, text, format!("{} wanted", names.join(" or ")))
                })
            }
        }
    };
}

/// How an application is written.
///
/// ```
/// use rimms_radar::apps::Style;
///
/// assert_eq!("best".parse::<Style>()?, Style::Best);
/// assert!("fast".parse::<Style>().unwrap_err().to_string().contains("paper or best"));
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// As in the paper: one call a row; what is neither FFT nor ZIP is done by host code.
    #[default]
    Paper,
    /// As few calls and copies as there can be: whole matrices, everything on the PEs.
    Best,
}

/// Where the reference's spectrum is conjugated.
///
/// ```
/// use rimms_radar::apps::Conj;
///
/// assert_eq!(Conj::default().to_string(), "device");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Conj {
    /// By the host's code, followed by a plain product.
    Host,
    /// By the product itself (`conj-mul`).
    #[default]
    Device,
}

/// How the rows of a stage are allocated.
///
/// ```
/// use rimms_radar::apps::Alloc;
///
/// assert_eq!("each".parse::<Alloc>()?, Alloc::Each);
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Alloc {
    /// One `hete_Malloc` a row.
    Each,
    /// One `hete_Malloc` a stage, fragmented into rows.
    #[default]
    Fragment,
}

named!(Style, "style", Paper = "paper", Best = "best");
named!(Conj, "conj", Host = "host", Device = "device");
named!(Alloc, "alloc", Each = "each", Fragment = "fragment");
