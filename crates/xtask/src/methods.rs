//! Calls of methods between the files of a crate, as far as names tell: a method counts if its crate defines one of
//! that name, and a call if it is made on `self` or on a `worker`. That misses calls, and invents one only if a
//! method of another crate has the name.

use std::collections::{BTreeMap, BTreeSet};

/// What a call is made on.
const RECEIVERS: &[&str] = &["self", "worker"];

/// The methods that files define, and those that they call.
#[derive(Default)]
pub(crate) struct Methods {
    /// Crate and name -> the modules that define a method of it, one for each definition.
    defined: BTreeMap<(String, String), Vec<String>>,
    /// Crate, name, the module that calls.
    called: BTreeSet<(String, String, String)>,
}

impl Methods {
    /// Reads the code of a module, without comments and tests.
    pub(crate) fn read(&mut self, krate: &str, module: &str, code: &str) {
        for rest in code.split("fn ").skip(1) {
            let Some((name, parameters)) = rest.split_once('(') else { continue };
            let name = name.split('<').next().unwrap_or_default();
            if takes_self(parameters) {
                self.defined.entry((krate.into(), name.into())).or_default().push(module.into());
            }
        }
        for receiver in RECEIVERS {
            for (at, _) in code.match_indices(&format!("{receiver}.")) {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if code[..at].ends_with(is_word) {
                    continue;
                }
                let rest = &code[at + receiver.len() + 1..];
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                if rest[end..].starts_with('(') {
                    self.called.insert((krate.into(), rest[..end].into(), module.into()));
                }
            }
        }
    }

    /// Which method is called, by which module, in which other one. Everything was read.
    pub(crate) fn calls(&self) -> Vec<(String, String, String)> {
        let mut calls = Vec::new();
        for (krate, name, from) in &self.called {
            match self.defined.get(&(krate.clone(), name.clone())).map(Vec::as_slice) {
                Some([to]) if to != from => calls.push((name.clone(), from.clone(), to.clone())),
                _ => {}
            }
        }
        calls
    }
}

/// Whether parameters begin with `self`, borrowed or not.
fn takes_self(parameters: &str) -> bool {
    let first = parameters.trim_start().trim_start_matches('&').trim_start_matches("mut ").trim_start();
    first.strip_prefix("self").is_some_and(|rest| rest.starts_with([')', ',', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(files: &[(&str, &str)]) -> Vec<(String, String, String)> {
        let mut methods = Methods::default();
        for (module, code) in files {
            methods.read("a", module, code);
        }
        methods.calls()
    }

    #[test]
    fn a_call_leads_to_the_only_method_of_its_name() {
        let below = ("a::b", "impl W { pub fn post<T>(\n&mut self, t: T) {} fn free(x: u8) {} }");
        let above = ("a::c", "impl W { fn f(self) { self.post(1); worker.free(2); myself.post(3); } }");
        assert_eq!(calls(&[below, above]), [("post".to_string(), "a::c".to_string(), "a::b".to_string())]);
        let second = ("a::d", "impl V { fn post(&self) {} }");
        assert!(calls(&[below, above, second]).is_empty());
    }
}
