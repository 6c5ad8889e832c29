//! What each token of a clause does in its term.

use super::segments::Segment;
use crate::lexer::TokenKind;
use crate::operators::{Op, OpTable};
use crate::tree::{NodeId, NodeKind, Tree};
use term::AtomTable;

/// What a token does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A constant, variable, or the name of a functor.
    Operand,
    /// The `:-` between head and body.
    Neck,
    /// The `|` behind a guard.
    Commit,
    /// `,` between goals.
    Comma,
    /// `->`.
    Arrow,
    /// `;`.
    Semicolon,
    /// Any other operator between two operands, with blanks around it or without.
    Infix { blanks: bool },
    /// An operator before its operand, with a blank behind it or without.
    Prefix { blank: bool },
    /// An operator behind its operand.
    Postfix,
    /// `(` of arguments, `[` or `{`.
    Open,
    /// `(` of a term.
    Parenthesis,
    /// `(` around `->` or `;`.
    Conditional,
    /// What closes one.
    Close,
    /// `,` between arguments or elements.
    Separator,
    /// `|` before a tail.
    Bar,
    /// `.`
    End,
}

/// The roles of the tokens of a segment.
pub(super) struct Roles {
    pub(super) of: Vec<Role>,
    /// How many brackets are open before a token; one that closes counts as outside.
    pub(super) depth: Vec<u32>,
    /// Of a token that opens or closes: the other one.
    pub(super) partner: Vec<usize>,
}

/// Finds the roles.
pub(super) fn roles(segment: &Segment<'_>, tree: &Tree, ops: &OpTable, atoms: &AtomTable) -> Roles {
    let tokens = &segment.tokens;
    let mut roles = Roles {
        of: vec![Role::Operand; tokens.len()],
        depth: vec![0; tokens.len()],
        partner: vec![0; tokens.len()],
    };
    operators(segment, tree, ops, atoms, &mut roles.of);
    brackets(segment, &mut roles);
    arithmetic(segment, tree, atoms, &mut roles);
    roles
}

/// The token that begins at or behind a byte.
fn token_from(segment: &Segment<'_>, byte: u32) -> usize {
    segment.tokens.partition_point(|token| token.start < byte)
}

/// The infix operator of a node, if it has one: behind its left operand and the parentheses around that.
fn infix_of(segment: &Segment<'_>, tree: &Tree, id: NodeId) -> Option<(usize, [NodeId; 2])> {
    let node = tree.node(id);
    let NodeKind::Struct(_, range) = node.kind else { return None };
    let &[left, right] = tree.children(range) else { return None };
    if tree.node(left).start != node.start {
        return None;
    }
    let mut at = token_from(segment, tree.node(left).end);
    while segment.tokens[at].text == b")" {
        at += 1;
    }
    Some((at, [left, right]))
}

fn operators(segment: &Segment<'_>, tree: &Tree, ops: &OpTable, atoms: &AtomTable, of: &mut [Role]) {
    let is_word = |at: usize| segment.tokens[at].text[0].is_ascii_alphabetic();
    for n in 0..tree.nodes().len() {
        let id = NodeId(n as u32);
        let node = tree.node(id);
        let NodeKind::Struct(name, range) = node.kind else { continue };
        if let Some((at, _)) = infix_of(segment, tree, id) {
            let priority = ops.infix(name).map_or(0, |op: Op| op.priority);
            of[at] = match atoms.text(name) {
                b"," => Role::Comma,
                b"->" => Role::Arrow,
                b";" => Role::Semicolon,
                b":" | b"@" => Role::Infix { blanks: false },
                _ => Role::Infix { blanks: priority >= 700 || is_word(at) },
            };
        } else if let &[operand] = tree.children(range) {
            let at = token_from(segment, node.start);
            let is_applied = segment.tokens[at + 1].text == b"(" && segment.tokens[at + 1].gap.is_empty;
            if tree.node(operand).start == node.start {
                let end = token_from(segment, node.end) - 1;
                of[end] = Role::Postfix;
            } else if !is_applied {
                let priority = ops.prefix(name).map_or(0, |op| op.priority);
                of[at] = Role::Prefix { blank: is_word(at) || priority >= 1000 };
            }
        }
    }
    let root = tree.root();
    let Some((neck, [_, body])) = infix_of(segment, tree, root) else { return };
    if segment.tokens[neck].text == b":-" {
        of[neck] = Role::Neck;
        if let Some((bar, _)) = infix_of(segment, tree, body)
            && segment.tokens[bar].text == b"|"
        {
            of[bar] = Role::Commit;
        }
    }
}

