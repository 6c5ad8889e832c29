//! Packets that routers copy.
//!
//! When a multicast packet's first flit is foremost in an input of a router, the router makes a *fork*: a child
//! packet for each link of the [`tree`](super::tree)
//! that it takes from there, and one for the router's own node if it is a leaf. From then on each child leaves by
//! its own output as that becomes
//! free, flit by flit; a place of the buffer is free when all children have passed it. Assumed: a buffer gives a
//! flit to each of several outputs in one cycle.
//!
//! A child's first flit leaves only when the next buffer has room for the whole packet. So no child holds a channel
//! while it waits for its
//! siblings, and as channels wait for each other without cycles (`rdt`), nothing deadlocks.

use super::network::{FIRST, Gate, Grant, LAST, NONE, Network};
use super::packet::{NOBODY, Packet};
use super::rdt::LINKS;
use super::topology::Routes;
use super::tree::{Branches, Gathers, Stage, leaf};
use crate::{Gather, NodeId, Priority};

/// A multicast packet at an input of a router.
#[derive(Debug)]
pub(super) struct Fork {
    pub(super) packet: u32,
    flits: u32,
    /// Flits that all children have passed.
    pub(super) passed: u32,
    pub(super) children: Vec<Child>,
}

/// One of its copies.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) packet: u32,
    /// The output: port and channel.
    pub(super) route: u8,
    /// Flits of it that have left.
    pub(super) left: u32,
    /// The rule has spoken about it, and does not let it go before this cycle.
    pub(super) judged: bool,
    pub(super) time: u32,
}

/// All multicasts under way.
#[derive(Default)]
pub(super) struct Multicasts {
    /// By input of all routers. Empty until there is a multicast.
    forks: Vec<Option<Box<Fork>>>,
    casts: Vec<Cast>,
    /// Places of `casts` that nobody uses.
    free: Vec<u32>,
}

/// One multicast: its branches, and its packets under way.
struct Cast {
    branches: Branches,
    packets: u32,
}

impl Multicasts {
    fn enter(&mut self, branches: Branches) -> u32 {
        let cast = Cast { branches, packets: 0 };
        if let Some(place) = self.free.pop() {
            self.casts[place as usize] = cast;
            return place;
        }
        self.casts.push(cast);
        self.casts.len() as u32 - 1
    }

    pub(super) fn fork(&self, input: usize) -> Option<&Fork> {
        self.forks.get(input).and_then(Option::as_deref)
    }
    pub(super) fn forks(&self) -> impl Iterator<Item = (usize, &Fork)> {
        self.forks.iter().enumerate().filter_map(|(at, fork)| Some((at, fork.as_deref()?)))
    }
    /// The child of a fork that takes this output.
    pub(super) fn child(&mut self, input: usize, route: u8) -> &mut Child {
        let fork = self.forks[input].as_deref_mut().expect("the input's route says that it has a fork");
        fork.children.iter_mut().find(|child| child.route == route).expect("granted outputs are children's")
    }
}

impl Network {
    /// A node sends a packet of at most a buffer's length to the leaves of these branches. Returns the multicast's
    /// number, by which its packets are
    /// known.
    pub(super) fn send_many(
        &mut self,
        from: NodeId,
        branches: Branches,
        flits: u32,
        priority: Priority,
    ) -> u32 {
        let Routes::Rdt(ways) = &self.routes else { panic!("only an RDT has multicast") };
        assert!(flits as usize <= self.depth, "a multicast fits into a buffer");
        let rdt = ways.rdt;
        if self.multicasts.forks.is_empty() {
            self.multicasts.forks.resize_with(self.buffers.len(), || None);
        }
        let cast = self.multicasts.enter(branches);
        self.multicasts.casts[cast as usize].packets = 1;
        let packet = Packet {
            number: self.sent,
            sent: self.now(),
            from,
            to: from,
            flits,
            arrived: 0,
            way: 0,
            routers: 0,
            next: NOBODY,
            tag: 0,
            priority,
            cast,
            stage: Stage::start(&rdt),
        };
        self.sent += 1;
        self.log.send_many(&packet);
        self.enqueue(packet);
        cast
    }

    /// Makes a fork of the multicast packet that is foremost in an input.
    pub(super) fn fork(&mut self, node: usize, input: usize, number: u32) {
        let Routes::Rdt(ways) = &self.routes else { return };
        let rdt = ways.rdt;
        let parent = self.packets[number];
        let Gate { port, level, class } = self.gate(input as u8);
        let (port, level, class) = (usize::from(port), usize::from(level), usize::from(class));
        let at = rdt.place(node as u32);
        let branches = &self.multicasts.casts[parent.cast as usize].branches;
        let copies = parent.stage.copies(&rdt, at, branches);
        let mut children = Vec::with_capacity(copies.len());
        for copy in copies {
            let (output, class) = match copy.step {
                Some(step) => {
                    let hop = rdt.hop(at, step, (port, class));
                    (hop.port, hop.class)
                }
                None => (LINKS, 0),
            };
            let to = NodeId(self.outputs[node * self.ports + output].neighbour);
            let packet =
                self.packets.add(Packet { to, arrived: 0, next: NOBODY, stage: copy.stage, ..parent });
            let route = (output * self.channels + level * self.classes + class) as u8;
            children.push(Child { packet, route, left: 0, judged: false, time: 0 });
        }
        self.multicasts.casts[parent.cast as usize].packets += children.len() as u32;
        let fork = Fork { packet: number, flits: parent.flits, passed: 0, children };
        let at = node * self.inputs() + input;
        self.multicasts.forks[at] = Some(Box::new(fork));
    }

