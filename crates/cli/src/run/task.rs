//! An application with its input and config, ready to run on any runtime, in either mode.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::anyhow;
use rimms::{Complex32, Runtime};
use rimms_radar::apps::{Config, Placement, Style, pulse_doppler, radar_correlator, sar, three_zip, two_fft, two_fzf};
use rimms_radar::reception::{self, Echo, Reception};
use rimms_radar::sar::{self as echoes, Brightest, Echoes, cell_m};
use rimms_radar::scene::Scene;
use rimms_radar::{Error, Geometry, Image, Recording, Shape, geometry, input};

use super::report::{Finding, Report};
use crate::cli::{App, RunArgs};
use crate::image::{Axis, Plot};
use crate::output::Failure;

/// Samples of 2FFT, 2FZF and 3ZIP where none are asked for.
const POINTS: usize = 1024;

pub(crate) struct Task {
    app: App,
    input: Input,
    config: Config,
}

enum Input {
    TwoFft(Vec<Complex32>),
    TwoFzf(two_fzf::Input),
    ThreeZip(three_zip::Input),
    RadarCorrelator(Reception, String),
    PulseDoppler(Recording),
    Sar(Echoes),
}

impl Input {
    /// One whose answer is known: of this size, or else of the application's own.
    fn synthetic(app: App, points: Option<usize>, shape: Option<Shape>, pri: Option<f64>) -> Result<Self, Failure> {
        let samples = points.unwrap_or(POINTS);
        Ok(match app {
            App::TwoFft => Self::TwoFft(two_fft::samples(samples)?),
            App::TwoFzf => Self::TwoFzf(two_fzf::Input::synthetic(samples)?),
            App::ThreeZip => Self::ThreeZip(three_zip::Input::synthetic(samples)?),
            App::RadarCorrelator => {
                let reception = Echo::new(points.unwrap_or(reception::STANDARD_SAMPLES))?.reception()?;
                Self::RadarCorrelator(reception, "a synthetic echo".to_owned())
            }
            App::PulseDoppler => {
                let (shape, pri) = (shape.unwrap_or(Shape::STANDARD), pri.unwrap_or(geometry::STANDARD_PRI_S));
                Self::PulseDoppler(Scene::new(Geometry::new(shape, pri)?).recording()?)
            }
            App::Sar => Self::Sar(echoes::Scene::new(shape.unwrap_or_else(echoes::standard_shape))?.echoes()?),
        })
    }
}

impl Task {
    pub(super) fn new(args: &RunArgs) -> Result<Self, Failure> {
        let placement: Placement = args.map.clone().unwrap_or_default();
        placement.check(stages(args.app, args.style))?;
        let points = args.points.map(usize::from);
        let input = match (args.app, &args.input) {
            (App::RadarCorrelator, Some(path)) => {
                Input::RadarCorrelator(received(path, points)?, path.to_string_lossy().into_owned())
            }
            (App::PulseDoppler, Some(path)) => Input::PulseDoppler(input::open(path, args.shape, args.pri)?),
            (App::Sar, Some(path)) => Input::Sar(input::open_echoes(path, args.shape)?),
            (app, _) => Input::synthetic(app, points, args.shape, args.pri)?,
        };
        let RunArgs { style, alloc, repeat, .. } = *args;
        let conj = args.conj.unwrap_or_default();
        Ok(Self {
            app: args.app,
            input,
            config: Config { style, conj, alloc, placement, repeat, picture: args.image.is_some() },
        })
    }

    /// An application on the synthetic input that it has by default, whose answer is known.
    pub(crate) fn synthetic(app: App, config: Config) -> Result<Self, Failure> {
        let input = Input::synthetic(app, None, None, None)?;
        Ok(Self { app, input, config })
    }

    /// The largest `max_error` of an answer that is right, on a synthetic input.
    pub(crate) const fn tolerance(&self) -> f64 {
        match self.app {
            // Of signals with magnitudes of up to 1, 1.5 and 125.
            App::TwoFft | App::TwoFzf => 1e-5,
            App::ThreeZip => 1e-3,
            // The right sample.
            App::RadarCorrelator => 0.0,
            // The right cell; its magnitude is known without the noise.
            App::PulseDoppler => 1e-2,
            App::Sar => 1e-4,
        }
    }

    pub(crate) fn run(&self, rt: &Runtime, repeat: NonZeroUsize) -> Result<Report, Failure> {
        self.run_as(rt, Config { repeat, ..self.config.clone() })
    }

    /// Does once what the application does, wherever the runtime likes: nothing of it is for the first time later.
    pub(super) fn rehearse(&self, rt: &Runtime) -> Result<(), Failure> {
        let Config { style, conj, alloc, .. } = self.config;
        self.run_as(rt, Config { style, conj, alloc, ..Config::default() }).map(drop)
    }

