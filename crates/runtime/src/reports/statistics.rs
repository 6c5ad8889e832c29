//! What a worker counts.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Counters of one worker, since it was made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// Reductions, when the code counts them.
    pub reductions: u64,
    /// Goals that suspended.
    pub suspensions: u64,
    /// Goals that were resumed.
    pub resumptions: u64,
    /// Writes to unbound cells that other workers may write too: each one compare-and-swap.
    pub shared_writes: u64,
    /// Those of them where another worker was first.
    pub shared_writes_lost: u64,
    /// Mails with goals for other workers: those that asked, and owners of variables.
    pub mails: u64,
    /// Mails to those that asked, and words in them.
    pub gifts: u64,
    /// See `gifts`.
    pub words_given: u64,
    /// Goals that went back to the worker that makes what they need.
    pub goals_back: u64,
    /// Times that it had nothing to do.
    pub rests: u64,
    /// Times that it asked another worker for goals.
    pub requests: u64,
    /// Minor collections.
    pub minor_collections: u64,
    /// Major collections.
    pub major_collections: u64,
    /// Words allocated in the nursery and by builtins elsewhere.
    pub words_allocated: u64,
    /// Words that it copied in minor collections, whoever led them.
    pub words_copied_minor: u64,
    /// Words that it copied in major collections.
    pub words_copied_major: u64,
    /// Copied words and parts of large objects that it scanned in collections of several workers.
    pub words_scanned: u64,
    /// Time in minor collections.
    pub minor_time: Duration,
    /// Time in major collections.
    pub major_time: Duration,
    /// Lengths of all collections.
    pub pauses: Pauses,
    /// How long the other workers took to stop for them; empty with one worker.
    pub stops: Pauses,
    /// Most bytes in use outside the nursery after a collection.
    pub bytes_peak: usize,
}

impl Statistics {
    /// What several workers counted together.
    pub fn sum(workers: &[Statistics]) -> Statistics {
        let mut sum = Statistics::default();
        workers.iter().for_each(|worker| sum.add(worker));
        sum
    }
    fn add(&mut self, other: &Statistics) {
        self.reductions += other.reductions;
        self.suspensions += other.suspensions;
        self.resumptions += other.resumptions;
        self.shared_writes += other.shared_writes;
        self.shared_writes_lost += other.shared_writes_lost;
        self.mails += other.mails;
        self.gifts += other.gifts;
        self.words_given += other.words_given;
        self.goals_back += other.goals_back;
        self.rests += other.rests;
        self.requests += other.requests;
        self.minor_collections += other.minor_collections;
        self.major_collections += other.major_collections;
        self.words_allocated += other.words_allocated;
        self.words_copied_minor += other.words_copied_minor;
        self.words_copied_major += other.words_copied_major;
        self.words_scanned += other.words_scanned;
        self.minor_time += other.minor_time;
        self.major_time += other.major_time;
        self.pauses.add_all(&other.pauses);
        self.stops.add_all(&other.stops);
        self.bytes_peak = self.bytes_peak.max(other.bytes_peak);
    }
    /// Words copied in all collections.
    pub fn words_copied(&self) -> u64 {
        self.words_copied_minor + self.words_copied_major
    }
    /// Time in all collections.
    pub fn collecting(&self) -> Duration {
        self.minor_time + self.major_time
    }
    /// Counts a worker's part in a collection: words copied, and scanned.
    pub(crate) fn copied(&mut self, kind: Collected, (copied, scanned): (usize, usize)) {
        let words = match kind {
            Collected::Young => &mut self.words_copied_minor,
            Collected::Everything => &mut self.words_copied_major,
        };
        *words += copied as u64;
        self.words_scanned += scanned as u64;
    }
    /// Counts a collection that the worker led, and how long it waited for the others to stop.
    pub(crate) fn collected(&mut self, kind: Collected, pause: Duration, stop: Option<Duration>) {
        let (collections, time) = match kind {
            Collected::Young => (&mut self.minor_collections, &mut self.minor_time),
            Collected::Everything => (&mut self.major_collections, &mut self.major_time),
        };
        *collections += 1;
        *time += pause;
        self.pauses.add(pause);
        stop.into_iter().for_each(|stop| self.stops.add(stop));
    }
}

