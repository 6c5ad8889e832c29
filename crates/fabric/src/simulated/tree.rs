//! The multicast tree of an RDT: pure geometry, for routers and for whoever makes maps.
//!
//! Source: N. Suzuki, H. Amano et al., *Performance Evaluation of a Multicast Mechanism for a Massively Parallel
//! Processor JUMP-1*.
//!
//! At each rank, from the greatest down, a node sends to its east, west, north and south along the rank's e and f;
//! the southern one sends on to its own
//! south, east and west. These eight, the node itself among them, go on with the next rank, each by one link of rank
//! 0 to a neighbour of that rank
//! (rank 0 itself needs none). After rank 0 they are leaves. So there are 8 leaves for each node of the rank above,
//! and none is reached twice. At
//! the greatest rank some of the eight fall together on small machines; there the tree has fewer.
//!
//! A leaf's *address* is its branch at each rank, an octal digit, the greatest rank first.

use super::rdt::{BITS_MAX, RANKS_MAX, Rdt, Step, Vector};
use crate::{Map, NodeId};
use std::sync::OnceLock;

/// Branches of a rank.
const CENTRE: u32 = 0;
const EAST: u32 = 1;
const WEST: u32 = 2;
const NORTH: u32 = 3;
const SOUTH: u32 = 4;
const SOUTH_SOUTH: u32 = 5;
const SOUTH_EAST: u32 = 6;
const SOUTH_WEST: u32 = 7;
/// Those that the southern node serves.
const OF_SOUTH: [u32; 4] = [SOUTH, SOUTH_SOUTH, SOUTH_EAST, SOUTH_WEST];

/// What a packet has still to do at the router where it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stage {
    rank: u8,
    at: At,
    /// The branches taken so far.
    address: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum At {
    /// The rank begins here.
    Root,
    /// The southern node of the rank.
    South,
    /// The rank has been dealt with.
    #[default]
    End,
}

/// A copy that a router makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Copy {
    /// The link it takes; `None`: the router's own node gets it.
    pub(super) step: Option<Step>,
    pub(super) stage: Stage,
}

/// Which branches a multicast takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Branches {
    /// Those that lead to these addresses, which ascend.
    To(Vec<u32>),
    /// By rank: a bit for each branch, alike at all nodes of the rank.
    Alike([u8; RANKS_MAX + 1]),
}

/// A leaf's place among those that gather acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gathers {
    /// The address of the leaf that gets its own; none: the home does.
    pub(super) parent: Option<u32>,
    /// The rank whose branches these two are on.
    pub(super) rank: usize,
    /// Leaves that give it theirs.
    pub(super) children: u32,
}

impl Branches {
    fn follows(&self, rank: usize, address: u32, branch: u32) -> bool {
        match self {
            Branches::Alike(maps) => maps[rank] >> branch & 1 != 0,
            Branches::To(addresses) => {
                let first = (address * 8 + branch) << (3 * rank);
                let begin = addresses.partition_point(|address| *address < first);
                addresses.get(begin).is_some_and(|address| *address < first + (1 << (3 * rank)))
            }
        }
    }

    /// Those to these addresses, alike at all nodes of a rank.
    pub(super) fn alike(rdt: &Rdt, addresses: &[u32]) -> Branches {
        let mut maps = [0; RANKS_MAX + 1];
        for address in addresses {
            for (rank, map) in maps.iter_mut().enumerate().take(rdt.top() + 1) {
                *map |= 1 << (address >> (3 * rank) & 7);
            }
        }
        Branches::Alike(maps)
    }

    /// How many leaves they lead to.
    pub(super) fn leaves(&self) -> u32 {
        match self {
            Branches::To(addresses) => addresses.len() as u32,
            Branches::Alike(maps) => maps.iter().map(|map| map.count_ones().max(1)).product(),
        }
    }

    /// Whom the leaf at an address gives its acknowledgement, by address (none: the home), at which rank, and how
    /// many give it theirs. Of the leaves behind one branch the one with the least address gathers.
    pub(super) fn gather(&self, rdt: &Rdt, address: u32) -> Gathers {
        let mut children = 0;
        for rank in 0..=rdt.top() {
            let (low, high) = (3 * rank, 3 * (rank + 1));
            let (least, branches) = match self {
                Branches::Alike(maps) => {
                    let digit = maps[rank].trailing_zeros();
                    (address & !(7 << low) | digit << low, maps[rank].count_ones())
                }
                Branches::To(addresses) => {
                    let first = address >> high << high;
                    let begin = addresses.partition_point(|address| *address < first);
                    let taken = |branch: &u32| {
                        let first = first + (branch << low);
                        let at = addresses.partition_point(|address| *address < first);
                        addresses.get(at).is_some_and(|address| *address < first + (1 << low))
                    };
                    (addresses[begin], (0..8).filter(taken).count() as u32)
                }
            };
            if least != address {
                return Gathers { parent: Some(least), rank, children };
            }
            children += branches - 1;
        }
        Gathers { parent: None, rank: rdt.top() + 1, children }
    }

