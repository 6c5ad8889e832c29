//! When to collect, and how large the spaces are.
//!
//! The nursery starts at half a core's second-level cache, with several workers at twice as much. It doubles while much of it survives (then a larger one gives objects
//! more time to die), and shrinks again when little does for long. Those who fill their nurseries share twice what one alone would have, or
//! half of what is live, but none gets less than the nursery that it started with. What survives its second collection goes to old space, unless so little is young
//! that to copy it each time costs nothing: a stream of which one cons is old keeps all later ones alive until a major collection. Where nearly all that
//! survives once survives again, it goes to old space at once, and where much of it has died by then, nurseries go on growing ([`Ageing`]). A major collection comes when old and large
//! objects have doubled since the last one, or tripled if that found nearly all of them alive. Running out means that live data alone exceeds what was allowed.

use crate::collect::{Ages, Collection, Part, Plan};
use crate::coordination::team::Sharers;
use crate::memory::nursery::{LARGE_WORDS, NURSERY_MAX, NURSERY_MIN};
use crate::memory::ranges::at;
use crate::memory::spaces::{MAJOR_MIN, NURSERY_RANGE};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::reports::statistics::{self as noted, Collected, Share};
use crate::reports::trace::What;
use crate::worker::Worker;
use crate::worker::all::{Shared, lock};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Survival (in percent of the nursery) above which the nursery doubles.
const GROW_PERCENT: usize = 20;
/// Survival below which it may shrink.
const SHRINK_PERCENT: usize = 3;
/// So many collections in a row with little survival shrink it.
const SHRINK_AFTER: u32 = 16;
/// A worker that used less than one part in so many of its nursery allocates little.
const LITTLE: usize = 8;
/// Words from which on several workers copy them: if each has a processor, so that those who are stopped need not be woken, and otherwise.
const SHARED_FROM: usize = 1024;
const SHARED_FROM_IN_TURNS: usize = 16384;
/// Those who rest are woken for what takes one collector so long: by time, because a long list is copied five times as fast as small objects here
/// and there.
const WOKEN_FROM: Duration = Duration::from_micros(400);
/// What has survived stays young while it (and all that is looked at again because of it) is less than one part in so many of what was allocated.
const KEPT_SHARE: usize = 32;
/// What a record of a waiting goal takes, about.
const RECORD_BYTES: usize = 64;
/// What a root stands for in memory: its word, and the timer or descriptor that somebody waits for.
const ROOT_BYTES: usize = 64;

/// So much (in percent) of what has survived once must survive again if it is to go to old space at once,
const AGAIN_PERCENT: usize = 80;
/// for so many collections; then it is asked again.
const AT_ONCE: u32 = 16;
/// So much of old space must have been alive when it was seen as a whole.
const LASTING_PERCENT: usize = 25;
/// Bytes of all nurseries together as long as larger ones are seen to pay, unless half of what is old is more.
const NURSERIES_MAX: usize = 2 * NURSERY_RANGE;

/// When what survives goes to old space. Where a large structure is made, nearly all survives: there it goes at once, and so is copied once and not
/// twice. But what goes there and dies soon keeps alive what it leads to, until a major collection. Where all that is live is replaced now and then,
/// as in a network of processes that send to each other, it depends on the size of nurseries what dies young: so it is not asked before they are as large as they
/// otherwise get, and while they grow beyond that nothing becomes old.
#[derive(Debug)]
struct Ageing {
    last: Ages,
    /// So many further collections send it there at once.
    at_once: u32,
    /// The last major collection found old space alive: not much less than a third of it, the least that it finds where live data do not grow, since it comes
    /// when old space has doubled or tripled.
    lasting: bool,
    /// Much of what had survived once had died by the next collection. It would not survive in larger nurseries, so they grow.
    dies_later: bool,
}

