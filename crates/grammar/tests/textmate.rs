//! The TextMate grammar gives scopes to a sample: by its patterns alone, and by vscode-textmate where that is there.

use fancy_regex::Regex;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SAMPLE: &str = r#"#!/usr/bin/env -S fifth run
%% Doc.
:- module main.
main :- true | X = 0'a, Y := 16'ff mod 2, p("a%b""c\n", 'it''s'), io:outstream([print(X)]). % end
otherwise.
q(_) :- X1 =\= 1.5e3 /* no */, _Y $=< 7.
"#;

/// Parts of the sample and their scopes.
const EXPECTED: &[(&str, &str)] = &[
    ("#!/usr/bin/env -S fifth run", "comment.line.shebang"),
    ("%% Doc.", "comment.line.documentation"),
    ("module", "keyword.control.directive"),
    ("main", "entity.name.type.module"),
    ("main", "entity.name.function.definition"),
    (":-", "keyword.operator"),
    ("true", "keyword.control"),
    ("X", "variable.other"),
    ("0'a", "constant.character"),
    (":=", "keyword.operator"),
    ("16'ff", "constant.numeric.integer.radix"),
    ("mod", "keyword.operator.word"),
    ("p", "entity.name.function"),
    ("io", "entity.name.type.module"),
    ("outstream", "entity.name.function"),
    ("print", "entity.name.function"),
    ("% end", "comment.line.percentage"),
    ("otherwise", "keyword.control"),
    ("q", "entity.name.function.definition"),
    ("=\\=", "keyword.operator"),
    ("1.5e3", "constant.numeric.float"),
    ("_Y", "variable.other"),
    ("$=<", "keyword.operator"),
    ("7", "constant.numeric.integer"),
    ("\"\"", "constant.character.escape"),
    ("\\n", "constant.character.escape"),
];

fn vscode() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode")
}

fn check(found: &[(String, String)]) {
    for (text, scope) in EXPECTED {
        let expected = (text.to_string(), format!("{scope}.kl1"));
        assert!(found.contains(&expected), "{expected:?} is not in {found:#?}");
    }
    assert!(!found.iter().any(|(text, _)| text.starts_with("%b")), "a string holds no comment");
}

/// A pattern and the places of its groups.
type Found<'p> = (&'p Value, Vec<Option<(usize, usize)>>);

/// The first of these patterns that matches from here on.
fn first<'p>(patterns: &'p [Value], line: &str, from: usize) -> Option<Found<'p>> {
    let found = patterns.iter().filter_map(|pattern| {
        let regex =
            pattern.get("match").or(pattern.get("begin")).and_then(Value::as_str).expect("a pattern has one");
        let regex = Regex::new(regex).expect("an expression");
        let captures = regex.captures_from_pos(line, from).expect("it can be matched")?;
        let groups = captures.iter().map(|group| group.map(|group| (group.start(), group.end())));
        Some((pattern, groups.collect::<Vec<_>>()))
    });
    found.min_by_key(|(_, groups)| groups[0].map(|(start, _)| start))
}

/// The named parts of a line, by the rules of such grammars: the first pattern at the first place counts.
fn scopes(patterns: &[Value], line: &str, found: &mut Vec<(String, String)>) {
    let mut from = 0;
    let mut add = |(start, end): (usize, usize), name: &Value| {
        let name = name.as_str().unwrap_or_default();
        found.push((line[start..end].to_string(), name.to_string()));
    };
    while let Some((pattern, groups)) = first(patterns, line, from) {
        let (start, mut end) = groups[0].expect("the whole is a group");
        if let Some(until) = pattern.get("end").and_then(Value::as_str) {
            let until = Regex::new(until).expect("an expression");
            let inner = pattern.get("patterns").and_then(Value::as_array).map_or(&[][..], |inner| inner);
            loop {
                let close =
                    until.find_from_pos(line, end).expect("it can be matched").map(|m| (m.start(), m.end()));
                let (close_start, close_end) = close.unwrap_or((line.len(), line.len()));
                match first(inner, line, end).and_then(|(inner, groups)| Some((inner, groups[0]?))) {
                    Some((inner, place)) if place.0 < close_start => {
                        add(place, &inner["name"]);
                        end = place.1;
                    }
                    _ => {
                        end = close_end;
                        break;
                    }
                }
            }
        }
        add((start, end), &pattern["name"]);
        for (at, group) in groups.iter().enumerate().skip(1) {
            if let Some(group) = group {
                add(*group, &pattern["captures"][at.to_string()]["name"]);
            }
        }
        from = end.max(start + 1);
        if from > line.len() || !line.is_char_boundary(from) {
            break;
        }
    }
}

#[test]
fn the_patterns_name_the_parts_of_a_program() {
    let text = std::fs::read_to_string(vscode().join("syntaxes/kl1.tmLanguage.json")).expect("the grammar");
    let grammar: Value = serde_json::from_str(&text).expect("JSON");
    let patterns = grammar["patterns"].as_array().expect("patterns");
    let mut found = Vec::new();
    SAMPLE.lines().for_each(|line| scopes(patterns, line, &mut found));
    check(&found);
}

#[test]
fn vscode_textmate_names_them_alike() {
    let mut node = Command::new("node");
    node.arg(vscode().join("scopes.js")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = node.spawn() else {
        println!("skipped: there is no node");
        return;
    };
    // It may have ended already, without the packages.
    let _ = child.stdin.take().expect("it is piped").write_all(SAMPLE.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    if output.status.code() == Some(77) {
        println!("skipped: node has no packages vscode-textmate and vscode-oniguruma (NODE_PATH)");
        return;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let tokens = text.lines().filter_map(|line| line.split_once('\t'));
    check(&tokens.map(|(text, scope)| (text.to_string(), scope.to_string())).collect::<Vec<_>>());
}
