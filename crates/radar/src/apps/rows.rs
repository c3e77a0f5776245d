//! The rows of a stage: `rows[i]` is a view, however they were allocated.

use std::ops::{Index, IndexMut};

use bytemuck::Pod;
use rimms::op::{Call, Fft};
use rimms::{Complex32, HeteData, Result, Runtime, View, arg, arg_mut};

use super::Alloc;

/// `count` rows of `len` elements each.
pub(super) struct Rows<T> {
    count: usize,
    data: Data<T>,
}

enum Data<T> {
    Each(Vec<HeteData<T>>),
    Fragments(HeteData<T>),
}

impl<T: Pod + Send + Sync> Rows<T> {
    /// Allocates them; [`fragment`](Self::fragment) comes before the first use.
    pub(super) fn alloc(rt: &Runtime, name: &str, alloc: Alloc, count: usize, len: usize) -> Result<Self> {
        let data = match alloc {
            Alloc::Each => Data::Each((0..count).map(|_| rt.alloc_named(name, len)).collect::<Result<_>>()?),
            Alloc::Fragment => Data::Fragments(rt.alloc_named(name, count * len)?),
        };
        Ok(Self { count, data })
    }

    pub(super) fn fragment(&mut self) -> Result<()> {
        match &mut self.data {
            Data::Each(_) => Ok(()),
            Data::Fragments(whole) => whole.fragment(self.count),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &View<T>> {
        (0..self.count).map(|i| &self[i])
    }

    fn iter_mut(&mut self) -> Box<dyn Iterator<Item = &mut View<T>> + '_> {
        match &mut self.data {
            Data::Each(rows) => Box::new(rows.iter_mut().map(|row| &mut **row)),
            Data::Fragments(whole) => Box::new(whole.fragments_mut()),
        }
    }
}

/// The FFT of each row. They do not depend on each other, and are submitted together.
pub(super) fn fft_rows(rt: &Runtime, from: &Rows<Complex32>, to: &mut Rows<Complex32>) -> Result<()> {
    let mut batch = rt.batch();
    for (from, to) in from.iter().zip(to.iter_mut()) {
        let fft = Fft { n: from.len(), rows: 1, inverse: false, in_place: false };
        batch.call(&Call::Fft(fft), &mut [arg(from), arg_mut(to)])?;
    }
    batch.submit().map(drop)
}

impl<T: Pod> Index<usize> for Rows<T> {
    type Output = View<T>;

    fn index(&self, i: usize) -> &View<T> {
        match &self.data {
            Data::Each(rows) => &rows[i],
            Data::Fragments(whole) => &whole[i],
        }
    }
}

impl<T: Pod> IndexMut<usize> for Rows<T> {
    fn index_mut(&mut self, i: usize) -> &mut View<T> {
        match &mut self.data {
            Data::Each(rows) => &mut rows[i],
            Data::Fragments(whole) => &mut whole[i],
        }
    }
}
