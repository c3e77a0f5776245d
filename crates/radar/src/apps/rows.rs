//! The rows of a stage: `rows[i]` is a view, however they were allocated.

use std::ops::{Index, IndexMut};

use bytemuck::Pod;
use rimms::{HeteData, Result, Runtime, View};

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
