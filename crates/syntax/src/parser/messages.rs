//! What is wrong with a token where it stands, and what to do about it.

use super::{Frame, FrameKind, Parser, SyntaxError};
use crate::lexer::{Token, TokenKind};
use term::{Atom, AtomTable};

impl Parser<'_> {
    fn text_of(&self, token: &Token) -> String {
        String::from_utf8_lossy(&self.lexer.text()[token.start as usize..token.end as usize]).into_owned()
    }

    /// What is there, and cannot do this.
    fn found(&self, token: &Token, what: &str) -> String {
        match token.kind {
            TokenKind::End => "the clause ends here".to_string(),
            TokenKind::EndOfText => "the text ends here".to_string(),
            _ => format!("`{}` cannot {what}", self.text_of(token)),
        }
    }

    /// A token that cannot start a term.
    pub(super) fn term_expected(&self, token: Token) -> Box<SyntaxError> {
        let place = (token.start, token.end);
        if let TokenKind::Error(error) = token.kind {
            return SyntaxError::token(error, place);
        }
        let found = self.found(&token, "start a term");
        let mut error = SyntaxError::new("syntax-error", place, "a term is expected").label(found);
        if let Some(frame) = self.frames.iter().rev().find(|f| is_bracket(f.kind)) {
            error.related = Some((frame.start, frame.opened, "inside what opens here".to_string()));
        }
        error
    }

    pub(super) fn priority_error(
        &self,
        atom: Atom,
        priority: u16,
        place: (u32, u32),
        atoms: &AtomTable,
    ) -> Box<SyntaxError> {
        let name = atoms.name(atom);
        let message = format!("`{name}` cannot stand here without parentheses");
        SyntaxError::new("operator-priority", place, message)
            .label(if priority > self.max {
                format!("operator of priority {priority}; at most {} fits here", self.max)
            } else {
                format!("operators of priority {priority} cannot follow each other like this")
            })
            .help("put the term with this operator in parentheses")
    }

    /// A token after a complete term that neither continues nor closes anything.
    pub(super) fn unexpected(
        &self,
        frame: Option<Frame>,
        token: Token,
        atoms: &AtomTable,
    ) -> Box<SyntaxError> {
        let place = (token.start, token.end);
        let operator = match token.kind {
            TokenKind::Error(error) => return SyntaxError::token(error, place),
            TokenKind::Atom(name) | TokenKind::QuotedAtom(name) => {
                self.ops.infix(name).or(self.ops.postfix(name)).map(|op| (name, op))
            }
            _ => None,
        };
        if let Some((name, op)) = operator {
            return self.priority_error(name, op.priority, place, atoms);
        }
        let expected = match frame.map(|f| f.kind) {
            None => "an operator or the end of the clause (`.`) is expected",
            Some(FrameKind::Arguments) => "an operator, `,` or `)` is expected",
            Some(FrameKind::Items) => "an operator, `,`, `|` or `]` is expected",
            Some(FrameKind::Tail) => "an operator or `]` is expected",
            Some(FrameKind::Vector) => "an operator, `,` or `}` is expected",
            Some(_) => "an operator or `)` is expected",
        };
        let found = self.found(&token, "follow a complete term");
        let mut error = SyntaxError::new("syntax-error", place, expected).label(found);
        if let Some(frame) = frame {
            error.related = Some((frame.start, frame.opened, "inside what opens here".to_string()));
        }
        error.help = self.advice(frame, &token);
        error
    }

    /// What to do about such a token.
    fn advice(&self, frame: Option<Frame>, token: &Token) -> Option<String> {
        let text = self.text_of(token);
        Some(match (&token.kind, frame.map(|frame| brackets(frame.kind))) {
            (TokenKind::Punctuation(b')' | b']' | b'}'), Some((open, close))) => {
                format!("`{open}` is closed by `{close}`, not by `{text}`")
            }
            (TokenKind::Punctuation(b')' | b']' | b'}'), None) => {
                format!("nothing is open here that `{text}` closes: leave it out")
            }
            (TokenKind::EndOfText, _) => "end the last clause with `.`".into(),
            (TokenKind::End, Some((_, close))) => {
                format!("close it with `{close}` before the `.` that ends the clause")
            }
            _ if self.lexer.text()[..token.start as usize].ends_with(b"\n") => {
                "if a clause ends before this line, end it with `.`".into()
            }
            _ if text.starts_with('.') => {
                "the `.` that ends a clause needs a blank or a new line after it".into()
            }
            _ if text.ends_with('.') => "write a blank before the `.` that ends the clause".into(),
            _ => return None,
        })
    }
}

/// What opens it, and what closes it.
fn brackets(kind: FrameKind) -> (char, char) {
    match kind {
        FrameKind::Items | FrameKind::Tail => ('[', ']'),
        FrameKind::Vector => ('{', '}'),
        _ => ('(', ')'),
    }
}

fn is_bracket(kind: FrameKind) -> bool {
    !matches!(kind, FrameKind::Infix | FrameKind::Prefix)
}
