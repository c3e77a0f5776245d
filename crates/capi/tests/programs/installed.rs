//! The installed package, and programs that are compiled with it as anybody would: with pkg-config, and all warnings.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(crate) const CRATE: &str = env!("CARGO_MANIFEST_DIR");
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// Where the package is installed, with the commands that it takes to use it; `None`, after a note, where these are missing.
static INSTALLED: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    if let Some(missing) = ["gcc", "g++", "pkg-config"].into_iter().find(|command| !is_there(command)) {
        eprintln!("left out: C and C++ programs: {missing} is missing (scripts/test --install fetches it)");
        return None;
    }
    let prefix = Path::new(SCRATCH).join("installed");
    let _ = std::fs::remove_dir_all(&prefix);
    // Beside this test is what cargo has built for it: a build of its own would take a minute, and find nothing more.
    let test = std::env::current_exe().expect("this test");
    let mut install = Command::new(Path::new(CRATE).join("../../scripts/install-c"));
    install.arg("--prefix").arg(&prefix).arg("--built").arg(test.parent().expect("a folder"));
    succeed(&mut install);
    Some(prefix)
});

pub(crate) fn prefix() -> Option<&'static Path> {
    INSTALLED.as_deref()
}

pub(crate) fn is_there(command: &str) -> bool {
    Command::new(command).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What the command printed; fails the test, with all of it, where the command does.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let all = both(&output);
    assert!(output.status.success(), "{command:?}: {}\n{all}", output.status);
    all
}

pub(crate) fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What pkg-config says of the installed package.
pub(crate) fn pkg_config(args: &[&str]) -> Option<Vec<String>> {
    let path = prefix()?.join("lib/pkgconfig");
    let said = succeed(Command::new("pkg-config").args(args).arg("rimms").env("PKG_CONFIG_PATH", path));
    Some(said.split_whitespace().map(str::to_owned).collect())
}

/// A compiled program.
pub(crate) struct Program(PathBuf);

/// Compiles a source of this crate, C or C++ by its name, with these further arguments.
pub(crate) fn compile(source: &str, further: &[&str]) -> Option<Program> {
    let flags = pkg_config(&["--cflags", "--libs"])?;
    Some(compile_with(source, further, &flags))
}

pub(crate) fn compile_with(source: &str, further: &[&str], flags: &[String]) -> Program {
    let (compiler, standard) = if source.ends_with(".cpp") { ("g++", "c++17") } else { ("gcc", "c11") };
    // Another each time: a program that runs cannot be written.
    static PROGRAMS: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{source}{}", further.concat()).replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let program = Path::new(SCRATCH).join(format!("{name}_{}", PROGRAMS.fetch_add(1, Relaxed)));
    let mut command = Command::new(compiler);
    command.arg(format!("-std={standard}")).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]);
    command.args(further).arg(Path::new(CRATE).join(source)).arg("-o").arg(&program).args(flags);
    succeed(command.args(["-lm", "-pthread"]));
    Program(program)
}

impl Program {
    /// Runs it as it is.
    pub(crate) fn command(&self) -> Command {
        Self::with_library(Command::new(&self.0))
    }

    /// Runs it under valgrind; `None`, after a note, where there is none.
    pub(crate) fn under_valgrind(&self) -> Option<Command> {
        if !is_there("valgrind") {
            eprintln!("left out: C programs under valgrind, which is missing (scripts/test --install fetches it)");
            return None;
        }
        let mut command = Self::with_library(Command::new("valgrind"));
        let leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
        // Threads in turn, not in the order in which they happen to get the lock.
        command.args(["--quiet", "--error-exitcode=9", "--fair-sched=yes"]).args(leaks).arg(&self.0);
        Some(command)
    }

    /// Finds the library; is told nothing that the test's own environment says.
    fn with_library(mut command: Command) -> Command {
        let ours = std::env::vars_os().map(|(name, _)| name).filter(|n| n.to_string_lossy().starts_with("RIMMS_"));
        for name in ours {
            command.env_remove(name);
        }
        if let Some(prefix) = prefix() {
            command.env("LD_LIBRARY_PATH", prefix.join("lib"));
        }
        command
    }
}
