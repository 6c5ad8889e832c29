//! Active unification, and binding.
//!
//! Invariants:
//! - U1 A cell is bound once: only cells that hold VAR are written, and by whom `crew` says (W2). What another worker's
//!   private cell is to be, is posted to that worker as a goal.
//! - U2 Binding resumes every goal that waits for the variable, oldest first; aliasing two variables joins their
//!   lists of waiting goals, older list first, or resumes those of one of them, which then wait for the other.
//! - U3 Of two variables, the cell with the higher address becomes a reference to the other. So references between
//!   variables never form a circle, whoever makes them at the same time; and no old cell leads to a younger one (G6
//!   of `spaces`). A worker alone, or to which both are private, may do otherwise; of variables that other nodes know,
//!   Y9 of `abroad` says what becomes a reference.

use crate::memory::ranges::{compare_exchange, pointer, read, write};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::deref;
use crate::terms::pairs::{Pair, Pairs};
use crate::worker::Worker;
use term::abi::Position;
use term::layout::{self, SUSPENSION_NEXT};
use term::word::{self, Tag, UNBOUND};
use term::{Word, layout::ClassId};

impl Worker {
    /// Active unification. Resumed goals run at the next reduction; a failure ends the program there.
    pub(crate) fn unify(&mut self, a: Word, b: Word) {
        self.unify_at(a, b, Position::NONE);
    }
    /// The unifications that were put off to the end of the reduction.
    #[cold]
    pub(crate) fn unify_now(&mut self) {
        debug_assert!(!self.waiting.in_code, "a reduction goes on");
        for (a, b, position) in std::mem::take(&mut self.waiting.put_off) {
            self.unify_at(a, b, position);
        }
    }
    /// The same while generated code waits for it: what runs goals is put off.
    #[inline(always)]
    pub(crate) fn unify_in_code(&mut self, a: Word, b: Word, position: Position) {
        debug_assert!(!self.waiting.in_code, "generated code waits for one unification at a time");
        self.waiting.in_code = true;
        self.unify_any(a, b, position);
        self.waiting.in_code = false;
    }
    /// The same for a goal that stands there in the text.
    pub(crate) fn unify_at(&mut self, a: Word, b: Word, position: Position) {
        let (a, b) = (deref(a), deref(b));
        if !self.bind_at_once(a, b) {
            self.unify_any(a, b, position);
        }
    }
    /// The usual unification: of a variable (to the left, without a generator) with a value. False if it is another
    /// one, or is to be tried again.
    #[inline(always)]
    pub(crate) fn bind_at_once(&mut self, a: Word, b: Word) -> bool {
        if a.tag() != Tag::Ref || b.tag() == Tag::Ref {
            return false;
        }
        let (cell, content) = (a.address(), read(a.address()));
        if content.tag() != Tag::Var || self.has_generator(content) {
            return false;
        }
        if !self.is_private(cell) {
            return self.bind(cell, b) == Written::Yes;
        }
        write(cell, b);
        if content != UNBOUND {
            self.resume(content);
        }
        true
    }
    /// Makes two variables one that are private to this worker and have no generators, if goals wait for one of them at
    /// most; false if nothing was done.
    #[inline(always)]
    fn alias_at_once(&mut self, a: Word, b: Word) -> bool {
        if a.tag() != Tag::Ref || b.tag() != Tag::Ref || self.is_one_of_several_nodes() {
            return false;
        }
        // U3.
        let (from, to) = (a.address().max(b.address()), a.address().min(b.address()));
        let (wait_from, wait_to) = (read(from), read(to));
        if from == to || !self.is_private(from) || !self.is_private(to) {
            return false;
        }
        if wait_from == UNBOUND && wait_to.tag() == Tag::Var {
            write(from, pointer(Tag::Ref, to));
            return true;
        }
        let newer = wait_to == UNBOUND && wait_from.tag() == Tag::Var && !self.has_generator(wait_from);
        if newer {
            self.store(to, pointer(Tag::Ref, from));
        }
        newer
    }
    /// The same as `unify_at`, for what that does not see at once.
    #[cold]
    #[inline(never)]
    pub(crate) fn unify_any(&mut self, a: Word, b: Word, position: Position) {
        if self.bind_at_once(b, a) || self.alias_at_once(a, b) {
            return;
        }
        self.waiting.position = position;
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
        let mut pairs = Pairs::new();
        let mut next = pairs.start(self, a, b);
        while let Some(pair) = next? {
            let Pair { a, b, .. } = pair;
            let same = match (a.tag(), b.tag()) {
                (Tag::Ref, _) if self.has_generator(read(a.address())) => self.generate(&mut pairs, a, b),
                (_, Tag::Ref) if self.has_generator(read(b.address())) => self.generate(&mut pairs, b, a),
                (Tag::Ref, Tag::Ref) => self.alias(&mut pairs, a, b),
                (Tag::Ref, _) => self.bind_or_retry(&mut pairs, a, b),
                (_, Tag::Ref) => self.bind_or_retry(&mut pairs, b, a),
                (Tag::Object, Tag::Object) => self.unify_objects(pair, &mut pairs),
                _ => false,
            };
            if !same {
                return Ok(Some((a, b)));
            }
            next = pairs.pop(self);
        }
        Ok(None)
    }

