//! Diagnostics as data. Only `fifth` prints them.

use crate::source::Span;

/// All codes. docs/diagnostics.md describes each of them.
pub const CODES: &[&str] = &[
    "almost-message",
    "assigned-to-itself",
    "clause-never-commits",
    "clause-too-large",
    "clauses-not-together",
    "command-failed",
    "duplicate-module",
    "float-as-integer",
    "float-in-guard",
    "illegal-conditional",
    "illegal-daemon",
    "illegal-escape",
    "illegal-goal",
    "illegal-guard",
    "illegal-head",
    "illegal-literal",
    "illegal-module",
    "illegal-number",
    "illegal-pair",
    "illegal-pragma",
    "illegal-update",
    "illegal-with",
    "implicit-arguments",
    "inline-c",
    "integer-as-float",
    "mod-binds-tighter",
    "module-missing",
    "nesting-too-deep",
    "no-main",
    "operator-priority",
    "other-documentation",
    "pragma-on-method",
    "reserved-name",
    "same-priority",
    "send-in-guard",
    "shadowed-clause",
    "shallow-difference",
    "shift-binds-tighter",
    "singleton-variable",
    "state-variable-in-conditional",
    "structure-in-guard",
    "syntax-error",
    "term-for-number",
    "text-too-large",
    "too-many-alternatives",
    "too-many-arguments",
    "trailing-separator",
    "unclosed-comment",
    "unclosed-quote",
    "undefined-daemon",
    "undefined-module",
    "undefined-predicate",
    "unknown-directive",
    "unknown-escape",
    "unknown-expression",
    "unknown-guard",
    "unreadable-file",
    "unsupported-directive",
    "unsupported-macro",
    "unused-predicate",
    "wrong-arity",
    "wrong-template",
];

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program can run.
    Warning,
    /// The program cannot run.
    Error,
}

/// A change of the text that does what a [`Diagnostic::help`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in a few words.
    pub title: String,
    /// Places that do not overlap, and what stands there afterwards.
    pub edits: Vec<(Span, String)>,
}

/// One message about a program text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// A short stable name, in kebab case: `undefined-predicate`.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to say under the marked text.
    pub label: String,
    /// Other places that matter.
    pub related: Vec<(Span, String)>,
    /// Explanation, one sentence each.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// The same as a change of the text, where one is likely to be meant.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message.into())
    }
    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message.into())
    }
    fn new(severity: Severity, code: &'static str, span: Span, message: String) -> Self {
        debug_assert!(CODES.contains(&code), "{code} is not among the codes");
        Diagnostic {
            severity,
            code,
            message,
            span,
            label: String::new(),
            related: vec![],
            notes: vec![],
            help: None,
            fix: None,
        }
    }
    /// With a text under the marked place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    /// With another place.
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }
    /// With an explanation.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
    /// With advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// With the change that the advice asks for.
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<(Span, String)>) -> Self {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }
}
