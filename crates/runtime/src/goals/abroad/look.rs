//! Looking at terms of other nodes without waiting for values: whoever shows a term as it is now has to know which of
//! its parts elsewhere are unbound.

use super::state::{Kind, Look};
use crate::memory::ranges::read;
use crate::terms::{View, deref};
use crate::worker::Worker;
use rustc_hash::FxHashSet;
use term::Word;
use term::word::Tag;

impl Worker {
    /// A builtin or guard has come to this variable inside a term that it walks, and goes on inside it: if it is an
    /// import that nobody reads, all that is inside it is read at once, so far as it fits into answers that grow.
    /// True if it is one.
    pub(crate) fn fetch(&mut self, variable: Word) -> bool {
        let variable = deref(variable);
        if !self.is_one_of_several_nodes() || variable.tag() != Tag::Ref {
            return false;
        }
        let content = read(variable.address());
        let unread = self.is_unread(content);
        if unread {
            self.want_import_as(content.address(), true);
        }
        unread
    }
    /// The same for all variables that the last comparison has come to.
    pub(crate) fn fetch_met(&mut self) {
        if self.is_one_of_several_nodes() {
            self.terms.take_met().into_iter().for_each(|variable| _ = self.fetch(variable));
        }
    }
    /// Asks the homes of the terms of other nodes that a term has parts of (that it is, if not `deep`) for values.
    /// `Some`: the caller waits for this variable, and asks again. `None`: all that had a value is here.
    pub(crate) fn look_abroad(&mut self, term: Word, deep: bool) -> Option<Word> {
        if self.options.nodes == 1 {
            return None;
        }
        debug_assert!(
            self.index == 0,
            "the builtin's goals are reduced where terms of other nodes are known"
        );
        let imports = self.imports_in(term, deep);
        let mut wait = None;
        for &import in &imports {
            if !self.abroad.looks.contains_key(&import) {
                let answered = self.new_variable();
                self.abroad.looks.insert(import, Look::Asked(answered));
                self.tell(Kind::Looked(import, deep), &[]);
            }
            if let (None, Some(&Look::Asked(answered))) = (wait, self.abroad.looks.get(&import)) {
                wait = Some(answered);
            }
        }
        if wait.is_none() {
            // A later look asks again.
            imports.iter().for_each(|import| _ = self.abroad.looks.remove(import));
        }
        wait
    }
    fn imports_in(&self, term: Word, deep: bool) -> Vec<u32> {
        let (mut found, mut seen, mut stack) = (Vec::new(), FxHashSet::default(), vec![term]);
        while let Some(word) = stack.pop() {
            let word = deref(word);
            if word.is_immediate() || !seen.insert(word.bits()) {
                continue;
            }
            match self.view(word) {
                View::Unbound(variable) => found.extend(self.import_of(variable)),
                View::Cons(head, tail) if deep => stack.extend([tail, head]),
                View::Struct(_, arity) if deep => stack.extend((0..arity).map(|i| self.arg(word, i))),
                View::Object(_) if deep => stack.extend(self.vector_elements(word).unwrap_or_default()),
                _ => {}
            }
        }
        found
    }
    /// The answer to [`Outward::Looked`](super::Outward::Looked) if there is no value yet.
    pub(crate) fn import_is_unbound(&mut self, import: u32) {
        if let Some(look) = self.abroad.looks.get_mut(&import)
            && let Look::Asked(answered) = std::mem::replace(look, Look::Unbound)
        {
            self.unify(answered, Word::NIL);
        }
    }
    /// An import is none any more.
    pub(super) fn end_look(&mut self, import: u32) {
        if let Some(Look::Asked(answered)) = self.abroad.looks.remove(&import) {
            self.unify(answered, Word::NIL);
        }
    }
}
