//! What the radar correlator works on, from each format.

use super::formats::sigmf;
use super::*;

#[test]
fn received_and_reference_of_any_format() {
    let folder = folder(&[("reference.txt", "1 0 0 0 0 0")]);
    sigmf(&folder, "received", &[(0.0, 0.0), (0.0, 1.0), (0.0, 0.0)]);
    fs::write(
        folder.path().join("received.sigmf-meta"),
        r#"{"global": {"core:datatype": "cf32_le", "core:sample_rate": 5e3}}"#,
    )
    .unwrap();
    for path in ["", "received.sigmf-data"] {
        let read = open_reception(folder.path().join(path), None).unwrap();
        assert_eq!((read.received()[1], read.reference()[0]), (Complex32::I, Complex32::ONE));
        assert_eq!((read.rate_hz(), read.lag()), (5e3, None));
    }
}

#[test]
fn the_older_recording_is_made_from_its_times() {
    // φ = π·(5e5/5.12e-4)·t²: 0, and a quarter of a turn for t² = 5.12e-10.
    let folder = folder(&[("received_input.txt", "1 0 0 1"), ("time_input.txt", "0 2.2627417e-5")]);
    let read = open_reception(folder.path(), Some(2)).unwrap();
    let [first, second] = read.reference() else { panic!("two") };
    assert!((first - Complex32::I).norm() < 1e-6, "{first}");
    assert!((second - Complex32::ONE).norm() < 1e-4, "{second}");
    assert!((read.rate_hz() * 2.2627417e-5 - 1.0).abs() < 1e-6);
}

#[test]
fn what_is_wrong_is_named() {
    let message = |path: &Path, samples| open_reception(path, samples).unwrap_err().to_string();
    let alone = folder(&[("received.txt", "1 0 0 1")]);
    assert!(message(alone.path(), Some(2)).contains("no reference pulse beside it, looked for reference.txt"));
    assert!(message(alone.path(), None).contains("512 numbers wanted (a signal of 256 complex samples), 4 found"));
    let short = folder(&[("received.txt", "1 0 0 1"), ("reference.txt", "1 0")]);
    assert!(message(short.path(), Some(2)).contains("reference.txt: 4 numbers wanted"));
    for times in ["0 0", "1 0"] {
        let still = folder(&[("received_input.txt", "1 0 0 1"), ("time_input.txt", times)]);
        assert!(message(still.path(), Some(2)).contains("rate"), "{times}");
    }
    let one = folder(&[("received_input.txt", "1 0"), ("time_input.txt", "0")]);
    assert!(message(one.path(), Some(1)).contains("rate"));
    let empty = TempDir::new().unwrap();
    assert!(
        message(empty.path(), None).contains("received.txt, received.npy, received.sigmf-meta, received_input.txt")
    );
    npy::write(empty.path().join("received.npy"), &[2, 2], &[Complex32::ONE; 4]).unwrap();
    assert!(message(empty.path(), None).contains("an array of 2x2; one signal wanted"));
}
