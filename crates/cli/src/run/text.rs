//! The report for people: the answer beside the truth, then both runs side by side.

use comfy_table::CellAlignment;
use rimms_radar::Detection;

use super::report::{Directions, Report};
use crate::{output, watch};

pub(super) fn of(report: &Report, input: &str, truth: Option<Detection>) -> String {
    let Report { app, memory, policy, pes, style, .. } = report;
    let head = format!("{app}, {style} style, on {input}\nmemory {memory}, policy {policy}, PEs {}\n", pes.join(", "));
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

fn answer(report: &Report, truth: Option<Detection>) -> String {
    let max_error = report.result.max_error;
    let Some(found) = report.result.detection else {
        return format!("largest difference from the input: {:.3e}\n", max_error.unwrap_or(f64::NAN));
    };
    let mut table = output::table(["", "found", "known"]);
    let mut row = |what: &str, show: &dyn Fn(Detection) -> String| {
        table.add_row([what, &show(found), &truth.map_or_else(|| "-".to_owned(), show)]);
    };
    row("Doppler (Hz)", &|d| format!("{:.6}", d.doppler_hz));
    row("delay (s)", &|d| scientific(d.delay_s));
    row("magnitude", &|d| format!("{:.4}", d.magnitude));
    row("row, column (from 0)", &|d| format!("{}, {}", d.peak_row, d.peak_col));
    let verdict = match max_error {
        Some(error) if error < 1.0 => format!("the known cell; magnitude off by {:.2} %\n", error * 100.0),
        Some(_) => "not the known cell\n".to_owned(),
        None => String::new(),
    };
    format!("{table}\n{verdict}")
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
            copies => format!("{copies} ({})", bytes(number(&report.bytes))),
        }
    };
    row("copies host to device", &direction(|d| d.host_to_device));
    row("copies device to host", &direction(|d| d.device_to_host));
    row("copies device to device", &direction(|d| d.device_to_device));
    row("final copies", &direction(|d| d.last));
    row("Overall", &|r| seconds(r.time_s.overall));
    row("Computation", &|r| seconds(r.time_s.computation));
    row("allocate", &|r| seconds(r.time_s.allocate));
    row("fragment", &|r| seconds(r.time_s.fragment));
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

fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..0x10_0000 => format!("{:.1} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / 1_048_576.0),
    }
}

fn seconds(s: f64) -> String {
    match s {
        _ if s < 1e-3 => format!("{:.1} us", s * 1e6),
        _ if s < 1.0 => format!("{:.3} ms", s * 1e3),
        _ => format!("{s:.3} s"),
    }
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
