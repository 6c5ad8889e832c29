//! Diagnostics and program errors for people and for editors.

use crate::cli::MessageFormat;
use crate::sources::Read;
use ariadne::{Color, Config, IndexType, Label, Report, ReportKind};
use std::io::{IsTerminal, Write};
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::source::{SourceMap, Span};

/// A text without modules is an error; nothing else says so.
pub(crate) fn refuse_empty(read: &mut Read) {
    let errors = |d: &Diagnostic| d.severity == Severity::Error;
    if read.program.modules.is_empty() && !read.diagnostics.iter().any(errors) {
        let start = Span { file: read.given[0], start: 0, end: 0 };
        let diagnostic = Diagnostic::error("no-main", start, "the program text is empty");
        let help = "the smallest program is `:- module main.` and `main :- true.`";
        read.diagnostics.push(Diagnostic { help: Some(help.into()), ..diagnostic });
    }
}

/// Prints diagnostics to standard error, in the order of the text, with a closing count. True if one is an error.
pub(crate) fn diagnostics(list: &[Diagnostic], sources: &SourceMap, format: MessageFormat) -> bool {
    let mut list: Vec<&Diagnostic> = list.iter().collect();
    list.sort_by_key(|d| (d.span.file, d.span.start, std::cmp::Reverse(d.severity)));
    list.dedup();
    let errors = list.iter().filter(|d| d.severity == Severity::Error).count();
    let mut out = std::io::stderr().lock();
    for diagnostic in &list {
        // A closed standard error leaves nobody to tell.
        let _ = match format {
            MessageFormat::Human => human(diagnostic, sources, &mut out),
            MessageFormat::Json => writeln!(out, "{}", json(diagnostic, sources)),
        };
    }
    if format == MessageFormat::Human && !list.is_empty() {
        let _ = writeln!(out, "{}", count(errors, list.len() - errors));
    }
    errors > 0
}

fn count(errors: usize, warnings: usize) -> String {
    let one = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, w) => one(w, "warning"),
        (e, 0) => one(e, "error"),
        (e, w) => format!("{}, {}", one(e, "error"), one(w, "warning")),
    }
}

type Place = (String, std::ops::Range<usize>);

fn place(span: Span, sources: &SourceMap) -> Place {
    let file = sources.file(span.file);
    let end = file.text.len();
    (file.name.clone(), (span.start as usize).min(end)..(span.end as usize).min(end))
}

fn human(diagnostic: &Diagnostic, sources: &SourceMap, out: &mut impl Write) -> std::io::Result<()> {
    let (kind, color) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
    };
    let colored = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let config = Config::default().with_index_type(IndexType::Byte).with_color(colored);
    let label = if diagnostic.label.is_empty() { "here" } else { &diagnostic.label };
    let mut report = Report::build(kind, place(diagnostic.span, sources))
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(harmless(&diagnostic.message))
        .with_label(
            Label::new(place(diagnostic.span, sources)).with_message(harmless(label)).with_color(color),
        );
    for (span, text) in &diagnostic.related {
        report = report.with_label(
            Label::new(place(*span, sources)).with_message(harmless(text)).with_color(Color::Blue),
        );
    }
    for note in &diagnostic.notes {
        report = report.with_note(harmless(note));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(harmless(help));
    }
    // Byte offsets must fall on characters: texts that are not UTF-8 are shown with their bytes replaced one for one.
    let texts = sources.files().iter().map(|file| (file.name.clone(), displayable(&file.text)));
    report.finish().write(ariadne::sources(texts), out)
}

/// A text that cannot move a terminal's cursor or change its colours.
pub(crate) fn harmless(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// UTF-8 as it is; any other text with each byte that is not ASCII as `?`, so that offsets stay what they are. The same for
/// control characters; those that would count as ends of lines become blanks.
pub(crate) fn displayable(text: &[u8]) -> String {
    let shown = |b: u8| match b {
        b'\n' | b'\t' => b,
        b'\r' | 0x0b | 0x0c => b' ',
        _ if b.is_ascii_control() => b'?',
        _ => b,
    };
    let bytes: Vec<u8> = text.iter().map(|&b| shown(b)).collect();
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let ascii = |&b: &u8| if b.is_ascii() { b as char } else { '?' };
            error.as_bytes().iter().map(ascii).collect()
        }
    }
}

fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> serde_json::Value {
    let at = |span: Span| {
        let (line, column) = sources.line_column(span.file, span.start);
        let (end_line, end_column) = sources.line_column(span.file, span.end);
        serde_json::json!({
            "file": sources.file(span.file).name, "line": line, "column": column, "end_line": end_line,
            "end_column": end_column, "start": span.start, "end": span.end,
        })
    };
    serde_json::json!({
        "severity": if diagnostic.severity == Severity::Error { "error" } else { "warning" },
        "code": diagnostic.code, "message": diagnostic.message, "at": at(diagnostic.span), "label": diagnostic.label,
        "related": diagnostic.related.iter().map(|(span, text)| serde_json::json!({ "at": at(*span), "text": text })).collect::<Vec<_>>(),
        "notes": diagnostic.notes, "help": diagnostic.help,
    })
}
