//! Drivers as Debian's packages install them, and tests run with one of them alone.

use crate::child::succeeds;
use std::path::PathBuf;
use std::process::Command;

/// A driver, chosen by the environment.
pub(crate) struct Driver {
    name: &'static str,
    /// What the loader is to find: the file that names it, or its library.
    icd: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Driver {
    /// Two devices in one platform.
    pub(crate) fn pocl() -> Self {
        let environment = vec![("POCL_DEVICES", "pthread basic".into())];
        Self { name: "PoCL", icd: "/etc/OpenCL/vendors/pocl.icd".into(), environment }
    }

    /// The one of them that works in threads of its own: two, however many processors there are.
    pub(crate) fn pocl_threads() -> Self {
        let environment = [("POCL_DEVICES", "pthread"), ("POCL_MAX_PTHREAD_COUNT", "2")];
        Self { environment: environment.map(|(name, value)| (name, value.into())).into(), ..Self::pocl() }
    }

    /// Two of those.
    pub(crate) fn pocl_threads_twice() -> Self {
        Self { environment: vec![("POCL_DEVICES", "pthread pthread".into())], ..Self::pocl() }
    }

    /// Mesa's, on the processors.
    pub(crate) fn rusticl() -> Self {
        let environment = vec![("RUSTICL_ENABLE", "llvmpipe".into())];
        Self { name: "rusticl", icd: "/etc/OpenCL/vendors/rusticl.icd".into(), environment }
    }

    /// A simulator that checks each access of a kernel.
    pub(crate) fn oclgrind() -> Self {
        Self { name: "Oclgrind", icd: "/usr/lib/oclgrind/liboclgrind-rt-icd.so".into(), environment: Vec::new() }
    }

    fn is_here(&self) -> bool {
        if !self.icd.exists() {
            println!("left out: {} is not here", self.name);
        }
        self.icd.exists()
    }

    /// Runs the tests whose names begin so with the driver.
    pub(crate) fn passes(&self, tests: &str) {
        if self.is_here() {
            succeeds(self.command(tests), &format!("{tests} with {}", self.name));
        }
    }

    /// The same with a driver that logs what it finds wrong: nothing may be.
    pub(crate) fn finds_nothing(&self, tests: &str) {
        if !self.is_here() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (icd, log) = (folder.path().join("oclgrind.icd"), folder.path().join("log"));
        std::fs::write(&icd, format!("{}\n", self.icd.display())).unwrap();
        let mut command = self.command(tests);
        command
            .env("OCL_ICD_VENDORS", icd)
            .env("OCLGRIND_LOG", &log)
            .env("OCLGRIND_CHECK_API", "1")
            .env("OCLGRIND_DATA_RACES", "1");
        succeeds(command, &format!("{tests} with {}", self.name));
        let found = std::fs::read_to_string(log).unwrap_or_default();
        assert!(found.is_empty(), "{found}");
    }

    fn command(&self, tests: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", tests, "--nocapture", "--test-threads=1"]);
        command.env("OCL_ICD_VENDORS", &self.icd).envs(self.environment.iter().cloned());
        // Programs are kept in the build's folder, not the user's, but from one run to the next; apart, since one test
        // damages them.
        let cache = format!("{}/{}-{}", env!("CARGO_TARGET_TMPDIR"), self.name, tests.replace(':', "-"));
        command.env("XDG_CACHE_HOME", cache);
        command
    }
}
