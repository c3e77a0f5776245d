//! The marking systems beside glibc malloc/free, in the paper's pattern and two others.
//!
//! Every figure is a median over rounds in which all contenders take turns, so the
//! machine's moods meet all alike; the ratio's denominator is malloc's median over the
//! same rounds, printed beside it. Contenders are called through the trait object, as
//! the runtime calls them.
//!
//! `cargo bench -p rimms-heap` runs everything; after `--`, `--quick` asks for fewer rounds
//! and block sizes, and `pairs`, `alternating`, `live` or `batches` for those tables only.
//! Without cargo's `--bench` (as in `cargo test --benches`) each pattern runs a few times
//! only, to show that it works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod contender;
mod pattern;
mod table;

use pattern::Pattern;
use rimms_heap::HeapKind;
use table::{Column, Table, Target};

/// How much work: rounds that the medians are over, and pairs in each.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    operations: usize,
    every_block: bool,
}

fn main() {
    let has = |flag: &str| std::env::args().any(|arg| arg == flag);
    if has("--list") {
        return;
    }
    // Rounds much shorter than a scheduler's slice, so that few are interrupted and the
    // median is of one that was not.
    let effort = match (has("--bench"), has("--quick")) {
        (false, _) => Effort { rounds: 3, operations: 64, every_block: false },
        (true, true) => Effort { rounds: 41, operations: 1_000, every_block: false },
        (true, false) => Effort { rounds: 301, operations: 2_000, every_block: true },
    };
    println!(
        "Ratios of ns for one allocate and one free to malloc's, which is printed in each row.\n\
         Medians over {} rounds of {} pairs; + target met, - missed, no sign: no target.",
        effort.rounds, effort.operations
    );
    let names = ["pairs", "alternating", "live", "batches"];
    let tables: [fn(Effort); 4] = [pairs, alternating, thousand_live, batches];
    let some = names.into_iter().any(has);
    for (name, table) in names.into_iter().zip(tables) {
        if !some || has(name) {
            table(effort);
        }
    }
}

/// Which targets a table has.
#[derive(Clone, Copy)]
enum Aim {
    Pairs,
    Live,
    None,
}

fn columns(effort: Effort, aim: Aim) -> Vec<Column> {
    let target = |small, large, live| match aim {
        Aim::Pairs => Target::BySize { small, large },
        Aim::Live => Target::Flat(live),
        Aim::None => Target::None,
    };
    let mut columns = vec![
        Column::heap(HeapKind::NextFit, target(0.75, 0.2, 0.3)),
        Column::heap(HeapKind::TwoLevel, target(1.0, 0.5, 0.5)),
    ];
    let blocks: &[u32] =
        if effort.every_block { &[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] } else { &[3, 6, 9, 12, 16] };
    columns
        .extend(blocks.iter().map(|log2| Column::heap(HeapKind::Bitset { block: 1 << log2 }, target(2.0, 1.0, 0.6))));
    columns.extend(Column::rivals());
    columns
}

/// 32 to 8,192 floats, in bytes.
fn sizes() -> impl Iterator<Item = (String, u64)> {
    (5..=13).map(|log2| (format!("{} floats", 1 << log2), 4 << log2))
}

/// The paper's pattern: one block, allocated and freed over and over.
fn pairs(effort: Effort) {
    let title = "Pairs: allocate and free one size, again and again (the paper's pattern)";
    let mut table = Table::new(title, columns(effort, Aim::Pairs));
    for (label, bytes) in sizes() {
        table.row(&label, bytes, Pattern::Pairs { bytes }, effort);
    }
    table.verdict();
}

/// Pairs of two sizes in turn, so that no request repeats the one before it.
fn alternating(effort: Effort) {
    let title = "Alternating pairs: two sizes in turn, which the memo of the newest block never serves";
    let mut table = Table::new(title, columns(effort, Aim::None));
    for (label, bytes) in sizes() {
        let pattern = Pattern::Alternating { bytes: [bytes, bytes / 4 * 3] };
        table.row(&format!("{label}, 3/4"), bytes, pattern, effort);
    }
    table.verdict();
}

/// A thousand live blocks of 32 to 8,192 floats, one replaced at random each time.
fn thousand_live(effort: Effort) {
    let title = "1,000 live blocks of 32 to 8,192 floats: free one at random, allocate another";
    let mut table = Table::new(title, columns(effort, Aim::Live));
    for percent in [10, 59] {
        let pattern = Pattern::Live { percent, seed: 0x5EED };
        table.row(&format!("{percent} % full"), 0, pattern, effort);
    }
    table.verdict();
}

/// Pulse Doppler's allocations without fragments: 8 data of 128 blocks each, all
/// allocated and then all freed.
fn batches(effort: Effort) {
    let title = "Batches: 8 x 128 blocks allocated, then freed (pulse Doppler without fragments)";
    let mut table = Table::new(title, columns(effort, Aim::None));
    for floats in [128, 2048] {
        let pattern = Pattern::Batch { bytes: floats * 4, count: 8 * 128 };
        table.row(&format!("{floats} floats"), floats * 4, pattern, effort);
    }
    table.verdict();
}
