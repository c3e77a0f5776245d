//! Settings: what the runtime is to be made of, said by call, by environment or in a file.
//!
//! Each setting has one name and is a text, wherever it comes from: `cpus` is `rimms_Set("cpus", "2")`, `RIMMS_CPUS=2` and
//! `cpus = 2` in a TOML file. A call goes before the environment, the environment before the file. A name that is not
//! known is an error, and lists those that are, so that a misspelt one does not go by silently.

use crate::devices::{self, Wanted};
use crate::error::{Fault, Result, hete_Error::*};
use crate::routes::{Chosen, Routes};
use rimms::device::sim::HeapKind;
use rimms::sched::{self, CostTable, Policy};
use rimms::{MemoryMode, Runtime};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A runtime that has started.
pub(crate) struct Started {
    /// What calls take whose thread has not chosen.
    pub(crate) all: Routes,
    pub(crate) chosen: Chosen,
    pub(crate) keeps_trace: bool,
}

/// What was set so far.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    by_call: Vec<(&'static Setting, String)>,
    /// Of the file that the program named, if it has.
    from_file: Option<Vec<(&'static Setting, String)>>,
}

/// What settings come to.
#[derive(Default)]
struct Plan {
    cpus: Option<usize>,
    devices: Vec<Wanted>,
    heap: HeapKind,
    memory: MemoryMode,
    policy: Option<Arc<dyn Policy>>,
    on: Option<String>,
    costs: Option<PathBuf>,
    fixed_costs: bool,
    time_limit: Option<Duration>,
    watchdog: Option<Duration>,
    trace: bool,
}

#[derive(Debug)]
struct Setting {
    name: &'static str,
    /// Takes the value over, or says what is wanted instead.
    apply: fn(&mut Plan, &str) -> Result<(), String>,
}

/// All there are.
const SETTINGS: [Setting; 11] = [
    Setting { name: "cpus", apply: |plan, value| number(value).map(|n| plan.cpus = Some(n)) },
    Setting { name: "devices", apply: |plan, value| devices::parse(value).map(|list| plan.devices = list) },
    Setting { name: "heap", apply: |plan, value| parse(value).map(|heap| plan.heap = heap) },
    Setting { name: "memory", apply: |plan, value| parse(value).map(|mode| plan.memory = mode) },
    Setting {
        name: "policy",
        apply: |plan, value| sched::by_name(value).map(|p| plan.policy = Some(p)).map_err(|e| e.to_string()),
    },
    Setting {
        name: "on",
        apply: |plan, value| {
            plan.on = Some(value.into());
            Ok(())
        },
    },
    Setting {
        name: "costs",
        apply: |plan, value| {
            plan.costs = Some(value.into());
            Ok(())
        },
    },
    Setting { name: "fixed-costs", apply: |plan, value| yes(value).map(|yes| plan.fixed_costs = yes) },
    Setting {
        name: "time-limit",
        apply: |plan, value| number(value).map(|ms| plan.time_limit = Some(Duration::from_millis(ms))),
    },
    Setting {
        name: "watchdog",
        apply: |plan, value| number(value).map(|ms| plan.watchdog = Some(Duration::from_millis(ms))),
    },
    Setting { name: "trace", apply: |plan, value| yes(value).map(|yes| plan.trace = yes) },
];

/// What begins the names of settings in the environment.
const PREFIX: &str = "RIMMS_";

/// Names a file with settings.
const FILE: &str = "RIMMS_CONFIG";

/// What the project's tests are told by the environment: none of our business.
const OF_TESTS: [&str; 4] = ["RIMMS_RECORDINGS", "RIMMS_SEED", "RIMMS_STEPS", "RIMMS_SOAK_MINUTES"];

impl Settings {
    /// Sets one, by call. The value is looked at now.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let setting = find(name)?;
        setting.apply(&mut Plan::default(), value, name)?;
        self.by_call.push((setting, value.into()));
        Ok(())
    }

    /// Takes those of a file.
    pub(crate) fn load(&mut self, file: &str) -> Result<()> {
        self.from_file = Some(read(file)?);
        Ok(())
    }

    /// A runtime as it is set by now.
    pub(crate) fn start(&self) -> Result<Started> {
        let mut plan = Plan::default();
        let named_file = std::env::var_os(FILE).filter(|_| self.from_file.is_none());
        let named_file = named_file.map(|file| read(&file.to_string_lossy())).transpose()?;
        for (setting, value) in self.from_file.iter().chain(&named_file).flatten() {
            setting.apply(&mut plan, value, setting.name)?;
        }
        for (name, value) in std::env::vars_os() {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if name.starts_with(PREFIX) && name != FILE && !OF_TESTS.contains(&&*name) {
                in_environment(&name)?.apply(&mut plan, &value, &name)?;
            }
        }
        for (setting, value) in &self.by_call {
            setting.apply(&mut plan, value, setting.name)?;
        }
        plan.start()
    }
}

