//! The lock-free parts under every interleaving that loom finds.
//!
//! The files of `order` and the state word are compiled here a second time, with loom's primitives in place of the
//! real ones.
#![allow(clippy::unwrap_used, unsafe_code, dead_code, missing_docs, unreachable_pub)]

#[path = "../../src/coherence/cell.rs"]
mod cell;
#[path = "../../src/order/inbox.rs"]
mod inbox;
#[path = "../../src/order/signal.rs"]
mod signal;
#[path = "../../src/coherence/state.rs"]
mod state;
mod sync;
#[path = "../../src/order/ticket.rs"]
mod ticket;
#[path = "../../src/order/timeline.rs"]
mod timeline;
#[path = "../../src/order/users.rs"]
mod users;

use cell::StateCell;
use inbox::Inbox;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use state::{ResourceId, ResourceSet, State};
use ticket::Ticket;
use timeline::Timelines;
use users::Users;

/// Every interleaving with up to three preemptions, which is where almost all faults show.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

#[test]
fn a_waiter_is_woken_and_sees_what_was_done() {
    model(|| {
        let lines = Arc::new(Timelines::new(1));
        let cell = Arc::new(AtomicUsize::new(0));
        let (theirs, written) = (lines.clone(), cell.clone());
        let worker = thread::spawn(move || {
            for place in 1..=2 {
                written.store(place as usize, Relaxed);
                theirs.retire(Ticket::new(0, place));
            }
        });
        lines.wait(Ticket::new(0, 1));
        assert!(cell.load(Relaxed) >= 1);
        lines.wait(Ticket::new(0, 2));
        assert_eq!(cell.load(Relaxed), 2);
        worker.join().unwrap();
    });
}

#[test]
fn two_waiters_of_one_ticket_are_both_woken() {
    model(|| {
        let lines = Arc::new(Timelines::new(1));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let lines = lines.clone();
                thread::spawn(move || lines.wait(Ticket::new(0, 1)))
            })
            .collect();
        lines.retire(Ticket::new(0, 1));
        waiters.into_iter().for_each(|w| w.join().unwrap());
    });
}

#[test]
fn whoever_waits_for_any_is_woken_by_the_first() {
    model(|| {
        let lines = Arc::new(Timelines::new(2));
        let theirs = lines.clone();
        let worker = thread::spawn(move || theirs.retire(Ticket::new(1, 1)));
        assert_eq!(lines.wait_any(&[Ticket::new(0, 1), Ticket::new(1, 1)]), Some(1));
        worker.join().unwrap();
    });
}

fn push(inbox: &Inbox<u64>, item: u64) -> u64 {
    let mut entry = inbox.entry();
    entry.room().write(item);
    // SAFETY: written.
    unsafe { entry.put() }
}

#[test]
fn what_is_put_in_comes_out_in_order_and_a_sleeper_wakes() {
    model(|| {
        let inbox = Arc::new(Inbox::<u64>::default());
        let theirs = inbox.clone();
        let worker = thread::spawn(move || {
            let (mut last, mut found) = (0, Vec::new());
            while theirs.take(last, |items| found.append(items)) {
                last = found.len() as u64;
            }
            found
        });
        assert_eq!([push(&inbox, 10), push(&inbox, 20)], [1, 2]);
        inbox.close();
        assert_eq!(worker.join().unwrap(), [10, 20]);
    });
}

#[test]
fn two_submitters_share_an_inbox() {
    model(|| {
        let inbox = Arc::new(Inbox::<u64>::default());
        let theirs = inbox.clone();
        let other = thread::spawn(move || push(&theirs, 20));
        let mine = push(&inbox, 10);
        let others = other.join().unwrap();
        assert_eq!(mine + others, 3);
        let mut found = Vec::new();
        assert!(inbox.take(0, |items| found.append(items)));
        assert_eq!((found[mine as usize - 1], found[others as usize - 1]), (10, 20));
    });
}

