//! Sizes as people write them: `4096`, `8KiB`, `2MiB`.
//!
//! Units are binary and say so; decimal and bare letters (`kB`, `M`) are refused
//! rather than guessed.

use std::error::Error;
use std::fmt;

const UNITS: [(&str, u32); 7] = [("", 0), ("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("PiB", 50)];

/// Reads a whole number of bytes with an optional unit: B, KiB, MiB, GiB, TiB or PiB,
/// in any case, with or without a space before it.
///
/// ```
/// use rimms_heap::parse_size;
///
/// assert_eq!(parse_size("4096"), Ok(4096));
/// assert_eq!(parse_size("8KiB"), Ok(8192));
/// assert_eq!(parse_size("2 mib"), Ok(2 << 20));
/// assert!(parse_size("2MB").is_err());
/// ```
///
/// # Errors
/// [`SizeError`], which names what was wrong with which text.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at(digits);
    if number.is_empty() {
        return Err(SizeError::NoNumber { text: text.to_owned() });
    }
    let unit = unit.trim_start();
    let Some((_, shift)) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) else {
        return Err(SizeError::UnknownUnit { text: text.to_owned(), unit: unit.to_owned() });
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| SizeError::TooLarge { text: text.to_owned() })
}

/// Why a text is not a size.
///
/// ```
/// let error = rimms_heap::parse_size("12 parsecs").unwrap_err();
/// assert!(error.to_string().contains("parsecs"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SizeError {
    /// The text does not start with a whole number.
    NoNumber {
        /// The text given.
        text: String,
    },
    /// What follows the number is no unit.
    UnknownUnit {
        /// The text given.
        text: String,
        /// What follows the number.
        unit: String,
    },
    /// The size has more than 64 bits.
    TooLarge {
        /// The text given.
        text: String,
    },
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber { text } => write!(
                f,
                "{text:?} is not a size: it does not start with a whole number; write for example \
                 4096, 8KiB or 2MiB"
            ),
            Self::UnknownUnit { text, unit } => {
                write!(f, "{text:?} is not a size: {unit:?} is not one of B, KiB, MiB, GiB, TiB, PiB")
            }
            Self::TooLarge { text } => {
                write!(f, "{text:?} is not a size: it has more than 64 bits; write less than 16384PiB")
            }
        }
    }
}

impl Error for SizeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_and_without_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("7B", 7),
            ("8KiB", 8 << 10),
            ("8kib", 8 << 10),
            (" 3 GiB ", 3 << 30),
            ("2TiB", 2 << 40),
            ("16383PiB", 16383 << 50),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", " ", "KiB", "-1", "+1", "1.5MiB", "2MB", "2K", "1 KiB x", "0x10", "٣"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for text in ["16384PiB", "18446744073709551616", "99999999999999999999999999B"] {
            assert_eq!(parse_size(text), Err(SizeError::TooLarge { text: text.to_owned() }));
        }
    }
}
