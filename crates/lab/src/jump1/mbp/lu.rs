//! LU decomposition without pivoting, column by column or block by block, by several clusters on a memory of lines.

use super::{Mbp, Op, Packets, Program, Tell};
use crate::Error;
use crate::jump1::lines::{Access, Bytes, LINE_BYTES, Line};
use fabric::NodeId;
use fabric::simulated::{self, Config};
use std::collections::BTreeMap;

/// Rows and columns of the matrix, and clusters that work on it, as published.
pub(crate) const SIZE: u32 = 16;
pub(crate) const CLUSTERS: u32 = 4;

/// Which cluster computes an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owners {
    RowsInTurn,
    RowsInBlocks,
    ColumnsInTurn,
    ColumnsInBlocks,
    /// Two by two clusters, each with every second row and column.
    SquaresInTurn,
    /// As SPLASH-2's LU has it: blocks of [`BLOCK`] by as many, each of which lies in one piece, to two by two clusters
    /// in turn; whole blocks are computed between barriers.
    Blocks,
}

/// Rows and columns of a block.
const BLOCK: u32 = 4;

impl Owners {
    fn of(self, row: u32, column: u32) -> NodeId {
        NodeId(match self {
            Owners::RowsInTurn => row % CLUSTERS,
            Owners::RowsInBlocks => row / (SIZE / CLUSTERS),
            Owners::ColumnsInTurn => column % CLUSTERS,
            Owners::ColumnsInBlocks => column / (SIZE / CLUSTERS),
            Owners::SquaresInTurn => row % 2 * 2 + column % 2,
            Owners::Blocks => row / BLOCK % 2 * 2 + column / BLOCK % 2,
        })
    }
}

/// How the problem is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) owners: Owners,
    /// Bytes of an element: 4 or 8. The matrix lies row by row, or block by block.
    pub(crate) element_bytes: u32,
    /// Cluster 0 is the home of all lines, or clusters are in turn.
    pub(crate) one_home: bool,
    /// All clusters have read the whole matrix before.
    pub(crate) read_before: bool,
}

impl Layout {
    fn homes(self) -> fn(Line) -> NodeId {
        if self.one_home { |_| NodeId(0) } else { |line| NodeId(line.0 % CLUSTERS) }
    }
    /// Where an element is: its line, and its first byte there.
    fn place(self, element: u32) -> (Line, usize) {
        let (row, column) = (element / SIZE, element % SIZE);
        let element = match self.owners {
            Owners::Blocks => {
                let block = row / BLOCK * (SIZE / BLOCK) + column / BLOCK;
                block * BLOCK * BLOCK + row % BLOCK * BLOCK + column % BLOCK
            }
            _ => element,
        };
        let address = element * self.element_bytes;
        (Line(address / LINE_BYTES as u32), address as usize % LINE_BYTES)
    }
    fn read(self, bytes: &Bytes, at: usize) -> f64 {
        match self.element_bytes {
            4 => f32::from_le_bytes(std::array::from_fn(|i| bytes[at + i])).into(),
            _ => f64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])),
        }
    }
    fn write(self, bytes: &mut Bytes, at: usize, value: f64) {
        match self.element_bytes {
            4 => bytes[at..at + 4].copy_from_slice(&(value as f32).to_le_bytes()),
            _ => bytes[at..at + 8].copy_from_slice(&value.to_le_bytes()),
        }
    }
    fn rounded(self, value: f64) -> f64 {
        if self.element_bytes == 4 { f64::from(value as f32) } else { value }
    }
}

/// An element at the begin: the diagonal is larger than its row, so that no pivots are needed.
fn begin(element: u32) -> f64 {
    let (row, column) = (element / SIZE, element % SIZE);
    if row == column { 40.0 } else { f64::from((row * 7 + column * 3) % 5) + 1.0 }
}

/// What a cluster does with elements; register 0 is what is computed.
#[derive(Clone, Copy, Debug)]
enum Work {
    Load(usize, u32),
    /// By register 1.
    Divide,
    /// Of the product of registers 1 and 2.
    Subtract,
    Store(u32),
    Barrier,
}

