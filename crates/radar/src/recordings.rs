//! Where the recorded inputs are, for tests and demonstrations that use them.
//!
//! Recordings are not part of the project. Their folder is the environment variable
//! `RIMMS_RECORDINGS`, else `../shared/data` beside the workspace where that exists.

use std::path::{Path, PathBuf};

/// The path of `relative` (for example `cedr/pulse_doppler`) in the folder of recordings.
///
/// Where `RIMMS_RECORDINGS` is set the path is returned whether or not it exists, so that a test
/// that was told where to look fails rather than skips. `None`, with a line on stderr that says
/// so, means that there are no recordings on this machine and the caller is to be skipped.
///
/// ```
/// let Some(folder) = rimms_radar::recordings::find("cedr/pulse_doppler") else { return };
/// assert!(folder.ends_with("pulse_doppler"));
/// ```
#[must_use]
pub fn find(relative: impl AsRef<Path>) -> Option<PathBuf> {
    let relative = relative.as_ref();
    if let Some(folder) = std::env::var_os("RIMMS_RECORDINGS") {
        return Some(PathBuf::from(folder).join(relative));
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(relative);
    if beside.exists() {
        return Some(beside);
    }
    eprintln!("skipped: no recordings ({}); RIMMS_RECORDINGS names their folder", relative.display());
    None
}
