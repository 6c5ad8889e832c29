//! Terms from and to the text of a stream, with its operators; wrapped terms.

use super::super::super::Outcome;
use super::super::super::scheduler::Machine;
use super::super::super::terms::{Id, Value};
use super::super::super::world;
use super::super::{Step, type_error};
use super::streams::{Reaction, get};
use std::borrow::Cow;
use syntax::json::Writer;
use syntax::lexer::{Scanned, TermScanner, has_end};
use syntax::operators::{OpTable, OpType, PRIORITY_MAX};
use syntax::parser::SyntaxError;
use syntax::print::{Printer, Progress, TermView, View};
use syntax::tree::{NodeKind, Tree};
use term::{Atom, symbol};

/// Handles `gett(T)` and `getwt(R)`. A syntax error is reported, and the next term read.
pub(super) fn get_term(machine: &mut Machine, place: usize, answer: Id, wrapped: bool) -> Reaction {
    loop {
        let number = machine.streams[place].input;
        let rest = machine.world.rest(number);
        let term = match TermScanner::new().scan(&rest, !machine.is_open_pipe(number)) {
            Scanned::Term(count) => {
                let text = machine.world.take(number, count);
                match syntax::parse_term(&text, &machine.streams[place].ops, machine.atoms) {
                    Ok(None) => continue,
                    Ok(Some(tree)) => machine.build_tree(&tree, wrapped),
                    Err(error) => {
                        if let Some(stop) = report(machine, place, &text, &error) {
                            return stop;
                        }
                        continue;
                    }
                }
            }
            _ if machine.is_open_pipe(number) => return Reaction::Wait(machine.pipe_variable(number)),
            Scanned::EndOfInput | Scanned::NeedMore => {
                machine.world.take(number, usize::MAX);
                machine.store.atom(symbol::END_OF_FILE)
            }
        };
        let term = if wrapped { machine.store.functor(symbol::NORMAL, &[term]) } else { term };
        machine.unify(answer, term);
        return Reaction::Done;
    }
}

/// Says on standard error what is wrong with a term; with `on_error(N)`, N < 0, the program exits. Without `on_error`
/// it ends where the last term lacks its point, but for strings.
fn report(machine: &mut Machine, place: usize, text: &[u8], error: &SyntaxError) -> Option<Reaction> {
    let (number, on_error) = (machine.streams[place].input, machine.streams[place].on_error);
    let message = error.report(text, machine.world.files[number].lines());
    machine.world.put(world::STDERR, &message);
    let string = matches!(machine.world.files[number].medium, world::Medium::Text(_));
    let outcome = match on_error {
        Some(status) if status < 0 => Outcome::Exit((status & 255) as i32),
        None if !string && !has_end(text) => {
            Outcome::Error { message: "the input ends within a term".into() }
        }
        _ => return None,
    };
    Some(Reaction::Stop(Step::End(outcome)))
}

impl Machine<'_> {
    /// A parsed term; equal names are one variable. Wrapped: every part says what it is.
    fn build_tree(&mut self, tree: &Tree, wrapped: bool) -> Id {
        let variables: Vec<Id> = tree
            .variables()
            .iter()
            .map(|variable| if wrapped { self.wrap_variable(&variable.name) } else { self.store.variable() })
            .collect();
        let mut built: Vec<Id> = Vec::with_capacity(tree.nodes().len());
        for node in tree.nodes() {
            let children =
                |range| tree.children(range).iter().map(|id| built[id.0 as usize]).collect::<Vec<Id>>();
            let (class, id) = match &node.kind {
                NodeKind::Var(index) => ("", variables[*index as usize]),
                NodeKind::Int(n) => ("integer", self.store.int(*n)),
                NodeKind::BigInt(n) => ("integer", self.store.value(Value::integer((**n).clone()))),
                NodeKind::Float(x) => ("floating_point", self.store.value(Value::Float(*x))),
                NodeKind::Atom(atom) => ("atom", self.store.atom(*atom)),
                NodeKind::String(bytes) => ("string", self.store.string(bytes)),
                NodeKind::List(range) => {
                    let parts = children(*range);
                    let (tail, items) = parts.split_last().expect("a list has items and a tail");
                    let list =
                        if wrapped { self.wrap_list(items, *tail) } else { self.store.list(items, *tail) };
                    ("", list)
                }
                NodeKind::Struct(name, range) => ("functor", self.store.functor(*name, &children(*range))),
                NodeKind::Vector(range) => {
                    ("vector", self.store.value(Value::Vector(children(*range).into())))
                }
            };
            let id = if wrapped && !class.is_empty() { self.reply(class, &[id]) } else { id };
            built.push(id);
        }
        built[tree.root().0 as usize]
    }

    fn wrap_variable(&mut self, name: &[u8]) -> Id {
        let name = self.store.string(name);
        self.reply("variable", &[name])
    }

    /// `list([W|list([..])])`: every cell is wrapped.
    fn wrap_list(&mut self, items: &[Id], tail: Id) -> Id {
        let mut rest = tail;
        for item in items.iter().rev() {
            let cell = self.store.value(Value::List(*item, rest));
            rest = self.reply("list", &[cell]);
        }
        rest
    }
}

