//! Messages and their words.
//!
//! A message is one to three words, and behind them the tokens of terms ([`crate::Tokens`]). Its first word is `kind
//! (4 bits) | flag (4) | small (24) | number (32)`, from the lowest bit on. Reading is total: whatever the words, it
//! gives a message or [`Malformed`].
//!
//! Invariants:
//! - W1 What a node writes its receiver reads: each number fits into its bits, and is one that [`Message::read`] takes.

use crate::wire::tokens::Tokens;
use fabric::{NodeId, Priority};
pub(crate) use runtime::abroad::FAR;

/// Nodes have numbers below this one: they have to fit into a reference.
pub const NODES_MAX: u32 = 1 << 20;

/// Words that no node of the program sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

/// What waits for a value: an import of a node. It is weak: if the import is used for something else by then, the
/// serial differs and the answer is discarded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reader {
    /// Where.
    pub node: NodeId,
    /// Its entry there.
    pub import: u32,
    /// How often the entry was used before.
    pub serial: u32,
}

/// Given back: weight of an export, and a read that nobody waits for any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Item {
    /// The export at the receiver.
    pub entry: u32,
    /// How much.
    pub weight: u64,
    /// The reader to be forgotten.
    pub cancel: Option<Reader>,
}

/// What one node tells another. Messages of low priority from one node to another arrive in the order in which they
/// were sent; those of high priority, too, and may overtake.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Message<'a> {
    /// Reduce this goal.
    Throw {
        /// Its priority.
        priority: i64,
        /// Its predicate.
        predicate: u32,
        /// How many arguments.
        arity: u8,
        /// The sender gives it away because the receiver has nothing to do: the program has not sent it.
        gift: bool,
        /// The arguments.
        arguments: Tokens<'a>,
    },
    /// Send the value of an export, once it has one.
    Read {
        /// The export.
        entry: u32,
        /// Where the answer goes.
        reader: Reader,
        /// How much of the value.
        depth: u8,
        /// How many nodes have passed it on.
        hops: u16,
        /// Answer at once, with [`Message::Unbound`] if there is no value.
        peek: bool,
    },
    /// The value that was read.
    Answer {
        /// The import that reads.
        reader: Reader,
        /// One term.
        value: Tokens<'a>,
    },
    /// There is no value yet.
    Unbound {
        /// The import that looked.
        reader: Reader,
    },
    /// Unify an export with a term. Gives all weight of the sender's import back.
    Unify {
        /// The export.
        entry: u32,
        /// Its weight.
        weight: u64,
        /// One term.
        value: Tokens<'a>,
    },
    /// Weight comes back.
    Release {
        /// For several exports.
        items: Items<'a>,
    },
    /// The sender has no weight left to give away.
    WantWeight {
        /// The export.
        entry: u32,
        /// The sender's import.
        import: u32,
    },
    /// Weight for that import.
    Grant {
        /// The export at the sender of this message.
        entry: u32,
        /// The receiver's import, if it still is of that export.
        import: u32,
        /// The weight is 2 to this power.
        log2: u8,
    },
    /// How far imports of the sender are from what some node's program holds.
    Distances {
        /// Of several imports.
        items: Distances<'a>,
    },
}

const THROW: u64 = 0;
const READ: u64 = 1;
const ANSWER: u64 = 2;
const UNBOUND: u64 = 3;
const UNIFY: u64 = 4;
const RELEASE: u64 = 5;
const WANT: u64 = 6;
const GRANT: u64 = 7;
const DISTANCES: u64 = 8;
/// How many kinds there are.
pub(crate) const TABLES: usize = NAMES.len();
/// Names of the kinds, in the order of [`Message::kind`].
pub(crate) const NAMES: [&str; 9] = [
    "throw_goal",
    "read",
    "answer_value",
    "unbound",
    "unify",
    "release",
    "want_weight",
    "grant_weight",
    "distances",
];
/// Weights in words are at most 2 to this power.
pub(crate) const LOG2_MAX: u8 = 62;