impl Ageing {
    const NEW: Ageing = Ageing { last: Ages::First, at_once: 0, lasting: true, dies_later: false };
    /// Before a collection; `little` is young. When the heap is checked, all ways have their turn. A major collection may end what kept things alive
    /// that are dead, so it lets nothing become old that is new.
    fn next(&mut self, major: bool, little: bool, checked: bool) -> Ages {
        self.last = match self.last {
            Ages::Never if checked => Ages::Second,
            Ages::Second if checked => Ages::First,
            _ if checked => Ages::Never,
            _ if self.at_once > 0 && !major => Ages::First,
            _ if little || self.dies_later => Ages::Never,
            _ => Ages::Second,
        };
        self.last
    }
    /// After a minor collection of so many words of nurseries (which are `full`: they have no more room to grow) and of what had survived before, which copied
    /// some, and some of them to old space.
    fn seen(&mut self, full: bool, used: usize, survivors: usize, (copied, old): (usize, usize)) {
        let much = |words: usize| words * 100 >= used * GROW_PERCENT;
        match self.last {
            Ages::First if much(copied) => self.at_once = self.at_once.saturating_sub(1),
            Ages::First => self.at_once = 0,
            Ages::Second if full && much(survivors) => {
                self.dies_later = old * 100 < survivors * AGAIN_PERCENT;
                self.at_once = if self.lasting && !self.dies_later { AT_ONCE } else { 0 };
            }
            _ => {}
        }
    }
    /// After a major collection: so many words were old before, and are now. Then it is asked again.
    fn all_seen(&mut self, before: usize, now: usize) {
        self.lasting = now * 100 >= before * LASTING_PERCENT;
        self.at_once = 0;
    }
}

/// What is remembered from one collection to the next.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Bytes of the nursery of a worker that fills it: at least, and now.
    least: usize,
    nursery: usize,
    /// Bytes of all nurseries together otherwise, unless half of what is old is more.
    most: usize,
    /// Collections in a row after which little was left.
    quiet_collections: u32,
    /// Nurseries begin to grow beyond `most`. What became old before may be dead, and keep alive what follows it: the next collection is a major one.
    major_wanted: bool,
    ageing: Ageing,
    /// Words that the last minor collection copied, and how long that took all collectors together: the next one is expected to be like it.
    copied: usize,
    took: Duration,
}

impl Policy {
    pub(crate) fn new(workers: usize) -> Policy {
        // To stop several workers, and to fetch what others made, costs more than to miss the cache now and then.
        let (least, most) =
            if workers > 1 { (2 * NURSERY_MIN, NURSERY_MAX) } else { (NURSERY_MIN, NURSERY_MAX / 2) };
        Policy {
            least,
            nursery: least,
            most,
            quiet_collections: 0,
            major_wanted: false,
            ageing: Ageing::NEW,
            copied: 0,
            took: Duration::ZERO,
        }
    }
}

