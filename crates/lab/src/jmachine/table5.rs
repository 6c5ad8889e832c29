//! Table 5: the travelling salesman.

use super::applications::{Application, Sizes, report};
use super::table4::NODES;
use super::{SOURCE, simulation};
use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/table5",
    title: "J-Machine: the travelling salesman on 64 nodes",
    source: SOURCE,
    about: "A search whose parts are of any size: nodes that have nothing left get some from others, and tell all of \
        a better tour. How many threads does that take, and how long are nodes idle?",
    run,
};

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    host.progress(1, 1, "TSP");
    let ran = Application::Tsp.run(NODES, &sizes)?;
    let messages: u64 = ran.threads.iter().map(|threads| threads.count).sum();
    let row =
        |what: &str, measured: Cell, published: Cell| vec![Cell::Text(what.into()), measured, published];
    let rows = vec![
        row("run time, ms", Cell::Derived(ran.millis(), 0), Cell::Published(26_300.0, 0)),
        row(
            "threads of users (here: paths that were looked at)",
            Cell::count(ran.looked_at),
            Cell::Published(9.1e6, 0),
        ),
        row("threads of the system (here: messages)", Cell::count(messages), Cell::Published(8.9e6, 0)),
        row("parts of the tree that were given away", Cell::count(ran.threads[0].count), Cell::Absent),
        row("% idle", Cell::Measured(ran.idle(), 1), Cell::Published(3.8, 1)),
    ];
    let note = "The paper's cities and its bound are not printed, so the tree is another one, and run time and \
        threads differ with it. A path takes what the paper's time divided by its threads is: an input. What can be \
        compared is how well the work is spread. The paper's system started nearly as many threads as the search; our \
        nodes ask for work only when they have none, and whoever was asked remembers it: that takes fewer messages, \
        and leaves them idle less.";
    let table = Table::new("search", "The search", note, &["what", "simulated", "published"], rows);
    let topology = simulation::network(NODES).topology.to_string();
    Ok(report(experiment, (&[Application::Tsp], config.scale), &topology, vec![table], Vec::new()))
}
