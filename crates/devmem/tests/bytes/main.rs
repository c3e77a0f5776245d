//! The program of the fuzz target in `fuzz/`, fed with random bytes: so many of them, the same each time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dropping_copy_types, clippy::drop_non_drop)]

mod target;

use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

#[test]
fn no_bytes_make_a_device_panic() {
    for seed in 0..if cfg!(debug_assertions) { 600 } else { 100_000 } {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut bytes = vec![0; random.random_range(0..3000)];
        random.fill_bytes(&mut bytes);
        target::run(&bytes);
    }
}
