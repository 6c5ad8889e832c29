//! Giving goals: to workers that ask, to workers at lower priorities, and back to where they came from.
//!
//! Invariants (B1 and B4 are those of `choose`):
//! - B2 A worker publishes (W3 of `worker::all`) before it gives goals away, and before it runs goals that others
//!   sent. So what those lead to is shared.
//! - B3 A goal that waits for what another worker is about to make is not hooked there. It would be resumed for each
//!   element of a list that is made in one go. It goes to the worker that makes what it waits for, and is tried there
//!   next: mostly it waits. So a server is resumed at once when a message comes.
//! - B5 While all other workers rest (T10 of `solo`), this one is *alone*. Every cell of its nursery is private to it
//!   again, and it writes any other with plain stores. It ends that before it posts mail, and publishes at the next
//!   attention.
//! - B6 Priorities hold across workers. A worker shows the lowest priority that it has reduced at since it last
//!   looked. Goals of a high one that come between, such as messages that goals of low ones send, do not hide it. A
//!   worker that goes down pokes those above it. A worker with goals above another's priority gives it every other
//!   one of them, from the highest on: at once if it has some to spare, else after it has looked again, which is
//!   soon. It gives nothing if it is going to do them all before it looks again and that takes no longer than
//!   [`LOOK_AGAIN_TIME`].
//! - B8 While another worker asks, a worker without goals to spare looks again after allocating
//!   [`LOOK_AGAIN_BYTES`], or at a poke after it has run for [`LOOK_AGAIN_TIME`]; after looks in vain it allocates
//!   ever more before the next. So any number of pokes makes few looks, and goals that allocate nothing are shared,
//!   too. A poke that comes earlier is forgotten: the asker repeats it, and pokes the running workers in turn.

use crate::coordination::schedule::{now, thread_time};
use crate::coordination::team::{AT_REST, Mail, When};
use crate::goals::abroad::OUTWARD;
use crate::goals::state::NO_PRIORITY;
use crate::reports::trace::What;
use crate::sharing::choose::Surplus;
use crate::sharing::tuning::{
    LEFT_OUT_MAX, LOOK_AGAIN_BYTES, LOOK_AGAIN_BYTES_MAX, LOOK_AGAIN_TIME, LOOKS_IN_VAIN, LOWER_GET,
};
use crate::worker::Worker;
use crate::worker::rules::Rule;
use std::sync::atomic::{Ordering, fence};

