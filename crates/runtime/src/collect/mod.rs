//! The collector: copying, generational, Cheney's scan over whatever was copied; any number of workers take part.
//!
//! For: deciding when to collect (`state`, `lead`), copying, sharing that work, and the check of what it left.
//! It may know: all spaces, goals and roots of all workers, while no worker reduces.
//! It never: runs while a goal is reduced, or prints.
//!
//! A *minor* collection evacuates the young region: what it meets for the first time goes to the other survivor area,
//! what has survived once goes to old space (or stays young, too, as long as that is little; or all goes to old
//! space: `state`). A *major* one evacuates old space, too, into fresh blocks of it, and sweeps the large objects.
//! Both happen between reductions only, while no worker reduces.
//!
//! A worker that takes part is a *collector*. It copies into the survivor area of its own lane and into old blocks of
//! its own. It takes the roots of whole workers and what it finds there; then it works on what others put into a pool
//! when somebody is out of work.
//!
//! Invariants:
//! - F1 A copied structure or object has a forwarding word in its header's place, a copied cons in its car's. A cell
//!   that was copied alone, because a REF led to it before its cons or structure was met, has a forwarding word with
//!   `CELL` set, and so have unbound arguments and cdrs of what was copied.
//! - F2 An unbound cell is copied once: whoever meets it later gets a REF to the copy. A REF to a bound cell becomes
//!   the value.
//! - F3 Everything between a scan pointer and its space's top is grey: copied, its words not looked at. Grey ranges
//!   are lists of addresses in words, never of objects, so any number of scanners could share one large object.
//!   Conses of one list with immediate cars, copied one behind the other, lead to the next one only, and are black at
//!   once: a list of numbers is copied without a scan.
//! - F4 Every word of a grey range is self-describing (W3); raw payloads are passed over by their header.
//! - F5 No goals wait to be made ready (H3): goals are on stacks, in buckets, or in records.
//! - F6 With several collectors, whoever copies an object, or a cons whose car is unbound, claims it first: a
//!   compare-and-swap of its first word to `BUSY`. A cell is claimed by the compare-and-swap that forwards it. Any
//!   other cons or structure may be copied by two that meet it at the same moment: it never changes, and a
//!   compare-and-swap takes as long as the rest of a copy. Each leads to one of the two copies. The forwarding word
//!   is written last, so whoever sees it may read the copy.
//! - F7 A cdr in from-space that leads to a cons stays what it is. So a collector may go along a list that others are
//!   copying, and begin to copy it at any cons that it finds: the list is live from there on. A collector that
//!   arrives at a cons that was copied links to the copy.
//! - F8 Hooks of goals that were resumed (H3) are left out of their variable's list: a goal that waits again and
//!   again for the next message or for one variable that all share leaves a hook there each time. (A record keeps its
//!   predicate word where it was copied from, F1.)

mod check;
mod copy;
pub(crate) mod lead;
#[cfg(all(test, models))]
mod models;
mod room;
mod roots;
mod scan;
mod share;
pub(crate) mod state;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
pub(crate) use copy::first_waiting;

use crate::coordination::schedule::{now, since};
use crate::coordination::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use crate::coordination::sync::{Mutex, lock};
use crate::goals::state::Registry;
use crate::memory::classes::TaggedWords;
use crate::memory::ranges::{LARGE_PAGE, Range, pointer, raw, read};
use crate::memory::spaces::{Blocks, Spaces};
use crate::memory::tuning::{LANE_BYTES, LARGE_WORDS, SURVIVOR_RANGE, SURVIVORS_KEPT_BYTES, YOUNG_CELL_PART};
use crate::reports::statistics::Share;
use crate::worker::all::Crew;
use crate::worker::program::Predicates;
use share::Pool;
use state::{Ages, Plan};
use std::sync::Arc;
use std::time::{Duration, Instant};
use term::Word;
use term::layout::SUSPENSION_PREDICATE;
use term::word::{Tag, UNBOUND};

/// Where in a lane its nursery begins.
const NURSERY_AT: usize = 2 * SURVIVOR_RANGE;

/// In a forwarding word: it forwards this cell alone, not the cons that begins here (F1).
const CELL: u64 = 1 << 62;
/// In the place of a forwarding word while the copy is being made (F6).
const BUSY: Word = raw(Tag::Header as u64);

#[inline(always)]
fn forwarding(to: usize) -> Word {
    pointer(Tag::Header, to)
}
#[inline(always)]
fn forwarding_cell(to: usize) -> Word {
    raw(forwarding(to).bits() | CELL)
}
#[inline(always)]
fn target(forwarding: Word) -> usize {
    debug_assert!(forwarding.is_forwarding(), "F1: {forwarding:?} forwards to nothing");
    raw(forwarding.bits() & !CELL).address()
}
/// True for the forwarding word of a whole cons, structure or object.
#[inline(always)]
fn forwards_all(word: Word) -> bool {
    word.is_forwarding() && word.bits() & CELL == 0
}

