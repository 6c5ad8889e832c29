//! Load balance: goals from workers that have many to workers that ask. Mail of goals. Goals that wait for what another worker makes.
//!
//! Invariants (B1 and B4 are those of `surplus`):
//! - B2 The worker publishes (W3 of `crew`) before it gives goals away and before it runs goals that others sent: what those
//!   lead to is shared.
//! - B3 A goal that would have to wait for what another worker is about to make is not hooked there: it would be resumed for each
//!   element of a list that is made in one go. Its worker *polls* the variable, and does nothing else: what it could do are
//!   mostly goals that read what this one makes, a bit at a time. If little comes of that, or a goal that was given away waits at
//!   once, it goes to the worker that makes what it waits for, to run after everything that is ready there: as if it had not been given away.
//! - B6 Priorities hold across workers, too. A worker shows the priority that it has goals for. If one goes down, it pokes those that are above;
//!   whoever is above others gives them of its goals that are, half of what there is of the highest priority that has any to spare:
//!   at once if it has some, and otherwise it looks again soon.
//! - B8 While somebody asks, a worker that has none to spare looks again after allocating [`LOOK_AGAIN_BYTES`], or when it is poked after it has run for
//!   [`LOOK_AGAIN_TIME`]: so pokes, however many, make few looks, and goals that allocate nothing are shared, too. A poke that comes
//!   earlier is forgotten: whoever asks repeats it, and pokes those who run in turn.
//! - B5 While all other workers rest (T10 of `team`), this one is *alone*: every cell of its nursery is private to it again, and it
//!   writes any other with plain stores. Before it posts mail it ends that; it publishes at the next attention.

use crate::goals::NO_PRIORITY;
use crate::surplus::Surplus;
use crate::team::{AT_REST, Mail};
use crate::terms::deref;
use crate::trace::What;
use crate::worker::Worker;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};
use term::Word;
use term::abi::PredicateId;
use term::word::Tag;

/// While somebody asks for goals, a worker that has none to spare looks again after allocating so much.
pub(crate) const LOOK_AGAIN_BYTES: usize = 16 << 10;
/// Or when it is poked after so much time of its thread: others may have the processor meanwhile. (With 64 workers on two, and the time of a clock on
/// the wall, `bestpath` took up to a minute.)
pub(crate) const LOOK_AGAIN_TIME: Duration = Duration::from_micros(100);
/// After so many looks that found nothing, one is left out between two, then 3, 7, and so on: at most `1 << LEFT_OUT_MAX`.
const LOOKS_IN_VAIN: u32 = 4;
const LEFT_OUT_MAX: u32 = 6;
/// A worker that reduces at a lower priority gets so many goals at most.
const LOWEST_GET: usize = 32;
/// Goals that took less time than this were little work; one that was given away is sent back if it waits so soon.
pub(crate) const LITTLE_WORK: Duration = Duration::from_micros(50);
/// Polls in a row that bring little before a goal is sent back (B3).
const POLLS_IN_VAIN: u32 = 3;
/// What a polled goal does in less time than this is little.
const LITTLE_POLLED: Duration = Duration::from_micros(10);

/// Polling (B3).
#[derive(Debug)]
pub(crate) struct Polling {
    /// When the last polled goal was made ready.
    since: Option<Instant>,
    /// How often in a row little came of it.
    in_vain: u32,
    /// Goals were sent back since the worker was last asked.
    pub(crate) sent_back: bool,
}

impl Polling {
    pub(crate) const NEW: Polling = Polling { since: None, in_vain: 0, sent_back: false };
}

