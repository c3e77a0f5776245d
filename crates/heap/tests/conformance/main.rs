//! The conformance suite: what every marking system must do, checked against a naive
//! oracle, over ranges with awkward bases and lengths. One line instantiates it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod oracle;
mod programs;
mod suite;

use rimms_heap::HeapKind;

/// Instantiates the suite: a module of tests for each marking system.
macro_rules! conformance {
    ($($name:ident: $kind:expr;)*) => {$(
        mod $name {
            use super::*;

            conformance!(@tests $kind, programs: [
                random_programs_agree_with_the_oracle,
                random_programs_of_repeats_agree_with_the_oracle,
            ]);
            conformance!(@tests $kind, suite: [
                the_whole_range_is_one_block,
                pressure_past_capacity_is_refused_and_corrupts_nothing,
                everything_freed_is_one_run_again,
                every_alignment_is_kept,
                bad_requests_are_refused,
                bad_frees_are_refused,
                stale_addresses_are_refused,
                nothing_wraps_at_the_end_of_the_address_space,
                metadata_grows_with_live_blocks_and_has_no_maximum,
                failed_calls_change_nothing,
            ]);
        }
    )*};
    (@tests $kind:expr, $module:ident: [$($test:ident,)*]) => {$(
        #[test]
        fn $test() {
            $module::$test($kind);
        }
    )*};
}

conformance! {
    next_fit: HeapKind::NextFit;
    two_level: HeapKind::TwoLevel;
    bitset_1: HeapKind::Bitset { block: 1 };
    bitset_8: HeapKind::Bitset { block: 8 };
    bitset_64: HeapKind::Bitset { block: 64 };
    bitset_4_kib: HeapKind::Bitset { block: 4096 };
    bitset_64_kib: HeapKind::Bitset { block: 65_536 };
    bitset_1_gib: HeapKind::Bitset { block: 1 << 30 };
}
