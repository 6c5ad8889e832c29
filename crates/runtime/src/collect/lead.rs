//! Leading a collection: what is in use before it, which workers take part, and what every worker gets afterwards.
//! The rules are in `state`.

use crate::builtins::io;
use crate::collect::room::InUse;
use crate::collect::state::{Plan, older, sharers};
use crate::collect::{Collection, Part};
use crate::coordination::schedule::{now, since};
use crate::coordination::sync::lock;
use crate::coordination::team::Sharers;
use crate::memory::ranges::at;
use crate::memory::tuning::{
    IDLE_NURSERY_PART, MAJOR_MIN, NURSERY_MAX, NURSERY_MIN, NURSERY_RANGE, RECORD_BYTES, STAYS_YOUNG_PART,
};
use crate::reports::statistics::{self as noted, Collected, Share};
use crate::reports::trace::What;
use crate::worker::Worker;
use crate::worker::all::{Shared, SharedWork};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lanes of shoens that are over that are kept until somebody looks which are needed.
const LANES_KEPT: usize = 64;

/// What the workers have in use when a collection begins.
struct Before {
    /// It must be a major one: a worker asked for it, or old space has reached its threshold.
    major: bool,
    /// Bytes that each nursery may have.
    nursery: usize,
    /// Words that the last collection copied, and time that it took.
    expected: (usize, Duration),
    /// Bytes of all nurseries in use.
    used: usize,
    /// Workers that filled a part of their nursery that is worth to be counted.
    busy: usize,
    /// Bytes that the one of them that filled least has in use.
    least: usize,
    /// Nobody had to be stopped: the leader is alone, or all others rest.
    alone: bool,
    /// Words of survivor areas.
    survivors: usize,
    /// Bytes of allocation and of records that were used again since the last collection.
    work: usize,
    /// Few words are young already.
    little: bool,
    /// Words of old space and large objects, and bytes of the heap.
    old: (usize, usize),
}

impl Before {
    fn look(shared: &Shared, me: usize) -> Before {
        let (crew, spaces) = (shared.crew(), &shared.spaces);
        let due = |worker: &mut Worker| worker.heap_bytes() > spaces.major_threshold() || worker.room() == 0;
        let (mut used, mut busy, mut major) = (0, 0, crew.with(me, due));
        let (nursery, expected) = {
            let mut policy = lock(&shared.policy);
            // It costs little while little is old.
            major |= std::mem::take(&mut policy.major_wanted) && spaces.old_bytes() < MAJOR_MIN;
            (policy.nursery, (policy.copied, policy.took))
        };
        let (mut kept, mut survivors, mut reused, mut least) = (0, 0, 0, 0);
        crew.each(|worker| {
            let bytes = worker.nursery_used();
            worker.statistics.words_allocated += bytes as u64 / 8;
            used += bytes;
            reused += worker.abi.reused as usize;
            kept += worker.kept_words();
            survivors += worker.heap.survivor_words();
            if bytes >= nursery / IDLE_NURSERY_PART {
                busy += 1;
                least = if busy == 1 { bytes } else { bytes.min(least) };
            }
            major |= worker.wanted.begin_collection();
        });
        let in_use = crew.with(me, |worker| worker.heap_bytes());
        major |= lock(&shared.policy).early_major_is_due(used, in_use);
        major |= InUse::now(shared, used).is_tight(spaces.bytes_max());
        // What is young is copied each time, which is compared with the work done meanwhile; records that were used
        // again are part of that.
        let work = used + reused * RECORD_BYTES;
        let little = kept <= work / 8 / STAYS_YOUNG_PART;
        let old = (old_words(shared), in_use);
        let alone = crew.with(me, |worker| worker.is_alone());
        Before { major, nursery, expected, used, busy, least, alone, survivors, work, little, old }
    }
    fn plan(&self, shared: &Shared, checked: bool) -> Plan {
        let ages = lock(&shared.policy).ageing.next(self.major, self.little, checked);
        let older = if self.major { 0 } else { older(self.nursery, self.least, checked) };
        Plan { major: self.major, ages, nursery_bytes: self.nursery, older }
    }
    /// Tells the policy what the collection did. Answers the bytes that a nursery gets now.
    fn next_nursery(&self, shared: &Shared, me: usize, done: &Done) -> usize {
        let (crew, spaces) = (shared.crew(), &shared.spaces);
        if self.major {
            let live = crew.with(me, |worker| worker.heap_bytes());
            spaces.set_limits(Some((self.old.1, live)));
            let mut policy = lock(&shared.policy);
            policy.all_collected(live);
            policy.ageing.all_seen(self.old.0, old_words(shared));
            return self.nursery;
        }
        spaces.set_limits(None);
        let mut policy = lock(&shared.policy);
        let share = |bytes: usize| {
            (bytes.min(spaces.bytes_max() / 8) / self.busy.max(1)).clamp(NURSERY_MIN, NURSERY_RANGE)
        };
        let old = spaces.old_bytes();
        let most = share(policy.most.max(old.saturating_sub(MAJOR_MIN).min(old / 2)));
        let largest = share(policy.paying).max(most);
        let again = done.parts.iter().map(|part| part.again).sum();
        policy.ageing.seen(self.nursery >= most, self.used / 8, self.survivors, (done.copied, again));
        // Of several workers' nurseries little that survives may be needed: a stream of which one cons is old lives.
        // One worker gains by larger ones.
        let grown_for = if crew.len() > 1 { self.work } else { self.used };
        policy.collected((done.copied, done.took), grown_for, self.alone, (most, largest))
    }
}

