#![allow(clippy::unwrap_used)]

use super::*;

/// A child of these words in place of StarPU's, and a folder for what it complains of.
fn running(script: &str, first: Duration) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    (Running::new(command, &folder.path().join("stderr"), first).unwrap(), folder)
}

fn failure(script: &str) -> String {
    let (mut child, _folder) = running(script, LAP);
    child.lap().unwrap_err().to_string()
}

#[test]
fn each_lap_is_asked_for_and_answered() {
    let (mut child, _folder) = running("n=1; while read line; do echo $((n * 1000)) $n.5; n=$((n + 1)); done", LAP);
    for n in 1..4_u8 {
        assert_eq!(child.lap().unwrap(), (Duration::from_micros(n.into()), f32::from(n) + 0.5));
    }
}

#[test]
fn one_that_hangs_is_not_waited_for_and_ends_with_its_owner() {
    let (mut child, folder) = running("echo $$ >&2; exec sleep 1000", Duration::from_millis(300));
    assert_eq!(child.lap().unwrap_err().to_string(), "it gave no answer for 300ms");
    let id = fs::read_to_string(folder.path().join("stderr")).unwrap();
    let is_there = |id: &str| Path::new("/proc").join(id.trim()).exists();
    assert!(is_there(&id) || !cfg!(target_os = "linux"));
    drop(child);
    assert!(!is_there(&id));
}

#[test]
fn one_that_ends_has_the_last_word() {
    assert_eq!(failure("echo a; exit"), "it answered \"a\"");
    assert_eq!(failure("echo 12 x; exit"), "it answered \"12 x\"");
    assert_eq!(failure("exit 77"), "it ended: it gave no reason");
    assert_eq!(failure("printf 'much\\nno worker\\n\\n' >&2; exit 1"), "it ended: no worker");
}

#[test]
fn once_it_has_failed_it_is_left_out() {
    let (child, folder) = running("read line; echo 5 2.0; read line; echo 7 3.0; read line; echo 9 2.0", LAP);
    let mut rival = Rival { program: Some(Program(folder)), running: Some(child), floats: Some(1) };
    let is_two = |last: Option<f32>| if last == Some(2.0) { Ok(()) } else { Err(anyhow!("{last:?} is wrong")) };
    assert_eq!(rival.lap(is_two), Some(Duration::from_nanos(5)));
    assert_eq!(rival.lap(is_two), None);
    assert_eq!(rival.lap(is_two), None);
    rival.start("device", "source", &[1.0], 1);
    assert!(rival.program.is_none() && rival.running.is_none());
}

#[test]
fn commands_are_named_with_what_they_complain_of() {
    let program = Program(tempfile::tempdir().unwrap());
    let failure = |command: &mut Command| format!("{:#}", program.output_of(command, LAP).unwrap_err());
    let said = failure(&mut Command::new("no-such-command"));
    assert!(said.starts_with("no-such-command cannot be run: "), "{said}");
    assert_eq!(failure(Command::new("sh").args(["-c", "echo so >&2; echo that is >&2; exit 1"])), "sh: so");
    assert_eq!(failure(Command::new("sh").args(["-c", "kill -9 $$"])), "sh: signal: 9 (SIGKILL)");
    assert_eq!(program.output_of(Command::new("sh").args(["-c", "echo a b"]), LAP).unwrap(), "a b\n");
    // One that does not end, and one that leaves somebody behind who holds its output open.
    let late = program.output_of(Command::new("sleep").arg("1000"), Duration::from_millis(30)).unwrap_err();
    assert_eq!(late.to_string(), "sleep took more than 30ms");
    program.output_of(Command::new("sh").args(["-c", "sleep 5 &"]), LAP).unwrap();
}
