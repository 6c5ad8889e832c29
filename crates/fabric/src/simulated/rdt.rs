//! The recursive diagonal torus RDT(2,4,1) of JUMP-1, and vector routing on it.
//!
//! Sources: Y. Yang, H. Amano et al., *Recursive Diagonal Torus: An Interconnection Network for Massively Parallel
//! Computers*, IEEE TPDS 12(7), 2001;
//! N. Suzuki, H. Amano et al., *Performance Evaluation of a Multicast Mechanism for a Massively Parallel Processor
//! JUMP-1*.
//!
//! Nodes lie on a torus of N by N, rank 0. With e0 = (1, 0) and f = e turned by 90 degrees, rank r has e_r = 2
//! e_(r-1) + 2 f_(r-1). A node
//! has the four links of rank 0 and four of *one* upper rank, to +-e_r and +-f_r. [`RANKS`] says which; it is
//! constant on the cosets of rank 1, so
//! that all links of a rank stay within it, and each node has neighbours of the three other ranks. Where e_r is 0
//! modulo N the rank has no links.
//!
//! *Vector routing.* The difference of two nodes is split into a part for each rank, the greatest rank first. A part
//! is walked along f
//! before e. A packet that comes to a rank at a node of another one takes one link of rank 0 to a neighbour of that
//! rank (a transition); rank 0 is
//! walked last.
//!
//! *Virtual channels.* A packet begins a direction in class 0 and is in class 1 from the link that closes the ring
//! on; a transition has class 2.
//! So no cycle of channels waits for itself; the tests build the graph of all dependencies, unicast and multicast
//! together.

use super::topology::Hop;
use std::sync::OnceLock;

/// Upper ranks that a network may have.
pub(super) const RANKS_MAX: usize = 4;
/// Bits of a coordinate of the largest.
pub(super) const BITS_MAX: usize = 8;
/// Links of a router: four of rank 0, four of its upper rank.
pub(super) const LINKS: usize = 8;
/// Virtual channels of a link: two for datelines, one for transitions.
pub(super) const CLASSES: usize = 3;
const TRANSITION: usize = 2;

/// The upper rank of a node, by y modulo 4 and x modulo 4. The published assignment is only drawn; this one has the
/// published properties.
const RANKS: [[u8; 4]; 4] = [[1, 2, 3, 4], [1, 2, 3, 4], [3, 4, 1, 2], [3, 4, 1, 2]];

/// A vector on the torus.
pub(super) type Vector = (i32, i32);

/// The geometry of one network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rdt {
    side: i32,
    /// Bits of a coordinate.
    bits: u32,
    /// The greatest rank with links.
    top: usize,
}

/// Where links lead, by rank: +e, -e, +f, -f.
static VECTORS: [[Vector; 4]; RANKS_MAX + 1] = vectors();

const fn vectors() -> [[Vector; 4]; RANKS_MAX + 1] {
    let mut all = [[(0, 0); 4]; RANKS_MAX + 1];
    let (mut e, mut rank) = ((1, 0), 0);
    while rank <= RANKS_MAX {
        let f = (-e.1, e.0);
        all[rank] = [e, (-e.0, -e.1), f, (-f.0, -f.1)];
        e = (2 * e.0 + 2 * f.0, 2 * e.1 + 2 * f.1);
        rank += 1;
    }
    all
}

/// `sum / 4`, rounded to the nearest whole number, halves towards 0.
fn quarter(sum: i32) -> i32 {
    sum.signum() * ((sum.abs() + 1) / 4)
}

impl Rdt {
    /// A network of `side` by `side` nodes: a power of two from 4 to 256.
    pub(super) fn new(side: u32) -> Rdt {
        assert!(
            (4..=256).contains(&side) && side.is_power_of_two(),
            "an RDT has 4, 8, 16 .. 256 nodes a side"
        );
        let side = side as i32;
        let linked = |rank: &usize| {
            let (x, y) = VECTORS[*rank][0];
            (x.rem_euclid(side), y.rem_euclid(side)) != (0, 0)
        };
        let top = (1..=RANKS_MAX).rev().find(linked).expect("rank 1 has links on every side from 4 on");
        Rdt { side, bits: side.trailing_zeros(), top }
    }

    /// The greatest rank with links.
    pub(super) fn top(&self) -> usize {
        self.top
    }

    /// Nodes of a row.
    pub(super) fn side(&self) -> i32 {
        self.side
    }

    /// Bits of a coordinate, which say all of a network.
    pub(super) fn bits(&self) -> usize {
        self.bits as usize
    }

    /// Where a node is.
    pub(super) fn place(&self, node: u32) -> Vector {
        (node as i32 & (self.side - 1), node as i32 >> self.bits)
    }

    /// The node at a place.
    pub(super) fn node(&self, (x, y): Vector) -> u32 {
        (y * self.side + x) as u32
    }

    /// The upper rank of the node at a place.
    pub(super) fn rank(&self, (x, y): Vector) -> usize {
        usize::from(RANKS[(y & 3) as usize][(x & 3) as usize])
    }

