//! Checks of the whole tree that no compiler makes.
//!
//! - T1 Crates depend on each other as ARCHITECTURE.md says ([`ALLOWED`]): no arrow more, none less.
//! - T2 Source files have at most [`LINES_MAX`] lines and start with a module comment.
//! - T3 Links between documents lead to files and headings that exist.
//! - T4 `unsafe` appears only where it may ([`UNSAFE`]).
//! - T5 No unfinished-work macros and no ignored tests.
//! - T6 Nothing names a folder of somebody's machine or another registry than crates.io ([`LOCAL`]).
//! - T7 Rooms of a crate use each other only downwards, by paths and by calls of methods ([`rooms`]).
//! - T8 Labels of invariants are defined once in a module, those that are cited are defined, and each `SAFETY`
//!   comment cites one ([`labels`](crate::labels)).
//! - T9 No circle of files is larger than it may be ([`circles`](crate::circles)).
//! - T10 Documents and comments have short lines, and name the thing ([`prose`]).
//! - T11 A library that is embedded leaves the process as it is ([`PROCESS`]).
//! - T12 Crates whose invariants a debug build can check assert them ([`asserts`](crate::asserts)).

use crate::asserts::Asserts;
use crate::circles::Circles;
use crate::labels::Labels;
use crate::prose;
use crate::rooms;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// T1: crate -> workspace crates that it uses. An arrow that is missing here is an architecture decision.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("term", &["base"]),
    ("syntax", &["term"]),
    ("compiler", &["term", "syntax"]),
    ("oracle", &["term", "syntax"]),
    ("codegen", &["term", "compiler"]),
    ("runtime", &["base", "term", "syntax"]),
    ("fabric", &["base"]),
    ("web", &[]),
    ("machine", &["base", "fabric"]),
    ("explorer", &["fabric"]),
    ("conformance", &["fabric", "machine"]),
    ("distribution", &["base", "term", "runtime", "fabric", "machine"]),
    ("dsm", &["base", "fabric", "machine"]),
    ("fifth_dsm", &["dsm", "fabric"]),
    ("arrays", &["base", "term", "runtime", "fabric", "distribution", "dsm"]),
    ("library", &["term", "syntax", "compiler", "codegen", "runtime", "arrays"]),
    (
        "engine",
        &[
            "base",
            "term",
            "syntax",
            "compiler",
            "codegen",
            "runtime",
            "fabric",
            "distribution",
            "arrays",
            "library",
        ],
    ),
    ("lab", &["base", "term", "syntax", "runtime", "fabric", "machine", "distribution", "dsm", "engine"]),
    (
        "fifth",
        &[
            "base",
            "term",
            "syntax",
            "compiler",
            "runtime",
            "fabric",
            "distribution",
            "lab",
            "language_server",
            "engine",
            "foreign",
            "web",
        ],
    ),
    ("language_server", &["term", "syntax", "library", "engine"]),
    ("grammar", &[]),
    ("foreign", &["engine", "runtime"]),
    ("fifth_c", &["base", "engine", "foreign"]),
    ("fifth_python", &["base", "engine", "foreign", "lab", "runtime", "syntax"]),
    ("xtask", &["syntax"]),
];
/// T2.
const LINES_MAX: usize = 600;
/// T4.
const UNSAFE: &[&str] = &[
    "crates/term/",
    "crates/runtime/",
    "crates/codegen/",
    "crates/fabric/src/mpi/raw.rs",
    "crates/dsm/src/fault/",
    "crates/fifth_dsm/",
    "crates/fifth_c/",
    "crates/foreign/",
    "crates/grammar/src/lib.rs",
];
/// T5: written in halves so that this file does not find itself.
const UNFINISHED: &[&str] = &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[ig", "nore")];
/// T11: what changes the process, or is its own: a library that is embedded has none of these (N1 of `engine`).
const PROCESS: &[&str] = &[
    "print!(",
    "println!(",
    "process::exit",
    "std::env",
    "std::fs",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "set_hook",
    "signal_hook",
    "end_on_interrupt",
    "global_allocator",
];
/// T11: the libraries that are embedded.
const EMBEDDED: &str = "crates/engine/src/";
/// T6: in halves for the same reason.
const LOCAL: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("replace-", "with"),
    concat!("sparse", "+http"),
    concat!("/api/", "cargo"),
];
/// T6: the only registry that `Cargo.lock` may name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Runs all checks; the error lists every finding. With `index`, prints the labels of all invariants first.
pub(crate) fn run(root: &Path, index: bool) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    dependencies(root, &mut findings)?;
    let (mut labels, mut circles, mut asserts) = (Labels::default(), Circles::default(), Asserts::default());
    rooms::gone(root, &mut findings);
    for file in files(root)? {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let (name, text) = (relative(root, &file), String::from_utf8_lossy(&bytes));
        places(&name, &text, &mut findings);
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => {
                source(&name, &text, &mut findings);
                rooms::arrows(&name, &text, &mut findings);
                labels.read(&name, &text, &mut findings);
                circles.read(&name, &text);
                asserts.read(&name, &text);
                prose::source(&name, &text, &mut findings);
            }
            Some("md") => {
                links(root, &file, &text, &mut findings);
                prose::document(&name, &text, &mut findings);
            }
            _ => {}
        }
    }
    if index {
        print!("{}", labels.index());
    }
    labels.check(&mut findings);
    labels.check_all_are_cited(&mut findings);
    asserts.check(&mut findings);
    circles.join(&mut findings);
    circles.check(&mut findings);
    let largest = circles.largest();
    let largest: Vec<String> = largest.iter().map(|(krate, files)| format!("{krate} {files}")).collect();
    println!("tidy: files of the largest circle: {}", largest.join(", "));
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
        let used = workspace_dependencies(&manifest);
        for used in used.iter().filter(|used| !allowed.contains(&used.as_str())) {
            findings.push(format!("crates/{name}: must not depend on {used} (T1)"));
        }
        for allowed in allowed.iter().filter(|allowed| !used.iter().any(|used| used == *allowed)) {
            findings.push(format!("crates/{name}: may depend on {allowed}, and does not (T1)"));
        }
    }
    Ok(())
}

