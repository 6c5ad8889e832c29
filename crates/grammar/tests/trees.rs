//! The tree-sitter grammar reads what `syntax` reads, and groups it alike.

use grammar::{FOLDS, HIGHLIGHTS, LANGUAGE, LOCALS};
use std::fs;
use std::path::{Path, PathBuf};
use syntax::lexer::{Scanned, TermScanner};
use syntax::operators::{OpTable, OpType, source_operators};
use syntax::tree::{NodeId, NodeKind, Tree};
use term::AtomTable;
use tree_sitter::{Node, Parser, Query, QueryCursor, StreamingIterator};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&LANGUAGE.into()).expect("this version of tree-sitter reads the table");
    parser
}

/// All KL1 files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "kl1") {
            found.push(path);
        }
    }
}

/// Whether the compiler can read all terms of a text.
fn is_right(text: &[u8]) -> bool {
    let atoms = AtomTable::new();
    let ops = OpTable::source_table(&atoms);
    let mut rest = text;
    loop {
        match TermScanner::new().scan(rest, true) {
            Scanned::Term(length) => {
                if syntax::parse_term(&rest[..length], &ops, &atoms).is_err() {
                    return false;
                }
                rest = &rest[length..];
            }
            Scanned::NeedMore | Scanned::EndOfInput => return true,
        }
    }
}

#[test]
fn every_right_file_has_a_tree_without_errors() {
    let mut all = Vec::new();
    ["tests/corpus", "examples", "benches", "library"]
        .iter()
        .for_each(|name| files(&root().join(name), &mut all));
    let (mut parser, mut right, mut wrong) = (parser(), 0, Vec::new());
    for path in &all {
        let bytes = fs::read(path).expect("a file");
        if !is_right(&bytes) {
            continue;
        }
        right += 1;
        // Editors show what is no UTF-8 as other characters, too.
        let text = String::from_utf8_lossy(&bytes);
        let tree = parser.parse(text.as_bytes(), None).expect("nothing stops it");
        if tree.root_node().has_error() {
            wrong.push(path.display().to_string());
        }
    }
    assert!(right > all.len() * 9 / 10 && right < all.len(), "{right} of {}", all.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The term in `p((..)).` with parentheses around each operator and its operands, as `syntax` reads it.
fn grouped(tree: &Tree, id: NodeId, atoms: &AtomTable) -> String {
    match &tree.node(id).kind {
        NodeKind::Struct(name, children) => {
            let parts = tree.children(*children).iter().map(|&child| grouped(tree, child, atoms));
            format!("[{} {}]", atoms.name(*name), parts.collect::<Vec<_>>().join(" "))
        }
        NodeKind::Atom(name) => atoms.name(*name).into_owned(),
        kind => format!("{kind:?}"),
    }
}

/// The same of a tree of tree-sitter.
fn grouped_node(node: Node<'_>, text: &str) -> String {
    let part = |name: &str| node.child_by_field_name(name).map(|child| grouped_node(child, text));
    let operator = node.child_by_field_name("operator").map(|child| &text[child.byte_range()]);
    match operator {
        Some(operator) => {
            let parts = ["left", "right", "operand"].iter().filter_map(|name| part(name));
            format!("[{operator} {}]", parts.collect::<Vec<_>>().join(" "))
        }
        None => text[node.byte_range()].to_string(),
    }
}

#[test]
fn operators_group_as_the_compiler_groups_them() {
    let atoms = AtomTable::new();
    let ops = OpTable::source_table(&atoms);
    let with = |operand: &str, other: &str, (kind, _, name): (OpType, u16, &str)| match kind {
        OpType::Fx | OpType::Fy => format!("{name} {operand}"),
        OpType::Xf | OpType::Yf => format!("{operand} {name}"),
        _ => format!("{operand} {name} {other}"),
    };
    let (mut parser, mut compared) = (parser(), 0);
    for outer in source_operators() {
        for inner in source_operators() {
            let term = with("a", "b", inner);
            for term in [with(&term, "c", outer), with("c", &term, outer)] {
                let text = format!("p(({term})).");
                let Ok(Some(tree)) = syntax::parse_term(text.as_bytes(), &ops, &atoms) else { continue };
                let expected = grouped(&tree, tree.root(), &atoms);
                let tree = parser.parse(&text, None).expect("nothing stops it");
                let root = tree.root_node();
                assert!(!root.has_error(), "{text}: {}", root.to_sexp());
                let inside = root
                    .named_child(0)
                    .and_then(|fact| fact.child_by_field_name("head"))
                    .and_then(|head| head.child_by_field_name("arguments"))
                    .and_then(|arguments| arguments.named_child(0))
                    .and_then(|parenthesized| parenthesized.named_child(0));
                let found = inside.map(|node| grouped_node(node, &text)).unwrap_or_default();
                assert_eq!(format!("[p {found}]"), expected, "{text}: {}", root.to_sexp());
                compared += 1;
            }
        }
    }
    assert!(compared > 5000, "{compared}");
}

const SAMPLE: &str = r#"#!/usr/bin/env -S fifth run
%% A sample.
:- module main.
main :- true | m:p("a", 0'x, 16'ff, 1.5), q(X)-S@node(1). /* here */
q(X)-S :- X > 0 | S <= put('it''s').
otherwise.
q(_)-_ :- - X mod 2 =:= -1 | X = module#m, ( Y = (,) -> true ; otherwise ; true -> r([-, +|T], {1, - 1})).
"#;

#[test]
fn queries_find_what_they_are_for() {
    let language = LANGUAGE.into();
    let tree = parser().parse(SAMPLE, None).expect("nothing stops it");
    assert!(!tree.root_node().has_error(), "{}", tree.root_node().to_sexp());
    let found = |source: &str| {
        let query = Query::new(&language, source).expect("the query fits the grammar");
        let mut cursor = QueryCursor::new();
        let mut captures = cursor.captures(&query, tree.root_node(), SAMPLE.as_bytes());
        let mut all = Vec::new();
        while let Some((found, at)) = captures.next() {
            let capture = found.captures()[*at];
            let name = query.capture_names()[capture.index as usize].to_string();
            let place = capture.node.byte_range();
            all.push((name, SAMPLE[place.clone()].to_string(), place));
        }
        all
    };
    let highlights = found(HIGHLIGHTS);
    for (name, text) in [
        ("comment.documentation", "%% A sample."),
        ("comment", "/* here */"),
        ("module", "main"),
        ("module", "m"),
        ("function", "main"),
        ("function", "q"),
        ("function.call", "p"),
        ("keyword", "otherwise"),
        ("string", "\"a\""),
        ("character", "0'x"),
        ("number", "16'ff"),
        ("number.float", "1.5"),
        ("variable", "X"),
        ("operator", ":-"),
        ("operator", "<="),
        ("punctuation.bracket", "["),
    ] {
        let has = highlights.iter().any(|found| (&found.0[..], &found.1[..]) == (name, text));
        assert!(has, "{name} {text}: {highlights:?}");
    }
    // No place has two colours: editors do not agree which one counts.
    let mut places: Vec<_> = highlights.iter().map(|found| found.2.clone()).collect();
    places.sort_by_key(|place| place.start);
    places.dedup();
    assert_eq!(places.len(), highlights.len());
    let locals = found(LOCALS);
    assert!(locals.iter().any(|(name, text, _)| name == "local.scope" && text.starts_with("q(X)-S :-")));
    assert!(locals.iter().any(|(name, text, _)| name == "local.reference" && text == "S"));
    assert_eq!(found(FOLDS).iter().filter(|(_, text, _)| text.starts_with("q(")).count(), 2);
}
