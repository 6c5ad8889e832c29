//! When to collect, and how large the spaces are. The numbers are in `memory::tuning`.
//!
//! | what | rule |
//! |---|---|
//! | the first nursery | half a core's second-level cache; twice that where several workers must be stopped |
//! | it doubles | while much of it survives: a larger one gives objects more time to die |
//! | it halves | when little has survived for long |
//! | nurseries together | twice what one worker would have, or what is old beyond 64 MB |
//! | what survives twice, or with half a nursery filled behind it | goes to old space, unless little is young |
//! | nearly all of it survives again | survivors go to old space at once ([`Ageing`]) |
//! | much of it has died by then | nurseries of several workers go on growing ([`Ageing`]) |
//! | a major collection | when old and large objects have doubled, or tripled if the last one found nearly all alive |
//! | an early one | when they are few and have doubled, and 64 times as many bytes were allocated since the last one |
//!
//! Little that is young is copied each time, which costs nothing. In old space one cons of a stream would keep all
//! later ones alive until a major collection. A program runs out of memory when live data alone exceed the heap
//! limit.

use crate::coordination::team::Sharers;
use crate::memory::tuning::{
    AGAIN_PERCENT, AT_ONCE_COLLECTIONS, EARLY_MAJOR_MAX, EARLY_MAJOR_MIN, EARLY_MAJOR_WORK, GROW_PERCENT,
    LASTING_PERCENT, NURSERIES_PAYING_MAX, NURSERY_MAX, NURSERY_MIN, SHARED_FROM_WORDS,
    SHARED_FROM_WORDS_IN_TURNS, SHRINK_AFTER, SHRINK_PERCENT, WOKEN_FOR_ONE_FROM_TIME, WOKEN_FROM_TIME,
    YOUNGER_PERCENT,
};
use std::time::Duration;

/// After which collection what survives goes to old space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ages {
    /// Its first one.
    First,
    /// Its second one, or the first if it is old for a nursery ([`older`]).
    Second,
    /// Not after this one.
    Never,
}

/// What kind of collection it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Of everything.
    pub(crate) major: bool,
    pub(crate) ages: Ages,
    /// A nursery is so large.
    pub(crate) nursery_bytes: usize,
    /// Bytes at the beginning of each nursery: what survives there goes to old space where what survives twice does.
    pub(crate) older: usize,
}

/// Bytes at the beginning of a nursery of `nursery` bytes, of which `used` are filled, that have had time to die: what
/// survives there is not copied to a survivor area first. So what stays is copied once, mostly, and what is made
/// shortly before a collection still gets its time. When the heap is checked, small nurseries have such a part, too.
pub(super) fn older(nursery: usize, used: usize, checked: bool) -> usize {
    let younger = if checked { used.min(nursery) } else { nursery } / 100 * YOUNGER_PERCENT;
    used.saturating_sub(younger) & !7
}

/// When what survives goes to old space. Where a large structure is made, nearly all survives: there it goes at once,
/// and so is copied once and not twice. But what goes there and dies soon keeps alive what it leads to, until a major
/// collection. Where all that is live is replaced now and then, as in a network of processes that send to each other,
/// it depends on the size of nurseries what dies young: so it is not asked before they are as large as they otherwise
/// get, and while they grow beyond that nothing becomes old.
#[derive(Debug)]
pub(super) struct Ageing {
    pub(super) last: Ages,
    /// Further collections that send it there at once.
    pub(super) at_once: u32,
    /// The last major collection found old space alive: not much less than a third of it, the least that it finds
    /// where live data do not grow, since it comes when old space has doubled or tripled.
    pub(super) lasting: bool,
    /// Much of what had survived once had died by the next collection. It would not survive in larger nurseries, so
    /// they grow.
    pub(super) dies_later: bool,
}

