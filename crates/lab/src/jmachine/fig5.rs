//! Figure 5: speed-up.

use super::applications::{Application, Sizes, report};
use super::{ANY_BOX, SOURCE};
use crate::report::{Cell, Chart, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/fig5",
    title: "J-Machine: speed-up of programs",
    source: SOURCE,
    about: "Four programs on 1 to 512 nodes, the problem always the same: how many times as fast as on one node are \
        they?",
    run,
};

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    let most = if config.scale == Scale::Full { 512 } else { 16 };
    let nodes: Vec<u32> = (0..).map(|doublings| 1 << doublings).take_while(|nodes| *nodes <= most).collect();
    let parts = nodes.len() * Application::ALL.len();
    let mut lines = Vec::new();
    let mut rows: Vec<Vec<Cell>> = nodes.iter().map(|nodes| vec![Cell::key(*nodes)]).collect();
    for (place, application) in Application::ALL.into_iter().enumerate() {
        let mut times: Vec<(u32, f64)> = Vec::new();
        for (at, nodes) in nodes.iter().enumerate() {
            let part = place * rows.len() + at + 1;
            host.progress(part, parts, &format!("{}, {nodes} nodes", application.name()));
            times.push((*nodes, application.run(*nodes, &sizes)?.millis()));
        }
        let speedup = |&(nodes, millis): &(u32, f64)| (f64::from(nodes), times[0].1 / millis);
        let line: Vec<(f64, f64)> = times.iter().map(speedup).collect();
        for (row, ((_, millis), (_, speedup))) in rows.iter_mut().zip(times.iter().zip(&line)) {
            row.extend([Cell::Derived(*millis, 1), Cell::Measured(*speedup, 2)]);
        }
        lines.push(Series { name: application.name().into(), points: line });
    }
    // What the paper prints.
    for row in &mut rows {
        row.push(if row[0] == Cell::key(2u32) { Cell::Published(1.3, 1) } else { Cell::Absent });
    }
    let columns =
        Application::ALL.map(|application| [format!("{}, ms", application.name()), "speed-up".to_string()]);
    let mut heads: Vec<&str> = vec!["nodes"];
    heads.extend(columns.iter().flatten().map(String::as_str));
    heads.push("radix sort, published");
    let note = "Against the same program on one node, where it sends its messages to itself. The paper draws these \
        lines; of their points it prints one. Half of the keys of two nodes go to the other one. What such a key \
        costs more is not printed: here, it is to send, to dispatch and to write it. For a speed-up of 1.3 it would \
        have to cost about twice as much as one that stays.";
    let table = Table::new("speed-up", "Speed-up", note, &heads, rows);
    let chart = Chart::lines("by-nodes", "Speed-up", "nodes", "times as fast as one node", lines);
    Ok(report(experiment, (&Application::ALL, config.scale), ANY_BOX, vec![table], vec![chart]))
}
