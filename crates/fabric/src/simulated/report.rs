//! What a run measured.

use std::collections::BTreeMap;

/// What went out by a router's port since the run began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Channel {
    /// Flits.
    pub flits: u64,
    /// Packets that began.
    pub packets: u64,
    /// Flits that the link lost, and sent again later.
    pub lost: u64,
}

/// How long something took, in cycles; how often each time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    counts: BTreeMap<u64, u64>,
    count: u64,
    sum: u64,
}

impl Times {
    /// Notes one.
    pub fn add(&mut self, cycles: u64) {
        *self.counts.entry(cycles).or_default() += 1;
        self.count += 1;
        self.sum += cycles;
    }
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The mean; 0 of none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
    /// The shortest time that this percentage does not exceed; 0 of none.
    pub fn percentile(&self, percent: u32) -> u64 {
        let rank = (self.count * u64::from(percent)).div_ceil(100).max(1);
        let mut below = 0;
        for (cycles, count) in &self.counts {
            below += count;
            if below >= rank {
                return *cycles;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_percentiles() {
        let mut times = Times::default();
        assert_eq!((times.mean(), times.percentile(50)), (0.0, 0));
        (1..=100).for_each(|cycles| times.add(cycles));
        assert_eq!(times.mean(), 50.5);
        assert_eq!([0, 1, 50, 99, 100].map(|percent| times.percentile(percent)), [1, 1, 50, 99, 100]);
    }
}
