//! Simulated networks beside another simulator of networks, BookSim2 (N. Jiang et al.: "A detailed and flexible
//! cycle-accurate network-on-chip simulator", ISPASS 2013).

mod routing;

pub(crate) use routing::EXPERIMENT as ROUTING;

use crate::chosen;
use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::simulated::{self, Measured, Pattern, Priorities, Source, Topology, Traffic, measure};

pub(crate) const BOOKSIM: Experiment = Experiment {
    name: "networks/booksim",
    title: "Simulated networks beside BookSim2",
    source: "N. Jiang et al.: A Detailed and Flexible Cycle-Accurate Network-on-Chip Simulator. ISPASS 2013",
    about: "The same networks in two simulators that have no line of code in common: meshes with dimension-order \
        routing, one virtual channel, buffers of 8 flits, uniform random traffic.",
    times_host: false,
    run,
};

const SEED: u64 = 1;

/// A network and what BookSim2 says of it.
struct Mesh {
    sides: &'static [u32],
    flits: [u32; 5],
    /// Mean latency in cycles at a load in flits a node and cycle. None: it saturates.
    latency: &'static [(f64, [Option<f64>; 5])],
    /// What is accepted at a load that nobody can take.
    accepted: [f64; 5],
}

const OVERLOAD: f64 = 0.9;

const MESHES: [Mesh; 2] = [
    Mesh {
        sides: &[8, 8],
        flits: [1, 2, 4, 8, 16],
        latency: &[(0.01, [Some(20.8), Some(21.6), Some(24.2), Some(27.9), Some(35.9)])],
        accepted: [0.370, 0.344, 0.317, 0.291, 0.262],
    },
    Mesh {
        sides: &[8, 8, 8],
        flits: [2, 4, 8, 16, 32],
        latency: &[
            (0.02, [Some(29.7), Some(31.6), Some(36.2), Some(45.3), Some(61.1)]),
            (0.10, [Some(30.5), Some(33.3), Some(39.0), Some(51.1), Some(77.6)]),
            (0.20, [Some(32.4), Some(37.4), Some(49.7), Some(141.0), None]),
        ],
        accepted: [0.322, 0.290, 0.256, 0.211, 0.182],
    },
];

impl Mesh {
    fn measure(&self, flits: u32, rate: f64, scale: Scale) -> Measured {
        let config = chosen::network(simulated::Config {
            priorities: Priorities::Alike,
            hop_cycles: 3,
            credit_cycles: 3,
            interface_cycles: 2,
            buffer_flits: 8,
            ..simulated::Config::plain(Topology::mesh(self.sides), SEED)
        });
        let cycles = match (scale, self.sides.len()) {
            (Scale::Full, 2) => 40_000,
            (Scale::Full, _) => 4000,
            (Scale::Small, 2) => 10_000,
            (Scale::Small, _) => 1000,
        };
        let drain_max = if rate < OVERLOAD { 10_000 } else { 0 };
        let source = Source::Open { pattern: Pattern::Uniform, flits, rate };
        measure(&config, &Traffic { source, warm_up: cycles / 3, measure: cycles, drain_max })
    }
}

/// A network, flits of its packets, and at which load BookSim2 says what of it: a mean latency, or what is accepted.
struct Case {
    mesh: &'static Mesh,
    flits: u32,
    rate: f64,
    theirs: Option<f64>,
}

