use super::{free, in_kernel, look};
use crate::admit::{Admitted, Closes, admit};
use crate::data::{hete_Fragment, hete_Index, hete_Malloc};
use crate::error::hete_Error::*;
use crate::operands::Bytes;
use crate::slab::hete_Data;
use rimms::View;
use rimms::op::Role;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Handles go from thread to thread in C.
#[derive(Clone, Copy)]
struct Handle(*mut hete_Data);

// SAFETY: looked up, never dereferenced.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Admits a call, for as long as the test likes.
fn admitted(wanted: &[(*mut hete_Data, Role)]) -> crate::error::Result<Admitted<Bytes<'static>>> {
    let (handles, roles): (Vec<_>, Vec<_>) = wanted.iter().copied().unzip();
    admit(Bytes { handles: handles.leak(), roles: roles.leak() })
}

fn data() -> Handle {
    let handle = hete_Malloc(64);
    assert!(!handle.is_null());
    Handle(handle)
}

/// Does `f`, in a thread of its own, wait until `first` is done?
fn waits<T>(first: impl FnOnce() -> T, f: impl FnOnce() + Send) -> bool {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let first = first();
        let is_done = &is_done;
        let thread = scope.spawn(move || {
            f();
            is_done.store(true, SeqCst);
        });
        // One that does not wait is mostly through before; one that does, is not, however long this takes.
        for _ in 0..200 {
            if thread.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let waited = !is_done.load(SeqCst);
        drop(first);
        thread.join().unwrap();
        waited
    })
}

#[test]
fn readers_and_different_fragments_go_side_by_side() {
    let x = data();
    assert_eq!(hete_Fragment(x.0, 2), HETE_OK);
    let parts = [0, 1].map(|i| hete_Index(x.0, i));
    // In one thread: it would hang if one of them had to wait.
    let first = admitted(&[(parts[0], Role::Out)]).unwrap();
    let second = admitted(&[(parts[1], Role::InOut)]).unwrap();
    drop((first, second));
    let first = admitted(&[(x.0, Role::In)]).unwrap();
    let second = admitted(&[(x.0, Role::In), (parts[0], Role::In)]).unwrap();
    assert_eq!(look(x.0, View::valid).unwrap().len(), 1);
    drop((first, second));
    free(x.0).unwrap();
}

#[test]
fn operands_of_one_call_are_no_conflict_and_those_of_others_are() {
    let x = data();
    assert_eq!(hete_Fragment(x.0, 2), HETE_OK);
    let parts = [0, 1].map(|i| Handle(hete_Index(x.0, i)));
    drop(admitted(&[(x.0, Role::In), (x.0, Role::In), (parts[1].0, Role::In)]).unwrap());
    drop(admitted(&[(parts[0].0, Role::In), (parts[1].0, Role::Out)]).unwrap());
    let call = move || drop(admitted(&[({ parts }[0].0, Role::In), ({ parts }[1].0, Role::In)]).unwrap());
    assert!(waits(|| admitted(&[(parts[1].0, Role::Out)]).unwrap(), call));
    free(x.0).unwrap();
}

#[test]
fn who_writes_waits_for_those_who_are_at_the_same_bytes() {
    let x = data();
    assert_eq!(hete_Fragment(x.0, 2), HETE_OK);
    let part = Handle(hete_Index(x.0, 0));
    let one = |handle: Handle, role| admitted(&[({ handle }.0, role)]).unwrap();
    assert!(waits(|| one(x, Role::In), move || drop(one(part, Role::Out))));
    assert!(waits(|| one(part, Role::Out), move || drop(one(x, Role::In))));
    assert!(waits(|| one(part, Role::In), move || assert_eq!(hete_Fragment({ x }.0, 4), HETE_OK)));
    let part = Handle(hete_Index(x.0, 3));
    assert!(waits(|| one(part, Role::InOut), move || assert!(look({ x }.0, View::valid).is_ok())));
    assert!(waits(|| one(part, Role::In), move || free({ x }.0).unwrap()));
    assert_eq!(admitted(&[(x.0, Role::In)]).err().unwrap().code, HETE_ERROR_FREED);
}

#[test]
fn whoever_waited_for_what_was_freed_meanwhile_is_told() {
    let x = data();
    assert!(waits(
        || admitted(&[(x.0, Role::InOut)]).unwrap(),
        move || {
            // Both wait; one frees, the other finds it freed.
            let other = std::thread::spawn(move || free({ x }.0).err().map(|fault| fault.code));
            let mine = free({ x }.0).err().map(|fault| fault.code);
            let mut outcomes = [mine, other.join().unwrap()];
            outcomes.sort_by_key(Option::is_some);
            assert_eq!(outcomes, [None, Some(HETE_ERROR_FREED)]);
        }
    ));
}

#[test]
fn inside_a_kernel_nobody_waits() {
    let x = data();
    let held = admitted(&[(x.0, Role::InOut)]).unwrap();
    let code = in_kernel(|| admitted(&[(x.0, Role::In)]).err().map(|fault| fault.code));
    assert_eq!(code, Some(HETE_ERROR_DEADLOCK));
    held.done(Closes::Written);
    in_kernel(|| admitted(&[(x.0, Role::In)]).map(drop)).unwrap();
    free(x.0).unwrap();
}
