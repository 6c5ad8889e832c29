//! Longest common subsequence: the first string is spread over the nodes, the second passes through them character by
//! character.

use fabric::{Fabric, NodeId, Priority, Random, Time};
use machine::{Call, Context, Here, Program, Verdict};

/// The handler of a character of the second string.
pub const NEXT_CHARACTER: u32 = 1;

/// Cycles of a handler, and for each character of the node's part of the first string.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// Of the handler itself.
    pub entry: u64,
    /// For each character.
    pub character: u64,
    /// Of node 0, which takes the second string apart, for each character of it.
    pub start_up: u64,
}

/// The two strings: letters `a` to `z` by seed.
pub fn strings(seed: u64, first: usize, second: usize) -> (Vec<u8>, Vec<u8>) {
    let mut random = Random::new(seed);
    let mut letters = |count| (0..count).map(|_| b'a' + random.below(26) as u8).collect::<Vec<u8>>();
    (letters(first), letters(second))
}

/// The length of the longest common subsequence, by the usual table.
pub fn sequential(first: &[u8], second: &[u8]) -> u64 {
    let mut row = vec![0u64; second.len() + 1];
    for &a in first {
        let mut diagonal = 0;
        for (j, &b) in second.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if a == b { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[second.len()]
}

/// A node's part.
pub struct Lcs {
    part: Vec<u8>,
    /// The table's column of the character before, and what was above it.
    column: Vec<u64>,
    above: u64,
    /// The second string, at node 0.
    second: Vec<u8>,
    cycles: Cycles,
    /// Characters that came, and when the first one did.
    pub characters: u64,
    /// See `characters`.
    pub first: Time,
    /// At the last node, when all characters have come: the length.
    pub result: u64,
}

impl Lcs {
    /// The part of one node, of this number of them.
    pub fn new(node: NodeId, nodes: u32, (first, second): (&[u8], &[u8]), cycles: Cycles) -> Lcs {
        let bounds = |node: u64| (first.len() as u64 * node / u64::from(nodes)) as usize;
        let part = first[bounds(node.0.into())..bounds(u64::from(node.0) + 1)].to_vec();
        Lcs {
            column: vec![0; part.len()],
            part,
            above: 0,
            second: if node.0 == 0 { second.to_vec() } else { Vec::new() },
            cycles,
            characters: 0,
            first: Time(0),
            result: 0,
        }
    }
}

impl Program for Lcs {
    fn start(&mut self, here: &Here) {
        let (here, second) = (here.clone(), std::mem::take(&mut self.second));
        let start_up = self.cycles.start_up;
        here.clone().spawn(async move {
            for character in second {
                here.spend(start_up);
                here.send(here.node(), Priority::Low, NEXT_CHARACTER, &[character.into(), 0]).await;
            }
        });
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        let &[character, above] = call.words else { return Verdict::Strange };
        // No characters of this number have a longer common subsequence with anything.
        if call.code != NEXT_CHARACTER || above > self.characters + 1 {
            return Verdict::Strange;
        }
        if self.characters == 0 {
            self.first = context.now();
        }
        context.spend(self.cycles.entry + self.cycles.character * self.part.len() as u64);
        let mut diagonal = std::mem::replace(&mut self.above, above);
        let mut last = above;
        for (&letter, cell) in self.part.iter().zip(&mut self.column) {
            let before = *cell;
            last = if u64::from(letter) == character { diagonal + 1 } else { before.max(last) };
            diagonal = before;
            *cell = last;
        }
        self.characters += 1;
        self.result = last;
        let next = NodeId(context.node().0 + 1);
        if next.0 < context.nodes() {
            context.send(next, Priority::Low, NEXT_CHARACTER, &[character, last]);
        }
        Verdict::Done
    }
}