impl Setting {
    fn apply(&self, plan: &mut Plan, value: &str, as_written: &str) -> Result<()> {
        let value = value.trim();
        (self.apply)(plan, value)
            .map_err(|why| Fault::new(HETE_ERROR_CONFIG, format!("{as_written} = `{value}`: {why}")))
    }
}

impl Plan {
    fn start(self) -> Result<Started> {
        let mut builder = Runtime::builder().memory_mode(self.memory);
        if let Some(cpus) = self.cpus {
            builder = builder.cpus(cpus);
        }
        for device in &self.devices {
            builder = device.add(builder, self.heap)?;
        }
        if let Some(policy) = self.policy {
            builder = builder.policy(policy);
        }
        if let Some(file) = &self.costs {
            // A file that is not there yet is one that nothing was written to, unless it alone is to be gone by.
            let is_new = !self.fixed_costs && file.try_exists().is_ok_and(|there| !there);
            let table = if is_new { CostTable::default() } else { CostTable::read(file)? };
            builder = if self.fixed_costs { builder.fixed_costs(&table) } else { builder.costs(&table) };
        } else if self.fixed_costs {
            return Err(Fault::new(HETE_ERROR_CONFIG, "fixed-costs: which ones? `costs` names their file"));
        }
        if let Some(limit) = self.time_limit {
            builder = builder.time_limit(limit);
        }
        if let Some(after) = self.watchdog {
            builder = builder.watchdog(after, |report| eprintln!("rimms: {report}"));
        }
        if self.trace {
            builder = builder.timeline();
        }
        let runtime = builder.build()?;
        let queued = match self.on {
            Some(names) => runtime.on(&names)?,
            None => runtime,
        };
        Ok(Started { all: Routes::of(queued), chosen: Chosen::default(), keeps_trace: self.trace })
    }
}

fn find(name: &str) -> Result<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| unknown("setting", name, |name| name.into()))
}

/// `RIMMS_TIME_LIMIT` is `time-limit`.
fn in_environment(variable: &str) -> Result<&'static Setting> {
    let as_variable = |name: &str| format!("{PREFIX}{}", name.to_uppercase().replace('-', "_"));
    let found = SETTINGS.iter().find(|setting| as_variable(setting.name) == variable);
    found.ok_or_else(|| {
        let mut fault = unknown("environment variable", variable, as_variable);
        fault.message.push_str(&format!(", {FILE}"));
        fault
    })
}

#[cold]
fn unknown(what: &str, name: &str, shown: impl Fn(&str) -> String) -> Box<Fault> {
    let known: Vec<String> = SETTINGS.iter().map(|setting| shown(setting.name)).collect();
    Fault::new(HETE_ERROR_UNKNOWN, format!("unknown {what} `{name}`; known: {}", known.join(", ")))
}

/// The settings of a TOML file: one key each.
fn read(file: &str) -> Result<Vec<(&'static Setting, String)>> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| Fault::new(HETE_ERROR_FILE, format!("settings in {file}: it cannot be read: {e}")))?;
    let in_file = |mut fault: Box<Fault>| {
        fault.message.insert_str(0, &format!("settings in {file}: "));
        fault
    };
    let table: toml::Table = text.parse().map_err(|e| in_file(Fault::new(HETE_ERROR_CONFIG, format!("{e}"))))?;
    let one = |(name, value): (&String, &toml::Value)| {
        let setting = find(name)?;
        let value = plain(value).ok_or_else(|| {
            let why = format!("{name}: a text, a number, true or false, or a list of these is wanted");
            Fault::new(HETE_ERROR_CONFIG, why)
        })?;
        setting.apply(&mut Plan::default(), &value, name)?;
        Ok((setting, value))
    };
    table.iter().map(one).collect::<Result<_>>().map_err(in_file)
}

/// A value as the text that it would be in a call.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(n) => Some(n.to_string()),
        toml::Value::Boolean(yes) => Some(yes.to_string()),
        toml::Value::Array(values) => values.iter().map(plain).collect::<Option<Vec<_>>>().map(|all| all.join(", ")),
        _ => None,
    }
}

fn number<N: std::str::FromStr>(value: &str) -> Result<N, String> {
    value.parse().map_err(|_| "a whole number is wanted".into())
}

fn yes(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| "true or false is wanted".into())
}

fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(value: &str) -> Result<T, String> {
    value.parse().map_err(|e: T::Err| e.to_string())
}

#[cfg(test)]
mod tests;
