//! Radar applications for rimms, and what they need around them: readers for recorded pulses,
//! synthetic scenes with known answers, and a float64 oracle. Only [`apps`] knows the runtime.
//!
//! | module | what it owns |
//! | --- | --- |
//! | [`apps`] | the applications: 2FFT, 2FZF, 3ZIP, radar correlator, pulse Doppler, SAR |
//! | [`geometry`] | which Doppler and delay a cell of the range–Doppler map stands for |
//! | [`input`] | recordings from text, NumPy and SigMF files |
//! | [`npy`] | the subset of NumPy's file format that recordings use |
//! | [`sigmf`] | SigMF recordings of complex samples |
//! | [`scene`] | synthetic scenes for pulse Doppler, and the truth they were made from |
//! | [`reception`] | a signal and what was received of it, for the radar correlator, recorded or synthetic |
//! | [`sar`] | echoes, the references they are focused with, and synthetic scenes, for SAR |
//! | [`oracle`] | the radar applications again, in float64 and in the simplest way |
//! | [`recordings`] | where recorded inputs are found, for tests |
//!
//! ```
//! use rimms_radar::{oracle, scene::Scene};
//!
//! let scene = Scene::default();
//! let recording = scene.recording()?;
//! let found = oracle::range_doppler(&recording)?.peak();
//! assert_eq!(found.doppler_hz, scene.truth().detection.doppler_hz);
//! # Ok::<(), rimms_radar::Error>(())
//! ```

pub mod apps;
pub mod geometry;
pub mod input;
pub mod npy;
pub mod oracle;
pub mod reception;
pub mod recordings;
pub mod sar;
pub mod scene;
pub mod sigmf;

mod error;
mod image;
mod reserve;
mod shape;
mod truth;

pub use error::{Error, Result};
pub use geometry::{Detection, Geometry};
pub use image::Image;
pub use input::Recording;
pub use shape::Shape;
pub use truth::Truth;
