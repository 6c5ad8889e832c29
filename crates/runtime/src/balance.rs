//! Load balance: goals from workers that have many to workers that ask. Mail of goals.
//!
//! Invariants:
//! - B1 What is given away are the oldest goals of the highest priority that has any to spare: they lie at the bottom of the top
//!   segment, or first in a bucket, and are usually the largest. The goal on top of the stack stays.
//! - B3 A goal that was given away and would have to wait for what its giver is about to make comes back, to run after everything
//!   that is ready there: as if it had not been given away. Otherwise it would be resumed for each element of a list that the
//!   giver makes in one go.
//! - B2 The worker publishes (W3 of `crew`) before it gives goals away and before it runs goals that others sent: what those
//!   lead to is shared.

use crate::team::Mail;
use crate::trace::What;
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;

impl Worker {
    /// Makes the goals ready that other workers sent.
    pub(crate) fn open_mail(&mut self) {
        let mails = self.shared.team.take_mail(self.index);
        if mails.is_empty() {
            return;
        }
        self.publish();
        for Mail { priority, back, gift, words } in mails {
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
        self.shared.team.post(to, Mail { priority: self.abi.priority, back: false, gift: 0, words });
    }
    /// Gives goals to those who ask, as long as there are some to spare.
    #[cold]
    pub(crate) fn feed(&mut self) {
        let shared = self.shared.clone();
        let mut hungry = shared.team.hungry() & !(1 << self.index);
        while hungry != 0 {
            let asker = hungry.trailing_zeros() as usize;
            hungry &= hungry - 1;
            if !self.has_spare_goals() {
                return;
            }
            if shared.team.claim(asker) {
                self.give(asker);
            }
        }
    }
    /// Gives spare goals to a worker; there are some.
    pub(crate) fn give(&mut self, to: usize) {
        self.publish();
        let (priority, words) = self.take_oldest();
        let gift = self.shared.next_gift();
        self.shared.note(self.index, || What::Giving { worker: to, words: words.len(), gift });
        self.statistics.mails += 1;
        self.statistics.gifts += 1;
        self.statistics.words_given += words.len() as u64;
        self.shared.team.post(to, Mail { priority, back: false, gift, words });
    }
}
