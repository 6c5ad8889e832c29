//! Documentation comments (`%% ..`): what stands above a module or a predicate.
//!
//! The first sentence says what it is; behind an empty line more may follow, in Markdown. Above a predicate the first
//! line may name its arguments: `%% put(+K,+V,+M,-M1)`, where `+` is read and `-` is bound. A comment with such a line
//! that stands alone, an empty line behind it, is about the predicate that it names: one without clauses, if the module
//! is partly native.

use crate::diagnostic::Diagnostic;
use crate::operators::OpTable;
use crate::pieces::{Piece, PieceKind, pieces};
use crate::program::{Module, Predicate};
use crate::source::{FileId, SourceMap, Span};
use crate::tree::NodeKind;
use term::AtomTable;

/// The documentation of a module and its predicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documented {
    /// Its name.
    pub module: String,
    /// What its comment says.
    pub about: String,
    /// Predicates that have a comment, in the order of the text.
    pub predicates: Vec<Entry>,
}

/// The documentation of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Number of arguments.
    pub arity: usize,
    /// Its arguments as the comment names them: `put(+K,+V,+M,-M1)`; else `put/4`.
    pub signature: String,
    /// The rest of the comment.
    pub about: String,
    /// Line of the predicate, or of the comment if it has no clause; from 1.
    pub line: u32,
    /// It has a clause.
    pub defined: bool,
}

/// A comment of several lines, and the token behind it.
struct Comment {
    /// Without `%%` and the blank behind it.
    lines: Vec<String>,
    span: Span,
    /// First byte of the token that follows.
    before: u32,
}

/// The documentation of a file, and what is wrong with it.
pub fn documentation(
    sources: &SourceMap,
    file: FileId,
    atoms: &AtomTable,
) -> (Vec<Documented>, Vec<Diagnostic>) {
    let text = &sources.file(file).text;
    let pieces = pieces(text, atoms);
    let (program, _) = crate::read_program(sources, &[file], atoms);
    let comments = comments(text, file, &pieces);
    let (mut found, mut wrong) = (vec![], vec![]);
    for (index, module) in program.modules.iter().enumerate() {
        let mut one = Documented { module: atoms.name(module.name).into_owned(), ..Documented::default() };
        // A module is declared behind the `:-` at which its clause begins.
        let neck = pieces
            .iter()
            .rev()
            .find(|piece| piece.end <= module.span.start && matches!(&piece.kind, PieceKind::Token(_)));
        let about = neck.and_then(|neck| comments.iter().find(|comment| comment.before == neck.start));
        one.about = about.map(|comment| comment.lines.join("\n").trim().to_string()).unwrap_or_default();
        let end = program.modules.get(index + 1).map_or(u32::MAX, |next| next.span.start);
        for comment in comments.iter().filter(|one| (module.span.start..end).contains(&one.span.start)) {
            let mut predicates = module.predicates.iter().filter(|predicate| !predicate.auxiliary);
            let entry = match predicates.find(|predicate| predicate.span.start == comment.before) {
                Some(predicate) => {
                    let line = sources.line(file, predicate.span.start);
                    Some(entry(module, predicate, comment, line, atoms, &mut wrong))
                }
                None => alone(module, comment, sources, atoms),
            };
            one.predicates.extend(entry);
        }
        found.push(one);
    }
    (found, wrong)
}

/// Comments whose lines follow each other.
fn comments(text: &[u8], file: FileId, pieces: &[Piece]) -> Vec<Comment> {
    let mut comments: Vec<Comment> = vec![];
    let mut goes_on = false;
    for piece in pieces {
        match &piece.kind {
            PieceKind::DocComment => {
                let line = &text[piece.start as usize + 2..piece.end as usize];
                let line =
                    String::from_utf8_lossy(line.strip_prefix(b" ").unwrap_or(line)).trim_end().to_string();
                match comments.last_mut().filter(|_| goes_on) {
                    Some(comment) => {
                        comment.lines.push(line);
                        comment.span.end = piece.end;
                    }
                    None => comments.push(Comment {
                        lines: vec![line],
                        span: Span { file, start: piece.start, end: piece.end },
                        before: u32::MAX,
                    }),
                }
                goes_on = true;
            }
            PieceKind::Layout(lines) => goes_on &= *lines < 2,
            PieceKind::LineComment | PieceKind::BlockComment => goes_on = false,
            PieceKind::Token(_) => {
                goes_on = false;
                let last = comments.last_mut().filter(|comment| comment.before == u32::MAX);
                last.into_iter().for_each(|comment| comment.before = piece.start);
            }
        }
    }
    comments
}

fn entry(
    module: &Module,
    predicate: &Predicate,
    comment: &Comment,
    line: u32,
    atoms: &AtomTable,
    wrong: &mut Vec<Diagnostic>,
) -> Entry {
    let name = atoms.name(predicate.name).into_owned();
    let mut entry = Entry {
        signature: format!("{name}/{}", predicate.arity),
        arity: predicate.arity,
        about: comment.lines.join("\n").trim().to_string(),
        line,
        defined: true,
        name,
    };
    let first = comment.lines.first().map_or("", |line| line.trim());
    let Some((found, arity)) = signature(first, atoms) else { return entry };
    if (found.as_str(), arity) != (entry.name.as_str(), entry.arity) {
        let own = format!("{}:{}", atoms.name(module.name), entry.signature);
        let message = format!("the comment above {own} is about {found}/{arity}");
        let warning = Diagnostic::warning("other-documentation", comment.span, message)
            .label("its first line names another predicate")
            .related(predicate.span, "the predicate")
            .help("name the predicate's own arguments, each with `+` (it is read) or `-` (it is bound)");
        wrong.push(warning);
        return entry;
    }
    entry.signature = first.to_string();
    entry.about = comment.lines[1..].join("\n").trim().to_string();
    entry
}

