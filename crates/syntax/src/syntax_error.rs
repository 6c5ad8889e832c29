//! A term that could not be read: as a diagnostic of a source file, or as `gett` reports it while a program
//! runs.

use crate::diagnostic::Diagnostic;
use crate::lexer::LexError;
use crate::source::{FileId, Span};

/// A term that could not be read. Places are byte offsets of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// A diagnostic code.
    pub code: &'static str,
    /// First byte of the wrong place.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// What is wrong.
    pub message: String,
    /// What to say at the place.
    pub label: String,
    /// Another place that matters.
    pub related: Option<(u32, u32, String)>,
    /// What to do.
    pub help: Option<String>,
}

/// How much of a wrong term a report shows before and after the error: a forgotten point makes a term of a whole file.
const REPORT_BYTES: usize = 2000;

impl SyntaxError {
    pub(crate) fn new(code: &'static str, (start, end): (u32, u32), message: impl Into<String>) -> Box<Self> {
        Box::new(SyntaxError {
            code,
            start,
            end,
            message: message.into(),
            label: String::new(),
            related: None,
            help: None,
        })
    }
    pub(crate) fn label(mut self: Box<Self>, label: impl Into<String>) -> Box<Self> {
        self.label = label.into();
        self
    }
    pub(crate) fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }
    /// As a diagnostic of a source file.
    pub fn diagnostic(self, file: FileId) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::error(self.code, Span { file, start: self.start, end: self.end }, self.message)
                .label(self.label);
        if let Some((start, end, text)) = self.related {
            diagnostic = diagnostic.related(Span { file, start, end }, text);
        }
        diagnostic.help = self.help;
        diagnostic
    }

    /// What is said of it on standard error while a program runs: the lines, what is wrong, what to do, the text before
    /// the place and the text behind it, [`REPORT_BYTES`] of each, with `?` for control characters. `text` is what was
    /// read; the input had `lines` line ends up to its end.
    pub fn report(&self, text: &[u8], lines: i64) -> Vec<u8> {
        let ends = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count() as i64;
        let layout = text.len() - text.trim_ascii_start().len();
        let first = lines - ends(&text[layout..]) + 1;
        let last = if text.ends_with(b"\n") { lines } else { lines + 1 };
        let (before, after) = text.split_at((self.start as usize).clamp(layout, text.len()));
        let mut report =
            format!("{{SYNTAX ERROR: in lines {first}-{last}}}\n** {} **\n", self.message).into_bytes();
        if let Some(help) = &self.help {
            report.extend(format!("** {help} **\n").into_bytes());
        }
        let (before, after) = (before.trim_ascii(), after.trim_ascii());
        let skipped = before.len().saturating_sub(REPORT_BYTES);
        report.extend(if skipped > 0 { &b".. "[..] } else { b"" });
        report.extend(&before[skipped..]);
        report.extend(b"\n** here **\n");
        report.extend(&after[..after.len().min(REPORT_BYTES)]);
        report.extend(if after.len() > REPORT_BYTES { &b" ..\n"[..] } else { b"\n" });
        // Input may be anything; on a terminal it must not move the cursor.
        let is_harmless = |byte: u8| byte == b'\n' || byte == b'\t' || !byte.is_ascii_control();
        report.into_iter().map(|byte| if is_harmless(byte) { byte } else { b'?' }).collect()
    }

    /// A token that is none.
    pub(crate) fn token(error: LexError, (start, end): (u32, u32)) -> Box<SyntaxError> {
        match error {
            LexError::UnclosedQuote => SyntaxError::new(
                "unclosed-quote",
                (start, start + 1),
                "a quote is not closed",
            )
            .label("opens here, and nothing closes it")
            .help("a string ends with the quote it begins with; write the quote twice to have it inside"),
            LexError::UnclosedComment => {
                SyntaxError::new("unclosed-comment", (start, start + 2), "a comment is not closed")
                    .label("opens here, and no `*/` follows")
                    .help("a comment that begins with `/*` ends with `*/`")
            }
            LexError::Radix => {
                SyntaxError::new("illegal-number", (start, end), "the radix of a number must be 2 to 36")
                    .label("no such radix")
                    .help("`16'ff` is 255; `0'a` is the code of `a`")
            }
            LexError::Digit => {
                SyntaxError::new("illegal-number", (start, end), "a digit does not belong to the radix")
                    .label("digits must be smaller than the radix")
            }
            LexError::Character => {
                SyntaxError::new("illegal-number", (start, end), "`0'` needs a character after it")
                    .label("the text ends here")
            }
            LexError::Escape => {
                SyntaxError::new("illegal-escape", (start, end), "an escape in this text has no value")
                    .label("octal and hexadecimal escapes stand for 0 to 255")
                    .help("write `\\ooo` (octal, at most 377) or `\\xHH`; write `\\\\` for a backslash")
            }
        }
    }
}
