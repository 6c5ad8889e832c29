//! A syntax error as `gett` reports it while a program runs.

use crate::lexer::{Lexer, TokenKind};
use crate::parser::SyntaxError;
use term::AtomTable;

impl SyntaxError {
    /// The report: the lines, what is wrong, the tokens before the place and those after it. `text` is the text that was
    /// read, `first_line` the number of its first line (leading layout included).
    pub fn report(&self, text: &[u8], first_line: usize, atoms: &mut AtomTable) -> Vec<u8> {
        let lines = |bytes: &[u8]| bytes.iter().filter(|&&b| b == b'\n').count();
        let mut before = vec![];
        let mut after = vec![];
        let mut from = None;
        let mut end = 0;
        let mut lexer = Lexer::new(text);
        loop {
            let token = lexer.next(atoms);
            if token.kind == TokenKind::EndOfText {
                break;
            }
            from.get_or_insert(token.start as usize);
            end = token.end as usize;
            let side = if token.start < self.start { &mut before } else { &mut after };
            side.extend_from_slice(&text[token.start as usize..end]);
            side.push(b' ');
        }
        let first = first_line + lines(&text[..from.unwrap_or(0)]);
        let last = first_line + lines(&text[..end]);
        let place = if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
        let mut report = format!("{{SYNTAX ERROR: in {place}}}\n** {} **\n", self.message).into_bytes();
        report.extend(before);
        report.extend(b"\n** here **\n");
        report.extend(after);
        report.push(b'\n');
        report
    }
}
