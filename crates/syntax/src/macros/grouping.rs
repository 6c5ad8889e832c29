//! Expressions that other languages group otherwise, and operations that they have and KL1 has not.

use super::Expander;
use super::keys::Key;
use crate::diagnostic::Diagnostic;
use crate::lexer::is_layout;
use crate::source::Span;
use crate::tree::{NodeId, NodeKind};

/// Operands that are longer are not shown.
const SHOWN_MAX: usize = 24;

/// Operators that group with their neighbours as C's do not: `A*B mod C` is `A*(B mod C)`, `1<<2+1` is `(1<<2)+1`.
/// The inner one is on the left or the right side of the outer one.
fn surprises(outer: Key, inner: Key, left: bool) -> bool {
    use Key::*;
    match (outer, inner) {
        (Times | Divide | LeftShift | RightShift, Mod) => !left,
        (Plus | Minus, LeftShift | RightShift) => true,
        (Times | Divide, LeftShift | RightShift) => left,
        (Plus | Minus, BitAnd | BitOr | Xor) => left,
        (BitAnd, BitOr | Xor) | (Xor, BitOr) => left,
        _ => false,
    }
}

impl Expander<'_, '_, '_> {
    /// Warns of an operand with an operator of its own that C would not give to it.
    pub(super) fn warn_of_grouping(&mut self, id: NodeId, outer: Key, arguments: &[NodeId]) {
        let &[left, right] = arguments else { return };
        if !self.is_infix(id, left) {
            return;
        }
        for (operand, is_left) in [(left, true), (right, false)] {
            let (Some(inner), &[a, b]) = self.structure(operand) else { continue };
            if !surprises(outer, inner, is_left)
                || self.outside(operand) != self.own(operand)
                || !self.is_infix(operand, a)
            {
                continue;
            }
            let [x, y, z] =
                if is_left { [a, b, right] } else { [left, a, b] }.map(|id| self.operand_text(id));
            let [o, i] =
                [outer, inner].map(|key| self.context.atoms.name(self.context.keys.atom(key)).into_owned());
            let pad = |name: &str| {
                if name.starts_with(char::is_alphabetic) { format!(" {name} ") } else { name.into() }
            };
            let (po, pi) = (pad(&o), pad(&i));
            let (is, other) = match is_left {
                true => (format!("({x}{pi}{y}){po}{z}"), format!("{x}{pi}({y}{po}{z})")),
                false => (format!("{x}{po}({y}{pi}{z})"), format!("({x}{po}{y}){pi}{z}")),
            };
            let span = self.span(id);
            let (first, last) = if is_left { (b, right) } else { (left, a) };
            let [first, last] = [first, last].map(|id| self.outside(id));
            let edits = [(first.0, "("), (last.1, ")")].map(|(at, text)| {
                let at = at as u32;
                (Span { start: at, end: at, ..span }, text.to_string())
            });
            let (code, why) = match inner {
                Key::Mod => ("mod-binds-tighter", format!("`mod` binds tighter than `{o}`")),
                Key::LeftShift | Key::RightShift if matches!(outer, Key::Plus | Key::Minus) => {
                    ("shift-binds-tighter", format!("`{i}` binds tighter than `{o}`"))
                }
                _ => ("same-priority", format!("`{i}` and `{o}` have the same priority")),
            };
            self.report(
                Diagnostic::warning(code, span, why)
                    .label(format!("this is `{is}`"))
                    .help(format!("write `{other}`, or `{is}` if that is meant"))
                    .fix(format!("write `{other}`"), edits.into()),
            );
        }
    }

    /// Is it written `A op B`, not `op(A,B)`?
    fn is_infix(&self, id: NodeId, left: NodeId) -> bool {
        self.tree.node(id).start == self.tree.node(left).start
    }

    fn own(&self, id: NodeId) -> (usize, usize) {
        let node = self.tree.node(id);
        (node.start as usize, node.end as usize)
    }

    /// Its place with the parentheses around it.
    fn outside(&self, id: NodeId) -> (usize, usize) {
        let text = self.context.text;
        let (mut start, mut end) = self.own(id);
        loop {
            let before = text[..start].iter().rposition(|&byte| !is_layout(byte));
            let after = text[end..].iter().position(|&byte| !is_layout(byte)).map(|at| end + at);
            let (Some(before), Some(after)) = (before, after) else { return (start, end) };
            // `f(1<<2)` has an argument there, not a term in parentheses.
            let functor = before.checked_sub(1).is_some_and(|at| crate::lexer::is_alphanumeric(text[at]));
            if text[before] != b'(' || text[after] != b')' || functor {
                return (start, end);
            }
            (start, end) = (before, after + 1);
        }
    }

    fn operand_text(&self, id: NodeId) -> String {
        let (start, end) = self.outside(id);
        let text = &self.context.text[start..end];
        if text.len() > SHOWN_MAX || text.contains(&b'\n') {
            return "..".into();
        }
        String::from_utf8_lossy(text).into_owned()
    }

    /// What does the work of an operation that only other languages have.
    pub(super) fn instead(&self, id: NodeId, integers: bool) -> Option<String> {
        let (name, arity) = match self.tree.node(id).kind {
            NodeKind::Struct(name, range) => (name, self.tree.children(range).len()),
            NodeKind::Atom(name) => (name, 0),
            _ => return None,
        };
        let name = self.context.atoms.text(name);
        let conditional = |test: &str, a: &str, b: &str| {
            let (yes, no) = if integers {
                (format!("X {test} 0"), "X < 0")
            } else {
                (format!("X ${test} 0.0"), "X $< 0.0")
            };
            format!("there is no such operation: `( {yes} -> {a} ; {no} -> {b} )`")
        };
        let choice = |first: &str| {
            let (low, high) = if integers { ("X < Y", "X >= Y") } else { ("X $< Y", "X $>= Y") };
            let (a, b) = if first == "max" { (high, low) } else { (low, high) };
            format!("there is no such operation: `( {a} -> Z = X ; {b} -> Z = Y )`")
        };
        Some(match (name, arity, integers) {
            (b"max", 2, _) => choice("max"),
            (b"min", 2, _) => choice("min"),
            (b"abs" | b"fabs", 1, true) => conditional(">=", "Y = X", "Y := -X"),
            (b"abs" | b"fabs", 1, false) => conditional(">=", "Y = X", "Y $:= -X"),
            (b"sign" | b"sgn" | b"signum", 1, true) => conditional(">=", "S = 1", "S = -1"),
            (b"**" | b"^" | b"pow" | b"exp", 2, true) => {
                "integers have no power: multiply, or write `int(pow(float(X),float(N)))`; a power of two is `1<<N`".into()
            }
            (b"**" | b"^", 2, false) => "a power is written `pow(X,Y)`".into(),
            (b"//" | b"div", 2, true) => "integers are divided by `/`, which cuts the fraction off: `X / Y`".into(),
            (b"//" | b"div", 2, false) => "floats are divided by `/`; `floor(X/Y)` cuts the fraction off".into(),
            (b"rem" | b"%", 2, true) => "the remainder is written `X mod Y`".into(),
            (b"mod" | b"rem", 2, false) => "floats have no remainder: `X - Y*floor(X/Y)`".into(),
            (b"and" | b"&" | b"&&", 2, true) => "the bits of both are written `X /\\ Y`".into(),
            (b"or" | b"|", 2, true) => "the bits of either are written `X \\/ Y`".into(),
            (b"not" | b"!" | b"~", 1, true) => "the complement is written `\\(X)`".into(),
            (b"shl", 2, true) => "a shift is written `X << N`".into(),
            (b"shr", 2, true) => "a shift is written `X >> N`".into(),
            (b"sqrt" | b"floor" | b"ceil" | b"exp" | b"log" | b"sin" | b"cos" | b"tan", 1, true) => {
                let name = String::from_utf8_lossy(name);
                format!("that is an operation of floats: `int({name}(float(X)))`")
            }
            (b"ceiling" | b"round" | b"truncate" | b"trunc" | b"integer", 1, true) => {
                "`int(X)` cuts the fraction of a float off, `int(floor(X+0.5))` rounds it".into()
            }
            (b"ceiling", 1, false) => "write `ceil(X)`".into(),
            (b"round", 1, false) => "write `floor(X+0.5)`".into(),
            (b"ln", 1, false) => "write `log(X)`".into(),
            (b"pi", 0, false) => "write `3.141592653589793`, or `4.0*atan(1.0)`".into(),
            (b"e", 0, false) => "write `exp(1.0)`".into(),
            ([first, ..], 1.., _) if first.is_ascii_lowercase() => {
                let name = String::from_utf8_lossy(name);
                format!(
                    "write `=` to unify with a term; the result of a predicate is an argument, `{name}(X,V)`"
                )
            }
            _ => return None,
        })
    }
}
