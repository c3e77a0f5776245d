//! Every backend passes the same suite. A new one adds a few lines here.
#![allow(clippy::unwrap_used)]

use rimms::device::faulty::{Faulty, Plan};
use rimms::device::host::Host;
use rimms::device::sim::Sim;
use rimms::device::sim::devmem::check::{Counters, Findings};
use rimms::device::{Device, conformance};

/// The suite for one device; `make` gives a fresh one.
macro_rules! conformance {
    ($($name:ident: $make:expr;)*) => {$(
        mod $name {
            use super::*;

            fn make() -> impl Device {
                $make
            }

            #[test]
            fn memory() {
                conformance::memory(&make());
            }

            #[test]
            fn transfers() {
                conformance::transfers(&make());
            }

            #[test]
            fn exhaustion() {
                conformance::exhaustion(&make());
            }

            #[test]
            fn threads() {
                conformance::threads(&make());
            }

            #[test]
            fn order() {
                conformance::order(&make());
            }
        }
    )*};
}

fn acc(heap: &str) -> Sim {
    Sim::acc("acc0", 1 << 20, heap.parse().unwrap()).unwrap()
}

fn watched() -> Sim {
    acc("two-level").checked(&Findings::default()).counted(&Counters::new())
}

conformance! {
    acc_watched: watched();
    host: Host::new(1);
    acc_two_level: acc("two-level");
    acc_next_fit: acc("next-fit");
    acc_bitset_8: acc("bitset:8");
    acc_bitset_4096: acc("bitset:4096");
    fft_block: Sim::fft("fft0", 1 << 20, Default::default()).unwrap();
    zip_block: Sim::zip("zip0", 1 << 20, Default::default()).unwrap();
    faulty_without_faults: Faulty::new(acc("two-level"), Plan::none());
}

/// What a device computes does not depend on its heap: once for each kind of device.
macro_rules! ops {
    ($($name:ident: $make:expr;)*) => {$(
        #[test]
        fn $name() {
            println!("{:?}", conformance::ops(&$make));
        }
    )*};
}

ops! {
    ops_on_host: Host::new(1);
    ops_on_acc: acc("two-level");
    ops_on_fft_block: Sim::fft("fft0", 1 << 20, Default::default()).unwrap();
    ops_on_zip_block: Sim::zip("zip0", 1 << 20, Default::default()).unwrap();
}

#[test]
fn checkers_find_nothing_in_the_built_in_ops() {
    let findings = Findings::default();
    println!("{:?}", conformance::ops(&acc("two-level").checked(&findings)));
    let found = findings.take();
    assert!(found.is_empty(), "{} of {}", found[0], found.len());
}