/// Collects, led by worker `me`, while everybody else is stopped or rests: then every worker has the room that it needs. The worker has
/// waited for the others since `wanted`.
pub(crate) fn collect(shared: &Shared, me: usize, wanted: Instant) {
    let (crew, spaces) = (shared.crew(), &shared.spaces);
    let start = Instant::now();
    let due = |worker: &mut Worker| worker.heap_bytes() > spaces.major_threshold() || worker.room() == 0;
    let (mut used, mut busy, mut major) = (0, 0, crew.with(me, due));
    let (nursery, expected) = {
        let mut policy = lock(&shared.policy);
        // It costs little while little is old.
        major |= std::mem::take(&mut policy.major_wanted) && spaces.old_bytes() < MAJOR_MIN;
        (policy.nursery, (policy.copied, policy.took))
    };
    let (mut kept, mut survivors, mut reused) = (0, 0, 0);
    crew.each(|worker| {
        let bytes = worker.nursery_used();
        worker.statistics.words_allocated += bytes as u64 / 8;
        used += bytes;
        reused += worker.abi.reused as usize;
        kept += worker.kept_words();
        survivors += worker.heap.survivor_words();
        busy += usize::from(bytes >= nursery / LITTLE);
        major |= std::mem::take(&mut worker.major_wanted);
        worker.collection_wanted = false;
    });
    // What is young is copied each time, which is compared with the work done meanwhile; records that were used again are part of that.
    let work = used + reused * RECORD_BYTES;
    let little = kept <= work / 8 / KEPT_SHARE;
    let checked = crew.with(me, |worker| worker.options.check_heap);
    let ages = lock(&shared.policy).ageing.next(major, little, checked);
    let before = (old_words(shared), crew.with(me, |worker| worker.heap_bytes()));
    let plan = Plan { major, ages, nursery_bytes: nursery };
    let anybody = |sharers: &Sharers| *sharers == Sharers::Everybody || shared.team.stopped_any();
    let collection = match sharers(major, expected, crew.len() <= shared.processors).filter(anybody) {
        Some(sharers) if crew.len() > 1 => {
            let collection = Arc::new(Collection::new(crew, plan, true));
            *lock(&shared.collection) = Some(collection.clone());
            shared.team.open_share(me, sharers, shared.processors - 1);
            take_part(shared, &collection, me);
            shared.noted(me, || shared.team.wait_shares(me), |()| What::Waiting);
            *lock(&shared.collection) = None;
            collection
        }
        _ => {
            let collection = Arc::new(Collection::new(crew, plan, false));
            take_part(shared, &collection, me);
            collection
        }
    };
    let parts = collection.end(crew);
    let copied: usize = parts.iter().map(|part| part.words).sum();
    let took = parts.iter().map(|part| part.busy).sum();
    let pause = start.elapsed();
    spaces.set_limits(major.then(|| (before.1, crew.with(me, |worker| worker.heap_bytes()))));
    let kind = if major { Collected::Everything } else { Collected::Young };
    for part in &parts {
        let counters = (part.words, part.scanned);
        crew.with(part.collector, |worker| worker.statistics.copied(kind, counters));
    }
    let stop = start - wanted;
    crew.with(me, |worker| {
        let stop = (crew.len() > 1).then_some(stop);
        worker.statistics.collected(kind, pause, stop);
        worker.statistics.bytes_peak = worker.statistics.bytes_peak.max(spaces.old_bytes());
    });
    shared.note_collection(me, start, major, copied);
    let nursery = {
        let mut policy = lock(&shared.policy);
        if major {
            policy.ageing.all_seen(before.0, old_words(shared));
            nursery
        } else {
            let share = |bytes: usize| {
                (bytes.min(spaces.bytes_max() / 8) / busy.max(1)).clamp(NURSERY_MIN, NURSERY_RANGE)
            };
            let most = share(policy.most.max(spaces.old_bytes() / 2));
            let largest = share(NURSERIES_MAX).max(most);
            let old_words = parts.iter().map(|part| part.old_words).sum();
            policy.ageing.seen(nursery >= most, used / 8, survivors, (copied, old_words));
            // Of several workers' nurseries little that survives may be needed: a stream of which one cons is old lives. One worker gains by larger ones.
            let grown_for = if crew.len() > 1 { work } else { used };
            policy.collected((copied, took), grown_for, (most, largest))
        }
    };
    if major {
        crew.each(Worker::give_goals_back);
        crew.with(me, Worker::check_heap_limit);
    }
    crew.each(|worker| {
        // Who allocates little gets no more than it may need, so that many workers do not take much memory for nothing.
        let enough = if worker.index == me { nursery } else { worker.nursery_used() * LITTLE };
        worker.empty_nursery(enough.clamp(NURSERY_MIN, nursery));
    });
    if crew.with(0, |worker| worker.collections.is_some()) {
        note(shared, kind, &parts, pause, stop);
    }
    crew.with(me, |worker| {
        if worker.options.check_heap {
            crate::collect::check::check_heap(crew, worker);
        }
    });
}

/// Who takes part in a collection beside its leader. What is copied faster than others can be told of it is copied by one, and those who
/// rest are woken for long work only.
fn sharers(major: bool, (words, time): (usize, Duration), processor_each: bool) -> Option<Sharers> {
    let shared_from = if processor_each { SHARED_FROM } else { SHARED_FROM_IN_TURNS };
    if major || time >= WOKEN_FROM {
        Some(Sharers::Everybody)
    } else {
        (words >= shared_from).then_some(Sharers::Stopped)
    }
}

/// A worker's part in a collection.
pub(crate) fn take_part(shared: &Shared, collection: &Collection, me: usize) {
    let part = || collection.take_part(shared.crew(), me);
    if collection.shared {
        shared.noted(me, part, |&words| What::Copying { words });
    } else {
        part();
    }
}

/// Words of old space and large objects in use.
fn old_words(shared: &Shared) -> usize {
    let mut unfilled = 0;
    shared.crew().each(|worker| unfilled += (worker.heap.old.end - worker.heap.old.start) / 8);
    shared.spaces.old_bytes() / 8 - unfilled
}

