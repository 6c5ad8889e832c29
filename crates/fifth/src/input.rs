//! What is typed into the REPL, clause by clause: with line editing and history on a terminal, plainly otherwise. It
//! may be any bytes.

use crate::output::{self, complain};
use anyhow::Context as _;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::{BufRead, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use syntax::lexer::{Scanned, TermScanner};

/// What may stand behind a colon.
pub(crate) const COMMANDS: [&str; 11] =
    ["clear", "def", "doc", "explain", "forget", "help", "list", "load", "quit", "time", "trace"];
const PROMPT: &str = "fifth> ";
/// Before the lines of an entry behind its first.
const MORE: &str = "     | ";
/// Entries that are remembered.
const HISTORY_MAX: usize = 1000;

/// Source of clauses, queries and commands.
pub(crate) struct Input {
    from: Source,
    history: Option<PathBuf>,
    /// Read and not yet answered.
    rest: Vec<u8>,
    /// A word alone on its line, which may be the beginning of a clause all the same.
    word: Option<Vec<u8>>,
}

/// Where lines come from.
enum Source {
    /// Somebody types, and edits.
    Editor(Box<Editor<Assistant, FileHistory>>),
    /// Somebody types what the editor cannot read: bytes that are no UTF-8.
    Terminal,
    /// Nobody types.
    Pipe,
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
    fn first(text: &[u8]) -> Entry {
        if is_command(text) {
            return text
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(Entry::Part, |end| Entry::Whole(end + 1));
        }
        let is_nothing = |line: &[u8]| matches!(line.trim_ascii_start().first(), None | Some(b'%'));
        if text.split(|&byte| byte == b'\n').all(is_nothing) {
            return Entry::Nothing;
        }
        match TermScanner::new().scan(text, false) {
            Scanned::Term(end) => Entry::Whole(end),
            Scanned::NeedMore | Scanned::EndOfInput => Entry::Part,
        }
    }
}

fn is_command(text: &[u8]) -> bool {
    text.starts_with(b":") && !text.starts_with(b":-")
}

/// Whether a line begins an entry, whatever is before it: no clause goes on so.
fn begins_anew(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let word = || line[1..].split(|byte| !byte.is_ascii_lowercase()).next().unwrap_or_default();
    line.starts_with(b"?-") || is_command(line) && COMMANDS.iter().any(|command| command.as_bytes() == word())
}

/// Whether a line goes on with the clause of a word that stands alone before it.
fn goes_on(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [&b":-"[..], b"-->", b"|", b".", b"("].iter().any(|begin| line.starts_with(begin))
}

/// What to write in place of a word that means nothing by itself.
pub(crate) fn hint(word: &str) -> String {
    match word {
        "q" | "quit" | "exit" | "halt" | "bye" => "`:quit` leaves (so does Ctrl-D)".into(),
        "h" | "help" => "`:help` explains".into(),
        _ if COMMANDS.contains(&word) => format!("the command is `:{word}`; `:help` explains"),
        _ => format!("`{word} :- ..` defines it, `:load FILE` adds those of a file, and `:help` explains"),
    }
}

/// What is said of a word without a point.
fn word_hint(word: &str) -> String {
    let meant = COMMANDS.contains(&word) || ["q", "h", "exit", "halt", "bye"].contains(&word);
    match meant {
        true => format!("hint: {}; what is no command ends with a point", hint(word)),
        false => format!("hint: goals and clauses end with a point: `{word}.`; `:help` explains"),
    }
}

impl Input {
    /// Standard input.
    pub(crate) fn new() -> anyhow::Result<Input> {
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let from = match terminal {
            true if is_other_encoding(|name| std::env::var(name).ok()) => Source::Terminal,
            true => Source::Editor(Box::new(editor().context("cannot use the terminal")?)),
            false => Source::Pipe,
        };
        let history = if matches!(from, Source::Editor(_)) { history_file() } else { None };
        let mut input = Input { from, history, rest: Vec::new(), word: None };
        if let (Source::Editor(editor), Some(file)) = (&mut input.from, &input.history) {
            // The first time there is none, and what cannot be read is only a convenience.
            let _ = editor.load_history(file);
        }
        Ok(input)
    }
    /// Somebody is typing.
    pub(crate) fn is_terminal(&self) -> bool {
        !matches!(self.from, Source::Pipe)
    }
    /// What Tab completes from now on, in alphabetical order.
    pub(crate) fn offer(&mut self, names: impl FnOnce() -> Vec<String>) {
        if let Source::Editor(editor) = &mut self.from
            && let Some(assistant) = editor.helper_mut()
        {
            assistant.names = names();
        }
    }
    /// The next clause, query or command; `None` at the end of the input.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            if let Some(entry) = self.take() {
                self.remember(&entry);
                return Ok(Some(entry));
            }
            let Some(line) = self.line()? else {
                self.tell_word();
                let last = std::mem::take(&mut self.rest);
                return Ok(Some(last).filter(|last| !last.trim_ascii().is_empty()));
            };
            self.add(&line);
        }
    }
    /// Puts a line to what was read.
    fn add(&mut self, line: &[u8]) {
        if self.word.is_some() && line.trim_ascii().is_empty() {
            return;
        }
        if goes_on(line)
            && let Some(word) = self.word.take()
        {
            self.rest = word;
        } else {
            self.tell_word();
        }
        if begins_anew(line) && !self.rest.trim_ascii().is_empty() {
            let left = String::from_utf8_lossy(self.rest.trim_ascii()).into_owned();
            complain(&format!(
                "note: this has no point at its end, and is left out: {}",
                engine::shown::harmless(&left)
            ));
            self.rest.clear();
        }
        self.rest.extend(line);
        let text = self.rest.trim_ascii();
        let is_word = text.first().is_some_and(u8::is_ascii_lowercase)
            && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if is_word {
            self.word = Some(std::mem::take(&mut self.rest));
            // A pipe may go on with it.
            if self.is_terminal() {
                let word = self.word.as_deref().unwrap_or_default();
                complain(&word_hint(&String::from_utf8_lossy(word.trim_ascii())));
            }
        }
    }
    /// Nothing goes on with the word that stood alone: says so, unless it was said.
    fn tell_word(&mut self) {
        let said = self.is_terminal();
        if let Some(word) = self.word.take().filter(|_| !said) {
            complain(&word_hint(&String::from_utf8_lossy(word.trim_ascii())));
        }
    }
    /// Takes a complete entry off what was read.
    fn take(&mut self) -> Option<Vec<u8>> {
        // Some editors begin a file with a byte order mark; it may have been given as standard input.
        let mark = "\u{feff}".as_bytes();
        loop {
            let blank = self.rest.len() - self.rest.trim_ascii_start().len();
            self.rest.drain(..blank);
            if !self.rest.starts_with(mark) {
                break;
            }
            self.rest.drain(..mark.len());
        }
        match Entry::first(&self.rest) {
            Entry::Whole(end) => Some(self.rest.drain(..end).collect()),
            Entry::Part => None,
            Entry::Nothing => {
                self.rest.clear();
                None
            }
        }
    }
    /// More text: a line.
    fn line(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let prompt = if self.rest.is_empty() { PROMPT } else { MORE };
        let Source::Editor(editor) = &mut self.from else {
            if self.is_terminal() {
                output::write(prompt)?;
            }
            let mut line = Vec::new();
            std::io::stdin().lock().read_until(b'\n', &mut line).context("cannot read standard input")?;
            return Ok(if line.is_empty() { None } else { Some(line) });
        };
        match editor.readline(prompt) {
            Ok(text) => Ok(Some((text + "\n").into_bytes())),
            // Ctrl-C: what was typed is abandoned.
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => {
                (self.rest, self.word) = (Vec::new(), None);
                Ok(Some(Vec::new()))
            }
            Err(ReadlineError::Eof) => Ok(None),
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                complain(
                    "note: this terminal sends bytes that are no UTF-8. From here on lines are read as they are, without \
                     editing; type this one again",
                );
                (self.rest, self.from) = (Vec::new(), Source::Terminal);
                Ok(Some(Vec::new()))
            }
            Err(error) => Err(error).context("cannot read the terminal"),
        }
    }
    /// Adds an entry to the history. What cannot be stored is remembered until the end of the process.
    fn remember(&mut self, entry: &[u8]) {
        let Source::Editor(editor) = &mut self.from else { return };
        // The editor has nothing else.
        let Ok(text) = std::str::from_utf8(entry.trim_ascii_end()) else { return };
        let _ = editor.add_history_entry(text);
        if let Some(file) = self.history.as_deref().filter(|file| file.parent().is_some_and(Path::is_dir)) {
            let _ = editor.append_history(file);
        }
    }
}