impl Worker {
    /// Makes the goals ready that other workers sent. False if there are none.
    pub(crate) fn open_mail(&mut self) -> bool {
        let mut mails = self.shared.team.take_mail(self.index);
        mails.retain(|mail| mail.priority != OUTWARD || !self.learn_mail(&mail.words));
        if mails.is_empty() {
            return false;
        }
        self.publish();
        self.sharing.yields.begin();
        // What it reduces at now is no worse than that.
        self.sharing.lowest = AT_REST;
        for Mail { priority, rank: _, when, gift, giver, words } in mails {
            self.sharing.fed_by = giver.or(self.sharing.fed_by);
            self.sharing.takes |= giver.is_some();
            if gift != 0 {
                self.shared.note(self.index, || What::Receiving { words: words.len(), gift });
            }
            if self.is_dead(priority) {
                // X14 of `shoen`.
            } else {
                match when {
                    When::Next => self.push_goals(priority, &words),
                    When::Home => {
                        self.note_resumed(words[words.len() - 1]);
                        self.push_goals(priority, &words);
                    }
                    When::Later => self.push_later(priority, &words),
                    When::Last => self.push_older(priority, &words),
                }
            }
            self.arrived(priority);
        }
        true
    }
    /// What is told to other nodes goes to worker 0, which tells them (Y8 of `abroad`). Between reductions: what it
    /// leads to is published.
    pub(crate) fn report_outward(&mut self) {
        if self.index == 0 || !self.has_outward() || self.holds_back() {
            return;
        }
        self.end_solo();
        self.publish();
        debug_assert!(!self.visibility.is_solo(), "B5: it is alone, and posts mail");
        let reports = self.abroad.take_reports();
        self.statistics.mails += reports.len() as u64;
        let mail = |words| {
            let (priority, rank) = (OUTWARD, OUTWARD);
            Mail { priority, rank, when: When::Next, gift: 0, giver: None, words }
        };
        self.shared.team.post_all(0, reports.into_iter().map(mail).collect());
    }
    /// Y12 of `abroad`: this worker waits with what it has to tell.
    pub(crate) fn holds_back(&self) -> bool {
        self.index != 0 && self.has_outward() && self.shared.holds_back.load(Ordering::Relaxed)
    }
    /// Begins and ends being alone (B5); publishes what is to be published. Between reductions.
    pub(crate) fn look_at_others(&mut self) {
        if self.visibility.is_solo() && self.shared.team.solo_interrupted() {
            self.end_solo();
        } else if !self.visibility.is_solo()
            // There nobody knocks: worker 0 looks for messages now and then, which would end it again.
            && !self.options.ticks
            && !self.options.without.has(Rule::Solo)
            && self.shared.team.go_solo(self.index)
        {
            self.visibility.begin_solo();
            self.set_private_base(self.heap.nursery());
        }
        if self.visibility.take_publishing() {
            self.publish();
        }
    }
    /// Before a rest.
    pub(crate) fn go_to_rest(&mut self) {
        self.end_solo();
        if self.visibility.take_publishing() {
            self.publish();
        }
        (self.sharing.shown, self.sharing.lowest) = (AT_REST, AT_REST);
        self.shared.team.show_priority(self.index, AT_REST);
        self.show_no_running();
    }
    /// B6: goals of a lower priority than before are the next.
    #[inline(always)]
    pub(crate) fn go_down(&mut self) {
        let priority = self.goals.rank();
        debug_assert!(priority >= 0, "B6: no goal has priority {priority}");
        self.sharing.lowest = self.sharing.lowest.min(priority);
        self.sharing.descents += 1;
        if priority < self.sharing.shown {
            self.show_priority(priority);
        }
        self.show_running();
    }
    /// B8: where allocation shall have got to when it looks again. Nobody else has to wait for what it looked for in
    /// vain, unless somebody reduces at a lower priority (B6).
    pub(crate) fn looks_next(&self) -> usize {
        let soon = self.abi.heap as usize + LOOK_AGAIN_BYTES;
        let only_hungry = !self.goes_up() && self.shared.team.lower(self.sharing.shown).next().is_none();
        let next = if only_hungry { soon.max(self.sharing.look_from) } else { soon };
        debug_assert!(next > self.abi.heap as usize, "B8: it would look for ever");
        next
    }
    /// B6: shows the lowest priority since this was last called with `again`, that included. True if what is shown
    /// has changed: then what follows is not older.
    pub(crate) fn show_lowest(&mut self, again: bool) -> bool {
        let priority = self.best_priority();
        let lowest = if again {
            std::mem::replace(&mut self.sharing.lowest, priority).min(priority)
        } else {
            self.sharing.shown.min(priority)
        };
        let changed = lowest != self.sharing.shown;
        if changed {
            self.show_priority(lowest);
        }
        changed
    }
    /// B6: what was shown is to be forgotten soon.
    pub(crate) fn goes_up(&self) -> bool {
        self.best_priority() > self.sharing.shown
    }
    pub(super) fn best_priority(&self) -> i64 {
        self.goals.rank().max(self.goals.best().unwrap_or(NO_PRIORITY))
    }
    fn show_priority(&mut self, priority: i64) {
        let before = std::mem::replace(&mut self.sharing.shown, priority);
        self.shared.team.show_priority(self.index, priority);
        // Of two workers, one that goes down and one that goes up, one sees the other.
        fence(Ordering::SeqCst);
        if priority < before {
            self.shared.team.poke_above(priority);
        }
    }
    /// B6.
    pub(crate) fn show_looks(&mut self) {
        let looks = self.attention.looks_soon();
        if std::mem::replace(&mut self.sharing.shown_looks, looks) != looks {
            self.shared.team.show_looks(self.index, looks);
        }
    }
    /// B8: this worker was poked, and has not allocated enough to look again. The first such poke begins to measure
    /// the time.
    #[cold]
    pub(crate) fn is_time_to_look(&mut self) -> bool {
        let now = thread_time();
        let looks = now
            .saturating_sub(*self.sharing.looked.get_or_insert(now))
            .div_duration_f64(LOOK_AGAIN_TIME) as usize;
        if looks > 0 {
            self.sharing.looked = Some(now);
            // That many might have been left out meanwhile.
            self.sharing.look_from = self.sharing.look_from.saturating_sub(looks * LOOK_AGAIN_BYTES);
            self.sharing.seen.left_out = self.sharing.seen.left_out.saturating_sub(looks - 1);
        }
        looks > 0
    }
    /// Gives goals to workers that ask, and to those that reduce at a lower priority (B6), as long as there are some
    /// to spare.
    #[cold]
    pub(crate) fn feed(&mut self) {
        let shared = self.shared.clone();
        let now = now();
        let before = self.sharing.fed_others.replace(now);
        let soon = before.is_some_and(|before| now.saturating_duration_since(before) < LOOK_AGAIN_TIME);
        let descents = std::mem::take(&mut self.sharing.descents) * usize::from(soon);
        if shared.trial.is_off() {
            return;
        }
        let mut hungry = shared.team.hungry() & !(1 << self.index);
        let heap = self.abi.heap as usize;
        if heap < self.sharing.look_from {
            hungry = 0;
        }
        while hungry != 0 {
            let asker = hungry.trailing_zeros() as usize;
            hungry &= hungry - 1;
            let mut surplus = self.surplus(1, NO_PRIORITY);
            if surplus.is_empty() && !self.options.without.has(Rule::Overdue) {
                surplus.extend(self.overdue());
            }
            if surplus.is_empty() {
                self.sharing.looks_in_vain += u32::from(!self.options.without.has(Rule::Looks));
                let doublings = (self.sharing.looks_in_vain / LOOKS_IN_VAIN).min(LEFT_OUT_MAX);
                // The more a look goes through, the more is allocated before the next.
                let looks = (1 + std::mem::take(&mut self.sharing.seen.left_out)) << doublings;
                self.sharing.look_from = heap + (looks * LOOK_AGAIN_BYTES).min(LOOK_AGAIN_BYTES_MAX);
                return;
            }
            self.sharing.looks_in_vain = 0;
            if shared.team.claim(asker) {
                self.give(asker, surplus, self.leaves_gaps());
            }
        }
        let mut lower: Vec<(usize, i64)> = shared.team.lower(self.sharing.shown).collect();
        lower.sort_unstable_by_key(|&(_, priority)| priority);
        let share = (LOWER_GET / lower.len().max(1)).max(1);
        for (worker, priority) in lower {
            let surplus = self.surplus(share, priority);
            let goals: usize = surplus.iter().map(Surplus::len).sum();
            if goals == 0 {
                // B11: it may allocate nothing, and so never look by itself.
                shared.team.poke_below(worker);
            }
            if 2 * goals <= descents.min(share) {
                // They are done, or most of them, when it looks again.
                return;
            }
            self.give(worker, surplus, false);
        }
    }
    /// Gives goals to a worker. With `gap`, a gap stays in their place (B14 of `gaps`).
    pub(crate) fn give(&mut self, to: usize, surplus: Vec<Surplus>, gap: bool) {
        debug_assert!(to != self.index, "a worker gives goals to others");
        self.begin_trial();
        self.sharing.takes &= !gap;
        self.end_solo();
        surplus.iter().for_each(|part| self.settle_surplus(part));
        self.publish();
        let mut mails = Vec::with_capacity(surplus.len());
        for part in surplus {
            let mail = self.take_as_mail(part, gap);
            let words = &mail.words;
            let gift = self.shared.next_gift();
            self.shared.note(self.index, || What::Giving { worker: to, words: words.len(), gift });
            self.count_mail(to);
            self.statistics.gifts += 1;
            self.statistics.words_given += words.len() as u64;
            mails.push(Mail { gift, giver: Some(self.index), ..mail });
        }
        self.shared.team.post_all(to, mails);
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use std::time::{Duration, Instant};
    use term::Word;

    /// Priorities of the goals that worker 0 gives to worker 1, which shows that it reduces at this one.
    fn given(worker: &mut Worker, lowest: i64) -> Vec<i64> {
        let team = worker.shared.clone();
        team.team.show_priority(1, lowest);
        worker.show_lowest(true);
        worker.feed();
        team.team.take_mail(1).iter().map(|mail| mail.priority).collect()
    }

    #[test]
    fn who_reduces_at_a_lower_priority_gets_every_other_goal_of_the_higher_ones() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        for priority in 91..=100 {
            worker.spawn_at(priority, goal, &[Word::NIL]);
        }
        assert_eq!(given(worker, 95), [100, 98, 96]);
        assert_eq!(given(worker, 95), [99]);
        assert_eq!(given(worker, 95), [97]);
        assert_eq!(given(worker, 95), []);
    }