/// Each power of two of nanoseconds has this number of classes of pauses: a percentile is at most an eighth too long.
const CLASSES_PER_POWER: usize = 8;
/// Pauses from 2^40 ns (18 minutes) are in the last class.
const PAUSE_CLASSES: usize = 40 * CLASSES_PER_POWER;

/// How many pauses there were, by length.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pauses {
    /// Their number.
    pub count: u64,
    /// The longest one.
    pub longest: Duration,
    classes: Box<[u64]>,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses { count: 0, longest: Duration::ZERO, classes: Box::new([0; PAUSE_CLASSES]) }
    }
}

impl Pauses {
    fn add(&mut self, pause: Duration) {
        self.count += 1;
        self.longest = self.longest.max(pause);
        self.classes[pause_class(pause)] += 1;
    }
    fn add_all(&mut self, others: &Pauses) {
        self.count += others.count;
        self.longest = self.longest.max(others.longest);
        for (sum, count) in self.classes.iter_mut().zip(&others.classes) {
            *sum += count;
        }
    }
    /// A length that this percentage of the pauses does not exceed, and hardly more than necessary; zero without
    /// pauses.
    pub fn percentile(&self, percent: u32) -> Duration {
        let rank = (self.count * u64::from(percent)).div_ceil(100).max(1);
        let mut passed = 0;
        for (class, pauses) in self.classes.iter().enumerate() {
            passed += pauses;
            if passed >= rank {
                return class_end(class).min(self.longest);
            }
        }
        self.longest
    }
}

/// The power of two below a pause, and the eighth of the way to the next one.
fn pause_class(pause: Duration) -> usize {
    let ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX).max(CLASSES_PER_POWER as u64);
    let power = ns.ilog2() as usize;
    let eighth = (ns >> (power - 3)) as usize - CLASSES_PER_POWER;
    (power * CLASSES_PER_POWER + eighth).min(PAUSE_CLASSES - 1)
}

/// The length that all pauses of a class are below.
fn class_end(class: usize) -> Duration {
    let (power, eighth) = (class / CLASSES_PER_POWER, (class % CLASSES_PER_POWER) as u64);
    Duration::from_nanos((CLASSES_PER_POWER as u64 + eighth + 1) << power >> 3)
}

/// What a collection collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collected {
    /// A minor one.
    Young,
    /// A major one.
    Everything,
}

/// One collection, noted if [`Node::note_collections`](crate::node::Node::note_collections) asked for it.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Minor or major.
    pub kind: Collected,
    /// When reducing went on.
    pub ended: Instant,
    /// How long it took.
    pub pause: Duration,
    /// How long the other workers took to stop before it.
    pub stop: Duration,
    /// Words it copied.
    pub words_copied: usize,
    /// Words in use in the heap afterwards: what is live, and what died in old space since the last major collection.
    pub heap_words: usize,
    /// Words of ready goals, which are not in the heap.
    pub ready_words: usize,
    /// Words of the records of waiting goals, which are in the heap.
    pub waiting_words: usize,
    /// The workers that took part.
    pub shares: Vec<Share>,
}

/// What one worker did in a collection.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The worker.
    pub worker: usize,
    /// Words it copied.
    pub words_copied: usize,
    /// How long it had work.
    pub busy: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_is_below_their_end() {
        for ns in (0..5000).chain([1 << 20, (1 << 20) - 1, 1 << 39, 1 << 50, u64::MAX]) {
            let (pause, class) = (Duration::from_nanos(ns), pause_class(Duration::from_nanos(ns)));
            assert!(class == PAUSE_CLASSES - 1 || pause < class_end(class), "{ns} ns in {class}");
            if (8..1 << 39).contains(&ns) {
                assert!(class_end(class) <= pause * 9 / 8 + Duration::from_nanos(1), "{ns} ns in {class}");
            }
        }
    }

    #[test]
    fn percentiles_are_close() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.percentile(99), Duration::ZERO);
        (1..=1000).for_each(|us| pauses.add(Duration::from_micros(us)));
        let us = |percent| pauses.percentile(percent).as_micros();
        assert!((500..=563).contains(&us(50)) && (990..=1000).contains(&us(99)), "{} {}", us(50), us(99));
        assert_eq!((us(100), pauses.count), (1000, 1000));
    }
}
