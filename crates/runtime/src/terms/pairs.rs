//! Pairs of terms that are compared or unified, walked from left to right.
//!
//! The walk starts with a few ranges of cells that lie on the machine's stack: one for each level that is not at its
//! last cell, so that a list of any length takes one. A walk that is deeper, longer, or comes to vectors goes on with
//! a [`Stack`] (L1), which counts and knows circles.

use crate::memory::ranges::read;
use crate::reports::outcome::ProgramError;
use crate::terms::walk::Stack;
use crate::terms::{cell, deref};
use crate::worker::Worker;
use term::Word;
use term::word::Tag;

/// Levels that are walked without a stack.
const LEVELS: usize = 8;
/// Pairs that are walked without a stack.
const STEPS: usize = 4096;

/// Two terms that are to be compared or unified; of two vectors, their elements from a number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) a: Word,
    pub(crate) b: Word,
    pub(crate) from: usize,
}

impl Pair {
    #[inline(always)]
    pub(crate) fn new(a: Word, b: Word) -> Pair {
        Pair { a, b, from: 0 }
    }
    /// The same terms at their tops.
    #[inline(always)]
    pub(crate) fn deref(self) -> Pair {
        Pair { a: deref(self.a), b: deref(self.b), from: self.from }
    }
}

/// Cells that lie side by side: those of one term, and those of the other.
#[derive(Clone, Copy)]
struct Cells {
    a: usize,
    b: usize,
    count: usize,
}

/// What a cell with this content holds: that, or the variable that the cell is.
#[inline(always)]
fn value(cell: usize, content: Word) -> Word {
    if content.tag() == Tag::Var { Word::pointer(Tag::Ref, cell) } else { content }
}

/// What a walk has left to do.
pub(crate) struct Pairs {
    near: [Cells; LEVELS],
    levels: usize,
    steps: usize,
    /// The walk goes on there once it is `far`.
    stack: Stack<Pair>,
    far: bool,
}

impl Pairs {
    #[inline(always)]
    pub(crate) fn new() -> Pairs {
        let near = [Cells { a: 0, b: 0, count: 0 }; LEVELS];
        Pairs { near, levels: 0, steps: 0, stack: Stack::new(), far: false }
    }
    /// The next pair; the error ends the walk. Cells with the same integer or atom are left out; of a long walk, also
    /// what was there before.
    #[inline(always)]
    pub(crate) fn pop(&mut self, worker: &Worker) -> Result<Option<Pair>, Box<ProgramError>> {
        if self.far {
            return self.stack.pop_unseen(worker);
        }
        while let Some(top) = self.levels.checked_sub(1) {
            let cells = &mut self.near[top % LEVELS];
            while cells.count > 0 {
                let (a, b) = (cells.a, cells.b);
                cells.a += 8;
                cells.b += 8;
                cells.count -= 1;
                let (content, other) = (read(a), read(b));
                if content == other && content.is_immediate() {
                    continue;
                }
                if cells.count == 0 {
                    self.levels = top;
                }
                self.steps += 1;
                return Ok(Some(Pair::new(value(a, content), value(b, other))));
            }
            self.levels = top;
        }
        Ok(None)
    }
    /// Adds cells that lie side by side: their pairs come next.
    #[inline(always)]
    pub(crate) fn push_cells(&mut self, a: usize, b: usize, count: usize) {
        if self.far || self.levels == LEVELS || self.steps >= STEPS {
            return self.push_far(Cells { a, b, count });
        }
        if count > 0 {
            self.near[self.levels] = Cells { a, b, count };
            self.levels += 1;
        }
    }
    /// Adds a pair, which comes next.
    pub(crate) fn push(&mut self, pair: Pair) {
        self.go_far();
        self.stack.push(pair);
    }
    /// Adds some elements of two vectors, the first ones first, and what comes after: more elements, or once those of
    /// one are at their end, the same vectors from there on if the other one is longer.
    pub(crate) fn push_elements(&mut self, worker: &Worker, vectors: Pair) {
        self.go_far();
        let Pair { a, b, from } = vectors;
        let [length, other] = [a, b].map(|vector| worker.vector_length(vector).expect("two vectors"));
        let common = length.min(other);
        let piece = from..common.min(next_piece(from));
        if piece.end < common || length != other {
            self.stack.push(Pair { a, b, from: piece.end });
        }
        let elements = worker.vector_part(a, piece.clone()).into_iter().zip(worker.vector_part(b, piece));
        self.stack.extend(elements.map(|(a, b)| Pair::new(a, b)).rev());
    }
    #[cold]
    fn push_far(&mut self, Cells { a, b, count }: Cells) {
        self.go_far();
        self.stack.extend((0..count).rev().map(|i| Pair::new(cell(a + 8 * i), cell(b + 8 * i))));
    }
    #[cold]
    fn go_far(&mut self) {
        self.far = true;
        for &Cells { a, b, count } in &self.near[..std::mem::take(&mut self.levels)] {
            self.stack.extend((0..count).rev().map(|i| Pair::new(cell(a + 8 * i), cell(b + 8 * i))));
        }
    }
}

