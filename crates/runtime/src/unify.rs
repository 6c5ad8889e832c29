//! Active unification, and binding.
//!
//! Invariants:
//! - U1 A cell is bound once: `bind` writes cells that hold VAR only.
//! - U2 Binding resumes every goal that waits for the variable, oldest first; aliasing two variables joins their
//!   lists of waiting goals, older list first.
//! - U3 An old variable is never bound to a younger one when the other direction is possible, so few old cells
//!   lead to young ones.

use crate::memory::read;
use crate::outcome::{ErrorKind, ProgramError};
use crate::terms::deref;
use crate::walk::Stack;
use crate::worker::Worker;
use term::abi::Position;
use term::layout::{self, SUSPENSION_NEXT};
use term::word::{self, Tag, UNBOUND};
use term::{Word, layout::ClassId};

impl Worker {
    /// Active unification. Resumed goals run at the next reduction; a failure ends the program there.
    pub fn unify(&mut self, a: Word, b: Word) {
        self.unify_at(a, b, Position::NONE);
    }
    /// The same for a goal that stands there in the text.
    pub(crate) fn unify_at(&mut self, a: Word, b: Word, position: Position) {
        let error = match self.unify_terms(a, b) {
            Ok(None) => return,
            Ok(Some((inner_a, inner_b))) => {
                let error = ProgramError::new(ErrorKind::UnificationFailure, "the terms cannot be unified");
                if (inner_a, inner_b) == (deref(a), deref(b)) {
                    error
                } else {
                    let (inner_a, inner_b) = (self.term_text(inner_a), self.term_text(inner_b));
                    error.detail(format!("they differ where one has {inner_a} and the other {inner_b}"))
                }
            }
            Err(error) => error,
        };
        self.goal_error_at(error, self.system_goals.unify, &[a, b], position);
    }

    /// Two subterms that differ, or `None` when the terms are one now. An error ends the walk through the terms.
    fn unify_terms(&mut self, a: Word, b: Word) -> Result<Option<(Word, Word)>, Box<ProgramError>> {
        let mut stack = Stack::new();
        let mut next = Some((a, b));
        while let Some((a, b)) = next {
            let (a, b) = (deref(a), deref(b));
            let same = match (a.tag(), b.tag()) {
                _ if a == b => true,
                (Tag::Ref, _) if self.has_generator(read(a.address())) => self.generate(&mut stack, a, b),
                (_, Tag::Ref) if self.has_generator(read(b.address())) => self.generate(&mut stack, b, a),
                (Tag::Ref, Tag::Ref) => {
                    self.alias(a.address(), b.address());
                    true
                }
                (Tag::Ref, _) => {
                    self.bind(a.address(), b);
                    true
                }
                (_, Tag::Ref) => {
                    self.bind(b.address(), a);
                    true
                }
                (Tag::Cons, Tag::Cons) => push_cells(&mut stack, a.address(), b.address(), 2),
                (Tag::Struct, Tag::Struct) => {
                    let header = read(a.address());
                    header == read(b.address())
                        && push_cells(
                            &mut stack,
                            a.address() + 8,
                            b.address() + 8,
                            word::header_arity(header),
                        )
                }
                (Tag::Object, Tag::Object) => self.unify_objects(a, b, &mut stack),
                _ => false,
            };
            if !same {
                return Ok(Some((a, b)));
            }
            next = stack.pop_unseen(self)?;
        }
        Ok(None)
    }

    /// A variable with a generator is unified: with a plain variable it is aliased, else its value is made first.
    fn generate(&mut self, stack: &mut Stack<(Word, Word)>, variable: Word, other: Word) -> bool {
        if other.tag() == Tag::Ref && read(other.address()) == UNBOUND {
            self.store(other.address(), variable);
            return true;
        }
        self.run_generator(variable.address());
        stack.push((variable, other));
        true
    }

    /// Compares objects by class; what remains to be unified goes onto the stack.
    fn unify_objects(&self, a: Word, b: Word, stack: &mut Stack<(Word, Word)>) -> bool {
        let class = word::header_class(read(a.address()));
        if class != word::header_class(read(b.address())) {
            return false;
        }
        match class {
            layout::VECTOR => {
                let a = self.vector_elements(a).expect("class tested");
                let b = self.vector_elements(b).expect("class tested");
                let same = a.len() == b.len();
                if same {
                    stack.extend(a.into_iter().zip(b).rev());
                }
                same
            }
            layout::STRING => self.string_bytes(a) == self.string_bytes(b),
            layout::FLOAT => self.float_value(a) == self.float_value(b),
            layout::BIGINT | layout::PREDICATE | layout::MODULE => same_words(a.address(), b.address()),
            ClassId(_) => false,
        }
    }

    /// Binds an unbound cell to a value that is not a variable (U1, U2).
    #[inline]
    pub(crate) fn bind(&mut self, cell: usize, value: Word) {
        let waiting = read(cell);
        debug_assert!(waiting.tag() == Tag::Var && value.tag() != Tag::Ref);
        self.store(cell, value);
        if waiting != UNBOUND {
            self.resume(waiting);
        }
    }

    /// Makes two different unbound cells one variable (U2, U3).
    fn alias(&mut self, a: usize, b: usize) {
        let (wait_a, wait_b) = (read(a), read(b));
        if wait_a == UNBOUND && (wait_b != UNBOUND || self.prefer_binding(a, b)) {
            return self.store(a, Word::pointer(Tag::Ref, b));
        }
        if wait_b == UNBOUND {
            return self.store(b, Word::pointer(Tag::Ref, a));
        }
        let mut oldest = wait_b.address();
        loop {
            let next = read(oldest + 8 * SUSPENSION_NEXT);
            if next == UNBOUND {
                break;
            }
            oldest = next.address();
        }
        self.store(oldest + 8 * SUSPENSION_NEXT, wait_a);
        self.store(a, wait_b);
        self.store(b, Word::pointer(Tag::Ref, a));
    }
    /// True if of two unbound cells `a` is the one to bind: young before old, and the later one of two young ones.
    fn prefer_binding(&self, a: usize, b: usize) -> bool {
        match (self.heap.is_young(a), self.heap.is_young(b)) {
            (true, true) | (false, false) => a > b,
            (a_young, _) => a_young,
        }
    }
}

fn push_cells(stack: &mut Stack<(Word, Word)>, a: usize, b: usize, count: usize) -> bool {
    for i in (0..count).rev() {
        stack.push((crate::terms::cell(a + 8 * i), crate::terms::cell(b + 8 * i)));
    }
    true
}

fn same_words(a: usize, b: usize) -> bool {
    let size = word::header_size(read(a));
    (0..=size).all(|i| read(a + 8 * i) == read(b + 8 * i))
}