    /// All that the tree has.
    pub(super) fn all(rdt: &Rdt) -> Branches {
        let mut maps = [u8::MAX; RANKS_MAX + 1];
        let mut seen = Vec::new();
        maps[rdt.top()] = 0;
        // Of branches that fall together the one whose packets travel least stays: the southern node comes before
        // what it serves.
        for branch in [CENTRE, SOUTH, EAST, WEST, SOUTH_EAST, SOUTH_WEST, SOUTH_SOUTH, NORTH] {
            let place = offset(rdt, rdt.top(), branch);
            if !seen.contains(&place) {
                seen.push(place);
                maps[rdt.top()] |= 1 << branch;
            }
        }
        Branches::Alike(maps)
    }
}

/// Where a branch of a rank leads, from place (0, 0).
fn offset(rdt: &Rdt, rank: usize, branch: u32) -> Vector {
    let first = if rank == 0 { 0 } else { 4 };
    let [east, west, north, south] = [0, 1, 2, 3].map(|port| rdt.link(rank, first + port));
    let links: &[Vector] = match branch {
        EAST => &[east],
        WEST => &[west],
        NORTH => &[north],
        SOUTH => &[south],
        SOUTH_SOUTH => &[south, south],
        SOUTH_EAST => &[south, east],
        SOUTH_WEST => &[south, west],
        _ => &[],
    };
    links.iter().fold((0, 0), |at, by| rdt.step(at, *by))
}

impl Stage {
    /// Of a packet that its home has just sent.
    pub(super) fn start(rdt: &Rdt) -> Stage {
        Stage { rank: rdt.top() as u8 + 1, at: At::End, address: 0 }
    }
    /// The address of the leaf, for a copy that its node gets.
    pub(super) fn address(&self) -> u32 {
        self.address
    }

    /// The copies that the router at a place makes.
    pub(super) fn copies(self, rdt: &Rdt, at: Vector, branches: &Branches) -> Vec<Copy> {
        let mut copies = Vec::new();
        self.copy(rdt, at, branches, &mut copies);
        copies
    }

    fn copy(self, rdt: &Rdt, at: Vector, branches: &Branches, copies: &mut Vec<Copy>) {
        let (rank, address) = (usize::from(self.rank), self.address);
        let first = if rank == 0 { 0 } else { 4 };
        let follows = |branch: u32| branches.follows(rank, address, branch);
        let arms: &[(u32, usize)] = match self.at {
            At::End => return self.down(rdt, at, branches, copies),
            At::Root => &[(EAST, 0), (WEST, 1), (NORTH, 2)],
            At::South => &[(SOUTH_EAST, 0), (SOUTH_WEST, 1), (SOUTH_SOUTH, 3)],
        };
        for (branch, port) in arms.iter().filter(|(branch, _)| follows(*branch)) {
            let stage = Stage { rank: self.rank, at: At::End, address: address * 8 + branch };
            copies.push(Copy { step: Some(Step { port: first + port, transition: false }), stage });
        }
        if self.at == At::Root && OF_SOUTH.into_iter().any(follows) {
            let step = Step { port: first + 3, transition: false };
            copies.push(Copy { step: Some(step), stage: Stage { at: At::South, ..self } });
        }
        let own = if self.at == At::Root { CENTRE } else { SOUTH };
        if follows(own) {
            let stage = Stage { rank: self.rank, at: At::End, address: address * 8 + own };
            stage.down(rdt, at, branches, copies);
        }
    }

    /// Goes on with the next rank.
    fn down(self, rdt: &Rdt, at: Vector, branches: &Branches, copies: &mut Vec<Copy>) {
        let Some(rank) = self.rank.checked_sub(1) else {
            return copies.push(Copy { step: None, stage: self });
        };
        let stage = Stage { rank, at: At::Root, address: self.address };
        if rank == 0 || rdt.rank(at) == usize::from(rank) {
            return stage.copy(rdt, at, branches, copies);
        }
        let port = rdt.transition(at, usize::from(rank), (0, 0));
        copies.push(Copy { step: Some(Step { port, transition: true }), stage });
    }
}

