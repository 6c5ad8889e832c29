//! The time within a network: few bits, because it stands in each buffer.

/// Times within the network count from a base; when they get to here, they begin anew.
pub(super) const CLOCK_MAX: u32 = 1 << 31;

/// What a network's time is.
pub(super) struct Clock {
    base: u64,
    cycle: u32,
}

impl Clock {
    pub(super) fn new() -> Clock {
        // It begins at 1, so that "chosen at 0" is never now.
        Clock { base: 0, cycle: 1 }
    }
    /// The cycle that comes next, as it is known outside.
    pub(super) fn now(&self) -> u64 {
        self.base + u64::from(self.cycle) - 1
    }
    /// The same, as times within the network have it.
    #[inline]
    pub(super) fn cycle(&self) -> u32 {
        self.cycle
    }
    /// What times within the network have for this one, or 0 for what was before they began anew.
    pub(super) fn within(&self, time: u64) -> u32 {
        (time + 1).saturating_sub(self.base) as u32
    }
    /// A cycle is over. True if times have to begin anew.
    pub(super) fn tick(&mut self) -> bool {
        self.cycle += 1;
        self.cycle == CLOCK_MAX
    }
    /// Goes on to a time that comes: as seen within the network at most `quiet` cycles, which are enough for all places
    /// to be free and all links to be quiet. True if times have to begin anew.
    pub(super) fn skip_to(&mut self, time: u64, quiet: u32) -> bool {
        let all = time - self.now();
        let cycles = all.min(u64::from(quiet));
        self.cycle += cycles as u32;
        self.base += all - cycles;
        self.cycle >= CLOCK_MAX
    }
    /// Goes on to a time that comes, for which something in the network waits. True if times have to begin anew.
    pub(super) fn wait_until(&mut self, time: u64) -> bool {
        self.cycle += (time - self.now()) as u32;
        self.cycle >= CLOCK_MAX
    }
    /// Times begin anew: how much earlier all of them are.
    pub(super) fn begin_anew(&mut self) -> u32 {
        let past = self.cycle - 1;
        self.base += u64::from(past);
        self.cycle = 1;
        past
    }
    #[cfg(test)]
    pub(super) fn at(cycle: u32, base: u64) -> Clock {
        Clock { base, cycle }
    }
}
