//! Names of ranges of bytes, for what is smaller than a buffer.
//!
//! Owns [`Ranges`]. Ranges are those of the buffers that the bytes belong to, by where they begin. No two overlap: a new one
//! takes the place of all that it meets.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Address;

/// By the first byte: the end, and the name.
#[derive(Default)]
pub(super) struct Ranges(Mutex<BTreeMap<u64, (u64, Arc<str>)>>);

impl Ranges {
    /// Names a range, or with `None` takes the names of all that it meets.
    pub(super) fn set(&self, root: Address, size: u64, name: Option<&str>) {
        let (from, to) = (root.raw(), root.raw().saturating_add(size));
        let mut ranges = self.0.lock();
        // The last that begins before the end is the first that may meet it: those before that end earlier.
        while let Some((&start, &(end, _))) = ranges.range(..to).next_back()
            && end > from
        {
            ranges.remove(&start);
        }
        if let Some(name) = name {
            ranges.insert(from, (to, name.into()));
        }
    }

    /// The name of the range that a byte is in.
    pub(super) fn name_of(&self, root: Address) -> Option<Arc<str>> {
        let ranges = self.0.lock();
        let (_, (end, name)) = ranges.range(..=root.raw()).next_back()?;
        (root.raw() < *end).then(|| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_a_byte_counts() {
        let ranges = Ranges::default();
        let at = Address::from_raw;
        let names =
            || (0..12).map(|byte| ranges.name_of(at(byte)).map_or('-', |name| name.chars().next().unwrap_or('?')));
        ranges.set(at(2), 4, Some("a"));
        ranges.set(at(6), 3, Some("b"));
        assert_eq!(names().collect::<String>(), "--aaaabbb---");
        ranges.set(at(5), 2, Some("c"));
        assert_eq!(names().collect::<String>(), "-----cc-----");
        ranges.set(at(0), 5, Some("d"));
        ranges.set(at(7), 2, None);
        assert_eq!(names().collect::<String>(), "dddddcc-----");
        ranges.set(at(0), u64::MAX, None);
        assert_eq!(names().collect::<String>(), "------------");
    }
}
