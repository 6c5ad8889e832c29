//! Clients of any kind: texts and places that nobody thought of, and bytes that are no messages.

use arbtest::arbitrary::Unstructured;
use arbtest::arbtest;
use language_server::fuzzing;

/// What programs are made of.
const PIECES: &[&str] = &[
    ":- module main.\n",
    "main :- true | p(X, m:q).\n",
    "p(X)-S :- X > 0 | S <= add(X), p(X)-S.\n",
    "otherwise.\n",
    "p(",
    ")",
    "[",
    "|",
    "]",
    ".\n",
    ":-",
    ",",
    "X",
    "_",
    "q",
    "io:outstream([print(X),nl])",
    ":",
    "predicate#(main:p/1)",
    "\"",
    "'",
    "%% Comment\n",
    "/*",
    "\u{1d54f}",
    "\u{e9}",
    "\u{feff}",
    "\r",
    "\r\n",
    "\n",
    " ",
    "0'",
    "( X = 1 -> true ; otherwise ; true -> q )",
    "#!",
    "\u{0}",
    ":- module ''.\n",
    "''(X) :- X.\n",
    "'a b'(X) :- 'a b'(X).\n",
    "-",
    "+",
    "@node(1)",
    "{",
    "}",
    "16'ff",
];

fn text(u: &mut Unstructured<'_>, longest: usize) -> arbtest::arbitrary::Result<String> {
    let count = u.int_in_range(0..=longest)?;
    (0..count).map(|_| u.choose(PIECES).copied()).collect()
}

#[test]
fn every_request_about_any_text_is_answered() {
    arbtest(|u| {
        let (text, change) = (text(u, 30)?, text(u, 4)?);
        let numbers: Vec<u32> = (0..80).map(|_| u.arbitrary()).collect::<Result<_, _>>()?;
        fuzzing::session(&text, &change, &numbers);
        Ok(())
    })
    .budget_ms(3000);
}

/// What messages are made of.
const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"id\":",
    "1",
    "\"x\"",
    ",",
    "\"method\":",
    "\"textDocument/hover\"",
    "\"shutdown\"",
    "\"params\":",
    "null",
    "\"textDocument/didOpen\"",
    "{\"textDocument\":{\"uri\":\"file:///a\"}}",
    "-1e400",
    "\n",
    "Content-Length: 3\r\n",
    "\r\n",
    "\u{e9}",
    ":",
    r#"{"id":1,"method":"initialize","params":{}}"#,
    r#"{"id":2.5,"method":"exit"}"#,
    r#"{"method":"exit"}"#,
];

#[test]
fn any_bytes_are_messages_or_are_complained_of() {
    arbtest(|u| {
        let count = u.int_in_range(0..=40)?;
        let text: String = (0..count).map(|_| u.choose(PARTS).copied()).collect::<Result<_, _>>()?;
        let mut bytes = text.into_bytes();
        bytes.extend(u.bytes(u.len().min(20))?);
        fuzzing::messages(&bytes);
        Ok(())
    })
    .budget_ms(1000);
}