/// Whether the environment says that the terminal has an encoding other than UTF-8, which the editor cannot read.
fn is_other_encoding(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| variable(name).filter(|v| !v.is_empty()));
    let encoding = set.as_deref().and_then(|set| set.split('@').next()?.split_once('.'));
    encoding.is_some_and(|(_, encoding)| !["utf8", "utf-8"].contains(&encoding.to_ascii_lowercase().as_str()))
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

/// Where the history is kept, in the place for such files (XDG), whose folder is made. `None`: it is not kept, because
/// there is no home.
fn history_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    history_in(set("XDG_STATE_HOME").as_deref(), set("HOME").as_deref())
}

/// The same, with these folders. A home that is not there is not made, nor what would be in it.
fn history_in(states: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let home = home.filter(|home| home.is_dir());
    let states = match states {
        None => home?.join(".local/state"),
        Some(states) => {
            let is_at_home = home.is_some_and(|home| states.starts_with(home));
            let is_there = states.is_dir() || states.parent().is_some_and(Path::is_dir);
            Some(states).filter(|_| is_at_home || is_there)?.to_path_buf()
        }
    };
    let folder = states.join("fifth");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
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

impl Validator for Assistant {}

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
        let whole = |text: &str| match Entry::first(text.as_bytes()) {
            Entry::Whole(end) => Some(end),
            _ => None,
        };
        assert_eq!(whole("p(X) :- q(X).\nmore"), Some(14));
        assert_eq!(whole(":help\n"), Some(6));
        assert_eq!(whole(":- p.\n"), Some(6));
        assert_eq!(whole("p(X) :-\n  q(X)\n"), None);
        assert!(matches!(Entry::first(b"% nothing\n"), Entry::Nothing));
    }

    fn input() -> Input {
        Input { from: Source::Pipe, history: None, rest: Vec::new(), word: None }
    }

    #[test]
    fn a_word_alone_is_the_beginning_of_what_goes_on_with_it() {
        let mut input = input();
        let mut entries = |lines: &[&str]| -> Vec<String> {
            let mut entries = Vec::new();
            for line in lines {
                input.add(line.as_bytes());
                entries.extend(
                    std::iter::from_fn(|| input.take()).map(|e| String::from_utf8_lossy(&e).into_owned()),
                );
            }
            entries
        };
        assert_eq!(entries(&["main\n", "  :- true |\n", "p.\n"]), ["main\n  :- true |\np.\n"]);
        assert_eq!(entries(&["quit\n", "p.\n", "help\n", "?- q.\n"]), ["p.\n", "?- q.\n"]);
        assert_eq!(entries(&["p(X) :-\n", ":list\n", "p(X,\n", "?- q.\n"]), [":list\n", "?- q.\n"]);
        assert_eq!(entries(&["p :- m\n", ":q(X).\n"]), ["p :- m\n:q(X).\n"]);
    }

    #[test]
    fn bytes_are_what_they_were() {
        let mut input = input();
        input.add("\u{feff}".as_bytes());
        input.add(b" p('\xe9\xff').\n");
        assert_eq!(input.take().as_deref(), Some(&b"p('\xe9\xff').\n"[..]));
    }

    #[test]
    fn a_home_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        let states = home.join("states");
        assert_eq!(history_in(None, Some(&home)), None);
        assert_eq!(history_in(Some(&states), Some(&home)), None);
        assert_eq!(history_in(Some(&states), None), None);
        assert!(!home.exists() && history_in(None, None).is_none());
        std::fs::create_dir(&home).expect("a home");
        assert_eq!(history_in(None, Some(&home)), Some(home.join(".local/state/fifth/history")));
        let deep = states.join("a/b");
        assert_eq!(history_in(Some(&deep), Some(&home)), Some(deep.join("fifth/history")));
        assert_eq!(history_in(Some(&states), None), Some(states.join("fifth/history")));
        assert!(deep.join("fifth").is_dir());
    }

    #[test]
    fn the_environment_says_whether_a_terminal_has_another_encoding() {
        let of = |all: &str, lang: &str| {
            is_other_encoding(|name| match name {
                "LC_ALL" => Some(all.into()),
                "LANG" => Some(lang.into()),
                _ => None,
            })
        };
        assert!(
            of("", "ja_JP.eucJP") && of("de_DE.ISO-8859-1@euro", "C.UTF-8") && of("", "de_DE.ISO8859-15")
        );
        assert!(!of("", "") && !of("", "C") && !of("en_US.UTF-8", "ja_JP.eucJP") && !of("C.utf8", ""));
    }
}
