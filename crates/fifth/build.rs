//! Tells the command which commit it is of, and what compiles it: reports of the laboratory name both.

use std::path::Path;
use std::process::Command;

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}

fn git(arguments: &[&str]) -> Option<String> {
    output(Command::new("git").args(arguments))
}

fn main() {
    // Without Git, as in an archive of the source, nobody knows.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", "../.."]);
    let mark = if changed.is_some_and(|changed| !changed.is_empty()) { "+" } else { "" };
    println!("cargo:rustc-env=FIFTH_COMMIT={}{mark}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiler = output(Command::new(compiler).arg("--version"));
    println!("cargo:rustc-env=FIFTH_COMPILER={}", compiler.as_deref().unwrap_or("rustc"));
}
