//! A machine as it works: where its nodes stand, which are linked, and when each packet crosses which link. A page
//! draws it at the speed of a reader.

use fabric::NodeId;
use fabric::simulated::{Config, Pattern, Priorities, Routing, Source, Topology, Traffic, measure};
use serde::Serialize;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scene {
    /// The machine.
    pub machine: Machine,
    /// Nodes of a side, or of the ring.
    pub side: u32,
    /// Which way packets take.
    pub routing: Routing,
    /// The nodes that packets go to.
    pub pattern: Pattern,
    /// Flits that a node sends in a cycle, on the average.
    pub load: f64,
    /// Where random numbers begin.
    pub seed: u64,
}

/// A machine that can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// A mesh of two dimensions.
    Mesh,
    /// The same with closed rows.
    Torus,
    /// A recursive diagonal torus.
    Rdt,
    /// A ring.
    Ring,
}

/// What a page draws.
#[derive(Debug, PartialEq, Serialize)]
pub struct Movie {
    /// What it is.
    pub title: String,
    /// Where each node stands, from 0 to 1.
    pub nodes: Vec<(f64, f64)>,
    /// Pairs of nodes that are linked, each once.
    pub links: Vec<(u32, u32)>,
    /// Cycles that it lasts.
    pub cycles: u64,
    /// Links that first flits cross: cycle, packet, from, to; in the order of cycles.
    pub hops: Vec<(u64, u64, u32, u32)>,
    /// Senders and receivers of packets: cycle, packet, from, to.
    pub packets: Vec<(u64, u64, u32, u32)>,
    /// Flits of a packet.
    pub flits: u32,
}

/// Cycles that are shown, and flits of a packet.
const CYCLES: u64 = 150;
const FLITS: u32 = 4;
/// Sides that can be drawn.
const SIDE_MAX: u32 = 16;
const RING_MAX: u32 = 64;

impl Scene {
    /// Reads `machine=mesh&side=4&routing=own&pattern=uniform&load=0.1&seed=1`; what is not said has such a value. The
    /// error says what is wrong.
    pub fn parse(query: &str) -> Result<Scene, String> {
        let mut scene = Scene {
            machine: Machine::Mesh,
            side: 4,
            routing: Routing::Own,
            pattern: Pattern::Uniform,
            load: 0.1,
            seed: 1,
        };
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            let wrong = || format!("{name} cannot be {value:.20}");
            match name {
                "machine" => {
                    scene.machine = match value {
                        "mesh" => Machine::Mesh,
                        "torus" => Machine::Torus,
                        "rdt" => Machine::Rdt,
                        "ring" => Machine::Ring,
                        _ => return Err(wrong()),
                    }
                }
                "side" => scene.side = value.parse().map_err(|_| wrong())?,
                "routing" => {
                    scene.routing = match value {
                        "own" => Routing::Own,
                        "adaptive" => Routing::Adaptive,
                        "valiant" => Routing::Valiant,
                        _ => return Err(wrong()),
                    }
                }
                "pattern" => {
                    scene.pattern = match value {
                        "uniform" => Pattern::Uniform,
                        "transpose" => Pattern::Transpose,
                        "bit-complement" => Pattern::BitComplement,
                        "neighbour" => Pattern::Neighbour,
                        "hot-spot" => Pattern::HotSpot { node: NodeId(0), share: 0.3 },
                        _ => return Err(wrong()),
                    }
                }
                "load" => scene.load = value.parse().map_err(|_| wrong())?,
                "seed" => scene.seed = value.parse().map_err(|_| wrong())?,
                _ => return Err(format!("there is no {name:.20}")),
            }
        }
        scene.checked()
    }

    fn checked(self) -> Result<Scene, String> {
        let most = if self.machine == Machine::Ring { RING_MAX } else { SIDE_MAX };
        if !(2..=most).contains(&self.side) {
            return Err(format!("the side is from 2 to {most}"));
        }
        if self.machine == Machine::Rdt && ![4, 8, 16].contains(&self.side) {
            return Err("the side of an RDT is 4, 8 or 16".into());
        }
        if self.machine == Machine::Rdt && self.routing != Routing::Own {
            return Err("an RDT's packets go along vectors: its routing is own".into());
        }
        if self.machine == Machine::Ring && self.pattern == Pattern::Transpose {
            return Err("a ring has no transpose".into());
        }
        if !(0.0..=1.0).contains(&self.load) {
            return Err("the load is from 0 to 1".into());
        }
        Ok(self)
    }

    fn topology(&self) -> Topology {
        match self.machine {
            Machine::Mesh => Topology::mesh(&[self.side, self.side]),
            Machine::Torus => Topology::torus(&[self.side, self.side]),
            Machine::Rdt => Topology::rdt(self.side),
            Machine::Ring => Topology::ring(self.side),
        }
    }

    /// Runs it for a while and writes down what is to be seen.
    pub fn movie(&self) -> Movie {
        let topology = self.topology();
        let nodes = topology.nodes();
        let place = |node: u32| {
            if self.machine == Machine::Ring {
                let angle = std::f64::consts::TAU * f64::from(node) / f64::from(nodes);
                return (0.5 + 0.45 * angle.sin(), 0.5 - 0.45 * angle.cos());
            }
            let at = topology.place(NodeId(node));
            let share = |at: u32| (f64::from(at) + 0.5) / f64::from(self.side);
            (share(at[0]), share(at[1]))
        };
        let ends = |node: u32| {
            let others = (0..topology.links()).filter_map(|port| topology.neighbour(NodeId(node), port));
            others.map(|other| (node.min(other.0), node.max(other.0))).collect::<Vec<_>>()
        };
        let mut links: Vec<(u32, u32)> = (0..nodes).flat_map(ends).collect();
        links.sort_unstable();
        links.dedup();
        let config = Config {
            routing: self.routing,
            priorities: Priorities::Alike,
            buffer_flits: 2 * FLITS,
            log: true,
            ..Config::plain(topology.clone(), self.seed)
        };
        let source = Source::Open { pattern: self.pattern, flits: FLITS, rate: self.load };
        let measured = measure(&config, &Traffic { source, warm_up: 0, measure: CYCLES, drain_max: 0 });
        let events = measured.log.lines().filter_map(event);
        let (hops, packets): (Vec<_>, Vec<_>) = events.partition(|(is_hop, _)| *is_hop);
        let only =
            |events: Vec<(bool, (u64, u64, u32, u32))>| events.into_iter().map(|(_, event)| event).collect();
        Movie {
            title: topology.to_string(),
            nodes: (0..nodes).map(place).collect(),
            links,
            cycles: CYCLES,
            hops: only(hops),
            packets: only(packets),
            flits: FLITS,
        }
    }
}