impl Case {
    /// Cases of latency, or of saturation.
    fn all(is_latency: bool) -> Vec<Case> {
        let of_mesh = |mesh: &'static Mesh| -> Vec<Case> {
            let at = |rate: f64, theirs: [Option<f64>; 5]| {
                let both = mesh.flits.into_iter().zip(theirs);
                both.map(move |(flits, theirs)| Case { mesh, flits, rate, theirs })
            };
            match is_latency {
                true => mesh.latency.iter().flat_map(|(rate, theirs)| at(*rate, *theirs)).collect(),
                false => at(OVERLOAD, mesh.accepted.map(Some)).collect(),
            }
        };
        MESHES.iter().flat_map(of_mesh).collect()
    }
    fn row(&self, ours: Option<f64>, decimals: usize) -> Vec<Cell> {
        let theirs = self.theirs;
        let theirs_shown =
            theirs.map_or(Cell::Text("saturated*".into()), |theirs| Cell::Published(theirs, decimals));
        let ours_shown = ours.map_or(Cell::Text("saturated".into()), |ours| Cell::Measured(ours, decimals));
        let ratio = ours.zip(theirs).map_or(Cell::Absent, |(ours, theirs)| Cell::ratio(ours, theirs, 3));
        let name = Cell::Text(Topology::mesh(self.mesh.sides).to_string());
        vec![name, Cell::key(self.flits), Cell::Key(self.rate, 2), ours_shown, theirs_shown, ratio]
    }
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let (latency, saturation) = (Case::all(true), Case::all(false));
    let parts = latency.len() + saturation.len();
    let mut part = 0;
    let mut rows = |cases: &[Case], of: fn(&Measured) -> Option<f64>, decimals| {
        let run = |case: &Case| Ok(of(&case.mesh.measure(case.flits, case.rate, config.scale)));
        let ours = chosen::each(cases, run, |case, ours| {
            part += 1;
            let name = Topology::mesh(case.mesh.sides);
            host.progress(part, parts, &format!("{name} at {}, packets of {} flits", case.rate, case.flits));
            let heads = ["network", "flits", "load", "simulated", "BookSim2"];
            let told: Vec<(&str, Cell)> = heads.into_iter().zip(case.row(*ours, decimals)).collect();
            host.row("Latency, or what is accepted", &told);
        })?;
        Ok(cases.iter().zip(ours).map(|(case, ours)| case.row(ours, decimals)).collect::<Vec<_>>())
    };
    let latencies = rows(&latency, |ours| (!ours.saturated).then(|| ours.latency.mean()), 1)?;
    let accepted = rows(&saturation, |ours| Some(ours.accepted), 3)?;
    let heads = ["network", "flits of a packet", "load", "cycles", "BookSim2", "times BookSim2's"];
    let note = "Mean latency of packets; the load is in flits for each node and cycle. BookSim2's shortest router \
        takes 3 cycles: so do a hop and a credit here.";
    let latency = Table::new("latency", "Latency", note, &heads, latencies);
    let heads = ["network", "flits of a packet", "load", "accepted", "BookSim2", "times BookSim2's"];
    let note =
        "Flits for each node and cycle that come to nodes, when more are offered than the network takes.";
    let saturation = Table::new("saturation", "Saturation", note, &heads, accepted);
    let agreement = agreement(&[&latency, &saturation]);
    Ok(Report {
        notes: vec!["What has a star is BookSim2's output on the same traffic.".into()],
        tables: vec![latency, saturation, agreement],
        ..Report::of(
            experiment,
            format!("Simulated, flit by flit; seed {}. The same on every machine.", chosen::seed(SEED)),
        )
    })
}

/// How far the two simulators are apart at most: of the last columns of these tables.
fn agreement(tables: &[&Table]) -> Table {
    let row = |table: &&Table| {
        let last = table.rows.iter().filter_map(|row| row.last().and_then(Cell::value));
        let ratios: Vec<f64> = last.map(|(ratio, _)| ratio).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let times = |ratio: f64| if ratios.is_empty() { Cell::Absent } else { Cell::Measured(ratio, 2) };
        vec![Cell::text(&table.id), Cell::count(ratios.len()), times(least), times(most)]
    };
    let heads = ["of", "values", "least, times BookSim2's", "most, times BookSim2's"];
    let note =
        "Between the smallest and the largest ratio of the two simulators' values lie all that both have.";
    Table::new("agreement", "Agreement", note, &heads, tables.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_of_what_both_have() {
        let row = |ratio: Cell| vec![Cell::text("mesh"), ratio];
        let rows = vec![row(Cell::Measured(0.75, 3)), row(Cell::Absent), row(Cell::Measured(1.25, 3))];
        let some = Table::new("latency", "", "", &["network", "times"], rows);
        let none = Table::new("saturation", "", "", &["network", "times"], vec![row(Cell::Absent)]);
        let rows = agreement(&[&some, &none]).rows;
        assert_eq!(rows[0][1..], [Cell::Measured(2.0, 0), Cell::Measured(0.75, 2), Cell::Measured(1.25, 2)]);
        assert_eq!(rows[1][1..], [Cell::Measured(0.0, 0), Cell::Absent, Cell::Absent]);
    }
}