/// What a collection did.
struct Done {
    parts: Vec<Part>,
    /// Words that all workers copied.
    copied: usize,
    /// Time that they took, added.
    took: Duration,
    /// X17 of `shoen`.
    lost: Vec<usize>,
}

/// Collects, led by worker `me`, while everybody else is stopped or rests: then every worker has the room that it
/// needs. The worker has waited for the others since `wanted`.
pub(crate) fn collect(shared: &Shared, me: usize, wanted: Instant) {
    let crew = shared.crew();
    let start = now();
    let before = Before::look(shared, me);
    if before.major && shared.shoens.take_dead() {
        crew.each(Worker::forget_dead);
    }
    let checked = crew.with(me, |worker| worker.options.check_heap);
    let done = carry_out(shared, me, before.plan(shared, checked), &before);
    let (pause, stop) = (since(start), start - wanted);
    let nursery = before.next_nursery(shared, me, &done);
    let kind = if before.major { Collected::Everything } else { Collected::Young };
    for part in &done.parts {
        let counters = (part.words, part.scanned);
        crew.with(part.collector, |worker| worker.statistics.copied(kind, counters));
    }
    crew.with(me, |worker| {
        let stop = (crew.len() > 1).then_some(stop);
        worker.statistics.collected(kind, pause, stop);
        worker.statistics.bytes_peak = worker.statistics.bytes_peak.max(shared.spaces.old_bytes());
    });
    shared.note_collection(me, start, before.major, done.copied);
    shared.show_collection(before.major, pause + stop);
    begin_again(shared, me, nursery, before.major);
    if crew.with(0, |worker| worker.collections.is_some()) {
        note(shared, kind, &done.parts, pause, stop);
    }
    if before.major {
        free_lanes(shared);
    }
    if checked {
        crew.with(me, |worker| crate::collect::check::check_heap(crew, worker));
    }
    if !done.lost.is_empty() {
        crew.with(me, |worker| worker.tell_shoens(&done.lost, None));
    }
}

/// X15 of `shoen`: forgets lanes of daemons that are no more, if there are many.
fn free_lanes(shared: &Shared) {
    let mut lanes = shared.shoens.left_over();
    if lanes.len() < LANES_KEPT {
        return;
    }
    let mut used = FxHashSet::default();
    shared.crew().each(|worker| {
        worker.lanes_in_use(&mut used);
        used.extend(io::lanes(worker));
    });
    lanes.retain(|lane| !used.contains(lane));
    shared.shoens.free(&lanes);
}

/// Carries `plan` out, alone or with the workers that are worth to be told of it.
fn carry_out(shared: &Shared, me: usize, plan: Plan, before: &Before) -> Done {
    let crew = shared.crew();
    let anybody = |sharers: &Sharers| *sharers == Sharers::Everybody || shared.team.stopped_any();
    let sharers = sharers(before.major, before.expected, before.busy, crew.len() <= shared.processors);
    let collection = match sharers.filter(anybody) {
        Some(sharers) if crew.len() > 1 && !(before.major && looks_alone(shared)) => {
            let collection = Arc::new(Collection::new(crew, plan, true));
            *lock(&shared.work) = Some(collection.clone());
            shared.team.open_share(me, sharers, shared.processors - 1);
            SharedWork::take_part(&*collection, shared, me);
            shared.noted(me, || shared.team.wait_shares(me), |()| What::Waiting);
            *lock(&shared.work) = None;
            collection
        }
        _ => {
            let collection = Arc::new(Collection::new(crew, plan, false));
            SharedWork::take_part(&*collection, shared, me);
            collection
        }
    };
    debug_assert!(lock(&shared.work).is_none(), "T9: a share that nobody has closed");
    let parts = collection.end(crew);
    let copied = parts.iter().map(|part| part.words).sum();
    let took = parts.iter().map(|part| part.busy).sum();
    Done { parts, copied, took, lost: collection.take_lost() }
}