impl Worker {
    /// Makes the goals ready that other workers sent.
    pub(crate) fn open_mail(&mut self) {
        let mails = self.shared.team.take_mail(self.index);
        if mails.is_empty() {
            return;
        }
        self.publish();
        self.fed = Some(Instant::now());
        for Mail { priority, back, gift, giver, words } in mails {
            self.fed_by = giver.or(self.fed_by);
            if gift != 0 {
                self.shared.note(self.index, || What::Receiving { words: words.len(), gift });
            }
            if back {
                self.push_later(priority, &words);
            } else {
                self.push_goals(priority, &words);
            }
        }
    }
    /// Sends a goal to another worker.
    pub(crate) fn post(&mut self, to: usize, predicate: PredicateId, args: &[Word]) {
        let mut words = args.to_vec();
        words.push(predicate.goal_word());
        self.statistics.mails += 1;
        self.end_solo();
        self.shared
            .team
            .post(to, Mail { priority: self.abi.priority, back: false, gift: 0, giver: None, words });
    }
    /// Begins and ends being alone (B5); publishes what is to be published. Between reductions.
    pub(crate) fn look_at_others(&mut self) {
        if self.solo && self.shared.team.solo_interrupted() {
            self.end_solo();
        } else if !self.solo && self.shared.team.go_solo(self.index) {
            (self.solo, self.publish_wanted) = (true, false);
            self.set_private_base(self.heap.nursery());
        }
        if std::mem::take(&mut self.publish_wanted) {
            self.publish();
        }
    }
    /// B5. (Generated code that runs may know that a cell is private: so what is private stays so until the next attention.)
    pub(crate) fn end_solo(&mut self) {
        if std::mem::take(&mut self.solo) {
            self.shared.team.end_solo(self.index);
            self.publish_wanted = true;
            self.abi.want_attention();
        }
    }
    /// Before a rest. True if goals were sent back since the last one (B3).
    pub(crate) fn go_to_rest(&mut self) -> bool {
        debug_assert!(self.goals.polled.is_empty(), "polled goals are looked at before anything is reduced");
        self.judge();
        self.end_solo();
        if std::mem::take(&mut self.publish_wanted) {
            self.publish();
        }
        self.shown = AT_REST;
        self.shared.team.show_priority(self.index, AT_REST);
        std::mem::replace(&mut self.polling, Polling::NEW).sent_back
    }
    /// B6: shows the others which priority this worker has goals for. True if that has changed: then what follows is not older.
    pub(crate) fn show_priority(&mut self) -> bool {
        let priority = self.abi.priority.max(self.goals.best().unwrap_or(NO_PRIORITY));
        let before = std::mem::replace(&mut self.shown, priority);
        if priority == before {
            return false;
        }
        self.shared.team.show_priority(self.index, priority);
        // Of two workers, one that goes down and one that goes up, one sees the other.
        fence(Ordering::SeqCst);
        if priority < before {
            self.shared.team.poke_above(priority);
        }
        true
    }
    /// B6.
    pub(crate) fn show_looks(&mut self) {
        let looks = self.soon != usize::MAX;
        if std::mem::replace(&mut self.shown_looks, looks) != looks {
            self.shared.team.show_looks(self.index, looks);
        }
    }
    /// B8: this worker was poked, and has not allocated enough to look again. The first such poke begins to measure the time.
    #[cold]
    pub(crate) fn is_time_to_look(&mut self) -> bool {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
        let looks =
            now.saturating_sub(*self.looked.get_or_insert(now)).div_duration_f64(LOOK_AGAIN_TIME) as usize;
        if looks > 0 {
            self.looked = Some(now);
            // That many might have been left out meanwhile.
            self.looks_left_out = self.looks_left_out.saturating_sub(looks - 1);
            self.goals.seen.left_out = self.goals.seen.left_out.saturating_sub(looks - 1);
        }
        looks > 0
    }
    /// Gives goals to those who ask, and to those who reduce at a lower priority (B6), as long as there are some to spare.
    #[cold]
    pub(crate) fn feed(&mut self) {
        self.judge();
        let shared = self.shared.clone();
        let mut hungry = shared.team.hungry() & !(1 << self.index);
        if hungry != 0 && self.looks_left_out > 0 {
            self.looks_left_out -= 1;
            hungry = 0;
        }
        while hungry != 0 {
            let asker = hungry.trailing_zeros() as usize;
            hungry &= hungry - 1;
            let surplus = self.surplus(shared.team.appetite(asker), NO_PRIORITY);
            if surplus.is_empty() {
                self.looks_in_vain += 1;
                self.looks_left_out = (1 << (self.looks_in_vain / LOOKS_IN_VAIN).min(LEFT_OUT_MAX)) - 1;
                return;
            }
            self.looks_in_vain = 0;
            if shared.team.claim(asker) {
                self.give(asker, surplus);
            }
        }
        while let Some((worker, priority)) = shared.team.lowest(self.shown) {
            let surplus = self.surplus(LOWEST_GET, priority);
            if surplus.is_empty() {
                return;
            }
            self.give(worker, surplus);
        }
    }
    /// Gives goals to a worker.
    pub(crate) fn give(&mut self, to: usize, surplus: Vec<Surplus>) {
        self.end_solo();
        self.publish();
        for part in surplus {
            let (priority, words) = self.take_surplus(part);
            self.begin_trial(&words);
            let gift = self.shared.next_gift();
            self.shared.note(self.index, || What::Giving { worker: to, words: words.len(), gift });
            self.statistics.mails += 1;
            self.statistics.gifts += 1;
            self.statistics.words_given += words.len() as u64;
            self.shared.team.post(to, Mail { priority, back: false, gift, giver: Some(self.index), words });
        }
    }

