//! What a synthetic scene is known to hold, as it is kept beside the scene (`truth.json`).
//!
//! A truth that was read is checked against the recording it came with by the reader.

use serde::{Deserialize, Serialize};

use crate::scene::Target;
use crate::{Detection, Geometry, Result, Shape};

/// What a scene was made from, and the answer that pulse Doppler should give.
///
/// ```
/// use rimms_radar::scene::Scene;
///
/// let truth = Scene::default().truth();
/// assert_eq!(truth.detection.peak_row, 96);
/// assert!(serde_json::to_string(&truth)?.contains("\"doppler_hz\":"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The cell that the strongest target falls in, and the magnitude it would have there alone
    /// and without noise.
    #[serde(flatten)]
    pub detection: Detection,
    /// Pulses × samples.
    pub shape: Shape,
    /// Pulse-repetition interval in seconds.
    pub pri_s: f64,
    /// The targets.
    pub targets: Vec<Target>,
    /// Root mean square of the complex noise.
    pub noise: f64,
    /// Seed of the noise.
    pub seed: u64,
}

impl Truth {
    /// The shape and interval the scene was made for.
    ///
    /// # Errors
    /// As [`Geometry::new`].
    pub fn geometry(&self) -> Result<Geometry> {
        Geometry::new(self.shape, self.pri_s)
    }
}
