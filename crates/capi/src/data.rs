//! Data: allocate, free, divide, and the host's access to it.
#![allow(unsafe_code, non_snake_case)] // exported names

use crate::admit::{Admitted, Closes, admit};
use crate::boundary::{array, call, value};
use crate::error::{Fault, Result, hete_Error};
use crate::operands::{In, InOut, Out};
use crate::session::{free, lock, look};
use crate::slab::hete_Data;
use rimms::{HeteData, ResourceId, View};

/// Allocates `size` bytes, like `malloc`: what they are is not said until they are written. `hete_Free` gives them back.
///
/// The data is the host's: the program may write through `data` whenever it likes, until a call writes it, or is accepted
/// without being waited for. Devices get room when they first use it.
///
/// Returns NULL where it fails: `HETE_ERROR_SHAPE` for 0 bytes, `HETE_ERROR_MEMORY`, and, by the first call of all, what
/// is wrong with the configuration.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Malloc(size: usize) -> *mut hete_Data {
    value(std::ptr::null_mut(), || allocate(size, |_| Ok(())))
}

/// The same for `count` times `size` bytes, all of them 0.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Calloc(count: usize, size: usize) -> *mut hete_Data {
    value(std::ptr::null_mut(), || {
        // More than an address can count is more than there is.
        let size = count.saturating_mul(size);
        allocate(size, |data| Ok(data.overwrite()?.fill(0)?))
    })
}

fn allocate(size: usize, prepare: impl FnOnce(&mut HeteData<u8>) -> Result<()>) -> Result<*mut hete_Data> {
    let admitted = admit(())?;
    let mut data = admitted.runtime().alloc::<u8>(size)?;
    prepare(&mut data)?;
    // SAFETY: nobody else has it yet. The program gets it in the state of memory from `malloc`, and knows (`hete_Malloc`).
    unsafe { data.overwrite()?.assume_written()? };
    lock().handles.add(data)
}

/// Frees data, its copies on all devices, and the handles of its fragments. NULL is freed by doing nothing.
///
/// Calls that were accepted keep what they need until they are done. Another thread's call that has not returned is
/// waited for. Fragments are freed with the data they belong to, and not by themselves.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Free(data: *mut hete_Data) -> hete_Error {
    call(|| if data.is_null() { Ok(()) } else { free(data) })
}

/// Brings the newest bytes to `data->data`, and makes the host their owner: from here on the program may read and write
/// there, until a call writes the data or is accepted without being waited for. Waits for the calls that use it.
///
/// Other copies are stale from here on; and since the program may write at any time, each call that reads the data on a
/// device copies it there. `hete_Read`, `hete_Write` and `hete_Update` say more closely what is going to be done, and save
/// copies.
///
/// `HETE_ERROR_UNINITIALISED`, with the reason, where the call that was to write the bytes failed: `hete_Write` makes
/// them the program's again.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Sync(data: *mut hete_Data) -> hete_Error {
    call(|| own(data, |admitted| admitted.done_and_opens()))
}

/// Brings the newest bytes to `data->data` for reading. Copies elsewhere stay valid. Waits for the calls that write it.
///
/// The program reads there until a call writes the data, and writes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Read(data: *mut hete_Data) -> hete_Error {
    call(|| {
        let mut admitted = admit((In::<u8>::of(data),))?;
        admitted.prepare()?;
        admitted.view(0)?.read_rows()?;
        admitted.done(Closes::All);
        Ok(())
    })
}

/// Makes `data->data` the program's to write, all of it: nothing is copied in, and what was there before is lost. Waits
/// for the calls that use it.
///
/// The program writes there until it next hands the data, or a part of it, to a call.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Write(data: *mut hete_Data) -> hete_Error {
    call(|| {
        let mut admitted = admit((Out::<u8>::of(data),))?;
        // SAFETY: the program writes, only while no call uses the data, as it is told above. Bytes that it does not write
        // are its own former ones.
        unsafe { admitted.view_mut(0)?.overwrite()?.assume_written()? };
        admitted.done(Closes::All);
        Ok(())
    })
}

