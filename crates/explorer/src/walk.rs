//! One random way.

use crate::{Break, Model, retrace};
use fabric::Random;
use std::ops::Range;

/// What walks went through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    /// Actions taken.
    pub steps: u64,
    /// Walks that came to where no action is left.
    pub ended: u64,
}

/// Takes at most `steps_max` random actions. From time to time all actions that share a [part](Model::parts) are held
/// back for a while, unless nothing else is possible. A walk that has not ended by then is an error: the protocol
/// sends messages without end, or the limit is too low for the model.
pub fn walk<M: Model>(model: &M, seed: u64, steps_max: usize) -> Result<Walked, Break> {
    let mut random = Random::new(seed);
    let mut state = model.start();
    let mut way: Vec<M::Action> = Vec::new();
    let (mut actions, mut free) = (Vec::new(), Vec::new());
    let mut held = Held::default();
    model.check(&state).map_err(|cause| retrace(model, Some(seed), cause, &[]))?;
    loop {
        actions.clear();
        model.actions(&state, &mut actions);
        if actions.is_empty() {
            model.end(&state).map_err(|cause| retrace(model, Some(seed), cause, &way))?;
            return Ok(Walked { steps: way.len() as u64, ended: 1 });
        }
        if way.len() == steps_max {
            let cause = format!("no end after {steps_max} actions");
            return Err(retrace(model, Some(seed), cause, &way[..steps_max.min(100)]));
        }
        let parts = held.parts(&mut random, actions.iter().fold(0, |all, action| all | model.parts(action)));
        free.clear();
        free.extend((0..actions.len()).filter(|&i| model.parts(&actions[i]) & parts == 0));
        let choice = match free.len() {
            0 => random.below(actions.len() as u32) as usize,
            count => free[random.below(count as u32) as usize],
        };
        let action = actions.swap_remove(choice);
        way.push(action);
        model
            .step(&mut state, &way[way.len() - 1])
            .and_then(|()| model.check(&state))
            .map_err(|cause| retrace(model, Some(seed), cause, &way))?;
    }
}

/// A walk through the model of each of these seeds; stops at the first that breaks something.
pub fn walks<M: Model>(
    seeds: Range<u64>,
    steps_max: usize,
    mut model: impl FnMut(u64) -> M,
) -> Result<Walked, Break> {
    seeds.into_iter().try_fold(Walked::default(), |sum, seed| {
        let one = walk(&model(seed), seed, steps_max)?;
        Ok(Walked { steps: sum.steps + one.steps, ended: sum.ended + one.ended })
    })
}

/// The parts that are held back, and for how many steps more.
#[derive(Default)]
struct Held {
    parts: u64,
    steps: u32,
}

impl Held {
    /// What to hold back in the next step, of `all` parts that could do something.
    fn parts(&mut self, random: &mut Random, all: u64) -> u64 {
        if self.steps > 0 {
            self.steps -= 1;
            return self.parts;
        }
        // One stretch in two holds nothing back, the others half of all parts or one of them.
        self.steps = random.below(30);
        self.parts = match random.below(4) {
            0 => random.bits() & all,
            1 if all != 0 => one_of(all, random.below(all.count_ones())),
            _ => 0,
        };
        self.parts
    }
}

/// The bit of a set before which this number of its bits stand.
fn one_of(mut set: u64, number: u32) -> u64 {
    for _ in 0..number {
        set &= set - 1;
    }
    set & set.wrapping_neg()
}
