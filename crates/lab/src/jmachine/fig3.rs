//! Figure 3: random traffic.

use super::{
    ASSUMED, DISPATCH, REPLY_HANDLER, REQUEST_HANDLER, SIDES, SOURCE, WORD_BITS, bits, flits, inputs,
    measured_on, network,
};
use crate::chosen;
use crate::report::{Cell, Chart, Look, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::NodeId;
use fabric::simulated::{Measured, Pattern, Source, Traffic, measure};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig3",
    title: "J-Machine: latency and efficiency under random traffic",
    source: SOURCE,
    about: "Every node sends a message to a node chosen at random, waits for a reply of the same length, and computes \
        for a while: the grain. The shorter the grain, the more traffic, until the network takes no more. Efficiency \
        is the share of the time that goes into grains.",
    times_host: false,
    run,
};

const WORDS: [u32; 4] = [2, 4, 8, 16];
/// Cycles of the loop that makes messages, beside the grain. Of the node's time, not of the network's.
const TEST_LOOP: u64 = 45;
const CAPACITY_GBITS: f64 = 14.4;

/// One length and one grain.
struct Point {
    grain: u64,
    /// Words that cross the middle, as Gbit/s.
    gbits: f64,
    /// One way, cycles.
    latency: f64,
    efficiency: f64,
}

fn point(words: u32, grain: u64, cycles: u64) -> Point {
    let outside = DISPATCH + REPLY_HANDLER + TEST_LOOP + grain;
    let source = Source::Closed {
        pattern: Pattern::Uniform,
        flits: flits(words),
        answer_flits: Some(flits(words)),
        calls: 1,
        think_cycles: outside,
        serve_cycles: DISPATCH + REQUEST_HANDLER,
    };
    // The calls that begin in the window end some time after it.
    let traffic = Traffic { source, warm_up: cycles / 2 + 2 * grain, measure: cycles, drain_max: 20_000 };
    let measured = measure(&network(), &traffic);
    let payload = f64::from(words * network().word_flits) / f64::from(flits(words));
    let words_a_cycle =
        across_the_middle(&measured) / cycles as f64 * payload / f64::from(network().word_flits);
    Point {
        grain,
        gbits: bits(words_a_cycle, 1e9),
        latency: measured.latency.mean(),
        efficiency: 100.0 * grain as f64 / (outside as f64 + measured.round_trip.mean()),
    }
}

/// Flits over the links between the two halves, in both directions.
fn across_the_middle(measured: &Measured) -> f64 {
    let topology = network().topology;
    let ports = topology.ports();
    let middle = SIDES[2] / 2;
    let sum: u64 = (0..topology.nodes())
        .map(|node| {
            let port = match topology.place(NodeId(node))[2] {
                at if at + 1 == middle => 4,
                at if at == middle => 5,
                _ => return 0,
            };
            measured.channels[node as usize * ports + port].flits
        })
        .sum();
    sum as f64
}

