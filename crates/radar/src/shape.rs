//! The shape of a recording: pulses (rows) by samples (columns).
//!
//! Invariant: both are at least 1, and the float64 range–Doppler map of that shape, twice as wide,
//! has a size in bytes that fits `isize`. Nothing downstream needs to check a product again.

use std::fmt;
use std::str::FromStr;

use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Rows × columns, both at least 1, written `128x64`.
///
/// ```
/// use rimms_radar::Shape;
///
/// let shape: Shape = "128x64".parse()?;
/// assert_eq!((shape.rows(), shape.cols(), shape.len()), (128, 64, 8192));
/// assert_eq!(shape, Shape::STANDARD);
/// assert!("18446744073709551615x2".parse::<Shape>().is_err());
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shape {
    rows: usize,
    cols: usize,
}

#[allow(clippy::len_without_is_empty, reason = "never empty")]
impl Shape {
    /// 128 pulses of 64 samples: what is meant where no shape is given.
    pub const STANDARD: Shape = Shape { rows: 128, cols: 64 };

    /// A shape of `rows` pulses of `cols` samples.
    ///
    /// # Errors
    /// [`Error::Argument`] if one is 0, or if no computer could hold the map of that shape.
    pub fn new(rows: usize, cols: usize) -> Result<Shape> {
        let refuse = |problem| Err(Error::argument("shape", format_args!("{rows}x{cols}"), problem));
        if rows == 0 || cols == 0 {
            return refuse("rows and columns must be at least 1");
        }
        let map_bytes = rows
            .checked_mul(cols)
            .and_then(|samples| samples.checked_mul(2 * size_of::<Complex64>()))
            .and_then(|bytes| isize::try_from(bytes).ok());
        if map_bytes.is_none() {
            return refuse("more samples than memory can be addressed");
        }
        Ok(Shape { rows, cols })
    }

    /// How many pulses.
    #[must_use]
    pub fn rows(self) -> usize {
        self.rows
    }

    /// How many samples each pulse has.
    #[must_use]
    pub fn cols(self) -> usize {
        self.cols
    }

    /// How many samples in all.
    #[must_use]
    pub fn len(self) -> usize {
        self.rows * self.cols
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.cols)
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Shape> {
        let number = |part: &str| {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Error::argument("shape", text, "ROWSxCOLUMNS wanted, as in 128x64"));
            }
            part.parse().map_err(|_| Error::argument("shape", text, "more than memory can be addressed"))
        };
        let (rows, cols) = text.split_once(['x', 'X']).unwrap_or((text, ""));
        Shape::new(number(rows)?, number(cols)?)
    }
}

impl From<Shape> for String {
    fn from(shape: Shape) -> String {
        shape.to_string()
    }
}

impl TryFrom<String> for Shape {
    type Error = Error;

    fn try_from(text: String) -> Result<Shape> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_shape_is_refused_with_the_argument() {
        for (text, part) in [
            ("", "wanted"),
            ("128", "wanted"),
            ("x", "wanted"),
            ("128x", "wanted"),
            ("x64", "wanted"),
            ("-1x64", "wanted"),
            ("+1x64", "wanted"),
            ("1.5x64", "wanted"),
            ("128x64x2", "wanted"),
            (" 128x64", "wanted"),
            ("0x64", "at least 1"),
            ("128x0", "at least 1"),
            ("18446744073709551615x2", "addressed"),
            ("18446744073709551616x2", "addressed"),
            ("4294967296x4294967296", "addressed"),
            ("1152921504606846976x1", "addressed"),
        ] {
            let error = text.parse::<Shape>().unwrap_err();
            assert!(error.is_argument());
            let message = error.to_string();
            assert!(message.contains(part) && message.contains(text), "{message}");
        }
    }

    #[test]
    fn text_and_back() {
        for text in ["1x1", "128x64", "20x120"] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
        assert_eq!("2X3".parse::<Shape>().unwrap(), Shape::new(2, 3).unwrap());
    }
}
