//! The protocol: what a node does about terms of others. Pure: no clock, no thread, nothing sent but through
//! [`Post`], and no order that depends on a hash.
//!
//! Export: *strong* while weight is out (its term is a root); without weight but with readers *weak* (alive as long
//! as its variable is); free otherwise. Import: *unread*, *reading* (a `Read` is under way for it), *gone* (its
//! number may be used again, with another serial).
//!
//! Invariants; the tests check them after every step of every run:
//! - D1 The weight of an export is the sum of the weights of its imports and of what is under way. So an entry that
//!   anybody refers to exists.
//! - D2 A `Read` carries no weight: whoever sends it holds an import of the same export, and what releases that
//!   import travels behind it.
//! - D3 Along a chain of references labels fall (see [`binding`]): chains end, and no read waits for itself.
//! - D4 A reader is answered, passed on or discarded, once. It is weak: an answer for an import that is used for
//!   something else by then differs in its serial, and is only taken apart for the references in it.
//! - D6 An import is of another node, and has weight: what is made of words that [`Tokens`](crate::Tokens) has checked
//!   refers to nodes of the program.
//! - D7 Nothing is sent to a node that is dead, and nothing that it had is given back: see `losses`.
//! - D5 What an event says may be out of date when it is handled: each one looks again at the terms that it names.

mod binding;
mod cycles;
mod exports;
mod imports;
mod levels;
mod losses;
mod receive;
mod releases;
#[cfg(test)]
mod tests;

use crate::store::{ExportId, ImportId, Seen, Store};
use crate::wire::message::{Item, Items, LOG2_MAX, Malformed, Message, NODES_MAX, Reader, TABLES};
use crate::{By, Goal, KINDS};
use cycles::Suspects;
pub use exports::DEPTHS;
use exports::{Export, Exports, Way};
use fabric::NodeId;
use imports::{Import, Imports};
use releases::Releases;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};

/// Sends messages; see [`Message`] for the order that it must keep. `to` may be the node itself.
pub trait Post {
    /// Sends one.
    fn post(&mut self, to: NodeId, message: Message<'_>);
}

/// How much of a structure an answer brings. Atoms and numbers always come along; what does not is a reference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Depth {
    /// The structure itself.
    Off,
    /// Structures that are its parts, too.
    OneLevel,
    /// Of a list, conses: one at first, then twice as many with each answer, at most 256; of other structures as many
    /// that are inside them. Of a term that is walked whole more with each answer, at most 920 KB.
    #[default]
    Adaptive,
}

/// What a protocol is made with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// This node.
    pub node: NodeId,
    /// How many there are: at most [`crate::NODES_MAX`].
    pub nodes: u32,
    /// An export gives a new reference a weight of 2 to this power: at most 62.
    pub exponent: u8,
    /// What reads ask for.
    pub depth: Depth,
    /// Structures get identities when they are exported again, or are larger than 32 words.
    pub identities: bool,
    /// How many nodes may pass a read on before one of them waits for the value itself.
    pub hops: u16,
    /// Imports at this distance are suspected of being garbage (see [`cycles`]).
    pub far: u8,
    /// A batch of releases is sent when it has this number of items.
    pub batch: usize,
    /// Every reference is found again when the same term is sent again; otherwise those to the tails of lists that
    /// answer are not (white ones), and those to variables of thrown goals that no other node knew.
    pub black: bool,
}

/// What is alive is seldom farther than from one node to the next and to a third.
pub(crate) const SUSPECT: u8 = 4;

impl Options {
    /// Those of a node among `nodes`.
    pub fn new(node: NodeId, nodes: u32) -> Options {
        Options {
            node,
            nodes,
            exponent: 56,
            depth: Depth::default(),
            identities: true,
            hops: 16,
            far: SUSPECT,
            batch: 64,
            black: false,
        }
    }
}

/// What ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A message that no node of this program sends.
    Violation {
        /// Its sender.
        from: NodeId,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The heap has no room for a message's terms.
    Full,
}

