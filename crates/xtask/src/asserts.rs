//! How many invariants the code asserts where it relies upon them.

use std::collections::BTreeMap;

/// Crates of which each has an assert in [`LINES_EACH`] lines, test modules not counted.
const ASSERTED: &[&str] = &["runtime", "distribution", "dsm"];
/// Lines for each assert, at most.
const LINES_EACH: usize = 100;

/// Lines and asserts of each crate that was read.
#[derive(Default)]
pub(crate) struct Asserts(BTreeMap<String, (usize, usize)>);

impl Asserts {
    /// Counts a file.
    pub(crate) fn read(&mut self, name: &str, text: &str) {
        let Some((krate, path)) = name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            return;
        };
        let is_test = path.ends_with("tests.rs") || path.ends_with("models.rs") || path.contains("tests/");
        if is_test || !ASSERTED.contains(&krate) {
            return;
        }
        let (lines, asserts) = self.0.entry(krate.into()).or_default();
        for line in without_tests(text) {
            *lines += 1;
            *asserts += usize::from(is_assert(line));
        }
    }
    /// Crates with too few.
    pub(crate) fn check(&self, findings: &mut Vec<String>) {
        for (krate, &(lines, asserts)) in &self.0 {
            if lines > LINES_EACH * asserts {
                findings.push(format!(
                    "crates/{krate}: {asserts} asserts in {lines} lines: one in {LINES_EACH} at least (T12)"
                ));
            }
        }
    }
}

/// The lines before the module of a file's tests.
fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |two: &[&str]| {
        let test = two[0].starts_with("#[cfg(test") || two[0].starts_with("#[cfg(all(test");
        test && two[1].contains("mod ") && two[1].ends_with('{')
    };
    let end = lines.windows(2).position(begins).unwrap_or(lines.len());
    lines.into_iter().take(end)
}

/// Whether a line begins an assert; comments have none.
fn is_assert(line: &str) -> bool {
    let line = line.trim_start();
    let asserts = ["assert!(", "assert_eq!(", "assert_ne!("];
    !line.starts_with("//") && asserts.iter().any(|assert| line.contains(assert))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let (mut asserts, mut findings) = (Asserts::default(), Vec::new());
        asserts.read("crates/dsm/src/node.rs", text);
        asserts.check(&mut findings);
        findings
    }

    #[test]
    fn a_crate_with_few_asserts_is_found() {
        let lines = |count: usize| "let a = 1;\n".repeat(count);
        assert!(findings(&format!("debug_assert_eq!(a, 1, \"D1\");\n{}", lines(99))).is_empty());
        assert_eq!(findings(&format!("assert!(a == 1, \"D1\");\n{}", lines(100))).len(), 1);
        assert_eq!(findings(&format!("// assert!(a == 1)\n{}", lines(5))).len(), 1);
    }

    #[test]
    fn tests_are_not_counted() {
        let tests = "#[cfg(test)]\nmod tests {\n    assert!(true);\n}\n";
        assert_eq!(findings(&format!("fn f() {{}}\n{tests}")).len(), 1);
        let mut asserts = Asserts::default();
        asserts.read("crates/dsm/src/protocol/tests/mod.rs", "fn f() {}\n");
        asserts.read("crates/lab/src/lib.rs", "fn f() {}\n");
        let mut findings = Vec::new();
        asserts.check(&mut findings);
        assert!(findings.is_empty());
    }
}
