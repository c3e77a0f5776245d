//! Stdout, stderr, exit codes. The only place that writes to either.
//!
//! A subcommand returns what it has to say. A reader that has gone away is no failure; a full disk is.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use comfy_table::{Table, presets};
use serde::Serialize;

const FAILURE: u8 = 1;
const USAGE: u8 = 2;

/// Why a command came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense, or not together.
    Usage(String),
    /// They do, but it did not work out.
    Failed(anyhow::Error),
    /// It did, and the checkers have found so many mistakes; the result says which.
    Found { result: String, findings: usize },
    /// It did, but files that were to go with the result could not be written.
    Unwritten { result: String, why: String },
}

impl From<rimms_radar::Error> for Failure {
    fn from(error: rimms_radar::Error) -> Self {
        match error {
            rimms_radar::Error::Runtime(error) => error.into(),
            error if error.is_argument() => Self::Usage(error.to_string()),
            // Its message says it all, the system's words included.
            error => Self::Failed(anyhow::Error::msg(error.to_string())),
        }
    }
}

impl From<rimms::Error> for Failure {
    fn from(error: rimms::Error) -> Self {
        match error {
            rimms::Error::Unknown { .. } | rimms::Error::Config(_) => Self::Usage(error.to_string()),
            error => Self::Failed(anyhow::Error::msg(error.to_string())),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Failed(error) => write!(f, "{error:#}"),
            Self::Found { findings: 1, .. } => f.write_str("1 finding"),
            Self::Found { findings, .. } => write!(f, "{findings} findings"),
            Self::Unwritten { why, .. } => f.write_str(why),
        }
    }
}

/// Writes what a subcommand has to say, and gives the exit code.
pub(crate) fn finish(done: Result<String, Failure>) -> ExitCode {
    let said = match done {
        Err(Failure::Found { result, findings }) => {
            to_stdout(&result).and(Err(Failure::Found { result: String::new(), findings }))
        }
        Err(Failure::Unwritten { result, why }) => {
            to_stdout(&result).and(Err(Failure::Unwritten { result: String::new(), why }))
        }
        done => done.and_then(|text| to_stdout(&text)),
    };
    match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            error(&failure.to_string());
            ExitCode::from(match failure {
                Failure::Usage(_) => USAGE,
                Failure::Failed(_) | Failure::Found { .. } | Failure::Unwritten { .. } => FAILURE,
            })
        }
    }
}

/// One JSON object, and nothing else.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).context("the result as JSON")?;
    Ok(text + "\n")
}

/// A table with this header, to be filled.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(header);
    table
}

/// Bytes in a unit that people read.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..0x10_0000 => format!("{:.1} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / 1_048_576.0),
    }
}

/// Seconds likewise.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        _ if s < 1e-3 => format!("{:.1} us", s * 1e6),
        _ if s < 1.0 => format!("{:.3} ms", s * 1e3),
        _ => format!("{s:.3} s"),
    }
}

/// A word to the user that is not part of the result.
pub(crate) fn note(text: &str) {
    // Nobody is told where stderr is closed.
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// What clap found: help and the version on stdout, a mistake as one line on stderr.
pub(crate) fn clap(found: &clap::Error) -> ExitCode {
    if found.exit_code() == 0 {
        return finish(Ok(found.render().to_string()));
    }
    if found.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error("what to do? `--help` lists the subcommands");
        return ExitCode::from(USAGE);
    }
    let text = found.render().to_string();
    let paragraph = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = paragraph.collect::<Vec<_>>().join(" ");
    error(line.strip_prefix("error: ").unwrap_or(&line));
    ExitCode::from(USAGE)
}

fn error(text: &str) {
    // A message is one line and moves no cursor, whatever the names in it.
    let line = text.replace(char::is_control, " ");
    let _ = writeln!(io::stderr(), "error: {line}");
}

fn to_stdout(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(anyhow::Error::new(error).context("stdout")))
        }
        _ => Ok(()),
    }
}
