//! Module `variable`: looking at variables, and wrapped terms (every part says what it is).

use super::{Row, attempt, body, error, first, goal};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::terms::walk::Stack;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use rustc_hash::FxHashMap;
use term::layout::{BIGINT, FLOAT, STRING, VECTOR};
use term::symbol::DOT;
use term::{Atom, Word};

/// `unbound(X,R)`: `{X}` if it is bound now, `{Node,Address,X}` if not.
fn unbound(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if let Some(answer) = worker.look_abroad(inputs[0], false) {
        return Outcome::Wait(answer);
    }
    outputs[0] = match worker.view(inputs[0]) {
        View::Unbound(variable) => {
            let address = Word::small((variable.address() >> 3) as i64);
            let node = Word::small(worker.options.node.into());
            worker.vector(&[node, address, variable])
        }
        _ => worker.vector(&[inputs[0]]),
    };
    Outcome::Done
}

/// What a conversion has to do next; finished parts are on a stack of their own.
enum Step {
    Visit(Word),
    /// Makes a term of the topmost finished parts.
    Functor(Atom, usize),
    Vector(usize),
    /// Puts the topmost finished part into a structure of this name.
    Wrap(&'static str),
}

/// Runs `visit` on a term and on what it pushes, without recursion.
fn convert(
    worker: &mut Worker,
    term: Word,
    mut visit: impl FnMut(&mut Worker, Word, &mut Stack<Step>) -> Result<Option<Word>, Outcome>,
) -> Result<Word, Outcome> {
    let mut steps = Stack::new();
    steps.push(Step::Visit(term));
    let mut done: Vec<Word> = Vec::new();
    while let Some(step) = steps.pop(worker)? {
        let finished = match step {
            Step::Visit(term) => match visit(worker, term, &mut steps)? {
                Some(word) => word,
                None => continue,
            },
            Step::Functor(name, arity) => {
                let args = done.split_off(done.len() - arity);
                worker.structure(name, &args)
            }
            Step::Vector(length) => {
                let elements = done.split_off(done.len() - length);
                worker.vector(&elements)
            }
            Step::Wrap(name) => {
                let part = done.pop().unwrap_or(Word::NIL);
                let name = worker.intern(name);
                worker.structure(name, &[part])
            }
        };
        done.push(finished);
    }
    Ok(done.pop().unwrap_or(Word::NIL))
}

/// Pushes the visits of parts, the first one on top.
fn push_parts(worker: &Worker, term: Word, steps: &mut Stack<Step>) {
    match worker.view(term) {
        View::Cons(car, cdr) => {
            steps.extend([Step::Functor(DOT, 2), Step::Visit(cdr), Step::Visit(car)]);
        }
        View::Struct(name, arity) => {
            steps.push(Step::Functor(name, arity));
            steps.extend((0..arity).rev().map(|i| Step::Visit(worker.arg(term, i))));
        }
        _ => {
            let elements = worker.vector_elements(term).unwrap_or_default();
            steps.push(Step::Vector(elements.len()));
            steps.extend(elements.into_iter().rev().map(Step::Visit));
        }
    }
}

/// `wrap(T,W)`.
fn wrap(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if let Some(answer) = worker.look_abroad(inputs[0], true) {
        return Outcome::Wait(answer);
    }
    let wrapped = convert(worker, inputs[0], |worker, term, steps| {
        let name = match worker.view(term) {
            View::Unbound(_) => "unknown",
            View::Int(_) | View::Object(BIGINT) => "integer",
            View::Atom(_) => "atom",
            View::Cons(..) => "list",
            View::Struct(..) => "functor",
            View::Object(FLOAT) => "floating_point",
            View::Object(STRING) => "string",
            View::Object(VECTOR) => "vector",
            View::Object(_) => "unknown",
        };
        if matches!(name, "list" | "functor" | "vector") {
            steps.push(Step::Wrap(name));
            push_parts(worker, term, steps);
            return Ok(None);
        }
        let name = worker.intern(name);
        Ok(Some(worker.structure(name, &[term])))
    });
    give(wrapped, outputs)
}

fn give(result: Result<Word, Outcome>, outputs: &mut [Word]) -> Outcome {
    match result {
        Ok(word) => {
            outputs[0] = word;
            Outcome::Done
        }
        Err(outcome) => outcome,
    }
}

/// `unwrap(W,T)`: equal names become one new variable.
fn unwrap(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    give(unwrapped(worker, inputs[0], &mut Vec::new()), outputs)
}

/// `unwrap(W,T,Vs)`: also a list of `Name=Variable`, in order of appearance.
fn unwrap_naming(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let mut named = Vec::new();
    outputs[0] = attempt!(unwrapped(worker, inputs[0], &mut named));
    let equals = worker.intern("=");
    let items: Vec<Word> = named.iter().map(|pair| worker.structure(equals, pair)).collect();
    outputs[1] = worker.list(&items, Word::NIL);
    Outcome::Done
}

/// The term that `wrapped` stands for; `named` gets the names (strings) and the new variables.
fn unwrapped(worker: &mut Worker, wrapped: Word, named: &mut Vec<[Word; 2]>) -> Result<Word, Outcome> {
    let mut variables: FxHashMap<Vec<u8>, Word> = FxHashMap::default();
    convert(worker, wrapped, |worker, term, steps| {
        let (name, part) = match worker.view(term) {
            View::Struct(name, 1) => (worker.atoms.text(name).to_vec(), worker.arg(term, 0)),
            View::Unbound(variable) => return Err(Outcome::Wait(variable)),
            _ => return Err(not_wrapped(worker, term)),
        };
        if let (View::Unbound(variable), false) = (worker.view(part), &name[..] == b"unknown") {
            return Err(Outcome::Wait(variable));
        }
        match &name[..] {
            b"atom" | b"integer" | b"floating_point" | b"string" | b"unknown" => Ok(Some(part)),
            b"variable" => {
                let Some(name) = worker.string_bytes(part) else { return Err(not_wrapped(worker, term)) };
                let variable = variables.entry(name).or_insert_with(|| {
                    let variable = worker.new_variable();
                    named.push([part, variable]);
                    variable
                });
                Ok(Some(*variable))
            }
            b"list" | b"functor" | b"vector" => match worker.view(part) {
                View::Cons(..) | View::Struct(..) | View::Object(VECTOR) => {
                    push_parts(worker, part, steps);
                    Ok(None)
                }
                _ => Err(not_wrapped(worker, term)),
            },
            _ => Err(not_wrapped(worker, term)),
        }
    })
}

fn not_wrapped(worker: &Worker, term: Word) -> Outcome {
    let message = format!("{} is no wrapped term", worker.term_text(term));
    error(ErrorKind::ArgumentType, message)
}

pub(super) const NATIVES: &[Row] = &[
    first(body("variable", "unbound", "ao", unbound)),
    first(goal("variable", "wrap", "ao", wrap)),
    goal("variable", "unwrap", "io", unwrap),
    goal("variable", "unwrap", "ioo", unwrap_naming),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn unwrapping_undoes_wrapping() {
        let worker = worker();
        let (name, string, float) = (worker.intern("f"), worker.string(b"s"), worker.float(2.5));
        let vector = worker.vector(&[float]);
        let list = worker.list(&[string, vector], Word::small(3));
        let term = worker.structure(name, &[list, Word::NIL]);
        let mut out = [Word::NIL];
        assert!(matches!(wrap(worker, &[term], &mut out), Outcome::Done));
        let wrapped = worker.term_text(out[0]);
        assert!(wrapped.starts_with("functor(f(list("), "{wrapped}");
        let wrapped = out[0];
        assert!(matches!(unwrap(worker, &[wrapped], &mut out), Outcome::Done));
        assert!(matches!(worker.compare_terms(out[0], term), Ok(0)));
    }

    #[test]
    fn equal_names_become_one_variable_and_unknown_parts_are_waited_for() {
        let worker = worker();
        let (variable, functor, pair) =
            (worker.intern("variable"), worker.intern("functor"), worker.intern("p"));
        let text = worker.string(b"X");
        let x = worker.structure(variable, &[text]);
        let inner = worker.structure(pair, &[x, x]);
        let wrapped = worker.structure(functor, &[inner]);
        let mut out = [Word::NIL];
        assert!(matches!(unwrap(worker, &[wrapped], &mut out), Outcome::Done));
        assert_eq!(worker.arg(out[0], 0), worker.arg(out[0], 1));
        let unbound = worker.new_variable();
        let inner = worker.structure(pair, &[x, unbound]);
        let wrapped = worker.structure(functor, &[inner]);
        assert!(matches!(unwrap(worker, &[wrapped], &mut out), Outcome::Wait(_)));
        assert!(matches!(unwrap(worker, &[Word::small(1)], &mut out), Outcome::Error(_)));
    }
}