fn brackets(segment: &Segment<'_>, roles: &mut Roles) {
    let mut open: Vec<usize> = vec![];
    for (at, token) in segment.tokens.iter().enumerate() {
        let closes = matches!(token.kind, TokenKind::Punctuation(b')' | b']' | b'}'));
        if closes && let Some(opener) = open.pop() {
            (roles.partner[opener], roles.partner[at]) = (at, opener);
            roles.of[at] = Role::Close;
        }
        roles.depth[at] = open.len() as u32;
        if roles.of[at] == Role::Operand {
            roles.of[at] = match token.kind {
                TokenKind::Punctuation(b'(') if is_applied(segment, roles, at) => Role::Open,
                TokenKind::Punctuation(b'(') => Role::Parenthesis,
                TokenKind::Punctuation(b'[' | b'{') => Role::Open,
                TokenKind::Punctuation(b',') => Role::Separator,
                TokenKind::Punctuation(b'|') => Role::Bar,
                TokenKind::End => Role::End,
                _ => Role::Operand,
            };
        }
        if matches!(roles.of[at], Role::Open | Role::Parenthesis) {
            open.push(at);
        }
        if let (Role::Arrow | Role::Semicolon, Some(&opener)) = (roles.of[at], open.last())
            && roles.of[opener] == Role::Parenthesis
        {
            roles.of[opener] = Role::Conditional;
        }
    }
}

/// Whether a `(` directly follows the name of its functor.
fn is_applied(segment: &Segment<'_>, roles: &Roles, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    let is_name = match segment.tokens[before].kind {
        TokenKind::Atom(_) | TokenKind::QuotedAtom(_) => roles.of[before] == Role::Operand,
        TokenKind::Punctuation(b']') => before > 0 && segment.tokens[before - 1].text == b"[",
        _ => false,
    };
    is_name && segment.tokens[at].gap.is_empty
}

/// Gives blanks to the arithmetic beside `:=` and comparisons, where no bracket is between.
fn arithmetic(segment: &Segment<'_>, tree: &Tree, atoms: &AtomTable, roles: &mut Roles) {
    let mut wide = vec![None; tree.nodes().len()];
    for n in (0..tree.nodes().len()).rev() {
        let id = NodeId(n as u32);
        let Some((at, operands)) = infix_of(segment, tree, id) else { continue };
        let NodeKind::Struct(name, _) = tree.node(id).kind else { continue };
        let depth = match atoms.text(name) {
            b":=" | b"=:=" | b"=\\=" | b"<" | b">" | b"=<" | b">=" | b"$:=" | b"$=:=" | b"$=\\=" | b"$<"
            | b"$>" | b"$=<" | b"$>=" => Some(roles.depth[at]),
            b"+" | b"-" | b"*" | b"/" | b"//" | b"<<" | b">>" | b"/\\" | b"\\/" | b"mod" | b"xor" | b"**" => {
                wide[n].filter(|&depth| depth == roles.depth[at])
            }
            _ => None,
        };
        if depth.is_some() {
            roles.of[at] = Role::Infix { blanks: true };
            operands.iter().for_each(|operand| wide[operand.0 as usize] = depth);
        }
    }
}
