//! The fast Fourier transform of n = m x m complex numbers in six steps, SPLASH-2's: transpose, transform rows,
//! twist, transpose, transform rows, transpose. A node has a band of rows. Each complex number is two floats.

use super::{PAGE_WORDS, element, fill_all, share};
use crate::{Memory, Use};
use fabric::NodeId;
use std::f64::consts::TAU;
use std::ops::Range;

/// A transform of `side` x `side` numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fft {
    /// The square root of the count: a power of two.
    pub side: usize,
    /// The other way.
    pub inverse: bool,
}

impl Fft {
    /// Where the numbers are (0), and the room to transpose them (1): each takes 2 `side`^2 words.
    pub fn array(&self, number: usize) -> usize {
        number * (2 * self.side * self.side).next_multiple_of(PAGE_WORDS)
    }
    /// Words of both arrays: the numbers, and room to transpose them.
    pub fn words(&self) -> usize {
        self.array(2)
    }
    /// A home for each page of both arrays: the node that writes it, if rows fill pages.
    pub fn homes(&self, nodes: u32) -> Vec<NodeId> {
        let pages = self.array(1) / PAGE_WORDS;
        let array = (0..nodes).flat_map(|node| share(pages, node, nodes).map(move |_| NodeId(node)));
        array.clone().chain(array).collect()
    }
    fn band<M: Memory>(&self, memory: &M) -> Range<usize> {
        share(self.side, memory.node(), memory.nodes())
    }
    /// Every node calls it: fills its rows.
    pub async fn fill<M: Memory>(&self, memory: &M) {
        let band = self.band(memory);
        let first = 2 * self.side * band.start;
        memory
            .with(&[Use::write(first, 2 * self.side * band.len())], |views| {
                (first..).zip(views[0].iter_mut()).for_each(|(place, word)| *word = element(place));
            })
            .await;
        memory.barrier().await;
    }
    /// Every node calls it: each fills all rows.
    pub async fn fill_all<M: Memory>(&self, memory: &M) {
        fill_all(memory, 0, 2 * self.side * self.side, element).await;
    }
    /// What was filled in.
    pub fn original(&self) -> Vec<f64> {
        (0..2 * self.side * self.side).map(element).collect()
    }
    /// Every node calls it: the transform takes the place of the numbers.
    pub async fn run<M: Memory>(&self, memory: &M) {
        for number in 0..Self::PHASES {
            self.phase(memory, number).await;
            memory.barrier().await;
        }
    }
    /// Stretches of a transform without a barrier.
    pub const PHASES: usize = 6;
    /// A node's part of one of them. A number that is too large does nothing.
    pub async fn phase<M: Memory>(&self, memory: &M, number: usize) {
        let (here, room) = (self.array(0), self.array(1));
        match number {
            0 | 4 => self.transpose(memory, here, room).await,
            1 => self.rows(memory, room, true).await,
            2 => self.transpose(memory, room, here).await,
            3 => self.rows(memory, here, false).await,
            5 => self.copy(memory, room, here).await,
            _ => {}
        }
    }
    /// The node's rows of `from` become those of `to`.
    async fn copy<M: Memory>(&self, memory: &M, from: usize, to: usize) {
        let band = self.band(memory);
        let (first, words) = (2 * self.side * band.start, 2 * self.side * band.len());
        let uses = [Use::read(from + first, words), Use::write(to + first, words)];
        memory
            .with(&uses, |views| {
                let [from, to] = views else { unreachable!("two uses") };
                to.copy_from_slice(from);
            })
            .await;
    }
    /// The node's rows of `to` become columns of `from`.
    async fn transpose<M: Memory>(&self, memory: &M, from: usize, to: usize) {
        let (side, band) = (self.side, self.band(memory));
        let column = |row: usize| Use::read(from + 2 * (row * side + band.start), 2 * band.len());
        let mut uses: Vec<Use> = (0..side).map(column).collect();
        uses.push(Use::write(to + 2 * side * band.start, 2 * side * band.len()));
        memory
            .with(&uses, |views| {
                let Some((to, columns)) = views.split_last_mut() else { return };
                for (place, column) in columns.iter().enumerate() {
                    for (number, row) in column.chunks_exact(2).zip(to.chunks_exact_mut(2 * side)) {
                        row[2 * place..2 * place + 2].copy_from_slice(number);
                    }
                }
            })
            .await;
        memory.spend(2 * (side * band.len()) as u64);
    }
    /// Transforms the node's rows; and twists them, if wanted.
    async fn rows<M: Memory>(&self, memory: &M, array: usize, twists: bool) {
        let (side, band) = (self.side, self.band(memory));
        for row in band {
            memory
                .with(&[Use::write(array + 2 * side * row, 2 * side)], |views| {
                    transform(&mut views[0], self.inverse);
                    if twists {
                        for (column, number) in views[0].chunks_exact_mut(2).enumerate() {
                            let turn = (row * column) as f64 / (side * side) as f64;
                            multiply(number, root(turn, self.inverse));
                        }
                    }
                })
                .await;
            memory.spend(5 * side as u64 * u64::from(side.ilog2()));
        }
    }
}

/// The root of one after so much of a turn.
fn root(turn: f64, inverse: bool) -> (f64, f64) {
    let (sin, cos) = (TAU * turn).sin_cos();
    (cos, if inverse { sin } else { -sin })
}

fn multiply(number: &mut [f64], (re, im): (f64, f64)) {
    let [a, b] = [number[0], number[1]];
    number[0] = a * re - b * im;
    number[1] = a * im + b * re;
}

/// A transform of a power of two of complex numbers, in place; the inverse one divides by their count.
pub fn transform(numbers: &mut [f64], inverse: bool) {
    let n = numbers.len() / 2;
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
        if i < j {
            numbers.swap(2 * i, 2 * j);
            numbers.swap(2 * i + 1, 2 * j + 1);
        }
    }
    let mut half = 1;
    while half < n {
        let roots: Vec<_> = (0..half).map(|k| root(k as f64 / (2 * half) as f64, inverse)).collect();
        for block in numbers.chunks_exact_mut(4 * half) {
            let (low, high) = block.split_at_mut(2 * half);
            for ((low, high), &root) in low.chunks_exact_mut(2).zip(high.chunks_exact_mut(2)).zip(&roots) {
                multiply(high, root);
                let [re, im] = [high[0], high[1]];
                (high[0], high[1]) = (low[0] - re, low[1] - im);
                (low[0], low[1]) = (low[0] + re, low[1] + im);
            }
        }
        half *= 2;
    }
    if inverse {
        numbers.iter_mut().for_each(|word| *word /= n as f64);
    }
}
