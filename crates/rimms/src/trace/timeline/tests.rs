//! The lanes of copies, and what is written.

use super::{Cause, Entry, ResourceId, Timeline, What};
use serde_json::Value;

fn copy(from: usize, to: usize, start_ns: u64, end_ns: u64) -> Entry {
    let id = |i| ResourceId::new(i).unwrap();
    let what = What::Copy { from: id(from), to: id(to), cause: Cause::Input, bytes: 8 };
    Entry { start_ns, end_ns, call: Some(7), what }
}

fn timeline(entries: Vec<Entry>) -> Timeline {
    let names = |names: &[&str]| names.iter().map(|n| (*n).into()).collect();
    Timeline {
        entries,
        allocated: vec![0; 2],
        pes: names(&["cpu0", "acc0"]),
        resources: names(&["host", "acc0"]),
        threads: names(&["main"]),
    }
}

fn written(timeline: &Timeline) -> Vec<Value> {
    let mut bytes = Vec::new();
    timeline.write_chrome(&mut bytes).unwrap();
    let json: Value = serde_json::from_slice(&bytes).unwrap();
    json["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn slices_of_one_track_never_cross() {
    let entries = vec![copy(0, 1, 0, 10), copy(0, 1, 5, 15), copy(0, 1, 10, 20), copy(1, 0, 0, 30), copy(0, 1, 12, 14)];
    let events = written(&timeline(entries));
    let slices: Vec<&Value> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(slices.len(), 5);
    let of = |e: &Value| (e["tid"].as_u64().unwrap(), e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap());
    for (i, a) in slices.iter().enumerate() {
        for b in &slices[i + 1..] {
            let ((lane, start, dur), (other, from, long)) = (of(a), of(b));
            assert!(lane != other || start + dur <= from + 1e-9 || from + long <= start + 1e-9, "{a} {b}");
        }
    }
    let names: Vec<&str> = (events.iter().filter(|e| e["name"] == "thread_name" && e["pid"] == 2))
        .map(|e| e["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["host → acc0", "acc0 → host", "host → acc0", "host → acc0"]);
}

#[test]
fn an_arrow_leads_from_a_copy_to_its_call_and_from_a_call_to_the_copy_of_its_result() {
    let call = |failed| Entry {
        start_ns: 100,
        end_ns: 200,
        call: Some(7),
        what: What::Call { pe: 1, name: "fft \"of\" 64".into(), failed },
    };
    let mut back = copy(1, 0, 200, 300);
    if let What::Copy { cause, .. } = &mut back.what {
        *cause = Cause::Output;
    }
    let events = written(&timeline(vec![copy(0, 1, 10, 90), call(false), back, copy(0, 1, 300, 400)]));
    let ends = |ph: &str| -> Vec<(u64, u64)> {
        let of = |e: &Value| (e["pid"].as_u64().unwrap(), e["id"].as_u64().unwrap());
        events.iter().filter(|e| e["ph"] == ph).map(of).collect()
    };
    assert_eq!(ends("s"), [(2, 0), (1, 2), (2, 3)]);
    assert_eq!(ends("f"), [(1, 0), (2, 2), (1, 3)]);
    assert!(events.iter().any(|e| e["name"] == "fft \"of\" 64" && e["args"]["failed"] == false));
    assert!(written(&timeline(vec![call(true)])).iter().any(|e| e["cname"] == "terrible"));
}

#[test]
fn what_is_allocated_is_a_level() {
    let r = ResourceId::new(1).unwrap();
    let at = |ns, what| Entry { start_ns: ns, end_ns: ns, call: None, what };
    let entries = vec![
        at(1, What::Allocation { resource: r, bytes: 100 }),
        at(2, What::Allocation { resource: r, bytes: 50 }),
        at(3, What::Eviction { resource: r, bytes: 100 }),
        at(4, What::Release { resource: r, bytes: 100 }),
    ];
    let events = written(&timeline(entries));
    let levels: Vec<i64> =
        (events.iter().filter(|e| e["ph"] == "C")).map(|e| e["args"]["allocated"].as_i64().unwrap()).collect();
    assert_eq!(levels, [100, 150, 50]);
    let later = Timeline { allocated: vec![0, 50], ..timeline(vec![at(5, What::Release { resource: r, bytes: 50 })]) };
    assert_eq!(written(&later).iter().find(|e| e["ph"] == "C").unwrap()["args"]["allocated"], 0);
    assert_eq!(events.iter().filter(|e| e["ph"] == "i" && e["name"] == "eviction").count(), 1);
}
