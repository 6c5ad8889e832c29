//! Networks of any nodes and links, and the ways of packets on them.
//!
//! Three ways to route. *Up and down*: links lead up towards a root or down from it, and a packet takes no link up
//! after one down; so no packets wait for each other in a circle, whatever the links are. *Table*: each node's next
//! node for each receiver; a table in which packets could wait in a circle is refused. *Dragonfly* (J. Kim et al.:
//! Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008): groups of routers that are all linked, and a
//! link between each two groups; a packet takes a link in its group, one to the other group, and one there, and
//! behind the link between groups it is in the second virtual channel.

use super::topology::{Hop, INPUTS_MAX};
use std::collections::VecDeque;

/// Most nodes of a graph: its tables grow with their square.
pub(super) const NODES_MAX: u32 = 2048;
const FAR: u16 = u16::MAX;

/// How a graph's packets find their ways.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Ways {
    /// Links still to take, by receiver and node: for a packet that may go up, and for one that went down.
    UpDown(Vec<[u16; 2]>),
    /// The next port, by node and receiver.
    Table(Vec<u8>),
    /// Routers of a group, links between groups of a router.
    Dragonfly(u32, u32),
}

/// Where a link ends: the node, and the port there.
type End = (u32, usize);

/// Nodes and links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Graph {
    pub(super) name: String,
    /// The links of each node, by port.
    ends: Vec<Vec<End>>,
    /// How far a node is from a root, for going up and down.
    ranks: Vec<u32>,
    ways: Ways,
    /// Links of a shortest way, by receiver and node.
    distances: Vec<u16>,
}

impl Graph {
    /// Of these nodes and links, each in both directions; without a table packets go up and down. A table has a node's
    /// next node for a receiver, by node and receiver; `None` for the node itself. The error says what is wrong.
    pub(super) fn new(
        nodes: u32,
        links: &[(u32, u32)],
        table: Option<&[Option<u32>]>,
    ) -> Result<Graph, String> {
        if !(1..=NODES_MAX).contains(&nodes) {
            return Err(format!("a network of this kind has 1 to {NODES_MAX} nodes"));
        }
        let mut ends: Vec<Vec<End>> = vec![Vec::new(); nodes as usize];
        for &(a, b) in links {
            if a.max(b) >= nodes {
                return Err(format!("the link {a} to {b} needs nodes up to {}; there are {nodes}", a.max(b)));
            }
            if a == b {
                return Err(format!("a link leads from node {a} to itself"));
            }
            let (there, here) = (ends[b as usize].len(), ends[a as usize].len());
            ends[a as usize].push((b, there));
            ends[b as usize].push((a, here));
        }
        let most = ends.iter().map(Vec::len).max().unwrap_or(0);
        if most + 1 > INPUTS_MAX {
            return Err(format!("a node has {most} links; at most {} are possible", INPUTS_MAX - 1));
        }
        let distances = distances(&ends);
        let unreached = distances[..nodes as usize].iter().position(|links| *links == FAR);
        if let Some(node) = unreached {
            return Err(format!("no links lead from node 0 to node {node}"));
        }
        let name = format!("network of {nodes} nodes and {} links", links.len());
        let (ranks, ways) = (ranks(&ends), Ways::Table(Vec::new()));
        let mut graph = Graph { name, ends, ranks, ways, distances };
        graph.ways = match table {
            None => Ways::UpDown(graph.up_and_down()),
            Some(table) => Ways::Table(graph.ports_of(table)?),
        };
        Ok(graph)
    }

    /// A dragonfly of groups of this many routers, each with this many links to other groups, and as many groups as can
    /// be: each router is a node.
    pub(super) fn dragonfly(routers: u32, global: u32) -> Result<Graph, String> {
        if routers < 1 || global < 1 {
            return Err(
                "a dragonfly has groups of at least one router with at least one link to others".into()
            );
        }
        let groups = routers.saturating_mul(global).saturating_add(1);
        if groups > NODES_MAX {
            return Err(format!("a dragonfly of {groups} groups is too large: at most {NODES_MAX} nodes"));
        }
        let nodes = groups * routers;
        // Ports are in this order, which `dragonfly_next` knows: links in the group, then those to others.
        let end = |node: u32, port: u32| -> End {
            let (group, own) = (node / routers, node % routers);
            if port < routers - 1 {
                let other = if port < own { port } else { port + 1 };
                let back = if own < other { own } else { own - 1 };
                return (group * routers + other, back as usize);
            }
            let link = own * global + (port - (routers - 1));
            let (there, back) = ((group + link + 1) % groups, routers * global - 1 - link);
            (there * routers + back / global, (routers - 1 + back % global) as usize)
        };
        let ports = routers - 1 + global;
        if ports as usize + 1 > INPUTS_MAX || nodes > NODES_MAX {
            return Err(format!(
                "a dragonfly of {nodes} nodes with {ports} links each is too large: at most {NODES_MAX} nodes and {} links",
                INPUTS_MAX - 1
            ));
        }
        let ends: Vec<Vec<End>> =
            (0..nodes).map(|node| (0..ports).map(|port| end(node, port)).collect()).collect();
        let (distances, ranks) = (distances(&ends), ranks(&ends));
        let name = format!("dragonfly of {groups} groups of {routers}");
        Ok(Graph { name, ends, ranks, ways: Ways::Dragonfly(routers, global), distances })
    }

