//! Terms and the macros inside them.

use super::keys::Key;
use super::named::assignment;
use super::{Expander, Scope, Section};
use crate::diagnostic::Diagnostic;
use crate::lexer::{TokenKind, radix_integer};
use crate::program::{Expr, Goal, GoalKind, Guard, GuardKind, Term, TermKind};
use crate::source::Span;
use crate::tree::{Children, NodeId, NodeKind};
use term::Atom;
use term::symbol::NIL;

/// Which macros are expanded in a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expansion {
    All,
    /// Below the top only.
    Below,
    None,
}

impl Expander<'_, '_, '_> {
    /// A term with its macros expanded; what they compute is emitted before.
    pub(super) fn term(&mut self, scope: &mut Scope, id: NodeId) -> Term {
        self.term_with(scope, id, Expansion::All)
    }

    fn term_with(&mut self, scope: &mut Scope, id: NodeId, expansion: Expansion) -> Term {
        let span = self.span(id);
        let kind = match &self.tree.node(id).kind {
            NodeKind::Var(variable) => return self.read(scope, *variable, span),
            NodeKind::Int(value) => TermKind::Int(*value),
            NodeKind::BigInt(value) => TermKind::BigInt(value.clone()),
            NodeKind::Float(value) => TermKind::Float(*value),
            NodeKind::Atom(atom) => TermKind::Atom(*atom),
            NodeKind::String(bytes) => TermKind::String(bytes.clone()),
            &NodeKind::List(range) => self.nested(id, |this| this.list(scope, range, expansion)),
            &NodeKind::Vector(range) => {
                self.nested(id, |this| TermKind::Vector(this.terms(scope, range, expansion)))
            }
            &NodeKind::Struct(name, range) => {
                let arguments = self.tree.children(range);
                if expansion == Expansion::All
                    && let Some(key) = self.key(name)
                    && let Some(kind) =
                        self.nested_macro(id, |this| this.term_macro(scope, key, arguments, id))
                {
                    return Term { span, kind };
                }
                self.nested(id, |this| TermKind::Struct(name, this.terms(scope, range, expansion)))
            }
        };
        Term { span, kind }
    }

    fn nested(&mut self, id: NodeId, make: impl FnOnce(&mut Self) -> TermKind) -> TermKind {
        self.nested_macro(id, |this| Some(make(this))).unwrap_or(TermKind::Atom(NIL))
    }

    fn nested_macro(
        &mut self,
        id: NodeId,
        make: impl FnOnce(&mut Self) -> Option<TermKind>,
    ) -> Option<TermKind> {
        if !self.enter(id) {
            return Some(TermKind::Atom(NIL));
        }
        let kind = make(self);
        self.leave();
        kind
    }

    fn terms(&mut self, scope: &mut Scope, range: Children, expansion: Expansion) -> Vec<Term> {
        let inner = if expansion == Expansion::None { Expansion::None } else { Expansion::All };
        self.tree.children(range).iter().map(|&id| self.term_with(scope, id, inner)).collect()
    }

    /// A list; tails that are lists are joined (M2).
    fn list(&mut self, scope: &mut Scope, range: Children, expansion: Expansion) -> TermKind {
        let inner = if expansion == Expansion::None { Expansion::None } else { Expansion::All };
        let mut items = vec![];
        let mut range = range;
        loop {
            let (&tail, front) = self.tree.children(range).split_last().expect("a list has a tail");
            items.extend(front.iter().map(|&id| self.term_with(scope, id, inner)));
            match self.tree.node(tail).kind {
                NodeKind::List(more) => range = more,
                NodeKind::Atom(NIL) => return TermKind::List(items, None),
                _ => {
                    let tail = self.term_with(scope, tail, inner);
                    return match tail.kind {
                        TermKind::List(more, rest) => {
                            items.extend(more);
                            TermKind::List(items, rest)
                        }
                        TermKind::Atom(NIL) => TermKind::List(items, None),
                        _ => TermKind::List(items, Some(Box::new(tail))),
                    };
                }
            }
        }
    }

    /// `None`: not a macro.
    fn term_macro(
        &mut self,
        scope: &mut Scope,
        key: Key,
        arguments: &[NodeId],
        id: NodeId,
    ) -> Option<TermKind> {
        let span = self.span(id);
        match (key, arguments) {
            (Key::IntExpression, &[expression]) => {
                let expression = self.int_expression(scope, expression);
                Some(self.computed(scope, expression, span))
            }
            (Key::FloatExpression, &[expression]) => {
                let expression = self.float_expression(scope, expression);
                Some(self.computed(scope, expression, span))
            }
            (Key::Sharp, &[text]) => self.character(text),
            (Key::Sharp, &[prefix, value]) => self.sharp(scope, prefix, value, span),
            (Key::Quote, &[quoted]) => Some(self.term_with(scope, quoted, Expansion::Below).kind),
            (Key::DeepQuote, &[quoted]) => Some(self.term_with(scope, quoted, Expansion::None).kind),
            _ => None,
        }
    }

    /// A fresh variable that gets the value of an expression before the goal at hand.
    fn computed(&mut self, scope: &mut Scope, expression: Expr, span: Span) -> TermKind {
        let id = scope.fresh(span);
        let target = Term { span, kind: TermKind::Var(id) };
        self.emit_assignment(scope, target, expression, span);
        TermKind::Var(id)
    }

    /// Adds `target := expression` to the guard or the body, whichever is being built.
    pub(super) fn emit_assignment(&mut self, scope: &mut Scope, target: Term, expression: Expr, span: Span) {
        let kind = assignment(target, expression);
        if scope.section == Section::Body {
            return scope.body.push(Goal { span, kind });
        }
        let kind = match kind {
            GoalKind::Unify(target, term) => GuardKind::Unify(target, term),
            GoalKind::Assign(target, expression) => GuardKind::Assign(target, expression),
            GoalKind::Call(_) => unreachable!("an assignment calls nothing"),
        };
        scope.guard.push(Guard { span, kind });
    }

    /// `#"c"`.
    fn character(&mut self, id: NodeId) -> Option<TermKind> {
        let NodeKind::String(bytes) = &self.tree.node(id).kind else { return None };
        if let [byte] = **bytes {
            return Some(TermKind::Int(i64::from(byte)));
        }
        let span = self.span(id);
        let error =
            Diagnostic::error("illegal-literal", span, "`#` and `c#` need a string of exactly one byte");
        self.report(
            error
                .label(format!("{} bytes", bytes.len()))
                .help("for the codes of a longer text use `string_element` or a list of `#\"c\"`"),
        );
        Some(TermKind::Int(0))
    }

    /// `prefix#value`; `None`: an ordinary structure.
    fn sharp(&mut self, scope: &Scope, prefix: NodeId, value: NodeId, span: Span) -> Option<TermKind> {
        let node = &self.tree.node(value).kind;
        match (self.atom_key(prefix), node) {
            (Some(Key::Character), NodeKind::String(_)) => return self.character(value),
            (Some(Key::String), NodeKind::String(bytes)) => return Some(TermKind::String(bytes.clone())),
            (Some(Key::CharacterName), _) => match self.atom_key(value) {
                Some(Key::Lf) => return Some(TermKind::Int(10)),
                Some(Key::Cr) => return Some(TermKind::Int(13)),
                _ => return None,
            },
            (Some(Key::Predicate), _) => return Some(self.predicate_constant(value)),
            (Some(Key::Module), &NodeKind::Atom(module)) => {
                if scope.section != Section::Body {
                    let error = Diagnostic::error(
                        "illegal-literal",
                        span,
                        "a module constant can only stand in a body",
                    );
                    self.report(error.label("in a head or guard"));
                }
                return Some(TermKind::Module(module));
            }
            _ => {}
        }
        let (NodeKind::Int(radix), NodeKind::String(digits)) = (&self.tree.node(prefix).kind, node) else {
            return self.no_macro(prefix, value, span);
        };
        let value =
            u32::try_from(*radix).ok().filter(|r| (2..=36).contains(r)).and_then(|radix| {
                match digits.strip_prefix(b"-") {
                    Some(digits) => radix_integer(digits, radix).map(negative),
                    None => radix_integer(digits, radix),
                }
            });
        match value {
            Some(TokenKind::Int(value)) => Some(TermKind::Int(value)),
            Some(TokenKind::BigInt(value)) => Some(TermKind::BigInt(value)),
            _ => {
                let error = Diagnostic::error("illegal-literal", span, "this is not a number of that radix");
                self.report(error.label("a radix of 2 to 36 and digits smaller than it are needed"));
                Some(TermKind::Int(0))
            }
        }
    }

    /// What looks like a literal and is none. Everything else is a structure (`None`).
    fn no_macro(&mut self, prefix: NodeId, value: NodeId, span: Span) -> Option<TermKind> {
        let atoms = self.context.atoms;
        match self.tree.node(prefix).kind {
            NodeKind::Int(radix @ 2..=36) => {
                let digits = match &self.tree.node(value).kind {
                    NodeKind::Atom(atom) => atoms.name(*atom).into_owned(),
                    NodeKind::Int(number) => number.to_string(),
                    NodeKind::Var(variable) => {
                        String::from_utf8_lossy(&self.tree.variables()[*variable as usize].name).into_owned()
                    }
                    _ => return None,
                };
                radix_integer(digits.as_bytes(), radix as u32)?;
                let error = Diagnostic::error("illegal-literal", span, "digits of a radix stand in quotes");
                let help = format!("write `{radix}'{digits}`, or `{radix}#\"{digits}\"`");
                self.report(
                    error.label(format!("a structure named `#`, not a number of radix {radix}")).help(help),
                );
                Some(TermKind::Int(0))
            }
            NodeKind::Atom(name) if self.context.foreign_macros || is_of_pimos(atoms.text(name)) => {
                let prefix = atoms.name(name);
                let help = match &self.tree.node(value).kind {
                    NodeKind::String(_) => {
                        "the code of a character is written `#\"a\"`, a string `\"..\"`".into()
                    }
                    _ => format!("write its value; the structure itself is written `` `({prefix}#..) ``"),
                };
                let message = format!("macros of PIMOS are not supported: `{prefix}#..` has no value here");
                self.report(
                    Diagnostic::error("unsupported-macro", span, message).label("a macro").help(help),
                );
                Some(TermKind::Int(0))
            }
            _ => None,
        }
    }

    /// The `m:p/n` of `predicate#(m:p/n)`.
    fn predicate_constant(&mut self, id: NodeId) -> TermKind {
        let parts = match self.structure(id) {
            (Some(Key::Colon), &[module, rest]) => match self.structure(rest) {
                (Some(Key::Divide), &[name, arity]) => {
                    let node = |id| &self.tree.node(id).kind;
                    match (node(module), node(name), node(arity)) {
                        (NodeKind::Atom(m), NodeKind::Atom(p), NodeKind::Int(n)) if *n >= 0 => {
                            usize::try_from(*n).ok().map(|n| (*m, *p, n))
                        }
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        };
        let placeholder: (Atom, Atom, usize) = (NIL, NIL, 0);
        let (module, name, arity) = parts.unwrap_or_else(|| {
            let span = self.span(id);
            let error = Diagnostic::error(
                "illegal-literal",
                span,
                "a predicate constant must be `predicate#(module:name/arity)`",
            );
            self.report(error.label("not `module:name/arity`"));
            placeholder
        });
        TermKind::Predicate(module, name, arity)
    }
}

/// The macros that every program for PIMOS could use, by what stands before `#`.
fn is_of_pimos(prefix: &[u8]) -> bool {
    const NAMES: [&[u8]; 9] = [
        b"fep",
        b"ascii",
        b"jis",
        b"shoen",
        b"mdlib",
        b"pimos_user",
        b"pimos_group",
        b"string_operation",
        b"exception_code",
    ];
    NAMES.contains(&prefix) || prefix.ends_with(b"_tag")
}

fn negative(value: TokenKind) -> TokenKind {
    match value {
        TokenKind::Int(value) => TokenKind::Int(-value),
        TokenKind::BigInt(value) => crate::lexer::integer(-*value),
        other => other,
    }
}