    /// The place behind a link: ports 0 to 3 are +x, -x, +y, -y; 4 to 7 are +e, -e, +f, -f of the node's upper rank.
    /// None: no such link.
    pub(super) fn neighbour(&self, at: Vector, port: usize) -> Option<Vector> {
        let rank = if port < 4 { 0 } else { self.rank(at) };
        (port < LINKS && rank <= self.top).then(|| self.step(at, self.link(rank, port)))
    }

    pub(super) fn link(&self, rank: usize, port: usize) -> Vector {
        VECTORS[rank][port % 4]
    }

    pub(super) fn step(&self, at: Vector, by: Vector) -> Vector {
        // The side is a power of two: the mask takes the remainder, of what is below 0, too.
        ((at.0 + by.0) & (self.side - 1), (at.1 + by.1) & (self.side - 1))
    }

    /// Whether a step closes the ring of its direction. Rings of even ranks run along one axis, those of odd ranks
    /// along both.
    fn dateline(&self, at: Vector, by: Vector) -> bool {
        let (from, along) = if by.0 != 0 { (at.0, by.0) } else { (at.1, by.1) };
        !(0..self.side).contains(&(from + along))
    }

    /// The channel of a packet that takes this link and came by port `port` in class `class`.
    pub(super) fn hop(&self, at: Vector, step: Step, (port, class): (usize, usize)) -> Hop {
        if step.transition {
            return Hop { port: step.port, class: TRANSITION };
        }
        let rank = if step.port < 4 { 0 } else { self.rank(at) };
        let before = if port == step.port ^ 1 && class != TRANSITION { class } else { 0 };
        let class = if self.dateline(at, self.link(rank, step.port)) { 1 } else { before };
        Hop { port: step.port, class }
    }

    /// A difference of places, split into a part for each rank: how far along e and along f.
    fn parts(&self, from: Vector, to: Vector) -> [Vector; RANKS_MAX + 1] {
        let half = self.side / 2;
        let wrapped = |d: i32| half - (half - d).rem_euclid(self.side);
        let (mut a, mut b) = (wrapped(to.0 - from.0), wrapped(to.1 - from.1));
        let mut parts = [(0, 0); RANKS_MAX + 1];
        for part in parts.iter_mut().take(self.top) {
            let (j, k) = (quarter(a + b), quarter(b - a));
            *part = (a - 2 * j + 2 * k, b - 2 * j - 2 * k);
            (a, b) = (j, k);
        }
        parts[self.top] = self.shortest((a, b));
        parts
    }

    /// The shortest vector of the greatest rank that leads to the same node.
    fn shortest(&self, (a, b): Vector) -> Vector {
        let [e, _, f, _] = VECTORS[self.top];
        let place = |(a, b): Vector| self.step((0, 0), (a * e.0 + b * f.0, a * e.1 + b * f.1));
        let bound = a.abs() + b.abs();
        let all = (-bound..=bound).flat_map(|a| (-bound..=bound).map(move |b| (a, b)));
        let same = all.filter(|other| place(*other) == place((a, b)));
        same.min_by_key(|(a, b)| a.abs() + b.abs()).expect("the vector itself is one of them")
    }

    /// A packet's way.
    pub(super) fn way(&self, from: Vector, to: Vector) -> Vec<Step> {
        let mut parts = self.parts(from, to);
        let (mut at, mut way) = (from, Vec::new());
        for rank in (1..=self.top).rev() {
            if parts[rank] == (0, 0) {
                continue;
            }
            if self.rank(at) != rank {
                let port = self.transition(at, rank, parts[0]);
                let (x, y) = self.link(0, port);
                parts[0] = (parts[0].0 - x, parts[0].1 - y);
                way.push(Step { port, transition: true });
                at = self.step(at, (x, y));
            }
            at = self.walk(at, rank, parts[rank], &mut way);
        }
        self.walk(at, 0, parts[0], &mut way);
        way
    }

    /// Walks a rank's part, along f before e.
    fn walk(&self, mut at: Vector, rank: usize, part: Vector, way: &mut Vec<Step>) -> Vector {
        let first = if rank == 0 { 0 } else { 4 };
        for (length, port) in [(part.1, first + 2), (part.0, first)] {
            let port = port + usize::from(length < 0);
            for _ in 0..length.abs() {
                way.push(Step { port, transition: false });
                at = self.step(at, self.link(rank, port));
            }
        }
        at
    }

    /// The port of rank 0 that leads to a node of this rank: one that shortens what is left of rank 0, if there is one.
    pub(super) fn transition(&self, at: Vector, rank: usize, left: Vector) -> usize {
        let leads = |port: &usize| self.rank(self.step(at, self.link(0, *port))) == rank;
        let shortens = |port: &usize| {
            let (x, y) = self.link(0, *port);
            x * left.0 + y * left.1 > 0
        };
        let port = (0..4).find(|port| leads(port) && shortens(port)).or_else(|| (0..4).find(leads));
        port.expect("each node has neighbours of all other ranks")
    }
}

