//! T9: files of a crate that use each other in a circle. A circle is read as a whole, so it stays small. A file uses
//! another whose path it names, or whose method it calls ([`methods`](crate::methods)). That a module names those
//! inside it, as a list of its parts does, is no use here; that they use what stands in it is.

use crate::methods::Methods;
use std::collections::{BTreeMap, BTreeSet};

/// Files of the largest circle of a crate that is not in [`LARGEST`].
const USUAL: usize = 6;

/// Crate -> files of its largest circle, and the reason for that, where it is not the usual.
const LARGEST: &[(&str, usize, &str)] = &[
    ("runtime", 9, "a binding resumes goals, which may lie on the stack, in slots or at other nodes"),
    (
        "codegen",
        11,
        "operations lower their parts, which are operations; what knows a processor is among them",
    ),
    ("oracle", 11, "an interpreter: goals make terms, terms run goals"),
    ("syntax", 7, "macros of all kinds stand in each other"),
];

/// The modules of all crates: what each of them uses of its crate.
#[derive(Default)]
pub(crate) struct Circles {
    uses: BTreeMap<String, BTreeSet<String>>,
    methods: Methods,
}

impl Circles {
    /// Reads a source file, unless it is a test.
    pub(crate) fn read(&mut self, name: &str, text: &str) {
        let Some((krate, file)) = name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            return;
        };
        if matches!(file, "lib.rs" | "main.rs") || crate::rooms::is_test(name) {
            return;
        }
        let module = file.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
        let own: Vec<&str> = module.split("::").collect();
        let code = text.split("]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let mut used = BTreeSet::new();
        for (from, base) in [("crate::", Vec::new()), ("super::", own[..own.len() - 1].to_vec())] {
            for rest in code.split(from).skip(1) {
                targets(base.clone(), rest, &mut used);
            }
        }
        let inside = |path: String| format!("{krate}::{path}");
        let module = inside(module);
        self.methods.read(krate, &module, &code);
        self.uses.insert(module, used.into_iter().map(inside).collect());
    }

    /// Adds the calls of methods, and reports those that run up between rooms (T7). Everything was read.
    pub(crate) fn join(&mut self, findings: &mut Vec<String>) {
        for (name, from, to) in self.methods.calls() {
            crate::rooms::call(&name, &from, &to, findings);
            self.uses.entry(from).or_default().insert(to);
        }
    }

    /// The largest circle of each crate that has one: the number of its files.
    pub(crate) fn largest(&self) -> BTreeMap<&str, usize> {
        let mut sizes = BTreeMap::new();
        for krate in self.crates() {
            let largest = self.circles(krate).iter().map(BTreeSet::len).max();
            sizes.extend(largest.map(|files| (krate, files)));
        }
        sizes
    }
    fn crates(&self) -> BTreeSet<&str> {
        self.uses.keys().filter_map(|module| module.split("::").next()).collect()
    }

    /// Reports what is larger than it may be.
    pub(crate) fn check(&self, findings: &mut Vec<String>) {
        for krate in self.crates() {
            let most = LARGEST.iter().find(|(known, ..)| *known == krate).map_or(USUAL, |(_, most, _)| *most);
            let largest = self.circles(krate).into_iter().max_by_key(BTreeSet::len).unwrap_or_default();
            if largest.len() > most {
                let (files, names) = (largest.len(), largest.into_iter().collect::<Vec<_>>().join(", "));
                findings.push(format!("{krate}: a circle of {files} files, at most {most} (T9): {names}"));
            }
        }
    }

    /// The module that a path leads into: the longest part of it that is one.
    fn module<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut path = path;
        while !self.uses.contains_key(path) {
            path = path.rsplit_once("::")?.0;
        }
        Some(path)
    }
    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            let used = self.uses.get(module).into_iter().flatten().filter_map(|path| self.module(path));
            for next in used.filter(|next| *next != module) {
                let next = self.uses.get_key_value(next).expect("it is a module").0.as_str();
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }
    fn circles(&self, krate: &str) -> BTreeSet<BTreeSet<&str>> {
        let modules = self.uses.keys().filter(|module| module.split("::").next() == Some(krate));
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            modules.map(|module| (module.as_str(), self.reached(module))).collect();
        let circle = |module: &str| {
            let back = |other: &&&str| reached[**other].contains(module);
            reached[module].iter().filter(back).copied().collect::<BTreeSet<&str>>()
        };
        reached.keys().map(|module| circle(module)).filter(|circle| circle.len() > 1).collect()
    }
}

/// The paths that `rest` begins with, which may be a group: each module and item of it.
fn targets<'a>(mut base: Vec<&'a str>, rest: &'a str, used: &mut BTreeSet<String>) {
    let mut rest = rest;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        match name {
            "super" => _ = base.pop(),
            "" => {
                let group =
                    rest.strip_prefix('{').and_then(|rest| rest.split('}').next()).unwrap_or_default();
                for item in group.split(',') {
                    let item: Vec<&str> = base.iter().copied().chain(item.trim().split("::")).collect();
                    used.insert(item.join("::"));
                }
                return;
            }
            _ => base.push(name),
        }
        match after.strip_prefix("::") {
            Some(next) => rest = next,
            None => {
                used.insert(base.join("::"));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(files: &[(&str, &str)]) -> usize {
        let mut circles = Circles::default();
        for (name, text) in files {
            circles.read(&format!("crates/runtime/src/{name}"), text);
        }
        circles.circles("runtime").iter().map(BTreeSet::len).max().unwrap_or_default()
    }

    #[test]
    fn a_circle_is_found_whichever_way_a_file_names_another() {
        let a = ("node/a.rs", "use crate::goals::{b, z::Z};\n");
        let b = ("goals/b.rs", "use super::c::{C, D};\n");
        let c = ("goals/c/mod.rs", "fn f(x: crate::node::a::A) {}\n");
        assert_eq!(largest(&[a, b, c]), 3);
        assert_eq!(largest(&[a, b, ("goals/c/mod.rs", "// crate::node::a\n")]), 0);
        assert_eq!(
            largest(&[a, b, ("goals/c/mod.rs", "#[cfg(test)]\nmod tests {\nuse crate::node::a;\n}")]),
            0
        );
    }

    #[test]
    fn a_circle_that_is_too_large_is_reported_with_its_files() {
        let mut circles = Circles::default();
        for i in 0..10 {
            let next = (i + 1) % 10;
            circles.read(&format!("crates/runtime/src/goals/f{i}.rs"), &format!("use super::f{next}::X;\n"));
        }
        let mut findings = Vec::new();
        circles.check(&mut findings);
        assert!(findings.len() == 1 && findings[0].contains("runtime::goals::f6"), "{findings:?}");
    }
}
