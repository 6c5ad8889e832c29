//! `--simulate`: nodes of one process on a simulated machine, in virtual time, and what is said about such a run.

use crate::driver::Machine;
use distribution::{Depth, KINDS, Model, Simulated};
use lab::record::{Record, Simulation, Spent};
use std::fmt;
use std::io::Write;
use std::str::FromStr;

/// A machine that is known, how many nodes it has, and what is different from what it is by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simulate {
    family: Family,
    /// A square.
    pub(crate) nodes: u32,
    /// Nanoseconds of a reduction.
    reduction: Option<u32>,
    depth: Option<Depth>,
    black: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    MultiPsi,
    Pim,
}

const DEPTHS: [(&str, Depth); 3] =
    [("off", Depth::Off), ("level", Depth::OneLevel), ("adaptive", Depth::Adaptive)];
const TABLES: [(&str, bool); 2] = [("white", false), ("black", true)];

impl Simulate {
    pub(crate) fn model(self) -> Option<Model> {
        let mut model = match self.family {
            Family::MultiPsi => Model::multi_psi(self.nodes),
            Family::Pim => Model::pim(self.nodes),
        }?;
        model.reduction = self.reduction.map_or(model.reduction, f64::from);
        model.depth = self.depth.unwrap_or(model.depth);
        model.black = self.black.unwrap_or(model.black);
        Some(model)
    }

    fn set(&mut self, setting: &str) -> Result<(), String> {
        let unknown = || {
            format!(
                "`{setting}` is no setting; write reduction=41us (1ns to 1000000us), depth=off, depth=level, \
                 depth=adaptive, tables=white or tables=black"
            )
        };
        let (name, value) = setting.split_once('=').ok_or_else(unknown)?;
        match name {
            "reduction" => self.reduction = Some(nanoseconds(value).ok_or_else(unknown)?),
            "depth" => self.depth = Some(named(&DEPTHS, value).ok_or_else(unknown)?),
            "tables" => self.black = Some(named(&TABLES, value).ok_or_else(unknown)?),
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// A time from 1 ns to 1 s.
fn nanoseconds(text: &str) -> Option<u32> {
    let (digits, unit) = match text.strip_suffix("us") {
        Some(digits) => (digits, 1000),
        None => (text.strip_suffix("ns")?, 1),
    };
    let time = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    (1..=1_000_000_000).contains(&time).then_some(time)
}

impl FromStr for Simulate {
    type Err = String;
    fn from_str(text: &str) -> Result<Simulate, String> {
        let mut parts = text.split(',');
        let machine = parts.next().unwrap_or_default();
        let unknown = || format!("`{machine}` is no machine; write multipsi:16 or pim:16");
        let (family, nodes) = machine.split_once(':').ok_or_else(unknown)?;
        let family = match family {
            "multipsi" => Family::MultiPsi,
            "pim" => Family::Pim,
            _ => return Err(unknown()),
        };
        let square =
            || format!("`{nodes}` nodes: they make a square, so 4, 9, 16, 25 or any other up to 1600");
        let count = nodes.parse().map_err(|_| square())?;
        let mut simulate = Simulate { family, nodes: count, reduction: None, depth: None, black: None };
        if simulate.model().is_none() {
            return Err(square());
        }
        parts.try_for_each(|setting| simulate.set(setting))?;
        Ok(simulate)
    }
}

impl fmt::Display for Simulate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::MultiPsi => "multipsi",
            Family::Pim => "pim",
        };
        write!(f, "{family}:{}", self.nodes)?;
        if let Some(time) = self.reduction {
            write!(f, ",reduction={time}ns")?;
        }
        if let Some((name, _)) = DEPTHS.iter().find(|(_, depth)| Some(*depth) == self.depth) {
            write!(f, ",depth={name}")?;
        }
        if let Some((name, _)) = TABLES.iter().find(|(_, black)| Some(*black) == self.black) {
            write!(f, ",tables={name}")?;
        }
        Ok(())
    }
}

/// What only a simulation knows, for `--stats-file`.
pub(crate) fn record(machine: &Machine, simulate: Option<Simulate>, record: &mut Record) {
    let model = simulate.and_then(Simulate::model);
    let Some((model, run)) = model.zip(machine.simulated.as_ref()) else { return };
    let seconds = |cycles: u64| cycles as f64 * model.cycle / 1e9;
    for (node, work) in record.nodes.iter_mut().zip(&run.work) {
        node.simulated = Some(Spent {
            reducing_seconds: seconds(work.reducing),
            handling_seconds: seconds(work.messages),
            references: work.references,
            bytes: work.bytes.iter().sum(),
        });
    }
    record.simulation = Some(Simulation {
        seconds: seconds(run.cycles),
        channel_bytes: run.channels.clone(),
        channel_bytes_per_second: 1e9 / model.cycle,
    });
}

