//! Components that are too large for one native function.
//!
//! Cranelift takes time and memory that grow faster than a function: a table of all blocks for each variable, a
//! parameter for each variable that is alive where two ways meet, walks through the whole depth of a chain of blocks.
//! So a component of a greater weight than `Options::piece_weight` becomes several functions, its *pieces*. They jump
//! to each other as predicates do, with a selector that says at which block to go on.
//!
//! Invariants:
//! - E1 In a component of several pieces every register that more than one block mentions, and how much is pending,
//!   lie in the worker's area for registers (`WorkerAbi::registers`): nothing else than the allocation pointer and the
//!   goal stack's top is handed over.
//! - E2 No block's weight is greater than a piece's: a longer one becomes several that follow each other.
//! - E3 The blocks of a piece follow each other in the component's order.

use crate::shape::{Order, leads_to, predecessors, sole_predecessors};
use compiler::ir::{Block, BlockId, Component, End, Op, Operand, Reg};
use compiler::verify::{end_defines, end_uses, op_column, op_defines, op_uses};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

/// Where a register's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the variable of its piece that has this number.
    Variable(u32),
    /// In this word of the worker's area.
    Area(u32),
}

/// What of a component becomes one function.
#[derive(Debug)]
pub(crate) struct Piece {
    /// In the order in which they are lowered.
    pub(crate) blocks: Vec<BlockId>,
    /// Indexes of the component's entries that begin here.
    pub(crate) entries: Vec<usize>,
    /// The blocks that other pieces lead to, in rising order.
    pub(crate) joins: Vec<BlockId>,
    /// Number of its variables.
    pub(crate) variables: u32,
}

/// A component and how it is cut.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    pub(crate) component: Cow<'a, Component>,
    pub(crate) all: Vec<Piece>,
    /// Blocks that a later one leads to.
    pub(crate) loops: Vec<bool>,
    /// Number of blocks and entries that lead to each block.
    pub(crate) predecessors: Vec<u32>,
    /// By block: the one that leads there, if no other block or entry does.
    pub(crate) sole_predecessors: Vec<Option<BlockId>>,
    /// By register.
    pub(crate) homes: Vec<Home>,
    /// By block: its piece, and its number there. Those that are not reached are in none.
    places: Vec<Option<(u32, u32)>>,
}

/// The word of the area that says how much is pending.
pub(crate) const PENDING: u32 = 0;

impl<'a> Pieces<'a> {
    /// Cuts a component into pieces of this weight at most.
    pub(crate) fn of(component: &'a Component, weight_max: usize) -> Pieces<'a> {
        let component = with_short_blocks(component, weight_max);
        let weight = component.blocks.iter().map(weight).sum::<usize>();
        let is_cut = weight > weight_max;
        let Order { blocks, loops } =
            if is_cut { Order::matches_last(&component) } else { Order::of(&component) };
        let pieces = if is_cut { cut(&component, blocks, weight_max) } else { vec![blocks] };
        let mut places = vec![None; component.blocks.len()];
        for (piece, blocks) in (0..).zip(&pieces) {
            for (index, block) in (0..).zip(blocks) {
                places[block.0 as usize] = Some((piece, index));
            }
        }
        let mut all: Vec<Piece> = pieces
            .into_iter()
            .map(|blocks| Piece { blocks, entries: Vec::new(), joins: Vec::new(), variables: 0 })
            .collect();
        for (index, entry) in component.entries.iter().enumerate() {
            let (piece, _) = places[entry.block.0 as usize].expect("entries are reached");
            all[piece as usize].entries.push(index);
        }
        let homes = if is_cut {
            homes(&component, &mut all)
        } else {
            all[0].variables = component.registers;
            (0..component.registers).map(Home::Variable).collect()
        };
        let predecessors = predecessors(&component);
        let sole_predecessors = sole_predecessors(&component, &predecessors);
        let mut pieces = Pieces { component, all, loops, predecessors, sole_predecessors, homes, places };
        if is_cut {
            pieces.find_joins();
        }
        pieces
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.all.len() > 1
    }

    /// The piece that a block is in, and its number there.
    pub(crate) fn place(&self, block: BlockId) -> (u32, u32) {
        self.places[block.0 as usize].expect("what a block leads to is reached")
    }

    /// What the function of a piece is told in order to go on at a block that others lead to.
    pub(crate) fn selector(&self, block: BlockId) -> usize {
        let joins = &self.all[self.place(block).0 as usize].joins;
        self.component.entries.len() + joins.binary_search(&block).expect("another piece leads there")
    }

    /// Whether another piece leads to a block.
    pub(crate) fn is_join(&self, block: BlockId) -> bool {
        self.all[self.place(block).0 as usize].joins.binary_search(&block).is_ok()
    }

    /// Words of the area that it takes.
    pub(crate) fn area(&self) -> usize {
        let words = self.homes.iter().map(|home| match home {
            Home::Variable(_) => 0,
            Home::Area(word) => *word as usize + 1,
        });
        words.max().unwrap_or(0)
    }

    fn find_joins(&mut self) {
        let mut joins = vec![BTreeSet::new(); self.all.len()];
        for (number, piece) in (0..).zip(&self.all) {
            for &block in &piece.blocks {
                for to in leads_to(&self.component, &self.component.blocks[block.0 as usize]) {
                    let (other, _) = self.place(to);
                    if other != number {
                        joins[other as usize].insert(to);
                    }
                }
            }
        }
        for (piece, joins) in self.all.iter_mut().zip(joins) {
            piece.joins = joins.into_iter().collect();
        }
    }
}

/// How much code becomes of a block: 1, and 1 for each operation that has more than one way on.
fn weight(block: &Block) -> usize {
    1 + block.ops.iter().filter(|op| has_ways(op)).count()
}

fn has_ways(op: &Op) -> bool {
    match op {
        Op::Poll { .. }
        | Op::Car { .. }
        | Op::Cdr { .. }
        | Op::Arg { .. }
        | Op::Unify { .. }
        | Op::Fill { .. }
        | Op::Settle { .. }
        | Op::Arith { .. }
        | Op::Builtin { .. }
        | Op::Pend { .. } => true,
        Op::Push { places, .. } => !places.is_empty(),
        Op::Move { .. }
        | Op::Column { .. }
        | Op::Cons { .. }
        | Op::Struct { .. }
        | Op::Var { .. }
        | Op::Slot { .. }
        | Op::Vector { .. }
        | Op::BindFresh { .. }
        | Op::Put { .. } => false,
    }
}

/// E2.
fn with_short_blocks(component: &Component, weight_max: usize) -> Cow<'_, Component> {
    if component.blocks.iter().all(|block| weight(block) <= weight_max) {
        return Cow::Borrowed(component);
    }
    let mut component = component.clone();
    let mut at = 0;
    while let Some(block) = component.blocks.get(at) {
        if let Some(end) = cut_at(block, weight_max) {
            let next = BlockId(component.blocks.len() as u32);
            let block = &mut component.blocks[at];
            let ops = block.ops.split_off(end);
            let end = std::mem::replace(&mut block.end, End::Goto(next));
            component.blocks.push(Block { ops, end });
        }
        at += 1;
    }
    Cow::Owned(component)
}