/// Brings the newest bytes to `data->data` for reading and writing. Waits for the calls that use it.
///
/// The program reads and writes there until it next hands the data, or a part of it, to a call. From then on it is as
/// any other data: a call that reads it on a device copies it there once.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Update(data: *mut hete_Data) -> hete_Error {
    call(|| own(data, |admitted| admitted.done(Closes::All)))
}

/// The host has the newest bytes, alone; then `end`.
fn own(data: *const hete_Data, end: impl FnOnce(Admitted<(InOut<u8>,)>)) -> Result<()> {
    let mut admitted = admit((InOut::<u8>::of(data),))?;
    admitted.prepare()?;
    admitted.view_mut(0)?.update_rows()?;
    end(admitted);
    Ok(())
}

/// Divides data into `n` fragments of equal size, each with newest bytes of its own: O(n), no device is asked. They are
/// had with `hete_Index`. Data that is divided already is joined first, and its former fragments' handles are freed. A
/// fragment may be divided in turn. Waits for the calls that use the data.
///
/// `HETE_ERROR_SHAPE` where `n` is 0 or does not divide the size.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Fragment(data: *mut hete_Data, n: usize) -> hete_Error {
    call(|| divide(data, |_| n, |view| view.fragment(n)))
}

/// The same with `n` fragments of these sizes in bytes, which add up to that of the data.
///
/// # Safety
/// `sizes` is NULL, or an array of `n` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_FragmentSizes(data: *mut hete_Data, sizes: *const usize, n: usize) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let sizes = unsafe { array("sizes", sizes, n) }?;
        divide(data, |_| n, |view| view.fragment_sizes(sizes))
    })
}

/// Divides a matrix into tiles: its rows are of `columns` elements of `size` bytes, the tiles of `height` rows and `width`
/// columns. Tile (i, j), from 0, is fragment `i · (columns / width) + j`.
///
/// A tile is used as any other data: its elements are those of its rows, one row after the other, and its `size` their bytes.
/// But in the host's memory they do not follow each other: row `r` of a tile is at `data + r · hete_Pitch(tile)`. A tile may
/// be divided in turn, by whole rows with `hete_Fragment`, or into tiles.
///
/// `HETE_ERROR_SHAPE` where the tiles do not make up the matrix.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Tile(
    data: *mut hete_Data,
    size: usize,
    columns: usize,
    height: usize,
    width: usize,
) -> hete_Error {
    call(|| {
        let in_bytes = |elements: usize| elements.checked_mul(size).ok_or_else(too_many);
        let (columns, width) = (in_bytes(columns)?, in_bytes(width)?);
        let tile = height.checked_mul(width).ok_or_else(too_many)?;
        divide(data, |bytes| bytes / tile.max(1), |view| view.tile(columns, height, width))
    })
}

/// The same with tiles of different sizes: `rows` heights, and `columns` widths in elements of `size` bytes. Tile (i, j) is
/// fragment `i · columns + j`.
///
/// # Safety
/// `heights` and `widths` are NULL, or arrays of so many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_TileSizes(
    data: *mut hete_Data,
    size: usize,
    heights: *const usize,
    rows: usize,
    widths: *const usize,
    columns: usize,
) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let (heights, widths) = unsafe { (array("heights", heights, rows)?, array("widths", widths, columns)?) };
        let in_bytes = |width: &usize| width.checked_mul(size).ok_or_else(too_many);
        let widths: Vec<usize> = widths.iter().map(in_bytes).collect::<Result<_>>()?;
        divide(data, |_| rows.saturating_mul(columns), |view| view.tile_sizes(heights, &widths))
    })
}

#[cold]
fn too_many() -> Box<Fault> {
    Fault::new(hete_Error::HETE_ERROR_SHAPE, "tile: the sizes come to more than an address can count")
}

