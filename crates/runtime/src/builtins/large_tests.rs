//! Integers beyond 61 bits for every argument of every builtin: where a size, an index or a count is asked for they
//! are an error, and never taken for what is left of them in 61 or 64 bits. None asks for memory that is not there
//! (N4), and none takes for ever (N3).

use super::natives;
use super::tests::node;
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::{Native, Outcome};
use num_bigint::BigInt;
use std::collections::BTreeSet;
use term::Word;

/// Each leaves a small number if its highest bits are cut off. With each, whether it fits into 64 bits.
fn large(worker: &mut Worker) -> Vec<(Word, bool)> {
    let one = BigInt::from(1);
    let powers = [60u32, 61, 63, 64, 200].map(|bits| &one << bits);
    let numbers = powers.iter().flat_map(|power| [power + 1, power.clone(), -power - 1, -power + 1]);
    // What fits is no large integer.
    let numbers: Vec<BigInt> = numbers.filter(|number| number.bits() > 60).collect();
    numbers.iter().map(|number| (worker.integer(number), number.bits() < 64)).collect()
}

/// What stands in the other places: all the same, or what suits a string, a vector or a structure.
fn others(worker: &mut Worker) -> Vec<Vec<Word>> {
    let items = [Word::small(1), Word::small(2), Word::small(3)];
    let (string, vector) = (worker.string(b"abc"), worker.vector(&items));
    let (list, float) = (worker.list(&items, Word::NIL), worker.float(1.5));
    let name = worker.intern("f");
    let structure = worker.structure(name, &items);
    let variable = worker.new_variable();
    let firsts = [string, vector, list, float, structure, variable, Word::NIL, Word::atom(name)];
    let rests = [Word::small(0), Word::small(1), Word::NIL];
    firsts.iter().flat_map(|&first| rests.map(|rest| vec![first, rest, rest, rest, rest])).collect()
}

fn inputs(native: &Native) -> usize {
    native.signature.modes.bytes().filter(|&mode| mode != b'o').count()
}

#[test]
fn a_large_integer_is_an_error_where_a_size_or_an_index_is_wanted() {
    let mut node = node();
    let worker = node.worker();
    let (mut any, mut of_64_bits) = (BTreeSet::new(), BTreeSet::new());
    for native in natives() {
        let signature = &native.signature;
        // It ends the process' part of a connection that is not there.
        if signature.module == "file_io" && signature.name == "connected" {
            continue;
        }
        let name = format!("{}:{}/{}", signature.module, signature.name, signature.modes);
        let mut outputs = vec![Word::NIL; signature.modes.len() - inputs(&native)];
        for place in 0..inputs(&native) {
            for (number, fits) in large(worker) {
                for mut arguments in others(worker) {
                    arguments.resize(inputs(&native), Word::NIL);
                    arguments[place] = number;
                    match (native.run)(worker, &arguments, &mut outputs) {
                        Outcome::Done => {
                            let taken = if fits { &mut of_64_bits } else { &mut any };
                            taken.insert(format!("{name} {}", place + 1));
                        }
                        Outcome::Error(error) => {
                            assert!(!error.message.contains("of class bigint"), "{name}: {}", error.message);
                            assert_ne!(error.kind, ErrorKind::HeapLimit, "{name}: {}", error.message);
                        }
                        _ => {}
                    }
                    worker.ending.end_run();
                }
            }
        }
    }
    let only: Vec<&String> = of_64_bits.difference(&any).collect();
    assert_eq!(only, ONLY_64_BITS, "{only:#?}");
    let any: Vec<&String> = any.iter().collect();
    assert_eq!(any, ANY, "{any:#?}");
}

/// Places that take any integer: it is a value or a message there.
const ANY: &[&str] = &[
    "builder:add/aao 1",
    "builder:add/aao 2",
    "builtin:print/a 1",
    "builtin:print/ao 1",
    "csv:some/iiaoo 2",
    "csv:some/iiaoo 3",
    "floating_arithmetics:integer_to_floating_point/io 1",
    "functor_table:functor/ioo 1",
    "functor_table:functor/iooo 1",
    "functor_table:new_functor/oii 1",
    "gcmerge:merge/aa 2",
    "generic:float/io 1",
    "generic:set_element/iiao 3",
    "generic:set_element/iioao 3",
    "guard:@</aa 1",
    "guard:@=</aa 1",
    "guard:@>/aa 1",
    "guard:@>/aa 2",
    "guard:@>=/aa 1",
    "guard:@>=/aa 2",
    "guard:\\=/ii 1",
    "guard:\\=/ii 2",
    "guard:add/iio 1",
    "guard:and/iio 1",
    "guard:compare/aao 1",
    "guard:compare/aao 2",
    "guard:complement/io 1",
    "guard:diff/ii 1",
    "guard:diff/ii 2",
    "guard:display_console/i 1",
    "guard:divide/iio 1",
    "guard:exclusive_or/iio 1",
    "guard:functor/ioo 1",
    "guard:greater_than/ii 1",
    "guard:hash/iio 1",
    "guard:hash/io 1",
    "guard:less_than/ii 1",
    "guard:minus/io 1",
    "guard:modulo/iio 1",
    "guard:multiply/iio 1",
    "guard:not_equal/ii 1",
    "guard:not_greater_than/ii 1",
    "guard:not_less_than/ii 1",
    "guard:or/iio 1",
    "guard:plus/io 1",
    "guard:put_console/i 1",
    "guard:shift_left/iio 1",
    "guard:shift_right/iio 1",
    "guard:subtract/iio 1",
    "guard:tag_and_value/ioo 1",
    "integer_arithmetics:add/iio 1",
    "integer_arithmetics:and/iio 1",
    "integer_arithmetics:complement/io 1",
    "integer_arithmetics:divide/iio 1",
    "integer_arithmetics:exclusive_or/iio 1",
    "integer_arithmetics:minus/io 1",
    "integer_arithmetics:modulo/iio 1",
    "integer_arithmetics:multiply/iio 1",
    "integer_arithmetics:or/iio 1",
    "integer_arithmetics:plus/io 1",
    "integer_arithmetics:shift_left/iio 1",
    "integer_arithmetics:shift_right/iio 1",
    "integer_arithmetics:subtract/iio 1",
    "json:cut/iioo 2",
    "json:part/iiio 2",
    "json:part/iiio 3",
    "json:written/io 1",
    "number:fixed/iio 1",
    "number:text/io 1",
    "random_numbers:next/aii 1",
    "strings:sub/iiio 2",
    "strings:sub/iiio 3",
    "text:sub/iiio 2",
    "text:sub/iiio 3",
    "variable:unbound/ao 1",
    "variable:wrap/ao 1",
    "vector:set_vector_element/iiao 3",
    "vector:set_vector_element/iioao 3",
];

/// Places that take all integers of 64 bits: an exit status, of which the system takes eight bits, a depth, a time, and
/// numbers that only the library gives.
const ONLY_64_BITS: &[&str] = &[
    "file_io:accept/iio 2",
    "guard:hash/iio 2",
    "random_numbers:next/aii 3",
    "shoen_control:add/ii 1",
    "shoen_control:alarm/ioo 1",
    "shoen_control:limit/ii 1",
    "shoen_control:quiet/i 1",
    "shoen_control:run/ia 1",
    "shoen_control:statistics/io 1",
    "terms_text:codes/iiiao 3",
    "terms_text:parse/iiio 3",
    "terms_text:scan/iio 2",
    "unix:exit/i 1",
];
