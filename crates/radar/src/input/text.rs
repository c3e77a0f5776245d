//! Text recordings: numbers separated by white space, complex ones as `re im re im …`; compressed by gzip where the
//! file's name ends in `.gz`.
//!
//! The file is read once, a buffer at a time. Memory is taken for the samples that are wanted and
//! the file can hold, whichever is less; numbers beyond those are counted and checked, not kept.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use num_complex::Complex32;

use crate::reserve::reserve;
use crate::{Error, Result};

/// The longest run of characters that is read as one number, ample for any double written in full.
const LONGEST_NUMBER: usize = 2048;

/// How much of what is not a number is quoted in the error.
const QUOTED: usize = 24;

/// The most that gzip makes of a byte.
const LARGEST_GAIN: u64 = 1032;

/// Reads exactly `wanted` complex samples; `meaning` says in errors why that many.
pub(crate) fn read(path: &Path, wanted: usize, meaning: &str) -> Result<Vec<Complex32>> {
    groups(path, wanted, meaning, |[re, im]| Complex32::new(re, im))
}

/// Reads exactly `wanted` real numbers.
pub(crate) fn read_real(path: &Path, wanted: usize, meaning: &str) -> Result<Vec<f32>> {
    groups(path, wanted, meaning, |[x]| x)
}

/// Reads exactly `wanted` groups of `N` numbers.
fn groups<const N: usize, T>(
    path: &Path,
    wanted: usize,
    meaning: &str,
    make: impl Fn([f32; N]) -> T,
) -> Result<Vec<T>> {
    let file = File::open(path).map_err(Error::io(path))?;
    let file_size = file.metadata().map_err(Error::io(path))?.len();
    let file = BufReader::new(file);
    let (reader, text_size): (Box<dyn BufRead>, u64) = if path.extension().is_some_and(|end| end == "gz") {
        (Box::new(BufReader::new(MultiGzDecoder::new(file))), file_size.saturating_mul(LARGEST_GAIN))
    } else {
        (Box::new(file), file_size)
    };
    // A number takes a digit and a separator, which may be missing at the end.
    let possible = usize::try_from(text_size / (2 * N as u64)).map_or(usize::MAX, |groups| groups.saturating_add(1));
    let mut all = reserve(wanted.min(possible), "the samples of a recording")?;

    let mut found = 0_u64;
    let mut group = [0.0; N];
    let mut numbers = Numbers::new(path, reader);
    while let Some(number) = numbers.next_number()? {
        let at = (found % N as u64) as usize;
        group[at] = number;
        found += 1;
        if at + 1 == N && all.len() < wanted {
            all.push(make(group));
        }
    }
    let numbers_wanted = (wanted as u64).saturating_mul(N as u64);
    if found == 0 {
        return Err(Error::Empty { path: path.to_owned(), wanted: format!("{numbers_wanted} numbers ({meaning})") });
    }
    if found != numbers_wanted {
        return Err(Error::Count {
            path: path.to_owned(),
            unit: if N == 1 { "real numbers" } else { "numbers" },
            wanted: numbers_wanted,
            found,
            meaning: meaning.to_owned(),
        });
    }
    Ok(all)
}

/// The numbers of a text, and where in it the reader stands.
struct Numbers<R> {
    path: PathBuf,
    reader: R,
    token: Vec<u8>,
    line: u64,
    column: u64,
}

impl<R: BufRead> Numbers<R> {
    fn new(path: &Path, reader: R) -> Self {
        Numbers { path: path.to_owned(), reader, token: Vec::new(), line: 1, column: 1 }
    }

    /// The next finite number; `None` at the end of the text.
    fn next_number(&mut self) -> Result<Option<f32>> {
        self.token.clear();
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io(&self.path)(error)),
            };
            if buffer.is_empty() {
                return self.parse();
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in buffer {
                if is_space(byte) {
                    // The separator after a number is left for the next call, so that line and
                    // column still name the number's place.
                    if !self.token.is_empty() {
                        ended = true;
                        break;
                    }
                    if byte == b'\n' {
                        (self.line, self.column) = (self.line + 1, 0);
                    }
                } else {
                    self.token.push(byte);
                    ended = self.token.len() > LONGEST_NUMBER;
                }
                used += 1;
                self.column += 1;
                if ended {
                    break;
                }
            }
            self.reader.consume(used);
            if ended {
                return self.parse();
            }
        }
    }

    fn parse(&self) -> Result<Option<f32>> {
        if self.token.is_empty() {
            return Ok(None);
        }
        let number = std::str::from_utf8(&self.token)
            .ok()
            .filter(|token| token.len() <= LONGEST_NUMBER)
            .and_then(|token| token.parse::<f32>().ok());
        let problem = match number {
            Some(number) if number.is_finite() => return Ok(Some(number)),
            // `1e39` and `inf` both parse as infinity.
            Some(_) => "is not finite in single precision",
            None => "is not a number",
        };
        let quoted = self.token.get(..QUOTED).unwrap_or(&self.token);
        let more = if quoted.len() < self.token.len() { "…" } else { "" };
        Err(Error::Text {
            path: self.path.clone(),
            line: self.line,
            column: self.column - self.token.len() as u64,
            problem: format!("`{}{more}` {problem}", quoted.escape_ascii()),
        })
    }
}

/// What separates numbers: as C's `isspace`.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}
