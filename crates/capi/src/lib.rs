//! The C and C++ interface of [`rimms`]: `hete.h`, `hete.hpp`, `librimms.so` and `librimms.a`.
//!
//! Made for C programs, and installed by `scripts/install-c --prefix DIR`; `docs/c.md` is the way in. As a Rust crate it is
//! for its own tests and benchmark.
//!
//! # The contract
//!
//! * **Handles.** `hete_Data *` from `hete_Malloc` or `hete_Index`, events and ops are looked up before anything behind
//!   them is touched, so that one that was freed, never was, or is NULL is an error code, whatever the order of calls and
//!   from any thread. Other pointers (places for results, texts, arrays) cannot be checked for more than NULL and alignment.
//! * **Errors.** A call returns a [`hete_Error`](error::hete_Error), or a value that stands for failure; the code and a
//!   message are kept for the thread, and told to a handler. A call that fails changes nothing but what it says. No panic
//!   leaves the library.
//! * **Ownership.** Who allocates frees: data with `hete_Free`, ops with `hete_OpDestroy`. Fragments belong to their data,
//!   events are plain values, texts that are handed out belong to the library. Calls that were accepted keep what they need.
//! * **Threads.** Any thread may call anything. Calls on the same bytes, one of which writes them, run one after the other;
//!   others side by side. What a program does through `data` is its own to order: not while a call uses it.
//! * **Start and end.** The first call starts the runtime, as the settings say; nothing has to be ended.
//!
//! # Inside, from the ground up
//!
//! | module | owns |
//! | --- | --- |
//! | [`error`] | codes, and what the library's errors come to in them |
//! | [`boundary`] | panics and errors end there; texts and places that programs hand in |
//! | [`slab`], [`pool`] | the structs that programs see; things that stay where they are |
//! | [`lane`] | how a thread says what it is at, without a lock |
//! | [`place`] | what a handle stands for, and who is at what in its datum |
//! | [`handles`], [`hints`] | which addresses are handles; the same without a lock |
//! | [`devices`], [`settings`] | what the runtime is to be made of |
//! | [`latch`] | a lock for a few instructions |
//! | [`session`] | the runtime and its data, behind that lock |
//! | [`operands`], [`admit`] | what a call wants; which call may be at what |
//! | [`event`] | calls that were accepted |
//! | [`routes`] | which PEs a thread's calls go to |
//! | [`run`], [`ops`] | a call's way to the runtime; what the calls are |
//! | [`data`], [`cedr`], [`calls`], [`user_op`], [`control`] | the exported functions |
//!
//! ```
//! use rimms_capi::{cedr::CEDR_FFT_flt, data::*, error::hete_Error::HETE_OK};
//! let x = hete_Malloc(64 * 8);
//! let y = hete_Malloc(64 * 8);
//! // SAFETY: 128 floats, and the program's to write.
//! unsafe { (*x).data.cast::<[f32; 128]>().write([1.0; 128]) };
//! assert_eq!(CEDR_FFT_flt(x, y, 64, true), HETE_OK);
//! assert_eq!(hete_Sync(y), HETE_OK);
//! // SAFETY: synchronised just now.
//! assert_eq!(unsafe { (*y).data.cast::<[f32; 2]>().read() }, [64.0, 64.0]);
//! assert_eq!([hete_Free(x), hete_Free(y)], [HETE_OK; 2]);
//! ```

mod admit;
pub mod boundary;
pub mod calls;
pub mod cedr;
pub mod control;
pub mod data;
mod devices;
pub mod error;
pub mod event;
mod handles;
mod hints;
mod lane;
mod latch;
mod operands;
mod ops;
mod place;
mod pool;
pub mod routes;
mod run;
mod session;
mod settings;
pub mod slab;
mod sync;
pub mod user_op;
