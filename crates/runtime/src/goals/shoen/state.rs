//! What is known of shoens: by all workers of a node, and by each of them. The invariants are in the module above.

mod away;
mod kinds;
mod known;
mod left;
mod losses;
mod tally;
mod words;

use crate::coordination::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst,
};
use crate::coordination::sync::{Mutex, lock};
use crate::reports::outcome::ProgramError;
use away::Away;
pub(super) use kinds::name;
pub(crate) use kinds::{KINDS, kind_bit};
pub(super) use known::Here;
use known::Known;
use left::{Aborted, Daemons};
use losses::Losses;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
pub(crate) use tally::Tally;
use term::Word;
use term::abi::{Position, PredicateId};
use words::Words;

/// The highest number of a lane: those above are priorities, and that of what is for other nodes.
const FIRST_LANE: i64 = -2;

/// A shoen.
#[derive(Debug)]
pub(crate) struct Shoen {
    /// By which the program's goals name it.
    pub(crate) number: i64,
    /// The shoen that it is a goal of.
    pub(crate) parent: Option<Arc<Shoen>>,
    /// Whose fault it is if its reports cannot be told: a priority, or a lane.
    pub(super) lane: i64,
    /// How many shoens are around it, and it.
    pub(crate) depth: u32,
    /// The kinds of exceptions that are reported here, a bit each.
    pub(crate) kinds: u64,
    /// X20: it stands for a shoen of another node, and tells this node when nothing is left.
    pub(super) foster: Option<AtomicU32>,
    /// X20: the shoens around it, from the inside, of which it knows nothing else: if another node has said what it is.
    pub(super) around: Box<[i64]>,
    /// X20: its goals that were sent to other nodes.
    pub(crate) away: Away,
    /// X20: the nodes where others stand for it, or have left daemons.
    nodes: Mutex<BTreeSet<u32>>,
    /// X15: shoens inside are over, and have left daemons.
    has_left: AtomicBool,
    /// The lowest and the highest priority of its goals.
    pub(super) range: (i64, i64),
    pub(crate) tally: Tally,
    /// X18: what its goals have allocated, and may.
    words: Words,
    /// X19: it was told to stop.
    stopped: AtomicBool,
    /// Its deadlock was reported, and no goal of it was resumed since.
    pub(super) told: AtomicBool,
    /// By priority, and whether they are those of daemons.
    lanes: Mutex<FxHashMap<(i64, bool), i64>>,
    children: Mutex<FxHashMap<i64, Weak<Shoen>>>,
}

impl Shoen {
    /// One that has not begun, or stands for one of another node (`foster`).
    fn new(
        number: i64,
        parent: Option<Arc<Shoen>>,
        lane: i64,
        told: Told,
        foster: Option<u32>,
    ) -> Arc<Shoen> {
        let Told { kinds, range, depth, around } = told;
        debug_assert!(range.0 <= range.1, "X11: a range of priorities");
        debug_assert!(
            around.is_empty() || parent.is_none(),
            "X20: what is around a shoen is known in one way"
        );
        Arc::new(Shoen {
            number,
            parent,
            lane,
            depth,
            kinds,
            range,
            tally: if foster.is_some() { Tally::of_foster() } else { Tally::new() },
            foster: foster.map(AtomicU32::new),
            around,
            away: Away::new(),
            nodes: Mutex::new(BTreeSet::new()),
            has_left: AtomicBool::new(false),
            words: Words::new(),
            stopped: AtomicBool::new(false),
            told: AtomicBool::new(false),
            lanes: Mutex::new(FxHashMap::default()),
            children: Mutex::new(FxHashMap::default()),
        })
    }
    /// X21: a dead node was to be told when nothing is left. From now on it is another one, if that is so.
    pub(super) fn is_adopted(&self, dead: u32, by: u32) -> bool {
        let told = self.foster.as_ref();
        told.is_some_and(|told| told.compare_exchange(dead, by, SeqCst, SeqCst).is_ok())
    }
    /// X15: whether a shoen around it was aborted.
    fn is_aborted_around(&self) -> bool {
        let mut around = std::iter::successors(self.parent.as_ref(), |around| around.parent.as_ref());
        around.any(|around| around.tally.is_aborted())
    }
    /// The shoens that are its goals.
    pub(super) fn children(&self) -> Vec<Arc<Shoen>> {
        lock(&self.children).values().filter_map(Weak::upgrade).collect()
    }
    /// Words that its goals have allocated, those of them that wait, and shoens inside it.
    pub(crate) fn figures(&self) -> [i64; 3] {
        let words = i64::try_from(self.words.all()).unwrap_or(i64::MAX).min(term::word::INT_MAX);
        [words, self.tally.waiting(), lock(&self.children).len() as i64]
    }
    /// X19: its goals, and those inside, do not run until it is told to start. False if it was told before.
    pub(super) fn stop(&self) -> bool {
        !self.stopped.swap(true, SeqCst)
    }
    /// X19: they run again, but for what else stops them. False if it was not told to stop.
    pub(super) fn start(&self) -> bool {
        self.stopped.swap(false, SeqCst)
    }
    /// X19: whether its goals do not run.
    pub(super) fn is_stopped(&self) -> bool {
        let own = self.stopped.load(SeqCst) || self.words.is_exhausted();
        own || self.parent.as_ref().is_some_and(|parent| parent.is_stopped())
    }
    /// It and all that it is a goal of, from the inside.
    pub(super) fn outwards(self: &Arc<Shoen>) -> impl Iterator<Item = Arc<Shoen>> {
        std::iter::successors(Some(self.clone()), |shoen| shoen.parent.clone())
    }
}

