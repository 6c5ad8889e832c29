//! Program texts in one style, with their comments.
//!
//! - The line of a clause ends before [`WIDTH`]. A clause that is longer, or has a line break, is divided behind `:-`,
//!   or behind the `|` of its guard, and its body is indented by [`INDENT`].
//! - A line break behind a comma, an operator with blanks around it, `->` or before `;` stays. Further ones are made
//!   where a line is full.
//! - Goals have a blank behind their comma, arguments and elements have none. Operators that compare, assign or join
//!   goals have blanks around them, and so have those of the arithmetic beside them, outside parentheses.
//! - Comments stay between the tokens where they stand; one behind code ends its line. Blank lines become one.
//!
//! Invariants:
//! - U1 Only layout changes: terms and comments are compared before the text is given out.
//! - A text in this style stays as it is.
//! - No recursion: terms may nest as deep as memory allows.

mod clause;
mod lines;
mod roles;
mod segments;

use crate::lexer::TEXT_MAX;
use crate::operators::OpTable;
use crate::parser::Parser;
use crate::pieces::{Piece, pieces};
use crate::syntax_error::SyntaxError;
use crate::tree::{NodeKind, Tree};
use lines::Lines;
use term::AtomTable;

/// Longest line, in characters, where it can be divided.
pub const WIDTH: usize = 100;
/// Indentation of a body, and of what continues a line, in characters.
pub const INDENT: usize = 4;

/// Why a text is not given in the style.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It cannot be read.
    Errors(Vec<SyntaxError>),
    /// The program would become another one, from this byte on: a bug.
    Changed(usize),
}

/// The text in the style of this module's comment.
pub fn pretty(text: &[u8], atoms: &AtomTable) -> Result<Vec<u8>, Refusal> {
    if text.len() > TEXT_MAX {
        let error = SyntaxError::new("text-too-large", (0, 0), "a file is limited to 1 GB");
        return Err(Refusal::Errors(vec![*error]));
    }
    let ops = OpTable::source_table(atoms);
    let before = pieces(text, atoms);
    let trees = trees(text, &ops, atoms).map_err(Refusal::Errors)?;
    let (segments, rest) = segments::segments(text, &before);
    let mut lines = Lines::default();
    for (segment, tree) in segments.iter().zip(&trees) {
        lines.comments_above(&segment.tokens[0].gap);
        clause::write(segment, roles::roles(segment, tree, &ops, atoms), &mut lines);
    }
    lines.comments_above(&rest);
    let pretty = lines.finish();
    match changed(text, &before, &trees, &pretty, &ops, atoms) {
        None if segments.len() == trees.len() => Ok(pretty),
        at => Err(Refusal::Changed(at.unwrap_or(0))),
    }
}

fn trees(text: &[u8], ops: &OpTable, atoms: &AtomTable) -> Result<Vec<Tree>, Vec<SyntaxError>> {
    // A script's first line is a comment; its first byte is no token then.
    let script;
    let text = if text.starts_with(b"#!") {
        script = [b"%", &text[1..]].concat();
        &script
    } else {
        text
    };
    let mut parser = Parser::new(text, ops);
    let (mut trees, mut errors) = (vec![], vec![]);
    loop {
        match parser.term(atoms) {
            Ok(Some(tree)) => trees.push(tree),
            Ok(None) => break,
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() { Ok(trees) } else { Err(errors) }
}

/// U1: the byte of the old text from which the new one says something else.
fn changed(
    text: &[u8],
    before: &[Piece],
    trees: &[Tree],
    pretty: &[u8],
    ops: &OpTable,
    atoms: &AtomTable,
) -> Option<usize> {
    let after = pieces(pretty, atoms);
    let (old, new) = (words(text, before), words(pretty, &after));
    if let Some(n) =
        (0..old.len().max(new.len())).find(|&n| old.get(n).map(|w| w.1) != new.get(n).map(|w| w.1))
    {
        return Some(old.get(n).map_or(text.len(), |word| word.0 as usize));
    }
    let Ok(others) = self::trees(pretty, ops, atoms) else { return Some(0) };
    if others.len() != trees.len() {
        return Some(text.len());
    }
    let place = |tree: &Tree| tree.node(tree.root()).start as usize;
    trees.iter().zip(&others).find(|(tree, other)| !same(tree, other)).map(|(tree, _)| place(tree))
}

/// Tokens and comments: where, and what.
fn words<'t>(text: &'t [u8], pieces: &[Piece]) -> Vec<(u32, &'t [u8])> {
    let words = pieces.iter().filter(|piece| !matches!(piece.kind, crate::pieces::PieceKind::Layout(_)));
    words
        .map(|piece| {
            let text = &text[piece.start as usize..piece.end as usize];
            (piece.start, if piece.kind.is_comment() { text.trim_ascii_end() } else { text })
        })
        .collect()
}

fn same(one: &Tree, other: &Tree) -> bool {
    let parts = |tree: &Tree, kind: &NodeKind| match kind {
        NodeKind::List(range) | NodeKind::Struct(_, range) | NodeKind::Vector(range) => {
            tree.children(*range).to_vec()
        }
        _ => vec![],
    };
    let is_same = |a: &NodeKind, b: &NodeKind| match (a, b) {
        (NodeKind::Struct(f, _), NodeKind::Struct(g, _)) => f == g,
        (NodeKind::List(_), NodeKind::List(_)) | (NodeKind::Vector(_), NodeKind::Vector(_)) => true,
        (NodeKind::Float(x), NodeKind::Float(y)) => x.to_bits() == y.to_bits(),
        _ => a == b,
    };
    one.nodes().len() == other.nodes().len()
        && one
            .nodes()
            .iter()
            .zip(other.nodes())
            .all(|(a, b)| is_same(&a.kind, &b.kind) && parts(one, &a.kind) == parts(other, &b.kind))
}
