//! Names of variables that stay the same from text to text, while a program runs.

use crate::terms::print::Names;
use crate::terms::{View, deref};
use crate::worker::Root;
use crate::worker::Worker;
use term::Word;

/// Variables that texts have shown, with their numbers. It keeps them, until it [ends](crate::node::Terms::end_naming).
#[derive(Default)]
pub struct Naming {
    shown: Vec<(usize, Root)>,
    last: usize,
}

impl Naming {
    /// A term as text, cut off when it is deep or long. A variable has the name that it had in texts before, as long as
    /// it has no value; others get names of their own.
    pub(crate) fn text(&mut self, worker: &mut Worker, term: Word) -> Vec<u8> {
        let mut names = Names { last: self.last, ..Names::default() };
        for (number, root) in &self.shown {
            if let View::Unbound(variable) = worker.view(deref(worker.root_word(root))) {
                // Of two that have become one, the name that was given first stays.
                names.numbers.entry(variable.address()).or_insert((*number, variable));
            }
        }
        let text = worker.term_bytes(&mut names, term);
        let known = self.last;
        self.last = names.last;
        let mut new: Vec<_> = names.numbers.into_values().filter(|(number, _)| *number > known).collect();
        new.sort_unstable_by_key(|(number, _)| *number);
        self.shown.extend(new.into_iter().map(|(number, variable)| (number, worker.root(variable))));
        text
    }
    /// Keeps nothing any more.
    pub(crate) fn end(self, worker: &mut Worker) {
        self.shown.into_iter().for_each(|(_, root)| _ = worker.take_root(root));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn a_variable_keeps_its_name_until_it_has_a_value() {
        let worker = worker();
        let (a, b, c) = (worker.new_variable(), worker.new_variable(), worker.new_variable());
        let mut naming = Naming::default();
        let pair = worker.list(&[b, a, b], Word::NIL);
        assert_eq!(naming.text(worker, pair), b"[_1,_2,_1]");
        assert_eq!(naming.text(worker, a), b"_2");
        assert_eq!(naming.text(worker, c), b"_3");
        worker.unify(b, Word::small(7));
        assert_eq!(naming.text(worker, pair), b"[7,_2,7]");
        worker.unify(a, c);
        let both = [naming.text(worker, a), naming.text(worker, c)];
        assert_eq!(both[0], both[1]);
        let atom = worker.atoms.intern(b"\xe9t");
        assert_eq!(naming.text(worker, Word::atom(atom)), b"\xe9t");
        naming.end(worker);
    }
}
