//! What a run came to. Its serialised form is the command's JSON, described in `docs/json.md`; keys are stable.

use rimms::Runtime;
use rimms::trace::Flow;
use rimms_radar::apps::radar_correlator::Lag;
use rimms_radar::apps::{Outcome, Style, Times, Traffic};
use rimms_radar::sar::Brightest;
use rimms_radar::{Detection, Image};
use serde::Serialize;

use crate::output::Failure;
use crate::watch::{Found, MemCounts, Watched, Watching};

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) app: &'static str,
    pub(super) memory: &'static str,
    /// Data of at least so many bytes are in mode `zero-copy` instead.
    pub(super) zero_copy_from: Option<usize>,
    pub(super) policy: &'static str,
    pub(super) pes: Vec<String>,
    pub(super) style: &'static str,
    pub(crate) result: Answer,
    pub(crate) copies: Directions,
    pub(crate) bytes: Directions,
    pub(crate) time_s: Seconds,
    pub(crate) evictions: u64,
    pub(super) retries: u64,
    /// What the checkers found, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) findings: Option<Vec<Found>>,
    /// What was counted, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mem_counts: Option<Vec<MemCounts>>,
    /// The same run in mode `reference`; it has none itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<Box<Report>>,
    /// For people only.
    #[serde(skip)]
    pub(super) calls_by_pe: Vec<(Box<str>, u64)>,
    /// The picture that the answer was found in, if one is to be drawn.
    #[serde(skip)]
    pub(super) picture: Option<Image>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    #[serde(flatten)]
    pub(super) finding: Finding,
    /// Null where the truth is not known.
    pub(crate) max_error: Option<f64>,
}

/// What an application found.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Finding {
    /// A signal, which is known and not to be found: there are no keys for it.
    Signal {},
    /// A delay.
    Lag(Lag),
    /// A target's Doppler shift and delay.
    Detection(Detection),
    /// The brightest place of an image.
    Image(Brightest),
}

impl Finding {
    /// Finite samples may still be too large for their products.
    pub(super) fn check(self) -> Result<(), Failure> {
        let magnitude = match self {
            Self::Signal {} => 0.0,
            Self::Lag(lag) => lag.magnitude,
            Self::Detection(detection) => detection.magnitude,
            Self::Image(brightest) => brightest.peak,
        };
        if magnitude.is_finite() {
            return Ok(());
        }
        let why =
            anyhow::anyhow!("the largest magnitude is {magnitude}: the samples are too large for single precision");
        Err(Failure::Failed(why))
    }
}

/// Numbers by direction, of copies or of bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Directions {
    pub(super) host_to_device: u64,
    pub(super) device_to_host: u64,
    pub(super) device_to_device: u64,
    #[serde(rename = "final")]
    pub(super) last: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Seconds {
    pub(crate) overall: f64,
    pub(crate) computation: f64,
    pub(crate) allocate: f64,
    pub(crate) fragment: f64,
}

impl Report {
    pub(super) fn new(app: &'static str, style: Style, rt: &Runtime, outcome: Outcome<Finding>) -> Self {
        let Outcome { result: finding, max_error, traffic, times, calls_by_pe, retries, evictions, picture } = outcome;
        let Times { overall, computation, allocate, fragment } = times;
        Self {
            app,
            memory: rt.memory_mode().name(),
            zero_copy_from: rt.zero_copy_from(),
            policy: rt.policy(),
            pes: rt.allowed_pes().map(|pe| pe.name().to_owned()).collect(),
            style: style.name(),
            result: Answer { finding, max_error },
            copies: Directions::of(&traffic, |flow| flow.copies),
            bytes: Directions::of(&traffic, |flow| flow.bytes),
            time_s: Seconds { overall, computation, allocate, fragment },
            evictions,
            retries,
            findings: None,
            mem_counts: None,
            reference: None,
            calls_by_pe,
            picture,
        }
    }

    /// With what was watched on its devices.
    pub(super) fn watched(self, watching: Watching, watched: &Watched) -> Self {
        let findings = watching.check.then(|| watched.found());
        Self { findings, mem_counts: watching.count.then(|| watched.counts()), ..self }
    }

    /// What was found, in both runs.
    pub(super) fn found(&self) -> impl Iterator<Item = &Found> {
        let runs = [Some(self), self.reference.as_deref()];
        runs.into_iter().flatten().flat_map(|run| run.findings.iter().flatten())
    }

    /// With the reference run's report.
    pub(super) fn beside(self, reference: Report) -> Self {
        Self { reference: Some(Box::new(reference)), ..self }
    }
}

impl Directions {
    /// All of them.
    pub(crate) fn total(&self) -> u64 {
        self.host_to_device + self.device_to_host + self.device_to_device + self.last
    }

    fn of(traffic: &Traffic, number: impl Fn(Flow) -> u64) -> Self {
        Self {
            host_to_device: number(traffic.host_to_device),
            device_to_host: number(traffic.device_to_host),
            device_to_device: number(traffic.device_to_device),
            last: number(traffic.last),
        }
    }
}