/// What all collectors of one collection share.
pub(crate) struct Collection {
    spaces: Arc<Spaces>,
    tagged_words: Arc<TaggedWords>,
    pub(crate) major: bool,
    ages: Ages,
    /// Whether others may join its leader.
    pub(crate) shared: bool,
    /// The survivor areas that are copied to: 0 or 1.
    to_area: usize,
    from_blocks: Blocks,
    variables_to_keep: usize,
    /// Bytes at the beginning of each nursery that become old as survivors do.
    older: usize,
    predicates: Arc<Predicates>,
    /// What each worker had left of its block of old space.
    old_blocks: Vec<Range>,
    /// Workers whose roots are taken.
    taken: Box<[AtomicBool]>,
    /// The lowest word of each worker's goal stack that leads to something young (P4).
    lowest_young: Box<[AtomicUsize]>,
    pool: Pool,
    parts: Mutex<Vec<Part>>,
    /// X17 of `shoen`: goals that nothing leads to, their new records.
    lost: Mutex<Vec<usize>>,
}

/// What one collector did.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) collector: usize,
    /// Words that it copied, and (if several took part) grey words that it scanned.
    pub(crate) words: usize,
    pub(crate) scanned: usize,
    /// Words that it copied from survivor areas to old space.
    pub(crate) again: usize,
    /// The records that it has seen and that still wait, and whose they are.
    records: Vec<(usize, Registry)>,
    survivor_top: usize,
    old: Range,
    remembered: Vec<usize>,
    pub(crate) busy: Duration,
}

impl Part {
    pub(crate) fn share(&self) -> Share {
        Share { worker: self.collector, words_copied: self.words, busy: self.busy }
    }
}

impl Collection {
    /// A collection of a crew that is stopped. Others than its leader take part if it is `shared`. A nursery is so
    /// large.
    pub(crate) fn new(crew: &Crew, Plan { major, ages, nursery_bytes, older }: Plan, shared: bool) -> Self {
        debug_assert!(!major || older == 0, "a major collection lets nothing become old at once");
        let mut old_blocks = Vec::new();
        crew.each(|worker| old_blocks.push(if major { Range::default() } else { worker.heap.old }));
        crew.with(0, |worker| {
            worker.abroad.find_awaited(major);
            let spaces = worker.heap.spaces.clone();
            Collection {
                major,
                ages,
                shared,
                to_area: 1 - spaces.area(),
                from_blocks: if major { spaces.old.used_blocks() } else { Blocks::default() },
                variables_to_keep: nursery_bytes / 8 / YOUNG_CELL_PART,
                older,
                predicates: worker.predicates.clone(),
                old_blocks,
                taken: (0..crew.len()).map(|_| AtomicBool::new(false)).collect(),
                lowest_young: (0..crew.len()).map(|_| AtomicUsize::new(usize::MAX)).collect(),
                pool: Pool::default(),
                parts: Mutex::default(),
                lost: Mutex::default(),
                tagged_words: worker.tagged_words.clone(),
                spaces,
            }
        })
    }
    /// One collector's whole part. Answers how many words it copied.
    pub(crate) fn collector(&self, crew: &Crew, me: usize) -> usize {
        self.pool.join();
        match (self.major, self.shared) {
            (false, false) => Collector::<false, false>::new(self, me).run(crew, me),
            (false, true) => Collector::<false, true>::new(self, me).run(crew, me),
            (true, false) => Collector::<true, false>::new(self, me).run(crew, me),
            (true, true) => Collector::<true, true>::new(self, me).run(crew, me),
        }
    }
    /// Where a record or structure is now; `None`: it was evacuated by nobody.
    fn moved(&self, address: usize) -> Option<usize> {
        debug_assert!(address != 0 && address.is_multiple_of(8), "Y2: {address:#x} is no record");
        let young = self.spaces.young;
        let in_from = if young.contains(address) {
            let lane = address.wrapping_sub(young.start);
            lane / SURVIVOR_RANGE % 4 != self.to_area
        } else {
            self.major && self.from_blocks.contains(address)
        };
        let header = read(address);
        if in_from { forwards_all(header).then(|| target(header)) } else { Some(address) }
    }
    /// What is weak: after the trace, and before anything that was evacuated is used again.
    fn sweep_abroad(&self, crew: &Crew) {
        let young = self.spaces.young;
        let moved = |record| self.moved(record);
        crew.with(0, |worker| worker.abroad.sweep(self.major, moved, |address| young.contains(address)));
    }
    /// Goals of shoens that nothing leads to.
    pub(crate) fn take_lost(&self) -> Vec<usize> {
        std::mem::take(&mut *lock(&self.lost))
    }
    /// After everybody's part. Answers what each did.
    pub(crate) fn end(&self, crew: &Crew) -> Vec<Part> {
        debug_assert!(self.taken.iter().all(|taken| taken.load(Relaxed)), "F6: roots that nobody has taken");
        let mut parts = std::mem::take(&mut *lock(&self.parts));
        self.sweep_abroad(crew);
        self.spaces.flip();
        crew.each(|worker| {
            let (base, top) = (worker.heap.survivor_base(1 - self.to_area), worker.heap.survivor_top);
            // Of many workers others may copy the next time.
            if top - base > SURVIVORS_KEPT_BYTES && !parts.iter().any(|part| part.collector == worker.index) {
                self.spaces.discard(base, top.next_multiple_of(LARGE_PAGE));
            }
            worker.heap.survivor_top = worker.heap.survivor_base(self.to_area);
        });
        if self.major {
            crew.each(|worker| worker.heap.old = Range::default());
            self.spaces.free_blocks(&self.from_blocks);
        }
        for part in &mut parts {
            crew.with(part.collector, |worker| {
                worker.heap.survivor_top = part.survivor_top;
                worker.heap.old = part.old;
                worker.heap.remembered.append(&mut part.remembered);
            });
            for (of, records) in part.records.drain(..) {
                crew.with(of, |worker| worker.waiting.registry.append(records));
            }
        }
        crew.each(|worker| worker.mark_goals(self.lowest_young[worker.index].load(Relaxed)));
        let freed = self.spaces.sweep_large(!self.major);
        if !self.major && !freed.is_empty() {
            let dead = |slot: usize| {
                let next = freed.partition_point(|range| range.start <= slot);
                next > 0 && slot < freed[next - 1].end
            };
            crew.each(|worker| worker.heap.remembered.retain(|&slot| !dead(slot)));
        }
        parts
    }
}

