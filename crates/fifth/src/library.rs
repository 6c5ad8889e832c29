//! The library's KL1 modules, part of the executable.

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The text of a library module.
pub(crate) fn text(module: &str) -> Option<&'static str> {
    MODULES.binary_search_by(|(name, _)| (*name).cmp(module)).ok().map(|index| MODULES[index].1)
}

/// The names of the library's modules.
pub(crate) fn modules() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_sorted_and_declare_their_names() {
        assert!(MODULES.is_sorted());
        for (name, text) in MODULES {
            assert!(text.contains(&format!(":- module {name}.")), "library/{name}.kl1");
        }
    }
}
