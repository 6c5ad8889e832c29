//! N queens: node 0 places the first queens breadth first, and sends each board to a node, which counts the solutions
//! depth first.

use fabric::{Fabric, NodeId, Priority};
use machine::{Call, Context, Here, Program, Verdict};

/// The handler of a board.
pub const BOARD: u32 = 1;
/// The handler of the number of its solutions.
pub const DONE: u32 = 2;

/// Cycles of what nodes do, where time is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// For each board that is looked at.
    pub board: u64,
    /// Of an answer's handler.
    pub answer: u64,
}

/// A board: the rows that are filled, and the columns and diagonals that their queens threaten in the next row.
#[derive(Clone, Copy, Debug, Default)]
struct Board {
    rows: u32,
    columns: u64,
    left: u64,
    right: u64,
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

/// A node's part.
pub struct Queens {
    size: u32,
    /// Rows that are filled breadth first.
    depth: u32,
    cycles: Cycles,
    /// Boards that came to this node, and boards that it looked at because of them.
    pub boards: u64,
    /// See `boards`.
    pub looked_at: u64,
    /// At node 0: answers that came, and the number of solutions.
    pub answers: u64,
    /// See `answers`.
    pub solutions: u64,
}

impl Queens {
    /// The part of a node.
    pub fn new(size: u32, depth: u32, cycles: Cycles) -> Queens {
        assert!(depth <= size && size < 32, "{depth} of {size} rows");
        Queens { size, depth, cycles, boards: 0, looked_at: 0, answers: 0, solutions: 0 }
    }
}

impl Program for Queens {
    fn start(&mut self, here: &Here) {
        if here.node() != NodeId(0) {
            return;
        }
        let (here, size, depth, cycles) = (here.clone(), self.size, self.depth, self.cycles);
        here.clone().spawn(async move {
            let mut boards = vec![Board::default()];
            for _ in 0..depth {
                boards = boards.into_iter().flat_map(|board| board.next(size)).collect();
                here.spend(cycles.board * boards.len() as u64);
            }
            for (to, board) in (0..here.nodes()).cycle().zip(boards) {
                let words = [board.rows.into(), board.columns, board.left, board.right];
                here.send(NodeId(to), Priority::Low, BOARD, &words).await;
            }
        });
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match (call.code, call.words) {
            (BOARD, &[rows, columns, left, right]) if rows <= self.size.into() => {
                let board = Board { rows: rows as u32, columns, left, right };
                let (solutions, looked_at) = board.count(self.size);
                context.spend(self.cycles.board * looked_at);
                self.boards += 1;
                self.looked_at += looked_at;
                context.send(call.from, Priority::High, DONE, &[solutions]);
            }
            (DONE, &[solutions]) if self.solutions.checked_add(solutions).is_some() => {
                context.spend(self.cycles.answer);
                self.answers += 1;
                self.solutions += solutions;
            }
            _ => return Verdict::Strange,
        }
        Verdict::Done
    }
}
