//! What is typed into the REPL, clause by clause: with line editing on a terminal, plainly from a pipe.

use anyhow::Context;
use std::io::{BufRead, IsTerminal, Write};
use syntax::lexer::{Scanned, TermScanner};

/// Source of clauses, queries and commands.
pub(crate) struct Input {
    terminal: bool,
    /// Read and not yet answered.
    rest: String,
}

impl Input {
    /// Standard input.
    pub(crate) fn new() -> anyhow::Result<Input> {
        Ok(Input { terminal: std::io::stdin().is_terminal(), rest: String::new() })
    }
    /// Somebody is typing.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }
    /// The next clause, query or command; `None` at the end of the input.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<String>> {
        loop {
            if let Some(entry) = self.take() {
                return Ok(Some(entry));
            }
            let Some(line) = self.line()? else {
                let last = std::mem::take(&mut self.rest);
                return Ok(Some(last).filter(|last| !last.trim().is_empty()));
            };
            self.rest.push_str(&line);
        }
    }
    /// Takes a complete entry off what was read: a line with a command, or text up to the end of a clause.
    fn take(&mut self) -> Option<String> {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.rest.drain(..blank);
        let command = self.rest.starts_with(':') && !self.rest.starts_with(":-");
        let end = if command {
            self.rest.find('\n').map(|end| end + 1)?
        } else {
            match TermScanner::new().scan(self.rest.as_bytes(), false) {
                Scanned::Term(end) => end,
                Scanned::NeedMore => return None,
                Scanned::EndOfInput => {
                    self.rest.clear();
                    return None;
                }
            }
        };
        Some(self.rest.drain(..end).collect())
    }
    /// One more line.
    fn line(&mut self) -> anyhow::Result<Option<String>> {
        if self.terminal {
            let mut out = std::io::stdout().lock();
            let prompt = if self.rest.is_empty() { "fifth> " } else { "     | " };
            write!(out, "{prompt}").and_then(|()| out.flush()).context("cannot write to standard output")?;
        }
        let mut line = Vec::new();
        std::io::stdin().lock().read_until(b'\n', &mut line).context("cannot read standard input")?;
        Ok(if line.is_empty() { None } else { Some(String::from_utf8_lossy(&line).into_owned()) })
    }
}
