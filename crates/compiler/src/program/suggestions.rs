//! What a name that means nothing may have been meant to be.

use crate::program::names::Names;
use rustc_hash::FxHashMap;
use term::{Atom, AtomTable};

/// Pairs of letters that are compared at most for all suggestions of a compilation, so that its time does not grow
/// with the product of names that are wrong and names that there are.
const PAIRS_MAX: usize = 1 << 24;

/// Names and arities of what can be called.
pub(crate) struct Suggestions {
    modules: FxHashMap<Atom, Words>,
    /// Body builtins, which need no module.
    bare: Words,
    /// Modules by what they have.
    having: FxHashMap<(Atom, usize), Vec<Atom>>,
    pairs_left: usize,
    library: fn(&str) -> Vec<Call>,
}

/// A module of the library, and how one of its predicates is called.
pub(crate) type Call = (&'static str, &'static str);

/// The number of its arguments.
pub(crate) fn arguments((_, call): &(&str, &str)) -> usize {
    call.matches(',').count() + 1
}

/// Names with their letters and arities.
#[derive(Default)]
pub(crate) struct Words {
    words: Vec<(Vec<char>, Atom, usize)>,
    arities: FxHashMap<Atom, Vec<usize>>,
}

impl Words {
    /// Each name and arity of these.
    pub(crate) fn new(atoms: &AtomTable, names: impl Iterator<Item = (Atom, usize)>) -> Words {
        let mut words = Words::default();
        names.for_each(|(name, arity)| words.add(atoms, name, arity));
        words.arities.values_mut().for_each(|arities| arities.sort_unstable());
        words
    }
    fn add(&mut self, atoms: &AtomTable, name: Atom, arity: usize) {
        let arities = self.arities.entry(name).or_default();
        if !arities.contains(&arity) {
            arities.push(arity);
            self.words.push((atoms.name(name).chars().collect(), name, arity));
        }
    }
    /// The arities with which there is this name.
    pub(crate) fn arities(&self, name: Atom) -> &[usize] {
        self.arities.get(&name).map_or(&[], |arities| arities)
    }
}

impl Suggestions {
    pub(crate) fn new(names: &Names<'_>, atoms: &AtomTable) -> Suggestions {
        let mut modules: FxHashMap<Atom, Words> = FxHashMap::default();
        let mut having: FxHashMap<(Atom, usize), Vec<Atom>> = FxHashMap::default();
        for &(module, name, arity) in names.callable() {
            modules.entry(module).or_default().add(atoms, name, arity);
            if module != names.generic {
                having.entry((name, arity)).or_default().push(module);
            }
        }
        let all_arities = modules.values_mut().flat_map(|words| words.arities.values_mut());
        all_arities.for_each(|arities| arities.sort_unstable());
        having.values_mut().for_each(|modules| modules.sort_unstable());
        let (bare, library) = (Words::new(atoms, names.bare()), names.library);
        Suggestions { modules, bare, having, pairs_left: PAIRS_MAX, library }
    }
    /// True if anything is known of a module.
    pub(crate) fn has_module(&self, module: Atom) -> bool {
        self.modules.contains_key(&module)
    }
    /// The arities with which a call in `module` could name this.
    pub(crate) fn arities(&self, module: Atom, name: Atom, bare: bool) -> Vec<usize> {
        let own = self.modules.get(&module).map_or(&[][..], |words| words.arities(name));
        let builtins = if bare { self.bare.arities(name) } else { &[] };
        let mut arities = [own, builtins].concat();
        arities.sort_unstable();
        arities.dedup();
        arities
    }
    /// Another module that has a predicate of this name and arity.
    pub(crate) fn elsewhere(&self, module: Atom, name: Atom, arity: usize) -> Option<Atom> {
        self.having.get(&(name, arity))?.iter().copied().find(|&other| other != module)
    }
    /// What the library has of this name: with as many arguments, and with others.
    pub(crate) fn of_library(&self, name: &str, arity: usize) -> (Vec<Call>, Vec<Call>) {
        (self.library)(name).into_iter().partition(|call| arguments(call) == arity)
    }
    /// What a call in `module` could name whose name is most like this one.
    pub(crate) fn nearest(
        &mut self,
        atoms: &AtomTable,
        module: Atom,
        (name, arity): (Atom, usize),
        bare: bool,
    ) -> Option<(Atom, usize)> {
        let builtins = bare.then_some(&self.bare);
        let words = self.modules.get(&module).into_iter().chain(builtins);
        nearest(words, &atoms.name(name), arity, &mut self.pairs_left)
    }
}

/// The guard builtin whose name is most like this one.
pub(crate) fn nearest_guard(
    guards: &Words,
    atoms: &AtomTable,
    name: Atom,
    arity: usize,
) -> Option<(Atom, usize)> {
    nearest([guards].into_iter(), &atoms.name(name), arity, &mut PAIRS_MAX.clone())
}

/// The word that is most like the wanted one, if one is like it at all.
fn nearest<'w>(
    words: impl Iterator<Item = &'w Words>,
    wanted: &str,
    arity: usize,
    pairs_left: &mut usize,
) -> Option<(Atom, usize)> {
    let wanted: Vec<char> = wanted.chars().collect();
    let limit = (wanted.len() / 3).max(1);
    let mut best = None;
    for (word, name, n) in words.flat_map(|words| &words.words) {
        let pairs = if word.len().abs_diff(wanted.len()) > limit { 1 } else { word.len() * wanted.len() };
        *pairs_left = pairs_left.checked_sub(pairs)?;
        let found = (distance(&wanted, word, limit), *n != arity, *name, *n);
        if found.0 <= limit && best.is_none_or(|best| found < best) {
            best = Some(found);
        }
    }
    best.map(|(_, _, name, arity)| (name, arity))
}

/// Insertions, deletions, replacements and swaps of neighbours between two words; anything above `limit` if more.
fn distance(a: &[char], b: &[char], limit: usize) -> usize {
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_edits() {
        let distance = |a: &str, b: &str, limit| {
            let letters = |word: &str| word.chars().collect::<Vec<char>>();
            distance(&letters(a), &letters(b), limit)
        };
        assert_eq!(distance("append", "append", 3), 0);
        assert_eq!(distance("append", "apend", 3), 1);
        assert_eq!(distance("append", "appned", 3), 1);
        assert_eq!(distance("filter", "fitler2", 3), 2);
        assert!(distance("a", "abcdef", 2) > 2);
    }
}
