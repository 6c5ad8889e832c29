//! Which operations of a body run at once and which wait as goals, and in which order.

use super::{Inline, Item, Kind, Late, Part, Plan, Planned, Planner, Side, Source, Step, Target};
use crate::program::values::{Atomic, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BinaryHeap;
use syntax::program::{Pragma, VarId};
use term::abi::Position;

impl<'a> Planner<'_, 'a> {
    /// Which inline operations must wait as goals: their numbers among the items.
    fn waiting(&mut self) -> FxHashSet<usize> {
        let mut maybe_bound: FxHashSet<VarId> = FxHashSet::default();
        let mut producers: FxHashMap<VarId, usize> = FxHashMap::default();
        for (number, item) in self.items.iter().enumerate() {
            match item {
                Item::Unify(a, b, _) => {
                    for side in [*a, *b] {
                        self.each_variable(side, &mut |variable| {
                            maybe_bound.insert(variable);
                        });
                    }
                }
                Item::Inline(inline) => producers.extend(inline.outputs.iter().map(|&v| (v, number))),
                Item::Goal(_) => {}
            }
        }
        let mut waiting = FxHashSet::default();
        let mut runnable: FxHashSet<usize> = FxHashSet::default();
        // An operation runs if all that it waits for is there; the rest waits. Rounds: as many as the longest chain.
        loop {
            let mut changed = false;
            for (number, item) in self.items.iter().enumerate() {
                let Item::Inline(inline) = item else { continue };
                if runnable.contains(&number) {
                    continue;
                }
                let there = |side: Side<'a>| match self.variable(side) {
                    None => true,
                    Some(variable) => {
                        let variable = self.representative(variable);
                        match self.sources[variable.0 as usize] {
                            Some(Source::Computed) => {
                                producers.get(&variable).is_some_and(|producer| runnable.contains(producer))
                            }
                            Some(Source::Fresh) => maybe_bound.contains(&variable),
                            _ => true,
                        }
                    }
                };
                if inline.inputs.iter().all(|(side, waits)| !waits || there(*side)) {
                    changed |= runnable.insert(number);
                }
            }
            if !changed {
                break;
            }
        }
        for (number, item) in self.items.iter().enumerate() {
            if let Item::Inline(inline) = item
                && !runnable.contains(&number)
                && inline.goal.is_some()
            {
                waiting.insert(number);
            }
        }
        waiting
    }
    /// The plan: what is done at once, in its order, and the goals.
    pub(super) fn schedule(mut self) -> Plan<'a> {
        let mut waiting = if self.shared { FxHashSet::default() } else { self.waiting() };
        self.forget_outputs(&waiting);
        let order = loop {
            match self.order(&waiting) {
                Ok(order) => break order,
                // Operations that need each other's results: one of them waits as a goal.
                Err(stuck) => {
                    waiting.insert(stuck);
                    self.forget_outputs(&waiting);
                }
            }
        };
        let mut values = FxHashSet::default();
        let mut integers = FxHashSet::default();
        self.collect_values(&waiting, &mut values, &mut integers);
        let mut goals = Vec::new();
        let mut steps: Vec<Option<Step<'a>>> = Vec::new();
        // A goal takes what its output stood in for: no unification is needed then.
        let mut needless: FxHashSet<VarId> = FxHashSet::default();
        for (number, item) in self.items.into_iter().enumerate() {
            steps.push(None);
            match item {
                Item::Goal(planned) => goals.push(planned),
                Item::Unify(_, Side::Var(output), _) if needless.contains(&output) => {}
                Item::Unify(a, b, at) => steps[number] = Some(Step::Unify(a, b, at)),
                Item::Inline(inline) if waiting.contains(&number) => {
                    needless.extend(inline.outputs.iter().filter(|o| self.stand_ins.contains_key(o)));
                    goals.extend(as_goal(inline, &self.stand_ins, self.shared));
                }
                Item::Inline(inline) => steps[number] = Some(as_step(inline)),
            }
        }
        let steps = order.into_iter().filter_map(|number| steps[number].take()).collect();
        let sources = self.sources.into_iter().map(|source| source.unwrap_or(Source::Fresh)).collect();
        Plan { sources, steps, goals, values, integers, lines: None }
    }
    fn forget_outputs(&mut self, waiting: &FxHashSet<usize>) {
        for &number in waiting {
            if let Item::Inline(inline) = &self.items[number] {
                for output in &inline.outputs {
                    self.sources[output.0 as usize] = Some(Source::Fresh);
                }
            }
        }
    }
    /// Unifications and operations so that each comes after what it uses; `Err`: one that is part of a circle.
    fn order(&self, waiting: &FxHashSet<usize>) -> Result<Vec<usize>, usize> {
        let mut producers: FxHashMap<VarId, usize> = FxHashMap::default();
        for (number, item) in self.items.iter().enumerate() {
            if let Item::Inline(inline) = item
                && !waiting.contains(&number)
            {
                producers.extend(inline.outputs.iter().map(|&output| (output, number)));
            }
        }
        let mut missing = vec![0u32; self.items.len()];
        let mut users: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut heap = BinaryHeap::new();
        let mut total = 0;
        for (number, item) in self.items.iter().enumerate() {
            let sides: Vec<Side<'a>> = match item {
                Item::Unify(a, b, _) => vec![*a, *b],
                Item::Inline(inline) if !waiting.contains(&number) => {
                    inline.inputs.iter().map(|input| input.0).collect()
                }
                _ => continue,
            };
            total += 1;
            let mut needed = FxHashSet::default();
            for side in sides {
                self.each_variable(side, &mut |variable| needed.extend(producers.get(&variable).copied()));
            }
            missing[number] = needed.len() as u32;
            for producer in needed {
                users.entry(producer).or_default().push(number);
            }
            if missing[number] == 0 {
                heap.push(self.urgency(number));
            }
        }
        let mut order = Vec::with_capacity(total);
        let mut done = vec![false; self.items.len()];
        while let Some((_, std::cmp::Reverse(number))) = heap.pop() {
            order.push(number);
            done[number] = true;
            for &user in users.get(&number).into_iter().flatten() {
                missing[user] -= 1;
                if missing[user] == 0 {
                    heap.push(self.urgency(user));
                }
            }
        }
        if order.len() == total {
            return Ok(order);
        }
        let stuck = |number: &usize| {
            !done[*number] && !waiting.contains(number) && matches!(&self.items[*number], Item::Inline(_))
        };
        Err((0..self.items.len()).find(stuck).expect("a circle of dependences goes through an operation"))
    }
    /// Unifications before operations, else textual order.
    fn urgency(&self, number: usize) -> (bool, std::cmp::Reverse<usize>) {
        (matches!(self.items[number], Item::Unify(..)), std::cmp::Reverse(number))
    }
    fn collect_values(
        &self,
        waiting: &FxHashSet<usize>,
        values: &mut FxHashSet<ValueId>,
        integers: &mut FxHashSet<ValueId>,
    ) {
        let mut visit = |side: Side<'a>| {
            self.each_variable(side, &mut |variable| {
                if let Some(Source::Known(Atomic::Value(value) | Atomic::Column { row: value, .. })) =
                    self.sources[variable.0 as usize]
                {
                    values.insert(value);
                }
            });
        };
        for (number, item) in self.items.iter().enumerate() {
            match item {
                Item::Unify(a, b, _) => [*a, *b].into_iter().for_each(&mut visit),
                Item::Goal(planned) => {
                    planned.arguments.iter().for_each(|side| visit(*side));
                    for pragma in planned.pragmas {
                        let (Pragma::Priority(term) | Pragma::LowerPriority(term) | Pragma::Node(term)) =
                            pragma;
                        visit(Side::Term(term));
                    }
                }
                Item::Inline(inline) => {
                    inline.inputs.iter().for_each(|(side, _)| visit(*side));
                    let computes = matches!(inline.kind, Kind::Arith(_)) && !waiting.contains(&number);
                    for (side, _) in inline.inputs.iter().filter(|_| computes) {
                        if let Some(variable) = self.variable(*side)
                            && let Some(Source::Known(Atomic::Value(value))) = self.source(variable)
                        {
                            integers.insert(value);
                        }
                    }
                }
            }
        }
    }
}