    #[test]
    fn what_is_done_before_the_next_look_is_not_given_to_who_reduces_at_a_lower_priority() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        for priority in (80..=100).step_by(2) {
            worker.spawn_at(priority, goal, &[Word::NIL]);
        }
        // The running priority is the highest; what is below it runs now.
        for _ in 0..4 {
            assert!(worker.next_segment());
            worker.go_down();
            worker.pop_goal();
        }
        assert_eq!(worker.priority(), 94);
        // However long that took here.
        worker.sharing.fed_others = Some(Instant::now() + Duration::from_secs(9));
        assert_eq!(given(worker, 88), []);
        assert_eq!(given(worker, 88), [92]);
    }

    #[test]
    fn what_is_shown_is_the_lowest_priority_since_the_last_look() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let start = worker.priority();
        assert!(worker.show_lowest(true) && worker.sharing.shown == start && !worker.goes_up());
        worker.spawn_at(10, goal, &[Word::NIL]);
        assert!(worker.next_segment());
        worker.go_down();
        assert_eq!(worker.sharing.shown, 10);
        // A goal of a high priority comes in between.
        worker.spawn_at(start, goal, &[Word::NIL]);
        worker.switch_priority();
        assert_eq!(worker.priority(), start);
        assert!(!worker.show_lowest(false) && worker.goes_up() && worker.sharing.shown == 10);
        assert!(!worker.show_lowest(true) && worker.sharing.shown == 10);
        // It was not between, but is what has been reduced since then.
        assert!(worker.show_lowest(true) && worker.sharing.shown == start && !worker.goes_up());
    }
}
