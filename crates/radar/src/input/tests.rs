mod echoes;
mod formats;
mod reception;

use std::fs;
use std::path::Path;

use num_complex::Complex32;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::npy;
use crate::scene::Scene;

/// A folder with these files, all text.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn shape(text: &str) -> Option<Shape> {
    Some(text.parse().unwrap())
}

fn refused(path: impl AsRef<Path>, shape: Option<Shape>) -> String {
    let message = open(path, shape, None).unwrap_err().to_string();
    assert!(!message.contains('\n'), "one line: {message:?}");
    message
}

/// `2·samples` numbers: 0 1 2 …
fn numbers(samples: usize) -> String {
    (0..2 * samples).map(|i| format!("{i} ")).collect()
}

#[test]
fn text_is_interleaved_and_any_white_space_separates() {
    let folder = folder(&[("pulses_2x2.txt", "\n1\t-2.5  3e0\r\n+4\x0b5 .5 7.\x0c-0"), ("pulse_2.txt", "1 0 0 1")]);
    let recording = open(folder.path(), None, None).unwrap();
    assert_eq!(
        recording.pulses(),
        [(1.0, -2.5), (3.0, 4.0), (5.0, 0.5), (7.0, 0.0)].map(|(re, im)| Complex32::new(re, im))
    );
    assert_eq!(recording.reference(), [Complex32::ONE, Complex32::I]);
    assert_eq!(recording.geometry().pri_s(), STANDARD_PRI_S);
    assert_eq!(recording.path(), Some(&*folder.path().join("pulses_2x2.txt")));
    assert_eq!(recording.truth(), None);
}

#[test]
fn what_is_not_a_number_is_named_with_line_and_column() {
    for (text, part) in [
        ("1 2 3\n4 x 6 7 8", ":2:3: `x` is not a number"),
        ("1,2 3 4 5 6 7 8", ":1:1: `1,2` is not a number"),
        ("1 2 3 4 5 6 7\n\n\t nan", ":3:3: `nan` is not finite"),
        ("1 2 3 4 5 6 7 inf", ":1:15: `inf` is not finite"),
        ("1 2 3 -infinity", ":1:7: `-infinity` is not finite"),
        ("1 2 1e39", ":1:5: `1e39` is not finite"),
        ("1 2 3 4 5 6 7 8 9 -", ":1:19: `-` is not a number"),
        ("1 2 \u{fffd}", ":1:5: `\\xef\\xbf\\xbd` is not a number"),
        ("1 2\0 3", ":1:3: `2\\x00` is not a number"),
        ("1 0x10", ":1:3: `0x10` is not a number"),
    ] {
        let folder = folder(&[("pulses_2x2.txt", text), ("pulse_2.txt", "1 0 0 1")]);
        let message = refused(folder.path(), None);
        let wanted = format!("pulses_2x2.txt{part}");
        assert!(message.contains(&wanted), "{wanted:?} not in {message:?}");
    }
    let long = "7".repeat(1_000_000);
    let folder = folder(&[("pulses_2x2.txt", &long), ("pulse_2.txt", "1 0 0 1")]);
    let message = refused(folder.path(), None);
    assert!(message.len() < 300 && message.contains("777…` is not a number"), "{message}");
}

#[test]
fn place_is_right_across_read_buffers() {
    // 9 bytes a line, so that numbers straddle the reader's buffers.
    let mut text: String = (0..20_000).map(|_| "1.25 -8.5\n").collect();
    text.push_str("oops");
    let folder = folder(&[("pulses_200x100.txt", &text), ("pulse_100.txt", &numbers(100))]);
    let message = refused(folder.path(), None);
    assert!(message.contains(":20001:1: `oops`"), "{message}");
}

#[test]
fn counts_must_be_exact() {
    let two = ("pulse_2.txt", "1 0 0 1");
    for (found, end) in [
        (6, "8 numbers wanted (2x2 complex samples), 6 found"),
        (7, "7 found (an odd count: the last has no imaginary part)"),
        (9, "9 found (an odd count: the last has no imaginary part)"),
        (10, "8 numbers wanted (2x2 complex samples), 10 found"),
    ] {
        let text: String = (0..found).map(|i| format!("{i}\n")).collect();
        let folder = folder(&[("pulses_2x2.txt", &text), two]);
        let message = refused(folder.path(), None);
        assert!(message.ends_with(end), "{message}");
    }
    for empty in ["", " \n\t "] {
        let folder = folder(&[("pulses_2x2.txt", empty), two]);
        let message = refused(folder.path(), None);
        assert!(message.contains("pulses_2x2.txt: empty, 8 numbers"), "{message}");
    }
    let folder = folder(&[("pulses_2x2.txt", &numbers(4)), ("pulse_2.txt", "1 2 3 4 5 6")]);
    let message = refused(folder.path(), None);
    assert!(message.contains("pulse_2.txt: 4 numbers wanted (a reference pulse of 2"), "{message}");
    assert!(message.ends_with("6 found"), "{message}");
}

