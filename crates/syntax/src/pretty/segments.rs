//! The tokens of each clause, with what stands before each of them.

use super::lines::width;
use crate::lexer::TokenKind;
use crate::pieces::{Piece, PieceKind};

/// A comment between two tokens.
pub(super) struct Comment<'t> {
    /// Without blanks at its end.
    pub(super) text: &'t [u8],
    /// Ends of lines before it, up to the token or comment before.
    pub(super) lines_before: u32,
    /// It takes the rest of its line, or has several lines, or a line ends behind it.
    pub(super) ends_line: bool,
}

/// What stands before a token.
#[derive(Default)]
pub(super) struct Gap<'t> {
    pub(super) comments: Vec<Comment<'t>>,
    /// Ends of lines directly before the token, behind the last comment.
    pub(super) lines: u32,
    /// Nothing at all.
    pub(super) is_empty: bool,
}

impl Gap<'_> {
    /// Whether a comment in it ends its line, so that the token begins one.
    pub(super) fn ends_line(&self) -> bool {
        self.comments.iter().any(|comment| comment.ends_line || comment.lines_before > 0)
    }
}

/// A token of a clause.
pub(super) struct Word<'t> {
    pub(super) text: &'t [u8],
    pub(super) kind: &'t TokenKind,
    /// Its first byte in the whole text.
    pub(super) start: u32,
    /// Characters of it, if it is one line.
    pub(super) width: Option<usize>,
    pub(super) gap: Gap<'t>,
}

/// A clause, directive or separator, up to its end token.
pub(super) struct Segment<'t> {
    pub(super) tokens: Vec<Word<'t>>,
}

/// All of a text without syntax errors, and what stands behind the last.
pub(super) fn segments<'t>(text: &'t [u8], pieces: &'t [Piece]) -> (Vec<Segment<'t>>, Gap<'t>) {
    let (mut segments, mut tokens) = (vec![], vec![]);
    let empty = || Gap { is_empty: true, ..Gap::default() };
    let mut gap = empty();
    for (n, piece) in pieces.iter().enumerate() {
        let bytes = &text[piece.start as usize..piece.end as usize];
        match &piece.kind {
            PieceKind::Token(kind) => {
                let width = (!bytes.contains(&b'\n')).then(|| width(bytes));
                let gap = std::mem::replace(&mut gap, empty());
                tokens.push(Word { text: bytes, kind, start: piece.start, width, gap });
                if *kind == TokenKind::End {
                    segments.push(Segment { tokens: std::mem::take(&mut tokens) });
                }
            }
            PieceKind::Layout(lines) => {
                gap.lines += lines;
                gap.is_empty = false;
            }
            comment => {
                let line_follows =
                    matches!(pieces.get(n + 1).map(|next| &next.kind), None | Some(PieceKind::Layout(1..)));
                let is_line = *comment != PieceKind::BlockComment;
                gap.comments.push(Comment {
                    text: bytes.trim_ascii_end(),
                    lines_before: std::mem::take(&mut gap.lines),
                    ends_line: is_line || line_follows || bytes.contains(&b'\n'),
                });
                gap.is_empty = false;
            }
        }
    }
    (segments, gap)
}