/// X11: what the number of a lane means.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) shoen: Arc<Shoen>,
    /// The priority of its goals.
    pub(crate) rank: i64,
    /// X15.
    pub(crate) daemons: bool,
}

impl Lane {
    /// Whether its goals are dropped.
    pub(crate) fn is_dead(&self) -> bool {
        self.shoen.tally.is_aborted() || self.daemons && self.shoen.is_aborted_around()
    }
    /// X19: whether its goals do not run.
    pub(super) fn is_parked(&self) -> bool {
        !self.daemons && self.shoen.is_stopped()
    }
}

/// All shoens of a node.
#[derive(Debug)]
pub(crate) struct Shoens {
    /// This node, and how many there are.
    node: u32,
    all: u32,
    /// How many there were, and lanes.
    numbers: AtomicI64,
    lanes_made: AtomicI64,
    /// How often some were aborted, stopped or started: whoever sees that this has changed looks which of its goals
    /// are dropped or parked.
    orders: AtomicU64,
    /// X19: how often some were stopped.
    stops: AtomicU64,
    /// How many of those have goals that wait, since a collection has forgotten them.
    dead: AtomicU64,
    /// Some of those may have left open what is outside.
    deserted: AtomicBool,
    /// X21.
    pub(crate) losses: Losses,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    lanes: FxHashMap<i64, Arc<Lane>>,
    daemons: Daemons,
    aborted: Aborted,
    /// Those that are not over, and the end of what each has reported: a variable.
    shoens: FxHashMap<i64, (Arc<Shoen>, Word)>,
    /// X19: ready goals that are parked, by lane, as on a goal stack.
    parked: FxHashMap<i64, Vec<Word>>,
}

