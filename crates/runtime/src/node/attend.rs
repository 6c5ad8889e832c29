//! Attention: what a worker looks at between two reductions when something has lowered its limit (A4).
//!
//! Events and resumed goals come first, since they may end the program. Next are the end of the run, stops of all
//! workers and collections: after each of these the worker attends again. What moves goals comes last.

use crate::builtins::io::batches;
use crate::coordination::schedule::{step, step_bytes};
use crate::node::home::Home;
use crate::node::reduce::Pause;
use crate::reports::outcome::{ErrorKind, RunOutcome};
use crate::terms::walk::interrupted;
use crate::worker::Worker;
use std::sync::atomic::{Ordering, fence};
use term::abi::SLACK_WORDS;

/// Bytes that worker 0 of a node among several allocates until it looks for messages again: about 30 µs of work.
const MESSAGES_BYTES: usize = 64 << 10;

impl Worker {
    /// Something lowered the limit, or the heap is full. `Some` is what the worker must wait for.
    pub(super) fn attend(&mut self, home: Option<&mut Home>) -> Option<Pause> {
        step();
        debug_assert!(self.abi.heap as usize >= self.heap.nursery(), "R2: the heap's top is in no nursery");
        debug_assert!(self.abi.goals as usize >= self.goals.start(), "R2: the goals' top is below the stack");
        self.abi.set_limit(self.attention.limit());
        self.abi.more_wanted = false;
        let crowd = !self.is_single();
        let poked = crowd && self.look_who_pokes();
        let woken = self.attend_to_events(home, crowd);
        match self.attend_to_node(crowd, poked) {
            None | Some(Pause::Yield | Pause::Gap) if woken => Some(Pause::Look),
            Some(pause @ (Pause::Collect | Pause::Stopped | Pause::Hold)) if woken => {
                // Messages are looked at after that: nobody wakes it for them again.
                self.waker().wake();
                Some(pause)
            }
            pause => pause,
        }
    }
    /// The same for what the node itself wants.
    fn attend_to_node(&mut self, crowd: bool, poked: bool) -> Option<Pause> {
        if let Some(pause) = self.must_pause(crowd) {
            return Some(pause);
        }
        // C3: there is room, so the poll of that clause goes on even if this worker is to look again soon.
        let need = 8 * self.wanted.take_words();
        let needed = (self.abi.heap as usize + need).saturating_sub(8 * SLACK_WORDS);
        let collected = self.attention.take_collected();
        let due = self.abi.heap as usize >= self.attention.soon() || collected;
        if due {
            self.attention.looks();
            self.sharing.looks();
            self.take_turn(collected);
        }
        if self.has_batches() {
            self.attention.look_at(self.abi.heap as usize + batches::LOOK_BYTES);
        }
        let messages = self.is_one_of_several_nodes() && self.look_for_messages(due);
        let mut yields = false;
        if crowd {
            let mail = self.attend_to_others(collected);
            if self.holds_back() {
                return Some(Pause::Hold);
            }
            let fenced = self.show_lowest(due || mail);
            yields = self.must_yield(collected);
            self.feed_others(poked);
            self.look_again(needed, fenced);
        } else {
            self.abi.set_limit(self.abi.limit().min(self.attention.soon().max(needed)));
            if self.is_one_of_several_nodes() {
                // K2: a message that comes now is seen, below or when the limit is compared.
                fence(Ordering::SeqCst);
            }
        }
        if self.is_woken() {
            // K2: the limit was set again.
            self.abi.want_attention();
        }
        self.switch_priority();
        self.park_stopped();
        let waits = crowd && !yields && self.waits_at_gap();
        if crowd && !waits {
            self.show_running();
        }
        let look = messages || self.index == 0 && (self.has_outward() || self.has_distances());
        match (yields, waits) {
            _ if look => Some(Pause::Look),
            (true, _) => Some(Pause::Yield),
            (_, true) => Some(Pause::Gap),
            _ => None,
        }
    }
    /// True if another worker wants this one to look.
    fn look_who_pokes(&self) -> bool {
        let poked = self.shared.team.wants(self.index);
        if poked {
            self.shared.team.look(self.index);
            // What is looked at now may not be older than that.
            fence(Ordering::SeqCst);
        }
        poked
    }
    /// Events from outside, unifications that were put off, and what all of them resumed. True if whoever steps a node
    /// among several is to look, too.
    fn attend_to_events(&mut self, home: Option<&mut Home>, crowd: bool) -> bool {
        let mut look = false;
        if self.woken() {
            if self.shared.waker.is_interrupted() {
                self.ending.fail(interrupted());
            } else if let Some(home) = home {
                look = self.is_one_of_several_nodes();
                home.look_outside(self);
            }
            self.show_if_asked();
        }
        if self.has_batches() {
            batches::serve(self, None);
        }
        if self.waiting.has_put_off() {
            self.unify_now();
        }
        self.follow_orders();
        if self.lanes.has_news() {
            self.report_news();
            self.follow_orders();
        }
        if crowd {
            self.put_resumed_off();
        } else {
            self.push_resumed();
        }
        look
    }
    /// The end of the run, a stop of all workers, or a collection.
    fn must_pause(&mut self, crowd: bool) -> Option<Pause> {
        self.wanted.need_words(std::mem::take(&mut self.abi.need));
        if self.ending.is_wanted() {
            self.finish_run();
            return Some(Pause::Over);
        }
        if crowd && self.shared.team.over() {
            return Some(Pause::Over);
        }
        if crowd && self.shared.team.stop_wanted() {
            return Some(Pause::Stopped);
        }
        let end = self.abi.heap as usize + self.wanted.words() * 8;
        (end > self.attention.limit() || self.wanted.is_soon()).then_some(Pause::Collect)
    }
    /// Of a node among several. True if it is time to look for messages.
    fn look_for_messages(&mut self, due: bool) -> bool {
        if self.sharing.is_shaken() {
            self.scatter();
        }
        if self.index != 0 {
            return false;
        }
        if self.has_outward() {
            // Y11 of `abroad`: nothing waits for more any longer.
            self.attention.looks();
        }
        self.attention.look_at(self.abi.heap as usize + MESSAGES_BYTES);
        due || self.abi.reductions >= self.abi.reductions_limit
    }
    /// What other workers have for this one, and what this one learns of a collection. True if there was mail.
    fn attend_to_others(&mut self, collected: bool) -> bool {
        self.look_at_others();
        self.report_outward();
        self.judge_home();
        self.send_while_off();
        let mail = self.open_mail();
        if self.sharing.take_too_many_sums() {
            self.leave_sums();
        }
        if collected && self.later_is_now() {
            self.swap_top_goals();
        }
        mail
    }
    /// Gives goals to those that ask.
    fn feed_others(&mut self, poked: bool) {
        let asked = self.is_asked(poked);
        if asked {
            self.feed();
        }
        // B8: a worker that was poked once might be poked all the time.
        if asked || poked || self.goes_up() {
            let next = self.looks_next();
            self.attention.look_at(next);
        }
        if self.sharing.is_shaken() {
            self.shake();
        }
    }
    /// When the worker looks again: at `needed` or above. `fenced`: what it showed before waited for all stores.
    fn look_again(&mut self, needed: usize, fenced: bool) {
        if let Some(bytes) = step_bytes() {
            self.attention.look_at(self.abi.heap as usize + bytes);
        }
        self.attention.look_at(self.goals.turn_due());
        self.show_looks();
        let looks = self.attention.soon() < self.abi.limit();
        if looks {
            self.abi.set_limit(self.attention.soon().max(needed));
        }
        // T7: one fence, which waits for all stores that go on, has to do for all that is restored and shown here.
        if looks || !fenced {
            fence(Ordering::SeqCst);
        }
        if self.shared.team.wants(self.index) {
            self.abi.want_attention();
        }
    }
    /// Somebody asks for goals or reduces at a lower priority, and this worker is not going to look soon anyway, or
    /// has not for a while (B8).
    #[inline(always)]
    fn is_asked(&mut self, poked: bool) -> bool {
        let (team, looks) = (&self.shared.team, self.attention.looks_soon());
        (poked || !looks)
            && (team.hungry() != 0 || team.lower(self.sharing.shown()).next().is_some())
            && (!looks || self.is_time_to_look())
    }
    /// The program failed or wants to exit.
    fn finish_run(&mut self) {
        if let Some(mut error) = self.ending.take_error() {
            if matches!(error.kind, ErrorKind::HeapLimit | ErrorKind::Interrupted) && error.goal.is_empty() {
                self.name_next_goal(&mut error);
            }
            self.shared.finish(RunOutcome::Failed(error));
        } else if let Some(status) = self.ending.take_exit() {
            self.shared.finish(RunOutcome::Exit(status));
        }
    }
}
