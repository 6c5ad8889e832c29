//! Distances on the RDT beside a mesh, a torus and a hypercube of as many nodes.

use crate::report::{Cell, Chart, Report, Series, Table};
use crate::{Config, Error, Experiment, Host, Scale};
use fabric::NodeId;
use fabric::simulated::Topology;
use std::collections::VecDeque;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "rdt/distances",
    title: "RDT(2,4,1): diameter and mean distance",
    source: "Y. Yang, H. Amano et al.: Recursive Diagonal Torus: An Interconnection Network for Massively Parallel \
        Computers. IEEE TPDS 12(7), 2001",
    about: "How many links lie between two nodes of JUMP-1's network: the fewest there are, and those of vector \
        routing, which the routers use. Beside them a mesh, a torus and a hypercube of as many nodes.",
    times_host: false,
    run,
};

/// The greatest and the mean number of links between two nodes, a node with itself included.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Distances {
    diameter: u32,
    mean: f64,
}

impl Distances {
    fn of(lengths: impl Iterator<Item = u32>) -> Distances {
        let (mut diameter, mut sum, mut count) = (0, 0u64, 0u64);
        for length in lengths {
            diameter = diameter.max(length);
            sum += u64::from(length);
            count += 1;
        }
        Distances { diameter, mean: sum as f64 / count as f64 }
    }
    fn cells(self) -> [Cell; 2] {
        [Cell::count(self.diameter), Cell::Measured(self.mean, 2)]
    }
}

/// Links from a node to each, by breadth-first search.
fn fewest(topology: &Topology, from: NodeId) -> Vec<u32> {
    let mut lengths = vec![u32::MAX; topology.nodes() as usize];
    lengths[from.0 as usize] = 0;
    let mut next = VecDeque::from([from]);
    while let Some(node) = next.pop_front() {
        for port in 0..topology.links() {
            let Some(neighbour) = topology.neighbour(node, port) else { continue };
            if lengths[neighbour.0 as usize] == u32::MAX {
                lengths[neighbour.0 as usize] = lengths[node.0 as usize] + 1;
                next.push_back(neighbour);
            }
        }
    }
    lengths
}

/// The RDT looks the same from every node whose coordinates are the same modulo 4: 16 nodes stand for all.
fn sources(topology: &Topology) -> impl Iterator<Item = NodeId> {
    (0..16).map(|cell| topology.node(&[cell % 4, cell / 4]))
}

fn rdt_fewest(topology: &Topology) -> Distances {
    Distances::of(sources(topology).flat_map(|from| fewest(topology, from)))
}

fn rdt_routed(topology: &Topology) -> Distances {
    let all = || (0..topology.nodes()).map(NodeId);
    Distances::of(sources(topology).flat_map(|from| all().map(move |to| topology.hops(from, to))))
}

/// Of a grid of two dimensions, each of which adds its distances.
fn grid(topology: fn(&[u32]) -> Topology, side: u32) -> Distances {
    let line = topology(&[side]);
    let all = || (0..side).map(NodeId);
    let one = Distances::of(
        all().flat_map(|from| all().map(move |to| (from, to))).map(|(from, to)| line.hops(from, to)),
    );
    Distances { diameter: 2 * one.diameter, mean: 2.0 * one.mean }
}

fn hypercube(nodes: u32) -> Distances {
    Distances::of((0..nodes).map(u32::count_ones))
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sides: &[u32] = match config.scale {
        Scale::Full => &[16, 32, 64, 128, 256],
        Scale::Small => &[16, 32],
    };
    let names = ["RDT, fewest links", "RDT, vector routing", "mesh", "torus", "hypercube"];
    let mut lines = names.map(|name| Series { name: name.into(), points: Vec::new() });
    let mut rows = Vec::new();
    for (part, side) in sides.iter().enumerate() {
        host.progress(part + 1, sides.len(), &format!("{side} by {side} nodes"));
        let (topology, nodes) = (Topology::rdt(*side), side * side);
        let (mesh, torus) = (grid(Topology::mesh, *side), grid(Topology::torus, *side));
        let all = [rdt_fewest(&topology), rdt_routed(&topology), mesh, torus, hypercube(nodes)];
        for (line, distances) in lines.iter_mut().zip(all) {
            line.points.push((f64::from(nodes), distances.mean));
        }
        let published = match side {
            128 => Cell::Published(12.0, 0),
            256 => Cell::Published(11.0, 0),
            _ => Cell::Absent,
        };
        let told = |mean| Cell::Measured(mean, 2);
        host.row(
            "Distances",
            &[("nodes", Cell::key(nodes)), ("RDT, mean", told(all[0].mean)), ("torus", told(all[3].mean))],
        );
        let cells = all.into_iter().flat_map(Distances::cells);
        rows.push([Cell::key(nodes), published].into_iter().chain(cells).collect());
    }
    let heads = [
        "nodes",
        "diameter, published",
        "RDT: diameter",
        "RDT: mean",
        "vector routing: longest",
        "vector routing: mean",
        "mesh: diameter",
        "mesh: mean",
        "torus: diameter",
        "torus: mean",
        "hypercube: diameter",
        "hypercube: mean",
    ];
    let note = "Links; means are over all pairs, a node with itself included. Published: 12 for 2^14 nodes (1996) and \
        11 for 2^16 (2001). Which node has which upper rank is only drawn there; none of the 576 assignments of \
        period 4 whose nodes see all ranks gives 11 for 2^16 nodes.";
    let table = Table::new("distances", "Distances", note, &heads, rows);
    let chart = Chart::lines("means", "Mean distance", "nodes", "links", lines.to_vec()).log(true, false);
    Ok(Report {
        tables: vec![table],
        charts: vec![chart],
        ..Report::of(
            experiment,
            "Counted on the topology: no time, no traffic. The same on every machine.".into(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(distances: Distances) -> (u32, String) {
        (distances.diameter, format!("{:.2}", distances.mean))
    }

    /// The golden values of the scheme, counted by another program.
    #[test]
    fn distances_are_those_of_the_scheme() {
        let golden = [
            (4, (3, "1.80"), (4, "1.94")),
            (8, (4, "2.79"), (5, "3.15")),
            (16, (6, "3.80"), (9, "4.83")),
            (32, (7, "4.71"), (11, "6.29")),
            (64, (9, "5.65"), (13, "8.03")),
        ];
        for (side, (diameter, mean), (longest, routed)) in golden {
            let topology = Topology::rdt(side);
            assert_eq!(rounded(rdt_fewest(&topology)), (diameter, mean.into()), "{side}");
            assert_eq!(rounded(rdt_routed(&topology)), (longest, routed.into()), "{side}");
        }
    }

    #[test]
    fn peers_have_known_distances() {
        assert_eq!(rounded(grid(Topology::mesh, 4)), (6, "2.50".into()));
        assert_eq!(rounded(grid(Topology::torus, 4)), (4, "2.00".into()));
        assert_eq!(rounded(hypercube(16)), (4, "2.00".into()));
    }
}
