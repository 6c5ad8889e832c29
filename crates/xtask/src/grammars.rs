//! `cargo xtask grammars`: what editors need to know of KL1's operators, made from the table of `syntax`: the table of
//! the tree-sitter grammar, with the parser that is made of it, and the TextMate grammar.

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use syntax::operators::{OpType, source_operators};

/// The tree-sitter grammar's folder.
const TREE_SITTER: &str = "editors/tree-sitter-kl1";
/// Its table.
const OPERATORS: &str = "editors/tree-sitter-kl1/operators.js";
/// The TextMate grammar.
const TEXTMATE: &str = "editors/vscode/syntaxes/kl1.tmLanguage.json";
/// What the parser is made for: old editors read it, too (Neovim from 0.6).
const ABI: &str = "14";

/// Writes the files, and makes the parser if the command for that is there.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    for (name, text) in files() {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(&path, text).with_context(|| name.to_string())?;
        println!("grammars: {name}");
    }
    let mut generate = Command::new("tree-sitter");
    generate.args(["generate", "--abi", ABI]).current_dir(root.join(TREE_SITTER));
    match generate.status() {
        Ok(status) if status.success() => println!("grammars: {TREE_SITTER}/src/parser.c"),
        Ok(status) => bail!("tree-sitter generate: {status}"),
        Err(error) => {
            bail!("the parser is as it was: tree-sitter: {error} (`cargo install tree-sitter-cli`)")
        }
    }
    Ok(())
}

/// The files that are made here, and what they hold.
fn files() -> [(&'static str, String); 2] {
    let textmate = serde_json::to_string_pretty(&textmate()).expect("JSON can be written");
    [(OPERATORS, table()), (TEXTMATE, textmate + "\n")]
}

/// Operators that share kind and priority, in the order of the table.
fn lines() -> Vec<(OpType, u16, Vec<&'static str>)> {
    let mut lines: Vec<(OpType, u16, Vec<&str>)> = Vec::new();
    for (kind, priority, name) in source_operators() {
        match lines.iter_mut().find(|(k, p, _)| (*k, *p) == (kind, priority)) {
            Some((.., names)) => names.push(name),
            None => lines.push((kind, priority, vec![name])),
        }
    }
    lines
}

fn table() -> String {
    let mut text = String::from(
        "// Made by `cargo xtask grammars` from the operators of crates/syntax: kind, priority, names.\nmodule.exports = [\n",
    );
    for (kind, priority, names) in lines() {
        text += &format!("  {},\n", json!([kind.name(), priority, names]));
    }
    text + "];\n"
}

const SYMBOLS: &str = r"#$&*+\-./:<=>?@\\^`~";

/// A pattern of one line.
fn pattern(scope: &str, regex: &str) -> Value {
    json!({ "name": format!("{scope}.kl1"), "match": regex })
}

/// A text between quotes, which are doubled inside.
fn quoted(scope: &str, quote: char) -> Value {
    json!({
        "name": format!("{scope}.kl1"), "begin": quote.to_string(), "end": format!("{quote}(?!{quote})"),
        "patterns": [pattern("constant.character.escape", &format!(r"\\(?:x[0-9A-Fa-f]+|[0-7]{{1,3}}|.)|{quote}{quote}"))],
    })
}

/// Captures of a pattern, from the first on.
fn captures(regex: &str, scopes: &[&str]) -> Value {
    let captures = scopes.iter().enumerate();
    let captures =
        captures.map(|(at, scope)| ((at + 1).to_string(), json!({ "name": format!("{scope}.kl1") })));
    json!({ "match": regex, "captures": captures.collect::<serde_json::Map<_, _>>() })
}

fn textmate() -> Value {
    let is_word = |name: &&str| name.starts_with(char::is_alphabetic);
    let mut names: Vec<&str> = source_operators().map(|(.., name)| name).collect();
    names.sort_by_key(|name| (std::cmp::Reverse(name.len()), *name));
    names.dedup();
    let (words, symbols): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_word);
    // `,` and `;` stand alone, `|` also.
    let symbols: Vec<String> =
        symbols.into_iter().filter(|name| ![",", ";", "|"].contains(name)).map(escaped).collect();
    // What words of directives mean elsewhere is an atom.
    let words: Vec<&str> = words.into_iter().filter(|word| ["mod", "xor", "is"].contains(word)).collect();
    let atom = "[a-z][A-Za-z0-9_]*";
    json!({
        "name": "KL1",
        "scopeName": "source.kl1",
        "fileTypes": ["kl1"],
        "patterns": [
            pattern("comment.line.shebang", r"\A#!.*$"),
            pattern("comment.line.documentation", "%%.*$"),
            pattern("comment.line.percentage", "%.*$"),
            { "name": "comment.block.kl1", "begin": r"/\*", "end": r"\*/" },
            pattern("constant.character", r"\b0+'."),
            pattern("constant.numeric.integer.radix", r"\b[0-9]+'[0-9A-Za-z]+"),
            pattern("constant.numeric.float", r"\b[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)"),
            pattern("constant.numeric.integer", r"\b[0-9]+"),
            quoted("string.quoted.double", '"'),
            quoted("string.quoted.single", '\''),
            captures(&format!(r"^\s*(:-)\s*(module)\s+({atom})"), &[
                "keyword.operator", "keyword.control.directive", "entity.name.type.module",
            ]),
            captures(r"^\s*(:-)\s*([a-z_]+)", &["keyword.operator", "keyword.control.directive"]),
            pattern("keyword.control", r"\b(?:otherwise|alternatively|true)\b"),
            pattern("keyword.operator.word", &format!(r"\b(?:{})\b(?!\()", words.join("|"))),
            captures(&format!(r"\b({atom})(:)({atom})"), &[
                "entity.name.type.module", "keyword.operator", "entity.name.function",
            ]),
            pattern("entity.name.function.definition", &format!("^{atom}")),
            pattern("entity.name.function", &format!(r"\b{atom}(?=\()")),
            pattern("variable.other", r"\b[A-Z_][A-Za-z0-9_]*"),
            pattern("constant.other.atom", &format!(r"\b{atom}")),
            pattern("keyword.operator", &format!("(?:{})(?![{SYMBOLS}])", symbols.join("|"))),
            pattern("keyword.operator", r"[|;]"),
            pattern("punctuation.terminator", r"\.(?=\s|$)"),
            pattern("punctuation.separator", ","),
        ],
    })
}

fn escaped(name: &str) -> String {
    // Before other characters a backslash may mean something.
    let special = |c| r"\.+*?()[]{}^$|".contains(c);
    name.chars().flat_map(|c| [Some('\\').filter(|_| special(c)), Some(c)]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammars_have_the_operators_that_there_are() {
        for (name, text) in files() {
            let there = fs::read_to_string(crate::root().join(name)).unwrap_or_default();
            assert!(there == text, "{name} is not what `cargo xtask grammars` makes");
        }
    }
}
