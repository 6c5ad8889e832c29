//! The native predicates of module `array`. `library/array.kl1` has the rest.

use crate::kernels::Kernel;
use crate::memory::{Array, Arrays, refusal};
use runtime::builtins::{error, out_of_range};
use runtime::native::{Native, Outcome, Seat};
use runtime::node::{Answer, NativeCode, Term, Terms};
use runtime::outcome::ErrorKind;
use runtime::terms::View;
use std::sync::atomic::Ordering;
use term::abi::{Builtin, Place};
use term::layout::BIGINT;

const NAME: &str = "array";
/// Most floats of an array.
const SIZE_MAX: i64 = 1 << 32;

type Result<'t, T> = std::result::Result<T, Answer<'t>>;

/// All of them. `have_copies`: of several nodes each has copies of pages, which its first worker has.
pub fn natives(have_copies: bool) -> Vec<Native> {
    let seat = if have_copies { Seat::First } else { Seat::Any };
    vec![
        native(seat, "new", "oi", Place::Method, new),
        native(seat, "size", "io", Place::Method, size),
        native(seat, "element", "iio", Place::Method, element),
        native(seat, "set_element", "iiio", Place::Method, set_element),
        native(seat, "elements", "io", Place::Method, elements),
        native(seat, "free", "i", Place::Method, free),
        native(seat, "like", "io", Place::Method, like),
        native(seat, "phases", "io", Place::Method, phases),
        native(seat, "part", "iiiio", Place::Goal, part),
    ]
}

fn native(
    seat: Seat,
    name: &'static str,
    modes: &'static str,
    place: Place,
    code: impl NativeCode,
) -> Native {
    let signature =
        Builtin { module: NAME.into(), name: name.into(), modes: modes.into(), place, daemon: false };
    Native::new(signature, seat, name == "new", code)
}

fn done<'t>(answer: Result<'t, ()>) -> Answer<'t> {
    answer.err().unwrap_or(Outcome::Done)
}

/// An array argument.
pub(crate) fn array<'t>(
    worker: &mut Terms<'t>,
    position: usize,
    word: Term<'t>,
) -> Result<'t, (Array, Arrays)> {
    let word = worker.known(word)?;
    let View::Struct(name, 2) = worker.view(word) else {
        return Err(worker.wrong(position, "an array", word));
    };
    if worker.atoms().text(name) != NAME.as_bytes() {
        return Err(worker.wrong(position, "an array", word));
    }
    let arrays = Arrays::of_worker(worker).map_err(refusal)?;
    let parts = [0, 1].map(|part| worker.arg(word, part));
    let [first, size] = [worker.known(parts[0])?, worker.known(parts[1])?]
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

fn term<'t>(worker: &mut Terms<'t>, array: Array) -> Term<'t> {
    let name = worker.intern(NAME);
    worker.structure(name, &[array.first, array.size].map(|part| Term::small(part as i64)))
}

/// A new array of SIZE zeros.
fn make<'t>(worker: &mut Terms<'t>, size: usize) -> Result<'t, (Array, Arrays)> {
    worker.ensure(size + 8)?;
    let arrays = Arrays::of_worker(worker).map_err(refusal)?;
    let array = arrays.allocate(worker, size)?;
    Ok((array, arrays))
}

/// `array:new(A,SizeOrList)`: zeros, or the floats of a list.
fn new<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        outputs[0] = match worker.view(inputs[0]) {
            View::Int(_) | View::Object(BIGINT) => {
                let size = worker.integer_of(2, inputs[0])?;
                if !(0..=SIZE_MAX).contains(&size) {
                    return Err(out_of_range(2, &format!("0 to {SIZE_MAX}"), size));
                }
                let (array, _) = make(worker, size as usize)?;
                term(worker, array)
            }
            View::Cons(..) | View::Atom(term::symbol::NIL) => from_list(worker, inputs[0])?,
            _ => return Err(worker.wrong(2, "a size or a list of floats", inputs[0])),
        };
        Ok(())
    })())
}

fn from_list<'t>(worker: &mut Terms<'t>, list: Term<'t>) -> Result<'t, Term<'t>> {
    let items = worker.list_items(2, list)?;
    let mut floats = Vec::with_capacity(items.len());
    for &item in &items {
        let item = worker.known(item)?;
        let Some(float) = worker.float_value(item) else {
            let text =
                format!("argument 2 must be a list of floats, and one of them is {}", worker.describe(item));
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
fn size<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        let (array, _) = array(worker, 1, inputs[0])?;
        outputs[0] = Term::small(array.size as i64);
        Ok(())
    })())
}

/// `array:element(A,I,E)`.
fn element<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        let (array, arrays) = array(worker, 1, inputs[0])?;
        let index = worker.index(2, inputs[1], array.size)?;
        arrays.touch(worker, &[array.part(index, 1, false)])?;
        let bits = array.element(arrays.common().map_err(refusal)?, index).load(Ordering::Acquire);
        outputs[0] = worker.float(f64::from_bits(bits));
        Ok(())
    })())
}

/// `array:set_element(A,I,E,B)`: B is A, when E is in it.
fn set_element<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        let (array, arrays) = array(worker, 1, inputs[0])?;
        let index = worker.index(2, inputs[1], array.size)?;
        let float = worker.known(inputs[2])?;
        let float = worker.float_value(float).ok_or_else(|| worker.wrong(3, "a float", float))?;
        arrays.touch(worker, &[array.part(index, 1, true)])?;
        array.element(arrays.common().map_err(refusal)?, index).store(float.to_bits(), Ordering::Release);
        outputs[0] = inputs[0];
        Ok(())
    })())
}

/// `array:elements(A,List)`.
fn elements<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
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
        outputs[0] = worker.list(&items, Term::NIL);
        Ok(())
    })())
}

/// `array:free(A)`.
fn free<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], _: &mut [Term<'t>]) -> Answer<'t> {
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
fn like<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        let (array, _) = array(worker, 1, inputs[0])?;
        let (new, _) = make(worker, array.size)?;
        outputs[0] = term(worker, new);
        Ok(())
    })())
}

/// `array:phases(Kernel,N)`: looks at all that may be wrong.
fn phases<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        let (kernel, _) = Kernel::of(worker, inputs[0])?;
        outputs[0] = Term::small(kernel.phases() as i64);
        Ok(())
    })())
}

/// `array:part(Kernel,Phase,I,Parts,Done)`: Done is `[]` when part I of the phase's `Parts` is done.
fn part<'t>(worker: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    done((|| {
        let (kernel, arrays) = Kernel::of(worker, inputs[0])?;
        let phase = worker.index(2, inputs[1], kernel.phases())?;
        let parts = worker.index(4, inputs[3], 1 << 20)?;
        let part = worker.index(3, inputs[2], parts)?;
        kernel.run(worker, &arrays, phase, (part as u32, parts as u32))?;
        outputs[0] = Term::NIL;
        Ok(())
    })())
}

/// What is wrong with a kernel's arguments.
pub(crate) fn unfit<'t>(worker: &Terms<'t>, kernel: Term<'t>, what: &str) -> Answer<'t> {
    match worker.view(kernel) {
        View::Struct(name, _) => error(ErrorKind::Range, format!("{}: {what}", worker.atoms().name(name))),
        _ => error(ErrorKind::ArgumentType, format!("{what}, not {}", worker.describe(kernel))),
    }
}
