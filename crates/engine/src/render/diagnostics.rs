//! Diagnostics for people and for editors.

use super::excerpt::Excerpts;
use crate::error::Error;
use crate::shown::harmless;
use ariadne::{Color, Config, Label, Report, ReportKind};
use std::io::Write;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::source::{SourceMap, Span};

/// Whether one of them is an error.
pub fn has_errors(list: &[Diagnostic]) -> bool {
    list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Diagnostics in the order of the text, each once.
pub fn ordered(list: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut list: Vec<&Diagnostic> = list.iter().collect();
    list.sort_by_key(|d| (d.span.file, d.span.start, std::cmp::Reverse(d.severity)));
    list.dedup();
    list
}

/// For people: each with the text that it is about and marks, in the order of the text, and a closing count.
pub fn for_people(list: &[Diagnostic], sources: &SourceMap, colored: bool) -> String {
    let list = ordered(list);
    let (mut text, mut excerpts) = (Vec::new(), Excerpts::new(sources));
    for diagnostic in &list {
        human(diagnostic, &mut excerpts, colored, &mut text).expect("a vector takes what is written");
    }
    let errors = list.iter().filter(|d| d.severity == Severity::Error).count();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if !list.is_empty() {
        text += &count(errors, list.len() - errors);
        text.push('\n');
    }
    text
}

/// For editors: a JSON object a line, in the order of the text.
pub fn as_json(list: &[Diagnostic], sources: &SourceMap) -> String {
    ordered(list).into_iter().map(|diagnostic| format!("{}\n", json_line(diagnostic, sources))).collect()
}

fn count(errors: usize, warnings: usize) -> String {
    let one = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, w) => one(w, "warning"),
        (e, 0) => one(e, "error"),
        (e, w) => format!("{}, {}", one(e, "error"), one(w, "warning")),
    }
}

fn human(
    diagnostic: &Diagnostic,
    excerpts: &mut Excerpts,
    colored: bool,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (kind, color) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
    };
    let label = if diagnostic.label.is_empty() { "here" } else { &diagnostic.label };
    let spans: Vec<Span> =
        std::iter::once(diagnostic.span).chain(diagnostic.related.iter().map(|(span, _)| *span)).collect();
    let marked = excerpts.marking(&spans);
    let mark = |span, text, color| Label::new(marked.place(span)).with_message(shown(text)).with_color(color);
    let mut report = Report::build(kind, marked.place(diagnostic.span))
        .with_config(Config::default().with_color(colored))
        .with_code(diagnostic.code)
        .with_message(shown(&diagnostic.message))
        .with_label(mark(diagnostic.span, label, color));
    for (span, text) in &diagnostic.related {
        report = report.with_label(mark(*span, text, Color::Blue));
    }
    for note in &diagnostic.notes {
        report = report.with_note(shown(note));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(shown(help));
    }
    let mut text = Vec::new();
    report.finish().write(&marked, &mut text)?;
    out.write_all(marked.named(&String::from_utf8_lossy(&text)).as_bytes())
}

/// Bytes of a sentence that are shown at most: it may quote a long name.
const SENTENCE_BYTES_MAX: usize = 1000;

/// A sentence as it is shown.
fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(SENTENCE_BYTES_MAX);
    harmless(&text[..end]) + if end < text.len() { ".." } else { "" }
}

fn json_line(diagnostic: &Diagnostic, sources: &SourceMap) -> serde_json::Value {
    let at = |span: Span| {
        let (line, column) = sources.line_column(span.file, span.start);
        let (end_line, end_column) = sources.line_column(span.file, span.end);
        serde_json::json!({
            "file": sources.file(span.file).name, "line": line, "column": column, "end_line": end_line,
            "end_column": end_column, "start": span.start, "end": span.end,
        })
    };
    let related = diagnostic.related.iter();
    let related: Vec<_> =
        related.map(|(span, text)| serde_json::json!({ "at": at(*span), "text": text })).collect();
    let fix = diagnostic.fix.as_ref().map(|fix| {
        let edits = fix.edits.iter().map(|(span, text)| serde_json::json!({ "at": at(*span), "text": text }));
        serde_json::json!({ "title": fix.title, "edits": edits.collect::<Vec<_>>() })
    });
    serde_json::json!({
        "severity": if diagnostic.severity == Severity::Error { "error" } else { "warning" },
        "code": diagnostic.code, "message": diagnostic.message, "at": at(diagnostic.span), "label": diagnostic.label,
        "related": related,
        "notes": diagnostic.notes, "help": diagnostic.help, "fix": fix,
    })
}