fn as_goal<'a>(
    inline: Inline<'a>,
    stand_ins: &FxHashMap<VarId, Side<'a>>,
    shared: bool,
) -> Option<Planned<'a>> {
    let (id, parts) = inline.goal?;
    let argument = |part: &Part| match *part {
        Part::Input(index) => inline.inputs[index].0,
        Part::Output(index) => {
            let output = inline.outputs[index];
            stand_ins.get(&output).copied().unwrap_or(Side::Var(output))
        }
    };
    let late = match inline.kind {
        Kind::Arith(op) => Late::Arith(op, id),
        Kind::Builtin(_) => Late::Builtin(id),
    };
    let target = Target::Late(late, if shared { Position::NONE } else { inline.at });
    Some(Planned { target, arguments: parts.iter().map(argument).collect(), pragmas: &[] })
}

fn as_step(inline: Inline<'_>) -> Step<'_> {
    match inline.kind {
        Kind::Arith(op) => {
            let b = inline.inputs.get(1).map_or(Side::Int(0), |input| input.0);
            Step::Arith(op, inline.outputs[0], inline.inputs[0].0, b, inline.at)
        }
        Kind::Builtin(id) => {
            let inputs = inline.inputs.into_iter().map(|input| input.0).collect();
            Step::Builtin(id, inputs, inline.outputs, inline.at)
        }
    }
}