    /// B3: the goal on top of the stack waits for `variable`, which `maker` may be about to bind.
    pub(crate) fn poll_or_send(&mut self, variable: Word, maker: usize) {
        if self.polling.since.take().is_some_and(|since| since.elapsed() >= LITTLE_POLLED) {
            self.polling.in_vain = 0;
        }
        let fed = self.fed.is_some_and(|fed| fed.elapsed() < LITTLE_WORK);
        if fed || self.polling.in_vain >= POLLS_IN_VAIN {
            return self.send_top_goal(maker);
        }
        let (priority, goal) = (self.abi.priority, self.pop_goal());
        let words = std::iter::once(variable).chain(goal).collect();
        self.goals.polled.push((priority, words));
        self.abi.want_attention();
    }
    /// B3: makes the polled goals ready whose variables have values, or all if that has taken too long. False if there are others.
    pub(crate) fn poll_variables(&mut self) -> bool {
        let enough = self.polling.in_vain >= POLLS_IN_VAIN;
        let ready = |(_, words): &mut (i64, Vec<Word>)| enough || deref(words[0]).tag() != Tag::Ref;
        for (priority, words) in self.goals.polled.extract_if(.., ready).collect::<Vec<_>>() {
            self.polling.since = Some(Instant::now());
            self.push_goals(priority, &words[1..]);
        }
        self.goals.polled.is_empty()
    }
    /// B3: counts a poll, which is in vain until more is known.
    pub(crate) fn count_poll(&mut self) {
        self.polling.in_vain += 1;
        self.abi.want_attention();
    }
    /// B9: all goals of the top segment go to another worker, to run after what is ready there.
    pub(crate) fn give_way(&mut self, to: usize) {
        let (priority, words) = (self.abi.priority, self.take_segment());
        if words.is_empty() {
            return;
        }
        self.polling.sent_back = true;
        self.end_solo();
        self.publish();
        self.statistics.mails += 1;
        self.shared.team.post(to, Mail { priority, back: true, gift: 0, giver: None, words });
    }
    /// B3, B10: the goal on top of the stack goes to who makes what it waits for.
    pub(crate) fn send_top_goal(&mut self, to: usize) {
        let (priority, words) = (self.abi.priority, self.pop_goal());
        self.polling.sent_back = true;
        self.end_solo();
        self.statistics.mails += 1;
        self.statistics.goals_back += 1;
        self.shared.team.post(to, Mail { priority, back: true, gift: 0, giver: None, words });
    }
}
