//! N queens: node 0 places the first queens breadth first, and sends each board to a node, which counts the solutions
//! depth first. Node 0 gathers the answers up the tree of the boards that it placed breadth first.

use fabric::{Fabric, NodeId, Priority, Random};
use machine::{Call, Context, Here, Program, Verdict};
use std::cell::RefCell;
use std::rc::Rc;

/// The handler of a board.
pub const BOARD: u32 = 1;
/// The handler of the number of its solutions, and of those of all boards that extend a board.
pub const DONE: u32 = 2;

/// Most queens: a place takes 4 bits of 64.
const SIZE_MAX: u32 = 16;

/// Cycles of what nodes do, where time is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// For each board that is looked at.
    pub board: u64,
    /// Of an answer's handler.
    pub answer: u64,
}

/// A board: the rows that are filled, the columns and diagonals that their queens threaten in the next row, and where
/// they stand, 4 bits each.
#[derive(Clone, Copy, Debug, Default)]
struct Board {
    rows: u32,
    columns: u64,
    left: u64,
    right: u64,
    places: u64,
}

impl Board {
    /// All ways to place a queen in the next row.
    fn next(self, size: u32) -> impl Iterator<Item = Board> {
        let mut free = ((1u64 << size) - 1) & !(self.columns | self.left | self.right);
        std::iter::from_fn(move || {
            let queen = free & free.wrapping_neg();
            free &= free.wrapping_sub(1);
            (queen != 0).then(|| Board {
                rows: self.rows + 1,
                columns: self.columns | queen,
                left: (self.left | queen) << 1,
                right: (self.right | queen) >> 1,
                places: self.places << 4 | u64::from(queen.trailing_zeros()),
            })
        })
    }
    /// How many solutions this board has, and how many boards were looked at.
    fn count(self, size: u32) -> (u64, u64) {
        if self.rows == size {
            return (1, 1);
        }
        let below = self.next(size).map(|board| board.count(size));
        below.fold((0, 1), |(solutions, boards), (more, looked_at)| (solutions + more, boards + looked_at))
    }
}

/// The number of solutions.
pub fn sequential(size: u32) -> u64 {
    Board::default().count(size).0
}

/// How node 0 deals boards to nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deal {
    /// To one after the other.
    InTurn,
    /// To as many as in turn, in an order by seed.
    AtRandom(u64),
    /// Neighbouring boards to the same.
    InBlocks,
}

impl Deal {
    /// The nodes of this number of boards.
    fn nodes(self, boards: usize, nodes: u32) -> Vec<NodeId> {
        let mut order: Vec<usize> = (0..boards).collect();
        if let Deal::AtRandom(seed) = self {
            let mut random = Random::new(seed);
            (1..boards).for_each(|last| order.swap(last, random.below(last as u32 + 1) as usize));
        }
        let to = |board: usize| match self {
            Deal::InTurn => (board % nodes as usize) as u32,
            // Each node gets as many as any other.
            Deal::AtRandom(_) => (order[board] % nodes as usize) as u32,
            Deal::InBlocks => (board * nodes as usize / boards) as u32,
        };
        (0..boards).map(to).map(NodeId).collect()
    }
}

/// A board that was extended breadth first: the one that it extends, how many answers are missing, and their sum.
struct Inner {
    parent: Option<u64>,
    missing: u64,
    solutions: u64,
}

/// A node's part.
pub struct Queens {
    size: u32,
    /// Rows that are filled breadth first.
    depth: u32,
    deal: Deal,
    cycles: Cycles,
    /// At node 0: the boards above those that are dealt.
    tree: Rc<RefCell<Vec<Inner>>>,
    /// Boards that came to this node, and boards that it looked at because of them.
    pub boards: u64,
    /// See `boards`.
    pub looked_at: u64,
    /// At node 0: answers that came, those that sum up others among them, and the number of solutions.
    pub answers: u64,
    /// See `answers`.
    pub solutions: u64,
}

impl Queens {
    /// The part of a node.
    pub fn new(size: u32, depth: u32, deal: Deal, cycles: Cycles) -> Queens {
        assert!(depth <= size && size <= SIZE_MAX, "{depth} of {size} rows");
        let tree = Rc::default();
        Queens { size, depth, deal, cycles, tree, boards: 0, looked_at: 0, answers: 0, solutions: 0 }
    }

