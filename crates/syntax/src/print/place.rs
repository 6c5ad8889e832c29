//! Where terms stand, and whether what stands there needs brackets to be read back.

use super::{TermView, View, Writer};
use crate::circles::Circles;
use crate::format::edge_class;
use crate::operators::{ARGUMENT_MAX, Op, PRIORITY_MAX};
use term::Atom;
use term::symbol::MINUS;

/// Where a term stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The highest priority that may stand bare.
    pub(super) max: u16,
    /// What comes next can be neither operator nor operand: a bracket, comma or bar, or nothing.
    pub(super) closed: bool,
    /// What was written right before it.
    pub(super) before: Before,
}

/// What stands before a term, as far as it decides how the reader takes an operator there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// A prefix operator that is a word: before an infix or postfix operator the reader takes it as an operand.
    Word,
    /// Another one: before an infix or postfix operator that is not prefix, too, it is an operand.
    Symbol,
    /// Anything else.
    Other,
}

impl Place {
    /// A whole term.
    pub(super) const TOP: Place = Place { max: PRIORITY_MAX, closed: true, before: Before::Other };
    /// An argument or item.
    pub(super) const ARGUMENT: Place = Place { max: ARGUMENT_MAX, ..Place::TOP };
}

impl<V: TermView> Writer<'_, '_, V> {
    /// Would an atom without brackets be taken as an operator with operands, or be of too high a priority?
    pub(super) fn needs_brackets(&self, atom: Atom, place: Place) -> bool {
        let (prefix, infix, postfix) = (self.ops.prefix(atom), self.infix(atom), self.ops.postfix(atom));
        let priority = [prefix, infix, postfix].iter().flatten().map(|op| op.priority).max();
        let follows = infix.or(postfix).is_some();
        priority.is_some_and(|priority| priority > place.max)
            || prefix.is_some() && !place.closed && !self.is_word(atom)
            || follows
                && match place.before {
                    Before::Word => true,
                    Before::Symbol => prefix.is_none(),
                    Before::Other => false,
                }
    }

    /// Does an operator's name begin like a word (or a quoted one), not like a symbol?
    pub(super) fn is_word(&self, name: Atom) -> bool {
        edge_class(self.atoms.text(name).first().copied().unwrap_or(b'\'')) != b'+'
    }

    /// The highest priority of a left operand. An operand that would take the operator into itself (same
    /// priority, open to the right) gets parentheses. The operator may be infix and postfix.
    pub(super) fn left_max(&self, left: V::Term, name: Atom, op: Op) -> u16 {
        let kinds = [self.infix(name), self.ops.postfix(name)];
        let least = kinds.iter().flatten().map(|op| op.priority).min().unwrap_or(op.priority);
        let open = match self.terms.view(left) {
            View::Struct(name, 2) => self.infix(name),
            View::Struct(name, 1) => self.ops.prefix(name),
            _ => None,
        };
        match open {
            Some(inner) if inner.right >= least => op.left.min(inner.priority - 1),
            _ => op.left,
        }
    }

    /// Would the operand of a prefix operator be read differently without parentheses right after the
    /// operator?
    pub(super) fn misread(&self, name: Atom, operand: V::Term, op: Op) -> bool {
        let word = self.is_word(name);
        let mut leftmost = operand;
        let mut max = op.right;
        let mut circles = Circles::NEW;
        loop {
            circles.meet(leftmost, 0, |a, b| self.terms.is_same(a, b));
            if circles.found {
                return false;
            }
            match self.terms.view(leftmost) {
                // `word +(a,b,c)`: a word before an operator is an operand.
                View::Struct(inner, 3..) => return word && self.is_operator(inner),
                View::Struct(inner, arity @ (1 | 2)) => {
                    let infix = if arity == 2 { self.infix(inner) } else { None };
                    let prefix = if arity == 1 { self.ops.prefix(inner) } else { None };
                    let postfix = self.ops.postfix(inner);
                    match (infix.or(postfix.filter(|_| arity == 1)), prefix) {
                        // Whether it is written as an operator or before `(`, its name comes first: before a `-` of
                        // any kind a word is an operand. One that stands behind operands, too, may not come first.
                        (_, Some(_)) => return word && self.infix(inner).is_some() || postfix.is_some(),
                        (Some(infix), None) if infix.priority <= max => {
                            leftmost = self.terms.argument(leftmost, 0);
                            max = infix.left;
                        }
                        (None, None) => return word && self.is_operator(inner),
                        _ => return false,
                    }
                }
                // A minus right before a number is its sign.
                View::Int(value) => return word && value < 0 || name == MINUS && value >= 0,
                View::BigInt(text) => {
                    let negative = text.starts_with('-');
                    return word && negative || name == MINUS && !negative;
                }
                View::Float(value) => {
                    let negative = value.is_sign_negative();
                    return word && negative || name == MINUS && !negative;
                }
                _ => return false,
            }
        }
    }
}