impl Fault {
    /// Of words from this node that [`Message::read`] refused.
    pub fn of(from: NodeId, malformed: Malformed) -> Fault {
        Fault::Violation { from, what: malformed.0 }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Violation { from, what } => {
                write!(f, "node {} sent a message that no node of this program sends: {what}", from.0)
            }
            Fault::Full => {
                write!(f, "the heap limit is reached: there is no room for the terms of a message")
            }
        }
    }
}

impl std::error::Error for Fault {}

/// What a node has sent, by kind ([`crate::KINDS`]), and what its tables hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Messages, and notices (see `balance`).
    pub sent: [u64; KINDS.len()],
    /// Goals that went to a node that had none.
    pub gifts: u64,
    /// Items in the messages that release.
    pub released: u64,
    /// Structures that got an identity here.
    pub identified: u64,
    /// References to structures of which this node had a copy.
    pub resolved: u64,
    /// Reads of terms of other nodes that may be garbage in cycles.
    pub suspected: u64,
    /// Reads, by what they asked for: a structure, one level more, or 2 to the power of the index less 2 of conses or
    /// structures; from index 11 on, of a term that is wanted whole, 3.6 KB times 2 to the power of the index less 11.
    pub reads: [u64; DEPTHS],
    /// Exports that had to be made for imports without weight to give away.
    pub indirect: u64,
    /// Exports that are not free, and most of them that there were.
    pub exports: usize,
    /// See `exports`.
    pub exports_most: usize,
    /// Imports that are not gone, and most of them that there were.
    pub imports: usize,
    /// See `imports`.
    pub imports_most: usize,
}

/// How a goal goes to another node.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The arguments (bit 0 is the first) that travel with `levels` of their structure; the others as references.
    /// Argument 64 and the following are as if their bits were 0.
    pub values: u64,
    /// See `values`.
    pub levels: u8,
    /// The program does not say where: it goes to a node that has none.
    pub gift: bool,
    /// The arguments that are variables to which no other reference leads but one of this node.
    pub white: u64,
}

/// One node's tables.
#[derive(Clone, Debug)]
pub struct Protocol {
    options: Options,
    exports: Exports,
    imports: Imports,
    releases: Releases,
    suspects: Suspects,
    /// D7: nodes that are dead.
    lost: Vec<NodeId>,
    /// The next structure identity.
    identity: u64,
    sent: [u64; TABLES],
    gifts: u64,
    resolved: u64,
    suspected: u64,
    released: u64,
    reads: [u64; DEPTHS],
    indirect: u64,
    /// Room for the words of the next term to be sent.
    buffer: Vec<u64>,
    /// The import that the last message's terms brought for the rest of a list.
    rest: Option<ImportId>,
    #[cfg(test)]
    without: Option<Rule>,
}

/// Rules that tests take away one at a time, to see that they are needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Rule {
    /// Labels have a depth.
    Depth,
    /// An export with readers is not free.
    Readers,
    /// An answer for a variable that was bound here is unified with it.
    Compare,
    /// An answer is for the serial that asked.
    Serial,
    /// A grant is for the import only if it still is of that export.
    GrantKey,
    /// A reference to what is imported adds weight to that import.
    ImportHash,
    /// A term that is exported has no second export.
    ExportHash,
    /// An import that has no weight has no second export either.
    IndirectHash,
    /// An import gives a part of its weight away.
    Split,
    /// An import without weight asks for more.
    Want,
    /// A reference to its home has no weight.
    HomeFree,
    /// An import that dies takes its read back.
    Cancel,
    /// A read of an import is passed on.
    Forward,
    /// It is not passed on for ever.
    Hops,
    /// Arguments that a goal waits for travel with it.
    Values,
    /// Each answer of a list brings more.
    Chunks,
    /// The rest of a long list is read before it is wanted.
    Ahead,
    /// The rest of a list is not noted.
    White,
    /// Releases travel together.
    Batch,
    /// What has an identity and is there is not read.
    Copies,
    /// An export is far only if all of its weight is.
    AllFar,
    /// What a suspect's answer does not bring is read at once.
    Parts,
    /// That gets identities.
    Frontier,
    /// An answer to a suspect for which there is no room is taken apart.
    Room,
}