/// The end of the piece of a string or vector that is compared next: pieces grow, so that strings that differ early
/// are hardly copied, and old versions seldom searched.
pub(crate) fn next_piece(from: usize) -> usize {
    2 * from + 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use crate::terms::View;
    use crate::worker::native::Outcome;

    /// A list of the integers below `length`, each inside as many structures as `depth` says.
    fn nested(worker: &mut Worker, length: i64, depth: usize, last: i64) -> Word {
        let name = worker.intern("f");
        let mut list = Word::NIL;
        for i in (0..length).rev() {
            let mut item = Word::small(if i == length - 1 { last } else { i });
            for _ in 0..depth {
                item = worker.structure(name, &[Word::small(1), item, Word::small(2)]);
            }
            list = worker.cons(item, list);
        }
        list
    }

    #[test]
    fn a_walk_that_goes_far_loses_and_adds_nothing() {
        let worker = worker();
        for (length, depth) in
            [(1, 0), (5, 3), (3, LEVELS - 2), (3, LEVELS), (2, 3 * LEVELS), (3 * STEPS as i64, 2)]
        {
            let terms = [-1, -1, -2].map(|last| nested(worker, length, depth, last));
            assert!(matches!(worker.equal_terms(terms[0], terms[1]), Outcome::Done), "{length} {depth}");
            assert!(matches!(worker.equal_terms(terms[0], terms[2]), Outcome::No), "{length} {depth}");
            assert_eq!(worker.compare_terms(terms[0], terms[2]).ok(), Some(1), "{length} {depth}");
        }
    }

    #[test]
    fn pairs_come_from_left_to_right() {
        let worker = worker();
        let differing = |worker: &mut Worker, depth: usize, by: i64| {
            let items: Vec<Word> = (0..4).map(|i| nested(worker, 1, depth, i + by)).collect();
            worker.list(&items, Word::NIL)
        };
        for depth in [1, LEVELS, 2 * LEVELS] {
            let (term, other) = (differing(worker, depth, 0), differing(worker, depth, 10));
            let mut pairs = Pairs::new();
            let mut next = Some(Pair::new(term, other));
            let mut seen = Vec::new();
            while let Some(Pair { a, b, .. }) = next.map(Pair::deref) {
                match (worker.view(a), worker.view(b)) {
                    (View::Int(a), View::Int(b)) if a != b => seen.push((a, b)),
                    (View::Cons(..), View::Cons(..)) => pairs.push_cells(a.address(), b.address(), 2),
                    (View::Struct(_, arity), View::Struct(..)) => {
                        pairs.push_cells(a.address() + 8, b.address() + 8, arity);
                    }
                    (a, b) => assert_eq!(a, b),
                }
                next = pairs.pop(worker).expect("a short walk");
            }
            assert_eq!(seen, [(0, 10), (1, 11), (2, 12), (3, 13)], "{depth}");
        }
    }
}