/// Messages of each length, at each grain.
fn sweeps(host: &mut dyn Host, grains: &[u64], cycles: u64) -> Result<Vec<(u32, Vec<Point>)>, Error> {
    let cases: Vec<(u32, u64)> =
        WORDS.iter().flat_map(|words| grains.iter().map(move |grain| (*words, *grain))).collect();
    let mut part = 0;
    let run = |(words, grain): &(u32, u64)| Ok(point(*words, *grain, cycles));
    let points = chosen::each(&cases, run, |(words, grain), point| {
        part += 1;
        host.progress(part, cases.len(), &format!("messages of {words} words, {grain} cycles apart"));
        let told = [
            ("words", Cell::key(*words)),
            ("grain, cycles", Cell::key(*grain)),
            ("Gbit/s", Cell::Measured(point.gbits, 2)),
            ("latency, cycles", Cell::Measured(point.latency, 1)),
            ("% useful", Cell::Measured(point.efficiency, 1)),
        ];
        host.row("Random traffic", &told);
    })?;
    let mut points = points.into_iter();
    Ok(WORDS.map(|words| (words, points.by_ref().take(grains.len()).collect())).into())
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let (cycles, grains): (u64, &[u64]) = match config.scale {
        Scale::Full => (4000, &[0, 25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600]),
        Scale::Small => (400, &[0, 100, 400]),
    };
    let sweeps = sweeps(host, grains, cycles)?;
    let most = |points: &[Point]| points.iter().map(|point| point.gbits).fold(0.0, f64::max);
    let rows = sweeps.iter().map(|(words, points)| {
        let half = half_power(points);
        vec![
            Cell::key(*words),
            Cell::Measured(most(points), 2),
            Cell::Measured(100.0 * most(points) / CAPACITY_GBITS, 0),
            half.map_or(Cell::Absent, |grain| Cell::Measured(grain, 0)),
            half.map_or(Cell::Absent, |grain| Cell::Measured(grain / f64::from(*words), 1)),
        ]
    });
    let heads = [
        "words",
        "most traffic, Gbit/s",
        "% of capacity",
        "half-power grain, cycles",
        "half-power grain, cycles a word",
    ];
    let note = format!(
        "Traffic is words of messages, {WORD_BITS} bits each, that cross the middle in either direction; its capacity \
         is {CAPACITY_GBITS} Gbit/s. The half-power grain is that at which half of the time is useful. Messages of 2 \
         words do not saturate the network: a node waits for its reply."
    );
    let halves: Vec<(f64, f64)> =
        sweeps.iter().filter_map(|(words, points)| Some((half_power(points)?, f64::from(*words)))).collect();
    let saturation = sweeps.iter().map(|(_, points)| most(points)).fold(0.0, f64::max);
    let printed = printed(saturation, &halves);
    let table = Table::new("saturation", "Random traffic", &note, &heads, rows.collect());
    let own = [
        ("cycles of the test loop", TEST_LOOP.to_string(), ASSUMED),
        ("words of a reply", "as many as of its request".into(), ASSUMED),
    ];
    let lines = |at: fn(&Point) -> (f64, f64)| {
        sweeps.iter().map(|(words, points)| line(*words, points, at)).collect()
    };
    let latency = lines(|point| (point.gbits, point.latency));
    let efficiency = lines(|point| (point.grain as f64, point.efficiency));
    let x = "words across the middle, Gbit/s";
    Ok(Report {
        tables: vec![table, printed, inputs(&own)],
        charts: vec![
            Chart {
                look: Look { joined: true, ..Look::default() },
                ..Chart::lines("latency", "Latency under load", x, "cycles, one way", latency)
            },
            Chart::lines("efficiency", "Efficiency", "grain, cycles a message", "% of the time", efficiency),
        ],
        ..Report::of(experiment, measured_on())
    })
}

/// What the text prints of all lengths together, from the most traffic, and the half-power grain of each length.
fn printed(saturation: f64, halves: &[(f64, f64)]) -> Table {
    let least = |of: fn(&(f64, f64)) -> f64| halves.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| halves.iter().map(of).fold(0.0, f64::max);
    let a_word = |(grain, words): &(f64, f64)| grain / words;
    let row = |what, value: f64, decimals, published| {
        let cell = if value.is_finite() { Cell::Measured(value, decimals) } else { Cell::Absent };
        vec![Cell::text(what), cell, Cell::Published(published, 0), Cell::ratio(value, published, 2)]
    };
    let rows = vec![
        row("most traffic, Gbit/s", saturation, 2, 6.0),
        row("half-power grain, least, cycles", least(|half| half.0), 0, 100.0),
        row("half-power grain, greatest, cycles", most(|half| half.0), 0, 300.0),
        row("half-power grain, least, cycles a word", least(a_word), 1, 25.0),
        row("half-power grain, greatest, cycles a word", most(a_word), 1, 50.0),
    ];
    let note = "Printed as \"about 6\", \"100 to 300\" by the length of messages, and \"25 to 50 cycles a word\". With \
        16 words the grain at half power is outside of what is printed, and so are the cycles a word on both sides.";
    let heads = ["of all lengths", "simulated", "published", "times the published"];
    Table::new("printed", "What the text prints", note, &heads, rows)
}

fn line(words: u32, points: &[Point], at: fn(&Point) -> (f64, f64)) -> Series {
    let points = points.iter().map(at).collect();
    Series { name: format!("{words} words"), points }
}

/// Where efficiency reaches a half, on the straight line between two grains.
fn half_power(points: &[Point]) -> Option<f64> {
    let pair = points.windows(2).find(|pair| pair[0].efficiency < 50.0 && pair[1].efficiency >= 50.0)?;
    let share = (50.0 - pair[0].efficiency) / (pair[1].efficiency - pair[0].efficiency);
    Some(pair[0].grain as f64 + share * (pair[1].grain - pair[0].grain) as f64)
}