    fn run_as(&self, rt: &Runtime, config: Config) -> Result<Report, Failure> {
        let outcome = match &self.input {
            Input::TwoFft(samples) => two_fft::run(rt, samples, &config)?.map(|_| Finding::Signal {}),
            Input::TwoFzf(signals) => two_fzf::run(rt, signals, &config)?.map(|_| Finding::Signal {}),
            Input::ThreeZip(signals) => three_zip::run(rt, signals, &config)?.map(|_| Finding::Signal {}),
            Input::RadarCorrelator(reception, _) => radar_correlator::run(rt, reception, &config)?.map(Finding::Lag),
            Input::PulseDoppler(recording) => pulse_doppler::run(rt, recording, &config)?.map(Finding::Detection),
            Input::Sar(echoes) => {
                let outcome = sar::run(rt, echoes, &config)?;
                let image = outcome.result.clone();
                let mut outcome = outcome.map(|image| Finding::Image(Brightest::of(image.shape(), image.magnitudes())));
                outcome.picture = config.picture.then_some(image);
                outcome
            }
        };
        outcome.result.check()?;
        Ok(Report::new(self.app.name(), config.style, rt, outcome))
    }

    /// How the picture of a run is to be drawn.
    pub(super) fn plot<'a>(&self, image: &'a Image, found: Finding) -> Plot<'a> {
        let (rows, cols) = (image.shape().rows(), image.shape().cols());
        let name = self.app.name();
        let (title, x, y, peak) = match (&self.input, found) {
            (Input::PulseDoppler(recording), Finding::Detection(d)) => {
                let geometry = recording.geometry();
                let (doppler, delay) = (|row| geometry.doppler_hz(row), |col| geometry.delay_s(col));
                (
                    format!("{name}: {:.6} Hz, {:.6e} s", d.doppler_hz, d.delay_s),
                    Axis::new("delay", "s", delay(0), delay(cols - 1), cols),
                    Axis::new("Doppler shift", "Hz", doppler(0), doppler(rows - 1), rows),
                    (d.peak_row, d.peak_col),
                )
            }
            (_, Finding::Image(b)) => {
                let (along, across) = cell_m(rows, cols);
                (
                    format!("{name}: {:.6} at row {}, column {}", b.peak, b.peak_row, b.peak_col),
                    Axis::new("range behind the nearest echo", "m", 0.0, across * (cols - 1) as f64, cols),
                    Axis::new("place on the way", "m", 0.0, along * (rows - 1) as f64, rows),
                    (b.peak_row, b.peak_col),
                )
            }
            // No other application gives a picture.
            _ => {
                let axis = |what, cells: usize| Axis::new(what, "", 0.0, (cells - 1) as f64, cells);
                (name.to_owned(), axis("column", cols), axis("row", rows), (0, 0))
            }
        };
        Plot { title, image, x, y, peak }
    }

    /// What is known of the answer.
    pub(super) fn truth(&self) -> Option<Finding> {
        match &self.input {
            Input::TwoFft(_) | Input::TwoFzf(_) | Input::ThreeZip(_) => None,
            Input::RadarCorrelator(reception, _) => reception.lag().map(|lag| {
                let energy = reception.reference().iter().map(|x| f64::from(x.norm_sqr())).sum();
                let samples = reception.received().len();
                Finding::Lag(radar_correlator::Lag::at(lag, energy, samples, reception.rate_hz()))
            }),
            Input::PulseDoppler(recording) => recording.truth().map(|truth| Finding::Detection(truth.detection)),
            Input::Sar(echoes) => echoes.image().map(|image| Finding::Image(Brightest::of(echoes.shape(), image))),
        }
    }

    /// What the application works on, for people.
    pub(super) fn input(&self) -> String {
        let from = |path: Option<&Path>| path.map_or("a synthetic scene".into(), Path::to_string_lossy).into_owned();
        match &self.input {
            Input::TwoFft(samples) => format!("{} samples of a chirp", samples.len()),
            Input::TwoFzf(signals) => format!("a chirp of {} samples and two echoes", signals.a().len()),
            Input::ThreeZip(signals) => format!("four signals of {} samples", signals.signals()[0].len()),
            Input::RadarCorrelator(reception, what) => {
                format!("{what}, {} samples, {} Hz", reception.received().len(), reception.rate_hz())
            }
            Input::PulseDoppler(recording) => {
                let (what, geometry) = (from(recording.path()), recording.geometry());
                format!("{what}, {} pulses x samples, PRI {:e} s", geometry.shape(), geometry.pri_s())
            }
            Input::Sar(echoes) => format!("{}, {} places x samples", from(echoes.path()), echoes.shape()),
        }
    }
}

/// What was received, of so many points. Where there are others, the error says how to take them, if that would do.
fn received(path: &Path, points: Option<usize>) -> Result<Reception, Failure> {
    let refused = |error: Error| {
        let there = match error {
            Error::Count { unit: "numbers", found, .. } if found % 2 == 0 => usize::try_from(found / 2).ok(),
            Error::Count { unit: "complex samples", found, .. } => usize::try_from(found).ok(),
            _ => None,
        };
        match there.filter(|there| input::open_reception(path, Some(*there)).is_ok()) {
            Some(there) => anyhow!("{error}; --points {there} takes what is there").into(),
            None => Failure::from(error),
        }
    };
    input::open_reception(path, points).map_err(refused)
}

fn stages(app: App, style: Style) -> &'static [&'static str] {
    match app {
        App::TwoFft => two_fft::STAGES,
        App::TwoFzf => two_fzf::STAGES,
        App::ThreeZip => three_zip::STAGES,
        App::RadarCorrelator => radar_correlator::stages(style),
        App::PulseDoppler => pulse_doppler::stages(style),
        App::Sar => sar::stages(style),
    }
}