    /// The outputs that the children of a fork want: sets this input's bit in `wants`, and returns them.
    pub(super) fn children_want(&self, node: usize, input: usize, wants: &mut [u32]) -> u32 {
        let at = node * self.inputs() + input;
        let Some(fork) = self.multicasts.fork(at) else { return 0 };
        let buffer = &self.buffers[at];
        let queued = self.is_own(input as u8);
        let mut wanted = 0;
        for child in &fork.children {
            let offset = (child.left - fork.passed) as usize;
            let here = queued || (offset < usize::from(buffer.len) && self.is_past(at, offset));
            if child.left < fork.flits
                && child.time <= self.clock
                && here
                && self.may_go(node, child, fork.flits)
            {
                wants[usize::from(child.route)] |= 1 << input;
                wanted |= 1 << child.route;
            }
        }
        wanted
    }

    /// Whether a child has left already, or the next buffer has room for the whole of it.
    fn may_go(&self, node: usize, child: &Child, flits: u32) -> bool {
        let port = usize::from(self.gate(child.route).port);
        let channel = usize::from(child.route) - port * self.channels;
        let end = self.outputs[node * self.ports + port].end as usize + channel;
        child.left > 0 || port == LINKS || usize::from(self.buffers[end].len) + flits as usize <= self.depth
    }

    /// Moves a flit of a child.
    pub(super) fn pass_child(&mut self, grant: Grant) {
        let (node, port, from) = (grant.node as usize, grant.port as usize, grant.from as usize);
        let flits = self.multicasts.fork(from).map_or(0, |fork| fork.flits);
        let child = self.multicasts.child(from, grant.route);
        let mut flit = child.packet;
        child.left += 1;
        let output = &mut self.outputs[port];
        output.flits += 1;
        if child.left == 1 {
            flit |= FIRST;
            output.last_input = grant.input;
            self.counters[port].packets += 1;
            self.buffers[grant.to as usize].owner = grant.input;
        }
        if child.left == flits {
            flit |= LAST;
            self.buffers[grant.to as usize].owner = NONE;
        }
        let gate = self.gate(grant.route);
        self.outputs[port].last_class = gate.class;
        self.inside += 1;
        if self.is_own(grant.route) {
            self.arrive(node, usize::from(gate.level), flit);
        } else {
            self.enter_buffer(port, grant.to as usize, flit);
        }
        self.free_places(node, grant.input, from);
    }

    /// Frees the places that all children of a fork have passed, and ends it after the last.
    fn free_places(&mut self, node: usize, input: u8, from: usize) {
        loop {
            let Some(fork) = self.multicasts.forks[from].as_deref_mut() else { return };
            if fork.children.iter().any(|child| child.left == fork.passed) {
                return;
            }
            fork.passed += 1;
            let (ends, packet) = (fork.passed == fork.flits, fork.packet);
            if ends {
                self.multicasts.forks[from] = None;
                self.buffers[from].route = NONE;
            }
            if self.is_own(input) {
                self.leave_queue(node, input, from);
            } else {
                self.leave_buffer(node, input, from);
            }
            self.inside -= 1;
            if ends {
                let parent = self.packets.remove(packet);
                self.multicasts.casts[parent.cast as usize].packets -= 1;
                return;
            }
        }
    }

    /// Where the node to which a copy has come stands among those that gather acknowledgements.
    pub(super) fn gather(&self, copy: &Packet) -> Option<Gather> {
        let Routes::Rdt(ways) = &self.routes else { return None };
        let branches = &self.multicasts.casts[copy.cast as usize].branches;
        let Gathers { parent, rank, children } = branches.gather(&ways.rdt, copy.stage.address());
        let home = ways.rdt.place(copy.from.0);
        let parent = parent.map(|address| NodeId(leaf(&ways.rdt, home, address)));
        Some(Gather { parent, children, level: rank as u32 })
    }

    /// A copy has come to its node, and is forgotten. True if it was the last of its multicast.
    pub(super) fn forget_copy(&mut self, cast: u32) -> bool {
        let packets = &mut self.multicasts.casts[cast as usize].packets;
        *packets -= 1;
        let last = *packets == 0;
        if last {
            self.multicasts.casts[cast as usize].branches = Branches::To(Vec::new());
            self.multicasts.free.push(cast);
        }
        last
    }
}
