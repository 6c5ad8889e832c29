//! Every state, the nearest first.

use crate::{Break, Model, retrace};
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What [`breadth_first`] went through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    /// States that differ.
    pub states: usize,
    /// Those without a further action.
    pub ends: usize,
    /// All states were seen; otherwise the limit came first.
    pub complete: bool,
}

/// Goes through all states that can be reached, in the order of their distance, until `states_max` have been seen.
/// The error is the nearest state where something does not hold.
pub fn breadth_first<M: Model>(model: &M, states_max: usize) -> Result<Explored, Break> {
    let start = model.start();
    model.check(&start).map_err(|cause| retrace(model, None, cause, &[]))?;
    let mut seen = HashSet::from([digest(&start)]);
    // For each state but the first: the number of the state before, and the action.
    let mut ways: Vec<(usize, M::Action)> = Vec::new();
    let mut next = VecDeque::from([(0, start)]);
    let mut ends = 0;
    let mut actions = Vec::new();
    while let Some((number, state)) = next.pop_front() {
        actions.clear();
        model.actions(&state, &mut actions);
        if actions.is_empty() {
            ends += 1;
            model.end(&state).map_err(|cause| retrace(model, None, cause, &way(&ways, number, None)))?;
        }
        for action in &actions {
            let mut state = state.clone();
            model
                .step(&mut state, action)
                .and_then(|()| model.check(&state))
                .map_err(|cause| retrace(model, None, cause, &way(&ways, number, Some(action))))?;
            if seen.insert(digest(&state)) {
                if seen.len() > states_max {
                    return Ok(Explored { states: states_max, ends, complete: false });
                }
                ways.push((number, action.clone()));
                next.push_back((ways.len(), state));
            }
        }
    }
    Ok(Explored { states: seen.len(), ends, complete: true })
}

/// The actions that lead to state `number`, and `last`.
fn way<A: Clone>(ways: &[(usize, A)], mut number: usize, last: Option<&A>) -> Vec<A> {
    let mut back: Vec<A> = last.into_iter().cloned().collect();
    while number > 0 {
        let (before, action) = &ways[number - 1];
        back.push(action.clone());
        number = *before;
    }
    back.reverse();
    back
}

/// 128 bits: among ten million states two have the same with a probability of about 10^-25.
fn digest(state: &impl Hash) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        state.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