    pub(super) fn nodes(&self) -> u32 {
        self.ends.len() as u32
    }
    /// Links of the node that has most.
    pub(super) fn links(&self) -> usize {
        self.ends.iter().map(Vec::len).max().unwrap_or(0)
    }
    /// Virtual channels that a link needs.
    pub(super) fn classes(&self) -> usize {
        if matches!(self.ways, Ways::Dragonfly(..)) { 2 } else { 1 }
    }
    /// The node and port at the other end of a port's link.
    pub(super) fn end(&self, node: u32, port: usize) -> Option<End> {
        self.ends[node as usize].get(port).copied()
    }
    /// Links of a shortest way.
    pub(super) fn distance(&self, from: u32, to: u32) -> u32 {
        u32::from(self.distances[to as usize * self.ends.len() + from as usize])
    }
    /// Ports that shorten the way, as bits; none where the ways are fixed by the topology.
    pub(super) fn candidates(&self, node: usize, to: usize) -> u32 {
        let row = &self.distances[to * self.ends.len()..][..self.ends.len()];
        let shortens = |end: &End| row[end.0 as usize] < row[node];
        (0..).zip(&self.ends[node]).filter(|(_, end)| shortens(end)).fold(0, |all, (port, _)| all | 1 << port)
    }

    /// What a packet to `to` takes next that came to `node` by its port `port` in the class `class`; one that was made
    /// here came by the port of the node.
    pub(super) fn next(&self, node: usize, to: usize, port: usize, class: usize) -> Hop {
        if node == to {
            return Hop { port: self.links(), class: 0 };
        }
        match &self.ways {
            Ways::Table(ports) => Hop { port: usize::from(ports[node * self.ends.len() + to]), class: 0 },
            Ways::Dragonfly(routers, global) => {
                self.dragonfly_next((node, to), (port, class), *routers, *global)
            }
            Ways::UpDown(left) => {
                let row = &left[to * self.ends.len()..][..self.ends.len()];
                // It went down if the link that it came by leads up from here.
                let went_down =
                    self.end(node as u32, port).is_some_and(|(other, _)| self.is_up(node, other as usize));
                let left_here = row[node][usize::from(went_down)];
                let ends = &self.ends[node];
                let leads = |port: &usize| {
                    let other = ends[*port].0 as usize;
                    let up = self.is_up(node, other);
                    !(up && went_down) && row[other][usize::from(!up)].saturating_add(1) == left_here
                };
                // Where several are as short, receivers share them.
                let first = to % ends.len();
                let port = (0..ends.len()).map(|n| (first + n) % ends.len()).find(leads);
                Hop { port: port.expect("each node leads to each other, up and down"), class: 0 }
            }
        }
    }

    fn dragonfly_next(
        &self,
        (node, to): (usize, usize),
        (port, class): (usize, usize),
        a: u32,
        h: u32,
    ) -> Hop {
        let (a, h) = (a as usize, h as usize);
        let groups = a * h + 1;
        let is_global = |port: usize| (a - 1..a - 1 + h).contains(&port);
        let class = if port == self.links() { 0 } else { class + usize::from(is_global(port)) };
        let (group, own, there) = (node / a, node % a, to / a);
        let local = |other: usize| if other < own { other } else { other - 1 };
        if group == there {
            return Hop { port: local(to % a), class };
        }
        let link = (there + groups - group - 1) % groups;
        let port = if link / h == own { a - 1 + link % h } else { local(link / h) };
        Hop { port, class }
    }

    fn is_up(&self, from: usize, to: usize) -> bool {
        (self.ranks[to], to) < (self.ranks[from], from)
    }

    /// Links still to take to each receiver, for packets that may go up and for those that went down.
    fn up_and_down(&self) -> Vec<[u16; 2]> {
        let nodes = self.ends.len();
        let mut all = vec![[FAR; 2]; nodes * nodes];
        for (to, row) in all.chunks_mut(nodes).enumerate() {
            row[to] = [0, 0];
            let mut open = VecDeque::from([(to, 0), (to, 1)]);
            while let Some((node, state)) = open.pop_front() {
                let next = row[node][state] + 1;
                for &(before, _) in &self.ends[node] {
                    let before = before as usize;
                    let up = self.is_up(before, node);
                    // A packet that arrives by a link up may go up yet, and could before; one that arrives by a link
                    // down went down, whatever it could before.
                    let states: &[usize] = match (up, state) {
                        (true, 0) => &[0],
                        (false, 1) => &[0, 1],
                        _ => &[],
                    };
                    for &could in states {
                        if row[before][could] == FAR {
                            row[before][could] = next;
                            open.push_back((before, could));
                        }
                    }
                }
            }
        }
        all
    }