/// A link of a packet's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) port: usize,
    /// Whether it only leads to a node of the rank that comes next.
    pub(super) transition: bool,
}

/// The ways of all packets: a list for each place modulo 4 and each difference.
pub(super) struct Ways {
    pub(super) rdt: Rdt,
    /// By place modulo 4 and difference: where its list begins in `steps`.
    begins: Vec<u32>,
    /// Port and [`TRANSITION_BIT`] of each link, each list ended by [`END`].
    steps: Vec<u8>,
}

const TRANSITION_BIT: u8 = 1 << 7;
const END: u8 = LINKS as u8;

impl Ways {
    fn new(rdt: Rdt) -> Ways {
        let mut ways = Ways { rdt, begins: Vec::new(), steps: Vec::new() };
        for cell in 0..16 {
            for difference in 0..rdt.side * rdt.side {
                let from = (cell % 4, cell / 4);
                let to = rdt.step(from, (difference % rdt.side, difference / rdt.side));
                ways.begins.push(ways.steps.len() as u32);
                let bits = |step: &Step| step.port as u8 | if step.transition { TRANSITION_BIT } else { 0 };
                ways.steps.extend(rdt.way(from, to).iter().map(bits));
                ways.steps.push(END);
            }
        }
        ways
    }

    /// Those of a network, which all networks of its size share.
    pub(super) fn of(rdt: Rdt) -> &'static Ways {
        static WAYS: [OnceLock<Ways>; BITS_MAX + 1] = [const { OnceLock::new() }; BITS_MAX + 1];
        WAYS[rdt.bits()].get_or_init(|| Ways::new(rdt))
    }
    /// Where the way from a node to another begins.
    pub(super) fn begin(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (self.rdt.place(from), self.rdt.place(to));
        let side = self.rdt.side;
        let (x, y) = ((to.0 - from.0) & (side - 1), (to.1 - from.1) & (side - 1));
        self.begins[((from.1 % 4 * 4 + from.0 % 4) * side * side + y * side + x) as usize]
    }

    /// The link `step` of all ways, from node `at`, where the packet came by port `port` in class `class`.
    pub(super) fn next(&self, step: u32, at: usize, (port, class): (usize, usize)) -> Hop {
        let step = self.steps[step as usize];
        let next = usize::from(step & !TRANSITION_BIT);
        if next == LINKS {
            return Hop { port: LINKS, class: 0 };
        }
        let at = self.rdt.place(at as u32);
        self.rdt.hop(at, Step { port: next, transition: step & TRANSITION_BIT != 0 }, (port, class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest length and the mean of all ways, a node with itself included.
    fn lengths(side: u32) -> (usize, f64) {
        let rdt = Rdt::new(side);
        let ways = Ways::new(rdt);
        let mut lengths = Vec::new();
        for begin in &ways.begins {
            let list = &ways.steps[*begin as usize..];
            lengths.push(list.iter().position(|step| *step == END).expect("each list ends"));
        }
        let sum: usize = lengths.iter().sum();
        (*lengths.iter().max().expect("there are ways"), sum as f64 / lengths.len() as f64)
    }

    #[test]
    fn ways_have_the_lengths_of_vector_routing() {
        let published = [(4, 4, 1.94), (8, 5, 3.15), (16, 9, 4.83), (32, 11, 6.29), (64, 13, 8.03)];
        for (side, greatest, mean) in published {
            let (diameter, found) = lengths(side);
            assert_eq!((diameter, format!("{found:.2}")), (greatest, format!("{mean:.2}")), "{side}");
        }
    }

    #[test]
    fn ways_lead_where_they_should() {
        for side in [4, 8, 16, 32, 64] {
            let rdt = Rdt::new(side);
            for cell in 0..16 {
                let from = (cell % 4, cell / 4);
                for to in (0..side * side).map(|node| rdt.place(node)) {
                    let follow = |at, step: &Step| rdt.neighbour(at, step.port).expect("there is a link");
                    assert_eq!(rdt.way(from, to).iter().fold(from, follow), to, "{side}");
                }
            }
        }
    }

    #[test]
    fn each_node_sees_the_three_other_ranks() {
        let rdt = Rdt::new(16);
        for at in (0..256).map(|node| rdt.place(node)) {
            let near = (0..4).map(|port| rdt.rank(rdt.step(at, rdt.link(0, port))));
            let mut ranks: Vec<usize> = near.chain([rdt.rank(at)]).collect();
            ranks.sort_unstable();
            ranks.dedup();
            assert_eq!(ranks, [1, 2, 3, 4]);
        }
    }

    #[test]
    fn links_stay_within_their_rank() {
        for side in [8, 16, 32, 64, 128, 256] {
            let rdt = Rdt::new(side);
            for at in (0..side * side).map(|node| rdt.place(node)) {
                for port in 4..LINKS {
                    let there = rdt.neighbour(at, port);
                    assert!(there.is_none_or(|there| rdt.rank(there) == rdt.rank(at)));
                }
            }
        }
    }
}
