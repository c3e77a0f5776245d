use super::{Handles, REMEMBERED};
use crate::error::hete_Error::*;
use crate::place::Use;
use crate::slab::hete_Data;
use rimms::Runtime;

fn runtime() -> Runtime {
    Runtime::builder().cpus(1).build().unwrap()
}

fn add(handles: &mut Handles, rt: &Runtime, bytes: usize) -> usize {
    handles.add(rt.alloc(bytes).unwrap()).unwrap().addr()
}

/// Divides as the interface does.
fn divide(handles: &mut Handles, handle: usize, n: usize) -> Vec<usize> {
    let mut view = handles.find(handle).unwrap().within().view.unwrap();
    // SAFETY: the only user.
    unsafe { view.as_mut() }.fragment(n).unwrap();
    let room = handles.reserve(n).unwrap();
    handles.divided(handle, room);
    (0..n).map(|i| handles.child(handle, i).unwrap().addr()).collect()
}

fn open_leaves(handles: &Handles, handle: usize) -> usize {
    let mut n = 0;
    handles.open_leaves(handles.find(handle).unwrap(), |_| n += 1);
    n
}

fn size_of_handle(address: usize) -> usize {
    let shown: *const hete_Data = std::ptr::with_exposed_provenance(address);
    // SAFETY: a handle, in use or remembered.
    unsafe { (*shown).size }
}

#[test]
fn what_was_freed_is_known_until_many_more_were_freed_and_no_longer() {
    let (mut handles, rt) = (Handles::default(), runtime());
    let first = add(&mut handles, &rt, 8);
    assert!(handles.remove(first).is_some());
    assert_eq!(size_of_handle(first), 0);
    for _ in 1..REMEMBERED {
        let other = add(&mut handles, &rt, 8);
        assert_ne!(other, first, "the address is out of use");
        handles.remove(other);
    }
    assert_eq!(handles.find(first).unwrap_err().code, HETE_ERROR_FREED);
    let kept = add(&mut handles, &rt, 8);
    let one_more = add(&mut handles, &rt, 8);
    handles.remove(one_more);
    assert_eq!(handles.find(first).unwrap_err().code, HETE_ERROR_HANDLE);
    assert!(handles.find(kept).is_ok());
    // Bounded: those that are remembered, and the one in use.
    assert_eq!((handles.entries.len(), handles.retired_handles), (REMEMBERED + 1, REMEMBERED));
}

#[test]
fn fragments_go_with_their_data_however_deep() {
    let (mut handles, rt) = (Handles::default(), runtime());
    let root = add(&mut handles, &rt, 64);
    let parts = divide(&mut handles, root, 4);
    let deep = divide(&mut handles, parts[1], 2);
    let deeper = divide(&mut handles, deep[1], 8);
    assert_eq!(handles.find(deeper[7]).unwrap().part(false), Use { from: 31, to: 32, writes: false, tile: None });
    // A part is divided anew: what was below it goes, its neighbours stay.
    let again = divide(&mut handles, parts[1], 4);
    assert_eq!(handles.find(deeper[7]).unwrap_err().code, HETE_ERROR_FREED);
    assert_eq!(handles.find(deep[0]).unwrap_err().code, HETE_ERROR_FREED);
    assert_eq!(size_of_handle(parts[2]), 16);
    assert!(handles.find(again[3]).is_ok());
    assert_eq!(handles.check_whole(again[3]).unwrap_err().code, HETE_ERROR_ARGUMENT);
    assert_eq!(handles.clear().len(), 1);
    for handle in [root, parts[0], again[3]] {
        assert_eq!(handles.find(handle).unwrap_err().code, HETE_ERROR_FREED);
    }
}

/// A nesting as deep as a program likes: nothing here goes down it by recursion.
#[test]
fn nesting_a_hundred_thousand_deep() {
    let (mut handles, rt) = (Handles::default(), runtime());
    let root = add(&mut handles, &rt, 8);
    let mut leaf = root;
    for _ in 0..100_000 {
        leaf = divide(&mut handles, leaf, 1)[0];
    }
    assert_eq!(open_leaves(&handles, root), 1);
    handles.set_open(root, false);
    assert_eq!(open_leaves(&handles, root), 0);
    handles.set_open(leaf, true);
    assert_eq!(open_leaves(&handles, root), 1);
    drop(handles);
}

#[test]
fn what_the_program_may_write_is_known_leaf_by_leaf() {
    let (mut handles, rt) = (Handles::default(), runtime());
    let root = add(&mut handles, &rt, 64);
    let parts = divide(&mut handles, root, 4);
    assert_eq!(open_leaves(&handles, root), 4, "as what they were a part of");
    handles.set_open(parts[0], false);
    assert_eq!([open_leaves(&handles, root), open_leaves(&handles, parts[0])], [3, 0]);
    handles.set_open(root, false);
    assert_eq!(open_leaves(&handles, root), 0);
    let below = divide(&mut handles, parts[3], 2);
    assert_eq!(open_leaves(&handles, root), 0);
    handles.set_open(below[1], true);
    assert_eq!(
        [open_leaves(&handles, root), open_leaves(&handles, parts[3]), open_leaves(&handles, parts[2])],
        [1, 1, 0]
    );
    handles.set_open(root, true);
    assert_eq!(open_leaves(&handles, root), 5);
}

#[test]
fn readers_share_and_writers_do_not() {
    let part = |from, to, writes| Use { from, to, writes, tile: None };
    for (a, b, conflict) in [
        (part(0, 8, false), part(0, 8, false), false),
        (part(0, 8, true), part(0, 8, false), true),
        (part(0, 8, true), part(8, 16, true), false),
        (part(0, 9, true), part(8, 16, false), true),
        (part(0, 64, false), part(8, 16, true), true),
        (part(0, 64, false), part(8, 16, false), false),
    ] {
        assert_eq!((a.conflicts(&b), b.conflicts(&a)), (conflict, conflict), "{a:?} {b:?}");
    }
}

/// Tiles of one row of tiles lie between each other: their extents overlap, they do not.
#[test]
fn tiles_meet_where_they_have_a_byte_in_common() {
    let (mut handles, rt) = (Handles::default(), runtime());
    let root = add(&mut handles, &rt, 64);
    let mut view = handles.find(root).unwrap().within().view.unwrap();
    // SAFETY: the only user.
    unsafe { view.as_mut() }.tile(8, 4, 4).unwrap();
    let room = handles.reserve(4).unwrap();
    handles.divided(root, room);
    let part = |handles: &Handles, i| {
        let handle = handles.child(root, i).unwrap().addr();
        handles.find(handle).unwrap().part(true)
    };
    let parts: Vec<Use> = (0..4).map(|i| part(&handles, i)).collect();
    for (i, a) in parts.iter().enumerate() {
        for (j, b) in parts.iter().enumerate() {
            assert_eq!(a.conflicts(b), i == j, "{i} {j}");
        }
        assert!(handles.find(root).unwrap().part(false).conflicts(a));
        // Bytes 4 to 8 of the first row are the second tile's, and so on.
        for byte in 0..64 {
            let one = Use { from: byte, to: byte + 1, writes: false, tile: None };
            let owner = byte / 32 * 2 + byte % 8 / 4;
            assert_eq!((a.conflicts(&one), one.conflicts(a)), (owner == i, owner == i), "tile {i}, byte {byte}");
        }
    }
}
