//! The tables: contenders in columns, patterns in rows, ratios to malloc with targets.

use rimms_heap::HeapKind;

use crate::Effort;
use crate::contender::{Buddy, Malloc, Marking, Offset};
use crate::pattern::{Course, Pattern, Round, Running, live_bytes};

/// Bytes above which malloc's cache of small blocks no longer serves.
const SMALL: u64 = 1024;

/// The highest ratio to malloc that a column is to have.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    None,
    Flat(f64),
    /// Up to 1 KiB, and above.
    BySize {
        small: f64,
        large: f64,
    },
}

impl Target {
    fn at(self, bytes: u64) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Flat(target) => Some(target),
            Self::BySize { small, large } => Some(if bytes <= SMALL { small } else { large }),
        }
    }
}

#[derive(Clone, Copy)]
enum Who {
    Heap(HeapKind),
    Offset,
    Buddy,
}

pub(crate) struct Column {
    who: Who,
    target: Target,
}

impl Column {
    pub(crate) fn heap(kind: HeapKind, target: Target) -> Self {
        Self { who: Who::Heap(kind), target }
    }

    pub(crate) fn rivals() -> [Self; 2] {
        [Who::Offset, Who::Buddy].map(|who| Self { who, target: Target::None })
    }

    fn name(&self) -> String {
        match self.who {
            Who::Heap(HeapKind::Bitset { block }) if block >= 1024 => {
                format!("bits:{}K", block / 1024)
            }
            Who::Heap(HeapKind::Bitset { block }) => format!("bits:{block}"),
            Who::Heap(kind) => kind.to_string(),
            Who::Offset => "offset".to_owned(),
            Who::Buddy => "buddy".to_owned(),
        }
    }

    /// Room for the pattern in this contender's blocks.
    fn capacity(&self, pattern: &Pattern) -> u64 {
        let block = match self.who {
            Who::Heap(HeapKind::Bitset { block }) => block,
            _ => 1,
        };
        match *pattern {
            Pattern::Live { percent, .. } => live_bytes(block) * 100 / percent,
            Pattern::Batch { bytes, count } => 2 * bytes.next_multiple_of(block) * count as u64,
            Pattern::Pairs { .. } | Pattern::Alternating { .. } => 64 << 20,
        }
    }

    fn course(&self, pattern: Pattern) -> Box<dyn Course> {
        let capacity = self.capacity(&pattern);
        match self.who {
            Who::Heap(kind) => Box::new(Running::new(Marking::new(kind, capacity), pattern)),
            Who::Offset => Box::new(Running::new(Offset::new(capacity), pattern)),
            Who::Buddy => Box::new(Running::new(Buddy::new(capacity), pattern)),
        }
    }
}

pub(crate) struct Table {
    columns: Vec<Column>,
    met: usize,
    missed: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: &str, columns: Vec<Column>) -> Self {
        println!("\n{title}");
        print!("{:<18}{:>9}", "", "malloc");
        for column in &columns {
            print!("{:>10}", column.name());
        }
        println!();
        let table = Self { columns, met: 0, missed: Vec::new() };
        table.targets("target <= 1 KiB", SMALL);
        table.targets("target above", SMALL + 1);
        table
    }

    fn targets(&self, label: &str, bytes: u64) {
        if self.columns.iter().all(|column| column.target.at(bytes).is_none()) {
            return;
        }
        print!("{label:<18}{:>9}", "");
        for column in &self.columns {
            let target = column.target.at(bytes).map_or(String::new(), |t| format!("{t:.2} "));
            print!("{target:>10}");
        }
        println!();
    }

    /// Measures and prints one pattern. `bytes` chooses the targets.
    pub(crate) fn row(&mut self, label: &str, bytes: u64, pattern: Pattern, effort: Effort) {
        let mut courses: Vec<Box<dyn Course>> = vec![Box::new(Running::new(Malloc, pattern))];
        courses.extend(self.columns.iter().map(|column| column.course(pattern)));
        let mut times = vec![Vec::new(); courses.len()];
        let mut refused = vec![0; courses.len()];
        for _ in 0..effort.rounds {
            for (at, course) in courses.iter_mut().enumerate() {
                // The others have had the caches since.
                course.round(effort.operations / 4);
                let Round { time, pairs, refused: now } = course.round(effort.operations);
                times[at].push(time.as_secs_f64() * 1e9 / pairs as f64);
                refused[at] += now;
            }
        }
        let medians: Vec<f64> = times.into_iter().map(median).collect();
        print!("{label:<18}{:>6.1} ns", medians[0]);
        for (column, median) in self.columns.iter().zip(&medians[1..]) {
            let ratio = median / medians[0];
            let sign = match column.target.at(bytes) {
                None => ' ',
                Some(target) if ratio <= target => {
                    self.met += 1;
                    '+'
                }
                Some(target) => {
                    let name = column.name();
                    self.missed.push(format!("{label}: {name} {ratio:.3}, target {target}"));
                    '-'
                }
            };
            print!("{ratio:>9.2}{sign}");
        }
        println!();
        self.refusals(&refused, effort);
    }

    fn refusals(&self, refused: &[usize], effort: Effort) {
        if refused.iter().all(|&count| count == 0) {
            return;
        }
        print!("{:<18}{:>9}", "  refused, %", "");
        for &count in &refused[1..] {
            print!("{:>9.2} ", count as f64 * 100.0 / (effort.rounds * effort.operations) as f64);
        }
        println!();
    }

    pub(crate) fn verdict(self) {
        let all = self.met + self.missed.len();
        if all > 0 {
            println!("targets met: {} of {all}", self.met);
        }
        for missed in self.missed {
            println!("  missed: {missed}");
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