/// What keeps a command from its work and is in no program text, as such an object. The place of a file that cannot be
/// read is its beginning.
pub fn error_as_json(error: Option<&Error>, message: &str) -> String {
    let (code, at) = match error {
        Some(Error::Unreadable(unreadable)) => {
            let file = unreadable.path.to_string_lossy();
            let at = serde_json::json!({
                "file": file, "line": 1, "column": 1, "end_line": 1, "end_column": 1, "start": 0, "end": 0,
            });
            ("unreadable-file", at)
        }
        _ => ("command-failed", serde_json::Value::Null),
    };
    let line = serde_json::json!({
        "severity": "error", "code": code, "message": message, "at": at, "label": "",
        "related": [], "notes": [], "help": null, "fix": null,
    });
    line.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use syntax::source::FileId;

    /// As it is shown without colours.
    fn shown_all(text: &[u8]) -> String {
        let mut sources = SourceMap::default();
        let file = sources.add("名前.kl1".to_string(), text.to_vec());
        let atoms = term::AtomTable::new();
        let (_, diagnostics) = syntax::read_program(&sources, &[file], &atoms);
        let mut out = Vec::new();
        for diagnostic in &diagnostics {
            human(diagnostic, &mut Excerpts::new(&sources), false, &mut out).expect("a vector takes it");
        }
        String::from_utf8(out).expect("what is shown is UTF-8")
    }

    #[test]
    fn names_of_several_bytes_are_marked_whole() {
        let shown = shown_all("é(".as_bytes());
        assert!(shown.contains("名前.kl1:1:3") && shown.contains("1 │ é("), "{shown}");
        assert!(shown_all("main :- 素数(X, \n".as_bytes()).contains("inside what opens here"));
        // Separators of lines that are none in KL1, and controls beyond ASCII.
        let shown = shown_all("p :- 'a\u{2028}b\u{9b}', q(\n\n p".as_bytes());
        assert!(shown.contains("1 │ p :- 'a???b??', q("), "{shown}");
    }

    #[test]
    fn of_long_lines_the_surroundings_of_what_is_marked_are_shown() {
        let text = format!("\np :- é(1{}, )", ",é".repeat(1_000_000));
        let shown = shown_all(text.as_bytes());
        assert!(shown.len() < 4000 && shown.contains("名前.kl1:2:2000011"), "{shown}");
        assert!(shown.contains("inside what opens here") && shown.contains("2 │ p :- é(1,é"), "{shown}");
        assert!(shown_all("(".repeat(1_000_000).as_bytes()).len() < 2000);
        // Each place that matters in its own line; a place that goes over lines.
        let mut sources = SourceMap::default();
        let long = "あ".repeat(1000);
        let file = sources.add("f".to_string(), format!("{long}\n{long}x{long}\nend").into_bytes());
        let span = |start, end| Span { file, start, end };
        let diagnostic = Diagnostic::error("syntax-error", span(6001, 6002), "m").related(span(0, 9004), "r");
        let mut out = Vec::new();
        human(&diagnostic, &mut Excerpts::new(&sources), false, &mut out).expect("a vector takes it");
        let out = String::from_utf8_lossy(&out);
        assert!(out.contains("f:2:1001") && out.contains("1 │ ") && out.contains("2 │ "), "{out}");
    }

    const PIECES: &[&str] = &[
        "素数",
        "é",
        "変数X",
        "Ω_1",
        "p",
        "X",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "|",
        ".\n",
        ":-",
        "=",
        "\"文字列\"",
        "'引用'",
        "\"",
        "'",
        "0'あ",
        "1",
        "/*",
        "%",
        "\r",
        "\u{2028}",
        "\u{85}",
        "\u{feff}",
        "\t",
        "\n",
        " ",
        "é(",
        "素数(",
        "ー",
        "、",
        "\\x",
        ":- module 主.\n",
        "+",
        "-",
        "@",
        "#",
        "~",
        "`",
        ":",
        "\u{10ffff}",
        "𝕏",
    ];

    proptest! {
        #[test]
        fn any_diagnostic_of_any_characters_can_be_shown(pieces in proptest::collection::vec(0..PIECES.len(), 0..60)) {
            shown_all(pieces.iter().map(|&n| PIECES[n]).collect::<String>().as_bytes());
        }

        #[test]
        fn any_place_can_be_marked(
            text in "[aあé\n\u{2028}]{0,600}", places in proptest::collection::vec((0u32..2000, 0u32..2000), 1..4)
        ) {
            let mut sources = SourceMap::default();
            let one = sources.add("one".to_string(), text.clone().into_bytes());
            sources.add("two".to_string(), text.into_bytes());
            let spans: Vec<Span> = places
                .iter()
                .map(|&(a, b)| Span { file: FileId(one.0 + a % 2), start: a.min(b), end: a.max(b) })
                .collect();
            let first = Diagnostic::warning("syntax-error", spans[0], "message");
            let diagnostic = spans.iter().fold(first, |diagnostic, &span| diagnostic.related(span, "text"));
            human(&diagnostic, &mut Excerpts::new(&sources), true, &mut Vec::new()).expect("a vector takes it");
        }
    }
}
