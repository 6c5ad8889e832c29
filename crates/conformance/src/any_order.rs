//! A fabric that delivers in any order that is allowed, with queues as small as wanted: by seed, in one thread.

use fabric::{Busy, Fabric, Gather, Map, Message, NodeId, NodeSet, Random, Refused, Time};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What is under way between nodes.
pub struct Net {
    random: Random,
    room: usize,
    /// From each node to each, by priority.
    queues: Vec<[VecDeque<Message>; 2]>,
    /// How often nodes have come to a barrier of this fabric's, if it has one.
    arrivals: Option<u32>,
    /// Copies of multicasts on their way to each node, in no order. None: it has no multicast.
    copies: Option<Vec<Vec<(Message, Gather)>>>,
}

/// A node's way to the others.
pub struct Way {
    node: NodeId,
    nodes: u32,
    time: u64,
    net: Rc<RefCell<Net>>,
    /// How often this node has.
    arrived: u32,
    gather: Option<Gather>,
}

impl Net {
    /// Of this number of nodes. A queue has room for a number of messages. Some seeds have barriers, some multicasts.
    pub fn new(seed: u64, nodes: u32, room: usize) -> Rc<RefCell<Net>> {
        Rc::new(RefCell::new(Net {
            random: Random::new(seed),
            room,
            queues: (0..nodes * nodes).map(|_| Default::default()).collect(),
            arrivals: seed.is_multiple_of(2).then_some(0),
            copies: (seed % 4 < 2).then(|| vec![Vec::new(); nodes as usize]),
        }))
    }
    /// A number below this one.
    pub fn below(&mut self, number: u32) -> u32 {
        self.random.below(number)
    }
}

impl Fabric for Way {
    fn node(&self) -> NodeId {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn send(&mut self, to: NodeId, mut message: Message) -> Result<(), Busy> {
        let net = &mut *self.net.borrow_mut();
        let queue = &mut net.queues[(self.node.0 * self.nodes + to.0) as usize][message.priority as usize];
        if queue.len() >= net.room {
            return Err(Busy(message));
        }
        message.from = self.node;
        queue.push_back(message);
        Ok(())
    }
    fn send_many(&mut self, to: &Map, mut message: Message) -> Result<u32, Refused> {
        let net = &mut *self.net.borrow_mut();
        let Some(copies) = &mut net.copies else { return Err(Refused::Unsupported(message)) };
        match net.random.below(8) {
            0 => return Err(Refused::Unsupported(message)),
            1 | 2 => return Err(Refused::Busy(message)),
            _ => {}
        }
        let mut reached: Vec<NodeId> = match to {
            Map::Exact(set) => set.iter().collect(),
            Map::Levels(set) => {
                let stranger = NodeId(net.random.below(self.nodes));
                set.iter().chain((!set.is_empty()).then_some(stranger)).collect::<NodeSet>().iter().collect()
            }
        };
        let turn = net.random.below(self.nodes) as usize % reached.len().max(1);
        reached.rotate_left(turn);
        message.from = self.node;
        for (at, node) in reached.iter().enumerate() {
            let parent = at.checked_sub(1).map(|at| reached[at / 2]);
            let children = [2 * at + 1, 2 * at + 2].into_iter().filter(|child| *child < reached.len());
            let gather = Gather { parent, children: children.count() as u32, level: 0 };
            copies[node.0 as usize].push((message.clone(), gather));
        }
        Ok(reached.len() as u32)
    }
    fn gather(&self) -> Option<Gather> {
        self.gather
    }
    fn poll(&mut self) -> Option<Message> {
        let net = &mut *self.net.borrow_mut();
        self.gather = None;
        if let Some(copies) = net.copies.as_mut().map(|copies| &mut copies[self.node.0 as usize])
            && !copies.is_empty()
            && net.random.below(4) == 0
        {
            let copy = copies.swap_remove(net.random.below(copies.len() as u32) as usize);
            self.gather = Some(copy.1);
            return Some(copy.0);
        }
        for priority in [1, 0] {
            let first = net.random.below(self.nodes);
            for i in 0..self.nodes {
                let from = (first + i) % self.nodes;
                // Some are on their way for a while.
                if net.random.below(4) == 0 {
                    continue;
                }
                let queue = &mut net.queues[(from * self.nodes + self.node.0) as usize][priority];
                if let Some(message) = queue.pop_front() {
                    return Some(message);
                }
            }
        }
        None
    }
    fn arrive(&mut self) -> bool {
        assert!(self.all_arrived(), "it is at one barrier already");
        let mut net = self.net.borrow_mut();
        let Some(arrivals) = &mut net.arrivals else { return false };
        (*arrivals, self.arrived) = (*arrivals + 1, self.arrived + 1);
        true
    }
    fn all_arrived(&mut self) -> bool {
        self.net.borrow().arrivals.is_none_or(|arrivals| arrivals >= self.arrived * self.nodes)
    }
    fn now(&self) -> Time {
        Time(self.time)
    }
    fn spend(&mut self, time: u64) {
        self.time += time;
    }
}

impl Way {
    /// That of a node among the nodes of a net.
    pub fn new(node: NodeId, nodes: u32, net: &Rc<RefCell<Net>>) -> Way {
        Way { node, nodes, time: 0, net: net.clone(), arrived: 0, gather: None }
    }
}

/// A node's way in a net without barriers, for what needs no other nodes.
pub fn way(node: NodeId, nodes: u32) -> impl Fabric {
    let net = Net { random: Random::new(0), room: 0, queues: Vec::new(), arrivals: None, copies: None };
    Way::new(node, nodes, &Rc::new(RefCell::new(net)))
}
