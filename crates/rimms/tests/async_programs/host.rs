//! What the host does to data: guards of every kind, dividing, joining.

use crate::model::{Leaf, Path, Trust};
use crate::step::Step;
use crate::worker::{Worker, pick};
use crate::world::Datum;
use rimms::{Error, View};

impl Worker<'_> {
    /// All data say what they mean.
    pub(crate) fn read_all(&self) {
        for slot in self.world.slots() {
            self.read_and_learn(&mut self.world.own(slot), Path::default());
        }
    }

    pub(crate) fn read(&mut self, slot: usize, step: &Step) {
        if step.is_blocking {
            let datum = &mut *self.world.own(slot);
            let path = pick(datum.meaning.views(|_| true), step.views[0]);
            self.read_and_learn(datum, path);
            return;
        }
        let datum = self.world.shared(slot);
        let path = pick(datum.meaning.views(|_| true), step.views[0]);
        match datum.view(path).read_rows() {
            Ok(rows) => self.compare(&datum, path, &rows.iter().flatten().copied().collect::<Vec<_>>()),
            // A copy, since others may be looking at it.
            Err(e) => self.world.judge_failed_read(datum.view(path), &mut datum.meaning.part(path).clone(), &e),
        }
    }

    fn read_and_learn(&self, datum: &mut Datum, path: Path) {
        let rows = datum.view(path).read_rows().map(|rows| rows.iter().flatten().copied().collect::<Vec<u32>>());
        match rows {
            Ok(found) => {
                self.compare(datum, path, &found);
                datum.meaning.part_mut(path).set(Leaf::There(Trust::Host));
            }
            Err(e) => {
                let mut part = datum.meaning.part(path).clone();
                self.world.judge_failed_read(datum.view(path), &mut part, &e);
                *datum.meaning.part_mut(path) = part;
            }
        }
    }

    fn compare(&self, datum: &Datum, path: Path, found: &[u32]) {
        let part = datum.meaning.part(path);
        assert!(!self.is_missing(part), "read what nobody has written");
        let want = datum.meaning.read(path);
        assert_eq!(found, want, "{path:?} of {:?}", datum.data);
    }

    pub(crate) fn update(&mut self, slot: usize, step: &Step) {
        let datum = &mut *self.world.own(slot);
        let path = pick(datum.meaning.views(|_| true), step.views[0]);
        let view = datum.view_mut(path);
        let rows = view.rows().0;
        let changed = view.update_rows().map(|mut guard| {
            let mut found = Vec::new();
            for i in 0..rows {
                let row = guard.row(i).unwrap();
                found.extend_from_slice(row);
                row.iter_mut().for_each(|x| *x = x.wrapping_add(step.value));
            }
            found
        });
        match changed {
            Ok(found) => {
                self.compare(datum, path, &found);
                let new: Vec<u32> = found.iter().map(|x| x.wrapping_add(step.value)).collect();
                datum.meaning.write(path, &new);
                datum.meaning.part_mut(path).set(Leaf::There(Trust::Host));
            }
            Err(e) => {
                let mut part = datum.meaning.part(path).clone();
                self.world.judge_failed_read(datum.view(path), &mut part, &e);
                *datum.meaning.part_mut(path) = part;
            }
        }
    }

    pub(crate) fn overwrite(&mut self, slot: usize, step: &Step) {
        let datum = &mut *self.world.own(slot);
        let all = datum.meaning.views(|_| true);
        let path = if step.views[1].is_multiple_of(2) { Path::default() } else { pick(all, step.views[0]) };
        let len = datum.meaning.part(path).elements.len();
        let new: Vec<u32> = (0..len as u32).map(|i| step.value.wrapping_add(i * i)).collect();
        let guard = match datum.view_mut(path).overwrite() {
            Ok(guard) => guard,
            // A device that took too long may still be at these bytes. Nothing has changed.
            Err(Error::DeviceLost { .. }) => return,
            Err(e) => panic!("{e}"),
        };
        if step.is_blocking { guard.write_with(|i| new[i]) } else { guard.copy_from_slice(&new) }.unwrap();
        datum.meaning.write(path, &new);
        datum.meaning.part_mut(path).set(Leaf::There(Trust::Host));
    }

    pub(crate) fn divide(&mut self, slot: usize, how: u8, step: &Step) {
        let datum = &mut *self.world.own(slot);
        let path = pick(datum.meaning.views(|_| true), step.views[0]);
        if path.is_deepest() || datum.meaning.part(path).elements.len() < 8 {
            return;
        }
        let (rows, columns) = datum.meaning.part(path).shape();
        let len = rows * columns;
        let is_run = rows == 1;
        // By elements of a run, by rows of a tile.
        let parts = if is_run { len } else { rows };
        let (heights, widths): (Vec<usize>, Vec<usize>);
        let mut equal = None;
        match how {
            0..3 => {
                let divisors: Vec<usize> = (1..=8).filter(|n| parts % n == 0).collect();
                let n = divisors[step.views[1] % divisors.len()];
                equal = Some(n);
                let each = vec![parts / n; n];
                (heights, widths) = if is_run { (vec![1], each) } else { (each, vec![columns]) };
            }
            3 | 4 => {
                let sizes = cut(parts, step.views[1], step.views[2]);
                (heights, widths) = if is_run { (vec![1], sizes) } else { (sizes, vec![columns]) };
            }
            _ => {
                // A run is taken as a matrix.
                let (rows, columns) = match is_run {
                    true => (1..=6).rev().find(|r| len % r == 0).map_or((1, len), |r| (r, len / r)),
                    false => (rows, columns),
                };
                heights = cut(rows, step.views[1], step.slots[1]);
                widths = cut(columns, step.views[2], step.slots[2]);
            }
        }
        let joined = self.join(datum, path, |view| match (equal, how) {
            (Some(n), _) => view.fragment(n),
            (None, 3 | 4) => view.fragment_sizes(if is_run { &widths } else { &heights }),
            (None, _) => view.tile_sizes(&heights, &widths),
        });
        if joined {
            datum.meaning.part_mut(path).divide(&heights, &widths);
        }
    }

    /// Something that makes a view one leaf: what may come of it depends on whether all its leaves were written, or none.
    pub(crate) fn join(
        &self,
        datum: &mut Datum,
        path: Path,
        join: impl FnOnce(&mut View<u32>) -> rimms::Result<()>,
    ) -> bool {
        let outcome = join(datum.view_mut(path));
        let part = datum.meaning.part_mut(path);
        let (mut all, mut missing) = (None, false);
        part.leaves(&mut |part| match part.leaf {
            Leaf::Missing => missing = true,
            Leaf::There(trust) => all = Some(all.map_or(trust, |all: Trust| all.and(trust))),
        });
        let was_leaf = part.parts.is_empty();
        match (outcome, all, missing) {
            (Ok(()), _, _) if was_leaf => {}
            (Ok(()), Some(trust), false) => {
                // That the host has a copy is known of fragments alone where it does not count (`last-resource`).
                let trust = if trust == Trust::Host && self.world.setting.loses() { Trust::Done } else { trust };
                part.join(Leaf::There(trust));
            }
            (Ok(()), None, _) => part.join(Leaf::Missing),
            (Ok(()), Some(_), true) => {
                let hidden = |leaf| leaf == Leaf::Missing || self.world.may_be_missing(leaf);
                assert!(!part.any_leaf(|leaf| !hidden(leaf)), "joined what was written in part");
                part.join(Leaf::Missing);
            }
            (Err(Error::Uninitialised { .. }), Some(_), true) => return false,
            (Err(e), Some(_), _) => {
                let mut part = part.clone();
                self.world.judge_failed_read(datum.view(path), &mut part, &e);
                *datum.meaning.part_mut(path) = part;
                return false;
            }
            // One that took too long may still be at these bytes.
            (Err(Error::DeviceLost { .. }), None, _) => return false,
            (Err(e), None, _) => panic!("nothing there to be joined, and yet: {e}"),
        }
        true
    }
}

/// A whole in up to three parts.
fn cut(whole: usize, a: usize, b: usize) -> Vec<usize> {
    let (a, b) = (a % whole, b % whole);
    let (a, b) = (a.min(b), a.max(b));
    [a, b - a, whole - b].into_iter().filter(|n| *n > 0).collect()
}
