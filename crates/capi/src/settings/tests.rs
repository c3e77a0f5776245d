use super::{Settings, find, in_environment};
use crate::error::hete_Error::*;

fn refused(name: &str, value: &str) -> (crate::error::hete_Error, String) {
    let fault = Settings::default().set(name, value).unwrap_err();
    (fault.code, fault.message)
}

#[test]
fn a_name_that_is_not_known_lists_those_that_are() {
    let (code, message) = refused("cpu", "2");
    assert_eq!(code, HETE_ERROR_UNKNOWN);
    assert!(message.contains("`cpu`") && message.contains("cpus, devices, heap, memory"), "{message}");
    let fault = in_environment("RIMMS_MEMROY").unwrap_err();
    assert!(fault.message.contains("RIMMS_MEMORY") && fault.message.contains("RIMMS_CONFIG"), "{}", fault.message);
    assert_eq!(in_environment("RIMMS_TIME_LIMIT").unwrap().name, "time-limit");
    assert!(find("time-limit").is_ok());
}

#[test]
fn a_value_that_cannot_be_is_refused_when_it_is_set() {
    for (name, value, word) in [
        ("cpus", "two", "whole number"),
        ("cpus", "-1", "whole number"),
        ("devices", "gpu0", "opencl, cuda, or acc, fft or zip"),
        ("devices", "acc", "a number"),
        ("devices", "acc0:many", "many"),
        ("devices", "acc0:1MiB:best", "best"),
        ("heap", "best", "best"),
        ("memory", "fast", "valid-set"),
        ("policy", "best", "round-robin"),
        ("fixed-costs", "perhaps", "true or false"),
        ("time-limit", "soon", "whole number"),
        ("watchdog", "often", "whole number"),
        ("trace", "1", "true or false"),
    ] {
        let (code, message) = refused(name, value);
        assert_eq!(code, HETE_ERROR_CONFIG, "{name} {value}");
        assert!(message.starts_with(&format!("{name} = `{value}`: ")) && message.contains(word), "{message}");
    }
}

#[test]
fn the_last_call_goes_before_the_ones_before_it_and_those_before_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "cpus = 3\ndevices = [\"acc0:1MiB:bitset:4096\", \"fft0\"]\ntrace = true\n").unwrap();
    let mut settings = Settings::default();
    settings.set("cpus", "1").unwrap();
    settings.set("cpus", "2").unwrap();
    settings.load(file.path().to_str().unwrap()).unwrap();
    let started = settings.start().unwrap();
    let pes: Vec<&str> = started.all.queued.pes().iter().map(rimms::runtime::Pe::name).collect();
    assert_eq!(pes, ["cpu0", "cpu1", "acc0", "fft0"]);
    assert_eq!(started.all.queued.resources()[1].capacity, Some(1 << 20));
    assert!(started.keeps_trace);
}

#[test]
fn files_are_refused_with_their_name() {
    let refused = |text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let fault = Settings::default().load(file.path().to_str().unwrap()).unwrap_err();
        assert!(fault.message.contains(file.path().to_str().unwrap()), "{}", fault.message);
        (fault.code, fault.message)
    };
    assert_eq!(refused("cpus = [").0, HETE_ERROR_CONFIG);
    assert_eq!(refused("cpus = { n = 1 }").0, HETE_ERROR_CONFIG);
    let (code, message) = refused("polcy = 'eft'");
    assert!(code == HETE_ERROR_UNKNOWN && message.contains("polcy") && message.contains("policy"), "{message}");
    assert_eq!(Settings::default().load("no/such/file.toml").unwrap_err().code, HETE_ERROR_FILE);
}

#[test]
fn costs_that_nobody_names_are_not_gone_by() {
    let mut settings = Settings::default();
    settings.set("fixed-costs", "true").unwrap();
    assert_eq!(settings.start().err().unwrap().code, HETE_ERROR_CONFIG);
    settings.set("costs", "no/such/file.json").unwrap();
    assert_eq!(settings.start().err().unwrap().code, HETE_ERROR_FILE);
}
