//! How long things take of which there are many.

/// A time for a number of things: words, flits. `3` cycles for `2` is a cycle and a half for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// So many cycles.
    pub cycles: u32,
    /// For this number of things: at least 1.
    pub things: u32,
}

impl Pace {
    /// They take no time.
    pub const NONE: Pace = Pace { cycles: 0, things: 1 };

    /// What this number of them takes, rounded up to whole cycles.
    #[inline]
    pub fn of(self, count: u64) -> u64 {
        if self.cycles == 0 { 0 } else { (count * u64::from(self.cycles)).div_ceil(self.things.into()) }
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_begun_takes_a_cycle() {
        let pace = Pace { cycles: 7, things: 10 };
        assert_eq!([0, 1, 2, 10, 11].map(|count| pace.of(count)), [0, 1, 2, 7, 8]);
        assert_eq!([0, 1, 1 << 40].map(|count| Pace::NONE.of(count)), [0; 3]);
    }
}
