//! Which routers and inputs have flits: only these are looked at.

/// A bit for each input and each router.
pub(super) struct Occupied {
    /// By router: its inputs with flits.
    inputs: Vec<u32>,
    /// A bit for each router: those that may have flits.
    active: Vec<u64>,
}

impl Occupied {
    pub(super) fn new(nodes: usize) -> Occupied {
        Occupied { inputs: vec![0; nodes], active: vec![0; nodes.div_ceil(64)] }
    }
    /// A bit for each input with flits.
    #[inline]
    pub(super) fn inputs(&self, node: usize) -> u32 {
        self.inputs[node]
    }
    /// An input has flits.
    #[inline]
    pub(super) fn add(&mut self, node: usize, input: usize) {
        self.inputs[node] |= 1 << input;
        self.active[node / 64] |= 1 << (node % 64);
    }
    /// An input has no flits any more.
    #[inline]
    pub(super) fn remove(&mut self, node: usize, input: u8) {
        self.inputs[node] &= !(1 << input);
    }
    /// How many words of bits there are for routers.
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.active.len()
    }
    /// Routers that may have flits: 64 of them, from `64 * word` on.
    #[inline]
    pub(super) fn active(&self, word: usize) -> u64 {
        self.active[word]
    }
    /// A router that was active is looked at: false, and it is active no more, if it has no flits.
    #[inline]
    pub(super) fn look(&mut self, node: usize) -> bool {
        let any = self.inputs[node] != 0;
        if !any {
            self.active[node / 64] &= !(1 << (node % 64));
        }
        any
    }
    /// Whether an input is looked at.
    pub(super) fn has(&self, node: usize, input: usize) -> bool {
        self.inputs[node] & (1 << input) != 0
    }
    /// Whether a router is looked at.
    pub(super) fn is_active(&self, node: usize) -> bool {
        self.active[node / 64] & (1 << (node % 64)) != 0
    }
    /// Spoils it, for tests of the checks.
    #[cfg(test)]
    pub(super) fn spoil(&mut self, spoil: impl FnOnce(&mut [u32])) {
        spoil(&mut self.inputs);
    }
}
