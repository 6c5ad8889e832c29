//! What is typed into the REPL, clause by clause: with line editing and history on a terminal, plainly otherwise.

use anyhow::Context as _;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use syntax::lexer::{Scanned, TermScanner};

const PROMPT: &str = "fifth> ";
/// Entries that are remembered.
const HISTORY_MAX: usize = 1000;

/// Source of clauses, queries and commands.
pub(crate) struct Input {
    /// `None`: nobody is typing.
    editor: Option<Editor<Assistant, FileHistory>>,
    history: Option<PathBuf>,
    /// Read and not yet answered.
    rest: String,
}

/// What a text begins with.
enum Entry {
    /// A command's line, or a clause or query up to its full stop: in bytes.
    Whole(usize),
    /// The beginning of one.
    Part,
    /// Nothing but blanks and comments.
    Nothing,
}

impl Entry {
    /// Looks at a text that begins without blanks.
    fn first(text: &str) -> Entry {
        if is_command(text) {
            return text.find('\n').map_or(Entry::Part, |end| Entry::Whole(end + 1));
        }
        if text.lines().all(|line| matches!(line.trim_start().chars().next(), None | Some('%'))) {
            return Entry::Nothing;
        }
        match TermScanner::new().scan(text.as_bytes(), false) {
            Scanned::Term(end) => Entry::Whole(end),
            Scanned::NeedMore | Scanned::EndOfInput => Entry::Part,
        }
    }
}

fn is_command(text: &str) -> bool {
    text.starts_with(':') && !text.starts_with(":-")
}

impl Input {
    /// Standard input.
    pub(crate) fn new() -> anyhow::Result<Input> {
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let editor = if terminal { Some(editor().context("cannot use the terminal")?) } else { None };
        let mut input = Input { editor, history: history_file(), rest: String::new() };
        if let (Some(editor), Some(file)) = (&mut input.editor, &input.history) {
            // The first time there is none, and what cannot be read is only a convenience.
            let _ = editor.load_history(file);
        }
        Ok(input)
    }
    /// Somebody is typing.
    pub(crate) fn is_terminal(&self) -> bool {
        self.editor.is_some()
    }
    /// What Tab completes from now on, in alphabetical order.
    pub(crate) fn offer(&mut self, names: impl FnOnce() -> Vec<String>) {
        if let Some(assistant) = self.editor.as_mut().and_then(|editor| editor.helper_mut()) {
            assistant.names = names();
        }
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
    /// Takes a complete entry off what was read.
    fn take(&mut self) -> Option<String> {
        // Some editors begin a file with a byte order mark; it may have been given as standard input.
        let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
        let blank = self.rest.len() - self.rest.trim_start_matches(is_blank).len();
        self.rest.drain(..blank);
        match Entry::first(&self.rest) {
            Entry::Whole(end) => Some(self.rest.drain(..end).collect()),
            Entry::Part => None,
            Entry::Nothing => {
                self.rest.clear();
                None
            }
        }
    }
    /// More text: a line, or on a terminal all lines of an entry.
    fn line(&mut self) -> anyhow::Result<Option<String>> {
        let Some(editor) = &mut self.editor else {
            let mut line = Vec::new();
            std::io::stdin().lock().read_until(b'\n', &mut line).context("cannot read standard input")?;
            return Ok(if line.is_empty() {
                None
            } else {
                Some(String::from_utf8_lossy(&line).into_owned())
            });
        };
        match editor.readline(PROMPT) {
            Ok(text) => {
                remember(editor, &text, self.history.as_deref());
                Ok(Some(text + "\n"))
            }
            // Ctrl-C: what was typed is abandoned.
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {
                self.rest.clear();
                Ok(Some(String::new()))
            }
            Err(ReadlineError::Eof) => Ok(None),
            Err(error) => Err(error).context("cannot read the terminal"),
        }
    }
}

fn editor() -> rustyline::Result<Editor<Assistant, FileHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY_MAX)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant { names: Vec::new() }));
    Ok(editor)
}

/// Where the history is kept, in the place for such files (XDG).
fn history_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let states = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(states.join("fifth").join("history"))
}

/// Adds an entry to the history. What cannot be stored is remembered until the end of the process.
fn remember(editor: &mut Editor<Assistant, FileHistory>, text: &str, file: Option<&std::path::Path>) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let _ = editor.add_history_entry(text);
    if let Some(file) = file {
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = editor.append_history(file);
    }
}

/// What the line editor asks while somebody types.
struct Assistant {
    names: Vec<String>,
}

impl Helper for Assistant {}
impl Highlighter for Assistant {}
impl Hinter for Assistant {
    type Hint = String;
}

impl Validator for Assistant {
    /// Enter ends the input when no clause in it is incomplete; otherwise it begins a new line.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = format!("{}\n", context.input());
        let mut rest = text.trim_start();
        Ok(loop {
            match Entry::first(rest) {
                Entry::Whole(end) => rest = rest[end..].trim_start(),
                Entry::Part => break ValidationResult::Incomplete,
                Entry::Nothing => break ValidationResult::Valid(None),
            }
        })
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..position];
        let start = before
            .char_indices()
            .rev()
            .take_while(|&(_, c)| c.is_alphanumeric() || c == '_' || c == ':')
            .last()
            .map_or(position, |(at, _)| at);
        let word = &before[start..];
        let fits = self.names.iter().filter(|name| !word.is_empty() && name.starts_with(word));
        Ok((start, fits.cloned().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_where_they_stand() {
        let names = ["append", "integer:add", "integer:sub"].map(String::from).to_vec();
        let assistant = Assistant { names };
        let history = FileHistory::new();
        let complete = |line: &str| {
            let context = Context::new(&history);
            assistant.complete(line, line.len(), &context).expect("it cannot fail")
        };
        assert_eq!(complete("?- ap"), (3, vec!["append".to_string()]));
        assert_eq!(
            complete("p(X):-integer:"),
            (6, vec!["integer:add".to_string(), "integer:sub".to_string()])
        );
        assert_eq!(complete("?- "), (3, vec![]));
    }

    #[test]
    fn an_entry_ends_with_its_full_stop_or_line() {
        let whole = |text| if let Entry::Whole(end) = Entry::first(text) { Some(end) } else { None };
        assert_eq!(whole("p(X) :- q(X).\nmore"), Some(14));
        assert_eq!(whole(":help\n"), Some(6));
        assert_eq!(whole(":- p.\n"), Some(6));
        assert_eq!(whole("p(X) :-\n  q(X)\n"), None);
        assert!(matches!(Entry::first("% nothing\n"), Entry::Nothing));
    }
}
