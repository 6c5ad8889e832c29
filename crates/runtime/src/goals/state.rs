//! What a worker keeps for its goals: ready ones, those that wait, those that were resumed, and numbers of
//! predicates. The invariants of the first are in `stack` (P1 to P5), of the others in `suspend` (H1 to H7) and
//! `resumed_order` (P6 to P9).

use crate::memory::ranges::{LARGE_PAGE, Region, write};
use crate::memory::tuning::GOAL_BYTES;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::time::Duration;
use term::Word;
use term::abi::{BOTTOM, GOAL_SLACK_WORDS, Position, PredicateId};
use term::layout::GOAL_ARITY_MAX;

/// One segment of the goal stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// A priority, or a lane (X11 of `shoen`).
    pub(crate) priority: i64,
    /// X11: the priority.
    pub(crate) rank: i64,
    /// The first address it may use. From here to its BOTTOM record lie zeros, where goals were that were given away.
    pub(crate) floor: usize,
    /// The address after its BOTTOM record.
    pub(crate) base: usize,
}

/// The rank of a bucket, and its priority or lane.
pub(crate) type Key = (i64, i64);

/// Everything about ready goals except the stack's top, which is `abi.goals`.
pub(crate) struct Goals {
    pub(super) region: Region,
    pub(super) segments: Vec<Segment>,
    /// By rank, and what it is the rank of (X11 of `shoen`).
    pub(super) buckets: BTreeMap<Key, Vec<Word>>,
    /// The highest rank of a bucket; -1 when there is none. Asked for at every resumption.
    pub(super) best: i64,
    /// The rank of the running goal.
    pub(super) rank: i64,
    /// X11: goals that come on top of the stack at the next attention, in other lanes.
    pub(super) entering: Vec<(i64, Vec<Word>)>,
    /// Goals that are left for later (B10 of `sums`); not higher than the running priority when they came.
    pub(super) later: BTreeMap<i64, Vec<Word>>,
    /// B14 of `gaps`.
    pub(super) gap: Gap,
    pub(super) turns: Turns,
    /// Empty vectors of former buckets.
    pub(super) spare: Vec<Vec<Word>>,
    /// P4.
    pub(super) marks: Vec<usize>,
    pub(super) clean: usize,
    /// P5: bytes that the stack may take; words that went into buckets since they were counted, how many may until
    /// that is noticed, and until they are counted again.
    pub(super) stack_bytes: usize,
    pub(super) beside_new: usize,
    pub(super) beside_next: usize,
    pub(super) beside_step: usize,
    /// P5: bytes of the buckets when they were last counted, and bytes counted in all.
    pub(super) beside_bytes: usize,
    pub(super) counted: usize,
    /// The predicate whose code was called last, of those that are noted (`Seat::Noted`).
    pub(crate) called: PredicateId,
}

/// P5: bytes by which a stack grows. The first ones are not counted: every worker has them.
pub(super) const STEP_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 10 };
/// What a bucket takes beside its words: 84 bytes for its place in nodes of the map, if they are half full, and what
/// its vector does not use.
pub(super) const BUCKET_BYTES: usize = 120;
/// Words of a vector from which on it is not kept for new buckets.
pub(super) const SPARE_WORDS: usize = 1024;

pub(super) const BOTTOM_BYTES: usize = 8;
/// Lower than any priority.
pub(crate) const NO_PRIORITY: i64 = -1;
pub(super) const SLACK_BYTES: usize = (GOAL_SLACK_WORDS + GOAL_ARITY_MAX + 1) * 8;

