//! Three ways to route on a torus, under traffic that is good for one and bad for another.

use crate::chosen;
use crate::report::{Cell, Chart, Group, Kind, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::simulated::{self, Pattern, Priorities, Routing, Source, Topology, Traffic, measure};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "networks/routing",
    title: "Dimension order, adaptive ways and random detours on a torus",
    source: "L. Valiant, G. Brebner: Universal Schemes for Parallel Communication. STOC 1981",
    about: "What a torus of 8 by 8 takes of four kinds of traffic, when more is offered than it takes: packets of one \
        flit, by dimension, by any shortest way that has room, and by way of a random node. In theory the detour halves \
        what uniform traffic could have, and gives that half to every permutation.",
    times_host: false,
    run,
};

const SEED: u64 = 1;
const SIDE: u32 = 8;
const PATTERNS: [(Pattern, &str); 4] = [
    (Pattern::Uniform, "uniform"),
    (Pattern::Transpose, "transpose"),
    (Pattern::BitComplement, "bit complement"),
    (Pattern::Neighbour, "neighbour"),
];
const ROUTINGS: [(Routing, &str); 3] = [
    (Routing::Own, "dimension order"),
    (Routing::Adaptive, "adaptive"),
    (Routing::Valiant, "by way of a random node"),
];
/// What theory leaves of the uniform capacity.
const HALF: f64 = 0.5;
/// A real network gets not all of what its links could carry, and neither side of the quotient does.
const NEAR: std::ops::RangeInclusive<f64> = 0.4..=0.75;

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let cycles = if config.scale == Scale::Full { 10_000 } else { 1000 };
    let accepted = |routing, pattern| {
        let network = simulated::Config::plain(Topology::torus(&[SIDE, SIDE]), SEED);
        let network =
            simulated::Config { priorities: Priorities::Alike, buffer_flits: 16, routing, ..network };
        let source = Source::Open { pattern, flits: 1, rate: 1.0 };
        let traffic = Traffic { source, warm_up: cycles / 4, measure: cycles, drain_max: 0 };
        measure(&chosen::network(network), &traffic).accepted
    };
    let cases = PATTERNS.map(|pattern| ROUTINGS.map(|routing| (pattern, routing))).concat();
    let run = |((pattern, _), (routing, _)): &Case| Ok(accepted(*routing, *pattern));
    let mut part = 0;
    let arrived = chosen::each(&cases, run, |((_, name), (_, routing)), value| {
        part += 1;
        host.progress(part, cases.len(), &format!("{name}, {routing}"));
        let told = [
            ("traffic", Cell::text(name)),
            ("routing", Cell::text(routing)),
            ("accepted", Cell::Measured(*value, 3)),
        ];
        host.row("What arrives", &told);
    })?;
    let mut arrived = arrived.into_iter();
    let all: Vec<Arrived> = PATTERNS
        .map(|(_, name)| (name, ROUTINGS.map(|_| arrived.next().unwrap_or_default())))
        .into_iter()
        .collect();
    let uniform = all[0].1[0];
    let row = |(name, accepted): &(&str, [f64; 3])| {
        let measured = accepted.map(|accepted| Cell::Measured(accepted, 3));
        let share = Cell::of(Kind::Measured, accepted[2], uniform, 2);
        [&[Cell::text(name)], &measured[..], &[share, Cell::Input(HALF, 1)]].concat()
    };
    let heads = [
        "traffic",
        ROUTINGS[0].1,
        ROUTINGS[1].1,
        ROUTINGS[2].1,
        "detour to uniform by dimension",
        "in theory",
    ];
    let note = "Flits a node and cycle that come to nodes. A link carries a flit a cycle, so uniform traffic could have 1.0 \
        at most; with buffers of 16 flits it has less, and so has the detour.";
    let table = Table::new("accepted", "What arrives", note, &heads, all.iter().map(row).collect());
    let findings = findings(&all);
    let groups = PATTERNS.map(|(_, name)| Group { name: name.into(), published: false });
    let series = ROUTINGS.iter().enumerate().map(|(number, (_, name))| {
        let points = all.iter().enumerate().map(|(group, (_, accepted))| (group as f64, accepted[number]));
        Series { name: (*name).into(), points: points.collect() }
    });
    let lines =
        Chart::lines("by-traffic", "What arrives", "traffic", "flits a node and cycle", series.collect());
    let chart = Chart { groups: groups.to_vec(), ..lines };
    let measured_on =
        format!("Simulated, flit by flit; seed {}. The same on every machine.", chosen::seed(SEED));
    let inputs = [
        ("sides of the torus", format!("{SIDE} by {SIDE}"), "assumed"),
        ("flits of a buffer", "16".into(), "assumed"),
    ];
    let inputs = crate::report::inputs("What the simulation was told.", &inputs);
    Ok(Report {
        tables: vec![table, findings, inputs],
        charts: vec![chart],
        ..Report::of(experiment, measured_on)
    })
}

/// A kind of traffic and a routing, with their names.
type Case = ((Pattern, &'static str), (Routing, &'static str));

/// What arrives of a kind of traffic, by routing.
type Arrived = (&'static str, [f64; 3]);

/// Whether theory holds.
fn findings(all: &[Arrived]) -> Table {
    let uniform = all[0].1[0];
    let (least, most) = all
        .iter()
        .map(|(_, accepted)| accepted[2] / uniform)
        .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), share| (least.min(share), most.max(share)));
    let finding = |what: &str, holds| vec![Cell::text(what), Cell::Finding(Kind::Measured, holds)];
    let [transpose, complement] = [&all[1].1, &all[2].1];
    let findings = vec![
        finding(
            "the detour gives every permutation about half of the uniform",
            NEAR.contains(&least) && NEAR.contains(&most),
        ),
        finding(
            "adaptive ways take more of transposition than dimension order does",
            transpose[1] > transpose[0],
        ),
        finding(
            "they take less of bit complement, which dimension order spreads evenly",
            complement[1] < complement[0],
        ),
    ];
    Table::new("findings", "Findings", "", &["what", "holds"], findings)
}