/// `--stats` of a simulated run: figures that are the same each time. Nothing that a clock of this host said.
pub(crate) fn statistics(machine: &Machine, simulate: Simulate, out: &mut impl Write) -> std::io::Result<()> {
    let (Some(run), Some(model)) = (&machine.simulated, simulate.model()) else { return Ok(()) };
    let Simulated { cycles, work, channels, .. } = run;
    let counters = &machine.counters;
    let seconds = *cycles as f64 * model.cycle / 1e9;
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let reductions: u64 = work.iter().map(|work| work.reductions).sum();
    let sent = |kind: usize| counters.iter().map(|counters| counters.sent[kind]).sum::<u64>();
    let (sent, nodes) = ((0..KINDS.len()).map(sent).collect::<Vec<u64>>(), work.len() as f64);
    let messages: u64 = sent.iter().sum();
    let mut row = |name: &str, value: String| writeln!(out, "{name:<22}{value}");
    row("simulated machine", simulate.to_string())?;
    row("virtual time", format!("{seconds:.6} s"))?;
    row("reductions", reductions.to_string())?;
    row("messages", messages.to_string())?;
    row("reductions a message", format!("{:.1}", ratio(reductions as f64, messages as f64)))?;
    row("messages a second", format!("{:.0}", ratio(messages as f64, seconds)))?;
    for (kind, name) in KINDS.iter().enumerate() {
        let bytes: u64 = work.iter().map(|work| work.bytes[kind]).sum();
        let percent = 100.0 * ratio(sent[kind] as f64, messages as f64);
        row(&format!("sent, {name}"), format!("{}, {percent:.1} %, {bytes} bytes", sent[kind]))?;
    }
    let gifts: u64 = counters.iter().map(|counters| counters.gifts).sum();
    row("goals given away", gifts.to_string())?;
    let identities =
        |of: fn(&distribution::Counters) -> u64| counters.iter().map(of).sum::<u64>().to_string();
    row("structures identified", identities(|counters| counters.identified))?;
    row("references resolved", identities(|counters| counters.resolved))?;
    let percent = |part: u64, nodes: f64| 100.0 * ratio(part as f64, *cycles as f64 * nodes);
    let shares = |reducing, handling, nodes| {
        let (reducing, handling) = (percent(reducing, nodes), percent(handling, nodes));
        format!("{reducing:.1}, {handling:.1}, {:.1} %", (100.0 - reducing - handling).max(0.0))
    };
    let sum = |of: fn(&distribution::Work) -> u64| work.iter().map(of).sum::<u64>();
    row("reducing, msgs, idle", shares(sum(|work| work.reducing), sum(|work| work.messages), nodes))?;
    for (node, (work, counters)) in work.iter().zip(counters).enumerate() {
        let sent: u64 = counters.sent.iter().sum();
        let received: u64 = work.received.iter().sum();
        let shares = shares(work.reducing, work.messages, 1.0);
        row(
            &format!("  node {node}"),
            format!("{shares}; {} reductions, {sent} sent, {received} received", work.reductions),
        )?;
    }
    let carried = channels.iter().sum::<u64>() as f64 / channels.len() as f64;
    let busiest = channels.iter().copied().max().unwrap_or_default() as f64;
    let mean = 100.0 * ratio(carried, *cycles as f64);
    row("channels", channels.len().to_string())?;
    row("bytes/s a channel", format!("{:.0}", ratio(carried, seconds)))?;
    row(
        "load of channels",
        format!("{mean:.3} %, {:.3} % of the busiest", 100.0 * ratio(busiest, *cycles as f64)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_names_and_sizes_and_settings() {
        for known in [
            "multipsi:4",
            "multipsi:1600",
            "pim:64",
            "multipsi:16,reduction=41000ns",
            "pim:9,depth=level",
            "pim:9,reduction=1ns,depth=adaptive,tables=black",
        ] {
            assert_eq!(known.parse::<Simulate>().map(|machine| machine.to_string()), Ok(known.into()));
        }
        for wrong in [
            "",
            "multipsi",
            "multipsi:1",
            "multipsi:8",
            "multipsi:1681",
            "multipsi:-4",
            "cm5:16",
            "pim:x",
            "pim:9,",
            "pim:9,reduction",
            "pim:9,reduction=41",
            "pim:9,reduction=0us",
            "pim:9,reduction=5000000us",
            "pim:9,depth=2",
            "pim:9,colour=black",
        ] {
            assert!(wrong.parse::<Simulate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_change_the_model() {
        let model = |text: &str| text.parse::<Simulate>().expect("known").model().expect("a square");
        let (plain, set) =
            (model("multipsi:16"), model("multipsi:16,reduction=41us,depth=adaptive,tables=black"));
        assert_eq!((plain.reduction, plain.depth, plain.black), (22_000.0, Depth::Off, false));
        assert_eq!((set.reduction, set.depth, set.black), (41_000.0, Depth::Adaptive, true));
    }
}