impl Hash for Protocol {
    /// All that later messages depend on.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Protocol { exports, imports, releases, suspects, lost, identity, .. } = self;
        (exports, imports, releases, suspects, lost, identity).hash(state);
    }
}

impl Protocol {
    /// Empty tables.
    pub fn new(options: Options) -> Protocol {
        let Options { node, nodes, exponent, .. } = options;
        // W1: these go into words.
        assert!(node.0 < nodes && nodes <= NODES_MAX && exponent <= LOG2_MAX, "{options:?}");
        Protocol {
            options,
            exports: Exports::default(),
            imports: Imports::default(),
            releases: Releases::default(),
            suspects: Suspects::default(),
            lost: Vec::new(),
            identity: 0,
            sent: [0; TABLES],
            gifts: 0,
            resolved: 0,
            suspected: 0,
            released: 0,
            reads: [0; DEPTHS],
            indirect: 0,
            buffer: Vec::new(),
            rest: None,
            #[cfg(test)]
            without: None,
        }
    }
    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }
    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        let Protocol {
            sent, gifts, resolved, suspected, released, reads, indirect, exports, imports, ..
        } = self;
        let mut all = [0; KINDS.len()];
        all[..TABLES].copy_from_slice(sent);
        Counters {
            sent: all,
            gifts: *gifts,
            released: *released,
            identified: self.identity,
            resolved: *resolved,
            suspected: *suspected,
            reads: *reads,
            indirect: *indirect,
            exports: exports.used(),
            exports_most: exports.most(),
            imports: imports.used(),
            imports_most: imports.most(),
        }
    }
    /// An empty buffer. Whoever has sent what is in it gives it back.
    fn buffer(&mut self) -> Vec<u64> {
        let mut words = std::mem::take(&mut self.buffer);
        words.clear();
        words
    }
    /// Whether this message may be taken apart if there is no room for its terms: they move (see [`cycles`]).
    pub(crate) fn can_spare(&self, message: &Message<'_>) -> bool {
        let Message::Answer { reader, .. } = message else { return false };
        self.imports.get(ImportId(reader.import)).is_some_and(|entry| entry.moving && entry.ahead)
    }
    /// Messages about terms and goals that this node has sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.iter().sum()
    }
    /// To do something, with the node's heap and network.
    pub fn with<'a, S: Store, P: Post>(&'a mut self, store: &'a mut S, post: &'a mut P) -> With<'a, S, P> {
        With { protocol: self, store, post }
    }
    /// Whether a rule holds: always, but in tests.
    #[cfg(not(test))]
    fn rule(&self, _: Rule) -> bool {
        true
    }
    #[cfg(test)]
    fn rule(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

/// A node's tables with its heap and network: all that the protocol does.
pub struct With<'a, S, P> {
    protocol: &'a mut Protocol,
    store: &'a mut S,
    post: &'a mut P,
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// Sends a goal to another node. A variable of it that no other node knows is taken to have one reference besides,
    /// as most have that a clause makes for a goal and for itself: what is sent is white. If others are sent later,
    /// there are entries to spare, and nothing else.
    pub fn throw(&mut self, to: NodeId, goal: &Goal<S::Value>, how: How) {
        if self.protocol.is_lost(to) {
            return;
        }
        let mut words = self.protocol.buffer();
        let thrown = !self.protocol.options.black && self.protocol.rule(Rule::White);
        let bit = |mask: u64, number: usize| number < 64 && mask >> number & 1 == 1;
        for (number, &argument) in goal.args.iter().enumerate() {
            let travels = bit(how.values, number) && self.protocol.rule(Rule::Values);
            let levels = if travels { how.levels } else { 0 };
            let way = Way { black: !bit(how.white, number), thrown, ..Way::low(to) };
            self.put(&mut words, argument, levels, way);
        }
        let arity = u8::try_from(goal.args.len()).expect("a predicate has at most 255 arguments");
        let arguments = self.tokens(&words, arity.into());
        let (priority, predicate, gift) = (goal.priority, goal.predicate.0, how.gift);
        self.protocol.gifts += u64::from(gift);
        self.send(to, Message::Throw { priority, predicate, arity, gift, arguments });
        self.protocol.buffer = words;
    }

    /// Goals of this node wait for an import, or readers of other nodes do.
    pub fn wanted(&mut self, import: ImportId) {
        if self.unread(import).is_some() {
            self.ask(import, self.depth(import));
        } else if let Some(entry) = self.protocol.imports.get_mut(import) {
            entry.ahead = false;
        }
    }

    /// Of an import that is going to be read, all is wanted that is inside it.
    pub fn want_whole(&mut self, import: ImportId) {
        if let Some(entry) = self.protocol.imports.get_mut(import) {
            entry.chunk = entry.chunk.max(exports::ALL);
        }
    }

    /// An import got a value here, by that goal.
    pub fn bound(&mut self, import: ImportId, by: By) {
        let Some(&Import { home, entry, chunk, .. }) = self.protocol.imports.get(import) else { return };
        let Some(cell) = self.store.cell(import) else { return };
        if matches!(self.store.look(cell), Seen::Import(_) | Seen::Variable { .. }) {
            return;
        }
        if self.protocol.is_lost(home) {
            return self.gone(import);
        }
        let goal = self.store.leaving_binding(by, home);
        let mut words = self.protocol.buffer();
        // Its home unifies it with what it has. If both go on inside, more comes with each message.
        self.put_inside(&mut words, cell, chunk, Way::low(home));
        match goal {
            Some(goal) => self.throw_binding(import, &goal, &words),
            None => self.give_back(import, home, entry, &words),
        }
        self.protocol.buffer = words;
    }

    /// A variable that was marked for this export got a value or became a reference.
    pub fn marked(&mut self, export: ExportId) {
        let Some(entry) = self.protocol.exports.get_mut(export) else { return };
        entry.hooked = false;
        let waits = !entry.readers.is_empty();
        let Some(cell) = self.store.anchored(export) else { return };
        let again = match self.store.look(cell) {
            Seen::Variable { .. } => true,
            Seen::Import(import) if self.reading(import) => {
                if waits {
                    self.wanted(import);
                }
                waits
            }
            _ => {
                for waiting in self.protocol.exports.take_readers(export) {
                    self.read(export, waiting, 0, false);
                }
                false
            }
        };
        if again {
            self.hook(export, cell);
        }
        self.try_free(export);
    }

    /// The variable of an import has died.
    pub fn dead(&mut self, import: ImportId) {
        let Some(entry) = self.protocol.imports.get(import).copied() else { return };
        if self.store.cell(import).is_some() {
            return;
        }
        let cancel = (entry.reading && self.protocol.rule(Rule::Cancel)).then(|| self.reader(import));
        self.release(entry.home, Item { entry: entry.entry, weight: entry.weight, cancel });
        self.gone(import);
    }

    /// The term of an export that was not held has died: nobody can bind what its readers wait for.
    pub fn lost(&mut self, export: ExportId) {
        let Some(entry) = self.protocol.exports.get(export) else { return };
        if entry.weight == 0 && self.store.anchored(export).is_none() {
            self.protocol.exports.take_readers(export);
            self.try_free(export);
        }
    }

    /// Sends the releases that were kept for a batch. A node that does not call this before it rests keeps entries of
    /// others alive.
    pub fn flush(&mut self) {
        while let Some(to) = self.protocol.releases.first() {
            self.send_releases(to);
        }
    }

    // ---- what the modules share ----------------------------------------------------------------

    /// Sends a message.
    fn send(&mut self, to: NodeId, message: Message<'_>) {
        debug_assert!(to.0 < self.protocol.options.nodes, "D6: {message:?} to {to:?}");
        if self.protocol.is_lost(to) {
            return;
        }
        self.protocol.sent[message.kind()] += 1;
        self.post.post(to, message);
    }

    /// Keeps an item for the next batch. Never too late: weight that comes back later only keeps an entry alive.
    fn release(&mut self, to: NodeId, item: Item) {
        debug_assert!(to != self.protocol.options.node && item.weight > 0, "D6: {item:?} to {to:?}");
        self.protocol.released += 1;
        let batch = if self.protocol.rule(Rule::Batch) { self.protocol.options.batch } else { 1 };
        if self.protocol.releases.add(to, &item) >= batch {
            self.send_releases(to);
        }
    }

    fn send_releases(&mut self, to: NodeId) {
        let words = self.protocol.releases.take(to);
        debug_assert!(Items::new(&words, self.protocol.options.nodes).is_ok());
        self.send(to, Message::Release { items: Items::own(&words) });
        self.protocol.releases.give_back(to, words);
    }

    /// How much of its value a goal that waits for an import is going to use, so far as one can tell.
    fn depth(&self, import: ImportId) -> u8 {
        let chunk = self.protocol.imports.get(import).map_or(0, |entry| entry.chunk);
        exports::depth_byte(self.protocol.options.depth, chunk)
    }

    /// An import is read from now on.
    fn ask(&mut self, import: ImportId, depth: u8) {
        if let Some(entry) = self.protocol.imports.get_mut(import) {
            debug_assert!(!entry.reading, "D4: a second read of {import:?}");
            entry.reading = true;
            self.send_read(import, depth, false);
        }
    }

    /// The same, before any goal waits.
    fn ask_ahead(&mut self, import: ImportId, depth: u8) {
        self.ask(import, depth);
        if let Some(entry) = self.protocol.imports.get_mut(import) {
            entry.ahead = true;
        }
    }

    fn send_read(&mut self, import: ImportId, depth: u8, peek: bool) {
        let reader = self.reader(import);
        let Some(&Import { home, entry, .. }) = self.protocol.imports.get(import) else { return };
        debug_assert!(home != self.protocol.options.node, "D6: a read of this node's own");
        self.protocol.reads[usize::from(depth)] += 1;
        self.send(home, Message::Read { entry, reader, depth, hops: 0, peek });
    }

    /// The import as a reader.
    fn reader(&self, import: ImportId) -> Reader {
        let serial = self.protocol.imports.serial(import);
        Reader { node: self.protocol.options.node, import: import.0, serial }
    }

    fn reading(&self, import: ImportId) -> bool {
        self.protocol.imports.get(import).is_some_and(|entry| entry.reading)
    }

    /// The entry, if its variable still stands for it and no `Read` is under way.
    fn unread(&self, import: ImportId) -> Option<&Import> {
        let entry = self.protocol.imports.get(import)?;
        let open = self.store.look(self.store.cell(import)?) == Seen::Import(import);
        (open && !entry.reading).then_some(entry)
    }

    /// Ends an import by unifying its export with one term, these words.
    fn give_back(&mut self, import: ImportId, home: NodeId, entry: u32, words: &[u64]) {
        // To put the words together may have split the weight.
        let weight = self.protocol.imports.get(import).map_or(0, |import| import.weight);
        debug_assert!(weight > 0, "D6: {import:?} has no weight to give back");
        let value = self.tokens(words, 1);
        self.send(home, Message::Unify { entry, weight, value });
        self.gone(import);
    }

    fn gone(&mut self, import: ImportId) {
        self.store.forget(import);
        if self.protocol.imports.remove(import).is_some_and(|entry| entry.moving) {
            self.protocol.suspects.came();
            self.move_suspects();
        }
    }

    /// An export waits for its variable.
    fn hook(&mut self, export: ExportId, cell: S::Value) {
        let Some(entry) = self.protocol.exports.get_mut(export) else { return };
        if !std::mem::replace(&mut entry.hooked, true) {
            self.store.mark(cell, export);
        }
    }

    /// Frees an export that nobody refers to or waits for.
    fn try_free(&mut self, export: ExportId) {
        self.forget_told(export);
        let keep_readers = self.protocol.rule(Rule::Readers);
        match self.protocol.exports.get(export) {
            Some(Export { weight: 0, readers, .. }) if readers.is_empty() || !keep_readers => {
                self.store.release(export);
                self.protocol.exports.remove(export);
            }
            Some(Export { weight: 0, .. }) => self.store.hold(export, false),
            _ => {}
        }
    }
}
