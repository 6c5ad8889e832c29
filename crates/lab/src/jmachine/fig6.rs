//! Figure 6: where the time goes.

use super::applications::{Application, Ran, Sizes, report};
use super::table4::NODES;
use super::{SOURCE, simulation};
use crate::report::{Cell, Chart, Group, Kind, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig6",
    title: "J-Machine: where the time goes",
    source: SOURCE,
    about: "What the nodes of a run do: compute, send and dispatch messages, synchronize, or nothing.",
    run,
};

const PARTS: [&str; 4] = ["computing", "messages", "synchronization", "idle"];

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
    for (place, application) in Application::ALL.into_iter().enumerate() {
        host.progress(place + 1, Application::ALL.len() + 1, application.name());
        let shares = shares(&application.run(NODES, &sizes)?);
        for (bars, share) in bars.iter_mut().zip(shares) {
            bars.push((place as f64, share));
        }
        let name = vec![Cell::Text(application.name().into())];
        let measured = shares.map(|share| Cell::Measured(share, 1)).to_vec();
        rows.push([name, measured, published(application).to_vec()].concat());
    }
    let heads =
        [&["program"], &PARTS.map(|part| part)[..], &["synchronization, published", "idle, published"]]
            .concat();
    let note = "Percent of the time of all nodes, until the last one has done its last work. A node that cannot send \
        because the network is full counts as idle. The paper draws bars for each program; of their heights it prints \
        three. Both depend on what it does not print: how N-Queens dealt its boards (here: in turn), and how TSP's \
        nodes got work (here: from others, whom they ask once, when they have none; the paper's system started as \
        many threads for that and the like as the search did).";
    let table = Table::new("time", "Where the time of 64 nodes goes, %", note, &heads, rows);
    let series = PARTS.iter().zip(bars).map(|(part, points)| Series { name: (*part).into(), points });
    let groups =
        Application::ALL.map(|application| Group { name: application.name().into(), published: false });
    let chart = Chart {
        groups: groups.to_vec(),
        series: series.collect(),
        ..Chart::lines(
            "by-program",
            "Where the time of 64 nodes goes",
            "program",
            "% of the time",
            Vec::new(),
        )
    };
    let tables = vec![table, entry_and_exit(host, config.scale, &sizes)?];
    let topology = simulation::network(NODES).topology.to_string();
    Ok(report(experiment, (&Application::ALL, config.scale), &topology, tables, vec![chart]))
}

/// The share of LCS's time that goes into beginning and ending its handlers.
fn entry_and_exit(host: &mut dyn Host, scale: Scale, sizes: &Sizes) -> Result<Table, Error> {
    host.progress(Application::ALL.len() + 1, Application::ALL.len() + 1, "LCS on more nodes");
    let mut rows = Vec::new();
    for (nodes, published) in [(64, 9.0), (256, 24.0), (512, 33.0)] {
        if scale == Scale::Small && nodes > 64 {
            continue;
        }
        let ran = Application::Lcs.run(nodes, sizes)?;
        let share = ran.share(ran.threads[0].count * Application::LCS_ENTRY);
        rows.push(vec![
            Cell::key(nodes),
            Cell::Fitted(share, 1),
            Cell::Published(published, 0),
            Cell::of(Kind::Fitted, share, published, 2),
        ]);
    }
    let note = "What of a handler does not depend on how many letters the node has. Its cycles are an input that was \
        fitted to these three figures together, and to the instructions of table 4.";
    let heads = ["nodes", "% of the time", "published", "times the published"];
    Ok(Table::new("entry", "LCS: entry and exit of handlers", note, &heads, rows))
}
