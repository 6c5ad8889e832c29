//! Tokens, trees, the end of a term in a stream, and errors.

use expect_test::{Expect, expect, expect_file};
use syntax::lexer::{Lexer, Scanned, TermScanner, TokenKind};
use syntax::operators::{OpTable, OpType};
use syntax::parse_term;
use syntax::print::{print_plain, print_readable};
use syntax::views::TreeView;
use term::AtomTable;

fn check_tokens(text: &[u8], expected: Expect) {
    let atoms = AtomTable::new();
    let mut lexer = Lexer::new(text);
    let mut lines = String::new();
    loop {
        let token = lexer.next(&atoms);
        let kind = match &token.kind {
            TokenKind::Atom(atom) => format!("atom {}", atoms.name(*atom)),
            TokenKind::QuotedAtom(atom) => format!("quoted {:?}", atoms.name(*atom)),
            TokenKind::String(bytes) => format!("string {:?}", String::from_utf8_lossy(bytes)),
            TokenKind::Punctuation(byte) => format!("punctuation {}", char::from(*byte)),
            other => format!("{other:?}"),
        };
        lines += &format!("{}..{} {kind}\n", token.start, token.end);
        if token.kind == TokenKind::EndOfText {
            break;
        }
    }
    expected.assert_eq(&lines);
}

#[test]
fn tokens_of_each_kind() {
    check_tokens(
        b"foo fooBar_1 X _y + =.. ! ; 12 16'fF 0'c 0'' 0'\\ 1.5 2.0e-3 1e10 1E+2 1.e 'a''b\\n' \"\\101\\x42\\q\" a.b .% c\n /* c */ +/* {}.",
        expect![[r#"
            0..3 atom foo
            4..12 atom fooBar_1
            13..14 Variable
            15..17 Variable
            18..19 atom +
            20..23 atom =..
            24..25 atom !
            26..27 atom ;
            28..30 Int(12)
            31..36 Int(255)
            37..40 Int(99)
            41..44 Int(39)
            45..48 Int(92)
            49..52 Float(1.5)
            53..59 Float(0.002)
            60..64 Float(10000000000.0)
            65..69 Float(100.0)
            70..71 Int(1)
            71..72 atom .
            72..73 atom e
            74..82 quoted "a'b\n"
            83..95 string "ABq"
            96..97 atom a
            97..98 atom .
            98..99 atom b
            100..101 atom .
            114..117 atom +/*
            118..119 punctuation {
            119..120 punctuation }
            120..121 End
            121..121 EndOfText
        "#]],
    );
    check_tokens(
        b"12345678901234567890 1152921504606846975 1152921504606846976 37'1 2'12 0'",
        expect![[r#"
            0..20 BigInt(12345678901234567890)
            21..40 Int(1152921504606846975)
            41..60 BigInt(1152921504606846976)
            61..65 Error(Radix)
            66..70 Error(Digit)
            71..73 Error(Character)
            73..73 EndOfText
        "#]],
    );
    check_tokens(
        b"'\\400' \"\\x\" 'line\nbreak' \"con\\\ntinued\" /* open",
        expect![[r#"
        0..6 Error(Escape)
        7..11 Error(Escape)
        12..24 quoted "line\nbreak"
        25..38 string "continued"
        39..46 Error(UnclosedComment)
        46..46 EndOfText
    "#]],
    );
}

/// Reads a term and shows it in canonical form.
fn canonical(text: &str) -> String {
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    match parse_term(text.as_bytes(), &ops, &atoms) {
        Ok(None) => "nothing".to_string(),
        Ok(Some(tree)) => {
            let view = TreeView(&tree);
            String::from_utf8_lossy(&print_plain(&view, &atoms, view.root())).into_owned()
        }
        Err(error) => format!("{}..{} {} ({})", error.start, error.end, error.message, error.label),
    }
}

/// `text  ==>  tree` in each line.
#[test]
fn trees() {
    let texts = include_str!("tables/trees.txt").lines().filter_map(|line| line.split("  ==>  ").next());
    let lines: String = texts.map(|text| format!("{text}  ==>  {}\n", canonical(text))).collect();
    expect_file!["tables/trees.txt"].assert_eq(&lines);
}

/// How much of the text must have arrived until the end of its first term is known, and where that is.
fn first_end(text: &[u8]) -> (usize, Scanned) {
    let mut scanner = TermScanner::new();
    for arrived in 0..=text.len() {
        match scanner.scan(&text[..arrived], false) {
            Scanned::NeedMore => {}
            found => return (arrived, found),
        }
    }
    (text.len(), scanner.scan(text, true))
}

#[test]
fn the_end_of_a_term_is_found_as_soon_as_it_arrives() {
    let cases: &[(&[u8], (usize, Scanned))] = &[
        (b"foo.\nbar.\n", (5, Scanned::Term(5))),
        (b"f(0'. , 'a. ', \"b. \"\"\"). x", (25, Scanned::Term(25))),
        (b"1.5. ", (5, Scanned::Term(5))),
        (b"a /* . */ % . \n.\n", (17, Scanned::Term(17))),
        (b"a.%\n.\n", (6, Scanned::Term(6))),
        (b"foo.", (4, Scanned::Term(4))),
        (b"foo", (3, Scanned::Term(3))),
        (b" % nothing. \n", (13, Scanned::EndOfInput)),
        (b"'open. ", (7, Scanned::Term(7))),
    ];
    for (text, found) in cases {
        assert_eq!(first_end(text), *found, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn errors_of_gett_are_reported_with_their_place() {
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    let text = b"\nf(a,\n  b c, % comment\n d).";
    let error = parse_term(text, &ops, &atoms).unwrap_err();
    let report = error.report(text, 22);
    expect![[r#"
        {SYNTAX ERROR: in lines 21-23}
        ** an operator, `,` or `)` is expected **
        ** arguments stand in parentheses, `b(c)`; or is a `,` missing? **
        f(a,
          b
        ** here **
        c, % comment
         d).
    "#]]
    .assert_eq(&String::from_utf8_lossy(&report));
}

#[test]
fn a_report_of_gett_does_not_move_a_terminals_cursor() {
    let atoms = AtomTable::new();
    let ops = OpTable::default_table(&atoms);
    let text = b"f(\x1b[2J\ta b\r\x07\x7f, \xc3\xa4).";
    let report = parse_term(text, &ops, &atoms).unwrap_err().report(text, 0);
    assert!(report.iter().all(|&byte| byte == b'\n' || byte == b'\t' || !byte.is_ascii_control()));
    let report = String::from_utf8_lossy(&report).into_owned();
    assert!(report.contains("f(?") && report.ends_with("\u{e4}).\n"), "{report}");
}

#[test]
fn operators_can_be_changed() {
    let atoms = AtomTable::new();
    let mut ops = OpTable::default_table(&atoms);
    let likes = atoms.intern(b"likes");
    assert!(parse_term(b"a likes b.", &ops, &atoms).is_err());
    assert!(ops.add(likes, OpType::Xfx, 700));
    assert!(!ops.add(likes, OpType::Xfx, 1201));
    let tree = parse_term(b"a likes b.", &ops, &atoms).unwrap().unwrap();
    let view = TreeView(&tree);
    assert_eq!(print_readable(&view, &atoms, &ops, view.root()), b"a likes b");
    ops.remove(likes, OpType::Xfx);
    assert_eq!(print_readable(&view, &atoms, &ops, view.root()), b"likes(a,b)");
}
