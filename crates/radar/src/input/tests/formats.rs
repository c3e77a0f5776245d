//! Pulses from SigMF, beside text and NumPy.

use super::*;

const FLOATS: &str = r#"{"global": {"core:datatype": "cf32_le"}}"#;

pub(super) fn sigmf(folder: &TempDir, name: &str, samples: &[(f32, f32)]) {
    let bytes: Vec<u8> = samples.iter().flat_map(|(re, im)| [re.to_le_bytes(), im.to_le_bytes()].concat()).collect();
    fs::write(folder.path().join(format!("{name}.sigmf-meta")), FLOATS).unwrap();
    fs::write(folder.path().join(format!("{name}.sigmf-data")), bytes).unwrap();
}

#[test]
fn pulses_and_reference_from_sigmf() {
    let pulses: Vec<(f32, f32)> = (0..6).map(|i| (i as f32, -1.0)).collect();
    for (name, reference, asked) in
        [("pulses_2x3", "pulse_3", None), ("pulses_2x3", "pulse", None), ("pulses", "pulse", shape("2x3"))]
    {
        let folder = TempDir::new().unwrap();
        sigmf(&folder, name, &pulses);
        sigmf(&folder, reference, &pulses[..3]);
        for path in ["", &format!("{name}.sigmf-meta"), &format!("{name}.sigmf-data")] {
            let read = open(folder.path().join(path), asked, None).unwrap();
            assert_eq!(read.geometry().shape().to_string(), "2x3");
            assert_eq!(read.pulses()[5], Complex32::new(5.0, -1.0));
            assert_eq!(read.reference()[2].re, 2.0);
        }
    }
}

#[test]
fn formats_may_be_mixed() {
    let folder = folder(&[("pulse_3.txt", "1 0 0 1 1 1")]);
    sigmf(&folder, "pulses_2x3", &[(1.0, 2.0); 6]);
    assert_eq!(open(folder.path(), None, None).unwrap().reference()[1], Complex32::I);
    // An unknown name takes what stands there alone.
    let other = super::folder(&[("mine.txt", &numbers(6))]);
    sigmf(&other, "pulse", &[(1.0, 2.0); 3]);
    assert_eq!(open(other.path().join("mine.txt"), shape("2x3"), None).unwrap().reference()[0].im, 2.0);
}

#[test]
fn another_number_of_samples_is_refused_with_both_counts() {
    let folder = TempDir::new().unwrap();
    sigmf(&folder, "pulses_2x3", &[(1.0, 2.0); 5]);
    let message = refused(folder.path(), None);
    assert!(
        message.contains("pulses_2x3.sigmf-meta: 6 complex samples wanted (2x3") && message.ends_with("5 found"),
        "{message}"
    );
}
