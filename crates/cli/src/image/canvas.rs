//! Pixels, lines and letters. What lies outside is not drawn.

use std::io::{BufWriter, Write};

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

pub(super) type Colour = [u8; 3];
pub(super) const BLACK: Colour = [0; 3];
pub(super) const WHITE: Colour = [255; 3];

/// Pixels of a letter, and of a line of them.
pub(super) const LETTER: usize = get_raster_width(WEIGHT, HEIGHT);
pub(super) const LINE: usize = HEIGHT.val();
const WEIGHT: FontWeight = FontWeight::Regular;
const HEIGHT: RasterHeight = RasterHeight::Size16;

/// A picture of red, green and blue, white at first.
#[derive(Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![255; 3 * width * height] }
    }

    #[cfg(test)]
    pub(super) fn pixel(&self, x: usize, y: usize) -> Colour {
        let at = 3 * (y * self.width + x);
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    pub(super) fn put(&mut self, x: usize, y: usize, colour: Colour) {
        if x < self.width
            && let Some(pixel) = self.pixels.get_mut(3 * (y * self.width + x)..).and_then(|rest| rest.get_mut(..3))
        {
            pixel.copy_from_slice(&colour);
        }
    }

    /// A line to the right.
    pub(super) fn row(&mut self, x: usize, y: usize, len: usize, colour: Colour) {
        (x..x + len).for_each(|x| self.put(x, y, colour));
    }

    /// A line down.
    pub(super) fn column(&mut self, x: usize, y: usize, len: usize, colour: Colour) {
        (y..y + len).for_each(|y| self.put(x, y, colour));
    }

    /// A line around an area, outside of it.
    pub(super) fn frame(&mut self, x: usize, y: usize, width: usize, height: usize) {
        for y in [y - 1, y + height] {
            self.row(x - 1, y, width + 2, BLACK);
        }
        for x in [x - 1, x + width] {
            self.column(x, y, height, BLACK);
        }
    }

    /// Letters to the right, from their upper left corner.
    pub(super) fn text(&mut self, x: usize, y: usize, text: &str) {
        self.letters(text, |canvas, along, down, ink| canvas.put(x + along, y + down, ink));
    }

    /// Letters upwards, from their lower left corner.
    pub(super) fn text_upwards(&mut self, x: usize, y: usize, text: &str) {
        self.letters(text, |canvas, along, down, ink| canvas.put(x + down, y.saturating_sub(along), ink));
    }

    fn letters(&mut self, text: &str, mut put: impl FnMut(&mut Self, usize, usize, Colour)) {
        for (i, letter) in text.chars().enumerate() {
            let raster = get_raster(letter, WEIGHT, HEIGHT).or_else(|| get_raster('?', WEIGHT, HEIGHT));
            for (down, line) in raster.iter().flat_map(|raster| raster.raster()).enumerate() {
                for (along, ink) in line.iter().enumerate().filter(|(_, ink)| **ink > 0) {
                    put(self, i * LETTER + along, down, [255 - ink; 3]);
                }
            }
        }
    }

    /// As a PNG file.
    pub(super) fn write(&self, out: impl Write) -> anyhow::Result<()> {
        let mut out = BufWriter::new(out);
        let mut encoder = png::Encoder::new(&mut out, u32::try_from(self.width)?, u32::try_from(self.height)?);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(out.flush()?)
    }
}
