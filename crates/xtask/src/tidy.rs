//! Checks of the whole tree that no compiler makes.
//!
//! - T1 Crates depend on each other only as ARCHITECTURE.md allows ([`ALLOWED`]).
//! - T2 Source files stay below [`LINES_MAX`] lines and start with a module comment.
//! - T3 Links between documents lead to files that exist.
//! - T4 `unsafe` appears only in the crates that may have it ([`UNSAFE`]).
//! - T5 No unfinished-work macros and no ignored tests.

use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// T1: crate -> workspace crates it may use. An arrow that is missing here is an architecture decision.
const ALLOWED: &[(&str, &[&str])] = &[
    ("term", &[]),
    ("syntax", &["term"]),
    ("compiler", &["term", "syntax"]),
    ("codegen", &["term", "compiler"]),
    ("runtime", &["term", "syntax"]),
    ("fifth", &["term", "syntax", "compiler", "codegen", "runtime"]),
    ("xtask", &[]),
];
/// T2.
const LINES_MAX: usize = 1200;
/// T4.
const UNSAFE: &[&str] = &["term", "runtime", "codegen"];
/// T5: written in halves so that this file does not find itself.
const UNFINISHED: &[&str] = &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[ig", "nore")];

/// Runs all checks; the error lists every finding.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    dependencies(root, &mut findings)?;
    for file in files(root, "rs")? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        source(&relative(root, &file), &text, &mut findings);
    }
    for file in files(root, "md")? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        links(root, &file, &text, &mut findings);
    }
    if findings.is_empty() {
        println!("tidy: nothing to report");
        return Ok(());
    }
    bail!("tidy found {} things:\n{}", findings.len(), findings.join("\n"))
}

fn dependencies(root: &Path, findings: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(root.join("crates"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest =
            fs::read_to_string(path.join("Cargo.toml")).with_context(|| format!("crate {name}"))?;
        let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
            findings.push(format!("crates/{name}: not in the list of crates (T1)"));
            continue;
        };
        for used in workspace_dependencies(&manifest) {
            if !allowed.contains(&used.as_str()) {
                findings.push(format!("crates/{name}: must not depend on {used} (T1)"));
            }
        }
    }
    Ok(())
}

/// Names of workspace crates under `[dependencies]` (tests may use more: they look at the outside).
fn workspace_dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut used = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        } else if section == "[dependencies]" {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if ALLOWED.iter().any(|(krate, _)| *krate == name) {
                used.push(name.to_string());
            }
        }
    }
    used
}

fn source(name: &str, text: &str, findings: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        findings.push(format!("{name}: {lines} lines, at most {LINES_MAX} (T2)"));
    }
    if !text.starts_with("//!") {
        findings.push(format!("{name}: starts without a module comment (T2)"));
    }
    let krate = name.split('/').nth(1).unwrap_or_default();
    if !UNSAFE.contains(&krate) && text.lines().any(has_unsafe) {
        findings.push(format!("{name}: unsafe code outside {UNSAFE:?} (T4)"));
    }
    for word in UNFINISHED {
        if text.contains(word) {
            findings.push(format!("{name}: contains `{word}` (T5)"));
        }
    }
}

fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|form| code.contains(form))
        && !code.contains('"')
}

fn links(root: &Path, file: &Path, text: &str, findings: &mut Vec<String>) {
    let folder = file.parent().unwrap_or(root);
    for piece in text.split("](").skip(1) {
        let target = piece.split([')', '#']).next().unwrap_or_default();
        let external =
            target.is_empty() || target.contains("://") || target.contains(' ') || target.contains('`');
        if !external && !folder.join(target).exists() {
            findings.push(format!("{}: dead link to {target} (T3)", relative(root, file)));
        }
    }
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

/// All files with an extension, build output and hidden folders left out, in a fixed order.
fn files(root: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        run(&crate::root()).map_err(|e| e.to_string()).expect("tidy");
    }

    #[test]
    fn a_dependency_against_the_arrows_is_found() {
        let used = workspace_dependencies(
            "[package]\nname = \"term\"\n[dependencies]\nruntime.workspace = true\nx = \"1\"\n",
        );
        assert_eq!(used, ["runtime"]);
    }

    #[test]
    fn unsafe_and_missing_comments_are_found() {
        let mut findings = Vec::new();
        source("crates/syntax/src/x.rs", "fn f() { unsafe { g() } }", &mut findings);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}
