//! The native predicates of module `array`. `library/array.kl1` has the rest.

use crate::kernels::Kernel;
use crate::memory::{Array, Arrays, refusal};
use runtime::builtins::{describe, error, index, integer, known, list_items, out_of_range, wrong};
use runtime::native::{Native, Outcome, Run, Seat};
use runtime::outcome::ErrorKind;
use runtime::terms::View;
use runtime::worker::Worker;
use std::sync::atomic::Ordering;
use term::Word;
use term::abi::{Builtin, Place};
use term::layout::BIGINT;

const NAME: &str = "array";
/// Most floats of an array.
const SIZE_MAX: i64 = 1 << 32;

type Answer<T> = Result<T, Outcome>;

/// All of them. `have_copies`: of several nodes each has copies of pages, which its first worker has.
pub fn natives(have_copies: bool) -> Vec<Native> {
    let seat = if have_copies { Seat::First } else { Seat::Any };
    let rows: [(&str, &str, Place, Run); 9] = [
        ("new", "oi", Place::Method, new),
        ("size", "io", Place::Method, size),
        ("element", "iio", Place::Method, element),
        ("set_element", "iiio", Place::Method, set_element),
        ("elements", "io", Place::Method, elements),
        ("free", "i", Place::Method, free),
        ("like", "io", Place::Method, like),
        ("phases", "io", Place::Method, phases),
        ("part", "iiiio", Place::Goal, part),
    ];
    let native = |(name, modes, place, run): (&'static str, &'static str, Place, Run)| Native {
        signature: Builtin {
            module: NAME.into(),
            name: name.into(),
            modes: modes.into(),
            place,
            daemon: false,
        },
        run,
        process: None,
        seat,
        walks: name == "new",
    };
    rows.map(native).into()
}

fn done(answer: Answer<()>) -> Outcome {
    answer.err().unwrap_or(Outcome::Done)
}

/// An array argument.
pub(crate) fn array(worker: &mut Worker, position: usize, word: Word) -> Answer<(Array, Arrays)> {
    let word = known(word)?;
    let View::Struct(name, 2) = worker.view(word) else {
        return Err(wrong(worker, position, "an array", word));
    };
    if worker.atoms.text(name) != NAME.as_bytes() {
        return Err(wrong(worker, position, "an array", word));
    }
    let arrays = Arrays::of_worker(worker).map_err(refusal)?;
    let parts = [0, 1].map(|part| worker.arg(word, part));
    let [first, size] = [known(parts[0])?, known(parts[1])?]
        .map(|part| worker.small(part).and_then(|number| usize::try_from(number).ok()));
    if let (Some(first), Some(size)) = (first, size) {
        let array = Array { first, size };
        if array.is_inside(&arrays).map_err(refusal)? {
            return Ok((array, arrays));
        }
    }
    let text = worker.term_text(word);
    Err(error(ErrorKind::ArgumentType, format!("argument {position} must be an array, and {text} is none")))
}

fn term(worker: &mut Worker, array: Array) -> Word {
    let name = worker.intern(NAME);
    worker.structure(name, &[array.first, array.size].map(|part| Word::small(part as i64)))
}

/// A new array of SIZE zeros.
fn make(worker: &mut Worker, size: usize) -> Answer<(Array, Arrays)> {
    worker.ensure(size + 8)?;
    let arrays = Arrays::of_worker(worker).map_err(refusal)?;
    let array = arrays.allocate(worker, size)?;
    Ok((array, arrays))
}

/// `array:new(A,SizeOrList)`: zeros, or the floats of a list.
fn new(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        outputs[0] = match worker.view(inputs[0]) {
            View::Int(_) | View::Object(BIGINT) => {
                let size = integer(worker, 2, inputs[0])?;
                if !(0..=SIZE_MAX).contains(&size) {
                    return Err(out_of_range(2, &format!("0 to {SIZE_MAX}"), size));
                }
                let (array, _) = make(worker, size as usize)?;
                term(worker, array)
            }
            View::Cons(..) | View::Atom(term::symbol::NIL) => from_list(worker, inputs[0])?,
            _ => return Err(wrong(worker, 2, "a size or a list of floats", inputs[0])),
        };
        Ok(())
    })())
}