impl Goals {
    /// An empty stack with one segment, in 1 / 2^`halvings` of the usual address space; `None` if the system refuses
    /// that.
    pub(crate) fn new(priority: i64, halvings: u32) -> Option<Goals> {
        let region = Region::reserve(GOAL_BYTES >> halvings, LARGE_PAGE)?;
        region.use_large_pages(region.base(), region.end());
        write(region.base(), BOTTOM.goal_word());
        let floor = region.base();
        let segments = vec![Segment { priority, rank: priority, floor, base: floor + BOTTOM_BYTES }];
        let clean = region.base() + BOTTOM_BYTES;
        Some(Goals {
            region,
            segments,
            buckets: BTreeMap::new(),
            best: NO_PRIORITY,
            rank: priority,
            entering: Vec::new(),
            later: BTreeMap::new(),
            gap: Gap::NEW,
            turns: Turns::NEW,
            spare: Vec::new(),
            marks: Vec::new(),
            clean,
            stack_bytes: STEP_BYTES,
            beside_new: 0,
            beside_next: STEP_BYTES / 8,
            beside_step: STEP_BYTES / 8,
            beside_bytes: 0,
            counted: 0,
            called: BOTTOM,
        })
    }
    /// The top of an empty stack.
    pub(crate) fn start(&self) -> usize {
        self.region.base() + BOTTOM_BYTES
    }
    /// C5: the highest top at which pushing may start.
    pub(crate) fn limit(&self) -> usize {
        self.region.base() + self.stack_bytes
    }
    /// P5: what the worker counts. What went into buckets since they were counted may have left them.
    pub(super) fn bytes(&self) -> usize {
        debug_assert!(self.stack_bytes >= STEP_BYTES, "P5: the first bytes are not counted, but there");
        let beside = self.beside_bytes + 8 * self.beside_new;
        self.stack_bytes - STEP_BYTES + beside.saturating_sub(STEP_BYTES)
    }
    /// P5: counts the buckets. Only after as many words as there are buckets, so that it takes no time.
    pub(super) fn count_beside(&mut self) {
        let (words, buckets) =
            self.buckets().fold((0, 0), |(words, buckets), bucket| (words + bucket.len(), buckets + 1));
        self.beside_bytes = 8 * words + BUCKET_BYTES * buckets;
        self.beside_step = buckets.max(STEP_BYTES / 8);
        (self.beside_new, self.beside_next) = (0, STEP_BYTES / 8);
    }
    /// P5: the stack may take `bytes`; false if there is no address space for them.
    pub(super) fn set_stack_bytes(&mut self, bytes: usize) -> bool {
        let base = self.region.base();
        let wanted = bytes.next_multiple_of(STEP_BYTES).max(STEP_BYTES);
        if base + wanted + SLACK_BYTES > self.region.end() {
            return false;
        }
        if wanted < self.stack_bytes {
            self.region.discard(base + wanted + SLACK_BYTES, base + self.stack_bytes + SLACK_BYTES);
        }
        self.stack_bytes = wanted;
        true
    }
    /// What lies at this address of the stack or above has moved up, and other words lie there now.
    pub(super) fn move_up(&mut self, start: usize, bytes: usize) {
        self.marks.iter_mut().filter(|mark| **mark >= start).for_each(|mark| *mark += bytes);
        self.clean = self.clean.min(start).min(self.last_mark());
        for place in self.turns.places.iter_mut().chain([&mut self.turns.builtins]) {
            for address in [&mut place.start, &mut place.end] {
                if (start..usize::MAX).contains(address) {
                    *address += bytes;
                }
            }
        }
    }
    /// Goals of this lane that were left for later, the last one first to run; they are gone from here.
    pub(super) fn take_later(&mut self, lane: i64) -> Option<Vec<Word>> {
        self.later.remove(&lane)
    }
    /// The topmost mark, or the bottom.
    pub(super) fn last_mark(&self) -> usize {
        self.marks.last().copied().unwrap_or(self.region.base())
    }
    /// The goals beside the stack.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = &Vec<Word>> {
        let entering = self.entering.iter().map(|(_, words)| words);
        self.buckets.values().chain(self.later.values()).chain(entering)
    }
    /// P4: what lay above what is at `start` now has moved down.
    pub(super) fn move_marks(&mut self, start: usize, down: usize) {
        debug_assert!(self.marks.is_sorted(), "P4: {:?}", self.marks);
        for mark in self.marks.iter_mut().filter(|mark| **mark > start) {
            *mark -= down;
        }
        self.clean = self.clean.min(start).min(self.last_mark());
    }
    /// Words beside the stack.
    pub(crate) fn buckets_mut(&mut self) -> impl Iterator<Item = &mut Vec<Word>> {
        let entering = self.entering.iter_mut().map(|(_, words)| words);
        self.buckets.values_mut().chain(self.later.values_mut()).chain(entering)
    }
    /// From here on words of the stack may lead to something young (P4).
    pub(crate) fn clean(&self) -> usize {
        self.clean
    }
    /// The segments, the lowest priority first.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// The segment of the running priority.
    pub(crate) fn top_segment(&self) -> Segment {
        *self.segments.last().expect("the lowest segment stays")
    }
    /// The first MARK record between these addresses (P4).
    pub(crate) fn first_mark(&self, base: usize, top: usize) -> Option<usize> {
        self.marks.iter().copied().find(|&mark| mark > base && mark < top)
    }
    /// The buckets, but for goals that are left for later, the lowest priority first.
    pub(crate) fn by_priority(&self) -> impl DoubleEndedIterator<Item = (Key, &Vec<Word>)> {
        self.buckets.iter().map(|(&key, bucket)| (key, bucket))
    }
    /// The rank of the running goal.
    #[inline(always)]
    pub(crate) fn rank(&self) -> i64 {
        self.rank
    }
    /// The priorities and lanes of all ready goals.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = i64> {
        let entering = self.entering.iter().map(|(lane, _)| *lane);
        let segments = self.segments.iter().map(|segment| segment.priority);
        let buckets = self.buckets.keys().map(|(_, lane)| *lane);
        segments.chain(buckets).chain(self.later.keys().copied()).chain(entering)
    }
    /// Whether goals are to come on top of the stack.
    pub(crate) fn has_entering(&self) -> bool {
        !self.entering.is_empty()
    }
    /// Where allocation shall have got to when goals that lie below others have their turn (P8).
    pub(crate) fn turn_due(&self) -> usize {
        self.turns.due
    }
    /// For tests: resumed goals go the other way until it is thought of again (P9).
    pub(crate) fn go_the_other_way(&mut self) {
        self.turns.choice.below = !self.turns.choice.below;
    }
    /// The highest priority of a bucket.
    pub(crate) fn best(&self) -> Option<i64> {
        (self.best != NO_PRIORITY).then_some(self.best)
    }
    /// The key of the bucket of the highest rank.
    pub(super) fn best_bucket(&self) -> Option<Key> {
        self.buckets.last_key_value().map(|(&key, _)| key)
    }
    pub(super) fn forget_bucket(&mut self, key: Key) -> Vec<Word> {
        let goals = self.buckets.remove(&key).expect("the caller saw this bucket");
        self.best = self.best_bucket().map_or(NO_PRIORITY, |(best, _)| best);
        goals
    }
}

