//! Which PEs the calls of each stage may go to.

use std::str::FromStr;

use rimms::Runtime;

use crate::{Error, Result};

/// A fixed mapping of stages to PEs, written `stage=PE,stage=PE`. What is not mapped is scheduled.
///
/// Whether the stages and the PEs exist is checked by the application when it starts to run.
///
/// ```
/// use rimms_radar::apps::Placement;
///
/// let placement: Placement = "fft=cpu,ifft=acc0".parse()?;
/// assert!(placement.check(&["fft", "ifft"]).is_ok());
/// assert!(placement.check(&["fft"]).unwrap_err().to_string().contains("known: fft"));
/// assert!("fft".parse::<Placement>().is_err());
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    pairs: Vec<(String, String)>,
}

impl Placement {
    /// The stages that are mapped, with their PEs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(stage, pe)| (stage.as_str(), pe.as_str()))
    }

    /// Every stage is one of those known.
    ///
    /// # Errors
    /// [`Error::Argument`] naming the first that is not, with those there are.
    pub fn check(&self, stages: &[&str]) -> Result<()> {
        match self.iter().find(|(stage, _)| !stages.contains(stage)) {
            Some((stage, pe)) => {
                let problem = format!("no stage `{stage}` here; known: {}", stages.join(", "));
                Err(Error::argument("map", format_args!("{stage}={pe}"), problem))
            }
            None => Ok(()),
        }
    }

    /// The handle through which `stage` makes its calls.
    ///
    /// # Errors
    /// [`Error::Argument`] where it is mapped to a PE that `rt` may not use.
    pub(super) fn on(&self, rt: &Runtime, stage: &str) -> Result<Runtime> {
        let Some((_, name)) = self.iter().find(|(mapped, _)| *mapped == stage) else { return Ok(rt.clone()) };
        let mut known: Vec<&str> = Vec::new();
        for pe in rt.allowed_pes() {
            for name in [pe.kind(), pe.name()] {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        if known.contains(&name) {
            // Of a kind, only those that are allowed.
            let chosen = rt.allowed_pes().filter(|pe| pe.name() == name || pe.kind() == name);
            let names: Vec<&str> = chosen.map(rimms::runtime::Pe::name).collect();
            return Ok(rt.on(&names.join(","))?);
        }
        let problem = format!("no PE `{name}` among those to be used; known: {}", known.join(", "));
        Err(Error::argument("map", format_args!("{stage}={name}"), problem))
    }
}

impl FromStr for Placement {
    type Err = Error;

    fn from_str(text: &str) -> Result<Placement> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split(',') {
            let refuse = |problem: &str| Err(Error::argument("map", pair, problem));
            match pair.split_once('=').map(|(stage, pe)| (stage.trim(), pe.trim())) {
                Some((stage, pe)) if !stage.is_empty() && !pe.is_empty() => {
                    if pairs.iter().any(|(other, _)| other == stage) {
                        return refuse("that stage is mapped twice");
                    }
                    pairs.push((stage.to_owned(), pe.to_owned()));
                }
                _ => return refuse("stage=PE wanted, as in fft=acc0"),
            }
        }
        Ok(Placement { pairs })
    }
}
