//! Which nodes are linked, and which way a packet takes.
//!
//! A node has a place on a grid of one to three dimensions; the recursive diagonal torus has two and more links
//! (`rdt`). On a grid a packet corrects its first coordinate, then the second, then the third (x then y; e-cube).
//! Ports are numbered: `2d` leads towards greater coordinates of dimension `d`, `2d + 1` towards smaller ones, the
//! last port is the node itself.
//!
//! On a torus and a ring the links round a dimension are a cycle, and packets that each hold one link and want the
//! next would wait for ever. So each link has two virtual channels (classes): a packet starts a dimension in class 0
//! and is in class 1 from the link that closes the cycle (the dateline) on. It takes at most half the way round, so
//! no packet of class 1 wants the dateline again.

use super::graph::Graph;
use super::rdt::{self, Rdt, Ways};
use super::tree::Addresses;
use crate::NodeId;
use std::fmt;
use std::sync::Arc;

/// A router's inputs are bits of a word: as many are possible, each a virtual channel of a port.
pub(super) const INPUTS_MAX: usize = 28;

/// Most dimensions of a network.
pub const DIMENSIONS_MAX: usize = 3;

/// A mesh, a torus, whose rows are closed to rings, a recursive diagonal torus, which has diagonal links besides, or a
/// graph of any nodes and links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    form: Form,
    sides: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    Mesh,
    Torus,
    Rdt(Rdt),
    Graph(Arc<Graph>),
}

/// What a packet takes next: an output port and the class of virtual channel there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hop {
    pub(super) port: usize,
    pub(super) class: usize,
}

