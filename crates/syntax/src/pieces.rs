//! A text without gaps: its tokens, and the comments and blanks between them. For tools that show or write program
//! texts; the compiler reads tokens alone.
//!
//! Invariants:
//! - Q1 The pieces of a text are its bytes: each begins where the one before ends, and none is empty.
//! - Q2 Its tokens are those of [`crate::lexer::Lexer`] (an end token is the `.` alone), without `EndOfText`.

use crate::lexer::{self, TEXT_MAX, TokenKind};
use term::AtomTable;

/// A piece of a text and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Kinds of pieces.
#[derive(Clone, Debug, PartialEq)]
pub enum PieceKind {
    /// A token.
    Token(TokenKind),
    /// Blanks and ends of lines, with the number of these: two or more are blank lines.
    Layout(u32),
    /// `% ..`, or the first line of a script (`#!..`), without the end of the line.
    LineComment,
    /// `%% ..`, without the end of the line: documentation of what follows. Three `%` are a line comment.
    DocComment,
    /// `/* .. */`.
    BlockComment,
}

impl PieceKind {
    /// Whether it is a comment of any kind.
    pub fn is_comment(&self) -> bool {
        matches!(self, PieceKind::LineComment | PieceKind::DocComment | PieceKind::BlockComment)
    }
}

/// All pieces of a text. Panics above [`TEXT_MAX`] (callers refuse such texts).
pub fn pieces(text: &[u8], atoms: &AtomTable) -> Vec<Piece> {
    assert!(text.len() <= TEXT_MAX, "callers refuse longer texts");
    let mut pieces = vec![];
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = piece(text, at, atoms);
        pieces.push(Piece { kind, start: at as u32, end: end as u32 });
        at = end;
    }
    pieces
}

/// The piece at a byte of a text, and its end.
fn piece(text: &[u8], start: usize, atoms: &AtomTable) -> (PieceKind, usize) {
    let line_end = || text[start..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |n| start + n);
    let rest = &text[start..];
    if start == 0 && rest.starts_with(b"#!") {
        return (PieceKind::LineComment, line_end());
    }
    match rest[0] {
        b'%' => {
            let is_doc = rest.starts_with(b"%%") && !rest.starts_with(b"%%%");
            (if is_doc { PieceKind::DocComment } else { PieceKind::LineComment }, line_end())
        }
        byte if lexer::is_layout(byte) => {
            let end = rest.iter().position(|&byte| !lexer::is_layout(byte)).map_or(text.len(), |n| start + n);
            let lines = text[start..end].iter().filter(|&&byte| byte == b'\n').count();
            (PieceKind::Layout(lines as u32), end)
        }
        _ => match lexer::token_at(text, start, atoms) {
            (Some(kind), end) => (PieceKind::Token(kind), end),
            (None, end) => (PieceKind::BlockComment, end),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{LexError, Lexer};

    /// Q1 and Q2.
    fn check(text: &[u8]) -> Vec<Piece> {
        let atoms = AtomTable::new();
        let pieces = pieces(text, &atoms);
        let mut at = 0;
        for piece in &pieces {
            assert_eq!(piece.start, at);
            assert!(piece.end > piece.start);
            at = piece.end;
        }
        assert_eq!(at as usize, text.len());
        let mut lexer = Lexer::new(text);
        for piece in pieces.iter().filter(|_| !text.starts_with(b"#!")) {
            let PieceKind::Token(kind) = &piece.kind else { continue };
            let token = lexer.next(&atoms);
            assert_eq!((&token.kind, token.start, token.end), (kind, piece.start, piece.end));
        }
        assert!(text.starts_with(b"#!") || lexer.next(&atoms).kind == TokenKind::EndOfText);
        pieces
    }

    #[test]
    fn comments_and_blank_lines_stand_between_tokens() {
        let text = b"#!/usr/bin/env x\n%% doc\n%%% line\n\n/* block */p. % end\r\nq.";
        let kinds: Vec<(PieceKind, &[u8])> =
            check(text).into_iter().map(|p| (p.kind, &text[p.start as usize..p.end as usize])).collect();
        let shown: Vec<String> = kinds
            .iter()
            .map(|(kind, text)| match kind {
                PieceKind::Token(_) => format!("token {}", String::from_utf8_lossy(text)),
                PieceKind::Layout(lines) => format!("{lines}"),
                comment => format!("{comment:?} {}", String::from_utf8_lossy(text).trim_end()),
            })
            .collect();
        let expected = [
            "LineComment #!/usr/bin/env x",
            "1",
            "DocComment %% doc",
            "1",
            "LineComment %%% line",
            "2",
            "BlockComment /* block */",
            "token p",
            "token .",
            "0",
            "LineComment % end",
            "1",
            "token q",
            "token .",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_pieces_of_any_text_are_its_bytes() {
        for text in [
            "",
            " ",
            ".",
            "a",
            "a.",
            "a.%",
            "%",
            "%%",
            "/*",
            "/**/",
            "'a",
            "X=.. %\n.",
            "#!",
            "a#!b",
            "0'. .",
        ] {
            check(text.as_bytes());
        }
        let unclosed = check(b"p. /* q.").pop().expect("it has pieces");
        assert_eq!(unclosed.kind, PieceKind::Token(TokenKind::Error(LexError::UnclosedComment)));
    }

    #[test]
    fn arbitrary_bytes_have_pieces() {
        arbtest::arbtest(|u| {
            let length = u.int_in_range(0..=60)?;
            let alphabet = b"aX0 \n\r.%/*'\"\\(,)[|]#!-:=~\x80";
            let text: Vec<u8> = (0..length).map(|_| u.choose(alphabet).copied()).collect::<Result<_, _>>()?;
            check(&text);
            Ok(())
        });
    }
}
