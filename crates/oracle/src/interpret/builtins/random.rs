//! `random_numbers`: a list whose next cell is made when somebody asks for it.

use super::super::scheduler::Machine;
use super::super::terms::{Cell, Id, Value};
use super::{Native, Step, done, native, type_error};
use term::abi::Place;

/// The 48-bit linear congruence of `nrand48`, and the range of the numbers wanted.
#[derive(Clone, Debug)]
pub(in super::super) struct Random {
    state: u64,
    range: i64,
}

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const STATE_BITS: u32 = 48;
/// `nrand48` answers the highest 31 bits.
const VALUE_BITS: u32 = 31;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("generic", "new random_numbers", "aoi", Place::Body, |m, a| new(m, a[1], None)),
        native("generic", "new random_numbers", "aoii", Place::Body, |m, a| new(m, a[1], Some(a[2]))),
    ]
}

fn new(machine: &mut Machine, range: Id, seed: Option<Id>) -> Step {
    let seed = match seed.map(|seed| machine.bound(seed)) {
        None => 0,
        Some(Value::Int(seed)) => *seed as u64,
        Some(_) => return type_error("a seed is an integer"),
    };
    let Value::Int(range) = *machine.bound(range) else { return type_error("a range is an integer") };
    if !(1..=1 << VALUE_BITS).contains(&range) {
        return Step::Error("random numbers need a range of at least 1".into());
    }
    // The three 16-bit parts, lowest first: seed >> 16, seed >> 8, seed.
    let part = |shift: u32| (seed >> shift) & 0xFFFF;
    let state = part(16) | part(8) << 16 | part(0) << 32;
    done(machine.store.add(Cell::Generator(Random { state, range })))
}

impl Random {
    /// The next number: those above the largest multiple of the range are passed over.
    fn next(&mut self) -> i64 {
        let max: i64 = (1 << VALUE_BITS) - 1;
        loop {
            self.state =
                self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & ((1 << STATE_BITS) - 1);
            let value = (self.state >> (STATE_BITS - VALUE_BITS)) as i64;
            if value < self.range * (max / self.range).max(1) {
                return value % self.range;
            }
        }
    }
}

/// Makes the next cell if this is a generator.
pub(in super::super) fn force(machine: &mut Machine, id: Id) -> bool {
    let id = machine.store.deref(id);
    let Cell::Generator(random) = machine.store.cell(id) else { return false };
    let mut random = random.clone();
    let number = random.next();
    let number = machine.store.int(number);
    let rest = machine.store.add(Cell::Generator(random));
    machine.store.replace(id, Cell::Value(Value::List(number, rest)));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_c_library() {
        let mut random = Random { state: 1 << 32, range: 100 };
        assert_eq!([random.next(), random.next()], [52, 38]);
    }
}
