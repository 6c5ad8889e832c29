//! What the numbers of a router's inputs and outputs mean. All routers of a network have the same.

use crate::simulated::config::Config;

/// Entries of tables by number of an input or output: a power of two, so that a mask takes the place of a check.
pub(super) const NUMBERS: usize = 32;

/// What the number of an input or output means: divisions that would be made for each flit.
#[derive(Clone, Copy, Default)]
pub(super) struct Gate {
    pub(super) port: u8,
    /// Of the port.
    pub(super) channel: u8,
    pub(super) level: u8,
    pub(super) class: u8,
}

/// The ports of a router and the virtual channels of a port.
pub(super) struct Shape {
    ports: usize,
    channels: usize,
    levels: usize,
    classes: usize,
    inputs: usize,
    /// 2^36 divided by `inputs`, rounded up: for a product in place of a quotient.
    part: u64,
    /// The first input and output of a router's own node.
    own: usize,
    /// By number of an input or output.
    gates: [Gate; NUMBERS],
}

impl Shape {
    pub(super) fn new(config: &Config) -> Shape {
        let (ports, channels, classes) = (config.topology.ports(), config.channels(), config.classes());
        let gates = std::array::from_fn(|number| {
            let (port, channel) = (number / channels, number % channels);
            let (level, class) = (channel / classes, channel % classes);
            Gate { port: port as u8, channel: channel as u8, level: level as u8, class: class as u8 }
        });
        let (levels, inputs, own) = (config.levels(), ports * channels, (ports - 1) * channels);
        Shape {
            ports,
            channels,
            levels,
            classes,
            inputs,
            part: (1u64 << 36).div_ceil(inputs as u64),
            own,
            gates,
        }
    }
    /// Ports of a router; the last is that of its own node.
    #[inline]
    pub(super) fn ports(&self) -> usize {
        self.ports
    }
    /// Virtual channels of a port.
    #[inline]
    pub(super) fn channels(&self) -> usize {
        self.channels
    }
    /// Priorities with channels of their own.
    #[inline]
    pub(super) fn levels(&self) -> usize {
        self.levels
    }
    /// Virtual channels of a level at a port.
    #[inline]
    pub(super) fn classes(&self) -> usize {
        self.classes
    }
    /// Inputs of a router, which are as many as its outputs.
    #[inline]
    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }
    /// The router of an input, whose number is that among all routers' inputs: below 2^28, with at most 2^5 a router.
    #[inline]
    pub(super) fn router(&self, at: usize) -> usize {
        let router = ((at as u64 * self.part) >> 36) as usize;
        debug_assert_eq!(router, at / self.inputs, "the product is the quotient");
        router
    }
    /// What the number of an input or output means.
    #[inline]
    pub(super) fn gate(&self, number: u8) -> Gate {
        self.gates[usize::from(number) % NUMBERS]
    }
    /// Whether an input or output is that of the router's own node.
    #[inline]
    pub(super) fn is_own(&self, number: u8) -> bool {
        // The last port's.
        usize::from(number) >= self.own
    }
    /// The input at which packets of a level come from the router's own node.
    pub(super) fn entry(&self, level: usize) -> usize {
        self.own + level * self.classes
    }
    /// The number of an output.
    #[inline]
    pub(super) fn route(&self, port: usize, level: usize, class: usize) -> u8 {
        (port * self.channels + level * self.classes + class) as u8
    }
}
