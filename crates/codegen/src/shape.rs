//! The shape of a component: what leads to its blocks and entries, and in which order they are lowered.

use crate::pieces::Piece;
use crate::range::Range;
use compiler::ir::{Block, BlockId, Component, End, Entry, Op, Operand, Pattern, Reg};
use compiler::verify::successors;

/// Number of blocks (and entries) that lead to each block.
pub(crate) fn predecessors(component: &Component) -> Vec<u32> {
    let mut count = vec![0; component.blocks.len()];
    for entry in &component.entries {
        count[entry.block.0 as usize] += 1;
    }
    for block in &component.blocks {
        let mut next = successors(&block.end);
        next.sort_unstable();
        next.dedup();
        for next in next {
            count[next.0 as usize] += 1;
        }
    }
    count
}

/// The block that leads to each block, if it is the only one and the only entry or block to do so.
pub(crate) fn sole_predecessors(component: &Component, predecessors: &[u32]) -> Vec<Option<BlockId>> {
    let mut sole = vec![None; component.blocks.len()];
    for (number, block) in (0..).zip(&component.blocks) {
        for next in successors(&block.end) {
            if predecessors[next.0 as usize] == 1 {
                sole[next.0 as usize] = Some(BlockId(number));
            }
        }
    }
    sole
}

/// A block that polls, and then matches a register. What jumps to it does both in its place where it knows more of that
/// register than the block does: a list or structure that is fresh from a cell, or an integer that was just computed.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) poll: &'a Op,
    pub(crate) end: &'a End,
    /// What is matched.
    pub(crate) reg: Reg,
    /// What it is, most often.
    wants: Wants,
}

#[derive(Clone, Copy, PartialEq)]
enum Wants {
    Pointer,
    Integer,
}

impl<'a> Head<'a> {
    pub(crate) fn of(component: &'a Component, block: BlockId) -> Option<Head<'a>> {
        let block = &component.blocks[block.0 as usize];
        let ([poll @ Op::Poll { .. }], End::Match { reg, cases, .. }) = (block.ops.as_slice(), &block.end)
        else {
            return None;
        };
        let pointer = |pattern: &Pattern| matches!(pattern, Pattern::Cons | Pattern::Struct(..));
        let integer = |pattern: &Pattern| matches!(pattern, Pattern::AnyInt | Pattern::Int(_));
        let pointer_or_atom = |pattern: &Pattern| pointer(pattern) || matches!(pattern, Pattern::Atom(_));
        let patterns = || cases.iter().map(|case| &case.0);
        let wants = if patterns().any(integer) {
            Wants::Integer
        } else if patterns().any(pointer) && patterns().all(pointer_or_atom) {
            Wants::Pointer
        } else {
            return None;
        };
        Some(Head { poll, end: &block.end, reg: *reg, wants })
    }
    /// The register that becomes the one that is matched, if a block with these operations may do the head's work: it
    /// loads or computes that register.
    pub(crate) fn fresh(&self, ops: &[Op], moves: &[(Reg, Operand)]) -> Option<Reg> {
        let source = self.source(moves)?;
        let makes = |op: &Op| match *op {
            Op::Car { dst, .. } | Op::Cdr { dst, .. } | Op::Arg { dst, .. } => {
                self.wants == Wants::Pointer && dst == source
            }
            Op::Arith { op, dst, .. } => {
                self.wants == Wants::Integer && dst == source && Range::is_kept_by(op)
            }
            _ => false,
        };
        ops.iter().any(makes).then_some(source)
    }
    /// What becomes the register that is matched.
    fn source(&self, moves: &[(Reg, Operand)]) -> Option<Reg> {
        moves.iter().find_map(|&(reg, source)| match source {
            Operand::Reg(source) if reg == self.reg => Some(source),
            _ => None,
        })
    }
}

/// Where a block's code may jump to.
pub(crate) fn leads_to(component: &Component, block: &Block) -> Vec<BlockId> {
    let mut all = successors(&block.end);
    if let End::Jump { block: to, moves } = &block.end
        && let Some(head) = Head::of(component, *to)
        && head.fresh(&block.ops, moves).is_some()
    {
        let next = successors(head.end);
        // A comparison that is all there is to do may be done in place, too (`matching`'s `Shortcut`).
        let ends = next.iter().map(|next| &component.blocks[next.0 as usize].end);
        all.extend(ends.filter(|end| matches!(end, End::Compare { .. })).flat_map(successors));
        all.extend(next);
    }
    all
}

/// In which order a component's blocks are lowered.
pub(crate) struct Order {
    /// Every reachable block, each after all that lead to it but those that close a loop.
    pub(crate) blocks: Vec<BlockId>,
    /// By block: whether one leads to it that closes a loop.
    pub(crate) loops: Vec<bool>,
}

impl Order {
    pub(crate) fn of(component: &Component) -> Order {
        Order::by(component, |_| {})
    }

    /// Another such order: what the last of a block's ways on leads to comes first. Behind a test that is a goal that
    /// fails or waits, so a chain of tests has these beside them.
    pub(crate) fn matches_last(component: &Component) -> Order {
        Order::by(component, <[BlockId]>::reverse)
    }

    /// `arrange` sorts the blocks that one leads to: what lies behind the last of them comes last.
    fn by(component: &Component, arrange: impl Fn(&mut [BlockId])) -> Order {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let count = component.blocks.len();
        let (mut states, mut loops, mut order) = (vec![State::New; count], vec![false; count], Vec::new());
        // Blocks to begin (true) and to end.
        let mut stack: Vec<_> = component.entries.iter().map(|entry| (entry.block, true)).collect();
        while let Some((id, begin)) = stack.pop() {
            let index = id.0 as usize;
            if !begin {
                states[index] = State::Done;
                order.push(id);
            } else if states[index] == State::New {
                states[index] = State::Open;
                stack.push((id, false));
                let mut next = leads_to(component, &component.blocks[index]);
                arrange(&mut next);
                for next in next {
                    match states[next.0 as usize] {
                        State::New => stack.push((next, true)),
                        State::Open => loops[next.0 as usize] = true,
                        State::Done => {}
                    }
                }
            }
        }
        order.reverse();
        Order { blocks: order, loops }
    }
}

/// Bytes of a goal's record on the stack.
pub(crate) fn record_bytes(entry: &Entry) -> i64 {
    8 * (entry.parameters.len() as i64 + 1)
}

/// The indexes of a piece's entries, the most wanted first: what goals on the stack most often want are the heads of
/// loops.
pub(crate) fn entries_by_demand(component: &Component, piece: &Piece, predecessors: &[u32]) -> Vec<usize> {
    let mut entries = piece.entries.clone();
    let predecessors = |&index: &usize| predecessors[component.entries[index].block.0 as usize];
    entries.sort_by_key(|index| std::cmp::Reverse(predecessors(index)));
    entries
}

/// How many comparisons with the selector lead to each of a piece's entries (`Lower::dispatch`).
pub(crate) fn comparisons(component: &Component, piece: &Piece, predecessors: &[u32]) -> Vec<usize> {
    let entries = entries_by_demand(component, piece, predecessors);
    let most = if piece.joins.is_empty() { entries.len().saturating_sub(1) } else { entries.len() };
    let count = |index: &usize| entries.iter().position(|entry| entry == index).unwrap_or(0) + 1;
    piece.entries.iter().map(|index| count(index).min(most)).collect()
}
