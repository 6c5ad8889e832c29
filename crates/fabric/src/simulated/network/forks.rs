//! Multicast packets at inputs of routers, and all multicasts under way.

use crate::simulated::tree::Branches;

/// A multicast packet at an input of a router.
#[derive(Debug)]
pub(super) struct Fork {
    packet: u32,
    flits: u32,
    /// Flits that all children have passed.
    passed: u32,
    children: Vec<Child>,
}

/// One of its copies.
#[derive(Debug)]
pub(super) struct Child {
    packet: u32,
    /// The output: port and channel.
    route: u8,
    /// Flits of it that have left.
    left: u32,
    /// The rule has spoken about it, and does not let it go before this cycle.
    judged: bool,
    time: u32,
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

/// A flit of a copy that goes.
pub(super) struct Passed {
    pub(super) packet: u32,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// What all copies of a fork have passed.
pub(super) enum Freed {
    Nothing,
    Place,
    /// A place, and the fork with it: its packet.
    Last(u32),
}

impl Child {
    /// A copy that is to take this output.
    pub(super) fn new(packet: u32, route: u8) -> Child {
        Child { packet, route, left: 0, judged: false, time: 0 }
    }
    pub(super) fn packet(&self) -> u32 {
        self.packet
    }
    pub(super) fn route(&self) -> u8 {
        self.route
    }
    pub(super) fn left(&self) -> u32 {
        self.left
    }
    /// Whether the rule has spoken about it.
    pub(super) fn is_judged(&self) -> bool {
        self.judged
    }
    /// The rule has spoken: it waits until then.
    pub(super) fn hold(&mut self, time: u32, judged: bool) {
        (self.time, self.judged) = (time, judged);
    }
}

impl Fork {
    pub(super) fn packet(&self) -> u32 {
        self.packet
    }
    pub(super) fn passed(&self) -> u32 {
        self.passed
    }
    pub(super) fn flits(&self) -> u32 {
        self.flits
    }
    pub(super) fn children(&self) -> &[Child] {
        &self.children
    }
    /// The children that have flits to come and are not held back, and how far behind the fork's place their next flit
    /// is.
    pub(super) fn going(&self, clock: u32) -> impl Iterator<Item = (&Child, usize)> {
        let going = move |child: &&Child| child.left < self.flits && child.time <= clock;
        self.children.iter().filter(going).map(|child| (child, (child.left - self.passed) as usize))
    }
}

impl Multicasts {
    /// Makes room for a fork at each of `inputs` inputs.
    pub(super) fn expect(&mut self, inputs: usize) {
        if self.forks.is_empty() {
            self.forks.resize_with(inputs, || None);
        }
    }
    /// A multicast of one packet: its number.
    pub(super) fn enter(&mut self, branches: Branches) -> u32 {
        let cast = Cast { branches, packets: 1 };
        if let Some(place) = self.free.pop() {
            self.casts[place as usize] = cast;
            return place;
        }
        self.casts.push(cast);
        self.casts.len() as u32 - 1
    }
    pub(super) fn branches(&self, cast: u32) -> &Branches {
        &self.casts[cast as usize].branches
    }
    /// A packet of a multicast forks.
    pub(super) fn begin(&mut self, input: usize, cast: u32, packet: u32, flits: u32, children: Vec<Child>) {
        self.casts[cast as usize].packets += children.len() as u32;
        self.forks[input] = Some(Box::new(Fork { packet, flits, passed: 0, children }));
    }
    /// A packet of a multicast is forgotten. True if it was the last: so is the multicast.
    pub(super) fn forget(&mut self, cast: u32) -> bool {
        let packets = &mut self.casts[cast as usize].packets;
        *packets -= 1;
        let last = *packets == 0;
        if last {
            self.casts[cast as usize].branches = Branches::To(Vec::new());
            self.free.push(cast);
        }
        last
    }

    pub(super) fn fork(&self, input: usize) -> Option<&Fork> {
        self.forks.get(input).and_then(Option::as_deref)
    }
    pub(super) fn forks(&self) -> impl Iterator<Item = &Fork> {
        self.forks.iter().filter_map(Option::as_deref)
    }
    /// The child of a fork that takes this output.
    pub(super) fn child(&mut self, input: usize, route: u8) -> &mut Child {
        let fork = self.forks[input].as_deref_mut().expect("the input's route says that it has a fork");
        fork.children.iter_mut().find(|child| child.route == route).expect("granted outputs are children's")
    }
    /// A flit of a child goes.
    pub(super) fn pass(&mut self, input: usize, route: u8) -> Passed {
        let flits = self.fork(input).map_or(0, |fork| fork.flits);
        let child = self.child(input, route);
        child.left += 1;
        Passed { packet: child.packet, is_first: child.left == 1, is_last: child.left == flits }
    }
    /// Frees a place that all children of a fork have passed, and ends it after the last.
    pub(super) fn free_place(&mut self, input: usize) -> Freed {
        let Some(fork) = self.forks[input].as_deref_mut() else { return Freed::Nothing };
        if fork.children.iter().any(|child| child.left == fork.passed) {
            return Freed::Nothing;
        }
        fork.passed += 1;
        if fork.passed < fork.flits {
            return Freed::Place;
        }
        let packet = fork.packet;
        self.forks[input] = None;
        Freed::Last(packet)
    }
}
