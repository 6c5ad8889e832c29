//! Goals that another node may reduce in place of this one: those of predicates of which the program has said
//! `@node(any)`, or all of its goals ([`Options::balance`](crate::worker::Options::balance)) but for those of
//! predicates that it has placed with `@node(N)`.

use crate::coordination::team::Mail;
use crate::goals::abroad::Goal;
use crate::goals::shoen::is_lane;
use crate::goals::state::NO_PRIORITY;
use crate::terms::{View, deref};
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;

/// Words of a goal and of what it awaits, at most: more would take longer to send than most goals run.
const WORDS_MAX: usize = 1024;

impl Worker {
    /// Takes the oldest goal that a node may reduce in place of this one, unless it is the only one, would wait at
    /// once, is large, or is of a predicate that `stays`. Words are good until the next turn.
    pub(crate) fn take_spare(&mut self, node: u32, stays: impl Fn(PredicateId) -> bool) -> Option<Goal> {
        let keeps = |worker: &Worker, predicate: PredicateId, goal: &dyn Fn(usize) -> Word| {
            predicate.goal_word().bits() < worker.abi.first_compiled.bits()
                || !worker.may_leave(predicate)
                || stays(predicate)
                || worker.is_large(predicate, goal)
        };
        let surplus = self.surplus_but(1, NO_PRIORITY, &keeps).pop()?;
        let Mail { priority, mut words, .. } = self.take_as_mail(surplus, false);
        let predicate = PredicateId::of_goal_word(words.pop()?);
        debug_assert_eq!(self.predicates.arity(predicate), words.len(), "P2: one goal was wanted");
        if is_lane(priority) {
            return Some(self.leaving(priority, node, predicate, &words));
        }
        self.shared.shoens.losses.goes_uncounted(node);
        Some(Goal { priority, predicate, args: words.into() })
    }
    /// Whether a goal is too much to be sent, with the terms that its predicate awaits.
    fn is_large(&self, predicate: PredicateId, argument: &dyn Fn(usize) -> Word) -> bool {
        let info = self.predicates.get(predicate);
        let awaited = (0..64).filter(|&i| info.awaits >> i & 1 != 0);
        let mut stack: Vec<Word> = awaited.map(argument).collect();
        let mut words = info.arity as usize;
        while let Some(word) = stack.pop() {
            if words > WORDS_MAX {
                return true;
            }
            match self.view(deref(word)) {
                View::Cons(head, tail) => {
                    words += 2;
                    stack.extend([tail, head]);
                }
                View::Struct(_, arity) => {
                    words += 1 + arity;
                    if words <= WORDS_MAX {
                        stack.extend((0..arity).map(|i| self.arg(deref(word), i)));
                    }
                }
                View::Object(_) => {
                    let length = self.vector_length(deref(word));
                    words += length.or_else(|| self.string_length(deref(word)).map(|n| n / 8)).unwrap_or(1);
                    if words <= WORDS_MAX {
                        stack.extend(self.vector_elements(deref(word)).unwrap_or_default());
                    }
                }
                View::Unbound(_) | View::Int(_) | View::Atom(_) => {}
            }
        }
        words > WORDS_MAX
    }
}
