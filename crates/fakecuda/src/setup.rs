//! A folder with the libraries, for processes that are started with it on their library path.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// NVIDIA's libraries, by the names under which they are looked for.
const NAMES: [&str; 4] = ["cuda", "nvrtc", "cufft", "cublas"];

/// A folder that stands for an installation of NVIDIA's driver and libraries. Goes when it is dropped.
///
/// ```no_run
/// let mut command = std::process::Command::new("rimms");
/// let libraries = fakecuda::Libraries::new()?;
/// libraries.use_in(command.arg("devices"));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Libraries {
    folder: TempDir,
}

/// The library that cargo built for the test that is running.
fn built() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let found = test
        .ancestors()
        .skip(1)
        .take(2)
        .flat_map(|folder| ["libfakecuda.so", "deps/libfakecuda.so"].map(|name| folder.join(name)));
    let mut found = found.filter(|path| path.exists());
    found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "libfakecuda.so is not beside the test"))
}

fn link(library: &Path, folder: &Path, name: &str) -> io::Result<()> {
    std::os::unix::fs::symlink(library, folder.join(format!("lib{name}.so")))
}

impl Libraries {
    /// All of them.
    ///
    /// # Errors
    /// Where the library was not built, or the folder cannot be made.
    pub fn new() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let library = built()?;
        NAMES.iter().try_for_each(|name| link(&library, folder.path(), name))?;
        Ok(Self { folder })
    }

    /// All but one: `cuda`, `nvrtc`, `cufft` or `cublas`.
    ///
    /// # Errors
    /// Where there is no such library here.
    pub fn without(self, name: &str) -> io::Result<Self> {
        std::fs::remove_file(self.folder.path().join(format!("lib{name}.so")))?;
        Ok(self)
    }

    /// A library of this name lacks a symbol.
    ///
    /// # Errors
    /// Where it has none by that name.
    pub fn without_symbol(self, name: &str, symbol: &str) -> io::Result<Self> {
        let mut bytes = std::fs::read(built()?)?;
        let wanted = [b"\0", symbol.as_bytes(), b"\0"].concat();
        // In the table of names; a look-up finds another name at its place.
        let places: Vec<usize> =
            bytes.windows(wanted.len()).enumerate().filter(|(_, w)| *w == wanted).map(|(i, _)| i).collect();
        if places.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no symbol {symbol}")));
        }
        for place in places {
            if let Some(byte) = bytes.get_mut(place + 1) {
                *byte = b'X';
            }
        }
        let path = self.folder.path().join(format!("lib{name}.so"));
        std::fs::remove_file(&path)?;
        std::fs::write(path, bytes)?;
        Ok(self)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes it the library path of a command that is about to be run: no other library of these names is found before it, or instead.
    pub fn use_in<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("LD_LIBRARY_PATH", self.path())
    }
}
