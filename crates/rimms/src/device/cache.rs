//! Built programs on disk, so that they are built once and not at each start.
//!
//! One file a program and device in `rimms/opencl` or `rimms/cuda` of the user's cache folder
//! (`$XDG_CACHE_HOME`, otherwise `~/.cache`). A file holds all that the build
//! depended on, as text, and a checksum: what belongs to another driver, or is
//! damaged, is not used, and written anew. No cache is no error.

use std::io::Write;
use std::path::PathBuf;

/// Where the program with this key is kept; `None` where the user has no cache folder.
fn file(kind: &str, key: &str) -> Option<PathBuf> {
    let folder = |name, rest: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        // Others are to be ignored, as the specification of these folders has it.
        path.filter(|path| path.is_absolute()).map(|path| path.join(rest))
    };
    let cache = folder("XDG_CACHE_HOME", "").or_else(|| folder("HOME", ".cache"))?;
    Some(cache.join("rimms").join(kind).join(format!("{:016x}.bin", fnv(key.as_bytes()))))
}

/// The binary that was built for this key; `kind` is the folder's name.
pub(super) fn load(kind: &str, key: &str) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file(kind, key)?).ok()?;
    let rest = bytes.strip_prefix(&*head(kind, key))?;
    let (sum, binary) = rest.split_first_chunk()?;
    (u64::from_le_bytes(*sum) == fnv(binary)).then(|| binary.to_vec())
}

/// Keeps it, if that can be done.
pub(super) fn store(kind: &str, key: &str, binary: &[u8]) {
    let Some(path) = file(kind, key) else { return };
    let Some(folder) = path.parent() else { return };
    // Under a name of its own first: whoever reads meanwhile finds the old file or the new one.
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = std::fs::File::create(&part)?;
        file.write_all(&head(kind, key))?;
        file.write_all(&fnv(binary).to_le_bytes())?;
        file.write_all(binary)?;
        std::fs::rename(&part, &path)
    };
    if write().is_err() {
        let _ = std::fs::remove_file(&part);
    }
}

/// The format's name and version, and the key.
fn head(kind: &str, key: &str) -> Vec<u8> {
    [format!("rimms-{kind}-1\n").as_bytes(), &(key.len() as u64).to_le_bytes(), key.as_bytes()].concat()
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