/// Notes a collection. Walks the records of waiting goals, and so is called only if somebody asked for it.
#[cold]
fn note(shared: &Shared, kind: Collected, parts: &[Part], pause: Duration, stop: Duration) {
    let (mut ready_words, mut waiting_words, mut young_words) = (0, 0, 0);
    shared.crew().each(|worker| {
        ready_words += worker.ready_words();
        waiting_words += worker.waiting_words();
        young_words += worker.heap.survivor_words();
    });
    let heap_words = young_words + old_words(shared);
    let ended = Instant::now();
    let shares: Vec<Share> = parts.iter().map(Part::share).collect();
    let words_copied = shares.iter().map(|share| share.words_copied).sum();
    let collection = noted::Collection {
        kind,
        ended,
        pause,
        stop,
        words_copied,
        heap_words,
        ready_words,
        waiting_words,
        shares,
    };
    shared.crew().with(0, |worker| worker.collections.get_or_insert_default().push(collection));
}

impl Policy {
    /// After a minor collection that copied so many words and took so long, of `used` bytes of all nurseries. A nursery may have so many bytes, and so many if that is
    /// seen to pay; answers how many it gets.
    fn collected(
        &mut self,
        (copied, took): (usize, Duration),
        used: usize,
        (most, largest): (usize, usize),
    ) -> usize {
        (self.copied, self.took) = (copied, took);
        let (survived, before) = (copied * 8, self.nursery);
        let most = match self.ageing {
            Ageing { dies_later: true, .. } => largest,
            Ageing { at_once: 1.., .. } => most,
            _ => before.clamp(most, largest),
        };
        if used >= before / 2 && survived * 100 > used * GROW_PERCENT {
            self.quiet_collections = 0;
            self.nursery *= 2;
        } else if survived * 100 < used * SHRINK_PERCENT {
            self.quiet_collections += 1;
            if self.quiet_collections >= SHRINK_AFTER {
                self.quiet_collections = 0;
                self.nursery = (self.nursery / 2).max(self.least);
            }
        } else {
            self.quiet_collections = 0;
        }
        self.nursery = self.nursery.min(most);
        self.ageing.dies_later &= self.nursery > before;
        // Nothing becomes old from now on while they grow.
        self.major_wanted = self.ageing.dies_later && self.ageing.last == Ages::Second;
        self.nursery
    }
}

