//! `--stats` of a run on a simulated machine.

use distribution::{KINDS, Simulated};
use engine::{Machine, Simulate};
use std::io::Write;

/// `--stats` of a simulated run: figures that are the same each time. Nothing that a clock of this host said.
pub(crate) fn statistics(machine: &Machine, simulate: Simulate, out: &mut impl Write) -> std::io::Result<()> {
    let (Some(run), Some(model)) = (machine.simulated(), simulate.model()) else { return Ok(()) };
    let Simulated { cycles, work, channels, .. } = run;
    let counters = machine.counters();
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
