//! What a call costs more through C than through Rust: the same op on the same sizes, in turn, in one run.
//!
//! `cargo bench -p rimms-capi [-- --quick]`. Through C means the exported functions, by address, as a program would call
//! them. Rust's side is the typed call on a runtime of its own with the same settings.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)] // the interface's own; a benchmark may stop

use rimms::{Complex32, HeteData, Runtime, ZipOp};
use rimms_capi::cedr::{CEDR_FFT_flt, CEDR_ZIP_flt, hete_ZipOp};
use rimms_capi::control::rimms_Set;
use rimms_capi::data::{hete_Malloc, hete_Read, hete_Sync};
use rimms_capi::error::hete_Error::HETE_OK;
use rimms_capi::slab::hete_Data;
use std::ffi::c_int;
use std::hint::black_box;
use std::time::Instant;

/// Nanoseconds that a call may cost more.
const TARGET: f64 = 30.0;

/// Elements: few, so that the op itself hides little.
const N: usize = 16;

/// Runs an operation so many times.
type Timed<'a> = Box<dyn FnMut(u32) + 'a>;

struct Pair<'a> {
    what: &'static str,
    rust: Timed<'a>,
    c: Timed<'a>,
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (rounds, times) = if quick { (100, 500) } else { (4_000, 500) };

    // SAFETY: texts.
    assert_eq!(unsafe { rimms_Set(c"cpus".as_ptr(), c"1".as_ptr()) }, HETE_OK);
    let rt = Runtime::builder().cpus(1).build().unwrap().blocking();
    let fresh = || -> HeteData<Complex32> {
        let mut data = rt.alloc(N).unwrap();
        data.overwrite().unwrap().fill(Complex32::ONE).unwrap();
        data
    };
    let (x, w, mut y, mut z, mut read) = (fresh(), fresh(), fresh(), fresh(), fresh());
    let [a, b, c, d, e] = std::array::from_fn(|_| handle());
    // By address: nothing of them is seen by the compiler here.
    let fft: extern "C" fn(*mut hete_Data, *mut hete_Data, usize, bool) -> _ = black_box(CEDR_FFT_flt);
    let zip: extern "C" fn(*mut hete_Data, *mut hete_Data, *mut hete_Data, usize, c_int) -> _ = black_box(CEDR_ZIP_flt);
    let [read_c, sync_c]: [extern "C" fn(*mut hete_Data) -> _; 2] = black_box([hete_Read, hete_Sync]);

    let pairs = [
        Pair {
            what: "fft of 16, two operands",
            rust: repeat(|| assert!(rt.fft(&x, &mut y).is_ok())),
            c: repeat(|| assert_eq!(fft(a, b, N, true), HETE_OK)),
        },
        Pair {
            what: "zip of 16, three operands",
            rust: repeat(|| assert!(rt.zip(ZipOp::Mul, &x, &w, &mut z).is_ok())),
            c: repeat(|| assert_eq!(zip(a, c, d, N, hete_ZipOp::ZIP_MULT as c_int), HETE_OK)),
        },
        Pair {
            what: "read, valid on the host",
            rust: repeat(|| {
                black_box(&*x.read().unwrap());
            }),
            c: repeat(|| assert_eq!(read_c(a), HETE_OK)),
        },
        Pair {
            what: "sync (update), valid on the host",
            rust: repeat(|| {
                black_box(&mut *read.update().unwrap());
            }),
            c: repeat(|| assert_eq!(sync_c(e), HETE_OK)),
        },
    ];
    println!("{:34} {:>9} {:>9} {:>9} {:>9}", "", "Rust", "C", "more", "target");
    for mut pair in pairs {
        let (mut fastest_rust, mut fastest_c) = (f64::INFINITY, f64::INFINITY);
        for round in 0..rounds {
            let time = |f: &mut Timed<'_>| {
                let start = Instant::now();
                f(times);
                start.elapsed().as_nanos() as f64 / f64::from(times)
            };
            // Another one begins each time.
            let (rust, c) = if round % 2 == 0 {
                let rust = time(&mut pair.rust);
                (rust, time(&mut pair.c))
            } else {
                let c = time(&mut pair.c);
                (time(&mut pair.rust), c)
            };
            (fastest_rust, fastest_c) = (fastest_rust.min(rust), fastest_c.min(c));
        }
        let more = fastest_c - fastest_rust;
        let met = if more <= TARGET { "met" } else { "missed" };
        println!("{:34} {fastest_rust:>6.1} ns {fastest_c:>6.1} ns {more:>6.1} ns {TARGET:>6.1} ns  {met}", pair.what);
    }
    println!("fastest of {rounds} rounds of {times} calls, in turn");
}

fn repeat<'a>(mut f: impl FnMut() + 'a) -> Timed<'a> {
    Box::new(move |times| (0..times).for_each(|_| f()))
}

/// Data through C, written.
fn handle() -> *mut hete_Data {
    let handle = hete_Malloc(N * size_of::<Complex32>());
    assert!(!handle.is_null());
    // SAFETY: just allocated, of that size, and the program's to write.
    unsafe { (*handle).data.cast::<[Complex32; N]>().write([Complex32::ONE; N]) };
    handle
}
