//! Which predicates become one native function.
//!
//! Leftmost calls inside a component are jumps. Predicates of a module that call each other leftmost in a circle belong
//! together; then callers take their callees in as long as the component stays small.

use crate::plan::{Plan, Target};
use crate::program::names::{Index, Names};
use rustc_hash::FxHashMap;

/// Predicates of a component, at most.
const PREDICATES_MAX: usize = 40;
/// Steps of a component of several predicates, at most. The time to find registers grows faster than a component: with
/// 1,500 a compiler of 1,700 lines takes a third longer to compile, and not less to run. With 75, circles of
/// `pentomino` are cut, and it takes 8 % more instructions.
const STEPS_MAX: usize = 100;

/// Sets of positions in `compiled`, which has the predicates with their plans and sizes.
pub(crate) fn group(
    names: &Names<'_>,
    compiled: &[Index],
    plans: &[Vec<Plan<'_>>],
    sizes: &[usize],
) -> Vec<Vec<usize>> {
    let position: FxHashMap<Index, usize> =
        compiled.iter().enumerate().map(|(at, &index)| (index, at)).collect();
    let module = |at: usize| names.predicates[compiled[at].0 as usize].0.name;
    let edges: Vec<Vec<usize>> = plans
        .iter()
        .enumerate()
        .map(|(at, plans)| {
            let mut callees: Vec<usize> = plans
                .iter()
                .filter_map(|plan| plan.goals.first())
                .filter(|goal| goal.pragmas.is_empty())
                .filter_map(|goal| match goal.target {
                    Target::User(index) => position.get(&index).copied(),
                    Target::Other(_) | Target::Late(..) => None,
                })
                .filter(|&callee| module(callee) == module(at))
                .collect();
            callees.dedup();
            callees
        })
        .collect();
    let mut sets = Sets {
        leader: (0..compiled.len()).collect(),
        members: vec![1; compiled.len()],
        sizes: sizes.to_vec(),
    };
    // Circles first: a loop that is cut in two components is worse than a call that is not a jump.
    for circle in circles(&edges) {
        for pair in circle.windows(2) {
            sets.join(pair[0], pair[1]);
        }
    }
    for (caller, callees) in edges.iter().enumerate() {
        for &callee in callees {
            sets.join(caller, callee);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut number: FxHashMap<usize, usize> = FxHashMap::default();
    for at in 0..compiled.len() {
        let leader = sets.find(at);
        let group = *number.entry(leader).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(at);
    }
    groups
}

struct Sets {
    leader: Vec<usize>,
    members: Vec<usize>,
    sizes: Vec<usize>,
}

impl Sets {
    fn find(&mut self, mut at: usize) -> usize {
        while self.leader[at] != at {
            self.leader[at] = self.leader[self.leader[at]];
            at = self.leader[at];
        }
        at
    }
    /// Joins two sets if the result is small enough.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        let (members, size) = (self.members[a] + self.members[b], self.sizes[a] + self.sizes[b]);
        if a == b || members > PREDICATES_MAX || size > STEPS_MAX {
            return;
        }
        let (leader, other) = (a.min(b), a.max(b));
        self.leader[other] = leader;
        self.members[leader] = members;
        self.sizes[leader] = size;
    }
}

/// The strongly connected components of more than one node (Tarjan's algorithm with an explicit stack).
fn circles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut order = vec![NEW; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut on_stack = vec![false; edges.len()];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..edges.len() {
        if order[root] != NEW {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = calls.last_mut() {
            if *edge == 0 && order[node] == NEW {
                order[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&callee) = edges[node].get(*edge) {
                *edge += 1;
                if order[callee] == NEW {
                    calls.push((callee, 0));
                } else if on_stack[callee] {
                    low[node] = low[node].min(order[callee]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(caller, _)) = calls.last() {
                low[caller] = low[caller].min(low[node]);
            }
            if low[node] == order[node] {
                let start = stack
                    .iter()
                    .rposition(|&other| other == node)
                    .expect("a node stays on the stack until its circle is known");
                let circle = stack.split_off(start);
                circle.iter().for_each(|&member| on_stack[member] = false);
                if circle.len() > 1 {
                    found.push(circle);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{STEPS_MAX, Sets};

    #[test]
    fn predicates_are_joined_while_the_component_stays_small() {
        let sizes = vec![STEPS_MAX - 40, 40, 1];
        let mut sets = Sets { leader: vec![0, 1, 2], members: vec![1; 3], sizes };
        sets.join(0, 1);
        sets.join(1, 2);
        assert!(sets.find(0) == sets.find(1) && sets.find(1) != sets.find(2));
    }

    #[test]
    fn a_thousand_steps_are_several_components() {
        let mut sets = Sets { leader: (0..10).collect(), members: vec![1; 10], sizes: vec![100; 10] };
        (1..10).for_each(|at| sets.join(at - 1, at));
        assert!((1..10).all(|at| sets.find(at - 1) != sets.find(at)));
    }
}