/// Names of workspace crates that a crate or its build script uses (tests may use more: they look at the outside).
fn workspace_dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut used = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        } else if matches!(section, "[dependencies]" | "[build-dependencies]") {
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
    if !UNSAFE.iter().any(|place| name.starts_with(place)) && text.lines().any(has_unsafe) {
        findings.push(format!("{name}: unsafe code outside {UNSAFE:?} (T4)"));
    }
    let code = text.split("mod tests {").next().unwrap_or_default().lines();
    for line in code.filter(|line| name.starts_with(EMBEDDED) && !line.trim_start().starts_with("//")) {
        for word in PROCESS.iter().filter(|word| line.contains(**word)) {
            findings.push(format!("{name}: `{word}` is for the one that embeds it (T11)"));
        }
    }
    for word in UNFINISHED {
        if text.contains(word) {
            findings.push(format!("{name}: contains `{word}` (T5)"));
        }
    }
}

fn places(name: &str, text: &str, findings: &mut Vec<String>) {
    for place in LOCAL.iter().filter(|place| text.contains(**place)) {
        findings.push(format!("{name}: names `{place}` (T6)"));
    }
    let sources = text.lines().filter_map(|line| line.strip_prefix("source = \""));
    if name == "Cargo.lock" && sources.into_iter().any(|source| !source.starts_with(REGISTRY)) {
        findings.push(format!("{name}: a package from elsewhere than crates.io (T6)"));
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
        let link = piece.split(')').next().unwrap_or_default();
        let Some((page, heading)) = link.split_once('#').filter(|(page, _)| page.is_empty() || !external)
        else {
            continue;
        };
        let other = if page.is_empty() { None } else { fs::read_to_string(folder.join(page)).ok() };
        if !headings(other.as_deref().unwrap_or(text)).any(|anchor| anchor == heading) {
            findings.push(format!("{}: no heading for the link to {link} (T3)", relative(root, file)));
        }
    }
}

/// The names under which links lead to the headings of a page.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    titles.map(|title| {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

/// All files, in a fixed order; build output and hidden folders are left out, except those that belong to the project.
fn files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && ![".cargo", ".ci", ".gitignore"].contains(&name.as_str());
            // What cargo and the build of a Python wheel leave behind.
            let built = name == "target" || name.ends_with(".data") || name.ends_with(".abi3.so");
            if hidden || built {
                continue;
            }
            if path.is_dir() { folders.push(path) } else { found.push(path) }
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
        run(&crate::root(), false).map_err(|e| e.to_string()).expect("tidy");
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

    #[test]
    fn what_is_the_process_s_is_found_in_a_library_that_is_embedded() {
        let text = "//! A comment about println!(..).\nfn f() { println!(\"x\"); }\n";
        let mut findings = Vec::new();
        source("crates/engine/src/x.rs", text, &mut findings);
        source("crates/fifth/src/x.rs", text, &mut findings);
        assert_eq!(findings.len(), 1, "{findings:?}");
    }

    #[test]
    fn links_to_headings_that_are_not_there_are_found() {
        let root = crate::root();
        let page =
            "# Work, and rest\n[a](#work-and-rest) [b](#work) [c](README.md#licence) [d](README.md#fees)";
        let mut findings = Vec::new();
        links(&root, &root.join("page.md"), page, &mut findings);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn folders_of_a_machine_and_other_registries_are_found() {
        let mut findings = Vec::new();
        places("a.md", concat!("see /ho", "me/me/notes"), &mut findings);
        places("Cargo.lock", "source = \"registry+https://example.org/index\"\n", &mut findings);
        places("Cargo.lock", &format!("source = \"{REGISTRY}\"\n"), &mut findings);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}