impl Ageing {
    pub(super) const NEW: Ageing = Ageing { last: Ages::First, at_once: 0, lasting: true, dies_later: false };
    /// Before a collection; `little` is young. When the heap is checked, all ways have their turn. A major collection
    /// may end what kept things alive that are dead, so it lets nothing become old that is new.
    pub(super) fn next(&mut self, major: bool, little: bool, checked: bool) -> Ages {
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
    /// After a minor collection. Words before it: `used` of nurseries, `survivors` of what had survived. Words after
    /// it: `copied`, and `again`, those of survivors that went to old space. `full`: nurseries have no more room to
    /// grow.
    pub(super) fn seen(
        &mut self,
        full: bool,
        used: usize,
        survivors: usize,
        (copied, again): (usize, usize),
    ) {
        let much = |words: usize| words * 100 >= used * GROW_PERCENT;
        match self.last {
            Ages::First if much(copied) => self.at_once = self.at_once.saturating_sub(1),
            Ages::First => self.at_once = 0,
            Ages::Second if full && much(survivors) => {
                self.dies_later = again * 100 < survivors * AGAIN_PERCENT;
                self.at_once = if self.lasting && !self.dies_later { AT_ONCE_COLLECTIONS } else { 0 };
            }
            _ => {}
        }
    }
    /// After a major collection: words of old space before it, and now. Then it is asked again.
    pub(super) fn all_seen(&mut self, before: usize, now: usize) {
        self.lasting = now * 100 >= before * LASTING_PERCENT;
        self.at_once = 0;
    }
}

/// What is remembered from one collection to the next.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Bytes of the nursery of a worker that fills it: at least where others must be stopped, and now.
    pub(super) least: usize,
    pub(super) nursery: usize,
    /// Bytes of all nurseries together otherwise, unless what is old beyond `MAJOR_MIN` is more.
    pub(super) most: usize,
    /// The same as long as larger ones are seen to pay. For one worker they do not: to stop costs it nothing, and
    /// what lives for a while becomes old after half a nursery.
    pub(super) paying: usize,
    /// Collections in a row after which little was left.
    quiet_collections: u32,
    /// Nurseries begin to grow beyond `most`. What became old before may be dead, and keep alive what follows it: the
    /// next collection is a major one.
    pub(super) major_wanted: bool,
    pub(super) ageing: Ageing,
    /// Bytes allocated since the last major collection, and bytes in use above which the next may be an early one.
    pub(super) allocated: usize,
    early_from: usize,
    /// Words that the last minor collection copied, and how long that took all collectors together: the next one is
    /// expected to be like it.
    pub(super) copied: usize,
    pub(super) took: Duration,
}

impl Policy {
    pub(crate) fn new(workers: usize) -> Policy {
        // To stop several workers, and to fetch what others made, costs more than to miss the cache now and then.
        let (least, most, paying) = if workers > 1 {
            (2 * NURSERY_MIN, NURSERY_MAX, NURSERIES_PAYING_MAX)
        } else {
            (NURSERY_MIN, NURSERY_MAX / 2, NURSERY_MAX / 2)
        };
        Policy {
            least,
            nursery: least,
            most,
            paying,
            quiet_collections: 0,
            major_wanted: false,
            ageing: Ageing::NEW,
            allocated: 0,
            early_from: EARLY_MAJOR_MIN,
            copied: 0,
            took: Duration::ZERO,
        }
    }
    /// True if an early major collection is due, before which `used` bytes were allocated since the last collection
    /// and old and large objects take `in_use` bytes. It copies no more than these, so it costs a small part of the
    /// work since the last one; and a program of which little lives does not fill memory with what became old and
    /// died (`benches/nrev.kl1`).
    pub(super) fn early_major_is_due(&mut self, used: usize, in_use: usize) -> bool {
        self.allocated = self.allocated.saturating_add(used);
        (self.early_from..EARLY_MAJOR_MAX).contains(&in_use) && self.allocated / EARLY_MAJOR_WORK >= in_use
    }
    /// After a major collection that left `live` bytes in use.
    pub(super) fn all_collected(&mut self, live: usize) {
        self.allocated = 0;
        self.early_from = EARLY_MAJOR_MIN.max(2 * live);
    }
}

/// The workers that take part in a collection beside its leader. What is copied faster than others can be told of it
/// is copied by one, and those that rest are woken for long work only. If one worker made all that is young, it is in
/// that one's caches, and only for longer work do others save more time than they take to fetch it.
pub(super) fn sharers(
    major: bool,
    (words, time): (usize, Duration),
    makers: usize,
    processor_each: bool,
) -> Option<Sharers> {
    let shared_from = if processor_each { SHARED_FROM_WORDS } else { SHARED_FROM_WORDS_IN_TURNS };
    let woken_from = if makers > 1 { WOKEN_FROM_TIME } else { WOKEN_FOR_ONE_FROM_TIME };
    if major || time >= woken_from {
        Some(Sharers::Everybody)
    } else {
        (makers > 1 && words >= shared_from).then_some(Sharers::Stopped)
    }
}