fn readers(users: &Users, lines: &Timelines) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    users.pending_readers(lines, &mut |t| found.push((t.queue(), t.place())));
    found.sort_unstable();
    found
}

#[test]
fn readers_that_register_at_once_are_all_waited_for() {
    model(|| {
        let shared = Arc::new((Users::nobody(), Timelines::new(3)));
        let threads: Vec<_> = [Ticket::new(1, 1), Ticket::new(2, 1)]
            .into_iter()
            .map(|ticket| {
                let shared = shared.clone();
                thread::spawn(move || shared.0.add_reader(ticket, &shared.1))
            })
            .collect();
        shared.0.add_reader(Ticket::new(1, 2), &shared.1);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(readers(&shared.0, &shared.1), [(1, 2), (2, 1)]);
        shared.0.forget_readers();
    });
}

#[test]
fn a_reader_that_registers_while_another_retires_is_not_lost() {
    model(|| {
        let shared = Arc::new((Users::nobody(), Timelines::new(2)));
        shared.0.add_reader(Ticket::new(0, 1), &shared.1);
        let theirs = shared.clone();
        let worker = thread::spawn(move || theirs.1.retire(Ticket::new(0, 1)));
        shared.0.add_reader(Ticket::new(1, 1), &shared.1);
        worker.join().unwrap();
        assert_eq!(readers(&shared.0, &shared.1), [(1, 1)]);
        shared.0.forget_readers();
    });
}

/// Two readers look for the writer at once; the one that is told "nobody" by what the other noted sees the bytes too.
#[test]
fn a_writer_that_one_reader_found_done_is_done_for_the_other() {
    model(|| {
        let shared = Arc::new((Users::nobody(), Timelines::new(1), AtomicUsize::new(0)));
        shared.0.set_writer(Ticket::new(0, 1));
        let theirs = shared.clone();
        let worker = thread::spawn(move || {
            theirs.2.store(7, Relaxed);
            theirs.1.retire(Ticket::new(0, 1));
        });
        let look = |shared: &(Users, Timelines, AtomicUsize)| {
            let mut pending = false;
            shared.0.pending_writer(&shared.1, &mut |_| pending = true);
            if !pending {
                assert_eq!(shared.2.load(Relaxed), 7);
            }
        };
        let other = shared.clone();
        let reader = thread::spawn(move || look(&other));
        look(&shared);
        worker.join().unwrap();
        reader.join().unwrap();
    });
}

/// Two readers have got their copies while a third gives up the device's: none of the three is forgotten.
#[test]
fn states_published_at_once_lose_nothing() {
    model(|| {
        let [host, a, b] = [0, 1, 2].map(|i| ResourceId::new(i).unwrap());
        let cell = Arc::new(StateCell::new(State::owned(a)));
        let reader = |r| {
            let cell = cell.clone();
            thread::spawn(move || cell.change(|state| Some(state.shared_with(r))))
        };
        let readers = [reader(host), reader(b)];
        let mut given_up = false;
        cell.change(|state| {
            let left = state.lost_by(a);
            given_up = left != State::UNINITIALISED;
            given_up.then_some(left)
        });
        readers.into_iter().for_each(|t| t.join().unwrap());
        let (state, both) = (cell.get(), ResourceSet::only(host).with(b));
        assert_eq!(state.valid(), if given_up { both } else { both.with(a) });
        assert!(state.valid().contains(state.last().unwrap()));
    });
}

/// Whoever finds a resource in the valid set finds the bytes there.
#[test]
fn a_valid_bit_is_seen_after_the_bytes() {
    model(|| {
        let host = ResourceId::HOST;
        let shared = Arc::new((StateCell::new(State::UNINITIALISED), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let writer = thread::spawn(move || {
            theirs.1.store(7, Relaxed);
            theirs.0.set(State::owned(host));
        });
        if shared.0.get().is_valid_on(host) {
            assert_eq!(shared.1.load(Relaxed), 7);
        }
        writer.join().unwrap();
    });
}
