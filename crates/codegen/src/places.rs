//! Where in the text machine code comes from: for profilers, of code that is made with `Options::places`.
//!
//! An operation that says where it stands gives its place to those before it in its block, and to what follows: so all
//! of a clause's body is at its lines. The choice of a clause, and a body that only calls, are at the predicate's line.

use compiler::ir::{At, Block, BlockId, Component, End, Op};
use compiler::verify::successors;
use cranelift_codegen::ir::SourceLoc;
use std::collections::HashMap;
use term::abi::{Position, PredicateId};

/// Code from an offset on, until that of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Bytes from the beginning of the code.
    pub offset: u32,
    /// The predicate, and the line; line 0 is that of the predicate.
    pub position: Position,
}

/// The places of a component.
pub(crate) struct Places {
    /// What the numbers of source locations mean.
    positions: Vec<Position>,
    /// By block: the number for each operation, and for the end.
    blocks: Vec<Vec<u32>>,
}

fn of_op(op: &Op) -> Option<Position> {
    let (Op::Unify { at, .. } | Op::Fill { at, .. } | Op::Arith { at, .. } | Op::Builtin { at, .. }) = op
    else {
        return None;
    };
    match at {
        At::Line(position) => Some(*position).filter(|&position| position != Position::NONE),
        At::Row(..) => None,
    }
}

fn head(predicate: PredicateId) -> Position {
    Position::new(predicate, 0)
}

/// The place of each operation of a block and of its end, if the block begins at one.
fn of_block(block: &Block, begin: Position) -> Vec<Position> {
    let mut places = vec![begin; block.ops.len() + 1];
    let mut before = begin;
    for (index, op) in block.ops.iter().enumerate() {
        before = of_op(op).unwrap_or(before);
        places[index + 1] = before;
    }
    let mut behind = None;
    for (index, op) in block.ops.iter().enumerate().rev() {
        behind = of_op(op).or(behind);
        places[index] = behind.unwrap_or(places[index + 1]);
    }
    // The poll comes before any clause is chosen.
    if let Some(Op::Poll { goal, .. }) = block.ops.first() {
        places[0] = head(goal.predicate);
    }
    places
}

impl Places {
    pub(crate) fn of(component: &Component) -> Places {
        let mut begins: Vec<Option<Position>> = vec![None; component.blocks.len()];
        let entries = component.entries.iter().map(|entry| (entry.block, head(entry.predicate)));
        let polls = component.blocks.iter().zip(0..).filter_map(|(block, number)| match block.ops.first() {
            Some(Op::Poll { goal, .. }) => Some((BlockId(number), head(goal.predicate))),
            _ => None,
        });
        let mut work: Vec<(BlockId, Position)> = entries.chain(polls).collect();
        while let Some((id, begin)) = work.pop() {
            let (known, block) = (&mut begins[id.0 as usize], &component.blocks[id.0 as usize]);
            if known.is_some() {
                continue;
            }
            *known = Some(begin);
            if !matches!(block.end, End::Jump { .. }) {
                let end = block.ops.iter().rev().find_map(of_op).unwrap_or(begin);
                work.extend(successors(&block.end).into_iter().map(|next| (next, end)));
            }
        }
        let mut numbers: HashMap<Position, u32> = HashMap::new();
        let mut positions = Vec::new();
        let mut number = |position| {
            *numbers.entry(position).or_insert_with(|| {
                positions.push(position);
                positions.len() as u32 - 1
            })
        };
        let places = component.blocks.iter().zip(&begins);
        let places = places.map(|(block, begin)| of_block(block, begin.unwrap_or(Position::NONE)));
        let blocks = places.map(|places| places.into_iter().map(&mut number).collect()).collect();
        Places { positions, blocks }
    }
    /// Of an operation of a block, or of its end, by index.
    pub(crate) fn at(&self, block: BlockId, index: usize) -> SourceLoc {
        SourceLoc::new(self.blocks[block.0 as usize][index])
    }
    /// What a source location means; `None` for code that belongs to no operation.
    pub(crate) fn position(&self, location: SourceLoc) -> Option<Position> {
        self.positions.get(location.bits() as usize).copied()
    }
}