impl Shoens {
    pub(crate) fn new(node: u32, all: u32) -> Shoens {
        Shoens {
            node,
            all,
            numbers: AtomicI64::new(0),
            lanes_made: AtomicI64::new(0),
            orders: AtomicU64::new(0),
            stops: AtomicU64::new(0),
            dead: AtomicU64::new(0),
            deserted: AtomicBool::new(false),
            losses: Losses::new(all),
            tables: Mutex::new(Tables::default()),
        }
    }
    /// X20: the node that has made the shoen of a number.
    pub(super) fn home(&self, number: i64) -> u32 {
        number.rem_euclid(self.all.into()) as u32
    }
    /// Makes a shoen; `report` is a variable.
    pub(super) fn add(&self, parent: Option<Arc<Shoen>>, lane: i64, told: Told, report: Word) -> Arc<Shoen> {
        let number = (self.numbers.fetch_add(1, SeqCst) + 1) * i64::from(self.all) + i64::from(self.node);
        let shoen = Shoen::new(number, parent, lane, told, None);
        if let Some(parent) = &shoen.parent {
            parent.tally.hold();
            lock(&parent.children).insert(number, Arc::downgrade(&shoen));
        }
        let before = lock(&self.tables).shoens.insert(number, (shoen.clone(), report));
        debug_assert!(before.is_none(), "X12: a number is one shoen's");
        shoen
    }
    /// X20: of the shoen with this number a goal has come: what is here of it, with a holder for the goal, and whether
    /// that is new, and tells `from` its end. `None`: it is this node's `own`, and over.
    pub(super) fn hold_foster(
        &self,
        number: i64,
        own: bool,
        from: u32,
        told: Told,
    ) -> Option<(Arc<Shoen>, bool)> {
        let mut tables = lock(&self.tables);
        let known = tables.shoens.get(&number).filter(|(shoen, _)| shoen.tally.try_hold());
        if let Some((shoen, _)) = known {
            return Some((shoen.clone(), false));
        }
        if own {
            return None;
        }
        let shoen = Shoen::new(number, None, told.range.1, told, Some(from));
        tables.shoens.insert(number, (shoen.clone(), Word::NIL));
        Some((shoen, true))
    }
    /// The shoen with a number, unless it is over.
    pub(super) fn get(&self, number: i64) -> Option<Arc<Shoen>> {
        lock(&self.tables).shoens.get(&number).map(|(shoen, _)| shoen.clone())
    }
    /// All that are not over, in the order of their numbers.
    pub(super) fn all(&self) -> Vec<Arc<Shoen>> {
        let tables = lock(&self.tables);
        let mut all: Vec<_> = tables.shoens.values().map(|(shoen, _)| shoen.clone()).collect();
        all.sort_by_key(|shoen| shoen.number);
        all
    }
    /// Whether all are over.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.tables).shoens.is_empty()
    }
    /// The end of what a shoen has reported; it has another one from now on.
    pub(super) fn replace_report(&self, shoen: &Shoen, report: Word) -> Option<Word> {
        let mut tables = lock(&self.tables);
        tables.shoens.get_mut(&shoen.number).map(|(_, end)| std::mem::replace(end, report))
    }
    /// A shoen is over: the end of what it has reported. Its daemons may go on, unless it was aborted.
    pub(super) fn remove(&self, shoen: &Shoen) -> Option<Word> {
        let aborted = shoen.tally.is_aborted();
        let lanes = std::mem::take(&mut *lock(&shoen.lanes));
        let gone = lanes.iter().filter(|((_, daemons), _)| aborted || !daemons);
        let gone: Vec<i64> = gone.map(|(_, &lane)| lane).collect();
        let left = shoen.has_left.load(SeqCst) || lanes.keys().any(|(_, daemons)| *daemons);
        if left && aborted {
            self.deserted.store(true, SeqCst);
        } else if left && let Some(parent) = &shoen.parent {
            parent.has_left.store(true, SeqCst);
        }
        self.free(&gone);
        // X20: what has come since then may have another one.
        let is_it = |(known, _): &(Arc<Shoen>, Word)| std::ptr::eq(&raw const **known, shoen);
        let mut tables = lock(&self.tables);
        let known = tables.shoens.get(&shoen.number).is_some_and(is_it);
        let removed = if known { tables.shoens.remove(&shoen.number) } else { None };
        if aborted && self.all > 1 {
            tables.aborted.add(shoen.number);
        }
        drop(tables);
        if let Some(parent) = &shoen.parent {
            lock(&parent.children).remove(&shoen.number);
        }
        removed.map(|(_, report)| report)
    }
    /// What the number of a lane means; `None` if all its goals are dropped.
    pub(super) fn lane(&self, number: i64) -> Option<Arc<Lane>> {
        lock(&self.tables).lanes.get(&number).cloned()
    }
    /// The lane of a shoen's goals of this priority, or of the next one that it has.
    pub(super) fn lane_of(&self, shoen: &Arc<Shoen>, rank: i64, daemons: bool) -> i64 {
        let rank = rank.clamp(shoen.range.0, shoen.range.1);
        *lock(&shoen.lanes).entry((rank, daemons)).or_insert_with(|| {
            debug_assert!(rank > FIRST_LANE, "X11: a rank is a priority");
            let number = FIRST_LANE - self.lanes_made.fetch_add(1, SeqCst);
            let lane = Arc::new(Lane { shoen: shoen.clone(), rank, daemons });
            let mut tables = lock(&self.tables);
            if daemons && self.all > 1 {
                tables.daemons.add(shoen, number);
            }
            let before = tables.lanes.insert(number, lane);
            debug_assert!(before.is_none(), "X11: a number means one lane");
            number
        })
    }
    /// Goals of some shoens are dropped from now on.
    pub(super) fn count_abort(&self) {
        self.dead.fetch_add(1, SeqCst);
        self.orders.fetch_add(1, SeqCst);
    }
    /// X19: goals of some shoens do not run from now on.
    pub(super) fn count_stop(&self) {
        self.stops.fetch_add(1, SeqCst);
        self.orders.fetch_add(1, SeqCst);
    }
    /// X19: they do again.
    pub(super) fn count_start(&self) {
        self.orders.fetch_add(1, SeqCst);
    }
    /// Whether some shoen was ever stopped.
    #[inline]
    pub(super) fn have_stopped(&self) -> bool {
        self.stops.load(Relaxed) != 0
    }
    pub(super) fn orders(&self) -> u64 {
        self.orders.load(SeqCst)
    }
    /// X19: ready goals of a lane do not run until it is started. Whoever parks them is a holder meanwhile.
    pub(super) fn park(&self, lane: i64, goals: &[Word]) {
        debug_assert!(lane <= FIRST_LANE && !goals.is_empty(), "X19: goals of a lane are parked");
        lock(&self.tables).parked.entry(lane).or_default().extend_from_slice(goals);
    }
    /// X19: takes the goals that are parked no more, or are dropped.
    pub(super) fn take_started(&self) -> Vec<(i64, Vec<Word>)> {
        let mut tables = lock(&self.tables);
        let Tables { parked, lanes, .. } = &mut *tables;
        let stays = |lane: &Lane| lane.is_parked() && !lane.is_dead();
        parked.extract_if(|lane, _| !lanes.get(lane).is_some_and(|lane| stays(lane))).collect()
    }
    /// Of the shoens that are told of what has this bit, the one that has allocated most since the last major
    /// collection; of shoens inside each other the innermost that has allocated half of what is around it.
    pub(super) fn most_recent(&self, bit: u64) -> Option<Arc<Shoen>> {
        let tables = lock(&self.tables);
        let all = || tables.shoens.values().map(|(shoen, _)| shoen);
        let told = || all().filter(|shoen| shoen.kinds & bit != 0 && !shoen.tally.is_aborted());
        let key = |shoen: &&Arc<Shoen>| (shoen.words.recent(), shoen.number);
        let mut most = told().max_by_key(key)?.clone();
        let inside = |inner: &&Arc<Shoen>, outer: &Shoen| {
            inner.outwards().skip(1).any(|around| around.number == outer.number)
                && 2 * inner.words.recent() >= outer.words.recent()
        };
        while let Some(inner) = told().filter(|inner| inside(inner, &most)).max_by_key(key) {
            most = inner.clone();
        }
        Some(most)
    }
    /// Whether goals of shoens that were aborted may be ready yet.
    pub(super) fn are_aborting(&self) -> bool {
        lock(&self.tables).shoens.values().any(|(shoen, _)| shoen.tally.is_aborted())
    }
    /// A major collection is over: words that shoens allocate from now on are recent.
    pub(crate) fn begin_recent(&self) {
        for (shoen, _) in lock(&self.tables).shoens.values() {
            shoen.words.begin_recent();
        }
    }
    /// Whether goals may wait that are dropped; said once.
    pub(crate) fn take_dead(&self) -> bool {
        self.dead.swap(0, SeqCst) != 0
    }
    /// Whether streams of shoens that were aborted may be open.
    pub(super) fn has_deserted(&self) -> bool {
        self.deserted.load(SeqCst)
    }
    /// The same; said once.
    pub(crate) fn take_deserted(&self) -> bool {
        self.has_deserted() && self.deserted.swap(false, SeqCst)
    }
    /// The variables at the ends of all reports, and goals that are parked: roots of the collector.
    pub(crate) fn roots(&self, mut then: impl FnMut(&mut [Word])) {
        let mut tables = lock(&self.tables);
        for (_, report) in tables.shoens.values_mut() {
            then(std::slice::from_mut(report));
        }
        tables.parked.values_mut().for_each(|goals| then(goals));
    }
    /// Lanes of daemons whose shoens are over.
    pub(crate) fn left_over(&self) -> Vec<i64> {
        let tables = lock(&self.tables);
        let over = tables.lanes.iter().filter(|(_, lane)| lane.shoen.tally.is_over());
        over.map(|(&number, _)| number).collect()
    }
    /// Nothing has these lanes any more.
    pub(crate) fn free(&self, lanes: &[i64]) {
        let mut tables = lock(&self.tables);
        for &number in lanes {
            if let Some(lane) = tables.lanes.remove(&number) {
                tables.daemons.remove(&lane.shoen, number);
            }
        }
    }
    /// The run is over.
    pub(crate) fn end_run(&self) {
        *lock(&self.tables) = Tables::default();
        self.dead.store(0, SeqCst);
    }
}