/// The operation before which a block is cut that is too long: not between a slot and the goal that has it in its
/// record.
fn cut_at(block: &Block, weight_max: usize) -> Option<usize> {
    let mut slots = HashSet::new();
    let (mut weight, mut last) = (1, None);
    for (index, op) in block.ops.iter().enumerate() {
        if slots.is_empty() && index > 0 {
            last = Some(index);
        }
        weight += usize::from(has_ways(op));
        if weight > weight_max && last.is_some() {
            return last;
        }
        match op {
            Op::Slot { dst } => _ = slots.insert(*dst),
            Op::Push { goal, .. } => goal.arguments.iter().for_each(|argument| {
                if let Operand::Reg(register) = argument {
                    slots.remove(register);
                }
            }),
            _ => {}
        }
    }
    None
}

/// E3.
fn cut(component: &Component, order: Vec<BlockId>, weight_max: usize) -> Vec<Vec<BlockId>> {
    let mut pieces = Vec::new();
    let (mut piece, mut sum) = (Vec::new(), 0);
    for block in order {
        let more = weight(&component.blocks[block.0 as usize]);
        if sum + more > weight_max && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            sum = 0;
        }
        piece.push(block);
        sum += more;
    }
    pieces.push(piece);
    pieces
}

/// E1.
fn homes(component: &Component, pieces: &mut [Piece]) -> Vec<Home> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mentioned {
        Nowhere,
        By(BlockId),
        Often,
    }
    let mut mentioned = vec![Mentioned::Nowhere; component.registers as usize];
    // The way from the goal stack to an entry is no block.
    for entry in &component.entries {
        entry.parameters.iter().for_each(|register| mentioned[register.0 as usize] = Mentioned::Often);
    }
    for &block in pieces.iter().flat_map(|piece| &piece.blocks) {
        each_register(&component.blocks[block.0 as usize], &mut |register| {
            let mentioned = &mut mentioned[register.0 as usize];
            *mentioned = match *mentioned {
                Mentioned::Nowhere => Mentioned::By(block),
                Mentioned::By(other) if other == block => Mentioned::By(block),
                _ => Mentioned::Often,
            };
        });
    }
    let mut numbers = vec![0; component.blocks.len()];
    for (number, piece) in pieces.iter().enumerate() {
        piece.blocks.iter().for_each(|block| numbers[block.0 as usize] = number);
    }
    let mut area = PENDING;
    let home = |mentioned| match mentioned {
        Mentioned::By(block) => {
            let variables = &mut pieces[numbers[block.0 as usize]].variables;
            *variables += 1;
            Home::Variable(*variables - 1)
        }
        Mentioned::Nowhere | Mentioned::Often => {
            area += u32::from(mentioned == Mentioned::Often);
            Home::Area(area)
        }
    };
    mentioned.into_iter().map(home).collect()
}

/// Calls `visit` for the registers that a block reads or assigns.
fn each_register(block: &Block, visit: &mut dyn FnMut(Reg)) {
    let mut read = Vec::new();
    for op in &block.ops {
        op_defines(op).into_iter().chain(op_column(op).map(|column| column.row)).for_each(&mut *visit);
        op_uses(op, &mut |operand| read.push(operand));
    }
    end_defines(&block.end).into_iter().for_each(|(register, _)| visit(register));
    end_uses(&block.end, &mut |operand| read.push(operand));
    if let End::Jump { moves, .. } = &block.end {
        moves.iter().for_each(|&(register, _)| visit(register));
    }
    for operand in read {
        if let Operand::Reg(register) = operand {
            visit(register);
        }
    }
}
