//! `random_numbers`: a list that grows when it is looked at, from the generator of C's `nrand48`.

use super::{Row, attempt, daemon, integer, merge, out_of_range, predicates};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const STATE_MASK: u64 = (1 << 48) - 1;
/// Numbers of `nrand48` are below this.
const NUMBERS: i64 = 1 << 31;

/// The state from a seed: its halves as the three 16-bit parts, as programs of 32-bit systems expect.
fn start(seed: i64) -> u64 {
    let part = |value: i64| (value & 0xffff) as u64;
    part(seed >> 16) | part(seed >> 8) << 16 | part(seed) << 32
}

/// The next number in `0..range` and the state after it. Rejects what would make some numbers more frequent.
fn next(mut state: u64, range: i64) -> (i64, u64) {
    let usable = NUMBERS - NUMBERS % range;
    loop {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & STATE_MASK;
        let number = (state >> 17) as i64;
        if number < usable {
            return (number % range, state);
        }
    }
}

/// The list, not looked at yet.
pub(super) fn create(worker: &mut Worker, range: Word, seed: Word) -> Result<Word, Outcome> {
    let range = integer(worker, 3, range)?;
    let seed = integer(worker, 4, seed)?;
    if !(1..=NUMBERS).contains(&range) {
        return Err(out_of_range(3, &format!("1 to {NUMBERS}"), range));
    }
    let list = worker.new_variable();
    attach(worker, list, Word::small(range), start(seed));
    Ok(list)
}

fn attach(worker: &mut Worker, list: Word, range: Word, state: u64) {
    let generator = predicates::library(worker, "random_numbers", "next", 3);
    worker.set_generator(list, generator, &[list, range, Word::small(state as i64)]);
}

/// `random_numbers:next(List,Range,State)`: the generator's goal.
fn generate(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let range = attempt!(integer(worker, 2, inputs[1]));
    let state = attempt!(integer(worker, 3, inputs[2]));
    if !(1..=NUMBERS).contains(&range) {
        return out_of_range(2, &format!("1 to {NUMBERS}"), range);
    }
    let (number, state) = next(state as u64, range);
    let (cons, tail) = merge::open_cons(worker, Word::small(number));
    attach(worker, tail, inputs[1], state);
    worker.unify(inputs[0], cons);
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[daemon("random_numbers", "next", "aii", generate)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_nrand48() {
        let mut state = start(1);
        let mut numbers = Vec::new();
        for _ in 0..2 {
            let (number, after) = next(state, 100);
            numbers.push(number);
            state = after;
        }
        assert_eq!(numbers, [52, 38]);
    }

    #[test]
    fn every_range_ends() {
        for range in [1, 2, 3, 1 << 30, (1 << 30) + 1, NUMBERS] {
            let (number, _) = next(start(7), range);
            assert!((0..range).contains(&number));
        }
    }
}
