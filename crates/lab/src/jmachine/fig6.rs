//! Figure 6: where the time goes.

use super::applications::{Application, Ran, Sizes, report};
use super::table4::NODES;
use super::table5::SEEDS;
use super::{SEED, SOURCE, simulation};
use crate::chosen;
use crate::report::{Cell, Chart, Group, Kind, Look, Report, Series, Table, median};
use crate::workloads::queens::Deal;
use crate::{Config, Error, Experiment, Host, Scale};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig6",
    title: "J-Machine: where the time goes",
    source: SOURCE,
    about: "What the nodes of a run do: compute, send and dispatch messages, synchronize, or nothing.",
    times_host: false,
    run,
};

/// The four programs, and the two other tables.
const PARTS_OF_REPORT: usize = Application::ALL.len() + 2;
const PARTS: [&str; 4] = ["computing", "messages", "synchronization", "idle"];

const SYNCHRONIZATION: usize = 2;

fn shares(ran: &Ran) -> [f64; 4] {
    let spent = ran.spent;
    [ran.share(spent.program), ran.share(spent.messages), ran.share(spent.synchronization), ran.idle()]
}

/// What the paper prints of time in synchronization, and of idle time.
fn published(application: Application) -> [Cell; 2] {
    match application {
        Application::Queens => [Cell::Absent, Cell::Published(15.0, 0)],
        Application::Tsp => [Cell::Published(16.0, 0), Cell::Published(3.8, 1)],
        _ => [Cell::Absent, Cell::Absent],
    }
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    let mut rows = Vec::new();
    let mut bars: Vec<Vec<(f64, f64)>> = vec![Vec::new(); PARTS.len()];
    let mut part = 0;
    let runs = chosen::each(
        &Application::ALL,
        |one| one.run(NODES, &sizes),
        |application, _| {
            part += 1;
            host.progress(part, PARTS_OF_REPORT, application.name());
        },
    )?;
    for (place, (application, ran)) in Application::ALL.into_iter().zip(&runs).enumerate() {
        let shares = shares(ran);
        for (bars, share) in bars.iter_mut().zip(shares) {
            bars.push((place as f64, share));
        }
        let told = [("program", Cell::text(application.name())), ("% idle", Cell::Measured(shares[3], 1))];
        host.row("Where the time of 64 nodes goes", &told);
        let name = vec![Cell::Text(application.name().into())];
        // Null calls were told.
        let kind = |part: usize| match application {
            Application::Tsp if part == SYNCHRONIZATION => Kind::Derived,
            _ => Kind::Measured,
        };
        let measured = (0..).zip(shares).map(|(part, share)| Cell::number(kind(part), share, 1)).collect();
        rows.push([name, measured, published(application).to_vec()].concat());
    }
    let heads =
        [&["program"], &PARTS.map(|part| part)[..], &["synchronization, published", "idle, published"]]
            .concat();
    let note = "Percent of the time of all nodes, until the last one has done its last work. A node that cannot send \
        because the network is full counts as idle. The paper draws bars for each program; of their heights it prints \
        three. Of N-Queens it depends on how boards are dealt (here: in turn). TSP's synchronization is mostly null \
        calls of the system, whose printed instructions were told, so it follows from them.";
    let table = Table::new("time", "Where the time of 64 nodes goes, %", note, &heads, rows);
    let series = PARTS.iter().zip(bars).map(|(part, points)| Series { name: (*part).into(), points });
    let groups =
        Application::ALL.map(|application| Group { name: application.name().into(), published: false });
    let chart = Chart {
        groups: groups.to_vec(),
        series: series.collect(),
        look: Look { stacked: true, ..Look::default() },
        ..Chart::lines(
            "by-program",
            "Where the time of 64 nodes goes",
            "program",
            "% of the time",
            Vec::new(),
        )
    };
    let tables = vec![table, deals(host, &sizes)?, entry_and_exit(host, config.scale, &sizes)?];
    let topology = simulation::network(NODES).topology.to_string();
    Ok(report(experiment, (&Application::ALL, config.scale), &topology, tables, vec![chart]))
}

