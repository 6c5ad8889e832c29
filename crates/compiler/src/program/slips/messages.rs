//! Messages that nobody takes, and that are almost like one that somebody takes.

use crate::program::check::renamed;
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::diagnostic::Diagnostic;
use syntax::program::{Clause, GoalKind, GuardKind, Program, Term, TermKind};
use syntax::source::{SourceMap, Span};
use term::{Atom, AtomTable};

/// Longer names are compared as they are, so that time stays linear.
const NAME_MAX: usize = 32;

type Message = (Atom, usize);

/// Warns of list elements in bodies that are in no head and no guard, where a head takes one that differs in a letter,
/// two neighbours that are exchanged, or an argument. `known` says what heads of the library have.
pub fn almost_messages(
    program: &Program,
    sources: &SourceMap,
    atoms: &AtomTable,
    known: &mut dyn FnMut(Atom, usize) -> bool,
) -> Vec<Diagnostic> {
    let patterns = Patterns::of(program);
    let mut sent: Vec<(Message, Span)> = Vec::new();
    for clause in clauses(program) {
        for goal in &clause.body {
            match &goal.kind {
                GoalKind::Unify(a, b) => [a, b].into_iter().for_each(|term| elements(term, &mut sent)),
                GoalKind::Call(call) => call.arguments.iter().for_each(|term| elements(term, &mut sent)),
                GoalKind::Assign(..) => {}
            }
        }
    }
    let index = patterns.index(atoms);
    let mut told = FxHashSet::default();
    let mut diagnostics = Vec::new();
    for (message, span) in sent {
        if patterns.all.contains(&message) || !told.insert(message) {
            continue;
        }
        let Some((near, taken)) = nearest(message, &patterns, &index, atoms) else { continue };
        if known(message.0, message.1) {
            continue;
        }
        let shown = |(name, arity): Message| format!("{}/{arity}", atoms.name(name));
        let text = format!("no clause takes the message {}", shown(message));
        let mut diagnostic = Diagnostic::warning("almost-message", span, text)
            .label("in no head and no guard")
            .related(taken, format!("{} is taken here", shown(near)))
            .help(format!("did you mean {}?", shown(near)));
        if near.1 == message.1 {
            diagnostic = renamed(diagnostic, sources, (message.0, near.0), atoms);
        }
        diagnostics.push(diagnostic);
    }
    diagnostics
}

/// Whether a head or guard of a program has such a term.
pub fn looks_for(program: &Program, name: Atom, arity: usize) -> bool {
    Patterns::of(program).all.contains(&(name, arity))
}

fn clauses(program: &Program) -> impl Iterator<Item = &Clause> {
    let predicates = program.modules.iter().flat_map(|module| &module.predicates);
    predicates.flat_map(|predicate| &predicate.clauses)
}

/// The name and number of arguments of an atom or structure.
fn message(term: &Term) -> Option<Message> {
    match &term.kind {
        TermKind::Atom(name) => Some((*name, 0)),
        TermKind::Struct(name, parts) => Some((*name, parts.len())),
        _ => None,
    }
}

/// The elements of the lists in a term.
fn elements(term: &Term, found: &mut Vec<(Message, Span)>) {
    for part in term.subterms() {
        if let TermKind::List(items, _) = &part.kind {
            found.extend(items.iter().filter_map(|item| message(item).map(|message| (message, item.span))));
        }
    }
}

/// What heads and guards look for.
#[derive(Default)]
struct Patterns {
    all: FxHashSet<Message>,
    /// As elements of lists, with the first place.
    taken: FxHashMap<Message, Span>,
}

/// Names without one of their letters, and the messages of these names.
type Index = FxHashMap<Vec<u8>, Vec<Message>>;

impl Patterns {
    fn of(program: &Program) -> Patterns {
        let mut patterns = Patterns::default();
        for clause in clauses(program) {
            clause.head.iter().for_each(|term| patterns.add(term));
            for guard in &clause.guard {
                match &guard.kind {
                    GuardKind::Unify(a, b) => [a, b].into_iter().for_each(|term| patterns.add(term)),
                    GuardKind::Call(_, terms) => terms.iter().for_each(|term| patterns.add(term)),
                    GuardKind::Method(_, inputs, outputs) => {
                        inputs.iter().chain(outputs).for_each(|term| patterns.add(term));
                    }
                    GuardKind::Compare(..) | GuardKind::Assign(..) => {}
                }
            }
        }
        patterns
    }

    fn add(&mut self, term: &Term) {
        self.all.extend(term.subterms().filter_map(message));
        let mut found = Vec::new();
        elements(term, &mut found);
        for (message, span) in found {
            self.taken.entry(message).or_insert(span);
        }
    }

    fn index(&self, atoms: &AtomTable) -> Index {
        let mut index = Index::default();
        for &message in self.taken.keys() {
            for name in shortened(atoms.text(message.0)) {
                index.entry(name).or_default().push(message);
            }
        }
        index
    }
}

/// A name, and the name without one of its letters.
fn shortened(name: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let ends = if name.len() <= NAME_MAX { name.len() } else { 0 };
    let without = (0..ends).map(|at| [&name[..at], &name[at + 1..]].concat());
    std::iter::once(name.to_vec()).chain(without)
}

/// A message that a head takes and that is almost this one.
fn nearest(
    (name, arity): Message,
    patterns: &Patterns,
    index: &Index,
    atoms: &AtomTable,
) -> Option<(Message, Span)> {
    let text = atoms.text(name);
    let candidates = shortened(text).filter_map(|short| index.get(&short)).flatten();
    let near = candidates.filter(|&&(other, other_arity)| match other == name {
        true => arity > 0 && arity.abs_diff(other_arity) == 1,
        false => arity == other_arity && is_almost(text, atoms.text(other), if arity == 0 { 4 } else { 2 }),
    });
    // Whatever the order of the table, the same one.
    let found = near.min_by_key(|&&(other, n)| (atoms.text(other), n))?;
    Some((*found, patterns.taken[found]))
}

/// One letter more, less or another one, or two exchanged. Numbered names (`in1`, `in2`) are meant to differ, and short
/// ones are too much alike.
fn is_almost(a: &[u8], b: &[u8], shortest: usize) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < shortest || long.len() < 3 || long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let (short, long) = (&short[same..], &long[same..]);
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    if digit(long.first()) || digit(short.first()) {
        return false;
    }
    match short.len() == long.len() {
        true => {
            short[1..] == long[1..]
                || matches!((short, long), ([p, q, x @ ..], [r, s, y @ ..]) if (p, q, x) == (s, r, y))
        }
        false => *short == long[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::is_almost;

    #[test]
    fn one_edit_or_swap() {
        for (a, b) in [("add", "ad"), ("add", "ads"), ("add", "adda"), ("value", "vlaue"), ("put", "get")] {
            let almost = is_almost(a.as_bytes(), b.as_bytes(), 2);
            assert_eq!(almost, b != "get", "{a} {b}");
            assert_eq!(is_almost(b.as_bytes(), a.as_bytes(), 2), almost, "{b} {a}");
        }
        for (a, b) in [("in1", "in2"), ("in", "in2"), ("f", "g"), ("ab", "ac"), ("value", "vlueae")] {
            assert!(!is_almost(a.as_bytes(), b.as_bytes(), 2), "{a} {b}");
        }
    }
}