/// Terms for the printer; of wrapped ones what they stand for.
struct Terms<'m, 'p> {
    machine: &'m Machine<'p>,
    wrapped: bool,
}

impl Terms<'_, '_> {
    /// The term that a wrapped one stands for, or the name of a variable.
    fn unwrapped(&self, term: Id) -> Result<Id, View<'_>> {
        if !self.wrapped {
            return Ok(term);
        }
        let Some(Value::Struct(class, inner)) = self.machine.store.get(term) else { return Ok(term) };
        match (&*self.machine.atoms.name(*class), &inner[..]) {
            ("variable", [name]) => Err(View::Variable(match self.machine.store.get(*name) {
                Some(Value::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
                _ => "_".to_string(),
            })),
            (_, [inner]) => Ok(*inner),
            _ => Ok(term),
        }
    }
}

impl TermView for Terms<'_, '_> {
    type Term = Id;

    fn view(&self, term: Id) -> View<'_> {
        let term = match self.unwrapped(term) {
            Ok(term) => term,
            Err(view) => return view,
        };
        match self.machine.store.get(term) {
            None => View::Variable("_".to_string()),
            Some(Value::Int(n)) => View::Int(*n),
            Some(Value::Big(n)) => View::BigInt(n.to_string()),
            Some(Value::Float(x)) => View::Float(*x),
            Some(Value::Atom(atom)) => View::Atom(*atom),
            Some(Value::List(..)) => View::Cons,
            Some(Value::Struct(name, arguments)) => View::Struct(*name, arguments.len()),
            Some(Value::String(bytes)) => View::String(Cow::Borrowed(bytes)),
            Some(Value::Vector(elements)) => View::Vector(elements.len()),
            Some(Value::Predicate(..) | Value::Module(_) | Value::Handle(_)) => {
                View::Other(self.machine.show(term))
            }
        }
    }

    fn argument(&self, term: Id, index: usize) -> Id {
        let term = self.unwrapped(term).unwrap_or(term);
        match self.machine.store.get(term) {
            Some(Value::List(car, cdr)) => [*car, *cdr][index],
            Some(Value::Struct(_, parts) | Value::Vector(parts)) => parts[index],
            _ => term,
        }
    }
}

/// A term without variables as `putt` (or `putwt`) writes it.
pub(super) fn unparse(machine: &Machine, place: usize, term: Id, wrapped: bool) -> Vec<u8> {
    readable(machine, &machine.streams[place].ops, term, wrapped)
}

/// The same with these operators.
pub(in super::super) fn readable(machine: &Machine, ops: &OpTable, term: Id, wrapped: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let terms = Terms { machine, wrapped };
    let mut printer = Printer::readable(term);
    while let Progress::Paused = printer.write(&terms, machine.atoms, ops, &mut out, usize::MAX) {}
    out
}

/// A ground term in JSON; `None` if it is no value of it.
pub(in super::super) fn in_json(machine: &Machine, term: Id) -> Option<Vec<u8>> {
    let (mut out, mut writer) = (Vec::new(), Writer::new(term));
    let written = writer.write(&Terms { machine, wrapped: false }, machine.atoms, &mut out, usize::MAX);
    (written == syntax::json::Progress::Done).then_some(out)
}

fn operator(machine: &Machine, op: Id, kind: Id) -> Result<(Atom, OpType), Step> {
    let atom = |id| match machine.store.get(id) {
        Some(Value::Atom(atom)) => Ok(*atom),
        Some(_) => Err(type_error("an atom is needed")),
        None => Err(Step::Wait(machine.store.deref(id))),
    };
    let (op, kind) = (atom(op)?, atom(kind)?);
    match OpType::from_name(machine.atoms.text(kind)) {
        Some(kind) => Ok((op, kind)),
        None => Err(type_error("an operator's type is fx, fy, xfx, xfy, yfx, xf or yf")),
    }
}

/// `addop(Op,Type,Priority)`.
pub(super) fn add_operator(machine: &mut Machine, place: usize, [op, kind, priority]: [Id; 3]) -> Reaction {
    let (op, kind) = get!(operator(machine, op, kind));
    let priority = get!(machine.int_of(priority));
    match u16::try_from(priority).ok().filter(|priority| (1..=PRIORITY_MAX).contains(priority)) {
        Some(priority) => {
            machine.streams[place].ops.add(op, kind, priority);
            Reaction::Done
        }
        None => Reaction::Stop(Step::Error("an operator's priority is out of range".into())),
    }
}

/// `rmop(Op,Type)`.
pub(super) fn remove_operator(machine: &mut Machine, place: usize, op: Id, kind: Id) -> Reaction {
    let (op, kind) = get!(operator(machine, op, kind));
    machine.streams[place].ops.remove(op, kind);
    Reaction::Done
}