/// A goal of a shoen that has failed, and was not reported yet.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(super) lane: i64,
    /// What it is if nobody is told.
    pub(super) error: Box<ProgramError>,
    pub(super) what: What,
    pub(super) predicate: PredicateId,
    pub(super) args: Vec<Word>,
    pub(super) position: Position,
}

/// What an exception is: the bit of its kind, and what reports say.
#[derive(Clone, Copy, Debug)]
pub(super) struct What {
    pub(super) bit: u64,
    pub(super) term: Word,
}

/// What is told of a shoen, at which priorities its goals run, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// The kinds of exceptions, a bit each.
    pub(crate) kinds: u64,
    /// The lowest and the highest priority.
    pub(crate) range: (i64, i64),
    /// How many shoens are around it, and it.
    pub(crate) depth: u32,
    /// X20: these, from the inside, if it is another node's.
    pub(crate) around: Box<[i64]>,
}

/// X13: what a worker had done when its running lane's goals were last counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Since {
    /// The newest record of a goal that waits.
    pub(super) newest: usize,
    pub(super) reused: u64,
    pub(super) made_ready: u64,
    pub(super) resumptions: u64,
    /// Where its nursery ended.
    pub(super) heap: usize,
}

/// What is reported of a shoen beside faults and its end.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// It was started or stopped, or has allocated what it may: an atom of this name.
    Event(&'static str),
    /// Of a foster: many words, of which the shoen's own node does not know.
    Words,
    /// The heap is full, most of it by this shoen, which is aborted.
    HeapLimit,
}

