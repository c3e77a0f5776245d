//! Timelines as Chrome trace events (JSON), which the Perfetto UI and `chrome://tracing` show.
//!
//! | process | its tracks | what they show |
//! | --- | --- | --- |
//! | calls | one a PE | calls; red where they failed |
//! | copies | one for each pair of memories, more where copies overlap | copies, with cause and bytes |
//! | threads | one a thread that waited | for which call, and how long |
//! | memory | one a resource | bytes allocated, and evictions |
//!
//! An arrow leads from a copy to the call it was made for, and from a call to the copy of its result.
//! Times are microseconds since the runtime was built.

use super::{Cause, Entry, ResourceId, Timeline, What};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

const CALLS: u32 = 1;
const COPIES: u32 = 2;
const THREADS: u32 = 3;
const MEMORY: u32 = 4;

impl Timeline {
    /// Writes the timeline as Chrome trace events: a JSON object that the Perfetto UI (ui.perfetto.dev) opens.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_chrome(&self, out: &mut impl Write) -> io::Result<()> {
        let mut events = Events { out, is_first: true };
        events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let lanes = self.lanes();
        self.names(&lanes, &mut events)?;
        let launches: HashMap<u64, (usize, &Entry)> = (self.entries.iter())
            .filter_map(|e| match e.what {
                What::Call { pe, .. } => Some((e.call?, (pe, e))),
                _ => None,
            })
            .collect();
        let mut used: Vec<i64> = self.allocated.iter().map(|bytes| *bytes as i64).collect();
        used.resize(self.resources.len(), 0);
        for (i, entry) in self.entries.iter().enumerate() {
            self.event(entry, lanes.of.get(&i).copied(), &mut used, &mut events)?;
            if let (What::Copy { cause, .. }, Some((pe, call))) =
                (&entry.what, entry.call.and_then(|n| launches.get(&n)))
            {
                let copy = (COPIES, lanes.of.get(&i).copied().unwrap_or(0), entry.start_ns);
                let call = (CALLS, *pe as u64, call.start_ns);
                let (from, to) = if *cause == Cause::Output { (call, copy) } else { (copy, call) };
                for (ph, (pid, tid, ns)) in [("s", from), ("f", to)] {
                    let name = cause.name();
                    events.write(&json!({
                        "ph": ph, "bp": "e", "cat": "data", "name": name, "id": i, "pid": pid, "tid": tid, "ts": us(ns),
                    }))?;
                }
            }
        }
        events.out.write_all(b"\n]}\n")
    }

    /// Names of processes and tracks.
    fn names(&self, lanes: &Lanes, events: &mut Events<impl Write>) -> io::Result<()> {
        for (pid, name) in [(CALLS, "calls"), (COPIES, "copies"), (THREADS, "threads"), (MEMORY, "memory")] {
            events.write(&json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}))?;
            let order = json!({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}});
            events.write(&order)?;
        }
        let copies = lanes.pairs.iter().map(|(from, to)| format!("{} → {}", self.resource(*from), self.resource(*to)));
        let copies: Vec<String> = copies.collect();
        let tracks = [
            (CALLS, self.pes.iter().map(|name| &**name).collect::<Vec<_>>()),
            (COPIES, copies.iter().map(String::as_str).collect()),
            (THREADS, self.threads.iter().map(|name| &**name).collect()),
            (MEMORY, self.resources.iter().map(|name| &**name).collect()),
        ];
        for (pid, names) in tracks {
            for (tid, name) in names.into_iter().enumerate() {
                let args = json!({"name": name});
                events.write(&json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args}))?;
            }
        }
        Ok(())
    }

    fn event(
        &self,
        entry: &Entry,
        lane: Option<u64>,
        used: &mut [i64],
        events: &mut Events<impl Write>,
    ) -> io::Result<()> {
        let slice = |pid: u32, tid: u64, name: &str, args: Value| {
            let (ts, dur) = (us(entry.start_ns), us(entry.end_ns.saturating_sub(entry.start_ns)));
            json!({"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, "args": args})
        };
        match &entry.what {
            What::Call { pe, name, failed } => {
                let mut event = slice(CALLS, *pe as u64, name, json!({"call": entry.call, "failed": failed}));
                if *failed {
                    event["cname"] = "terrible".into();
                }
                events.write(&event)
            }
            What::Copy { cause, bytes, .. } => {
                let args = json!({"bytes": bytes, "cause": cause.name(), "for call": entry.call});
                events.write(&slice(COPIES, lane.unwrap_or(0), cause.name(), args))
            }
            What::Wait { thread, on, place } => {
                let on = self.pes.get(*on).map_or("?", |name| name);
                let name = format!("waits for call {place} of {on}");
                events.write(&slice(THREADS, *thread as u64, &name, json!({})))
            }
            What::Allocation { resource, bytes } => self.level(entry, *resource, *bytes as i64, used, events),
            What::Release { resource, bytes } => self.level(entry, *resource, -(*bytes as i64), used, events),
            What::Eviction { resource, bytes } => events.write(&json!({
                "ph": "i", "s": "t", "pid": MEMORY, "tid": resource.index(), "ts": us(entry.start_ns),
                "name": "eviction", "args": {"bytes": bytes, "for call": entry.call},
            })),
        }
    }

    /// What a resource has allocated from now on.
    fn level(
        &self,
        entry: &Entry,
        resource: ResourceId,
        change: i64,
        used: &mut [i64],
        events: &mut Events<impl Write>,
    ) -> io::Result<()> {
        let Some(used) = used.get_mut(resource.index()) else { return Ok(()) };
        *used += change;
        let name = format!("{} bytes", self.resource(resource));
        let args = json!({"allocated": *used});
        events.write(&json!({"ph": "C", "pid": MEMORY, "ts": us(entry.start_ns), "name": name, "args": args}))
    }

    fn resource(&self, r: ResourceId) -> &str {
        self.resources.get(r.index()).map_or("?", |name| name)
    }

    /// A track for each copy: those of one pair share as many as they need, since slices on one must not cross.
    fn lanes(&self) -> Lanes {
        let mut copies: Vec<(usize, &Entry, (ResourceId, ResourceId))> = (self.entries.iter().enumerate())
            .filter_map(|(i, e)| match e.what {
                What::Copy { from, to, .. } => Some((i, e, (from, to))),
                _ => None,
            })
            .collect();
        copies.sort_by_key(|(_, e, _)| e.start_ns);
        let pairs: BTreeSet<(ResourceId, ResourceId)> = copies.iter().map(|(_, _, pair)| *pair).collect();
        // Each pair's lanes: when they are free.
        let mut free: BTreeMap<(ResourceId, ResourceId), Vec<(u64, u64)>> = BTreeMap::new();
        let mut lanes = Lanes { pairs: pairs.into_iter().collect(), of: HashMap::new() };
        for (i, entry, pair) in copies {
            let own = free.entry(pair).or_default();
            let lane = match own.iter_mut().find(|(_, end)| *end <= entry.start_ns) {
                Some((lane, end)) => {
                    *end = entry.end_ns;
                    *lane
                }
                None => {
                    let first = lanes.pairs.iter().position(|p| *p == pair).filter(|_| own.is_empty());
                    let lane = first.unwrap_or_else(|| {
                        lanes.pairs.push(pair);
                        lanes.pairs.len() - 1
                    }) as u64;
                    own.push((lane, entry.end_ns));
                    lane
                }
            };
            lanes.of.insert(i, lane);
        }
        lanes
    }
}

/// The tracks of copies.
struct Lanes {
    /// Whose each track is.
    pairs: Vec<(ResourceId, ResourceId)>,
    /// By the number of the entry.
    of: HashMap<usize, u64>,
}

struct Events<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

impl<W: Write> Events<'_, W> {
    fn write(&mut self, event: &Value) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.is_first) { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }
}

/// Nanoseconds as the format's microseconds.
fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