/// All that a cluster does.
fn work(layout: Layout, node: NodeId) -> Vec<Work> {
    let mine = |row: u32, column: u32| layout.owners.of(row, column) == node;
    let mut all = Vec::new();
    if layout.read_before {
        all.extend((0..SIZE * SIZE).map(|element| Work::Load(0, element)));
        all.push(Work::Barrier);
    }
    if layout.owners == Owners::Blocks {
        blocks(node, &mut all);
        return all;
    }
    for k in 0..SIZE - 1 {
        (k + 1..SIZE).filter(|row| mine(*row, k)).for_each(|row| divide(row, k, &mut all));
        all.push(Work::Barrier);
        for row in k + 1..SIZE {
            let columns = (k + 1..SIZE).filter(|column| mine(row, *column));
            columns.for_each(|column| subtract(row, column, k, &mut all));
        }
        all.push(Work::Barrier);
    }
    all
}

fn at(row: u32, column: u32) -> u32 {
    row * SIZE + column
}

fn divide(row: u32, k: u32, all: &mut Vec<Work>) {
    all.extend([Work::Load(0, at(row, k)), Work::Load(1, at(k, k)), Work::Divide, Work::Store(at(row, k))]);
}

fn subtract(row: u32, column: u32, k: u32, all: &mut Vec<Work>) {
    all.extend([
        Work::Load(0, at(row, column)),
        Work::Load(1, at(row, k)),
        Work::Load(2, at(k, column)),
        Work::Subtract,
        Work::Store(at(row, column)),
    ]);
}

/// By blocks: that of the diagonal, those beside and below it, all others.
fn blocks(node: NodeId, all: &mut Vec<Work>) {
    let side = SIZE / BLOCK;
    for step in 0..side {
        for phase in 0..3 {
            for block in 0..side * side {
                let (down, across) = (block / side, block % side);
                let beyond = u32::from(down > step) + u32::from(across > step);
                let is_mine = Owners::Blocks.of(down * BLOCK, across * BLOCK) == node;
                if down >= step && across >= step && beyond == phase && is_mine {
                    one_block(step, down, across, all);
                }
            }
            all.push(Work::Barrier);
        }
    }
}

/// What the steps of the diagonal's block change in a block.
fn one_block(step: u32, down: u32, across: u32, all: &mut Vec<Work>) {
    let of = |block: u32| block * BLOCK..(block + 1) * BLOCK;
    for k in of(step) {
        for row in of(down).filter(|row| *row > k) {
            if across == step {
                divide(row, k, all);
            }
            of(across).filter(|column| *column > k).for_each(|column| subtract(row, column, k, all));
        }
    }
}

/// A cluster's part.
struct Lu {
    layout: Layout,
    work: Vec<Work>,
    at: usize,
    registers: [f64; 3],
}

impl Lu {
    fn new(layout: Layout, node: NodeId) -> Lu {
        let work = if node.0 < CLUSTERS { work(layout, node) } else { Vec::new() };
        let mut lu = Lu { layout, work, at: 0, registers: [0.0; 3] };
        lu.compute();
        lu
    }
    /// Computes up to the next use of the memory.
    fn compute(&mut self) {
        let [a, b, c] = self.registers;
        while let Some(work) = self.work.get(self.at) {
            self.registers[0] = match work {
                Work::Divide => a / b,
                Work::Subtract => a - b * c,
                _ => return,
            };
            self.at += 1;
        }
    }
}

impl Program for Lu {
    fn next(&self) -> Option<Op> {
        Some(match *self.work.get(self.at)? {
            Work::Load(_, element) => Op::Use(self.layout.place(element).0, Access::Read),
            Work::Store(element) => Op::Use(self.layout.place(element).0, Access::Write),
            Work::Barrier | Work::Divide | Work::Subtract => Op::Barrier,
        })
    }
    fn use_line(&mut self, bytes: &mut Bytes) {
        match self.work.get(self.at) {
            Some(&Work::Load(register, element)) => {
                self.registers[register] = self.layout.read(bytes, self.layout.place(element).1);
            }
            Some(&Work::Store(element)) => {
                self.layout.write(bytes, self.layout.place(element).1, self.registers[0]);
            }
            _ => return,
        }
        self.pass();
    }
    fn pass(&mut self) {
        self.at += 1;
        self.compute();
    }
}