    /// The ports of a table of nodes. The error says where it leads nowhere, or round in a circle.
    fn ports_of(&self, table: &[Option<u32>]) -> Result<Vec<u8>, String> {
        let nodes = self.ends.len();
        if table.len() != nodes * nodes {
            return Err(format!(
                "the table has {} entries; {nodes} nodes need {}",
                table.len(),
                nodes * nodes
            ));
        }
        let mut ports = vec![0u8; table.len()];
        for (at, next) in table.iter().enumerate() {
            let (node, to) = (at / nodes, at % nodes);
            if node == to {
                continue;
            }
            let next = next.ok_or_else(|| format!("the table says no way from node {node} to node {to}"))?;
            let port = self.ends[node].iter().position(|end| end.0 == next);
            let port = port.ok_or_else(|| {
                format!("the table leads from node {node} to node {next}: there is no link")
            })?;
            ports[at] = port as u8;
        }
        self.check(&ports)?;
        Ok(ports)
    }

    /// Whether each way of a table ends where it should, and no packets can wait for each other in a circle.
    fn check(&self, ports: &[u8]) -> Result<(), String> {
        let nodes = self.ends.len();
        let most = self.links();
        // What is waited for, by channel: its node and port.
        let mut waits: Vec<Vec<u32>> = vec![Vec::new(); nodes * most];
        for to in 0..nodes {
            for from in (0..nodes).filter(|from| *from != to) {
                let (mut at, mut before, mut links) = (from, None::<usize>, 0);
                while at != to {
                    let port = usize::from(ports[at * nodes + to]);
                    let channel = at * most + port;
                    if let Some(before) = before.replace(channel)
                        && !waits[before].contains(&(channel as u32))
                    {
                        waits[before].push(channel as u32);
                    }
                    at = self.ends[at][port].0 as usize;
                    links += 1;
                    if links > nodes {
                        return Err(format!("the table leads in a circle from node {from} to node {to}"));
                    }
                }
            }
        }
        match circle(&waits) {
            None => Ok(()),
            Some(channels) => {
                let link = |channel: &u32| {
                    let (node, port) = (*channel as usize / most, *channel as usize % most);
                    format!("{node} to {}", self.ends[node][port].0)
                };
                let links: Vec<String> = channels.iter().map(link).collect();
                Err(format!(
                    "packets could wait for each other for ever with this table: each has one of these links and waits \
                     for the next: {}",
                    links.join(", ")
                ))
            }
        }
    }
}

/// Some circle of what waits for what.
fn circle(waits: &[Vec<u32>]) -> Option<Vec<u32>> {
    let mut done = vec![false; waits.len()];
    let mut place = vec![None::<usize>; waits.len()];
    for first in 0..waits.len() {
        // The way from the first to where it is now, and what of each is still to look at.
        let mut way = vec![(first, 0)];
        if done[first] {
            continue;
        }
        place[first] = Some(0);
        while let Some((at, next)) = way.last_mut() {
            let Some(&other) = waits[*at].get(*next) else {
                done[*at] = true;
                place[*at] = None;
                way.pop();
                continue;
            };
            *next += 1;
            let other = other as usize;
            if let Some(from) = place[other] {
                return Some(way[from..].iter().map(|(at, _)| *at as u32).collect());
            }
            if !done[other] {
                place[other] = Some(way.len());
                way.push((other, 0));
            }
        }
    }
    None
}

/// Links of shortest ways, by receiver and node.
fn distances(ends: &[Vec<End>]) -> Vec<u16> {
    let mut all = Vec::with_capacity(ends.len() * ends.len());
    (0..ends.len()).for_each(|to| all.extend(distances_to(ends, to)));
    all
}

fn distances_to(ends: &[Vec<End>], to: usize) -> Vec<u16> {
    let mut row = vec![FAR; ends.len()];
    row[to] = 0;
    let mut open = VecDeque::from([to]);
    while let Some(node) = open.pop_front() {
        for &(other, _) in &ends[node] {
            if row[other as usize] == FAR {
                row[other as usize] = row[node] + 1;
                open.push_back(other as usize);
            }
        }
    }
    row
}

/// How far each node is from the root, which has most links.
fn ranks(ends: &[Vec<End>]) -> Vec<u32> {
    let root = (0..ends.len()).max_by_key(|node| (ends[*node].len(), std::cmp::Reverse(*node))).unwrap_or(0);
    distances_to(ends, root).into_iter().map(u32::from).collect()
}
