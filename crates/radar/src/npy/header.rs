//! The header of a NumPy file: a Python dictionary with the keys `descr`, `fortran_order` and
//! `shape`.
//!
//! Only that is understood, not Python's literals in general: nothing nests, so that no header can
//! exhaust the stack, and numbers that do not fit are errors. Errors are plain texts; the caller
//! knows the file.

use std::str;

/// How the samples are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleType {
    /// 8 bytes a real number (complex128) rather than 4 (complex64).
    pub(crate) double: bool,
    pub(crate) big_endian: bool,
}

impl SampleType {
    /// Bytes of one complex sample.
    pub(crate) fn size(self) -> u64 {
        if self.double { 16 } else { 8 }
    }
}

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sample: SampleType,
    pub(crate) fortran_order: bool,
    pub(crate) dims: Vec<u64>,
}

/// Reads the header's text (what follows its length).
pub(crate) fn parse(text: &[u8]) -> Result<Header, String> {
    let mut cursor = Cursor { text, at: 0 };
    let (mut sample, mut fortran_order, mut dims) = (None, None, None);
    cursor.expect(b'{')?;
    while !cursor.take(b'}') {
        let key = cursor.string()?;
        cursor.expect(b':')?;
        match key {
            "descr" if cursor.take(b'[') => {
                return Err("an array of records; complex64 or complex128 wanted".to_owned());
            }
            "descr" => sample = Some(sample_type(cursor.string()?)?),
            "fortran_order" => fortran_order = Some(cursor.boolean()?),
            "shape" => dims = Some(cursor.dims()?),
            other => return Err(format!("header key `{}` is unknown", other.escape_debug())),
        }
        if !cursor.take(b',') {
            cursor.expect(b'}')?;
            break;
        }
    }
    cursor.end()?;
    let missing = |key| move || format!("header has no `{key}`");
    Ok(Header {
        sample: sample.ok_or_else(missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(missing("fortran_order"))?,
        dims: dims.ok_or_else(missing("shape"))?,
    })
}

fn sample_type(descr: &str) -> Result<SampleType, String> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or((descr, ""));
    let big_endian = match order {
        "<" => Some(false),
        ">" => Some(true),
        "=" => Some(cfg!(target_endian = "big")),
        _ => None,
    };
    let double = match kind {
        "c8" => Some(false),
        "c16" => Some(true),
        _ => None,
    };
    match (double, big_endian) {
        (Some(double), Some(big_endian)) => Ok(SampleType { double, big_endian }),
        _ => {
            Err(format!("elements of type `{}`; complex64 (`<c8`) or complex128 (`<c16`) wanted", descr.escape_debug()))
        }
    }
}

/// A place in the header's text. Every step skips the white space before it.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&mut self) -> &'a [u8] {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_ascii_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest().first() == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.take(byte) {
            return Ok(());
        }
        Err(format!("header is damaged at byte {}: `{}` wanted", self.at, char::from(byte)))
    }

    fn end(&mut self) -> Result<(), String> {
        if self.rest().is_empty() {
            return Ok(());
        }
        Err(format!("header is damaged at byte {}: its end wanted", self.at))
    }

    /// A run of bytes that `belongs` accepts, as text.
    fn run(&mut self, belongs: impl Fn(&u8) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.iter().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).and_then(|run| str::from_utf8(run).ok()).unwrap_or_default()
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.take(b'"') {
            b'"'
        } else {
            self.expect(b'\'')?;
            b'\''
        };
        let content = self.run(|byte| byte.is_ascii_graphic() && *byte != quote);
        self.expect(quote)?;
        Ok(content)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        match self.run(u8::is_ascii_alphabetic) {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(format!("header is damaged at byte {}: True or False wanted", self.at)),
        }
    }

    /// `()`, `(5,)`, `(128, 64)`; numbers may end in the `L` of Python 2.
    fn dims(&mut self) -> Result<Vec<u64>, String> {
        let mut dims = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            let digits = self.run(u8::is_ascii_digit);
            dims.push(
                digits.parse().map_err(|_| format!("header is damaged at byte {}: a dimension wanted", self.at))?,
            );
            self.take(b'L');
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(dims)
    }
}
