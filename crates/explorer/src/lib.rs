//! Explores what a protocol can do.
//!
//! A [`Model`] is a state, the actions that are possible in it, and what must hold. [`breadth_first`] goes through
//! every state of a small model, so what it finds broken is reached by as few actions as possible. [`walk`] takes one
//! random way through a large one. Both are deterministic: a model and a seed give the same answer everywhere. What
//! they find is a [`Break`], with the seed and every action.

#![forbid(unsafe_code)]

mod breadth;
mod walk;

pub use breadth::{Explored, breadth_first};
pub use walk::{Walked, walk, walks};

use std::fmt;
use std::hash::Hash;

/// What is explored.
pub trait Model {
    /// Everything that a later action may depend on. States with equal hashes (128 bits) count as the same.
    type State: Clone + Hash;
    /// One thing that can happen.
    type Action: Clone + fmt::Debug;
    /// Where it begins.
    fn start(&self) -> Self::State;
    /// What can happen in this state, in a fixed order: adds to `actions`.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);
    /// Lets it happen. An error is a broken rule, in words.
    fn step(&self, state: &mut Self::State, action: &Self::Action) -> Result<(), String>;
    /// What must hold in every state.
    fn check(&self, state: &Self::State) -> Result<(), String>;
    /// What must hold, besides, where no action is left.
    fn end(&self, state: &Self::State) -> Result<(), String>;
    /// What an action belongs to, as a set of bits: its node, its channel. Random walks hold back all actions that
    /// share a bit for a while (a node that stalls, a slow channel). 0: never held back.
    fn parts(&self, action: &Self::Action) -> u64 {
        let _ = action;
        0
    }
    /// An action in words, for a trace.
    fn tell(&self, state: &Self::State, action: &Self::Action) -> String {
        let _ = state;
        format!("{action:?}")
    }
}

/// What does not hold, and how it came to that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// The seed of the walk; none where every state was looked at.
    pub seed: Option<u64>,
    /// The rule that is broken.
    pub cause: String,
    /// Every action from the start on, in words.
    pub trace: Vec<String>,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if let Some(seed) = self.seed {
            write!(f, " (seed {seed})")?;
        }
        writeln!(f, ", after {} actions:", self.trace.len())?;
        for (number, action) in self.trace.iter().enumerate() {
            writeln!(f, "{number:5}  {action}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Break {}

/// Takes the way of these actions again, to put it into words.
fn retrace<M: Model>(model: &M, seed: Option<u64>, cause: String, way: &[M::Action]) -> Break {
    let mut state = model.start();
    let mut trace = Vec::with_capacity(way.len());
    for action in way {
        trace.push(model.tell(&state, action));
        // The last action is the one that breaks something.
        let _ = model.step(&mut state, action);
    }
    Break { seed, cause, trace }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes that add one to a number, in two steps each; `lock` makes the two steps one.
    struct Adders {
        lock: bool,
    }

    /// The number; what each process has read; how often each still adds.
    #[derive(Clone, Hash)]
    struct Sum {
        value: u8,
        read: [Option<u8>; 2],
        left: [u8; 2],
    }

    impl Model for Adders {
        type State = Sum;
        type Action = usize;
        fn start(&self) -> Sum {
            Sum { value: 0, read: [None; 2], left: [2; 2] }
        }
        fn actions(&self, state: &Sum, actions: &mut Vec<usize>) {
            let locked = (0..2).find(|&p| self.lock && state.read[p].is_some());
            actions.extend((0..2).filter(|&p| state.left[p] > 0 && locked.is_none_or(|holder| holder == p)));
        }
        fn step(&self, state: &mut Sum, &process: &usize) -> Result<(), String> {
            match state.read[process].take() {
                None => state.read[process] = Some(state.value),
                Some(value) => {
                    state.value = value + 1;
                    state.left[process] -= 1;
                }
            }
            Ok(())
        }
        fn check(&self, state: &Sum) -> Result<(), String> {
            if state.value <= 4 { Ok(()) } else { Err("too much was added".into()) }
        }
        fn end(&self, state: &Sum) -> Result<(), String> {
            if state.value == 4 { Ok(()) } else { Err(format!("the sum is {}", state.value)) }
        }
        fn parts(&self, &process: &usize) -> u64 {
            1 << process
        }
    }

    #[test]
    fn a_lost_update_is_found_with_its_trace() {
        let broken = breadth_first(&Adders { lock: false }, 10_000).expect_err("an update is lost");
        assert!(broken.cause.starts_with("the sum is "), "{broken}");
        assert_eq!((broken.trace.len(), broken.seed), (8, None), "{broken}");
        let broken = walks(0..1000, 100, |_| Adders { lock: false }).expect_err("an update is lost");
        let seed = broken.seed.expect("the seed of the walk");
        assert_eq!(walk(&Adders { lock: false }, seed, 100).expect_err("the same again"), broken);
    }

    #[test]
    fn every_state_of_a_right_model_is_seen_once() {
        let explored = breadth_first(&Adders { lock: true }, 10_000).expect("nothing is lost");
        // Of the lattice of 3 x 3 sums done: one state each, and one more for each process that can go on from there.
        assert_eq!(explored, Explored { states: 9 + 12, ends: 1, complete: true });
        assert!(!breadth_first(&Adders { lock: true }, 5).expect("nothing is lost").complete);
        let walked = walks(0..50, 100, |_| Adders { lock: true }).expect("nothing is lost");
        assert_eq!(walked, Walked { steps: 50 * 8, ended: 50 });
    }
}
