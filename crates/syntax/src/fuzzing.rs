//! Fuzz bodies: what must hold for any bytes. They run in `cargo test` and under a fuzzer.

use crate::dump::dump_program;
use crate::lexer::{Lexer, Scanned, TermScanner, TokenKind};
use crate::operators::OpTable;
use crate::parser::parse_term;
use crate::print::{Limits, print_limited, print_plain, print_readable};
use crate::source::SourceMap;
use crate::views::TreeView;
use term::AtomTable;

/// Tokens are in order, do not overlap, and end (L1, L3).
pub fn tokens(text: &[u8]) {
    let atoms = AtomTable::new();
    let mut lexer = Lexer::new(text);
    let mut end = 0;
    loop {
        let token = lexer.next(&atoms);
        assert!(token.start >= end && token.end as usize <= text.len());
        end = token.end;
        if token.kind == TokenKind::EndOfText {
            break;
        }
        assert!(token.start < token.end);
    }
}

/// The ends of all terms, when `text` arrives in pieces of `piece` bytes.
fn term_ends(text: &[u8], piece: usize) -> Vec<usize> {
    let mut ends = vec![];
    let mut from = 0;
    let mut arrived = 0;
    let mut scanner = TermScanner::new();
    loop {
        match scanner.scan(&text[from..arrived], arrived == text.len()) {
            Scanned::Term(length) => {
                from += length;
                ends.push(from);
                scanner = TermScanner::new();
            }
            Scanned::NeedMore => arrived = (arrived + piece).min(text.len()),
            Scanned::EndOfInput => return ends,
        }
    }
}

/// Terms end at the same places however the text arrives (L2); every term is read or refused; what is written
/// for it reads back as something that is written the same way.
pub fn terms(text: &[u8], piece: usize) {
    let ends = term_ends(text, text.len().max(1));
    assert_eq!(ends, term_ends(text, piece.max(1)));
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    let mut from = 0;
    for end in ends {
        if let Ok(tree) = parse_term(&text[from..end], &ops, &atoms) {
            let tree = tree.expect("the scanner saw a token");
            let view = TreeView(&tree);
            let written = print_readable(&view, &atoms, &ops, view.root());
            print_plain(&view, &atoms, view.root());
            print_limited(&view, &atoms, view.root(), Limits { depth: 3, length: 7, bytes: 80 });
            let mut again = written.clone();
            again.extend(b" .");
            let reread = parse_term(&again, &ops, &atoms);
            let reread = reread.expect("what putt writes can be read").expect("a term");
            let view = TreeView(&reread);
            let rewritten = print_readable(&view, &atoms, &ops, view.root());
            assert_eq!(written, rewritten, "{}", String::from_utf8_lossy(&written));
        }
        from = end;
    }
}

/// Any file gives a program and diagnostics.
pub fn program(text: &[u8]) {
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.kl1".to_string(), text.to_vec());
    let atoms = AtomTable::new();
    let (program, diagnostics) = crate::read_program(&sources, &[file], &atoms);
    dump_program(&program, &atoms);
    for diagnostic in diagnostics {
        assert!(diagnostic.span.end as usize <= text.len() && diagnostic.span.start <= diagnostic.span.end);
    }
}
