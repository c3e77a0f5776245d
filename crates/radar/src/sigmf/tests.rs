use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A folder with a recording `x` of this metadata and data; its `.sigmf-meta`.
fn recording(meta: &str, data: &[u8]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.sigmf-meta");
    fs::write(&path, meta).unwrap();
    fs::write(path.with_extension(DATA), data).unwrap();
    (folder, path)
}

fn meta(datatype: &str, more: &str) -> String {
    format!(
        r#"{{"global": {{"core:datatype": "{datatype}", "core:version": "1.0.0"{more}}}, "captures": [{{"core:sample_start": 0}}], "annotations": []}}"#
    )
}

fn refused(meta: &str, data: &[u8]) -> String {
    let (_folder, path) = recording(meta, data);
    let message = SigMf::open(&path).and_then(SigMf::read).unwrap_err().to_string();
    assert!(message.contains("x.sigmf-") && !message.contains('\n'), "{message:?}");
    message
}

#[test]
fn both_types_are_read_little_endian() {
    let floats: Vec<u8> = [1.5_f32, -2.0, 0.0, 1e-9].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (_folder, path) = recording(&meta("cf32_le", ""), &floats);
    for path in [&path, &path.with_extension(DATA)] {
        let read = SigMf::open(path).unwrap();
        assert_eq!((read.len(), read.sample_rate_hz(), read.is_empty()), (2, None, false));
        assert_eq!(read.read().unwrap(), [Complex32::new(1.5, -2.0), Complex32::new(0.0, 1e-9)]);
    }
    let integers: Vec<u8> = [i16::MIN, i16::MAX, 256, -1].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (_folder, path) = recording(&meta("ci16_le", r#", "core:sample_rate": 1000000"#), &integers);
    let read = SigMf::open(path).unwrap();
    assert_eq!(read.sample_rate_hz(), Some(1e6));
    let full = 32_767.0 / 32_768.0;
    assert_eq!(read.read().unwrap(), [Complex32::new(-1.0, full), Complex32::new(1.0 / 128.0, -1.0 / 32_768.0)]);
}

#[test]
fn what_is_not_read_is_refused_with_what_is_wanted() {
    let zeros = [0; 16];
    for (datatype, more, part) in [
        ("rf32_le", "", "samples of type `rf32_le`; cf32_le or ci16_le wanted"),
        ("cf32_be", "", "`cf32_be`"),
        ("cu8", "", "`cu8`"),
        ("cf32_le", r#", "core:num_channels": 2"#, "2 channels; 1 wanted"),
        ("cf32_le", r#", "core:trailing_bytes": 4"#, "samples alone"),
        ("cf32_le", r#", "core:dataset": "y.bin""#, "samples alone"),
        ("cf32_le", r#", "core:metadata_only": true"#, "samples alone"),
        ("cf32_le", r#", "core:sample_rate": 0"#, "a sample rate of 0"),
        ("cf32_le", r#", "core:sample_rate": "fast""#, "fast"),
        ("cf32_le", r#", "core:num_channels": -1"#, "-1"),
    ] {
        let message = refused(&meta(datatype, more), &zeros);
        assert!(message.contains(part), "{part:?} not in {message}");
    }
    let header = r#"{"global": {"core:datatype": "ci16_le"}, "captures": [{"core:header_bytes": 8}]}"#;
    assert!(refused(header, &zeros).contains("samples alone"));
    for damaged in ["", "{", "[]", "{}", r#"{"global": {}}"#, "\u{0}", r#"{"global": 1}"#] {
        refused(damaged, &zeros);
    }
}

#[test]
fn the_size_of_the_data_is_compared_before_it_is_read() {
    assert!(refused(&meta("cf32_le", ""), &[0; 15]).contains("15 bytes are no whole number of samples of 8 bytes"));
    assert!(refused(&meta("ci16_le", ""), &[0; 2]).contains("of 4 bytes"));
    assert!(refused(&meta("ci16_le", ""), &[]).contains("x.sigmf-data: empty"));
    let nan: Vec<u8> = [0.0, 0.0, f32::NAN, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert!(refused(&meta("cf32_le", ""), &nan).contains("sample 1 is not finite"));
    let (_folder, path) = recording(&meta("cf32_le", ""), &[0; 8]);
    fs::remove_file(path.with_extension(DATA)).unwrap();
    assert!(matches!(SigMf::open(&path), Err(Error::Io { path, .. }) if path.ends_with("x.sigmf-data")));
    fs::create_dir(path.with_extension(DATA)).unwrap();
    assert!(matches!(SigMf::open(&path), Err(Error::NotAFile { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the files hold: samples or an error, no panic.
    #[test]
    fn nothing_panics(mut text in Just(meta("ci16_le", r#", "core:sample_rate": 1e6"#).into_bytes()), changes in prop::collection::vec((0..120_usize, any::<u8>()), 0..4), data in prop::collection::vec(any::<u8>(), 0..24)) {
        for (at, byte) in changes {
            let at = at % text.len();
            text[at] = byte;
        }
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.sigmf-meta");
        fs::write(&path, &text).unwrap();
        fs::write(path.with_extension(DATA), &data).unwrap();
        if let Ok(samples) = SigMf::open(&path).and_then(SigMf::read) {
            prop_assert!(samples.len() == data.len() / 4 || samples.len() == data.len() / 8);
        }
    }
}
