//! Dividing views into fragments, and making them whole again.
//!
//! Bookkeeping: O(n) in the number of fragments, one allocation on the host,
//! no heap of a device. Only [`View::join`] may copy, where fragments lie on
//! different resources. Calls in flight that use the view are waited for.
#![allow(unsafe_code)]

use super::View;
use crate::device::Rows;
use crate::error::{Error, Result};
use crate::memory::{Region, room_for};
use crate::op::Role;
use bytemuck::Pod;

impl<T: Pod> View<T> {
    /// Divides into `n` fragments of equal length (paper §3.2.3). A view that is divided already is joined first.
    ///
    /// A tile is divided by whole rows.
    ///
    /// # Errors
    /// [`Error::Shape`] where `n` is 0 or does not divide the length: use [`fragment_sizes`](Self::fragment_sizes).
    pub fn fragment(&mut self, n: usize) -> Result<()> {
        let (rows, columns) = self.rows();
        let (parts, what) = if self.is_contiguous() { (self.len(), "elements") } else { (rows, "rows") };
        if n == 0 || parts % n != 0 {
            let why = format!("{parts} {what} do not divide into {n} fragments of equal size");
            return Err(Error::shape("fragment", why));
        }
        self.join()?;
        let whole = *self.node().region();
        let each = if self.is_contiguous() {
            Rows::run(whole.rows.bytes() / n)
        } else {
            Rows { rows: rows / n, row_bytes: columns * size_of::<T>(), pitch: whole.rows.pitch }
        };
        let step = if self.is_contiguous() { each.row_bytes } else { each.rows * each.pitch };
        // SAFETY: `&mut self` is exclusive over the subtree, and `join` has waited for the calls that use it.
        unsafe { self.node().split((0..n).map(|i| Region { offset: whole.offset + i * step, rows: each })) }
    }

    /// Divides into fragments of these lengths (of these numbers of rows, for a tile), in order.
    ///
    /// # Errors
    /// [`Error::Shape`] where they are not exactly as many as there are, or one is 0.
    pub fn fragment_sizes(&mut self, sizes: &[usize]) -> Result<()> {
        let contiguous = self.is_contiguous();
        let (have, what) = if contiguous { (self.len(), "elements") } else { (self.rows().0, "rows") };
        check_sizes("fragment_sizes", sizes, have, what)?;
        self.join()?;
        let whole = *self.node().region();
        let mut next = whole.offset;
        let regions = sizes.iter().map(|&size| {
            let offset = next;
            let rows = if contiguous { Rows::run(size * size_of::<T>()) } else { Rows { rows: size, ..whole.rows } };
            next += if contiguous { rows.row_bytes } else { size * whole.rows.pitch };
            Region { offset, rows }
        });
        // SAFETY: `&mut self` is exclusive over the subtree, and `join` has waited for the calls that use it.
        unsafe { self.node().split(regions) }
    }

    /// Divides a matrix into tiles: rows of the given heights, columns of the given widths. The view's elements are
    /// the matrix row by row, so the widths add up to a row of it and the heights to the number of rows.
    /// Tile (i, j) is fragment `i * widths.len() + j`.
    ///
    /// ```
    /// # use rimms::Runtime;
    /// # let rt = Runtime::builder().cpus(1).build()?;
    /// let mut m = rt.alloc::<f32>(4 * 6)?;
    /// m.overwrite()?.write_with(|i| i as f32)?;
    /// m.tile_sizes(&[2, 2], &[4, 2])?;       // four tiles: 2×4, 2×2 and below them again
    /// let corner = m[3].read_rows()?;
    /// assert_eq!(corner.row(0)?, [16.0, 17.0]);
    /// assert_eq!(corner.row(1)?, [22.0, 23.0]);
    /// # Ok::<(), rimms::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] where heights × widths is not the length, or one is 0.
    pub fn tile_sizes(&mut self, heights: &[usize], widths: &[usize]) -> Result<()> {
        let total = |sizes: &[usize]| sizes.iter().try_fold(0_usize, |sum, &s| sum.checked_add(s));
        let (height, width) = (total(heights).unwrap_or(0), total(widths).unwrap_or(0));
        let (rows, columns) = if self.is_contiguous() { (height, width) } else { self.rows() };
        if heights.contains(&0) || widths.contains(&0) || height.checked_mul(width) != Some(self.len()) {
            let why =
                format!("tiles of {height} rows by {width} columns in all do not make up {} elements", self.len());
            return Err(Error::shape("tile_sizes", why));
        }
        check_sizes("tile_sizes", heights, rows, "rows")?;
        check_sizes("tile_sizes", widths, columns, "columns")?;
        self.join()?;
        let whole = *self.node().region();
        let size = size_of::<T>();
        let pitch = if self.is_contiguous() { width * size } else { whole.rows.pitch };
        let mut regions = room_for(heights.len().saturating_mul(widths.len()))?;
        let mut top = whole.offset;
        for &h in heights {
            let mut left = top;
            for &w in widths {
                let run = w * size == pitch;
                let rows = if run { Rows::run(h * pitch) } else { Rows { rows: h, row_bytes: w * size, pitch } };
                regions.push(Region { offset: left, rows });
                left += w * size;
            }
            top += h * pitch;
        }
        // SAFETY: `&mut self` is exclusive over the subtree, and `join` has waited for the calls that use it.
        unsafe { self.node().split(regions.into_iter()) }
    }

    /// Divides a matrix of `columns` columns into tiles of `height` × `width`.
    ///
    /// # Errors
    /// [`Error::Shape`] where they do not divide it.
    pub fn tile(&mut self, columns: usize, height: usize, width: usize) -> Result<()> {
        let divides = |part: usize, whole: usize| part != 0 && whole.is_multiple_of(part);
        let rows = self.len() / columns.max(1);
        if !divides(columns, self.len()) || !divides(width, columns) || !divides(height, rows) {
            let why = format!(
                "{} elements as rows of {columns} do not divide into tiles of {height} rows by {width} columns",
                self.len()
            );
            return Err(Error::shape("tile", why));
        }
        let same = |size: usize, n: usize| -> Result<Vec<usize>> {
            let mut sizes = room_for(n)?;
            sizes.resize(n, size);
            Ok(sizes)
        };
        self.tile_sizes(&same(height, rows / height)?, &same(width, columns / width)?)
    }

    /// Un-fragments: the view is one leaf again. Free where the fragments agree on who holds the newest bytes;
    /// otherwise the stale ones are copied to the host first (cause `join`).
    ///
    /// # Errors
    /// [`Error::Uninitialised`] where some fragments were written and others were not; where a copy fails.
    /// The view stays divided then.
    pub fn join(&mut self) -> Result<()> {
        // No call in flight may use what is taken apart, or put together.
        self.node().settle(Role::InOut)?;
        if self.node().is_leaf() {
            return Ok(());
        }
        // SAFETY: `&mut self` is exclusive over the subtree, and `join` has waited for the calls that use it.
        unsafe { self.node().join() }
    }
}

fn check_sizes(call: &str, sizes: &[usize], have: usize, what: &str) -> Result<()> {
    let total = sizes.iter().try_fold(0_usize, |sum, &s| sum.checked_add(s));
    if total == Some(have) && !sizes.contains(&0) {
        return Ok(());
    }
    let total = total.map_or("more than can be counted".into(), |t| t.to_string());
    let zero = if sizes.contains(&0) { ", and none may be 0" } else { "" };
    Err(Error::shape(call, format!("the sizes add up to {total} {what}, the view has {have}{zero}")))
}