impl<'a> Message<'a> {
    /// Index into [`KINDS`](crate::KINDS).
    pub fn kind(&self) -> usize {
        let kind = match self {
            Message::Throw { .. } => THROW,
            Message::Read { .. } => READ,
            Message::Answer { .. } => ANSWER,
            Message::Unbound { .. } => UNBOUND,
            Message::Unify { .. } => UNIFY,
            Message::Release { .. } => RELEASE,
            Message::WantWeight { .. } => WANT,
            Message::Grant { .. } => GRANT,
            Message::Distances { .. } => DISTANCES,
        };
        kind as usize
    }
    /// Answers and grants overtake, so that no answer waits for a request. All others share one way from node to
    /// node: a read and what releases the import that it is sent for must not change places.
    pub fn priority(&self) -> Priority {
        match self {
            Message::Answer { .. } | Message::Unbound { .. } | Message::Grant { .. } => Priority::High,
            _ => Priority::Low,
        }
    }
    /// Whether its receiver may see a value that it did not see before.
    pub fn shows(&self) -> bool {
        matches!(self, Message::Throw { .. } | Message::Answer { .. } | Message::Unify { .. })
    }
    /// The words of a heap that its terms take at most.
    pub(crate) fn room(&self) -> usize {
        match self {
            Message::Throw { arguments: terms, .. }
            | Message::Answer { value: terms, .. }
            | Message::Unify { value: terms, .. } => terms.room(),
            _ => 0,
        }
    }
    /// Appends its words.
    pub fn write(&self, words: &mut Vec<u64>) {
        let kind = self.kind() as u64;
        let first = |flag: bool, small: u32, number: u32| {
            debug_assert!(kind < 1 << 4 && small < 1 << 24, "W1: {self:?}");
            kind | u64::from(flag) << 4 | u64::from(small) << 8 | u64::from(number) << 32
        };
        match *self {
            Message::Throw { priority, predicate, arity, gift, arguments } => {
                words.extend([first(gift, arity.into(), predicate), priority as u64]);
                words.extend(arguments.words());
            }
            Message::Read { entry, reader, depth, hops, peek } => {
                let small = u32::from(depth) | u32::from(hops) << 8;
                words.extend([first(peek, small, entry), pair(reader.node.0, reader.import)]);
                words.push(reader.serial.into());
            }
            Message::Answer { reader, value } => {
                words.extend([first(false, 0, reader.import), pair(reader.serial, reader.node.0)]);
                words.extend(value.words());
            }
            Message::Unbound { reader } => {
                words.extend([first(false, 0, reader.import), pair(reader.serial, reader.node.0)]);
            }
            Message::Unify { entry, weight, value } => {
                words.extend([first(false, 0, entry), weight]);
                words.extend(value.words());
            }
            Message::Release { items } => {
                words.push(first(false, 0, 0));
                words.extend(items.0);
            }
            Message::WantWeight { entry, import } => {
                words.extend([first(false, 0, entry), import.into()]);
            }
            Message::Grant { entry, import, log2 } => {
                debug_assert!(log2 <= LOG2_MAX, "W1: a weight of 2 to the power of {log2}");
                words.extend([first(false, log2.into(), import), entry.into()]);
            }
            Message::Distances { items } => {
                words.push(first(false, 0, 0));
                words.extend(items.0);
            }
        }
    }
    /// The message of these words, between `nodes` nodes. Its tokens are as they should be; what they refer to is not
    /// looked at.
    pub fn read(words: &'a [u64], nodes: u32) -> Result<Message<'a>, Malformed> {
        let (&first, rest) = words.split_first().ok_or(Malformed("an empty message"))?;
        let (flag, small, number) =
            ((first >> 4) as u8 & 15, (first >> 8) as u32 & 0xff_ffff, (first >> 32) as u32);
        if flag > u8::from(matches!(first & 15, THROW | READ)) {
            return Err(Malformed("an unknown flag"));
        }
        let node =
            |node: u32| if node < nodes { Ok(NodeId(node)) } else { Err(Malformed("an unknown node")) };
        let tokens = |words, count| Tokens::new(words, count, nodes);
        Ok(match (first & 15, rest) {
            (THROW, &[priority, ref rest @ ..]) => {
                let arity = u8::try_from(small).map_err(|_| Malformed("a goal with too many arguments"))?;
                let arguments = tokens(rest, arity.into())?;
                Message::Throw {
                    priority: priority as i64,
                    predicate: number,
                    arity,
                    gift: flag == 1,
                    arguments,
                }
            }
            (READ, &[who, serial]) => {
                let reader =
                    Reader { node: node(who as u32)?, import: (who >> 32) as u32, serial: half(serial)? };
                let (depth, hops) = (small as u8, (small >> 8) as u16);
                Message::Read { entry: number, reader, depth, hops, peek: flag == 1 }
            }
            (ANSWER, &[who, ref rest @ ..]) if small == 0 => {
                let reader = Reader { node: node((who >> 32) as u32)?, import: number, serial: who as u32 };
                Message::Answer { reader, value: tokens(rest, 1)? }
            }
            (UNBOUND, &[who]) if small == 0 => Message::Unbound {
                reader: Reader { node: node((who >> 32) as u32)?, import: number, serial: who as u32 },
            },
            (UNIFY, &[weight, ref rest @ ..]) if small == 0 => {
                Message::Unify { entry: number, weight, value: tokens(rest, 1)? }
            }
            (RELEASE, rest) if small == 0 && number == 0 => {
                Message::Release { items: Items::new(rest, nodes)? }
            }
            (WANT, &[import]) if small == 0 => Message::WantWeight { entry: number, import: half(import)? },
            (GRANT, &[entry]) if small <= LOG2_MAX.into() => {
                Message::Grant { entry: half(entry)?, import: number, log2: small as u8 }
            }
            (DISTANCES, rest) if small == 0 && number == 0 => {
                Message::Distances { items: Distances::new(rest)? }
            }
            _ => return Err(Malformed("an unknown kind or length of message")),
        })
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn half(word: u64) -> Result<u32, Malformed> {
    u32::try_from(word).map_err(|_| Malformed("a number that is too large"))
}

/// Several [`Item`]s as words: `entry (32 bits) | cancels (1)`, the weight, and two words for a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Items<'a>(&'a [u64]);

const CANCELS: u64 = 1 << 32;

impl<'a> Items<'a> {
    /// Checks all words.
    pub fn new(words: &'a [u64], nodes: u32) -> Result<Items<'a>, Malformed> {
        let mut rest = words;
        while let &[first, _, ref behind @ ..] = rest {
            rest = behind;
            if first >= CANCELS << 1 {
                return Err(Malformed("an unknown item"));
            }
            if first & CANCELS != 0 {
                let &[who, serial, ref behind @ ..] = rest else { return Err(Malformed("half an item")) };
                if who as u32 >= nodes || serial >= 1 << 32 {
                    return Err(Malformed("an unknown reader"));
                }
                rest = behind;
            }
        }
        if rest.is_empty() { Ok(Items(words)) } else { Err(Malformed("half an item")) }
    }
    /// Words of this node's own, to be sent: nobody has to check them.
    pub(crate) fn own(words: &'a [u64]) -> Items<'a> {
        Items(words)
    }
    /// Appends an item's words.
    pub fn push(words: &mut Vec<u64>, item: &Item) {
        words.extend([u64::from(item.entry) | if item.cancel.is_some() { CANCELS } else { 0 }, item.weight]);
        if let Some(reader) = item.cancel {
            words.extend([pair(reader.node.0, reader.import), reader.serial.into()]);
        }
    }
}

impl Iterator for Items<'_> {
    type Item = Item;
    fn next(&mut self) -> Option<Item> {
        let &[first, weight, ref rest @ ..] = self.0 else { return None };
        self.0 = rest;
        let mut item = Item { entry: first as u32, weight, cancel: None };
        if first & CANCELS != 0
            && let &[who, serial, ref rest @ ..] = self.0
        {
            self.0 = rest;
            let (node, import) = (NodeId(who as u32), (who >> 32) as u32);
            item.cancel = Some(Reader { node, import, serial: serial as u32 });
        }
        Some(item)
    }
}

/// How far an import is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Distance {
    /// The export at the receiver.
    pub entry: u32,
    /// The import at the sender.
    pub import: u32,
    /// Its weight.
    pub weight: u64,
    /// 1: the sender's program holds it. At most [`FAR`].
    pub distance: u8,
}

/// Several [`Distance`]s, each as three words: entry and import, the weight, the distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distances<'a>(&'a [u64]);

impl<'a> Distances<'a> {
    /// Checks all words.
    pub fn new(words: &'a [u64]) -> Result<Distances<'a>, Malformed> {
        let (items, rest) = words.as_chunks::<3>();
        if !rest.is_empty() || !items.iter().all(|[_, _, distance]| (1..=u64::from(FAR)).contains(distance)) {
            return Err(Malformed("an unknown distance"));
        }
        Ok(Distances(words))
    }
    /// Appends an item's words.
    pub fn push(words: &mut Vec<u64>, item: &Distance) {
        debug_assert!((1..=FAR).contains(&item.distance), "W1: {item:?}");
        words.extend([pair(item.entry, item.import), item.weight, item.distance.into()]);
    }
}

impl Iterator for Distances<'_> {
    type Item = Distance;
    fn next(&mut self) -> Option<Distance> {
        let &[both, weight, distance, ref rest @ ..] = self.0 else { return None };
        self.0 = rest;
        Some(Distance { entry: both as u32, import: (both >> 32) as u32, weight, distance: distance as u8 })
    }
}
