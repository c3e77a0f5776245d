//! What the documentation says of the applications is what they are.

use rimms_radar::apps::{Style, pulse_doppler, radar_correlator, sar, three_zip, two_fft, two_fzf};

const DOCS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/applications.md"));

/// The stages in the line of an application, paper style's and those of best style alone.
fn documented(app: &str) -> (Vec<&str>, Vec<&str>) {
    let start = format!("| `{app}` |");
    let line = DOCS.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
    let stages = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let (paper, best) = stages.split_once("; best style:").unwrap_or((stages, ""));
    let names = |text: &'static str| text.split('`').skip(1).step_by(2).collect();
    (names(paper), names(best))
}

#[test]
fn stages_are_documented_by_name() {
    for (app, paper, best) in [
        ("2fft", two_fft::STAGES, two_fft::STAGES),
        ("2fzf", two_fzf::STAGES, two_fzf::STAGES),
        ("3zip", three_zip::STAGES, three_zip::STAGES),
        ("radar-correlator", radar_correlator::stages(Style::Paper), radar_correlator::stages(Style::Best)),
        ("pulse-doppler", pulse_doppler::stages(Style::Paper), pulse_doppler::stages(Style::Best)),
        ("sar", sar::stages(Style::Paper), sar::stages(Style::Best)),
    ] {
        let (documented, more) = documented(app);
        assert_eq!(documented, paper, "{app}, paper style");
        let only_best: Vec<&str> = best.iter().copied().filter(|stage| !paper.contains(stage)).collect();
        assert_eq!(more, only_best, "{app}, best style");
    }
}