/// A hop or a packet of a line of the log.
fn event(line: &str) -> Option<(bool, (u64, u64, u32, u32))> {
    let mut words = line.split(' ');
    let (time, what, number) = (words.next()?, words.next()?, words.next()?);
    let (from, to) = words.next()?.split_once('>')?;
    let is_hop = match what {
        "hop" => true,
        "send" => false,
        _ => return None,
    };
    Some((is_hop, (time.parse().ok()?, number.parse().ok()?, from.parse().ok()?, to.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_cross_links_that_are_drawn() {
        for query in [
            "",
            "machine=torus&routing=adaptive",
            "machine=rdt&side=8",
            "machine=ring&side=12&load=0.3",
            "routing=valiant&pattern=transpose",
            "pattern=hot-spot&seed=7",
        ] {
            let movie = Scene::parse(query).expect("a scene").movie();
            assert!(movie.hops.len() > 10 && !movie.packets.is_empty(), "{query}");
            for (cycle, _, from, to) in &movie.hops {
                assert!(
                    *cycle < movie.cycles + 1 && movie.links.contains(&(*from.min(to), *from.max(to))),
                    "{query}"
                );
            }
            assert!(movie.hops.is_sorted_by_key(|hop| hop.0), "{query}");
            let within =
                |place: &(f64, f64)| (0.0..=1.0).contains(&place.0) && (0.0..=1.0).contains(&place.1);
            assert!(movie.nodes.iter().all(within), "{query}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_told() {
        for (query, told) in [
            ("machine=cube", "machine cannot be cube"),
            ("side=17", "from 2 to 16"),
            ("side=1", "from 2 to 16"),
            ("side=x", "side cannot be x"),
            ("machine=rdt&side=5", "4, 8 or 16"),
            ("machine=rdt&routing=valiant", "along vectors"),
            ("machine=ring&side=9&pattern=transpose", "no transpose"),
            ("load=2", "from 0 to 1"),
            ("load=nan", "from 0 to 1"),
            ("colour=red", "there is no colour"),
        ] {
            assert!(Scene::parse(query).is_err_and(|wrong| wrong.contains(told)), "{query}");
        }
    }
}
