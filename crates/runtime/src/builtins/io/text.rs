//! Terms as `print` writes them: canonical prefix notation, atoms unquoted.

use crate::terms::View;
use crate::worker::Worker;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use term::Word;
use term::layout::{BIGINT, FLOAT, MODULE, PREDICATE, STRING, VECTOR};
use term::symbol::NIL;

/// What is still to be written.
enum Work {
    Term(Word),
    /// The rest of a list after an item.
    Tail(Word),
    Text(&'static str),
}

/// The text of any term; unbound variables are `_1`, `_2` in order of appearance.
pub(crate) fn print(worker: &Worker, term: Word) -> Vec<u8> {
    let mut out = Vec::new();
    let mut variables: FxHashMap<u64, usize> = FxHashMap::default();
    let mut stack = vec![Work::Term(term)];
    while let Some(work) = stack.pop() {
        match work {
            Work::Text(text) => out.extend_from_slice(text.as_bytes()),
            Work::Tail(tail) => match worker.view(tail) {
                View::Atom(NIL) => out.push(b']'),
                View::Cons(car, cdr) => {
                    out.push(b',');
                    stack.push(Work::Tail(cdr));
                    stack.push(Work::Term(car));
                }
                _ => {
                    out.push(b'|');
                    stack.push(Work::Text("]"));
                    stack.push(Work::Term(tail));
                }
            },
            Work::Term(term) => match worker.view(term) {
                View::Unbound(variable) => {
                    let next = variables.len() + 1;
                    let number = *variables.entry(variable.0).or_insert(next);
                    out.extend_from_slice(format!("_{number}").as_bytes());
                }
                View::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
                View::Atom(atom) => out.extend_from_slice(worker.atoms.text(atom)),
                View::Cons(car, cdr) => {
                    out.push(b'[');
                    stack.push(Work::Tail(cdr));
                    stack.push(Work::Term(car));
                }
                View::Struct(name, arity) => {
                    out.extend_from_slice(worker.atoms.text(name));
                    out.push(b'(');
                    let args: Vec<Word> = (0..arity).map(|i| worker.arg(term, i)).collect();
                    push_sequence(&mut stack, &args, ")");
                }
                View::Object(VECTOR) => {
                    out.push(b'{');
                    let elements = worker.vector_elements(term).unwrap_or_default();
                    push_sequence(&mut stack, &elements, "}");
                }
                View::Object(class) => print_object(worker, &mut out, class, term),
            },
        }
    }
    out
}

fn push_sequence(stack: &mut Vec<Work>, items: &[Word], close: &'static str) {
    stack.push(Work::Text(close));
    for (i, &item) in items.iter().enumerate().rev() {
        stack.push(Work::Term(item));
        if i > 0 {
            stack.push(Work::Text(","));
        }
    }
}

fn print_object(worker: &Worker, out: &mut Vec<u8>, class: term::layout::ClassId, term: Word) {
    match class {
        STRING => {
            out.push(b'"');
            for byte in worker.string_bytes(term).unwrap_or_default() {
                match byte {
                    b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                    b' '..=b'~' => out.push(byte),
                    _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                }
            }
            out.push(b'"');
        }
        FLOAT => {
            let value = worker.float_value(term).unwrap_or_default();
            out.extend_from_slice(fixed(value).as_bytes());
        }
        BIGINT => {
            let value = worker.big(term).unwrap_or_default();
            out.extend_from_slice(value.to_string().as_bytes());
        }
        PREDICATE | MODULE => out.extend_from_slice(reference(worker, term).as_bytes()),
        _ => {
            out.push(b'<');
            out.extend_from_slice(worker.classes.get(class).name.as_bytes());
            out.push(b'>');
        }
    }
}

/// `predicate#(m:p/2)` or `module#m`.
fn reference(worker: &Worker, term: Word) -> String {
    let mut text = String::new();
    if let Some(name) = worker.module_value(term) {
        text.push_str("module#");
        text.push_str(&worker.atoms.name(name));
    } else if let Some(id) = worker.predicate_value(term) {
        let info = worker.predicates.get(id);
        let (module, name) = (worker.atoms.name(info.module), worker.atoms.name(info.name));
        // Writing to a String cannot fail.
        let _ = write!(text, "predicate#({module}:{name}/{})", info.arity);
    }
    text
}

/// C's `%f`.
fn fixed(value: f64) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan".into() } else { "nan".into() };
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    format!("{value:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    fn text(worker: &Worker, term: Word) -> String {
        String::from_utf8(print(worker, term)).expect("ASCII")
    }

    #[test]
    fn terms_are_written_in_canonical_form() {
        let mut worker = worker();
        let (a, b) = (worker.new_variable(), worker.new_variable());
        let name = worker.intern(":-");
        let string = worker.string(b"a\"\n\\\xe9");
        let float = worker.float(-1.5);
        let vector = worker.vector(&[Word::small(-3), b]);
        let inner = worker.list(&[a, b], a);
        let list = worker.list(&[inner, string, float, vector], Word::NIL);
        let term = worker.structure(name, &[list, Word::NIL]);
        assert_eq!(text(&worker, term), r#":-([[_1,_2|_1],"a\"\012\\\351",-1.500000,{-3,_2}],[])"#);
    }

    #[test]
    fn a_deep_term_needs_no_stack() {
        let mut worker = worker();
        let name = worker.intern("s");
        let deep = (0..200_000).fold(Word::small(0), |term, _| worker.structure(name, &[term]));
        assert_eq!(print(&worker, deep).len(), 3 * 200_000 + 1);
    }
}