/// A worker's part in a collection.
struct Collector<'a, const MAJOR: bool, const SHARED: bool> {
    common: &'a Collection,
    tagged_words: &'a TaggedWords,
    to_area: usize,
    /// The young region.
    young_start: usize,
    young_bytes: usize,
    /// Where large objects are.
    large: Range,
    /// The survivor area that is copied to: its grey words, and its end.
    survivor_scan: usize,
    survivor_top: usize,
    survivor_end: usize,
    variables_to_keep: usize,
    /// What survives stays young from this place in a lane on.
    young_from: usize,
    /// What is left of the block of old space that is copied to, and its first grey word.
    old: Range,
    old_scan: usize,
    /// Where it began to fill that block.
    old_begin: usize,
    /// Further grey ranges.
    grey: Vec<Range>,
    remembered: Vec<usize>,
    /// Words copied to blocks of old space before that one, and all that went there from survivor areas.
    old_words: usize,
    again: usize,
    /// Words of large objects that it has marked.
    large_words: usize,
    survivor_base: usize,
    scanned: usize,
    /// Records of the workers whose roots it took, and those of any worker that it has seen and that still wait.
    records: Vec<(usize, Vec<usize>)>,
    waiting: Vec<roots::Waiting>,
    /// When it began, and how long it has been out of work since.
    started: Instant,
    out_of_work: Duration,
}

impl<'a, const MAJOR: bool, const SHARED: bool> Collector<'a, MAJOR, SHARED> {
    fn new(common: &'a Collection, me: usize) -> Self {
        let (old, young) = (common.old_blocks[me], common.spaces.young);
        let survivor_base = common.spaces.lane(me) + common.to_area * SURVIVOR_RANGE;
        Collector {
            common,
            tagged_words: &common.tagged_words,
            to_area: common.to_area,
            young_start: young.start,
            young_bytes: young.end - young.start,
            large: common.spaces.large_range,
            survivor_scan: survivor_base,
            survivor_top: survivor_base,
            survivor_end: survivor_base + SURVIVOR_RANGE,
            variables_to_keep: common.variables_to_keep,
            young_from: match common.ages {
                Ages::First => LANE_BYTES,
                Ages::Second => NURSERY_AT + common.older,
                Ages::Never => 0,
            },
            old_scan: old.start,
            old_begin: old.start,
            old,
            grey: Vec::new(),
            remembered: Vec::new(),
            old_words: 0,
            again: 0,
            large_words: 0,
            survivor_base,
            scanned: 0,
            records: Vec::new(),
            waiting: Vec::new(),
            started: now(),
            out_of_work: Duration::ZERO,
        }
    }
    fn run(mut self, crew: &Crew, me: usize) -> usize {
        while let Some(index) = self.next_worker(me) {
            crew.with(index, |worker| self.roots_of(worker));
        }
        self.trace_own();
        self.own_records();
        self.trace();
        if MAJOR && !SHARED {
            self.by_distance(crew);
            self.find_lost(crew);
        }
        debug_assert!(
            self.grey.is_empty() && self.survivor_scan == self.survivor_top,
            "F3: grey words are left"
        );
        debug_assert_eq!(self.old_scan, self.old.start, "F3: grey words are left");
        let records = self.survivors();
        let words = self.words();
        let part = Part {
            collector: me,
            words,
            scanned: self.scanned,
            again: self.again,
            records,
            survivor_top: self.survivor_top,
            old: self.old,
            remembered: self.remembered,
            busy: since(self.started) - self.out_of_work,
        };
        lock(&self.common.parts).push(part);
        words
    }
    /// Words that it has copied.
    #[inline(always)]
    fn words(&self) -> usize {
        self.old_words + (self.old.start - self.old_begin + self.survivor_top - self.survivor_base) / 8
    }
}

const _: () = assert!(UNBOUND.bits() == Tag::Var as u64 && LARGE_WORDS > SUSPENSION_PREDICATE);