impl Policy {
    /// After a minor collection of `used` bytes of all nurseries: words that it `copied`, time that it `took`. A
    /// nursery may have `most` bytes, and `largest` if that is seen to pay. `alone`: nobody had to be stopped. Answers
    /// its bytes.
    pub(super) fn collected(
        &mut self,
        (copied, took): (usize, Duration),
        used: usize,
        alone: bool,
        (most, largest): (usize, usize),
    ) -> usize {
        (self.copied, self.took) = (copied, took);
        let (survived, before) = (copied * 8, self.nursery);
        let least = if alone { NURSERY_MIN } else { self.least };
        debug_assert!(least <= self.least, "a worker alone has no larger nursery");
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
                self.nursery /= 2;
            }
        } else {
            self.quiet_collections = 0;
        }
        self.nursery = self.nursery.max(least).min(most);
        self.ageing.dies_later &= self.nursery > before;
        // Nothing becomes old from now on while they grow.
        self.major_wanted = self.ageing.dies_later && self.ageing.last == Ages::Second;
        self.nursery
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::memory::tuning::NURSERY_RANGE;

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
        ageing.at_once = AT_ONCE_COLLECTIONS;
        assert_eq!(ageing.next(false, false, false), Ages::First);
        ageing.seen(true, 1000, 0, (100, 100));
        assert_eq!(ageing.next(false, false, false), Ages::Second);
        // Small nurseries tell nothing.
        ageing.seen(false, 1000, 500, (900, 500));
        assert_eq!(ageing.next(false, false, false), Ages::Second);
    }

    /// The largest nursery, and how often the policy wanted a major collection, if of the nursery and of what had
    /// survived so many bytes survive.
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
            policy.collected((copied / 8, Duration::ZERO), used, true, (most, NURSERY_RANGE));
            survivors = copied - old;
            majors += usize::from(std::mem::take(&mut policy.major_wanted));
        }
        (policy.nursery, majors)
    }
    #[test]
    fn nurseries_are_larger_where_others_must_be_stopped() {
        let mut policy = Policy::new(2);
        let quiet = |policy: &mut Policy, alone, times| {
            let sizes = (policy.most, NURSERY_RANGE);
            (0..times).map(|_| policy.collected((0, Duration::ZERO), policy.nursery, alone, sizes)).last()
        };
        assert_eq!(quiet(&mut policy, false, 2 * SHRINK_AFTER), Some(2 * NURSERY_MIN));
        assert_eq!(quiet(&mut policy, true, SHRINK_AFTER - 1), Some(2 * NURSERY_MIN));
        assert_eq!(quiet(&mut policy, true, SHRINK_AFTER), Some(NURSERY_MIN));
        assert_eq!(quiet(&mut policy, false, 1), Some(2 * NURSERY_MIN));
    }
    #[test]
    fn what_one_worker_made_is_copied_by_one_unless_that_takes_long() {
        let sharers = |makers, words, time| sharers(false, (words, time), makers, true);
        let (little, much) = (SHARED_FROM_WORDS - 1, SHARED_FROM_WORDS);
        let (short, long, longer) = (Duration::ZERO, WOKEN_FROM_TIME, WOKEN_FOR_ONE_FROM_TIME);
        assert_eq!(sharers(2, little, short), None);
        assert_eq!(sharers(2, much, short), Some(Sharers::Stopped));
        assert_eq!(sharers(2, much, long), Some(Sharers::Everybody));
        assert_eq!(sharers(1, much, long), None);
        assert_eq!(sharers(1, much, longer), Some(Sharers::Everybody));
        assert_eq!(super::sharers(true, (0, short), 1, true), Some(Sharers::Everybody));
    }
    #[test]
    fn an_early_major_collection_comes_after_much_work_while_little_is_old() {
        // Bytes allocated before it, if old space grows by this part of them.
        let due_after = |policy: &mut Policy, old: usize, part: usize| {
            (1..100_000)
                .find(|&times| policy.early_major_is_due(NURSERY_MIN, old + times * NURSERY_MIN / part))
        };
        let mut policy = Policy::new(1);
        let needed = EARLY_MAJOR_MIN / NURSERY_MIN;
        assert_eq!(due_after(&mut policy, 0, 2 * EARLY_MAJOR_WORK), Some(2 * EARLY_MAJOR_WORK * needed));
        // Half of that lives: it has to double again.
        policy.all_collected(3 * EARLY_MAJOR_MIN / 4);
        let doubled = due_after(&mut policy, 3 * EARLY_MAJOR_MIN / 4, 2 * EARLY_MAJOR_WORK);
        assert_eq!(doubled, Some(2 * EARLY_MAJOR_WORK * needed * 3 / 4));
        // A large structure is made.
        policy.all_collected(0);
        assert_eq!(due_after(&mut policy, 0, EARLY_MAJOR_WORK / 2), None);
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