/// How many rows a tile has; 1 for data that is none, 0 on an error.
#[unsafe(no_mangle)]
pub extern "C" fn hete_RowCount(data: *const hete_Data) -> usize {
    value(0, || look(data, |view| view.rows().0))
}

/// Bytes from the beginning of a row to that of the next, in the host's memory: of data that is no tile, its size. 0 on an
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Pitch(data: *const hete_Data) -> usize {
    value(0, || {
        look(data, |view| {
            let ((rows, row), extent) = (view.rows(), view.extent());
            (extent.len() - row).checked_div(rows - 1).unwrap_or(row)
        })
    })
}

/// Makes divided data whole again; its fragments' handles are freed. Costs nothing where they agree on who has the newest
/// bytes; those that lie elsewhere than the others are copied to the host first. Waits for the calls that use the data.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Join(data: *mut hete_Data) -> hete_Error {
    call(|| divide(data, |_| 0, View::join))
}

/// Divides as `f` does, into `count` fragments of so many bytes.
fn divide(
    data: *const hete_Data,
    count: impl FnOnce(usize) -> usize,
    f: impl FnOnce(&mut View<u8>) -> rimms::Result<()>,
) -> Result<()> {
    let mut admitted = admit((InOut::<u8>::of(data),))?;
    let size = admitted.size(0);
    let n = count(size);
    if n > size {
        let why = format!("fragment: {size} bytes do not divide into {n} fragments");
        return Err(Fault::new(hete_Error::HETE_ERROR_SHAPE, why));
    }
    let room = lock().handles.reserve(n)?;
    let before = admitted.view(0)?.fragment_count();
    let done = f(admitted.view_mut(0)?);
    // It may have been joined, and then not divided: the former fragments are gone all the same.
    if done.is_ok() || admitted.view(0)?.fragment_count() != before {
        lock().handles.divided(data.addr(), room);
    }
    Ok(done?)
}

/// The handle of fragment `i`, from 0: the same each time, until the data is divided anew, joined or freed. NULL where
/// there is none, or the data is not divided (`HETE_ERROR_INDEX`).
#[unsafe(no_mangle)]
pub extern "C" fn hete_Index(data: *mut hete_Data, i: usize) -> *mut hete_Data {
    value(std::ptr::null_mut(), || lock().handles.child(data.addr(), i))
}

/// How many fragments data is divided into; 0 where it is not divided, or on an error.
#[unsafe(no_mangle)]
pub extern "C" fn hete_FragmentCount(data: *const hete_Data) -> usize {
    value(0, || lock().handles.children(data.addr()))
}

/// The resource that wrote the data last (the paper's flag): 0 is the host, others are numbered as `rimms_ResourceName`
/// counts. −1 where nobody has, the fragments differ, or on an error.
///
/// Of a moment: calls that are under way may change it.
#[unsafe(no_mangle)]
pub extern "C" fn hete_LastResource(data: *const hete_Data) -> i32 {
    value(-1, || {
        let last = look(data, View::last_resource)?;
        Ok(last.map_or(-1, |resource| resource.index() as i32))
    })
}

/// The resources that have the newest bytes of the data: bit `r` stands for resource `r`. 0 where nobody has all of them,
/// or on an error. Of a moment, too.
#[unsafe(no_mangle)]
pub extern "C" fn hete_ValidSet(data: *const hete_Data) -> u64 {
    value(0, || look(data, |view| view.valid().iter().fold(0, |set, resource| set | 1 << resource.index())))
}

/// Where the data lies on a resource: `data->data` for the host, an address of the device's own for others. 0 where it has
/// no place there, or not in one piece, or on an error. The bytes there may be stale: see `hete_ValidSet`.
#[unsafe(no_mangle)]
pub extern "C" fn hete_ResourcePointer(data: *const hete_Data, resource: usize) -> u64 {
    value(0, || look(data, |view| ResourceId::new(resource).and_then(|id| view.address_on(id)).unwrap_or(0)))
}
