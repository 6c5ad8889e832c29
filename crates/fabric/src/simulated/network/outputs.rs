//! Output ports: where they lead, what each had last, and how many flits went through.

use super::shape::Shape;
use crate::NodeId;
use crate::simulated::config::Config;
use crate::simulated::report::Channel;

/// A router's output port.
#[derive(Clone, Copy)]
pub(super) struct Port {
    /// Flits since the clock began anew.
    flits: u32,
    /// The first buffer at the other end.
    pub(super) end: u32,
    /// The node that is there.
    pub(super) neighbour: u32,
    /// The last input that got a free channel.
    pub(super) last_input: u8,
    /// The class that had the last flit.
    pub(super) last_class: u8,
    /// The cycle in which an input wanted it, by its last bits.
    wanted: u16,
}

/// A flit that goes.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub(super) node: u32,
    /// The output: its number among all routers' ports.
    pub(super) port: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) input: u8,
    pub(super) route: u8,
    pub(super) class: u8,
    /// Neither the first nor the last of its packet, it comes from another node and goes to one, and buffers are quick:
    /// most are so.
    pub(super) is_middle: bool,
}

/// Those of all routers, by router and port.
pub(super) struct Outputs {
    ports: Vec<Port>,
    /// What went through; of flits, those before the clock began anew.
    counters: Vec<Channel>,
    /// When a stall ends. Empty without one.
    stalled: Vec<u64>,
}

impl Outputs {
    pub(super) fn new(config: &Config, nodes: usize, shape: &Shape) -> Outputs {
        let count = nodes * shape.ports();
        let mut ports = Vec::with_capacity(count);
        for node in 0..nodes {
            for port in 0..shape.ports() {
                let end = config.topology.end(NodeId(node as u32), port);
                let own = (node, shape.ports() - 1);
                let (other, port) = end.map_or(own, |(other, port)| (other.0 as usize, port));
                let end = ((other * shape.ports() + port) * shape.channels()) as u32;
                ports.push(Port {
                    flits: 0,
                    end,
                    neighbour: other as u32,
                    last_input: 0,
                    last_class: 0,
                    wanted: 0,
                });
            }
        }
        Outputs { ports, counters: vec![Channel::default(); count], stalled: Vec::new() }
    }
    #[inline]
    pub(super) fn at(&self, port: usize) -> &Port {
        &self.ports[port]
    }
    /// An input wants a port in this cycle. True if it is not the first, or if that cannot be told.
    #[inline]
    pub(super) fn want(&mut self, port: usize, cycle: u32) -> bool {
        std::mem::replace(&mut self.ports[port].wanted, cycle as u16) == cycle as u16
    }
    /// A flit of this class goes out.
    #[inline]
    pub(super) fn pass(&mut self, port: usize, class: u8) {
        let output = &mut self.ports[port];
        output.flits += 1;
        output.last_class = class;
    }
    /// `flits` go out, of the class that had the last one.
    pub(super) fn pass_many(&mut self, port: usize, flits: u32) {
        self.ports[port].flits += flits;
    }
    /// It is the first of a packet that comes from this input.
    #[inline]
    pub(super) fn begin(&mut self, port: usize, input: u8) {
        self.ports[port].last_input = input;
        self.counters[port].packets += 1;
    }
    /// What went out, by node and port.
    pub(super) fn counters(&self) -> Vec<Channel> {
        let all = |(output, counter): (&Port, &Channel)| Channel {
            flits: counter.flits + u64::from(output.flits),
            ..*counter
        };
        self.ports.iter().zip(&self.counters).map(all).collect()
    }
    /// The clock begins anew.
    pub(super) fn begin_anew(&mut self) {
        self.counters = self.counters();
        self.ports.iter_mut().for_each(|output| output.flits = 0);
    }
    /// The link has lost a flit.
    pub(super) fn lose(&mut self, port: usize) {
        self.counters[port].lost += 1;
    }
    /// Nothing goes out until then.
    pub(super) fn stall(&mut self, port: usize, end: u64) {
        self.stalled.resize(self.ports.len(), 0);
        self.stalled[port] = end;
    }
    /// Whether no port was ever stalled.
    #[inline]
    pub(super) fn never_stalled(&self) -> bool {
        self.stalled.is_empty()
    }
    #[inline]
    pub(super) fn is_stalled(&self, port: usize, now: u64) -> bool {
        !self.stalled.is_empty() && self.stalled[port] > now
    }
}
