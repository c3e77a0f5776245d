//! The report for people: the answer beside the truth, then both runs side by side.

use comfy_table::CellAlignment;
use rimms_radar::Detection;
use rimms_radar::apps::radar_correlator::Lag;
use rimms_radar::sar::Brightest;

use super::report::{Directions, Finding, Report};
use crate::{output, watch};

pub(super) fn of(report: &Report, input: &str, truth: Option<Finding>) -> String {
    let Report { app, memory, policy, pes, style, .. } = report;
    let shared = match report.zero_copy_from {
        Some(from) if from > 0 => format!(" (zero-copy from {from} bytes on)"),
        _ => String::new(),
    };
    let head =
        format!("{app}, {style} style, on {input}\nmemory {memory}{shared}, policy {policy}, PEs {}\n", pes.join(", "));
    format!("{head}\n{}\n{}\n{}", answer(report, truth), runs(report), watched(report))
}

/// What was counted and found; nothing where nobody asked.
fn watched(report: &Report) -> String {
    let mut text = String::new();
    let reference = report.reference.as_deref().map(|run| (run, "reference run"));
    for (run, which) in std::iter::once((report, report.memory)).chain(reference) {
        if let Some(counts) = &run.mem_counts {
            text += &format!("\nmemory of devices, {which}\n{}\n", watch::table(counts));
        }
        match run.findings.as_deref() {
            None => {}
            Some([]) => text += &format!("\nfindings, {which}: none\n"),
            Some(found) => {
                let lines: Vec<String> = found.iter().map(watch::Found::line).collect();
                text += &format!("\nfindings, {which}:\n{}\n", lines.join("\n"));
            }
        }
    }
    text
}

fn answer(report: &Report, truth: Option<Finding>) -> String {
    let max_error = report.result.max_error;
    let rows = match (report.result.finding, truth) {
        (Finding::Signal {}, _) => {
            let from = if report.app == "2fft" { "input" } else { "known result" };
            return format!("largest difference from the {from}: {:.3e}\n", max_error.unwrap_or(f64::NAN));
        }
        (Finding::Lag(found), Some(Finding::Lag(known))) => lag(found, Some(known)),
        (Finding::Lag(found), _) => lag(found, None),
        (Finding::Detection(found), Some(Finding::Detection(known))) => detection(found, Some(known)),
        (Finding::Detection(found), _) => detection(found, None),
        (Finding::Image(found), Some(Finding::Image(known))) => brightest(found, Some(known)),
        (Finding::Image(found), _) => brightest(found, None),
    };
    let mut table = output::table(["", "found", "known"]);
    for Row { what, found, known } in rows {
        table.add_row([what, &found, known.as_deref().unwrap_or("-")]);
    }
    let verdict = match (max_error, report.result.finding) {
        (None, _) => String::new(),
        (Some(error), Finding::Image(_)) => format!("largest difference from the known image: {error:.3e}\n"),
        (Some(error), Finding::Lag(_)) if error < 1.0 => "the known lag\n".to_owned(),
        (Some(_), Finding::Lag(_)) => "not the known lag\n".to_owned(),
        (Some(error), _) if error < 1.0 => format!("the known cell; magnitude off by {:.2} %\n", error * 100.0),
        (Some(_), _) => "not the known cell\n".to_owned(),
    };
    format!("{table}\n{verdict}")
}

/// A line of the answer.
struct Row {
    what: &'static str,
    found: String,
    known: Option<String>,
}

impl Row {
    fn new<T: Copy>(what: &'static str, found: T, known: Option<T>, show: impl Fn(T) -> String) -> Self {
        Self { what, found: show(found), known: known.map(show) }
    }
}

fn lag(found: Lag, known: Option<Lag>) -> Vec<Row> {
    vec![
        Row::new("lag (s)", found, known, |l| scientific(l.lag_s)),
        Row::new("lag (samples)", found, known, |l| l.lag_samples.to_string()),
        Row::new("magnitude", found, known, |l| format!("{:.4}", l.magnitude)),
    ]
}

fn detection(found: Detection, known: Option<Detection>) -> Vec<Row> {
    vec![
        Row::new("Doppler (Hz)", found, known, |d| format!("{:.6}", d.doppler_hz)),
        Row::new("delay (s)", found, known, |d| scientific(d.delay_s)),
        Row::new("magnitude", found, known, |d| format!("{:.4}", d.magnitude)),
        Row::new("row, column (from 0)", found, known, |d| format!("{}, {}", d.peak_row, d.peak_col)),
    ]
}

fn brightest(found: Brightest, known: Option<Brightest>) -> Vec<Row> {
    vec![
        Row::new("peak", found, known, |b| format!("{:.6}", b.peak)),
        Row::new("row, column (from 0)", found, known, |b| format!("{}, {}", b.peak_row, b.peak_col)),
    ]
}

fn runs(report: &Report) -> String {
    let Some(reference) = report.reference.as_deref() else { return String::new() };
    let mut table = output::table(["", report.memory, "reference run"]);
    let mut row = |what: &str, show: &dyn Fn(&Report) -> String| {
        table.add_row([what, &show(report), &show(reference)]);
    };
    let direction = |number: fn(&Directions) -> u64| {
        move |report: &Report| match number(&report.copies) {
            0 => "0".to_owned(),
            copies => format!("{copies} ({})", output::bytes(number(&report.bytes))),
        }
    };
    row("copies host to device", &direction(|d| d.host_to_device));
    row("copies device to host", &direction(|d| d.device_to_host));
    row("copies device to device", &direction(|d| d.device_to_device));
    row("final copies", &direction(|d| d.last));
    row("Overall", &|r| output::seconds(r.time_s.overall));
    row("Computation", &|r| output::seconds(r.time_s.computation));
    row("allocate", &|r| output::seconds(r.time_s.allocate));
    row("fragment", &|r| output::seconds(r.time_s.fragment));
    for pe in &report.pes {
        row(&format!("calls on {pe}"), &|r| calls(r, pe).to_string());
    }
    row("retries", &|r| r.retries.to_string());
    row("evictions", &|r| r.evictions.to_string());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn calls(report: &Report, pe: &str) -> u64 {
    report.calls_by_pe.iter().filter(|(name, _)| &**name == pe).map(|(_, calls)| calls).sum()
}

/// As C prints it: an exponent of two digits with its sign.
fn scientific(x: f64) -> String {
    let text = format!("{x:.6e}");
    match text.split_once('e').map(|(mantissa, exponent)| (mantissa, exponent.parse::<i32>())) {
        Some((mantissa, Ok(exponent))) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => text,
    }
}
