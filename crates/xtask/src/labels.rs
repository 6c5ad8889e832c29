//! T8: labels of invariants. A module defines one as `- B6 ...` (or `Invariant B6: ...`) in its comment, and no other
//! module of its crate defines it again; where a citation names the module, as "B6 of `give`", a module of that name
//! must define it. Each label is cited elsewhere in its crate, alone or in a range (`B1 to B4`). Each `SAFETY` comment
//! cites a label that a module of its crate defines, and says why it holds there.

use std::collections::{BTreeSet, HashMap, HashSet};

/// The least number of words of a reason.
const REASON_WORDS: usize = 4;
/// The texts of this crate's tests are no citations.
const HERE: &str = "crates/xtask/";

/// What modules define and cite, as far as they were read.
#[derive(Default)]
pub(crate) struct Labels {
    /// Last part of a module's path -> its labels (there may be several modules of a name).
    defined: HashMap<String, HashSet<String>>,
    /// File and line, label, last part of the module's path.
    cited: Vec<(String, String, String)>,
    /// File and line of each `SAFETY` comment, what it cites, and how many words it has beside.
    safety: Vec<(String, Vec<String>, usize)>,
    /// Crate and label: mentioned somewhere in the crate, but where it is defined.
    mentioned: HashSet<(String, String)>,
    /// File, label, the first line of what it says.
    index: BTreeSet<(String, String, String)>,
}

impl Labels {
    /// Reads one source file of a crate.
    pub(crate) fn read(&mut self, name: &str, text: &str, findings: &mut Vec<String>) {
        let Some(module) = module(name).filter(|_| !name.starts_with(HERE)) else { return };
        let mut here = HashSet::new();
        for (number, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            let defined = definition(line);
            if let Some((label, says)) = defined {
                let other = self.index.iter().find(|(file, known, _)| known == label && same(file, name));
                if let Some((file, ..)) = other {
                    findings.push(format!("{place}: {label} is defined twice, in {file}, too (T8)"));
                }
                self.index.insert((name.to_string(), label.to_string(), says.to_string()));
                here.insert(label.to_string());
            }
            let own = defined.map_or("", |(label, _)| label);
            let labels = mentions(line).into_iter().filter(|label| label != own);
            self.mentioned.extend(labels.map(|label| (crate_of(name).to_string(), label)));
            self.cited.extend(citations(line).map(|(label, module)| (place.clone(), label, module)));
        }
        if name.contains("/src/") {
            self.safety
                .extend(safety(text).map(|(line, labels, words)| (format!("{name}:{line}"), labels, words)));
        }
        self.defined.entry(module.to_string()).or_default().extend(here);
    }
    /// All labels, by file: each with the first line of its definition.
    pub(crate) fn index(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for (file, label, says) in &self.index {
            if file != last {
                text += &format!("{file}\n");
                last = file;
            }
            text += &format!("  {label:4} {says}\n");
        }
        text
    }

    fn is_cited(&self, file: &str, label: &str) -> bool {
        let from_outside =
            |(_, known, of): &(String, String, String)| known == label && module(file) == Some(of);
        self.mentioned.contains(&(crate_of(file).to_string(), label.to_string()))
            || self.cited.iter().any(from_outside)
    }

    /// Labels that nothing cites. Everything was read.
    pub(crate) fn check_all_are_cited(&self, findings: &mut Vec<String>) {
        for (file, label, _) in self.index.iter().filter(|(file, label, _)| !self.is_cited(file, label)) {
            findings.push(format!(
                "{file}: {label} is cited nowhere: cite it where it is relied upon, or drop the label (T8)"
            ));
        }
    }

