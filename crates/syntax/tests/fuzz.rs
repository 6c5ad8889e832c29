//! The fuzz bodies, for about a second each.

use arbtest::arbtest;
use syntax::fuzzing;

/// Pieces of text that, put together at random, reach far into the parser and the macros.
const PIECES: &[&str] = &[
    "p",
    "q",
    "X",
    "Y",
    "_",
    "S",
    "0",
    "1",
    "25",
    "1.5",
    "16'ff",
    "0'a",
    "\"s\"",
    "'a b'",
    "[]",
    "{}",
    "foo",
    "mod",
    "module",
    "spy",
    "true",
    "otherwise",
    "alternatively",
    "generic",
    "inline",
    "with",
    "daemon",
    "m",
    "node",
    "priority",
    "lower_priority",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "|",
    ".\n",
    ".",
    " ",
    "\n",
    ":-",
    "-",
    "+",
    "*",
    "/",
    "#",
    "~",
    "$~",
    "`",
    "``",
    ":=",
    "$:=",
    "=",
    "<",
    "$<",
    "@<",
    "\\=",
    "<=",
    "=>",
    "<==",
    "+=",
    "->",
    ";",
    ":",
    "@",
    "++",
    "\\+",
    "&",
    "^",
    "/\\",
    "\\",
    "<<",
    "p(",
    "q(X,",
    "f(",
    "p(X)-S",
    ":- true | ",
    ":- X > 0 | ",
    "(X > 0 -> ",
    "; otherwise ; true -> ",
    ":- module m.\n",
    "~(X+1)",
    "#\"a\"",
    "predicate#(m:p/2)",
    "key#lf",
    ":- with((X=1)).\n",
    "otherwise.\n",
    "/*",
    "*/",
    "%",
    "'",
    "\"",
    "\\x41",
    "素数",
    "変数",
    "é(",
    "\"文字列\"",
    "'あ",
    "0'あ",
    "\u{2028}",
];

fn text(u: &mut arbtest::arbitrary::Unstructured<'_>) -> arbtest::arbitrary::Result<Vec<u8>> {
    let mut text = vec![];
    for _ in 0..u.int_in_range(0..=60)? {
        if u.ratio(1, 20)? {
            text.push(u.arbitrary()?);
        } else {
            text.extend_from_slice(u.choose(PIECES)?.as_bytes());
        }
    }
    Ok(text)
}

#[test]
fn any_bytes() {
    arbtest(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        fuzzing::tokens(&bytes);
        fuzzing::terms(&bytes, 3);
        fuzzing::program(&bytes);
        Ok(())
    })
    .budget_ms(700);
}

#[test]
fn likely_text() {
    arbtest(|u| {
        let piece = u.int_in_range(1..=9)?;
        let text = text(u)?;
        fuzzing::tokens(&text);
        fuzzing::terms(&text, piece);
        fuzzing::program(&text);
        Ok(())
    })
    .budget_ms(1500);
}