/// All leaves of a home's tree: node and address.
pub(super) fn leaves(rdt: &Rdt, home: Vector) -> Vec<(u32, u32)> {
    let (branches, mut leaves) = (Branches::all(rdt), Vec::new());
    let mut open = vec![(home, Stage::start(rdt))];
    while let Some((at, stage)) = open.pop() {
        for copy in stage.copies(rdt, at, &branches) {
            match copy.step {
                None => leaves.push((rdt.node(at), copy.stage.address())),
                Some(step) => {
                    let next = rdt.neighbour(at, step.port).expect("the tree takes links that there are");
                    open.push((next, copy.stage));
                }
            }
        }
    }
    leaves
}

/// The node that a leaf is.
pub(super) fn leaf(rdt: &Rdt, home: Vector, address: u32) -> u32 {
    let mut at = home;
    for rank in (0..=rdt.top()).rev() {
        if rank > 0 && rdt.rank(at) != rank {
            at = rdt.step(at, rdt.link(0, rdt.transition(at, rank, (0, 0))));
        }
        at = rdt.step(at, offset(rdt, rank, address >> (3 * rank) & 7));
    }
    rdt.node(at)
}

/// The addresses of all nodes in all homes' trees.
#[derive(Debug)]
pub(super) struct Addresses {
    rdt: Rdt,
    /// By place of the home modulo 4 and difference of places; [`UNREACHED`] where the tree does not lead.
    table: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl Addresses {
    /// Those of a network, which all networks of its size share.
    pub(super) fn of_all(rdt: Rdt) -> &'static Addresses {
        static ADDRESSES: [OnceLock<Addresses>; BITS_MAX + 1] = [const { OnceLock::new() }; BITS_MAX + 1];
        ADDRESSES[rdt.bits()].get_or_init(|| Addresses::new(rdt))
    }
    fn new(rdt: Rdt) -> Addresses {
        let nodes = (rdt.side() * rdt.side()) as usize;
        let mut table = vec![UNREACHED; 16 * nodes];
        for cell in 0..16 {
            for (node, address) in leaves(&rdt, (cell % 4, cell / 4)) {
                let (x, y) = rdt.place(node);
                let difference = rdt.node(rdt.step((x, y), (-(cell % 4), -(cell / 4))));
                table[cell as usize * nodes + difference as usize] = address;
            }
        }
        Addresses { rdt, table }
    }
    /// A node's address in a home's tree; `None` if the tree does not reach it.
    pub(super) fn of(&self, home: NodeId, node: NodeId) -> Option<u32> {
        let (from, to) = (self.rdt.place(home.0), self.rdt.place(node.0));
        let cell = (from.1 % 4 * 4 + from.0 % 4) as usize;
        let difference = self.rdt.node(self.rdt.step(to, (-from.0, -from.1))) as usize;
        let address = self.table[cell * (self.rdt.side() * self.rdt.side()) as usize + difference];
        (address != UNREACHED).then_some(address)
    }
    /// What a map means for the routers; `None` if the tree does not reach all of its nodes.
    pub(super) fn branches(&self, home: NodeId, map: &Map) -> Option<Branches> {
        let (Map::Exact(set) | Map::Levels(set)) = map;
        let mut addresses = set.iter().map(|node| self.of(home, node)).collect::<Option<Vec<u32>>>()?;
        addresses.sort_unstable();
        Some(match map {
            Map::Exact(_) => Branches::To(addresses),
            Map::Levels(_) => Branches::alike(&self.rdt, &addresses),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves, links and the longest path of a multicast.
    fn walk(rdt: &Rdt, home: Vector, start: Stage, branches: &Branches) -> (usize, usize, usize) {
        let (mut leaves, mut links, mut longest) = (0, 0, 0);
        let mut open = vec![(home, start, 0)];
        while let Some((at, stage, length)) = open.pop() {
            for copy in stage.copies(rdt, at, branches) {
                if let Some(step) = copy.step {
                    links += 1;
                    open.push((rdt.neighbour(at, step.port).expect("a link"), copy.stage, length + 1));
                } else {
                    leaves += 1;
                    longest = longest.max(length);
                }
            }
        }
        (leaves, links, longest)
    }

    #[test]
    fn each_node_is_one_leaf() {
        for (side, reached) in [(8, 64), (16, 256), (32, 1024), (64, 4096), (128, 16384), (256, 32768)] {
            let rdt = Rdt::new(side);
            for home in [(0, 0), (1, 2), (3, 3), (2, 1)] {
                let mut nodes: Vec<u32> = leaves(&rdt, home).into_iter().map(|leaf| leaf.0).collect();
                nodes.sort_unstable();
                nodes.dedup();
                assert_eq!((nodes.len(), leaves(&rdt, home).len()), (reached, reached), "{side}");
            }
        }
    }

    /// The golden values of the scheme: links and longest path for whole territories of 8, 64, 512 and 4,096 leaves.
    #[test]
    fn trees_have_the_links_of_the_scheme() {
        for (top, leaves, links, paths) in [
            (0, 8, [7, 7], [2, 2]),
            (1, 64, [63, 64], [4, 5]),
            (2, 512, [519, 520], [7, 8]),
            (3, 4096, [4167, 4168], [10, 11]),
        ] {
            let rdt = Rdt::new(64);
            let mut maps = [1; RANKS_MAX + 1];
            maps[..=top].fill(u8::MAX);
            let mut seen = [Vec::new(), Vec::new()];
            for home in (0..16).map(|cell| (cell % 4, cell / 4)) {
                // A tree that begins at this rank: the ranks above it have nothing to do.
                let start = Stage { rank: top as u8 + 1, at: At::End, address: 0 };
                let (found, count, longest) = walk(&rdt, home, start, &Branches::Alike(maps));
                assert_eq!(found, leaves);
                seen[0].push(count);
                seen[1].push(longest);
            }
            let range =
                |all: &Vec<usize>| [*all.iter().min().expect("some"), *all.iter().max().expect("some")];
            assert_eq!((range(&seen[0]), range(&seen[1])), (links, paths), "{leaves} leaves");
        }
    }

    #[test]
    fn a_leaf_is_found_by_its_address() {
        for side in [4, 8, 16, 32, 64, 256] {
            let rdt = Rdt::new(side);
            for home in (0..16).map(|cell| (cell % 4, cell / 4)) {
                for (node, address) in leaves(&rdt, home) {
                    assert_eq!(leaf(&rdt, home, address), node, "{side}");
                }
            }
        }
    }

    /// The leaves that are reached are a tree with the home as root, and know how many children they have.
    #[test]
    fn acknowledgements_gather_along_a_tree() {
        let rdt = Rdt::new(16);
        let all = leaves(&rdt, (5, 9));
        for step in [1, 2, 3, 17, 100, 255] {
            let mut addresses: Vec<u32> = all.iter().step_by(step).map(|leaf| leaf.1).collect();
            addresses.sort_unstable();
            for branches in [Branches::alike(&rdt, &addresses), Branches::To(addresses)] {
                let mut reached = Vec::new();
                let mut open = vec![((5, 9), Stage::start(&rdt))];
                while let Some((at, stage)) = open.pop() {
                    for copy in stage.copies(&rdt, at, &branches) {
                        match copy.step {
                            None => reached.push(copy.stage.address()),
                            Some(step) => {
                                open.push((rdt.neighbour(at, step.port).expect("a link"), copy.stage));
                            }
                        }
                    }
                }
                assert_eq!(branches.leaves() as usize, reached.len());
                let parent = |address: u32| branches.gather(&rdt, address).parent;
                assert_eq!(reached.iter().filter(|address| parent(**address).is_none()).count(), 1);
                for address in &reached {
                    let Gathers { parent: gatherer, rank, children } = branches.gather(&rdt, *address);
                    assert!(gatherer.is_none_or(|parent| parent < *address && reached.contains(&parent)));
                    // All ranks above are the same for both, this one is not.
                    let common = |parent: u32| (parent ^ *address) >> (3 * rank);
                    assert!(gatherer.is_none_or(|parent| (1..8).contains(&common(parent))));
                    let found = reached.iter().filter(|other| parent(**other) == Some(*address)).count();
                    assert_eq!(found, children as usize, "{address:o}");
                    assert!(children <= 7 * (rdt.top() as u32 + 1));
                }
            }
        }
    }

    #[test]
    fn a_map_leads_to_its_nodes() {
        let rdt = Rdt::new(16);
        let all = leaves(&rdt, (5, 9));
        for step in [1, 3, 17, 100] {
            let mut addresses: Vec<u32> = all.iter().step_by(step).map(|leaf| leaf.1).collect();
            addresses.sort_unstable();
            let count = addresses.len();
            let alike = Branches::alike(&rdt, &addresses);
            assert_eq!(walk(&rdt, (5, 9), Stage::start(&rdt), &Branches::To(addresses)).0, count);
            assert!(walk(&rdt, (5, 9), Stage::start(&rdt), &alike).0 >= count);
        }
    }
}
