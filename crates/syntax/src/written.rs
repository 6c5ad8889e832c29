//! Where names are written: goals, heads and terms know where they stand as a whole, not where their names do.

use crate::lexer::{Lexer, TokenKind};
use crate::source::{SourceMap, Span};
use term::{Atom, AtomTable};

/// The place of a name, and of the module before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// `m` of `m:p(..)`.
    pub module: Option<Span>,
    /// `p`.
    pub name: Span,
}

/// Where the name of a goal, head or term is written that stands at this place. `None` where it is not written, or not
/// at the beginning: macros made it, or it is an infix operator.
pub fn written(sources: &SourceMap, place: Span, name: Atom, atoms: &AtomTable) -> Option<Written> {
    let text = sources.file(place.file).text.get(place.start as usize..place.end as usize)?;
    let mut lexer = Lexer::new(text);
    let mut module = None;
    loop {
        let token = lexer.next(atoms);
        let span = Span { start: place.start + token.start, end: place.start + token.end, ..place };
        match token.kind {
            TokenKind::Punctuation(b'(') => continue,
            TokenKind::Atom(atom) | TokenKind::QuotedAtom(atom) => {
                let next = lexer.peek(0, atoms);
                let joins =
                    matches!(next.kind, TokenKind::Atom(joint) if matches!(atoms.text(joint), b":" | b"#"));
                if !joins {
                    return (atom == name).then_some(Written { module, name: span });
                }
                module = Some(span);
                lexer.next(atoms);
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_behind_modules_and_parentheses() {
        let atoms = AtomTable::new();
        let name = atoms.intern(b"p");
        let find = |text: &str| {
            let mut sources = SourceMap::default();
            let file = sources.add("t".into(), text.into());
            let end = text.len() as u32;
            let written = written(&sources, Span { file, start: 0, end }, name, &atoms)?;
            let shown = |span: Span| text[span.start as usize..span.end as usize].to_string();
            Some((written.module.map(shown), shown(written.name), written.name.start))
        };
        let at =
            |module: Option<&str>, name: &str, start| Some((module.map(String::from), name.into(), start));
        assert_eq!(find("p(X)"), at(None, "p", 0));
        assert_eq!(find("p:p(X)@node(1)"), at(Some("p"), "p", 2));
        assert_eq!(find("( % here\n (q : 'p'))"), at(Some("q"), "'p'", 15));
        assert_eq!(
            (find("X = p"), find("q(p)"), find(""), find("pp"), find("p:")),
            (None, None, None, None, None)
        );
        assert_eq!(find("builtin#p(X)"), at(Some("builtin"), "p", 8));
    }
}