impl Topology {
    /// A mesh of these sides, one to three of them.
    pub fn mesh(sides: &[u32]) -> Topology {
        Topology::grid(Form::Mesh, sides)
    }
    /// A torus of these sides, one to three of them.
    pub fn torus(sides: &[u32]) -> Topology {
        Topology::grid(Form::Torus, sides)
    }
    /// A ring: a torus of one dimension.
    pub fn ring(nodes: u32) -> Topology {
        Topology::grid(Form::Torus, &[nodes])
    }
    /// The recursive diagonal torus RDT(2,4,1) of `side` by `side` nodes: 4, 8, 16 .. 256 of them. JUMP-1 has 16
    /// by 16. Each priority needs three virtual channels a link, so its priorities are
    /// [alike](super::Priorities::Alike). Another side panics.
    pub fn rdt(side: u32) -> Topology {
        Topology { form: Form::Rdt(Rdt::new(side)), sides: vec![side; 2] }
    }
    /// Nodes and links, each in both directions. Without a table packets go up towards a root and down again. A table
    /// has each node's next node for each receiver, by node and receiver. The error says what is wrong.
    pub fn graph(
        nodes: u32,
        links: &[(u32, u32)],
        table: Option<&[Option<u32>]>,
    ) -> Result<Topology, String> {
        Graph::new(nodes, links, table).map(Topology::of_graph)
    }
    /// A dragonfly: groups of this many routers, all linked, each with this many links to other groups; as many groups
    /// as that makes, a link between each two. The error says that it is too large.
    pub fn dragonfly(routers: u32, global: u32) -> Result<Topology, String> {
        Graph::dragonfly(routers, global).map(Topology::of_graph)
    }
    fn of_graph(graph: Graph) -> Topology {
        Topology { sides: vec![graph.nodes()], form: Form::Graph(Arc::new(graph)) }
    }
    fn grid(form: Form, sides: &[u32]) -> Topology {
        assert!((1..=DIMENSIONS_MAX).contains(&sides.len()), "one to three dimensions");
        assert!(sides.iter().all(|side| (1..=1 << 16).contains(side)), "sides of 1 to 65,536 nodes");
        let nodes: u64 = sides.iter().map(|side| u64::from(*side)).product();
        assert!(nodes <= 1 << 24, "at most 16 million nodes");
        Topology { form, sides: sides.to_vec() }
    }
    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.sides.iter().product()
    }
    /// The length of each dimension.
    pub fn sides(&self) -> &[u32] {
        &self.sides
    }
    /// Where a node is, one coordinate for each dimension.
    pub fn place(&self, node: NodeId) -> Vec<u32> {
        let mut rest = node.0;
        self.sides
            .iter()
            .map(|side| {
                let coordinate = rest % side;
                rest /= side;
                coordinate
            })
            .collect()
    }
    /// The node at a place.
    pub fn node(&self, place: &[u32]) -> NodeId {
        let number = self.sides.iter().zip(place).rev().fold(0, |sum, (side, at)| sum * side + at);
        NodeId(number)
    }
    /// Links on the way from one node to another.
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        if let Form::Rdt(rdt) = &self.form {
            return rdt.way(rdt.place(from.0), rdt.place(to.0)).len() as u32;
        }
        if let Form::Graph(graph) = &self.form {
            return graph.distance(from.0, to.0);
        }
        let (from, to) = (self.place(from), self.place(to));
        let steps = |d: usize| {
            let direct = from[d].abs_diff(to[d]);
            if self.form == Form::Torus { direct.min(self.sides[d] - direct) } else { direct }
        };
        (0..self.sides.len()).map(steps).sum()
    }
    /// The output ports of a node that lead to others: all but the last of [`Topology::ports`].
    pub fn links(&self) -> usize {
        match &self.form {
            Form::Rdt(_) => rdt::LINKS,
            Form::Graph(graph) => graph.links(),
            Form::Mesh | Form::Torus => 2 * self.sides.len(),
        }
    }
    /// Ports of a router: those of its links, then its node's.
    pub fn ports(&self) -> usize {
        self.links() + 1
    }
    /// Virtual channels that a link needs for each priority, so that nothing deadlocks.
    pub(super) fn classes(&self) -> usize {
        match &self.form {
            Form::Mesh => 1,
            Form::Torus => 2,
            Form::Rdt(_) => rdt::CLASSES,
            Form::Graph(graph) => graph.classes(),
        }
    }
    /// The node at the other end of a port's link; `None` at the edge of a mesh and for the node's own port.
    pub fn neighbour(&self, node: NodeId, port: usize) -> Option<NodeId> {
        if let Form::Rdt(rdt) = &self.form {
            return rdt.neighbour(rdt.place(node.0), port).map(|place| NodeId(rdt.node(place)));
        }
        if let Form::Graph(graph) = &self.form {
            return graph.end(node.0, port).map(|(other, _)| NodeId(other));
        }
        let closed = self.form == Form::Torus;
        let (dimension, up) = (port / 2, port.is_multiple_of(2));
        let side = *self.sides.get(dimension)?;
        let mut place = self.place(node);
        let at = place[dimension];
        place[dimension] = match (up, closed) {
            (true, true) => (at + 1) % side,
            (false, true) => (at + side - 1) % side,
            (true, false) if at + 1 < side => at + 1,
            (false, false) if at > 0 => at - 1,
            _ => return None,
        };
        Some(self.node(&place))
    }
    /// The node and its port at the other end of a port's link.
    pub(super) fn end(&self, node: NodeId, port: usize) -> Option<(NodeId, usize)> {
        match &self.form {
            Form::Graph(graph) => graph.end(node.0, port).map(|(other, back)| (NodeId(other), back)),
            _ => self.neighbour(node, port).map(|other| (other, port ^ 1)),
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides: Vec<String> = self.sides.iter().map(u32::to_string).collect();
        let form = match &self.form {
            Form::Mesh => "mesh",
            Form::Torus => "torus",
            Form::Rdt(_) => "RDT(2,4,1)",
            Form::Graph(graph) => return f.write_str(&graph.name),
        };
        write!(f, "{form} {}", sides.join("x"))
    }
}