/// Whether a major collection looks at more than what is reached: that is done by whoever leads it.
fn looks_alone(shared: &Shared) -> bool {
    !shared.shoens.is_empty() || shared.crew().with(0, |worker| worker.abroad.has_order())
}

/// Gives every worker an empty nursery: the leader, worker `me`, one of `nursery` bytes.
fn begin_again(shared: &Shared, me: usize, nursery: usize, major: bool) {
    let (crew, spaces) = (shared.crew(), &shared.spaces);
    if major {
        crew.each(Worker::give_goals_back);
    }
    let in_use = InUse::now(shared, 0);
    let share = in_use.share(spaces.bytes_max(), crew.len());
    if major {
        let hopes = crew.with(0, |worker| worker.abroad.hopes());
        crew.with(me, |worker| worker.check_heap_limit(in_use, hopes));
        if share < NURSERY_RANGE {
            spaces.give_fragments_back();
        }
    }
    crew.each(|worker| {
        // A worker that allocates little gets ever less: many workers shall not take much memory for nothing. Not at
        // once: of two that allocate in turn each would always begin with the least.
        let had = worker.heap.nursery_end() - worker.heap.nursery();
        let enough = (worker.nursery_used() * IDLE_NURSERY_PART).max(had / 2);
        let enough = if worker.index == me { nursery } else { enough };
        worker.empty_nursery(enough.clamp(NURSERY_MIN, nursery).min(share), share);
        worker.heap.give_survivors_back(share);
    });
}

impl SharedWork for Collection {
    fn take_part(&self, shared: &Shared, me: usize) {
        let part = || self.collector(shared.crew(), me);
        if self.shared {
            shared.noted(me, part, |&words| What::Copying { words });
        } else {
            part();
        }
    }
}