    /// Citations that lead nowhere. Everything was read.
    pub(crate) fn check(&self, findings: &mut Vec<String>) {
        for (place, label, module) in &self.cited {
            if !self.defined.get(module).is_some_and(|labels| labels.contains(label)) {
                findings.push(format!("{place}: no module `{module}` defines {label} (T8)"));
            }
        }
        for (place, labels, words) in &self.safety {
            let mut known = self.index.iter().filter(|(file, ..)| same(file, place));
            if !known.any(|(_, label, _)| labels.contains(label)) {
                findings.push(format!("{place}: SAFETY cites no invariant that its crate defines (T8)"));
            }
            if *words < REASON_WORDS {
                findings.push(format!("{place}: SAFETY does not say why its invariant holds here (T8)"));
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

/// The crate that a file belongs to.
fn crate_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

fn same(file: &str, other: &str) -> bool {
    crate_of(file) == crate_of(other)
}

/// The labels of a line, and those between the ends of a range.
fn mentions(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let mut found: Vec<String> =
        words.iter().filter(|word| is_label(word)).map(|word| word.to_string()).collect();
    for range in words.windows(3) {
        let [first, "to", last] = range else { continue };
        if !is_label(first) || !is_label(last) || first[..1] != last[..1] {
            continue;
        }
        if let (Ok(from), Ok(to)) = (first[1..].parse::<u32>(), last[1..].parse::<u32>()) {
            found.extend((from..=to).map(|number| format!("{}{number}", &first[..1])));
        }
    }
    found
}

/// The label that a line of a module's comment defines, and what the line says.
fn definition(line: &str) -> Option<(&str, &str)> {
    let text = line.strip_prefix("//! ")?;
    let rest = text.strip_prefix("- ").or_else(|| text.strip_prefix("Invariant "))?;
    let (label, says) = rest.split_once([' ', ':'])?;
    is_label(label).then_some((label, says.trim_start()))
}

/// The `SAFETY` comments of a file: the line of each, the labels in it, and the number of other words.
fn safety(text: &str) -> impl Iterator<Item = (usize, Vec<String>, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(move |at| {
        let (code, first) = lines[at].split_once("SAFETY:")?;
        if !code.trim_start().starts_with("//") {
            return None;
        }
        let more = lines[at + 1..].iter().map_while(|line| line.trim_start().strip_prefix("//"));
        let words = std::iter::once(first)
            .chain(more)
            .flat_map(|line| line.split([' ', ',', '.', ':', ';', '(', ')', '-']))
            .filter(|word| !word.is_empty());
        let (labels, others): (Vec<_>, Vec<_>) = words.map(str::to_string).partition(|word| is_label(word));
        Some((at + 1, labels, others.len()))
    })
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
        let again = ("crates/a/src/take.rs", "//! - B6 Three.\n");
        assert_eq!(findings(&[("crates/a/src/give.rs", "//! - B6 One.\n"), again]).len(), 1);
        assert_eq!(findings(&[("crates/b/src/give.rs", "//! - B6 One.\n"), again]).len(), 0);
        let cites = ("crates/a/src/b.rs", "// B1, B2 of `give`\n/// B3 of `gone`\n");
        assert_eq!(findings(&[cites, ("crates/a/src/give.rs", "//! - B1 One.\n")]).len(), 2);
    }

    #[test]
    fn safety_cites_an_invariant_of_its_crate() {
        let comments = |label| {
            format!("{} {label} - as all is so.\n{} because it\n// is so ({label}).\n", SAFETY, SAFETY)
        };
        let give = ("crates/a/src/give.rs", "//! - B1 One.\n");
        assert_eq!(findings(&[give, ("crates/a/src/b.rs", &comments("B1"))]), [""; 0]);
        assert_eq!(findings(&[give, ("crates/a/src/b.rs", &comments("B2"))]).len(), 2);
        assert_eq!(findings(&[give, ("crates/c/src/b.rs", &comments("B1"))]).len(), 2);
        assert_eq!(findings(&[give, ("crates/a/src/b.rs", &format!("{SAFETY} it is so here.\n"))]).len(), 1);
        for bare in ["B1.", "B1 - as above.", "B1 (see B1)."] {
            assert_eq!(
                findings(&[give, ("crates/a/src/b.rs", &format!("{SAFETY} {bare}\n"))]).len(),
                1,
                "{bare}"
            );
        }
    }
    /// In halves, so that the lint of the compiler does not see a comment here.
    const SAFETY: &str = concat!("// SAF", "ETY:");

    #[test]
    fn the_index_has_each_label_once() {
        let mut labels = Labels::default();
        labels.read(
            "crates/a/src/give.rs",
            "//! - B1 One.\n//! - B2 Two.\n//! - B3 Three.\n",
            &mut Vec::new(),
        );
        labels.read("crates/a/src/take.rs", "// So it is (B1).\n", &mut Vec::new());
        labels.read("crates/b/src/lib.rs", "// B3, B2 of `give`\n", &mut Vec::new());
        let index = "crates/a/src/give.rs\n  B1   One.\n  B2   Two.\n  B3   Three.\n";
        assert_eq!(labels.index(), index);
        let mut found = Vec::new();
        labels.check_all_are_cited(&mut found);
        assert_eq!(found, [""; 0]);
        labels.cited.clear();
        labels.check_all_are_cited(&mut found);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("B2") && found[1].contains("B3"), "{found:?}");
    }

    #[test]
    fn a_range_cites_what_is_between_its_ends() {
        assert_eq!(mentions("(B1 to B3 of `give`), C7"), ["B1", "B3", "C7", "B1", "B2", "B3"]);
        assert_eq!(mentions("B1 to C3"), ["B1", "C3"]);
    }
}