/// Goals that lie below others until these are done (P6), and where they end. Goals may have run since then: these
/// are addresses of what is there now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Times that goals are resumed before it is seen what one of the ways was good for. With 30 bytes for each that is
/// several turns (P8): lists that are made first show only then what they are good for.
const ROUND: u32 = 8192;
/// The most that come on top before the other way is tried again.
const ON_TOP_MAX: u32 = 1 << 20;
/// Rounds below after which one on top follows.
const ROUNDS_BELOW: u32 = 64;
/// Bytes allocated for each time that goals are resumed from which on no other way could be better.
pub(super) const MUCH: u64 = 2048;
/// Bytes whose allocation is as much work as to resume a goal.
const RESUMING: u64 = 64;

/// Where resumed goals go (P9).
#[derive(Debug)]
pub(crate) struct Choice {
    pub(super) below: bool,
    /// How often goals go there before this is thought of again, when they begin to (then `abi.turn_left` counts).
    pub(crate) left: u32,
    /// How often they came on top in the last such round, or will in the next.
    pub(super) on_top: u32,
    pub(super) rounds_left: u32,
    /// Bytes that had been allocated when the round began, and those for each time in the last round on top.
    pub(super) bytes: u64,
    pub(super) each_on_top: u64,
}

impl Choice {
    pub(crate) const NEW: Choice =
        Choice { below: false, left: ROUND, on_top: ROUND, rounds_left: 0, bytes: 0, each_on_top: 0 };
    /// How often goals are made ready before the choice is thought of first: one worker has none.
    pub(crate) fn first_left(single: bool) -> i64 {
        if single { i64::MAX } else { Choice::NEW.left.into() }
    }
    /// A round is over; `bytes` have been allocated since the worker began.
    #[cold]
    pub(super) fn look(&mut self, bytes: u64) {
        let allocated = bytes - std::mem::replace(&mut self.bytes, bytes);
        if !self.below {
            self.each_on_top = allocated / u64::from(self.on_top) + RESUMING;
            (self.below, self.left, self.rounds_left) = (true, ROUND, ROUNDS_BELOW);
            return;
        }
        let each = allocated / u64::from(ROUND) + RESUMING;
        let first = self.rounds_left == ROUNDS_BELOW;
        if each >= MUCH || 4 * each > 5 * self.each_on_top && self.rounds_left > 0 {
            (self.left, self.on_top) = (ROUND, ROUND);
            self.rounds_left -= u32::from(each < MUCH);
        } else {
            self.on_top = if first { (2 * self.on_top).min(ON_TOP_MAX) } else { ROUND };
            (self.below, self.left) = (false, self.on_top);
        }
    }
}