    /// A variable with a generator is unified: with a plain variable it is aliased, else its value is made first:
    /// after this reduction, if generated code waits for the answer (its allocation pointer and goal stack may not
    /// change).
    fn generate(&mut self, pairs: &mut Pairs<true>, variable: Word, other: Word) -> bool {
        let plain = other.tag() == Tag::Ref && read(other.address()) == UNBOUND;
        let below = |worker: &Worker| {
            other.address() > variable.address() || {
                // Y9 of `abroad`.
                worker.is_unread(read(variable.address()))
            }
        };
        if plain && (self.is_alone() || below(self)) {
            let written = self.replace(other.address(), UNBOUND, variable);
            return self.unless_written(written, pairs, other, variable);
        }
        if let Some(written) = self.unify_unread(variable, other) {
            return self.unless_written(written, pairs, variable, other);
        }
        if self.waiting.in_code {
            self.waiting.put_off.push((variable, other, self.waiting.position));
            self.abi.want_attention();
            return true;
        }
        if let Some(owner) = self.run_generator(variable.address()) {
            self.post_unify(owner, variable, other);
        } else {
            pairs.push(Pair::new(variable, other));
        }
        true
    }
    /// What remains to be done about `variable = other` after `variable`'s cell was to be written.
    fn unless_written(
        &mut self,
        written: Written,
        pairs: &mut Pairs<true>,
        variable: Word,
        other: Word,
    ) -> bool {
        match written {
            Written::Yes => {}
            Written::Changed => pairs.push(Pair::new(variable, other)),
            Written::Foreign(owner) => self.post_unify(owner, variable, other),
        }
        true
    }
    fn post_unify(&mut self, owner: usize, a: Word, b: Word) {
        debug_assert!(owner != self.index, "U1: this worker may write the cell");
        let predicate = self.system_goals.unify;
        self.post(owner, predicate, &[a, b]);
    }

    /// Compares objects by class; what remains to be unified goes onto the stack.
    fn unify_objects(&self, pair: Pair, pairs: &mut Pairs<true>) -> bool {
        let Pair { a, b, .. } = pair;
        let class = word::header_class(read(a.address()));
        if class != word::header_class(read(b.address())) {
            return false;
        }
        match class {
            layout::VECTOR => {
                let same = self.vector_length(a) == self.vector_length(b);
                if same {
                    pairs.push_elements(self, pair);
                }
                same
            }
            layout::STRING => {
                self.string_length(a) == self.string_length(b)
                    && self.compare_strings(a, b).is_some_and(|(ordering, _)| ordering.is_eq())
            }
            // Not-a-number is the same term as itself, though it is no number that equals one.
            layout::FLOAT => {
                self.float_value(a) == self.float_value(b) || same_words(a.address(), b.address())
            }
            layout::BIGINT | layout::PREDICATE | layout::MODULE => same_words(a.address(), b.address()),
            ClassId(_) => false,
        }
    }

