//! What an entry is that is no command, and does not begin with `?-`: a clause, goals, or something to be shown.

use super::definitions::Key;
use syntax::lexer::{Lexer, TokenKind};
use syntax::operators::OpTable;
use syntax::parse_term;
use syntax::tree::{NodeId, NodeKind, Tree};
use term::AtomTable;

/// See the module comment.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// It has a neck, or cannot be read: whoever defines it says why.
    Clause,
    /// No clause could begin so.
    Goals,
    /// A goal if there is such a predicate, and a fact otherwise.
    Either(Key),
    /// Something to be shown, which this operator gives to a variable.
    Value(&'static str),
}

/// Operators that make a clause.
const NECKS: [&[u8]; 3] = [b":-", b"-->", b"|"];
/// Operators between which and after which goals stand, or which are goals.
const OF_GOALS: [&[u8]; 16] = [
    b",", b"=", b":=", b"$:=", b":", b"@", b";", b"->", b"<=", b"=>", b"<==", b"+=", b"-=", b"*=", b"/=",
    b"\\=",
];
/// Those of expressions, with two operands and with one.
const BINARY: [&[u8]; 10] = [b"+", b"-", b"*", b"/", b"mod", b"<<", b">>", b"/\\", b"\\/", b"xor"];
const UNARY: [&[u8]; 3] = [b"-", b"+", b"\\"];

/// What an entry is.
pub(super) fn kind(entry: &[u8], atoms: &AtomTable) -> Kind {
    let Ok(Some(tree)) = parse_term(entry, &OpTable::default_table(atoms), atoms) else {
        return Kind::Clause;
    };
    let top = &tree.node(tree.root()).kind;
    let (name, arity) = match top {
        NodeKind::Atom(name) => (*name, 0),
        NodeKind::Struct(name, parts) => (*name, tree.children(*parts).len()),
        _ if is_expression(&tree, tree.root(), atoms) && !matches!(top, NodeKind::Var(_)) => {
            return Kind::Value(assignment(&tree));
        }
        _ => return Kind::Value("="),
    };
    let text = atoms.text(name);
    match arity {
        1 | 2 if NECKS.contains(&text) => Kind::Clause,
        2 if OF_GOALS.contains(&text) => Kind::Goals,
        // Goals that have a pair: `p(a)-X`.
        2 if text == b"-" && !is_expression(&tree, tree.root(), atoms) => Kind::Goals,
        1 if UNARY.contains(&text) => Kind::Value(assignment(&tree)),
        2 if BINARY.contains(&text) => Kind::Value(assignment(&tree)),
        _ => Kind::Either((String::from_utf8_lossy(text).into_owned(), arity)),
    }
}

/// Whether a term is made of numbers, variables and operators of expressions. Terms of an entry nest no deeper than its
/// reader allows, so this may recurse.
fn is_expression(tree: &Tree, node: NodeId, atoms: &AtomTable) -> bool {
    match &tree.node(node).kind {
        NodeKind::Var(_) | NodeKind::Int(_) | NodeKind::BigInt(_) | NodeKind::Float(_) => true,
        NodeKind::Struct(name, parts) => {
            let (name, parts) = (atoms.text(*name), tree.children(*parts));
            let known = match parts.len() {
                1 => UNARY.contains(&name),
                2 => BINARY.contains(&name),
                _ => false,
            };
            known && parts.iter().all(|&part| is_expression(tree, part, atoms))
        }
        _ => false,
    }
}

/// The assignment that computes an expression: one of integers, unless it has a float.
fn assignment(tree: &Tree) -> &'static str {
    let is_float = |node: &syntax::tree::Node| matches!(node.kind, NodeKind::Float(_));
    if tree.nodes().iter().any(is_float) { "$:=" } else { ":=" }
}

/// The tokens of a clause up to its body, which begins at `body`, with variables by the order of their appearance:
/// equal for clauses that ask for the same.
pub(super) fn condition(clause: &[u8], body: Option<usize>, atoms: &AtomTable) -> Vec<Vec<u8>> {
    let (mut lexer, mut tokens, mut variables) = (Lexer::new(clause), Vec::new(), Vec::new());
    loop {
        let token = lexer.next(atoms);
        let start = token.start as usize;
        if matches!(token.kind, TokenKind::EndOfText | TokenKind::End | TokenKind::Error(_))
            || body.is_some_and(|body| start >= body)
        {
            break;
        }
        let text = clause[start..token.end as usize].to_vec();
        tokens.push(match token.kind {
            TokenKind::Variable => {
                let known = variables.iter().position(|known| *known == text && text != b"_");
                let number = known.unwrap_or(variables.len());
                if known.is_none() {
                    variables.push(text);
                }
                format!("_{number}").into_bytes()
            }
            _ => text,
        });
    }
    for behind in [&b"|"[..], b"true", b":-"] {
        if tokens.last().is_some_and(|last| last == behind) {
            tokens.pop();
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_clauses_goals_or_values() {
        let atoms = AtomTable::new();
        let kind = |text: &str| kind(text.as_bytes(), &atoms);
        let either = |name: &str, arity| Kind::Either((name.to_string(), arity));
        for clause in ["p :- q.", "p(X) :- X > 0 | q.", "p(X", "p --> q."] {
            assert_eq!(kind(clause), Kind::Clause, "{clause}");
        }
        for goals in ["p, q.", "X = 3.", "X := 1+2.", "io:outstream([]).", "p@node(1).", "p(a)-X."] {
            assert_eq!(kind(goals), Kind::Goals, "{goals}");
        }
        for (value, by) in
            [("1+2.", ":="), ("3.", ":="), ("- (3*X).", ":="), ("1.5*2.", "$:="), ("[1].", "=")]
        {
            assert_eq!(kind(value), Kind::Value(by), "{value}");
        }
        assert_eq!([kind("X."), kind("\"a\"."), kind("{1}.")], [(); 3].map(|()| Kind::Value("=")));
        assert_eq!(
            [kind("main."), kind("p(1,2)."), kind("f(1)+2.")],
            [either("main", 0), either("p", 2), Kind::Value(":=")]
        );
    }

    #[test]
    fn clauses_that_ask_for_the_same_are_known() {
        let atoms = AtomTable::new();
        let of = |text: &str| {
            let body = text.find('!').unwrap_or(text.len());
            condition(text.replace('!', " ").as_bytes(), Some(body), &atoms)
        };
        assert_eq!(of("p(X,Y) :- !X = Y."), of("p(A,B) :- true | !B = A."));
        assert_eq!(of("p(X) :- X > 0 | !q."), of("p(Y):-Y>0|!r."));
        for other in ["p(X,X) :- !q.", "p(X,1) :- !q.", "p(X,Y) :- X > Y | !q.", "q(X,Y) :- !q."] {
            assert_ne!(of("p(X,Y) :- !q."), of(other), "{other}");
        }
        assert_ne!(of("p(_,_) :- !q."), of("p(X,X) :- !q."));
    }
}