    /// An answer to a board of the tree. If it was the last one the sum goes up, as an answer, too; strange: nobody
    /// is asked for it.
    fn answer<F: Fabric>(&mut self, context: &mut Context<'_, F>, parent: u64, solutions: u64) -> Verdict {
        let mut tree = self.tree.borrow_mut();
        let Some(inner) = usize::try_from(parent).ok().and_then(|parent| tree.get_mut(parent)) else {
            return Verdict::Strange;
        };
        let Some(sum) = inner.solutions.checked_add(solutions).filter(|_| inner.missing > 0) else {
            return Verdict::Strange;
        };
        context.spend(self.cycles.answer);
        self.answers += 1;
        (inner.solutions, inner.missing) = (sum, inner.missing - 1);
        if inner.missing > 0 {
            return Verdict::Done;
        }
        match inner.parent {
            Some(above) => context.send(context.node(), Priority::High, DONE, &[above, sum]),
            None => self.solutions = sum,
        }
        Verdict::Done
    }
}

/// Extends the empty board by so many rows, breadth first: the boards that are left, each with the one that it
/// extends, and the boards above them.
fn breadth_first(size: u32, depth: u32, mut level: impl FnMut(usize)) -> (Vec<(u64, Board)>, Vec<Inner>) {
    // What is left of the whole is an answer to the first one.
    let mut tree = vec![Inner { parent: None, missing: 1, solutions: 0 }];
    let mut boards = vec![(0, Board::default())];
    for _ in 0..depth {
        let mut next = Vec::new();
        for (parent, board) in boards {
            let here = tree.len() as u64;
            let before = next.len();
            next.extend(board.next(size).map(|board| (here, board)));
            let missing = (next.len() - before) as u64;
            if missing > 0 {
                tree.push(Inner { parent: Some(parent), missing, solutions: 0 });
            } else {
                prune(&mut tree, parent);
            }
        }
        level(next.len());
        boards = next;
    }
    (boards, tree)
}

/// No answer comes from a board without continuation.
fn prune(tree: &mut [Inner], mut board: u64) {
    loop {
        let inner = &mut tree[board as usize];
        inner.missing -= 1;
        match inner.parent.filter(|_| inner.missing == 0) {
            Some(above) => board = above,
            None => return,
        }
    }
}

impl Program for Queens {
    fn start(&mut self, here: &Here) {
        if here.node() != NodeId(0) {
            return;
        }
        let (here, size, depth, cycles, deal) = (here.clone(), self.size, self.depth, self.cycles, self.deal);
        let (boards, tree) = breadth_first(size, depth, |boards| here.spend(cycles.board * boards as u64));
        *self.tree.borrow_mut() = tree;
        here.clone().spawn(async move {
            let nodes = deal.nodes(boards.len(), here.nodes());
            let mut dealt: Vec<(NodeId, (u64, Board))> = nodes.into_iter().zip(boards).collect();
            // Its own come last, or the others would wait for theirs while it looks at one.
            dealt.sort_by_key(|(to, _)| *to == here.node());
            for (to, (parent, board)) in dealt {
                let words = [board.rows.into(), parent, board.columns, board.left, board.right];
                let places = board.places.to_le_bytes().to_vec();
                here.send_with(to, Priority::Low, BOARD, &words, places).await;
            }
        });
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match (call.code, call.words) {
            (BOARD, &[rows, parent, columns, left, right])
                if rows <= self.size.into() && call.payload.len() == 8 =>
            {
                let board = Board { rows: rows as u32, columns, left, right, places: 0 };
                let (solutions, looked_at) = board.count(self.size);
                context.spend(self.cycles.board * looked_at);
                self.boards += 1;
                self.looked_at += looked_at;
                context.send(call.from, Priority::High, DONE, &[parent, solutions]);
                Verdict::Done
            }
            (DONE, &[parent, solutions]) => self.answer(context, parent, solutions),
            _ => Verdict::Strange,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,030 boards of three rows are printed for 13 queens, and 1,180 answers.
    #[test]
    fn answers_go_up_the_tree() {
        let (boards, tree) = breadth_first(13, 3, |_| ());
        assert_eq!((boards.len(), tree.len()), (1030, 1 + 1 + 13 + 132));
        let missing: u64 = tree.iter().map(|inner| inner.missing).sum();
        assert_eq!(missing, 1030 + 132 + 13 + 1);
    }

    #[test]
    fn deals_give_each_board_to_a_node() {
        let of = |deal: Deal| deal.nodes(10, 4).into_iter().map(|node| node.0).collect::<Vec<u32>>();
        assert_eq!(of(Deal::InTurn), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
        assert_eq!(of(Deal::InBlocks), [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]);
        let mut shuffled = of(Deal::AtRandom(1));
        assert_ne!(shuffled, of(Deal::InTurn));
        shuffled.sort_unstable();
        assert_eq!(shuffled, [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]);
    }
}