    /// Binds an unbound cell to a value that is not a variable (U1, U2), if nobody else was first and it may be
    /// written here.
    #[inline]
    pub(crate) fn bind(&mut self, cell: usize, value: Word) -> Written {
        let waiting = read(cell);
        debug_assert!(value.tag() != Tag::Ref);
        if waiting.tag() != Tag::Var {
            return Written::Changed;
        }
        let written = self.replace(cell, waiting, value);
        if waiting != UNBOUND && written == Written::Yes {
            self.resume(waiting);
        }
        written
    }
    fn bind_or_retry(&mut self, pairs: &mut Pairs<true>, variable: Word, value: Word) -> bool {
        let written = self.bind(variable.address(), value);
        self.unless_written(written, pairs, variable, value)
    }

    /// Makes two different unbound cells one variable (U2, U3).
    fn alias(&mut self, pairs: &mut Pairs<true>, a: Word, b: Word) -> bool {
        debug_assert!(a != b, "U3: a variable would lead to itself");
        let (from, to) = if a.address() > b.address() { (a, b) } else { (b, a) };
        let (wait_from, wait_to) = (read(from.address()), read(to.address()));
        if wait_from.tag() != Tag::Var || wait_to.tag() != Tag::Var {
            pairs.push(Pair::new(a, b));
            return true;
        }
        let mine = self.is_alone() || self.is_private(from.address()) && self.is_private(to.address());
        if mine && wait_from != UNBOUND {
            if wait_to == UNBOUND {
                self.store(to.address(), from);
            } else if let Some([a, b]) = self.alias_abroad(a, b) {
                self.join(a.address(), b.address());
            }
            return true;
        }
        let (mut from, mut wait_from, mut to) = (from, wait_from, to);
        if self.is_one_of_several_nodes() && !self.is_single() {
            match self.turn_abroad((from, wait_from), (to, wait_to)) {
                Some(true) => (from, wait_from, to) = (to, wait_to, from),
                Some(false) => {}
                None => {
                    if read(from.address()) != wait_from || read(to.address()) != wait_to {
                        pairs.push(Pair::new(a, b));
                    }
                    return true;
                }
            }
        }
        let written = self.replace(from.address(), wait_from, to);
        if wait_from != UNBOUND && written == Written::Yes {
            // They wait again, for the other one.
            self.resume(wait_from);
        }
        self.unless_written(written, pairs, from, to)
    }
    /// Aliases two variables that goals wait for; nobody else writes them.
    fn join(&mut self, a: usize, b: usize) {
        let (wait_a, wait_b) = (read(a), read(b));
        debug_assert!(![wait_a, wait_b].contains(&UNBOUND), "U2: goals wait for both");
        debug_assert!(!self.has_generator(wait_a) && !self.has_generator(wait_b), "H2: a generator is alone");
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
        self.store(b, pointer(Tag::Ref, a));
    }
}

/// Whether an unbound cell was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Yes,
    /// Another worker changed it meanwhile: look again.
    Changed,
    /// It is private to this other worker.
    Foreign(usize),
}

impl Worker {
    /// Replaces the content of an unbound cell, as W2 wants it.
    #[inline(always)]
    pub(crate) fn replace(&mut self, cell: usize, old: Word, new: Word) -> Written {
        debug_assert!(old.tag() == Tag::Var, "U1: a cell that is bound");
        if self.is_private(cell) {
            debug_assert!(read(cell) == old, "U1: another worker has written a private cell");
            write(cell, new);
            return Written::Yes;
        }
        self.replace_shared(cell, old, new)
    }
    fn replace_shared(&mut self, cell: usize, old: Word, new: Word) -> Written {
        if self.is_alone() {
            debug_assert!(read(cell) == old, "B5: another worker has written it");
            self.store(cell, new);
            return Written::Yes;
        }
        if let Some(owner) = self.owner(cell) {
            return Written::Foreign(owner);
        }
        self.statistics.shared_writes += 1;
        if !compare_exchange(cell, old, new) {
            self.statistics.shared_writes_lost += 1;
            return Written::Changed;
        }
        self.remember_if_old(cell, new);
        Written::Yes
    }
}

fn same_words(a: usize, b: usize) -> bool {
    let size = word::header_size(read(a));
    (0..=size).all(|i| read(a + 8 * i) == read(b + 8 * i))
}
