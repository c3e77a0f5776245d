//! The command as its users meet it: the built binary, its exit codes, stdout and stderr.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod costs;
mod cuda;
mod errors;
mod images;
mod json;
mod opencl;
mod output;
mod recordings;
mod scenes;
mod trace;
mod watch;

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What came of a command.
#[derive(Debug)]
struct Done {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn command(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rimms"));
    // Without OpenCL drivers and GPUs, wherever there are some: the accelerators are the simulated ones.
    command.args(args).stdin(Stdio::null()).env("OCL_ICD_VENDORS", "/nowhere/").env("CUDA_VISIBLE_DEVICES", "");
    command
}

fn done(mut command: Command) -> Done {
    let output = command.output().unwrap();
    Done {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn rimms(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Done {
    done(command(args))
}

/// A command that succeeds with one JSON object and nothing else on stdout.
fn json(args: &[&str]) -> Value {
    let done = rimms(args);
    assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {done:?}"))
}
