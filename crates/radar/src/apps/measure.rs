//! What a run reports, and the one place where runs are counted and timed.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use bytemuck::Pod;
use rimms::trace::{Counters, Flow};
use rimms::{Runtime, View};

use crate::reserve::reserve;
use crate::{Image, Result};

/// An application in the paper's regions.
pub(super) trait Regions {
    type Data;
    type Answer;

    /// Every `hete_Malloc`.
    fn allocate(&self) -> Result<Self::Data>;

    /// Every `fragment`.
    fn fragment(&self, data: &mut Self::Data) -> Result<()>;

    /// Takes the input in and transforms it.
    fn compute(&self, data: &mut Self::Data) -> Result<()>;

    /// Hands the final output on: the host reads what the last op wrote.
    fn relay(&self, data: &Self::Data) -> Result<Self::Answer>;

    /// The picture that the answer was found in, if there is one and it is wanted. Outside the regions: neither timed
    /// nor counted.
    fn picture(&self, _: &Self::Data) -> Result<Option<Image>> {
        Ok(None)
    }
}

/// A run's answer, and what it took.
///
/// ```
/// use rimms::Runtime;
/// use rimms_radar::{apps::pulse_doppler, scene::Scene};
///
/// let rt = Runtime::builder().cpus(1).build()?;
/// let outcome = pulse_doppler::run(&rt, &Scene::default().recording()?, &Default::default())?;
/// assert_eq!(outcome.traffic.copies(), 0);            // all on the host
/// assert!(outcome.times.overall >= outcome.times.computation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<R> {
    /// The answer.
    pub result: R,
    /// How far it is from the truth, where one is known; each application says what is measured.
    pub max_error: Option<f64>,
    /// What was copied, all repetitions together.
    pub traffic: Traffic,
    /// How long it took.
    pub times: Times,
    /// Calls that succeeded, by PE, all repetitions together.
    pub calls_by_pe: Vec<(Box<str>, u64)>,
    /// Calls that failed on one PE and were tried on another.
    pub retries: u64,
    /// Blocks that had to make room for others on a device.
    pub evictions: u64,
    /// The picture that the answer was found in, where the config asks for it.
    pub picture: Option<Image>,
}

impl<R> Outcome<R> {
    /// The same with another form of the answer.
    #[must_use]
    pub fn map<S>(self, form: impl FnOnce(R) -> S) -> Outcome<S> {
        let Self { result, max_error, traffic, times, calls_by_pe, retries, evictions, picture } = self;
        Outcome { result: form(result), max_error, traffic, times, calls_by_pe, retries, evictions, picture }
    }
}

/// Copies and bytes by direction.
///
/// ```
/// use rimms_radar::apps::Traffic;
/// assert_eq!(Traffic::default().copies(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the host to devices.
    pub host_to_device: Flow,
    /// From devices to the host, the final ones apart.
    pub device_to_host: Flow,
    /// Between devices, and within one.
    pub device_to_device: Flow,
    /// The final ones: the host reads what the last op wrote.
    pub last: Flow,
}

impl Traffic {
    /// Copies, the final ones apart.
    #[must_use]
    pub fn copies(&self) -> u64 {
        (self.host_to_device + self.device_to_host + self.device_to_device).copies
    }

    fn plus(self, transformed: &Counters, relayed: &Counters) -> Traffic {
        Traffic {
            host_to_device: self.host_to_device + transformed.host_to_device(),
            device_to_host: self.device_to_host + transformed.device_to_host(),
            device_to_device: self.device_to_device + transformed.device_to_device(),
            last: self.last + relayed.host_to_device() + relayed.device_to_host() + relayed.device_to_device(),
        }
    }
}

/// Times in seconds.
///
/// ```
/// use rimms_radar::apps::Times;
/// let times = Times { overall: 2.5, computation: 1.0, allocate: 0.25, fragment: 0.25 };
/// assert!(times.overall >= times.computation + times.allocate + times.fragment);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Allocation, fragmenting, every Computation, and the release of the memory.
    pub overall: f64,
    /// One Computation: the mean over the repetitions.
    pub computation: f64,
    /// Every `hete_Malloc`.
    pub allocate: f64,
    /// Every `fragment`.
    pub fragment: f64,
}

/// Runs an application, `repeat` times on the same input, and counts and times it.
pub(super) fn measure<A: Regions>(rt: &Runtime, repeat: NonZeroUsize, app: &A) -> Result<Outcome<A::Answer>> {
    let before = rt.counters();
    let (data, allocate) = timed(|| app.allocate());
    let mut data = data?;
    let (fragmented, fragment) = timed(|| app.fragment(&mut data));
    fragmented?;

    let mut computation = Duration::ZERO;
    let mut traffic = Traffic::default();
    let mut left = repeat.get();
    let result = loop {
        let start = rt.counters();
        // Calls are accepted and not waited for: their time counts until the last is done.
        let (computed, transform) = timed(|| app.compute(&mut data).and_then(|()| Ok(rt.finish()?)));
        computed?;
        // Looking at the counters takes time of its own, which is none of the application's.
        let transformed = rt.counters();
        let (answer, relay) = timed(|| app.relay(&data));
        let answer = answer?;
        let end = rt.counters();
        computation += transform + relay;
        traffic = traffic.plus(&transformed.since(&start), &end.since(&transformed));
        left -= 1;
        if left == 0 {
            break answer;
        }
    };
    let run = rt.counters().since(&before);
    let picture = app.picture(&data)?;
    let ((), free) = timed(|| drop(data));

    Ok(Outcome {
        result,
        max_error: None,
        traffic,
        times: Times {
            overall: (allocate + fragment + computation + free).as_secs_f64(),
            computation: computation.as_secs_f64() / repeat.get() as f64,
            allocate: allocate.as_secs_f64(),
            fragment: fragment.as_secs_f64(),
        },
        calls_by_pe: run.calls_by_pe,
        retries: run.retries,
        evictions: run.evictions,
        picture,
    })
}

/// What the host reads of a view, to be handed on.
pub(super) fn copied<T: Pod + Send + Sync>(view: &View<T>) -> Result<Vec<T>> {
    let elements = view.read()?;
    let mut copy = reserve(elements.len(), "the samples of the result")?;
    copy.extend_from_slice(&elements);
    Ok(copy)
}

/// The largest of some errors; NaN is larger than any.
pub(super) fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |a, b| if b.is_nan() || b > a { b } else { a })
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