/// B14 of `gaps`: a worker that has come to one.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    /// How long it has waited at gaps since it last passed one.
    pub(super) waited: Duration,
    /// How long it waited the last time before it looked again.
    pub(super) pause: Duration,
    /// Workers that went on for the longest time that it waited, and how often each had stopped then.
    pub(super) endless: Vec<(usize, u32)>,
}

impl Gap {
    pub(super) const NEW: Gap = Gap { waited: Duration::ZERO, pause: Duration::ZERO, endless: Vec::new() };
}

/// What is known of goals that were resumed.
#[derive(Debug)]
pub(super) struct Turns {
    /// The lowest first.
    pub(super) places: Vec<Place>,
    /// Where allocation shall have got to when the lowest place has its turn (P8).
    pub(super) due: usize,
    /// P7: from where on builtins lie that were resumed, and where they would have gone otherwise.
    pub(super) builtins: Place,
    pub(super) choice: Choice,
}

impl Turns {
    pub(super) const NEW: Turns = Turns {
        places: Vec::new(),
        due: usize::MAX,
        builtins: Place { start: usize::MAX, end: 0 },
        choice: Choice::NEW,
    };
}

/// Records of waiting goals, by address (H4).
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Not in old space when it was entered here.
    pub(crate) young: Vec<usize>,
    /// In old space: in lists that are not joined if they are long, since there may be millions of records, and to copy
    /// their list takes as much memory again.
    old: Vec<Vec<usize>>,
}

/// Records of the longest list that two are joined to.
const LIST_MAX: usize = 64 << 10;

impl Registry {
    /// Records that are young, and a list of those that are not.
    pub(crate) fn new(young: Vec<usize>, old: Vec<usize>) -> Registry {
        let mut registry = Registry { young, old: Vec::new() };
        registry.enter_old(old);
        registry
    }
    /// Enters a record that is in old space or is not.
    pub(crate) fn enter(&mut self, record: usize, old: bool) {
        if old {
            self.enter_old(vec![record]);
        } else {
            self.young.push(record);
        }
    }
    fn enter_old(&mut self, mut records: Vec<usize>) {
        match self.old.last_mut() {
            Some(last) if last.len() + records.len() <= LIST_MAX => last.append(&mut records),
            _ if records.is_empty() => {}
            _ => self.old.push(records),
        }
    }
    /// Takes the records that a collection looks at: the young ones, or all.
    pub(crate) fn take(&mut self, all: bool) -> Vec<Vec<usize>> {
        let mut lists = if all { std::mem::take(&mut self.old) } else { Vec::new() };
        lists.push(std::mem::take(&mut self.young));
        lists
    }
    /// All records, the old ones first.
    pub(crate) fn records(&self) -> impl Iterator<Item = usize> {
        self.old.iter().flatten().chain(&self.young).copied()
    }
    /// How many are young.
    pub(crate) fn young_count(&self) -> usize {
        self.young.len()
    }
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.young.len() + self.old.iter().map(Vec::len).sum::<usize>()
    }
    /// Adds those of another registry.
    pub(crate) fn append(&mut self, mut others: Registry) {
        self.young.append(&mut others.young);
        others.old.into_iter().for_each(|records| self.enter_old(records));
    }
}

