//! `--image`: a PNG file that says what the report says.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::json;

/// Width, height, and red, green and blue of each pixel.
fn read(path: &Path) -> (usize, usize, Vec<u8>) {
    let mut reader = png::Decoder::new(BufReader::new(File::open(path).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    pixels.truncate(info.buffer_size());
    (info.width as usize, info.height as usize, pixels)
}

/// The brightest colour, which the largest cell has, and the top of the colour bar.
const BRIGHTEST: [u8; 3] = [253, 231, 37];

#[test]
fn the_brightest_cell_of_the_picture_is_the_one_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (app, rows, cols, more) in [("pulse-doppler", 128, 128, &[][..]), ("sar", 128, 64, &["--shape", "128x64"])] {
        for style in ["paper", "best"] {
            let path = folder.path().join(format!("{app}-{style}.png"));
            let args = ["run", app, "--json", "--on", "cpu,acc", "--style", style, "--image", path.to_str().unwrap()];
            let report = json(&[&args[..], more].concat());
            assert_eq!(report["copies"], json(&[&args[..7], more].concat())["copies"]);
            let (width, height, pixels) = read(&path);
            // Around the picture there are fixed margins.
            let (left, bottom) = (100, height - 64);
            let (across, up) = ((width - 230) as f64 / cols as f64, (height - 104) as f64 / rows as f64);
            let result = &report["result"];
            let middle = |key: &str, size: f64| ((result[key].as_f64().unwrap() + 0.5) * size) as usize;
            let (x, y) = (left + middle("peak_col", across), bottom - 1 - middle("peak_row", up));
            assert_eq!(pixels[3 * (y * width + x)..][..3], BRIGHTEST, "{app} {style}");
        }
    }
}
