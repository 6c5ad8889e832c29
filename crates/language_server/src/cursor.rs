//! What the editor's cursor stands on, also where the text cannot be read.

use crate::outline::{Outline, Place, Symbol, Use};
use syntax::lexer::{Lexer, Token, TokenKind};
use term::AtomTable;

/// The tokens of the clause around a place, with their texts.
pub(crate) struct Clause {
    pub(crate) tokens: Vec<(Kind, Place, String)>,
}

/// Kinds of tokens, as far as somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Variable,
    Atom,
    Punctuation(u8),
    Other,
}

impl Clause {
    /// The clause that holds a place; behind an end token the next one begins.
    pub(crate) fn around(outline: &Outline, offset: usize) -> Clause {
        let (text, atoms) = (outline.text.bytes(), AtomTable::new());
        let mut tokens = Vec::new();
        if text.len() > syntax::lexer::TEXT_MAX {
            return Clause { tokens: Vec::new() };
        }
        let mut lexer = Lexer::new(text);
        loop {
            let Token { kind, start, end } = lexer.next(&atoms);
            let place = start as usize..end as usize;
            match kind {
                TokenKind::EndOfText => break,
                TokenKind::End if end as usize <= offset => tokens.clear(),
                TokenKind::End => break,
                kind => {
                    let kind = match kind {
                        TokenKind::Variable => Kind::Variable,
                        TokenKind::Atom(_) | TokenKind::QuotedAtom(_) => Kind::Atom,
                        TokenKind::Punctuation(byte) => Kind::Punctuation(byte),
                        _ => Kind::Other,
                    };
                    tokens.push((kind, place));
                }
            }
        }
        let named = |(kind, place): (Kind, Place)| (kind, place.clone(), outline.text.part(&place));
        Clause { tokens: tokens.into_iter().map(named).collect() }
    }

    /// The variable or atom at a place, or that ends there.
    pub(crate) fn at(&self, offset: usize) -> Option<&(Kind, Place, String)> {
        let touches = |token: &&(Kind, Place, String)| {
            matches!(token.0, Kind::Variable | Kind::Atom) && token.1.start <= offset && offset <= token.1.end
        };
        self.tokens.iter().rev().find(touches)
    }

    /// Where a variable of this name stands. Each `_` is one of its own.
    pub(crate) fn variable(&self, name: &str) -> Vec<Place> {
        let same = self.tokens.iter().filter(|token| token.0 == Kind::Variable && token.2 == name);
        same.map(|token| token.1.clone()).collect()
    }
}

/// What a place means.
pub(crate) enum Meaning<'o> {
    Symbol(&'o Use),
    /// A variable: its place, and all places that it has in its clause.
    Variable(Place, Vec<Place>),
    /// A name in a clause that cannot be read.
    Name(String),
}

/// What stands at a place.
pub(crate) fn meaning(outline: &Outline, offset: usize) -> Option<Meaning<'_>> {
    let clause = Clause::around(outline, offset);
    let token = clause.at(offset);
    if let Some((Kind::Variable, place, name)) = token {
        let places = if name == "_" { vec![place.clone()] } else { clause.variable(name) };
        return Some(Meaning::Variable(place.clone(), places));
    }
    if let Some(found) = outline.at(offset) {
        return Some(Meaning::Symbol(found));
    }
    token.map(|(.., name)| Meaning::Name(name.clone()))
}

impl Symbol {
    /// As messages name it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Symbol::Predicate(module, name, arity) => format!("{module}:{name}/{arity}"),
            Symbol::Functor(name, arity) => format!("{name}/{arity}"),
            Symbol::Module(name) => name.clone(),
        }
    }
}