/// Of a comment that stands above no predicate.
fn alone(module: &Module, comment: &Comment, sources: &SourceMap, atoms: &AtomTable) -> Option<Entry> {
    let first = comment.lines.first()?.trim();
    let (name, arity) = signature(first, atoms)?;
    let is_named = |one: &&Predicate| one.arity == arity && atoms.name(one.name) == name.as_str();
    let predicate = module.predicates.iter().filter(|predicate| !predicate.auxiliary).find(is_named);
    let place = predicate.map_or(comment.span, |predicate| predicate.span);
    Some(Entry {
        name,
        arity,
        signature: first.to_string(),
        about: comment.lines[1..].join("\n").trim().to_string(),
        line: sources.line(place.file, place.start),
        defined: predicate.is_some(),
    })
}

/// The name and the number of arguments that a line like `put(+K,-M)` has.
fn signature(line: &str, atoms: &AtomTable) -> Option<(String, usize)> {
    let ops = OpTable::source_table(atoms);
    let tree = crate::parse_term(format!("{line} .").as_bytes(), &ops, atoms).ok()??;
    let NodeKind::Struct(name, range) = tree.node(tree.root()).kind else { return None };
    let arguments = tree.children(range);
    let is_mode = |name: &[u8]| matches!(name, b"+" | b"-");
    let has_mode = arguments.iter().all(|&argument| match tree.node(argument).kind {
        NodeKind::Struct(mode, inner) => is_mode(atoms.text(mode)) && tree.children(inner).len() == 1,
        _ => false,
    });
    has_mode.then(|| (atoms.name(name).into_owned(), arguments.len()))
}

/// All of it as Markdown: a heading for each module, and one for each predicate.
pub fn markdown(documented: &[Documented]) -> String {
    let mut text = String::new();
    for module in documented {
        text += &format!("# {}\n\n", module.module);
        if !module.about.is_empty() {
            text += &format!("{}\n\n", module.about);
        }
        for entry in &module.predicates {
            text += &format!("## `{}`\n\n{}\n\n", entry.signature, entry.about);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The predicates of a module as a table in Markdown, each with the first paragraph about it.
pub fn table(module: &Documented) -> String {
    let mut text = String::from("| predicate | meaning |\n|---|---|\n");
    for entry in &module.predicates {
        let first = entry.about.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let [signature, first] = [entry.signature.as_str(), &first].map(|cell| cell.replace('|', "\\|"));
        text += &format!("| `{}:{signature}` | {first} |\n", module.module);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Documented>, Vec<Diagnostic>) {
        let mut sources = SourceMap::default();
        let file = sources.add("m.kl1".into(), text.as_bytes().to_vec());
        documentation(&sources, file, &AtomTable::new())
    }

    const TEXT: &str = "\
%!/usr/bin/env -S fifth run
%% About m.
%%
%% More of *it*.

:- module m.

%% put(+K,+V,-M)
%% Puts.
put(K,V,M) :- M = K-V.
%% Not above the first clause.
put(_,_,_).

%% Above nothing.

% a comment
%% Gets.
%%     ?- get(1).
get(_).

%% other(+A)
%% Is wrong.
last(_,_).
none.
";

    #[test]
    fn comments_belong_to_what_follows() {
        let (found, wrong) = read(TEXT);
        let expected = "\
# m

About m.

More of *it*.

## `put(+K,+V,-M)`

Puts.

## `get/1`

Gets.
    ?- get(1).

## `last/2`

other(+A)
Is wrong.
";
        assert_eq!(markdown(&found), expected);
        let codes: Vec<_> = wrong.iter().map(|d| (d.code, d.message.as_str())).collect();
        assert_eq!(codes, [("other-documentation", "the comment above m:last/2 is about other/1")]);
        assert_eq!(found[0].predicates[1].line, 19);
    }

    #[test]
    fn a_comment_that_stands_alone_is_about_what_it_names() {
        let (found, wrong) = read(
            ":- module m.\n\n%% native(+A)\n%% Is native.\n\n%% Nothing.\n\n%% later(+A,-B)\n%% B is\n%% [A|_].\n%%\n\
             %% More.\n\n%% now(+A)\n%% Waits.\nnow(_).\nlater(_,_).\n:- module n.\n%% one(-A)\n\n",
        );
        assert_eq!(wrong, []);
        let entries = found[0].predicates.iter();
        let told: Vec<_> = entries.map(|one| (&one.signature[..], one.line, one.defined)).collect();
        assert_eq!(told, [("native(+A)", 3, false), ("later(+A,-B)", 17, true), ("now(+A)", 16, true)]);
        let expected = "| predicate | meaning |\n|---|---|\n| `m:native(+A)` | Is native. |\n\
                        | `m:later(+A,-B)` | B is [A\\|_]. |\n| `m:now(+A)` | Waits. |\n";
        assert_eq!(table(&found[0]), expected);
        assert_eq!(found[1].predicates.len(), 1);
    }

    #[test]
    fn a_text_without_comments_has_no_documentation() {
        assert_eq!(read("").0, vec![]);
        let (found, wrong) = read(":- module a.\np.\n:- module b.\n%% last");
        assert!(wrong.is_empty() && found.len() == 2 && found.iter().all(|m| m.predicates.is_empty()));
    }
}