impl Worker {
    /// Bytes of its nursery in use.
    pub(crate) fn nursery_used(&self) -> usize {
        self.abi.heap as usize - self.heap.nursery()
    }
    /// After a collection: the nursery is empty, and holds what the next reduction needs.
    pub(crate) fn empty_nursery(&mut self, bytes: usize) {
        self.heap.settle_promise(usize::MAX);
        let (base, keep) = (self.heap.nursery(), bytes.max(NURSERY_MAX));
        if self.nursery_used().max(self.heap.nursery_bytes) > keep {
            self.heap.spaces.discard(base + keep, base + NURSERY_RANGE);
        }
        self.heap.nursery_bytes = bytes;
        self.abi.heap = at(base);
        self.limit = self.first_limit();
        self.collected = true;
        self.soon = usize::MAX;
        self.goals.seen.forget();
        // The worker attends again before it reduces.
        self.abi.want_attention();
        self.set_private_base(base);
    }
    /// After a major collection: ends the program if there is less than a tenth to spare. Collections would take nearly all the time.
    fn check_heap_limit(&mut self) {
        let (bytes, most) = (self.bytes_in_use(), self.heap.spaces.bytes_max());
        if bytes <= most - most / 10 {
            return;
        }
        let mebibytes = |bytes: usize| bytes.div_ceil(1 << 20);
        let mut message = format!(
            "the heap limit of {} MiB is reached: {} MiB are in use",
            mebibytes(most),
            mebibytes(bytes)
        );
        let goals = self.shared.goal_bytes.load(Relaxed);
        if goals >= most / 10 {
            message += &format!(", {} MiB of them by goals that are ready", mebibytes(goals));
        }
        self.end_with(ProgramError::new(ErrorKind::HeapLimit, message));
    }
    /// Whether `words` more words may be allocated at once; the error says why not. Builtins ask before they make an object
    /// whose size a program chooses. Nobody else is promised the same room.
    pub fn ensure(&mut self, words: usize) -> Result<(), Box<ProgramError>> {
        self.heap.settle_promise(usize::MAX);
        let bytes = words.saturating_mul(8);
        if bytes <= self.room() {
            if words <= LARGE_WORDS {
                return Ok(());
            }
            let by_others = self.heap.promise(bytes);
            if self.bytes_in_use() + by_others + bytes <= self.heap.spaces.bytes_max() {
                return Ok(());
            }
            self.heap.settle_promise(bytes);
        }
        self.refused = bytes <= self.heap.spaces.bytes_max();
        let limit = self.heap.spaces.bytes_max() >> 20;
        let message = format!("an object of {words} words does not fit into the heap limit of {limit} MiB");
        Err(ProgramError::new(ErrorKind::HeapLimit, message))
    }
    /// Words that a minor collection looks at because they are still young, or lead to something that is.
    fn kept_words(&self) -> usize {
        let goals = (self.abi.goals as usize - self.goals.clean) / 8;
        self.heap.survivor_words() + self.heap.remembered.len() + self.registry.young.len() + goals
    }
    /// Bytes that are left until the heap limit is reached.
    pub(crate) fn room(&self) -> usize {
        let spaces = &self.heap.spaces;
        spaces.bytes_max().saturating_sub(self.bytes_in_use() + spaces.promised())
    }
    /// Bytes that count against the heap limit.
    fn bytes_in_use(&self) -> usize {
        self.heap_bytes() + self.shared.goal_bytes.load(Relaxed)
    }
    /// Bytes of the heap outside the young regions, and of what the node keeps beside the heap because the program wants it
    /// kept.
    fn heap_bytes(&self) -> usize {
        let kept = self.shared.kept.load(Relaxed) + self.roots.len() * ROOT_BYTES;
        self.heap.spaces.old_bytes() + self.atoms.bytes() + kept + self.abroad.bytes()
    }
    /// Makes the next collection a major one, and soon.
    pub fn collect_soon(&mut self) {
        self.major_wanted = true;
        self.collection_wanted = true;
        self.abi.want_attention();
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use term::Word;
    use term::word::Tag;

    /// Of a stream nobody keeps anything but the end. That a cons was old keeps what comes later alive, but only until a major collection.
    #[test]
    fn a_stream_that_was_old_once_is_forgotten() {
        let mut builder = Builder::with(1, None);
        let worker = builder.node.worker();
        worker.options.check_heap = false;
        let tail = worker.new_variable();
        let list = worker.list(&[Word::NIL], tail);
        let mut last = worker.root(list);
        // So much survives at first that the first cons is promoted.
        let much = worker.list(&[Word::NIL; 5000], Word::NIL);
        let mut much = Some(worker.root(much));
        let mut copied = Vec::new();
        for round in 0..12 {
            let worker = builder.node.worker();
            let mut list = worker.take_root(last);
            for number in 0..if round < 3 { 0 } else { 1000 } {
                let tail = worker.new_variable();
                let next = worker.list(&[Word::small(number)], tail);
                worker.unify(Word::pointer(Tag::Ref, list.address() + 8), next);
                list = next;
            }
            if round == 3 {
                much.take().map(|root| worker.take_root(root));
            }
            worker.list(&[Word::NIL; 1000], Word::NIL);
            last = worker.root(list);
            worker.major_wanted = round == 8;
            let before = worker.statistics.words_copied();
            builder.node.collect(0);
            copied.push(builder.node.worker().statistics.words_copied() - before);
        }
        assert!(copied[7] > 1000 && copied[8..].iter().all(|&words| words < 100), "{copied:?}");
    }

    #[test]
    fn a_major_collection_that_found_nearly_all_alive_is_not_repeated_soon() {
        let mut builder = Builder::with(1, None);
        let spaces = &builder.node.worker().heap.spaces;
        let next = |before, live| {
            spaces.set_limits(Some((before, live)));
            spaces.major_threshold()
        };
        let (few, many) = (crate::memory::spaces::MAJOR_MIN, 4 * crate::memory::spaces::MAJOR_MIN);
        assert_eq!(next(few, few / 8), few);
        assert_eq!(next(many, many / 2), many);
        assert_eq!(next(many, many / 4 * 3), many / 2 * 3);
        assert_eq!(next(many, many / 5 * 4), many / 5 * 12);
        // A minor one changes nothing.
        spaces.set_limits(None);
        assert_eq!(spaces.major_threshold(), many / 5 * 12);
        assert_eq!(next(spaces.bytes_max(), spaces.bytes_max()), spaces.bytes_max());
    }

    /// What is made in each round is kept for so many rounds: words made, and copied by minor collections. Nurseries may not grow.
    fn copied_of(rounds: usize, kept_for: usize) -> (u64, u64) {
        let mut builder = Builder::with(1, None);
        builder.node.worker().options.check_heap = false;
        {
            let mut policy = lock(&builder.node.worker().shared.policy);
            policy.nursery = policy.most;
        }
        let mut kept = std::collections::VecDeque::new();
        let before = builder.node.worker().statistics.words_copied();
        for _ in 0..rounds {
            let worker = builder.node.worker();
            let list = worker.list(&[Word::NIL; 1500], Word::NIL);
            kept.push_back(worker.root(list));
            if kept.len() > kept_for {
                kept.pop_front().map(|root| worker.take_root(root));
            }
            builder.node.collect(0);
        }
        (3000 * rounds as u64, builder.node.worker().statistics.words_copied() - before)
    }
    #[test]
    fn what_is_to_stay_is_copied_once_and_what_dies_young_is_not_promoted() {
        let (made, copied) = copied_of(100, usize::MAX);
        assert!(copied > made && 2 * copied < 3 * made, "{copied} words of {made}");
        // All of it survives one collection, and dies before the second: that is copied once, but to the survivor area.
        let (made, copied) = copied_of(100, 1);
        assert!(copied <= made + 3000, "{copied} words of {made}");
    }

    #[test]
    fn what_survives_goes_to_old_space_at_once_where_it_survives_again() {
        let mut ageing = Ageing::NEW;
        let minor = |ageing: &mut Ageing, again: usize| {
            let ages = ageing.next(false, false, false);
            let survivors = if ages == Ages::Second { 500 } else { 0 };
            ageing.seen(true, 1000, survivors, (400 + survivors * again / 100, survivors * again / 100));
            // There is no room to grow.
            ageing.dies_later = false;
            ages
        };
        let at_once =
            |ageing: &mut Ageing, again| (0..180).filter(|_| minor(ageing, again) == Ages::First).count();
        assert_eq!(at_once(&mut ageing, AGAIN_PERCENT - 1), 0);
        assert!(at_once(&mut ageing, AGAIN_PERCENT) > 150);
        // Most of what went there had died.
        ageing.all_seen(1000, 10 * LASTING_PERCENT - 1);
        assert_eq!(at_once(&mut ageing, 100), 0);
        ageing.all_seen(1000, 10 * LASTING_PERCENT);
        assert!(at_once(&mut ageing, 100) > 150);
        // Little survives.
        ageing.at_once = AT_ONCE;
        assert_eq!(ageing.next(false, false, false), Ages::First);
        ageing.seen(true, 1000, 0, (100, 100));
        assert_eq!(ageing.next(false, false, false), Ages::Second);
        // Small nurseries tell nothing.
        ageing.seen(false, 1000, 500, (900, 500));
        assert_eq!(ageing.next(false, false, false), Ages::Second);
    }

    /// The largest nursery, and how often the policy wanted a major collection, if of the nursery and of what had survived so many bytes survive.
    fn grown(survive: impl Fn(usize, usize) -> (usize, usize)) -> (usize, usize) {
        let mut policy = Policy::new(1);
        let most = policy.most;
        let (mut survivors, mut majors) = (0, 0);
        for _ in 0..100 {
            let used = policy.nursery;
            let ages = policy.ageing.next(false, false, false);
            let (new, again) = survive(used, survivors);
            let (copied, old) = match ages {
                Ages::First => (new + again, new + again),
                Ages::Second => (new + again, again),
                Ages::Never => (new + again, 0),
            };
            policy.ageing.seen(used >= most, used / 8, survivors / 8, (copied / 8, old / 8));
            policy.collected((copied / 8, Duration::ZERO), used, (most, NURSERY_RANGE));
            survivors = copied - old;
            majors += usize::from(std::mem::take(&mut policy.major_wanted));
        }
        (policy.nursery, majors)
    }
    #[test]
    fn nurseries_grow_on_where_what_survives_dies_later() {
        let most = Policy::new(1).most;
        // Only the last words are alive: they die while a larger nursery is filled.
        let live = most / 4 * 3;
        let last = |used: usize, survivors: usize| (used.min(live), live.saturating_sub(used).min(survivors));
        assert_eq!(grown(last), (4 * most, 1));
        // More than a nursery can ever hold.
        let live = 4 * NURSERY_RANGE;
        let last = |used: usize, survivors: usize| (used.min(live), live.saturating_sub(used).min(survivors));
        assert_eq!(grown(last), (most, 0));
        // A large structure is made.
        assert_eq!(grown(|used, survivors| (used / 3, survivors)), (most, 0));
        // Little survives.
        assert_eq!(grown(|used, _| (used / 8, 0)), (Policy::new(1).least, 0));
    }
}