#[test]
fn a_shape_far_larger_than_the_file_takes_no_memory() {
    let folder = folder(&[("input_pd_ps.txt", "1 2 3 4"), ("input_pd_pulse.txt", "1 2")]);
    let message = refused(folder.path(), shape("16777216x16777216"));
    assert!(message.contains("562949953421312 numbers wanted"), "{message}");
    assert!(message.ends_with("4 found"), "{message}");
}

#[test]
fn a_shape_picks_the_recording_it_fits() {
    let files = [
        ("pulses_2x2.txt", numbers(4)),
        ("pulse_2.txt", numbers(2)),
        ("input_pd_ps.txt", numbers(6)),
        ("input_pd_pulse.txt", numbers(3)),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    let folder = folder(&files);
    let name_for = |shape| open(folder.path(), shape, None).unwrap().path().unwrap().to_owned();
    assert!(name_for(None).ends_with("pulses_2x2.txt"));
    assert!(name_for(shape("2x2")).ends_with("pulses_2x2.txt"));
    assert!(name_for(shape("2x3")).ends_with("input_pd_ps.txt"));
    let message = refused(folder.path(), shape("4x4"));
    assert!(message.contains("input_pd_ps.txt: 32 numbers wanted (4x4"), "{message}");

    npy::write(folder.path().join("pulses.npy"), &[3, 2], &[Complex32::ONE; 6]).unwrap();
    npy::write(folder.path().join("pulse.npy"), &[2], &[Complex32::ONE; 2]).unwrap();
    assert!(name_for(None).ends_with("pulses_2x2.txt"));
    assert!(name_for(shape("3x2")).ends_with("pulses.npy"));
    assert!(name_for(shape("2x3")).ends_with("input_pd_ps.txt"));

    fs::remove_file(folder.path().join("input_pd_ps.txt")).unwrap();
    let message = refused(folder.path(), shape("4x4"));
    assert!(message.contains("one of 4x4, found pulses_2x2.txt (2x2), pulses.npy (3x2)"));

    fs::write(folder.path().join("pulses_3x3.txt"), numbers(9)).unwrap();
    let message = refused(folder.path(), None);
    assert!(message.contains("which one of pulses_2x2.txt, pulses_3x3.txt?"), "{message}");
}

#[test]
fn a_single_file_finds_its_reference_pulse() {
    let pulses = numbers(4);
    let file = |names: &[&str], main: &str| {
        let two = numbers(2);
        let mut files = vec![(main, pulses.as_str())];
        files.extend(names.iter().map(|name| (*name, two.as_str())));
        let folder = folder(&files);
        let path = folder.path().join(main);
        open(&path, shape("2x2"), None).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(file(&["pulse_2.txt"], "mine.txt"), Ok(()));
    assert_eq!(file(&["input_pd_pulse.txt"], "mine.txt"), Ok(()));
    assert_eq!(file(&["pulse_2.txt", "input_pd_pulse.txt"], "mine.txt"), Ok(()));
    assert_eq!(file(&["input_pd_pulse.txt"], "input_pd_ps.txt"), Ok(()));
    for (names, main, part) in [
        (
            &[][..],
            "mine.txt",
            "looked for pulse_2.txt, pulse_2.npy, pulse_2.sigmf-meta, input_pd_pulse.txt, pulse.npy, pulse.sigmf-meta",
        ),
        (&["pulse_2.txt"], "input_pd_ps.txt", "looked for input_pd_pulse.txt"),
        (&["input_pd_pulse.txt"], "pulses_2x2.txt", "looked for pulse_2.txt"),
        (&["input_pd_pulse.txt", "pulse.npy"], "mine.txt", "which one of input_pd_pulse.txt, p"),
    ] {
        let message = file(names, main).unwrap_err();
        assert!(message.contains(part), "{part:?} not in {message:?}");
    }
}

#[test]
fn numpy_recordings() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let samples: Vec<Complex32> = (0..6).map(|i| Complex32::new(i as f32, 1.0)).collect();
    npy::write(at("pulses.npy"), &[2, 3], &samples).unwrap();
    npy::write(at("pulse.npy"), &[1, 3], &samples[..3]).unwrap();
    let recording = open(folder.path(), None, Some(1e-3)).unwrap();
    assert_eq!(recording.geometry().shape(), "2x3".parse().unwrap());
    assert_eq!((recording.pulses(), recording.geometry().pri_s()), (&samples[..], 1e-3));
    assert!(refused(at("pulses.npy"), shape("3x2")).contains("an array of 2x3; 3x2 wanted"));

    npy::write(at("pulses.npy"), &[6], &samples).unwrap();
    assert!(open(folder.path(), shape("2x3"), None).is_ok());
    let message = refused(folder.path(), None);
    assert!(message.ends_with("8192 complex samples wanted (128x64 complex samples), 6 found"));

    npy::write(at("pulse.npy"), &[4], &samples[..4]).unwrap();
    let message = refused(folder.path(), shape("2x3"));
    assert!(message.contains("pulse.npy: 3 complex samples wanted"), "{message}");
    npy::write(at("pulse.npy"), &[2, 3], &samples).unwrap();
    assert!(refused(folder.path(), shape("2x3")).contains("an array of 2x3; one pulse wanted"));

    // What a file is shows in its first bytes, whatever its name.
    fs::rename(at("pulses.npy"), at("pulses_2x3.txt")).unwrap();
    npy::write(at("pulse_3.npy"), &[3, 1], &samples[..3]).unwrap();
    assert_eq!(open(folder.path(), None, None).unwrap().pulses(), samples);
}

#[test]
fn what_is_not_there_or_not_a_file() {
    assert!(refused("there/is/no/such/place", None).contains("there/is/no/such/place: "));
    let folder = folder(&[("readme.txt", "1 2 3")]);
    assert!(refused(folder.path(), None).contains("no recording here, looked for pulses_RxC.txt"));
    fs::create_dir(folder.path().join("pulses_2x2.txt")).unwrap();
    assert!(refused(folder.path(), None).contains("no recording here"));
    fs::create_dir(folder.path().join("pulse_2.txt")).unwrap();
    fs::write(folder.path().join("mine.txt"), numbers(4)).unwrap();
    let message = refused(folder.path().join("mine.txt"), shape("2x2"));
    assert!(message.ends_with("pulse_2.txt: not a regular file"), "{message}");
    #[cfg(unix)]
    assert!(refused("/dev/zero", None).ends_with("not a regular file"));
    fs::write(folder.path().join("pulses_0x9.txt"), "1").unwrap();
    assert!(refused(folder.path().join("pulses_0x9.txt"), None).contains("pulses_0x9.txt"));
    let message = refused(folder.path().join("mine.txt"), shape("1x4"));
    assert!(message.contains("at least 2 rows"), "{message}");
}

#[test]
fn a_truth_belongs_to_its_recording() {
    let folder = TempDir::new().unwrap();
    let scene = Scene::default();
    scene.write(folder.path()).unwrap();
    let truth = |pri| open(folder.path(), None, pri).unwrap().truth().unwrap().clone();
    assert_eq!(truth(None), scene.truth());
    let slower = truth(Some(2.54e-4));
    let relative = slower.detection.doppler_hz / scene.truth().detection.doppler_hz;
    assert!((relative - 0.5).abs() < 1e-12);
    assert!((slower.targets[0].delay_s / scene.truth().targets[0].delay_s - 2.0).abs() < 1e-12);

    let path = folder.path().join("truth.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, part) in [
        ("128x64", "64x128", "it is about 64x128, the recording is 128x64"),
        ("128x64", "0x64", "at least 1"),
        ("0.000127", "0.0", "PRI"),
        ("\"peak_row\": 96", "\"peak_row\": 128", "its peak (128, 87) lies outside"),
        ("\"seed\": 1", "\"seed\": -1", "line"),
        ("{", "", "line 2 column"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        fs::write(&path, changed).unwrap();
        let message = refused(folder.path(), None);
        assert!(message.contains("truth.json: ") && message.contains(part), "{message}");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(open(folder.path(), None, None).unwrap().truth(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any bytes at all are read or refused in one line.
    #[test]
    fn no_text_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = folder(&[("pulse_2.txt", "1 0 0 1")]);
        let path = folder.path().join("pulses_2x2.txt");
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = open(&path, None, None) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    /// Numbers come back as the standard library reads them.
    #[test]
    fn numbers_round_trip(samples in prop::collection::vec((-1e30_f32..1e30, -1e-3_f32..1e-3), 4..5)) {
        let text: String = samples.iter().map(|(re, im)| format!("{re} {im:e}\n")).collect();
        let folder = folder(&[("pulses_2x2.txt", &text), ("pulse_2.txt", "1 0 0 1")]);
        let read = open(folder.path(), None, None).unwrap();
        let wanted: Vec<_> = samples.iter().map(|&(re, im)| Complex32::new(re, im)).collect();
        prop_assert_eq!(read.pulses(), wanted);
    }
}
