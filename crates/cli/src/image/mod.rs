//! `--image`: magnitudes as a picture, with axes, units and a colour bar, in a PNG file.
//!
//! [`Plot`] lays the picture out; [`axis`] finds round numbers for ticks, [`colour`] turns decibels into colours,
//! [`canvas`] puts pixels, letters and lines where they are told.
//!
//! Magnitudes are shown in decibels below the largest. Each pixel shows the largest of the cells that it covers, so
//! that no peak is lost however many cells there are.

mod axis;
mod canvas;
mod colour;
#[cfg(test)]
mod tests;

use std::io::Write;

use rimms_radar::Image;

pub(crate) use axis::Axis;
use canvas::{BLACK, Canvas, LETTER, LINE, WHITE};

/// Decibels from the largest magnitude to what is drawn darkest.
const RANGE_DB: f64 = 60.0;

/// Pixels of the picture proper: not fewer in either direction, and a whole number for each cell while that is not more.
const LEAST: usize = 384;
const MOST: usize = 768;

/// Pixels around it.
const LEFT: usize = 100;
const RIGHT: usize = 130;
const TOP: usize = 40;
const BOTTOM: usize = 64;
const TICK: usize = 6;
const BAR: usize = 24;

/// A picture to be drawn.
#[derive(Debug)]
pub(crate) struct Plot<'a> {
    pub(crate) title: String,
    pub(crate) image: &'a Image,
    /// Along columns, to the right.
    pub(crate) x: Axis,
    /// Along rows, upwards.
    pub(crate) y: Axis,
    /// The cell to be marked: row and column.
    pub(crate) peak: (usize, usize),
}

impl Plot<'_> {
    /// Draws it, as a PNG file.
    pub(crate) fn write(&self, out: impl Write) -> anyhow::Result<()> {
        self.draw().write(out)
    }

    fn draw(&self) -> Canvas {
        let shape = self.image.shape();
        let (width, height) = (pixels(shape.cols()), pixels(shape.rows()));
        let mut canvas = Canvas::new(LEFT + width + RIGHT, TOP + height + BOTTOM);
        let largest = self.image.magnitudes().iter().copied().fold(0.0, f32::max);
        for y in 0..height {
            // Row 0 is at the bottom.
            let rows = covered(height - 1 - y, height, shape.rows());
            for x in 0..width {
                let cols = covered(x, width, shape.cols());
                let cells = self.image.rows().skip(rows.start).take(rows.len());
                let value = cells.flat_map(|row| row.get(cols.clone()).unwrap_or_default()).copied();
                let decibels = decibels(value.fold(0.0, f32::max), largest);
                canvas.put(LEFT + x, TOP + y, colour::of(1.0 + decibels / RANGE_DB));
            }
        }
        canvas.frame(LEFT, TOP, width, height);
        canvas.text(LEFT, TOP - LINE - 8, &self.title);
        self.x_axis(&mut canvas, width, height);
        self.y_axis(&mut canvas, height);
        bar(&mut canvas, LEFT + width + 24, height);
        self.mark(&mut canvas, width, height);
        canvas
    }

    fn x_axis(&self, canvas: &mut Canvas, width: usize, height: usize) {
        let bottom = TOP + height;
        for tick in self.x.ticks() {
            let x = LEFT + place(tick.at, width);
            canvas.column(x, bottom, TICK, BLACK);
            canvas.text(x.saturating_sub(tick.label.len() * LETTER / 2), bottom + TICK + 2, &tick.label);
        }
        let label = self.x.label();
        let middle = LEFT + width / 2;
        canvas.text(middle.saturating_sub(label.chars().count() * LETTER / 2), bottom + TICK + LINE + 8, &label);
    }

    fn y_axis(&self, canvas: &mut Canvas, height: usize) {
        for tick in self.y.ticks() {
            let y = TOP + place(1.0 - tick.at, height);
            canvas.row(LEFT - TICK, y, TICK, BLACK);
            let x = (LEFT - TICK - 4).saturating_sub(tick.label.len() * LETTER);
            canvas.text(x, y.saturating_sub(LINE / 2), &tick.label);
        }
        let label = self.y.label();
        let below_middle = TOP + height / 2 + label.chars().count() * LETTER / 2;
        canvas.text_upwards(4, below_middle, &label);
    }

    /// A ring of one pixel around the peak.
    fn mark(&self, canvas: &mut Canvas, width: usize, height: usize) {
        let shape = self.image.shape();
        let centre = |cell: usize, cells: usize, pixels: usize| place((cell as f64 + 0.5) / cells as f64, pixels);
        let x = LEFT + centre(self.peak.1, shape.cols(), width);
        let y = TOP + height - 1 - centre(self.peak.0, shape.rows(), height);
        let inside = |x: usize, y: usize| (LEFT..LEFT + width).contains(&x) && (TOP..TOP + height).contains(&y);
        let radius = 12_i64;
        for (dx, dy) in (-radius..=radius).flat_map(|dx| (-radius..=radius).map(move |dy| (dx, dy))) {
            let distance = ((dx * dx + dy * dy) as f64).sqrt();
            let (x, y) = (x as i64 + dx, y as i64 + dy);
            if let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y))
                && (distance - radius as f64).abs() < 0.6
                && inside(x, y)
            {
                canvas.put(x, y, WHITE);
            }
        }
    }
}

/// The colour bar, as high as the picture.
fn bar(canvas: &mut Canvas, left: usize, height: usize) {
    for y in 0..height {
        let value = 1.0 - y as f64 / (height - 1) as f64;
        canvas.row(left, TOP + y, BAR, colour::of(value));
    }
    canvas.frame(left, TOP, BAR, height);
    for tick in Axis::new("", "dB", -RANGE_DB, 0.0, 1).ticks() {
        let y = TOP + place(1.0 - tick.at, height);
        canvas.row(left + BAR, y, TICK, BLACK);
        canvas.text(left + BAR + TICK + 4, y.saturating_sub(LINE / 2), &tick.label);
    }
    canvas.text(left, TOP + height + TICK + 2, "dB of the");
    canvas.text(left, TOP + height + TICK + 2 + LINE, "largest");
}

/// How many pixels so many cells take.
fn pixels(cells: usize) -> usize {
    let each = (MOST / cells.max(1)).max(1);
    (cells.saturating_mul(each)).clamp(LEAST, MOST)
}

/// The cells that pixel `at` of `pixels` shows: at least one.
fn covered(at: usize, pixels: usize, cells: usize) -> std::ops::Range<usize> {
    // Cells are fewer than memory has bytes: the product fits 128 bits.
    let cell = |at: usize| (at as u128 * cells as u128 / pixels as u128) as usize;
    let first = cell(at).min(cells - 1);
    first..cell(at + 1).clamp(first + 1, cells)
}

/// A place from 0 to 1 as a pixel of so many.
fn place(at: f64, pixels: usize) -> usize {
    ((at * pixels as f64) as usize).min(pixels - 1)
}

/// From −[`RANGE_DB`] to 0.
fn decibels(value: f32, largest: f32) -> f64 {
    let ratio = f64::from(value) / f64::from(largest);
    // Where all is 0, nothing is bright.
    if ratio > 0.0 { (20.0 * ratio.log10()).max(-RANGE_DB) } else { -RANGE_DB }
}
