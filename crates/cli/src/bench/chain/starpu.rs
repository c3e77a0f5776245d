//! Another rival: the chain in StarPU, a runtime that follows data too, where it is installed.
//!
//! Its program (`starpu.c`) is compiled when the benchmark starts, so that nothing of StarPU is needed to build the
//! command, and lies with all that StarPU keeps in a folder that goes with the benchmark. It runs as a child: a lap for
//! each line it is sent, answered with the time that took by the child's own clock and the last element of the output,
//! which whoever asked checks. While it is not asked it waits for the next line and runs no thread. As the others find
//! the caches as those before them left them, so does a lap there: before it the child makes one of as many other chains,
//! which do not count.
//!
//! The benchmark goes on without StarPU wherever there is none, and from where it fails: one note says why.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;

use crate::output;

const PROGRAM: &str = include_str!("starpu.c");
const PACKAGE: &str = "starpu-1.3";
/// How long a lap may take, and the first one: StarPU measures the machine's buses before it, once a folder.
const LAP: Duration = Duration::from_secs(10);
const FIRST_LAP: Duration = Duration::from_secs(120);
/// How long a compiler may take.
const COMPILING: Duration = Duration::from_secs(60);

/// StarPU, as long as it is there and works.
pub(super) struct Rival {
    program: Option<Program>,
    /// With the data of one length.
    running: Option<Running>,
    /// That length, once there is one.
    floats: Option<usize>,
}

impl Rival {
    pub(super) const NAME: &str = "StarPU";

    /// Compiles it.
    pub(super) fn find() -> Self {
        let mut rival = Self { program: None, running: None, floats: None };
        match Program::compiled() {
            Ok(program) => rival.program = Some(program),
            Err(why) => rival.give_up(&why),
        }
        rival
    }

    /// From now on laps are with this kernel on the device of this description, and with this input, all of one value. Of so
    /// many chains the last one counts.
    pub(super) fn start(&mut self, device: &str, source: &str, input: &[f32], chains: usize) {
        let Some(program) = &self.program else { return };
        self.floats = Some(input.len());
        match program.start(device, source, input, chains) {
            Ok(running) => self.running = Some(running),
            Err(why) => self.give_up(&why),
        }
    }

    /// How long a lap took, once its output was seen to be right; `None` without StarPU.
    pub(super) fn lap(&mut self, check: impl FnOnce(Option<f32>) -> Result<()>) -> Option<Duration> {
        let done = self.running.as_mut()?.lap().and_then(|(time, last)| check(Some(last)).map(|()| time));
        done.map_err(|why| self.give_up(&why)).ok()
    }

    fn give_up(&mut self, why: &anyhow::Error) {
        let from = self.floats.map_or_else(String::new, |floats| format!(" from {floats} floats on"));
        output::note(&format!("{} is left out{from}: {why:#}", Self::NAME));
        *self = Self { program: None, running: None, floats: None };
    }
}

/// The compiled program, in a folder that is its home too.
struct Program(TempDir);

impl Program {
    fn compiled() -> Result<Self> {
        let program = Self(tempfile::tempdir().context("no folder to compile in")?);
        let flags = program
            .output_of(Command::new("pkg-config").args(["--cflags", "--libs", PACKAGE]), COMPILING)
            .context("it is not found (it takes pkg-config and Debian's libstarpu-dev)")?;
        fs::write(program.path("chain.c"), PROGRAM).context("its program")?;
        let mut cc = Command::new("cc");
        cc.arg("-O2").arg("-o").args([program.path("chain"), program.path("chain.c")]);
        program.output_of(cc.args(flags.split_whitespace()).arg("-lOpenCL"), COMPILING)?;
        Ok(program)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What a command has to say, and if that is a complaint, its first line.
    fn output_of(&self, command: &mut Command, limit: Duration) -> Result<String> {
        let name = command.get_program().to_string_lossy().into_owned();
        // Files, since what a command leaves behind may hold a pipe open.
        let [said, complaints] = ["stdout", "stderr"].map(|file| self.path(file));
        command.stdin(Stdio::null()).stdout(File::create(&said)?).stderr(File::create(&complaints)?);
        let mut child = command.spawn().with_context(|| format!("{name} cannot be run"))?;
        let start = Instant::now();
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if start.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
                None => {
                    let _ = child.kill();
                    let _ = child.wait();
                    bail!("{name} took more than {limit:?}");
                }
            }
        };
        let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if !status.success() {
            let complaints = text(&complaints)?;
            bail!("{name}: {}", complaints.lines().next().map_or_else(|| status.to_string(), str::to_owned));
        }
        Ok(text(&said)?)
    }

    fn start(&self, device: &str, source: &str, input: &[f32], chains: usize) -> Result<Running> {
        let value = input.first().copied().unwrap_or_default();
        let mut command = Command::new(self.path("chain"));
        command.args([device, source, &input.len().to_string(), &value.to_string(), &chains.to_string()]);
        // What others have set for programs of theirs does not count here.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STARPU_")) {
            command.env_remove(name);
        }
        command.env("STARPU_HOME", self.0.path());
        // A device of any kind; no word where nothing is wrong; and no core that it has to be on.
        command.envs([("STARPU_OPENCL_ON_CPUS", "1"), ("STARPU_SILENT", "1"), ("STARPU_WORKERS_NOBIND", "1")]);
        Running::new(command, &self.path("stderr"), FIRST_LAP)
    }
}

/// A child that makes laps, until it is dropped.
struct Running {
    child: Child,
    ask: ChildStdin,
    answers: Receiver<String>,
    /// What it has to complain of.
    complaints: PathBuf,
    patience: Duration,
}

impl Running {
    fn new(mut command: Command, complaints: &Path, first: Duration) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(complaints).context("a file for its complaints")?);
        let mut child = command.spawn().context("its program cannot be run")?;
        let (Some(ask), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("its program has no pipes");
        };
        let (answer, answers) = mpsc::channel();
        // Ends with the child, or with nobody left to listen.
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| answer.send(line))
        });
        Ok(Self { child, ask, answers, complaints: complaints.to_owned(), patience: first })
    }

    /// How long it took, and the output's last element.
    fn lap(&mut self) -> Result<(Duration, f32)> {
        // One that is gone is noticed by its answer.
        let _ = self.ask.write_all(b"\n");
        let answer = match self.answers.recv_timeout(self.patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => bail!("it gave no answer for {:?}", self.patience),
            Err(RecvTimeoutError::Disconnected) => bail!("it ended: {}", self.complaint()),
        };
        self.patience = LAP;
        parsed(&answer).ok_or_else(|| anyhow!("it answered {answer:?}"))
    }

    fn complaint(&self) -> String {
        let said = fs::read(&self.complaints).unwrap_or_default();
        let last = String::from_utf8_lossy(&said).lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
        last.unwrap_or_else(|| "it gave no reason".to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail for one that is gone, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parsed(answer: &str) -> Option<(Duration, f32)> {
    let (nanoseconds, last) = answer.split_once(' ')?;
    Some((Duration::from_nanos(nanoseconds.parse().ok()?), last.parse().ok()?))
}

#[cfg(test)]
mod tests;
