//! Terms as text: the format of `print`, also used in messages.

use super::scheduler::{Code, Goal, Machine};
use super::terms::{Id, Value};
use std::rc::Rc;
use term::symbol;

/// How much of a goal a message shows.
const MESSAGE_BYTES_MAX: usize = 2000;

/// What is still to be written.
enum Piece {
    Text(&'static str),
    Term(Id),
    /// The rest of a list.
    Tail(Id),
    /// Elements separated by commas.
    All(Rc<[Id]>, usize),
}

impl Machine<'_> {
    /// A term for a message.
    pub(super) fn show(&self, id: Id) -> String {
        let mut text = String::from_utf8_lossy(&self.print_up_to(id, MESSAGE_BYTES_MAX)).into_owned();
        if text.len() >= MESSAGE_BYTES_MAX {
            text.push_str("..");
        }
        text
    }

    /// A goal for a message: `main:p(3,[a|_])`.
    pub(super) fn show_goal(&self, goal: &Goal) -> String {
        let (name, skipped) = self.code_name(&goal.code);
        let arguments: Vec<String> = goal.arguments.iter().skip(skipped).map(|&id| self.show(id)).collect();
        if arguments.is_empty() { name } else { format!("{name}({})", arguments.join(",")) }
    }

    fn code_name(&self, code: &Code) -> (String, usize) {
        match code {
            Code::Predicate(index) => {
                let entry = &self.entries[*index];
                (format!("{}:{}", self.atoms.name(entry.module), self.atoms.name(entry.predicate.name)), 0)
            }
            Code::Native(native) => (format!("{}:{}", native.module, native.name), 0),
            Code::Wrong(name, _) => (name.to_string(), 0),
            Code::Placed(_, inner) => {
                let (name, skipped) = self.code_name(inner);
                (name, skipped + 1)
            }
        }
    }

    /// The text that `print` writes: canonical, atoms without quotes, variables `_1`, `_2` in order of appearance.
    pub(super) fn print(&self, id: Id) -> Vec<u8> {
        self.print_up_to(id, usize::MAX)
    }

    fn print_up_to(&self, id: Id, limit: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut variables = Vec::new();
        let mut rest = vec![Piece::Term(id)];
        while let Some(piece) = rest.pop() {
            if out.len() >= limit {
                break;
            }
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Term(id) => self.print_value(id, &mut variables, &mut out, &mut rest),
                Piece::Tail(id) => match self.store.get(id) {
                    Some(Value::Atom(symbol::NIL)) => out.push(b']'),
                    Some(Value::List(car, cdr)) => {
                        rest.extend([Piece::Tail(*cdr), Piece::Term(*car), Piece::Text(",")]);
                    }
                    _ => rest.extend([Piece::Text("]"), Piece::Term(id), Piece::Text("|")]),
                },
                Piece::All(parts, at) if at + 1 < parts.len() => {
                    let part = parts[at];
                    rest.extend([Piece::All(parts, at + 1), Piece::Text(","), Piece::Term(part)]);
                }
                Piece::All(parts, at) => rest.extend(parts.get(at).map(|&part| Piece::Term(part))),
            }
        }
        out
    }

    fn print_value(&self, id: Id, variables: &mut Vec<Id>, out: &mut Vec<u8>, rest: &mut Vec<Piece>) {
        let Some(value) = self.store.get(id) else {
            let variable = self.store.deref(id);
            let known = variables.iter().position(|other| *other == variable);
            let number = known.unwrap_or_else(|| {
                variables.push(variable);
                variables.len() - 1
            });
            out.extend_from_slice(format!("_{}", number + 1).as_bytes());
            return;
        };
        match value {
            Value::Int(n) => out.extend_from_slice(n.to_string().as_bytes()),
            Value::Big(n) => out.extend_from_slice(n.to_string().as_bytes()),
            Value::Float(x) => out.extend_from_slice(fixed(*x).as_bytes()),
            Value::Atom(atom) => out.extend_from_slice(self.atoms.text(*atom)),
            Value::List(car, cdr) => {
                out.push(b'[');
                rest.extend([Piece::Tail(*cdr), Piece::Term(*car)]);
            }
            Value::Struct(name, arguments) => {
                out.extend_from_slice(self.atoms.text(*name));
                out.push(b'(');
                rest.extend([Piece::Text(")"), Piece::All(arguments.clone(), 0)]);
            }
            Value::Vector(elements) => {
                out.push(b'{');
                rest.extend([Piece::Text("}"), Piece::All(elements.clone(), 0)]);
            }
            Value::String(bytes) => print_string(bytes, out),
            Value::Predicate(module, name, arity) => {
                let text =
                    format!("predicate#({}:{}/{arity})", self.atoms.name(*module), self.atoms.name(*name));
                out.extend_from_slice(text.as_bytes());
            }
            Value::Module(name) => {
                out.extend_from_slice(format!("module#{}", self.atoms.name(*name)).as_bytes())
            }
            Value::Handle(number) => out.extend_from_slice(format!("<{number}>").as_bytes()),
        }
    }
}

/// In quotes, with octal escapes for everything that is not printable ASCII.
fn print_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            32..=126 => out.push(byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
}

/// C's `%f`, or where that loses the number, the fewest digits that tell it.
fn fixed(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return format!("{sign}nan");
    }
    let size = value.abs();
    if size.is_finite() && (size >= 1e16 || size > 0.0 && size < 1e-4) {
        return syntax::format::float_shortest(value);
    }
    if value.is_infinite() { format!("{sign}inf") } else { format!("{value:.6}") }
}
