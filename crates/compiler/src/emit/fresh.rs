//! Versions of predicates, by what is known of their arguments.
//!
//! A *fresh* variable is one whose cell was made since the last poll that did something, and that is unbound with
//! nobody waiting for it: binding it is a plain store. A loop that builds a list binds the fresh tail that it made
//! one reduction before. So a predicate gets a further version, with its own blocks, for each set of parameters that
//! a jump in its component has fresh variables for.
//!
//! Why it is right: between making the cell and binding it, only operations that neither bind nor wait for variables
//! run (`body` forgets freshness at all others), and a poll that gives up control pushes the goal back, whose
//! ordinary version goes on later. The cell is initialised, so whoever reads it through another reference in the
//! meantime sees an unbound variable. Other workers do not bind it either: it is private (C6 of `term::abi`) until a
//! poll that gives up control.

use crate::ir::{BlockId, Reg};
use crate::plan::{Plan, Side, Source, Target};
use crate::program::names::Index;
use crate::program::values::{Atomic, Origin, Table};
use crate::tree::code::Code;
use rustc_hash::{FxHashMap, FxHashSet};

/// Versions of one predicate beyond the ordinary one ...
const VERSIONS_MAX: usize = 6;
/// ... as long as their steps together are at most this.
const VERSION_STEPS_MAX: usize = 400;

/// How many versions a predicate of this size may have.
pub(crate) fn versions_max(steps: usize) -> usize {
    VERSIONS_MAX.min(VERSION_STEPS_MAX / steps.max(1))
}

/// Parameters (by position) that are worth a version when they are fresh: some clause binds them, or hands them on to
/// such a parameter.
#[derive(Debug, Default)]
pub(crate) struct Bound(FxHashSet<(Index, u32)>);

impl Bound {
    /// Of all predicates compiled.
    pub(crate) fn new<'p>(units: impl Iterator<Item = (Index, &'p Table, &'p [Plan<'p>])>) -> Bound {
        let mut found = FxHashSet::default();
        let mut work = Vec::new();
        let mut handed: FxHashMap<(Index, u32), Vec<(Index, u32)>> = FxHashMap::default();
        for (index, table, plans) in units {
            for plan in plans {
                for (a, b) in plan.unifications() {
                    for (target, value) in [(a, b), (b, a)] {
                        if let Some(position) = parameter(table, plan, target)
                            && plan.is_built(value)
                        {
                            work.push((index, position));
                        }
                    }
                }
                let Some(first) = plan.goals.first() else { continue };
                let Target::User(callee) = first.target else { continue };
                for (position, argument) in first.arguments.iter().enumerate() {
                    if let Some(mine) = parameter(table, plan, *argument) {
                        handed.entry((callee, position as u32)).or_default().push((index, mine));
                    }
                }
            }
        }
        while let Some(next) = work.pop() {
            if found.insert(next) {
                work.extend(handed.get(&next).into_iter().flatten());
            }
        }
        Bound(found)
    }
    /// Whether a predicate's parameter is worth it.
    pub(crate) fn has(&self, index: Index, position: u32) -> bool {
        self.0.contains(&(index, position))
    }
}

/// The position of the parameter that a side is.
pub(crate) fn parameter(table: &Table, plan: &Plan<'_>, side: Side<'_>) -> Option<u32> {
    match plan.source_of(side)? {
        Source::Known(Atomic::Value(value)) => match table.origin(value) {
            Origin::Parameter(position) => Some(*position),
            _ => None,
        },
        _ => None,
    }
}

/// The entries of one component and their versions.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    parameters: FxHashMap<Index, Vec<Reg>>,
    blocks: FxHashMap<(Index, Vec<u32>), BlockId>,
    /// How many more a predicate may have.
    left: FxHashMap<Index, usize>,
    /// Made and not built yet.
    pub(crate) work: Vec<(Index, Vec<u32>)>,
}

impl Versions {
    /// Adds a predicate with its ordinary version, and allows `most` further ones.
    pub(crate) fn add(&mut self, index: Index, arity: usize, most: usize, code: &mut Code) {
        self.left.insert(index, most);
        let parameters = (0..arity).map(|_| code.register()).collect();
        self.parameters.insert(index, parameters);
        let block = code.block();
        self.blocks.insert((index, Vec::new()), block);
    }
    /// The registers of a predicate's arguments, in all versions; `None` if it is in another component.
    pub(crate) fn parameters(&self, index: Index) -> Option<&[Reg]> {
        self.parameters.get(&index).map(|parameters| &parameters[..])
    }
    /// The block of the version for goals whose parameters `fresh` (in order) are fresh variables.
    pub(crate) fn block(&mut self, index: Index, fresh: &[u32], code: &mut Code) -> BlockId {
        if let Some(&block) = self.blocks.get(&(index, fresh.to_vec())) {
            return block;
        }
        let left = self.left.entry(index).or_insert(0);
        if *left == 0 {
            return self.blocks[&(index, Vec::new())];
        }
        *left -= 1;
        let block = code.block();
        self.blocks.insert((index, fresh.to_vec()), block);
        self.work.push((index, fresh.to_vec()));
        block
    }
}