impl Topology {
    /// Whether its routers copy packets.
    pub(super) fn is_rdt(&self) -> bool {
        matches!(self.form, Form::Rdt(_))
    }
    pub(super) fn is_graph(&self) -> bool {
        matches!(self.form, Form::Graph(_))
    }
    /// The multicast trees of an RDT; a grid has none.
    pub(super) fn addresses(&self) -> Option<&'static Addresses> {
        match &self.form {
            Form::Rdt(rdt) => Some(Addresses::of_all(*rdt)),
            Form::Mesh | Form::Torus | Form::Graph(_) => None,
        }
    }
}

/// The ways of packets.
pub(super) enum Routes {
    Grid(Grid),
    Rdt(&'static Ways),
    Graph(Arc<Graph>),
}

impl Routes {
    pub(super) fn new(topology: &Topology) -> Routes {
        match &topology.form {
            Form::Rdt(rdt) => Routes::Rdt(Ways::of(*rdt)),
            Form::Graph(graph) => Routes::Graph(graph.clone()),
            Form::Mesh | Form::Torus => Routes::Grid(Grid::new(topology)),
        }
    }

    /// Ports that shorten the way, as bits.
    pub(super) fn candidates(&self, node: usize, to: usize) -> u32 {
        match self {
            Routes::Grid(grid) => grid.candidates(node, to),
            Routes::Graph(graph) => graph.candidates(node, to),
            Routes::Rdt(_) => 0,
        }
    }

    /// Where the way of a packet begins in the table of an RDT. Others have none.
    pub(super) fn way(&self, from: NodeId, to: NodeId) -> u32 {
        match self {
            Routes::Grid(_) | Routes::Graph(_) => 0,
            Routes::Rdt(ways) => ways.begin(from.0, to.0),
        }
    }
}

/// A grid with the places of all nodes at hand.
pub(super) struct Grid {
    closed: bool,
    sides: Vec<u32>,
    places: Vec<[u16; DIMENSIONS_MAX]>,
}

impl Grid {
    fn new(topology: &Topology) -> Grid {
        let place = |node| {
            let mut all = [0; DIMENSIONS_MAX];
            for (to, from) in all.iter_mut().zip(topology.place(NodeId(node))) {
                *to = from as u16;
            }
            all
        };
        Grid {
            closed: topology.form == Form::Torus,
            sides: topology.sides.clone(),
            places: (0..topology.nodes()).map(place).collect(),
        }
    }

    /// What a packet to `to` takes next that came to `node` by its port `port` in the class `class`.
    pub(super) fn next(&self, node: usize, to: usize, port: usize, class: usize) -> Hop {
        let (here, there) = (&self.places[node], &self.places[to]);
        for (dimension, side) in self.sides.iter().enumerate() {
            let (a, b) = (u32::from(here[dimension]), u32::from(there[dimension]));
            if a == b {
                continue;
            }
            if !self.closed {
                return Hop { port: 2 * dimension + usize::from(b < a), class: 0 };
            }
            let ahead = if b > a { b - a } else { b + side - a };
            // Both ways are as long: half of the nodes take one. After one step there is no such choice any more.
            let up = 2 * ahead < *side || (2 * ahead == *side && a.is_multiple_of(2));
            let dateline = if up { a + 1 == *side } else { a == 0 };
            let before = if port / 2 == dimension { class } else { 0 };
            return Hop { port: 2 * dimension + usize::from(!up), class: if dateline { 1 } else { before } };
        }
        Hop { port: 2 * self.sides.len(), class: 0 }
    }

    /// The same for a packet whose way so far says nothing. A packet that has the dateline before it is in class 0, all
    /// others are in class 1: so no packet of class 1 wants the dateline.
    pub(super) fn next_anew(&self, node: usize, to: usize) -> Hop {
        let hop = self.next(node, to, 2 * self.sides.len(), 0);
        let dimension = hop.port / 2;
        if !self.closed || dimension == self.sides.len() {
            return hop;
        }
        let (here, there) = (self.places[node][dimension], self.places[to][dimension]);
        let up = hop.port.is_multiple_of(2);
        Hop { class: usize::from(up == (there > here)), ..hop }
    }

