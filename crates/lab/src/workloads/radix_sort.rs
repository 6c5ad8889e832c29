//! Radix sort by counting: 4 bits a pass; a binary tree combines the nodes' counts and distributes their places; then
//! each key is written to its place, with a message for each as published, or many in one.

use fabric::{Fabric, NodeId, Priority, Random};
use machine::{Call, Context, Here, Program, Slot, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The handler that writes a key.
pub const WRITE: u32 = 1;
/// The handler that writes pairs of a place and a key, which are its payload.
pub const WRITE_MANY: u32 = 2;
/// The handlers of counts, which are the payload: up the tree, and down.
pub const UP: u32 = 3;
/// See [`UP`].
pub const DOWN: u32 = 4;

/// Bits of a pass.
const BITS: u32 = 4;
const DIGITS: usize = 1 << BITS;

type Counts = [u64; DIGITS];

/// Cycles, where time is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// To count or to send a key.
    pub key: u64,
    /// Of the handler that writes one.
    pub write: u64,
    /// To count and to move a key where there is one node: a sequential program, without messages.
    pub alone: u64,
}

/// How keys travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// A message a key, as published.
    One,
    /// All keys for a node in one message a pass.
    Batched,
}

/// Keys: their number, their bits, the seed.
pub fn keys(seed: u64, count: usize, bits: u32) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.below(1 << bits).into()).collect()
}

/// The same keys in order.
pub fn sequential(keys: &[u64]) -> Vec<u64> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    sorted
}

/// What handlers and the node's task share.
struct State {
    /// The keys, and those of the next pass.
    keys: Vec<u64>,
    next: Vec<u64>,
    /// Keys that have come in this pass, and the task that waits for all.
    arrived: usize,
    all: Slot<()>,
    counts: BTreeMap<(u32, u64, u64), Slot<Counts>>,
    writes: u64,
}

/// A node's part.
pub struct RadixSort {
    state: Rc<RefCell<State>>,
    passes: u32,
    writes: Writes,
    cycles: Cycles,
}

impl RadixSort {
    /// The part of one node; the number of nodes divides that of the keys.
    pub fn new(
        node: NodeId,
        nodes: u32,
        keys: &[u64],
        bits: u32,
        writes: Writes,
        cycles: Cycles,
    ) -> RadixSort {
        assert!(keys.len().is_multiple_of(nodes as usize), "each node has as many keys as any other");
        let mine = keys.len() / nodes as usize;
        let keys = keys[node.0 as usize * mine..][..mine].to_vec();
        let state = State {
            next: keys.clone(),
            keys,
            arrived: 0,
            all: Slot::new(),
            counts: BTreeMap::new(),
            writes: 0,
        };
        RadixSort { state: Rc::new(RefCell::new(state)), passes: bits.div_ceil(BITS), writes, cycles }
    }
    /// The node's keys: those of all nodes together are in order when the run is over.
    pub fn keys(&self) -> Vec<u64> {
        self.state.borrow().keys.clone()
    }
    /// Keys that came from other nodes.
    pub fn writes(&self) -> u64 {
        self.state.borrow().writes
    }
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
}
fn add(a: &Counts, b: &Counts) -> Counts {
    std::array::from_fn(|digit| a[digit] + b[digit])
}

impl State {
    fn has_place(&self, place: u64) -> bool {
        place < self.keys.len() as u64
    }
    fn write(&mut self, place: usize, key: u64) {
        self.next[place] = key;
        self.arrived += 1;
        if self.arrived == self.keys.len() {
            let _ = self.all.fill(());
        }
    }
    fn counts(&mut self, code: u32, pass: u64, level: u64) -> Slot<Counts> {
        self.counts.entry((code, pass, level)).or_default().clone()
    }
}

