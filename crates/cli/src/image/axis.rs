//! An axis: what it shows, in which unit, and where its ticks are.

/// How many ticks an axis has at most, but for one.
const TICKS: f64 = 8.0;

/// From the middle of the first cell to the middle of the last, in a unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    what: &'static str,
    unit: &'static str,
    first: f64,
    last: f64,
    cells: usize,
}

/// A round number on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where, as a fraction of the axis.
    pub(super) at: f64,
    pub(super) label: String,
}

impl Axis {
    /// An axis of `cells` cells. With one cell, it goes from `first` to `last` as if they were edges.
    pub(crate) fn new(what: &'static str, unit: &'static str, first: f64, last: f64, cells: usize) -> Self {
        Self { what, unit, first, last, cells }
    }

    /// The values at the edges: half a cell further out than the middles.
    fn edges(&self) -> (f64, f64) {
        let half = if self.cells > 1 { (self.last - self.first) / (self.cells - 1) as f64 / 2.0 } else { 0.0 };
        (self.first - half, self.last + half)
    }

    /// A power of a thousand that makes the numbers short, with its prefix.
    fn prefix(&self) -> (f64, &'static str) {
        let (low, high) = self.edges();
        let largest = low.abs().max(high.abs());
        let prefixes = [(1e-9, "n"), (1e-6, "µ"), (1e-3, "m"), (1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")];
        // Decibels have none.
        if self.unit == "dB" {
            return (1.0, "");
        }
        prefixes.into_iter().rev().find(|(factor, _)| *factor <= largest).unwrap_or((1.0, ""))
    }

    /// What it shows, with the unit.
    pub(super) fn label(&self) -> String {
        format!("{} ({}{})", self.what, self.prefix().1, self.unit)
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let factor = self.prefix().0;
        let (low, high) = self.edges();
        let (low, high) = (low / factor, high / factor);
        let step = round_step((high - low) / TICKS);
        if !(step.is_finite() && step > 0.0) {
            return Vec::new();
        }
        let decimals = (-step.log10()).ceil().max(0.0) as usize;
        let number = |n: i64| {
            let value = n as f64 * step;
            let at = (value - low) / (high - low);
            // No "−0".
            Tick { at, label: format!("{:.decimals$}", if n == 0 { 0.0 } else { value }) }
        };
        // A hair's breadth more, for what should lie on the edge.
        let hair = (high - low) * 1e-9;
        let (first, last) = (((low - hair) / step).ceil() as i64, ((high + hair) / step).floor() as i64);
        (first..=last).map(number).collect()
    }
}

/// The smallest of 1, 2, 5, 10 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10.0_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= least * 0.999_999).unwrap_or(power)
}