/// What one worker knows of lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub(super) here: Known,
    pub(super) since: Since,
    /// How often shoens had got orders when it last looked.
    pub(super) orders: u64,
    /// X19: it may have ready goals that are to be parked.
    pub(super) parks: bool,
    pub(super) faults: Vec<Fault>,
    /// What the builtin says that is about to fail, if that is no error.
    pub(super) raised: Option<What>,
    /// Shoens of which nothing is left, as this worker has noticed.
    pub(super) over: Vec<Arc<Shoen>>,
    /// What else is to be reported.
    pub(super) news: Vec<(Arc<Shoen>, News)>,
}

impl Lanes {
    /// What has failed holds these words: roots of the collector.
    pub(crate) fn roots(&mut self, mut then: impl FnMut(&mut [Word])) {
        for fault in &mut self.faults {
            then(&mut fault.args);
            then(std::slice::from_mut(&mut fault.what.term));
        }
    }
    /// What a lane means; `None` if its goals are dropped.
    #[inline(always)]
    pub(super) fn lane(&mut self, shoens: &Shoens, number: i64) -> Option<&mut Here> {
        if self.here.get(number).is_none() {
            return Some(self.here.insert(number, shoens.lane(number)?));
        }
        self.here.get_mut(number)
    }
    /// X11: the rank of a lane, or the priority.
    pub(crate) fn rank_of(&mut self, shoens: &Shoens, lane: i64) -> i64 {
        if lane > FIRST_LANE {
            return lane;
        }
        self.lane(shoens, lane).map_or(0, |here| here.lane.rank)
    }
    /// The lane with this number, if its goals are counted.
    pub(super) fn counted(&mut self, shoens: &Shoens, lane: i64) -> Option<Arc<Lane>> {
        if lane > FIRST_LANE {
            return None;
        }
        self.lane(shoens, lane).map(|here| here.lane.clone()).filter(|lane| !lane.daemons)
    }
    /// Whether the goals of a lane are dropped.
    pub(super) fn drops(&mut self, shoens: &Shoens, lane: i64) -> bool {
        lane <= FIRST_LANE && self.lane(shoens, lane).is_none_or(|here| here.lane.is_dead())
    }
    /// X12: goals of a lane are on their way: there is a holder more.
    pub(crate) fn send_off(&mut self, shoens: &Shoens, lane: i64) {
        if let Some(lane) = self.counted(shoens, lane) {
            lane.shoen.tally.hold();
        }
    }
    /// Whether the goals of the running lane are dropped.
    pub(crate) fn gives_up(&self, lane: i64) -> bool {
        self.here.get(lane).is_some_and(|here| here.lane.is_dead())
    }
    /// X18: the nursery is empty, and begins there.
    pub(crate) fn begin_nursery(&mut self, base: usize) {
        self.since.heap = base;
    }
    /// Whether something is to be reported.
    pub(crate) fn has_news(&self) -> bool {
        !(self.faults.is_empty() && self.over.is_empty() && self.news.is_empty())
    }
}