    /// Ports that shorten the way, as bits.
    fn candidates(&self, node: usize, to: usize) -> u32 {
        let (here, there) = (&self.places[node], &self.places[to]);
        let mut ports = 0;
        for (dimension, side) in self.sides.iter().enumerate() {
            let (a, b) = (u32::from(here[dimension]), u32::from(there[dimension]));
            if a == b {
                continue;
            }
            let ahead = if b > a { b - a } else { b + side - a };
            let (up, down) =
                if self.closed { (2 * ahead <= *side, 2 * ahead >= *side) } else { (b > a, b < a) };
            ports |= (u32::from(up) | u32::from(down) << 1) << (2 * dimension);
        }
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    /// Node, port and class.
    type Channel = (u32, usize, usize);

    fn topologies() -> Vec<Topology> {
        vec![
            Topology::mesh(&[5]),
            Topology::mesh(&[4, 3]),
            Topology::mesh(&[3, 4, 2]),
            Topology::torus(&[4, 5]),
            Topology::torus(&[3, 2, 4]),
            Topology::ring(7),
            Topology::ring(6),
            Topology::ring(1),
            Topology::rdt(4),
            Topology::rdt(8),
            Topology::rdt(16),
        ]
    }

    /// Graphs: a ring, a line, a star, a dense one, and dragonflies.
    fn graphs() -> Vec<Topology> {
        let line: Vec<(u32, u32)> = (0..6).map(|node| (node, node + 1)).collect();
        let ring: Vec<(u32, u32)> = (0..7).map(|node| (node, (node + 1) % 7)).collect();
        let star: Vec<(u32, u32)> = (1..9).map(|node| (0, node)).collect();
        let dense: Vec<(u32, u32)> = (0..40).map(|n| (n % 13, (5 * n + n / 13 + 1) % 13)).collect();
        let dense: Vec<(u32, u32)> = dense.into_iter().filter(|(a, b)| a != b).take(30).collect();
        let of = |nodes, links: &[(u32, u32)]| Topology::graph(nodes, links, None).expect("a graph");
        let dragonfly = |a, h| Topology::dragonfly(a, h).expect("a dragonfly");
        vec![
            of(7, &line),
            of(7, &ring),
            of(9, &star),
            of(13, &dense),
            dragonfly(4, 2),
            dragonfly(3, 1),
            dragonfly(2, 1),
        ]
    }

    #[test]
    fn graphs_lead_everywhere() {
        for topology in graphs() {
            let routes = Routes::new(&topology);
            let dragonfly = topology.to_string().starts_with("dragonfly");
            for (from, to) in
                (0..topology.nodes()).flat_map(|from| (0..topology.nodes()).map(move |to| (from, to)))
            {
                let way = way(&topology, &routes, from, to);
                assert!(way.len() as u32 >= topology.hops(NodeId(from), NodeId(to)), "{topology}");
                assert!(!dragonfly || way.len() <= 3, "{topology}: {from} to {to}");
            }
            for node in (0..topology.nodes()).map(NodeId) {
                for (port, (other, back)) in (0..).map_while(|port| Some((port, topology.end(node, port)?))) {
                    assert_eq!(topology.end(other, back), Some((node, port)), "{topology}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_graph_is_told() {
        let table = |next: &[i32]| -> Vec<Option<u32>> {
            next.iter().map(|next| u32::try_from(*next).ok()).collect()
        };
        let ring = [(0, 1), (1, 2), (2, 0)];
        let wrong = |nodes, links: &[(u32, u32)], next: Option<&[i32]>| {
            let next = next.map(table);
            Topology::graph(nodes, links, next.as_deref()).expect_err("it is wrong")
        };
        assert!(wrong(2, &[(0, 2)], None).contains("needs nodes up to 2; there are 2"));
        assert!(wrong(2, &[(1, 1)], None).contains("from node 1 to itself"));
        assert!(wrong(3, &[(0, 1)], None).contains("no links lead from node 0 to node 2"));
        assert!(wrong(0, &[], None).contains("1 to 2048 nodes"));
        assert!(wrong(30, &(1..29).map(|n| (0, n)).collect::<Vec<_>>(), None).contains("at most 27"));
        assert!(wrong(3, &ring, Some(&[-1, 1])).contains("2 entries; 3 nodes need 9"));
        assert!(
            wrong(3, &ring, Some(&[-1, 1, -1, 0, -1, 2, 0, 1, -1])).contains("no way from node 0 to node 2")
        );
        let line = [(0, 1), (1, 2)];
        assert!(
            wrong(3, &line, Some(&[-1, 1, 2, 0, -1, 2, 1, 1, -1]))
                .contains("from node 0 to node 2: there is no link")
        );
        assert!(
            wrong(3, &ring, Some(&[-1, 2, 2, 0, -1, 2, 0, 0, -1]))
                .contains("in a circle from node 0 to node 1")
        );
        // Always on round a ring: five packets wait for each other.
        let ring: Vec<(u32, u32)> = (0..5).map(|node| (node, (node + 1) % 5)).collect();
        let on: Vec<i32> = (0..25).map(|at| if at / 5 == at % 5 { -1 } else { (at / 5 + 1) % 5 }).collect();
        assert!(wrong(5, &ring, Some(&on)).contains("0 to 1, 1 to 2"), "{}", wrong(5, &ring, Some(&on)));
        let refused = |routers, global| Topology::dragonfly(routers, global).expect_err("no dragonfly");
        assert!(refused(0, 1).contains("at least one router"));
        assert!([(60, 60), (4_000_000, 1)].iter().all(|&(a, h)| refused(a, h).contains("too large")));
    }

    /// The channels (node, port, class) of a way.
    fn way(topology: &Topology, routes: &Routes, from: u32, to: u32) -> Vec<Channel> {
        let (mut at, mut port, mut class) = (from, topology.links(), 0);
        let mut way = Vec::new();
        loop {
            let came = (port, class);
            let hop = match routes {
                Routes::Grid(grid) => grid.next(at as usize, to as usize, port, class),
                Routes::Graph(graph) => graph.next(at as usize, to as usize, port, class),
                Routes::Rdt(ways) => ways.next(ways.begin(from, to) + way.len() as u32, at as usize, came),
            };
            if hop.port == topology.links() {
                assert_eq!(at, to);
                return way;
            }
            way.push((at, hop.port, hop.class));
            let (next, back) = topology.end(NodeId(at), hop.port).expect("there is a link");
            (at, port, class) = (next.0, back, hop.class);
            assert!(way.len() < 100, "{topology}: from {from} to {to} it never ends");
        }
    }

    #[test]
    fn ways_are_as_short_as_can_be() {
        for topology in topologies() {
            let routes = Routes::new(&topology);
            for from in 0..topology.nodes() {
                for to in 0..topology.nodes() {
                    let hops = topology.hops(NodeId(from), NodeId(to)) as usize;
                    assert_eq!(way(&topology, &routes, from, to).len(), hops, "{topology}: {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn links_lead_back() {
        for topology in topologies() {
            for node in (0..topology.nodes()).map(NodeId) {
                for port in 0..topology.links() {
                    if let Some(other) = topology.neighbour(node, port) {
                        assert_eq!(topology.neighbour(other, port ^ 1), Some(node), "{topology}");
                    }
                }
            }
        }
    }

    /// What packets that hold a channel want next: by channel, a bit for each port and class of the router behind it.
    struct Waits<'a> {
        topology: &'a Topology,
        wants: Vec<u32>,
    }

    impl Waits<'_> {
        fn of(topology: &Topology) -> Waits<'_> {
            let channels = topology.nodes() as usize * topology.links() * rdt::CLASSES;
            Waits { topology, wants: vec![0; channels] }
        }
        fn index(&self, (node, port, class): Channel) -> usize {
            (node as usize * self.topology.links() + port) * rdt::CLASSES + class
        }
        fn add(&mut self, before: Channel, (_, port, class): Channel) {
            let at = self.index(before);
            self.wants[at] |= 1 << (port * rdt::CLASSES + class);
        }
        fn next(&self, channel: usize) -> impl Iterator<Item = usize> {
            let (links, out) = (self.topology.links(), channel / rdt::CLASSES);
            let behind = self.topology.neighbour(NodeId((out / links) as u32), out % links);
            let first = behind.map_or(0, |node| node.0 as usize * links * rdt::CLASSES);
            let wants = self.wants[channel];
            (0..32).filter(move |bit| wants >> bit & 1 != 0).map(move |bit| first + bit)
        }
        /// How many channels are left when those are taken away for which no packet waits, until there is none such:
        /// those of cycles, and what cycles wait for.
        fn left(&self) -> usize {
            let mut waiting = vec![0u32; self.wants.len()];
            (0..self.wants.len()).for_each(|channel| self.next(channel).for_each(|next| waiting[next] += 1));
            let mut open: Vec<usize> = (0..waiting.len()).filter(|channel| waiting[*channel] == 0).collect();
            let mut left = waiting.len();
            while let Some(channel) = open.pop() {
                left -= 1;
                for next in self.next(channel) {
                    waiting[next] -= 1;
                    if waiting[next] == 0 {
                        open.push(next);
                    }
                }
            }
            left
        }
    }

    /// A packet holds a channel and waits for the next on its way. If these pairs have no cycle, some packet can
    /// always go on. On an RDT it is the pairs of unicast and multicast together.
    #[test]
    fn what_waits_for_what_is_no_cycle() {
        for topology in topologies().into_iter().chain([32, 64].map(Topology::rdt)).chain(graphs()) {
            let routes = Routes::new(&topology);
            let mut waits = Waits::of(&topology);
            for from in 0..topology.nodes() {
                for to in 0..topology.nodes() {
                    for pair in way(&topology, &routes, from, to).windows(2) {
                        waits.add(pair[0], pair[1]);
                    }
                }
            }
            if let Form::Rdt(rdt) = &topology.form {
                (0..topology.nodes()).for_each(|home| multicast_waits(rdt, home, &mut waits));
            }
            assert!(waits.wants.iter().any(|wants| *wants != 0) || topology.nodes() < 3);
            assert_eq!(waits.left(), 0, "{topology}: channels in cycles, or behind them");
        }
    }

    /// On a ring without a dateline packets wait for each other: the check sees it.
    #[test]
    fn a_cycle_is_seen() {
        let ring = Topology::ring(4);
        let mut waits = Waits::of(&ring);
        (0..4).for_each(|node| waits.add((node, 0, 0), ((node + 1) % 4, 0, 0)));
        assert_eq!(waits.left(), 4);
    }

    /// The pairs of channels of a multicast from this home to all.
    fn multicast_waits(rdt: &Rdt, home: u32, waits: &mut Waits<'_>) {
        let branches = tree::Branches::all(rdt);
        let mut open = vec![(rdt.place(home), tree::Stage::start(rdt), None::<Channel>)];
        while let Some((at, stage, before)) = open.pop() {
            for copy in stage.copies(rdt, at, &branches) {
                let Some(step) = copy.step else { continue };
                let came = before.map_or((rdt::LINKS, 0), |(_, port, class)| (port ^ 1, class));
                let hop = rdt.hop(at, step, came);
                let channel = (rdt.node(at), hop.port, hop.class);
                if let Some(before) = before {
                    waits.add(before, channel);
                }
                let next = rdt.neighbour(at, step.port).expect("the tree takes links that there are");
                open.push((next, copy.stage, Some(channel)));
            }
        }
    }

    #[test]
    fn x_comes_before_y() {
        let topology = Topology::mesh(&[4, 4]);
        let ports: Vec<usize> =
            way(&topology, &Routes::new(&topology), 0, 10).iter().map(|hop| hop.1).collect();
        assert_eq!(ports, [0, 0, 2, 2]);
        assert_eq!(topology.to_string(), "mesh 4x4");
    }
}
