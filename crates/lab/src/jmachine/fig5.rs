//! Figure 5: speed-up.

use super::applications::{Application, Sizes, remote_write, report};
use super::table4::NODES;
use super::{ANY_BOX, SOURCE};
use crate::chosen;
use crate::report::{Cell, Chart, Kind, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use std::cmp::Reverse;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig5",
    title: "J-Machine: speed-up of programs",
    source: SOURCE,
    about: "Four programs on 1 to 512 nodes, the problem always the same: how many times as fast as on one node are \
        they?",
    times_host: false,
    run,
};

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    let most = if config.scale == Scale::Full { 512 } else { 16 };
    let nodes: Vec<u32> = (0..).map(|doublings| 1 << doublings).take_while(|nodes| *nodes <= most).collect();
    let mut cases: Vec<(Application, u32)> =
        Application::ALL.iter().flat_map(|one| nodes.iter().map(move |nodes| (*one, *nodes))).collect();
    // Those of most nodes take longest, and begin first.
    cases.sort_by_key(|(_, nodes)| Reverse(*nodes));
    let mut part = 0;
    let run = |(application, nodes): &(Application, u32)| application.run(*nodes, &sizes);
    let runs = chosen::each(&cases, run, |(application, nodes), ran| {
        part += 1;
        host.progress(part, cases.len(), &format!("{}, {nodes} nodes", application.name()));
        let told = [
            ("program", Cell::text(application.name())),
            ("nodes", Cell::key(*nodes)),
            ("ms", Cell::Derived(ran.millis(), 1)),
        ];
        host.row("Speed-up", &told);
    })?;
    let mut lines = Vec::new();
    let mut rows: Vec<Vec<Cell>> = nodes.iter().map(|nodes| vec![Cell::key(*nodes)]).collect();
    for application in Application::ALL {
        let own = cases.iter().zip(&runs).filter(|((one, _), _)| *one == application);
        let mut times: Vec<(u32, f64)> = own.map(|((_, nodes), ran)| (*nodes, ran.millis())).collect();
        times.sort_by_key(|(nodes, _)| *nodes);
        let speedup = |&(nodes, millis): &(u32, f64)| (f64::from(nodes), times[0].1 / millis);
        let line: Vec<(f64, f64)> = times.iter().map(speedup).collect();
        for (row, ((_, millis), (_, speedup))) in rows.iter_mut().zip(times.iter().zip(&line)) {
            row.extend([Cell::Derived(*millis, 1), Cell::Measured(*speedup, 2)]);
        }
        lines.push(Series { name: application.name().into(), points: line });
    }
    let columns = Application::ALL.map(|application| {
        [format!("{}, ms", application.name()), format!("{}, speed-up", application.name())]
    });
    let mut heads: Vec<&str> = vec!["nodes"];
    heads.extend(columns.iter().flatten().map(String::as_str));
    let note = "Against the same program on one node, where it sends its messages to itself; radix sort on one node is a \
        sequential program without messages. The paper draws these lines, and prints what the other table has.";
    let table = Table::new("speed-up", "Speed-up", note, &heads, rows);
    let faults = cases.iter().position(|case| *case == (Application::RadixSort, NODES));
    let printed = printed(&lines[2].points, faults.and_then(|at| runs[at].send_faults()));
    let ideal = nodes.iter().map(|nodes| (f64::from(*nodes), f64::from(*nodes))).collect();
    lines.push(Series { name: "ideal".into(), points: ideal });
    let chart =
        Chart::lines("by-nodes", "Speed-up", "nodes", "times as fast as one node", lines).log(true, true);
    let tables = vec![table, printed];
    Ok(report(experiment, (&Application::ALL, config.scale), ANY_BOX, tables, vec![chart]))
}

/// What the paper prints of radix sort, from how many times as fast as one node others are, and from how many messages
/// some nodes could not send at once against others.
fn printed(speedups: &[(f64, f64)], faults: Option<f64>) -> Table {
    let at = |nodes: u32| speedups.iter().find(|point| point.0 == f64::from(nodes)).map(|point| point.1);
    // How many times as fast twice as many nodes are.
    let doubled = |nodes: u32| Some(at(2 * nodes)? / at(nodes)?);
    let doublings: Option<Vec<f64>> = [2, 4, 8, 16, 32].map(doubled).into_iter().collect();
    let least = doublings.map(|all| all.into_iter().fold(f64::INFINITY, f64::min));
    let glitch = least.zip(doubled(64)).map(|(before, after)| after < GLITCH * before);
    let row = |what, cell, published| vec![Cell::text(what), cell, published];
    let number = |value: Option<f64>, kind| value.map_or(Cell::Absent, |value| Cell::number(kind, value, 2));
    let rows = vec![
        row("two nodes against one", number(doubled(1), Kind::Fitted), Cell::Published(1.3, 1)),
        row("doubling the nodes, least from 2 to 64", number(least, Kind::Measured), Cell::Published(2.0, 0)),
        row("doubling the nodes, from 64 to 128", number(doubled(64), Kind::Measured), Cell::Absent),
        row(
            "a glitch from 64 to 128 nodes",
            glitch.map_or(Cell::Absent, |found| Cell::Finding(Kind::Measured, found)),
            Cell::Finding(Kind::Published, true),
        ),
        row("remote write against a local one", Cell::Derived(remote_write(), 1), Cell::text("over 3*")),
        row("send faults, most against least", number(faults, Kind::Measured), Cell::Published(100.0, 0)),
    ];
    let note = format!(
        "The paper prints that two nodes are 1.3 times as fast as one, that from 2 to 64 nodes each doubling halves the \
         time, that there is a glitch at 128 (here: the doubling gives under {GLITCH} of what the least one before gives), \
         and that to write a key at another node costs over 3 times what it costs to keep it (here: the printed 16 \
         cycles, dispatch and sending over a write to external memory). It also prints that some nodes have 100 times as \
         many send faults as others (here: messages that the network or their receiver would not take at once, on \
         {NODES} nodes: the node with most of them against the one with least of those that have any)."
    );
    Table::new(
        "printed",
        "What the text prints of radix sort",
        &note,
        &["of radix sort", "simulated", "published"],
        rows,
    )
}

/// A doubling that gives less than this part of the least one before it is a glitch.
const GLITCH: f64 = 0.85;