/// Everything about goals that wait or were resumed, except what generated code knows (`abi.suspensions`,
/// `abi.resumed`).
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) registry: Registry,
    /// Lists of waiting goals (newest record) whose variables got values after that of `abi.resumed`, oldest binding
    /// first.
    pub(super) resumed_later: Vec<usize>,
    /// B13 of `trial`: predicates whose goals other workers may see, and that were resumed here or came home.
    pub(super) resumed: FxHashSet<PredicateId>,
    /// What did not fit in `abi.pending`; words of the reduction that is being tried, like those.
    pub(super) pending_more: Vec<Word>,
    /// The cells for which the goal on top of the stack is about to wait.
    pub(super) cells: Vec<usize>,
    /// Generated code waits for a unification, and those that were put off meanwhile.
    pub(super) in_code: bool,
    pub(super) put_off: Vec<(Word, Word, Position)>,
    /// Where the last unification stands that was not done at once.
    pub(super) position: Position,
}

impl Waiting {
    /// Unifications were put off to the end of the reduction.
    pub(crate) fn has_put_off(&self) -> bool {
        !self.put_off.is_empty()
    }
    /// They are of a run that is over.
    pub(crate) fn end_run(&mut self) {
        self.put_off.clear();
        self.resumed.clear();
    }
    /// The goal that is being tried waits for one more variable, after `before` others that did not fit in
    /// `abi.pending`. What is left from an attempt that committed is forgotten.
    pub(crate) fn pend(&mut self, before: usize, variable: Word) {
        debug_assert!(before <= self.pending_more.len(), "C4: a variable before this one is missing");
        self.pending_more.truncate(before);
        self.pending_more.push(variable);
    }
}

/// Numbers of the predicates of the runtime's own, of which helpers make goals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemGoals {
    pub(crate) at_priority: PredicateId,
    pub(crate) at_node: PredicateId,
    pub(crate) at_position: PredicateId,
    pub(crate) sum: PredicateId,
    pub(crate) after_collection: PredicateId,
    pub(crate) unify: PredicateId,
    pub(crate) mark: PredicateId,
    /// See `sharing::gaps`.
    pub(crate) gap: PredicateId,
    /// See `abroad`.
    pub(crate) external: PredicateId,
    pub(crate) exported: PredicateId,
    /// What nodes say to each other of shoens, which no program may: see `builtins::shoen`.
    pub(crate) foster: PredicateId,
    pub(crate) daemon: PredicateId,
    pub(crate) bind: PredicateId,
    pub(crate) told: PredicateId,
    pub(crate) hello: PredicateId,
    pub(crate) done: PredicateId,
    pub(crate) words: PredicateId,
    pub(crate) order: PredicateId,
    pub(crate) lost: PredicateId,
    pub(crate) lose: PredicateId,
    /// Builtins that are looked up once: see `builtins::merge`, `builtins::io::serve`.
    pub(crate) merge: PredicateId,
    pub(crate) stream: PredicateId,
    /// What a goal becomes that failed in a shoen: see `builtins::shoen`.
    pub(crate) instead: PredicateId,
}

impl Default for SystemGoals {
    fn default() -> Self {
        SystemGoals {
            at_priority: BOTTOM,
            at_node: BOTTOM,
            at_position: BOTTOM,
            sum: BOTTOM,
            after_collection: BOTTOM,
            unify: BOTTOM,
            mark: BOTTOM,
            gap: BOTTOM,
            external: BOTTOM,
            exported: BOTTOM,
            foster: BOTTOM,
            daemon: BOTTOM,
            bind: BOTTOM,
            told: BOTTOM,
            hello: BOTTOM,
            done: BOTTOM,
            words: BOTTOM,
            order: BOTTOM,
            lost: BOTTOM,
            lose: BOTTOM,
            merge: BOTTOM,
            stream: BOTTOM,
            instead: BOTTOM,
        }
    }
}
