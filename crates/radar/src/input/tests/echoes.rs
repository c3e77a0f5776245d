//! Echoes for SAR, from each format, and the image beside them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::formats::sigmf;
use super::*;
use crate::sar;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn text_with_the_known_image_plain_or_compressed() {
    let folder = folder(&[("rawdata_rda.txt", &numbers(6))]);
    let open = |path: &Path| open_echoes(path, shape("2x3")).unwrap();
    let file = folder.path().join("rawdata_rda.txt");
    assert_eq!(open(folder.path()).image(), None);
    fs::write(folder.path().join("correct_SAR_output.txt.gz"), gzip("0 1 2\n3 4 5.5\n")).unwrap();
    for path in [folder.path(), &file] {
        let echoes = open(path);
        assert_eq!(echoes.samples()[2], Complex32::new(4.0, 5.0));
        assert_eq!(echoes.image().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.5]);
        assert_eq!(echoes.path(), Some(&*file));
    }
    fs::write(folder.path().join("correct_SAR_output.txt"), "9 9 9 9 9 9").unwrap();
    assert_eq!(open(folder.path()).image().unwrap()[0], 9.0, "the plain one first");
}

#[test]
fn arrays_tell_their_shape_and_sigmf_is_told() {
    let folder = TempDir::new().unwrap();
    npy::write(folder.path().join("echoes.npy"), &[3, 2], &[Complex32::I; 6]).unwrap();
    let echoes = open_echoes(folder.path(), None).unwrap();
    assert_eq!((echoes.shape().to_string().as_str(), echoes.image()), ("3x2", None));
    let message = open_echoes(folder.path(), shape("2x3")).unwrap_err().to_string();
    assert!(message.contains("an array of 3x2; 2x3 wanted"), "{message}");
    sigmf(&folder, "echoes", &[(1.0, 2.0); 6]);
    let message = open_echoes(folder.path(), None).unwrap_err().to_string();
    assert!(message.contains("echoes.npy, echoes.sigmf-meta"), "{message}");
    let echoes = open_echoes(folder.path().join("echoes.sigmf-data"), shape("2x3")).unwrap();
    assert_eq!(echoes.samples()[5].im, 2.0);
    let message = open_echoes(folder.path().join("echoes.sigmf-meta"), None).unwrap_err().to_string();
    assert!(message.contains("131072 complex samples wanted (256x512") && message.ends_with("6 found"), "{message}");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = folder(&[("rawdata_rda.txt", &numbers(6))]);
    let image = |text: &str| {
        fs::write(folder.path().join("correct_SAR_output.txt"), text).unwrap();
        open_echoes(folder.path(), shape("2x3")).unwrap_err().to_string()
    };
    let message = image("1 2 3 4 5");
    assert!(message.ends_with("correct_SAR_output.txt: 6 real numbers wanted (an image of 2x3), 5 found"), "{message}");
    assert!(image("1 2 3\n4 x 6").contains("correct_SAR_output.txt:2:3: `x`"));
    let message = open_echoes(folder.path(), None).unwrap_err().to_string();
    assert!(message.contains("262144 numbers wanted (256x512") && message.contains("12 found"), "{message}");
    assert!(open_echoes(folder.path(), shape("1x6")).unwrap_err().is_argument());
    let empty = TempDir::new().unwrap();
    let message = open_echoes(empty.path(), None).unwrap_err().to_string();
    assert!(message.contains("no recording") && message.contains("rawdata_rda.txt, echoes.npy"), "{message}");
    // Damaged compression is the file's error, not silence.
    let damaged = super::folder(&[("rawdata_rda.txt", &numbers(6))]);
    let mut bytes = gzip("0 1 2\n3 4 5.5\n");
    bytes.truncate(bytes.len() / 2);
    fs::write(damaged.path().join("correct_SAR_output.txt.gz"), bytes).unwrap();
    assert!(matches!(open_echoes(damaged.path(), shape("2x3")), Err(Error::Io { .. })));
}

#[test]
fn a_scene_goes_through_a_file() {
    let scene = sar::Scene::new("8x9".parse().unwrap()).unwrap().echoes().unwrap();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("echoes.npy");
    npy::write(&file, &[8, 9], scene.samples()).unwrap();
    assert_eq!(open_echoes(&file, None).unwrap().samples(), scene.samples());
}