/// What a run took.
pub(crate) struct Taken {
    /// By the home cluster, number 0.
    pub(crate) sent: Packets,
    pub(crate) received: Packets,
    /// Of all clusters.
    pub(crate) interrupts: u64,
    /// Until the last program ended.
    pub(crate) cycles: u64,
}

/// Decomposes the matrix, and checks the result against the plain sequential version.
pub(crate) fn run(network: &Config, layout: Layout, tell: Tell) -> Result<Taken, Error> {
    let lines = SIZE * SIZE * layout.element_bytes / LINE_BYTES as u32;
    let homes = layout.homes();
    let mut memory: BTreeMap<Line, Bytes> = (0..lines).map(|line| (Line(line), [0; LINE_BYTES])).collect();
    for element in 0..SIZE * SIZE {
        let (line, at) = layout.place(element);
        memory.entry(line).and_modify(|bytes| layout.write(bytes, at, begin(element)));
    }
    let make = |node| {
        let own =
            memory.iter().filter(|(line, _)| homes(**line) == node).map(|(line, bytes)| (*line, *bytes));
        Mbp::new(node, CLUSTERS, (homes, own.collect()), tell, Lu::new(layout, node))
    };
    let mut outcome = simulated::run(network, make).map_err(|stopped| Error(stopped.to_string()))?;
    if outcome.nodes.iter().any(|node| node.ended.is_none() || node.strange > 0) {
        return Err(Error("a cluster waits for ever, or has got what no cluster sends".into()));
    }
    for line in (0..lines).map(Line) {
        let all = (0..).map(NodeId).zip(&mut outcome.nodes).map(|(node, cluster)| cluster.bytes(node, line));
        let (owned, at_home): (Vec<_>, Vec<_>) = all.unzip();
        let bytes = owned.into_iter().chain(at_home).flatten().next();
        *memory.entry(line).or_insert([0; LINE_BYTES]) = bytes.unwrap_or([0; LINE_BYTES]);
    }
    for (element, expected) in (0..).zip(sequential(layout)) {
        let (line, at) = layout.place(element);
        let found = memory.get(&line).map(|bytes| layout.read(bytes, at));
        if found != Some(expected) {
            return Err(Error(format!("element {element} is {found:?}, and should be {expected}")));
        }
    }
    Ok(Taken {
        sent: outcome.nodes[0].sent,
        received: outcome.nodes[0].received,
        interrupts: outcome.nodes.iter().map(|node| node.interrupts).sum(),
        cycles: outcome.nodes.iter().filter_map(|node| node.ended).max().unwrap_or_default(),
    })
}

fn sequential(layout: Layout) -> Vec<f64> {
    let n = SIZE as usize;
    let mut a: Vec<f64> = (0..SIZE * SIZE).map(|element| layout.rounded(begin(element))).collect();
    for k in 0..n - 1 {
        for row in k + 1..n {
            a[row * n + k] = layout.rounded(a[row * n + k] / a[k * n + k]);
        }
        for row in k + 1..n {
            for column in k + 1..n {
                let value = a[row * n + column] - a[row * n + k] * a[k * n + column];
                a[row * n + column] = layout.rounded(value);
            }
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every layout and every way to tell, with the right result; those who hear of it without having the line
    /// interrupt.
    #[test]
    fn the_memory_is_coherent() {
        for owners in [Owners::RowsInTurn, Owners::ColumnsInBlocks, Owners::SquaresInTurn, Owners::Blocks] {
            for (element_bytes, one_home) in [(4, true), (8, true), (8, false)] {
                let read_before = element_bytes == 8;
                let layout = Layout { owners, element_bytes, one_home, read_before };
                let taken = [Tell::Each, Tell::Exact, Tell::Levels].map(|tell| {
                    let check = owners == Owners::RowsInTurn && !read_before;
                    let config = Config { check, ..Config::jump1(4, 1) };
                    run(&config, layout, tell)
                        .unwrap_or_else(|Error(why)| panic!("{layout:?} {tell:?}: {why}"))
                });
                let [each, exact, levels] = &taken;
                assert!(each.sent.invalidations >= exact.sent.invalidations, "{layout:?}");
                assert!(levels.interrupts >= exact.interrupts, "{layout:?}");
                assert!(exact.sent.invalidations > 0 || !layout.read_before, "{layout:?}");
            }
        }
    }
}