/// Words of old space and large objects in use.
fn old_words(shared: &Shared) -> usize {
    let mut unfilled = 0;
    shared.crew().each(|worker| unfilled += (worker.heap.old.end - worker.heap.old.start) / 8);
    debug_assert!(8 * unfilled <= shared.spaces.old_bytes(), "what is left of blocks is more than they are");
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
    let ended = now();
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

impl Worker {
    /// After a collection: the nursery is empty, and holds `bytes` and what the next reduction needs. It keeps the
    /// pages of a larger one for later, but of no more than `share` bytes.
    pub(crate) fn empty_nursery(&mut self, bytes: usize, share: usize) {
        self.heap.settle_promise(usize::MAX);
        let (base, used) = (self.heap.nursery(), self.nursery_used());
        self.heap.empty_nursery(bytes, used, bytes.max(NURSERY_MAX.min(share)));
        debug_assert!(!self.has_resumed(), "F5: the goals would be of before the collection");
        self.sharing.begin_nursery(self.abi.heap as usize, base);
        self.abi.heap = at(base);
        self.lanes.begin_nursery(base);
        let limit = self.first_limit();
        self.attention.collected(limit);
        self.terms.forget_walks();
        // The worker attends again before it reduces.
        self.abi.want_attention();
        self.set_private_base(base);
    }
    /// Words that a minor collection looks at because they are still young, or lead to something that is.
    fn kept_words(&self) -> usize {
        let goals = (self.abi.goals as usize - self.goals.clean()) / 8;
        self.heap.survivor_words() + self.heap.remembered.len() + self.waiting.registry.young_count() + goals
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::memory::ranges::pointer;
    use crate::memory::tuning::{EARLY_MAJOR_MAX, EARLY_MAJOR_MIN, EARLY_MAJOR_WORK};
    use term::Word;
    use term::word::Tag;

    /// Of a stream nobody keeps anything but the end. That a cons was old keeps what comes later alive, but only
    /// until a major collection.
    #[test]
    fn a_stream_that_was_old_once_is_forgotten() {
        let mut builder = Builder::with(1, None);
        let worker = builder.node.worker();
        worker.options.check_heap = false;
        let tail = worker.new_variable();
        let list = worker.list(&[Word::NIL], tail);
        let mut last = worker.root(list);
        // Enough survives at first for the first cons to be promoted.
        let much = worker.list(&[Word::NIL; 5000], Word::NIL);
        let mut much = Some(worker.root(much));
        let mut copied = Vec::new();
        for round in 0..12 {
            let worker = builder.node.worker();
            let mut list = worker.take_root(last);
            for number in 0..if round < 3 { 0 } else { 1000 } {
                let tail = worker.new_variable();
                let next = worker.list(&[Word::small(number)], tail);
                worker.unify(pointer(Tag::Ref, list.address() + 8), next);
                list = next;
            }
            if round == 3 {
                much.take().map(|root| worker.take_root(root));
            }
            worker.list(&[Word::NIL; 1000], Word::NIL);
            last = worker.root(list);
            if round == 8 {
                worker.wanted.be_major();
            }
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
        let (few, many) = (MAJOR_MIN, 4 * MAJOR_MIN);
        assert_eq!(next(few, few / 8), few);
        assert_eq!(next(many, many / 2), many);
        assert_eq!(next(many, many / 4 * 3), many / 2 * 3);
        assert_eq!(next(many, many / 5 * 4), many / 5 * 12);
        // A minor one changes nothing.
        spaces.set_limits(None);
        assert_eq!(spaces.major_threshold(), many / 5 * 12);
        assert_eq!(next(spaces.bytes_max(), spaces.bytes_max()), spaces.bytes_max());
    }

    #[test]
    fn little_that_is_old_and_dead_is_given_up_after_much_work() {
        let mut builder = Builder::with(1, None);
        let worker = builder.node.worker();
        worker.options.check_heap = false;
        let list = worker.list(&vec![Word::NIL; EARLY_MAJOR_MIN / 8], Word::NIL);
        let root = worker.root(list);
        let old = |builder: &mut Builder| {
            builder.node.collect(0);
            builder.node.worker().heap.spaces.old_bytes()
        };
        assert!((0..3).any(|_| old(&mut builder) > EARLY_MAJOR_MIN), "the list becomes old");
        builder.node.worker().take_root(root);
        assert!(old(&mut builder) > EARLY_MAJOR_MIN, "minor collections keep it");
        lock(&builder.node.worker().shared.policy).allocated = EARLY_MAJOR_WORK * EARLY_MAJOR_MAX;
        assert!(old(&mut builder) < EARLY_MAJOR_MIN / 2);
    }

    #[test]
    fn what_lives_is_old_at_once_if_half_a_nursery_was_filled_behind_it() {
        let mut builder = Builder::with(1, None);
        let worker = builder.node.worker();
        worker.options.check_heap = false;
        let mut lists = Vec::new();
        let mut collected = |builder: &mut Builder, conses: usize| {
            let worker = builder.node.worker();
            let list = worker.list(&vec![Word::NIL; conses], Word::NIL);
            lists.push(worker.root(list));
            builder.node.collect(0);
            let worker = builder.node.worker();
            (old_words(&worker.shared), worker.heap.survivor_words())
        };
        // Nothing is old while little is young.
        let conses = NURSERY_MIN / 16;
        assert_eq!(collected(&mut builder, conses / 10), (0, conses / 10 * 2));
        let (old, young) = collected(&mut builder, conses / 4 * 3);
        let (first, late) = (old - conses / 10 * 2, conses / 4 * 2);
        assert!(
            first >= late - conses / 20 && first <= late + conses / 20,
            "{first} of {conses} conses' words"
        );
        assert_eq!(first + young, conses / 4 * 6);
        // With less than half of it filled, nothing is.
        let (older, younger) = collected(&mut builder, conses / 4);
        assert_eq!((older, younger), (old + young, conses / 4 * 2));
    }

    /// What is made in each round is kept for this number of rounds: words made, and copied by minor collections.
    /// Nurseries may not grow.
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

    /// Whoever makes room between two turns is refused for what is alive, and not for garbage.
    #[test]
    fn room_for_a_message_is_made_of_garbage() {
        const WORDS: usize = 100_000;
        let mut builder = Builder::with(1, Some(8 * WORDS * 5));
        let worker = builder.node.worker();
        worker.options.check_heap = false;
        while worker.ensure(WORDS).is_ok() {
            worker.vector_of_zeros(WORDS - 10);
        }
        assert!(builder.node.make_room(WORDS).is_ok());
        let worker = builder.node.worker();
        for _ in 0..4 {
            let kept = worker.vector_of_zeros(WORDS - 10);
            worker.root(kept);
        }
        let error = builder.node.make_room(2 * WORDS).expect_err("it is alive");
        assert!(
            error.message.contains("an object of 200000 words does not fit into the heap limit of 3 MiB")
        );
        assert_eq!(error.details, ["4 MiB are in use"]);
    }
}