/// Idle time of N-Queens by how boards are dealt.
fn deals(host: &mut dyn Host, sizes: &Sizes) -> Result<Table, Error> {
    host.progress(PARTS_OF_REPORT - 1, PARTS_OF_REPORT, "N-Queens, boards dealt otherwise");
    let ways = ways_to_deal();
    let deals: Vec<Deal> = ways.iter().flat_map(|(_, deals)| deals).copied().collect();
    let run = |deal: &Deal| Application::run_dealt(NODES, sizes, *deal);
    let runs = chosen::each(&deals, run, |_, _| {})?;
    let mut runs = runs.iter().map(|ran| (ran.idle(), ran.millis()));
    let middle = |all: &[(f64, f64)]| {
        let of = |part: fn(&(f64, f64)) -> f64| median(all.iter().map(part).collect()).unwrap_or_default();
        (of(|ran| ran.0), of(|ran| ran.1))
    };
    let of_ways: Vec<(f64, f64)> =
        ways.iter().map(|(_, deals)| middle(&runs.by_ref().take(deals.len()).collect::<Vec<_>>())).collect();
    let named = ways.iter().map(|(name, _)| *name).zip(of_ways.iter().copied());
    let row = |(name, (idle, millis)): (&str, (f64, f64))| {
        vec![Cell::text(name), Cell::Measured(idle, 1), Cell::Published(15.0, 0), Cell::Derived(millis, 0)]
    };
    let rows = named.chain([("the middle of these", middle(&of_ways))]).map(row).collect();
    let note = "How the boards were dealt to the 64 nodes is not printed. At random: the middle of eight deals. The middle \
        of the three ways is compared.";
    let heads = ["boards are dealt", "% idle", "published", "ms"];
    Ok(Table::new("deals", "N-Queens: idle time by how boards are dealt", note, &heads, rows))
}

/// At random: with the seeds of TSP's cities; other choices have seeds of their own.
fn ways_to_deal() -> [(&'static str, Vec<Deal>); 3] {
    let first = chosen::seed(SEED).wrapping_sub(SEED).wrapping_mul(SEEDS.len() as u64);
    let at_random = SEEDS.map(|seed| Deal::AtRandom(seed.wrapping_add(first)));
    [("in turn", vec![Deal::InTurn]), ("at random", at_random.to_vec()), ("in blocks", vec![Deal::InBlocks])]
}

/// Nodes, and what the paper prints for LCS on them: entry and exit, imbalance, and the most that the pipeline takes to
/// fill.
const LCS: [(u32, f64, f64, Option<f64>); 3] =
    [(64, 9.0, 4.0, None), (256, 24.0, 13.0, None), (512, 33.0, 17.0, Some(11.0))];

/// Where the rest of LCS's time goes: into beginning and ending its handlers, into waiting for node 0 and for the
/// longest part, and into filling the pipeline.
fn entry_and_exit(host: &mut dyn Host, scale: Scale, sizes: &Sizes) -> Result<Table, Error> {
    host.progress(PARTS_OF_REPORT, PARTS_OF_REPORT, "LCS on more nodes");
    let run = |(nodes, ..): &(u32, f64, f64, Option<f64>)| match scale {
        Scale::Small if *nodes > 64 => Ok(None),
        _ => Application::Lcs.run(*nodes, sizes).map(Some),
    };
    let runs = chosen::each(&LCS, run, |_, _| {})?;
    let mut rows = Vec::new();
    for ((nodes, entry, imbalance, skew), ran) in LCS.into_iter().zip(runs) {
        let cell = |of: fn(&Ran) -> f64, kind| {
            ran.as_ref().map_or(Cell::Absent, |ran| Cell::number(kind, of(ran), 1))
        };
        let share = |ran: &Ran| ran.share(ran.threads[1].count * Application::LCS_ENTRY);
        let times = ran.as_ref().map_or(Cell::Absent, |ran| Cell::of(Kind::Fitted, share(ran), entry, 2));
        rows.push(vec![
            Cell::key(nodes),
            cell(share, Kind::Fitted),
            Cell::Published(entry, 0),
            times,
            cell(|ran| ran.idle() - ran.skew(), Kind::Measured),
            Cell::Published(imbalance, 0),
            cell(Ran::skew, Kind::Measured),
            skew.map_or(Cell::Absent, |skew| Cell::Published(skew, 0)),
        ]);
    }
    let note = "Entry and exit is what of a handler does not depend on how many letters the node has. Its cycles were \
        fitted to these three figures together, and to the instructions of table 4. The skew is the time until the last \
        node has its first character; imbalance is what else nodes are idle for: node 0 also takes the second string \
        apart. Published: the skew is 11 % at most.";
    let heads = [
        "nodes",
        "entry and exit, % of the time",
        "published",
        "times the published",
        "imbalance, % of the time",
        "imbalance, published",
        "skew, % of the time",
        "skew, published",
    ];
    Ok(Table::new("entry", "LCS: entry and exit of handlers, imbalance, skew", note, &heads, rows))
}
