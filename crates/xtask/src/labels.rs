//! T8: labels of invariants. A module defines one as `- B6 ...` (or `Invariant B6: ...`) in its comment, once; where
//! another file cites it, as "B6 of `give`", a module of that name must define it.

use std::collections::{HashMap, HashSet};

/// The texts of this crate's tests are no citations.
const HERE: &str = "crates/xtask/";

/// What modules define and cite, as far as they were read.
#[derive(Default)]
pub(crate) struct Labels {
    /// Last part of a module's path -> its labels (there may be several modules of a name).
    defined: HashMap<String, HashSet<String>>,
    /// File and line, label, last part of the module's path.
    cited: Vec<(String, String, String)>,
}

impl Labels {
    /// Reads one source file of a crate.
    pub(crate) fn read(&mut self, name: &str, text: &str, findings: &mut Vec<String>) {
        let Some(module) = module(name).filter(|_| !name.starts_with(HERE)) else { return };
        let mut here = HashSet::new();
        for (number, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            if let Some(label) = definition(line)
                && !here.insert(label.to_string())
            {
                findings.push(format!("{place}: {label} is defined twice (T8)"));
            }
            self.cited.extend(citations(line).map(|(label, module)| (place.clone(), label, module)));
        }
        self.defined.entry(module.to_string()).or_default().extend(here);
    }

    /// Citations that lead nowhere. Everything was read.
    pub(crate) fn check(&self, findings: &mut Vec<String>) {
        for (place, label, module) in &self.cited {
            if !self.defined.get(module).is_some_and(|labels| labels.contains(label)) {
                findings.push(format!("{place}: no module `{module}` defines {label} (T8)"));
            }
        }
    }
}

/// The last part of a source file's module path.
fn module(name: &str) -> Option<&str> {
    let mut folders = name.strip_prefix("crates/")?.strip_suffix(".rs")?.rsplit('/');
    match folders.next()? {
        "mod" => folders.next(),
        "lib" => folders.nth(1),
        file => Some(file),
    }
}

fn definition(line: &str) -> Option<&str> {
    let text = line.strip_prefix("//! ")?;
    let rest = text.strip_prefix("- ").or_else(|| text.strip_prefix("Invariant "))?;
    let label = rest.split([' ', ':']).next()?;
    is_label(label).then_some(label)
}

fn is_label(word: &str) -> bool {
    let digits = word.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// "B6 of `give`", "P1, P2 and P5 of `goals::stack`".
fn citations(line: &str) -> impl Iterator<Item = (String, String)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(" of `") {
        let path = line[at + 5..].split('`').next().unwrap_or_default();
        let module = path.rsplit("::").next().unwrap_or_default();
        for word in line[..at].rsplit(' ') {
            let word = word.trim_matches([',', '(']);
            match word {
                "and" | "to" => {}
                label if is_label(label) => found.push((label.to_string(), module.to_string())),
                _ => break,
            }
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let (mut labels, mut findings) = (Labels::default(), Vec::new());
        for (name, text) in files {
            labels.read(name, text, &mut findings);
        }
        labels.check(&mut findings);
        findings
    }

    #[test]
    fn what_is_defined_may_be_cited() {
        let give = ("crates/a/src/sharing/give.rs", "//! - B6 One.\n//! - B7 Two.\n");
        let team =
            ("crates/a/src/team/mod.rs", "//! Invariant T1: One. See (B6 and B7 of `sharing::give`).\n");
        let face = ("crates/a/src/lib.rs", "//! - K1 One.\n// T1 of `team`, K1 of `a`\n");
        assert_eq!(findings(&[face, give, team]), [""; 0]);
    }

    #[test]
    fn what_is_not_defined_or_twice_is_found() {
        let give = ("crates/a/src/give.rs", "//! - B6 One.\n//! - B6 Two.\n");
        assert_eq!(findings(&[give]).len(), 1);
        let cites = ("crates/a/src/b.rs", "// B1, B2 of `give`\n/// B3 of `gone`\n");
        assert_eq!(findings(&[cites, ("crates/a/src/give.rs", "//! - B1 One.\n")]).len(), 2);
    }
}
