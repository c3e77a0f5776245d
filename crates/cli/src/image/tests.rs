use rimms_radar::Shape;

use super::*;

fn image(rows: usize, cols: usize, bright: (usize, usize)) -> Image {
    let mut magnitudes = vec![1e-3; rows * cols];
    magnitudes[bright.0 * cols + bright.1] = 2.0;
    Image::new(Shape::new(rows, cols).unwrap(), magnitudes).unwrap()
}

fn plot(image: &Image, peak: (usize, usize)) -> Canvas {
    let (rows, cols) = (image.shape().rows(), image.shape().cols());
    let x = Axis::new("delay", "s", 0.0, 1e-4, cols);
    let y = Axis::new("Doppler", "Hz", -4e3, 4e3, rows);
    Plot { title: "test".to_owned(), image, x, y, peak }.draw()
}

fn labels(axis: &Axis) -> Vec<String> {
    axis.ticks().into_iter().map(|tick| tick.label).collect()
}

#[test]
fn the_brightest_cell_is_bright_where_it_belongs_whatever_the_number_of_cells() {
    for (rows, cols) in [(2, 2), (5, 300), (128, 128), (256, 512), (3000, 2), (900, 1500)] {
        for cell in [(0, 0), (rows - 1, cols - 1), (rows / 3, cols / 2)] {
            let image = image(rows, cols, cell);
            let canvas = plot(&image, cell);
            let (width, height) = canvas.size();
            let (width, height) = (width - LEFT - RIGHT, height - TOP - BOTTOM);
            assert!((LEAST..=MOST).contains(&width) && (LEAST..=MOST).contains(&height));
            let x = LEFT + ((cell.1 as f64 + 0.5) / cols as f64 * width as f64) as usize;
            // Row 0 is at the bottom.
            let y = TOP + height - 1 - ((cell.0 as f64 + 0.5) / rows as f64 * height as f64) as usize;
            assert_eq!(canvas.pixel(x, y), colour::of(1.0), "{rows}x{cols} {cell:?}");
            let bright = |x: usize, y: usize| canvas.pixel(x, y) == colour::of(1.0);
            let area = (0..width).flat_map(|x| (0..height).map(move |y| (LEFT + x, TOP + y)));
            let count = area.filter(|(x, y)| bright(*x, *y)).count();
            let most = (width.div_ceil(cols) + 1) * (height.div_ceil(rows) + 1);
            assert!(count >= 1 && count <= most, "{rows}x{cols}: {count} of {most}");
        }
    }
}

#[test]
fn ticks_are_round_numbers_at_their_places() {
    let axis = Axis::new("delay", "s", 0.0, 1e-4, 101);
    assert_eq!(
        (axis.label().as_str(), labels(&axis)),
        ("delay (µs)", ["0", "20", "40", "60", "80", "100"].map(String::from).to_vec())
    );
    // The edges lie half a cell outside.
    let ticks = axis.ticks();
    assert!((ticks[0].at - 0.5 / 101.0).abs() < 1e-9 && (ticks[5].at - 100.5 / 101.0).abs() < 1e-9, "{ticks:?}");
    let axis = Axis::new("Doppler shift", "Hz", -3906.0, 3968.0, 128);
    assert_eq!(
        (axis.label().as_str(), labels(&axis)),
        ("Doppler shift (kHz)", ["-3", "-2", "-1", "0", "1", "2", "3"].map(String::from).to_vec())
    );
    assert_eq!(labels(&Axis::new("", "dB", -60.0, 0.0, 1)), ["-60", "-50", "-40", "-30", "-20", "-10", "0"]);
    assert_eq!(labels(&Axis::new("", "m", 0.0, 0.5, 6)), ["0", "100", "200", "300", "400", "500"]);
    for (first, last) in [(0.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert!(Axis::new("", "s", first, last, 2).ticks().len() < 20);
    }
}

#[test]
fn decibels_of_nothing_are_dark() {
    assert_eq!((decibels(1.0, 1.0), decibels(0.0, 1.0)), (0.0, -RANGE_DB));
    assert!((decibels(0.1, 1.0) + 20.0).abs() < 1e-6);
    assert_eq!((decibels(0.0, 0.0), decibels(1e-30, 1.0)), (-RANGE_DB, -RANGE_DB));
}

#[test]
fn colours_get_brighter() {
    let luminance = |[r, g, b]: [u8; 3]| 0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b);
    let along: Vec<f64> = (0..=100).map(|i| luminance(colour::of(f64::from(i) / 100.0))).collect();
    assert!(along.windows(2).all(|pair| pair[0] <= pair[1]), "{along:?}");
    assert_eq!((colour::of(-1.0), colour::of(2.0)), (colour::of(0.0), colour::of(1.0)));
}

#[test]
fn letters_are_drawn_and_what_lies_outside_is_not() {
    let mut canvas = Canvas::new(40, 30);
    canvas.text(2, 2, "Hz");
    let ink = |canvas: &Canvas| {
        (0..40).flat_map(|x| (0..30).map(move |y| (x, y))).filter(|(x, y)| canvas.pixel(*x, *y) != WHITE).count()
    };
    let drawn = ink(&canvas);
    assert!(drawn > 20, "{drawn}");
    canvas.text(38, 28, "outside");
    canvas.text_upwards(39, 3, "outside");
    canvas.put(1000, 1000, BLACK);
    let mut turned = Canvas::new(40, 30);
    turned.text_upwards(2, 29, "Hz");
    assert_eq!(ink(&turned), drawn);
}
