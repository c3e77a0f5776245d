//! The unsafe part of the crate: the bytes of buffers and the pointers to them.
//!
//! # Who may touch a buffer's storage, and when
//! A buffer's storage is a [`block::Block`]: a header (first address, limits, length) and the bytes, or the way to
//! bytes of the host ([`host::HostBytes`]) or of another buffer ([`block::Lent`]). It is reached through one pointer, in
//! the buffer's [`table::Slot`], and goes through these hands:
//!
//! 1. *Owned* ([`block::Storage`]): one thread alone holds it, writes header and first contents with plain
//!    writes, and publishes it in the slot (release).
//! 2. *Published*: anybody may reach it. The header does not change any more; bytes are only touched by relaxed
//!    atomic operations on 32-bit words ([`words::Bytes`]), so that no race between users of the simulated
//!    memory is a race of the host's language.
//! 3. *Retired* ([`block::Retired`]): `deallocate` took it out of the slot. From then on no access finds it, but
//!    one that found it before may still be at work on it.
//! 4. *Owned* again, once no access can be at work on it: reused for another buffer, or given back to the host.
//!
//! # Why a late access never touches another buffer's bytes
//! The step from 3 to 4 is the delicate one: an access that passed its check, was interrupted, and stores after
//! its buffer was freed must not hit the next owner of the same bytes. Checking again *after* the access (a
//! sequence lock) would serve loads, but not stores. So every access announces itself (a hazard pointer):
//!
//! * The access writes its address into a word of its own thread ([`announce`]), *then* reads the slot, checks,
//!   touches the bytes, and clears the word (release).
//! * The owner-to-be takes the block out of the slot, *then* makes all threads pass a memory barrier, *then*
//!   reads the words of all threads (acquire). A block with an announced address is left retired until a later
//!   look.
//!
//! For any access, the barrier falls either after its announcement, which the look then sees (or it sees
//! the word cleared, and with that all that the access did), or before its read of the slot, which then does
//! not find the block. Either way the block is not touched once it is owned again.
//!
//! The price is paid by the one who frees: an access costs two plain stores, and one look (with its
//! barrier, some microseconds where other threads run) serves a batch of retired blocks ([`pool`]).
//! On hosts without such a barrier each access has a fence instead: the same argument, slower.
//!
//! A part of another buffer is announced by its own address. So a part that is freed gives its hold on the other buffer
//! back only after a look of its own, when nobody is at work on it: the other buffer cannot be freed before that.
//!
//! A buffer that is held ([`holds`]) does not come to step 3 before its holds end. What a thread holds for itself it
//! reaches without announcing each access ([`near`]).
//!
//! The parts of this that threads race for ([`announce`] and [`holds`]) are files of their own that `tests/loom` runs
//! under every interleaving.
//!
//! A failed access announces itself as well, which at worst keeps a block retired for longer. Nothing that runs
//! between announcement and clearing calls out of this crate, so a thread has one access (two addresses, for a copy)
//! at a time.
#![allow(unsafe_code)]

pub(crate) mod announce;
pub(crate) mod block;
pub(crate) mod futures;
pub(crate) mod hazard;
pub(crate) mod holds;
pub(crate) mod host;
pub(crate) mod near;
pub(crate) mod pool;
pub(crate) mod shadow;
pub(crate) mod table;
pub(crate) mod words;