fn from_list(worker: &mut Worker, list: Word) -> Answer<Word> {
    let items = list_items(worker, 2, list)?;
    let mut floats = Vec::with_capacity(items.len());
    for &item in &items {
        let item = known(item)?;
        let Some(float) = worker.float_value(item) else {
            let text =
                format!("argument 2 must be a list of floats, and one of them is {}", describe(worker, item));
            return Err(error(ErrorKind::ArgumentType, text));
        };
        floats.push(float);
    }
    let (array, arrays) = make(worker, floats.len())?;
    arrays.touch(worker, &[array.part(0, array.size, true)])?;
    let common = arrays.common().map_err(refusal)?;
    for (index, float) in floats.iter().enumerate() {
        array.element(common, index).store(float.to_bits(), Ordering::Release);
    }
    Ok(term(worker, array))
}

/// `array:size(A,N)`.
fn size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (array, _) = array(worker, 1, inputs[0])?;
        outputs[0] = Word::small(array.size as i64);
        Ok(())
    })())
}

/// `array:element(A,I,E)`.
fn element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (array, arrays) = array(worker, 1, inputs[0])?;
        let index = index(worker, 2, inputs[1], array.size)?;
        arrays.touch(worker, &[array.part(index, 1, false)])?;
        let bits = array.element(arrays.common().map_err(refusal)?, index).load(Ordering::Acquire);
        outputs[0] = worker.float(f64::from_bits(bits));
        Ok(())
    })())
}

/// `array:set_element(A,I,E,B)`: B is A, when E is in it.
fn set_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (array, arrays) = array(worker, 1, inputs[0])?;
        let index = index(worker, 2, inputs[1], array.size)?;
        let float = known(inputs[2])?;
        let float = worker.float_value(float).ok_or_else(|| wrong(worker, 3, "a float", float))?;
        arrays.touch(worker, &[array.part(index, 1, true)])?;
        array.element(arrays.common().map_err(refusal)?, index).store(float.to_bits(), Ordering::Release);
        outputs[0] = inputs[0];
        Ok(())
    })())
}

/// `array:elements(A,List)`.
fn elements(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (array, arrays) = array(worker, 1, inputs[0])?;
        // A cons and a float each.
        worker.ensure(4 * array.size + 8)?;
        arrays.touch(worker, &[array.part(0, array.size, false)])?;
        let common = arrays.common().map_err(refusal)?;
        let mut items = Vec::with_capacity(array.size);
        for index in 0..array.size {
            let bits = array.element(common, index).load(Ordering::Acquire);
            items.push(worker.float(f64::from_bits(bits)));
        }
        outputs[0] = worker.list(&items, Word::NIL);
        Ok(())
    })())
}

/// `array:free(A)`.
fn free(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    done((|| {
        let (array, arrays) = array(worker, 1, inputs[0])?;
        if arrays.free(array) {
            return Ok(());
        }
        let text = worker.term_text(inputs[0]);
        Err(error(ErrorKind::Other, format!("{text} was freed before")))
    })())
}

/// `array:like(A,B)`: B is a new array of A's size.
fn like(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (array, _) = array(worker, 1, inputs[0])?;
        let (new, _) = make(worker, array.size)?;
        outputs[0] = term(worker, new);
        Ok(())
    })())
}

/// `array:phases(Kernel,N)`: looks at all that may be wrong.
fn phases(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (kernel, _) = Kernel::of(worker, inputs[0])?;
        outputs[0] = Word::small(kernel.phases() as i64);
        Ok(())
    })())
}

/// `array:part(Kernel,Phase,I,Parts,Done)`: Done is `[]` when part I of the phase's `Parts` is done.
fn part(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    done((|| {
        let (kernel, arrays) = Kernel::of(worker, inputs[0])?;
        let phase = index(worker, 2, inputs[1], kernel.phases())?;
        let parts = index(worker, 4, inputs[3], 1 << 20)?;
        let part = index(worker, 3, inputs[2], parts)?;
        kernel.run(worker, &arrays, phase, (part as u32, parts as u32))?;
        outputs[0] = Word::NIL;
        Ok(())
    })())
}

/// What is wrong with a kernel's arguments.
pub(crate) fn unfit(worker: &Worker, kernel: Word, what: &str) -> Outcome {
    match worker.view(kernel) {
        View::Struct(name, _) => error(ErrorKind::Range, format!("{}: {what}", worker.atoms.name(name))),
        _ => error(ErrorKind::ArgumentType, format!("{what}, not {}", describe(worker, kernel))),
    }
}