/// Where this node's keys of each digit begin: the counts go up a binary tree, in which a node has all between itself
/// and the next one of its level below it, and places come down.
async fn places(here: &Here, state: &Rc<RefCell<State>>, pass: u64, own: Counts) -> Counts {
    let (me, nodes) = (u64::from(here.node().0), u64::from(here.nodes()));
    let wait = |code, level| state.borrow_mut().counts(code, pass, level).read();
    let send = |to: u64, code, level, counts: Counts| async move {
        let to = NodeId(to as u32);
        here.send_with(to, Priority::Low, code, &[pass, level], bytes(&counts)).await;
    };
    let mut sum = own;
    // Of each level below this node: what comes before the right half.
    let mut lefts = Vec::new();
    let mut level = 0;
    while me >> level & 1 == 0 && 1 << level < nodes {
        if me + (1 << level) < nodes {
            lefts.push((level, sum));
            sum = add(&sum, &wait(UP, level).await);
        }
        level += 1;
    }
    let begin = if me == 0 {
        let mut end = 0;
        sum.map(|count| {
            end += count;
            end - count
        })
    } else {
        send(me - (1 << level), UP, level, sum).await;
        wait(DOWN, level).await
    };
    for (level, left) in lefts.into_iter().rev() {
        send(me + (1 << level), DOWN, level, add(&begin, &left)).await;
    }
    begin
}

impl Program for RadixSort {
    fn start(&mut self, here: &Here) {
        let (here, state, cycles) = (here.clone(), self.state.clone(), self.cycles);
        let (passes, writes) = (self.passes, self.writes);
        here.clone().spawn(async move {
            for pass in 0..passes {
                let digit = |key: u64| (key >> (pass * BITS)) as usize % DIGITS;
                let keys = std::mem::take(&mut state.borrow_mut().keys);
                let mut own: Counts = [0; DIGITS];
                keys.iter().for_each(|&key| own[digit(key)] += 1);
                let a_key = if here.nodes() == 1 { 0 } else { cycles.key };
                if here.nodes() == 1 {
                    here.spend(cycles.alone * keys.len() as u64);
                }
                here.spend(a_key * keys.len() as u64);
                state.borrow_mut().keys = keys.clone();
                // Nobody writes keys of this pass before all have counted, so before all have got those of the last
                // one.
                let mut next = places(&here, &state, pass.into(), own).await;
                let mine = keys.len();
                let mut batches = vec![Vec::new(); here.nodes() as usize];
                for key in keys {
                    let place = next[digit(key)] as usize;
                    next[digit(key)] += 1;
                    here.spend(a_key);
                    let to = NodeId((place / mine) as u32);
                    // Another program sent the counts. Nobody gets this key, so somebody waits for one until the run
                    // ends.
                    if to.0 >= here.nodes() {
                        continue;
                    }
                    let place = place % mine;
                    if to == here.node() {
                        state.borrow_mut().write(place, key);
                    } else if writes == Writes::One {
                        here.send(to, Priority::Low, WRITE, &[place as u64, key]).await;
                    } else {
                        batches[to.0 as usize].extend([place as u64, key]);
                    }
                }
                for (to, batch) in batches.into_iter().enumerate().filter(|(_, batch)| !batch.is_empty()) {
                    here.send_with(NodeId(to as u32), Priority::Low, WRITE_MANY, &[], bytes(&batch)).await;
                }
                let all = state.borrow().all.clone();
                all.read().await;
                let state = &mut *state.borrow_mut();
                std::mem::swap(&mut state.keys, &mut state.next);
                (state.arrived, state.all) = (0, Slot::new());
                state.counts.retain(|&(_, of, _), _| of > pass.into());
            }
        });
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        let state = &mut *self.state.borrow_mut();
        match (call.code, call.words) {
            (WRITE, &[place, key]) if state.has_place(place) => {
                context.spend(self.cycles.write);
                state.writes += 1;
                state.write(place as usize, key);
            }
            (WRITE_MANY, [])
                if call.payload.len().is_multiple_of(16)
                    && words(call.payload).step_by(2).all(|place| state.has_place(place)) =>
            {
                let mut all = words(call.payload);
                while let (Some(place), Some(key)) = (all.next(), all.next()) {
                    context.spend(self.cycles.write);
                    state.writes += 1;
                    state.write(place as usize, key);
                }
            }
            (code @ (UP | DOWN), &[pass, level])
                if pass < self.passes.into()
                    && level <= context.nodes().ilog2().into()
                    && call.payload.len() == 8 * DIGITS =>
            {
                let keys = state.keys.len() as u64 * u64::from(context.nodes());
                if words(call.payload).any(|count| count > keys) {
                    return Verdict::Strange;
                }
                let mut counts = words(call.payload);
                let counts = std::array::from_fn(|_| counts.next().expect("one for each digit"));
                if state.counts(code, pass, level).fill(counts).is_err() {
                    return Verdict::Strange;
                }
            }
            _ => return Verdict::Strange,
        }
        Verdict::Done
    }
}
