//! Terms of other nodes and for other nodes, as a node's worker 0 knows them (Nakajima et al., ICOT TR-486, 1989,
//! section 3). What they mean, and what is said about them between nodes, is somebody else's business: this module
//! keeps words alive and tells what happens to them.
//!
//! An *import* is an unbound cell that stands for a term elsewhere. While nobody reads it, its content is a GENERATOR
//! record of `fifth:external(Cell, Import)`; once a goal waits for it, the record is a goal of that predicate, a
//! daemon, which waits first. An *export* is an *anchored* word; a variable that is one has a goal
//! `fifth:exported(Cell, Export)` that waits for it, its *marker*. Both goals have the priority [`OUTWARD`]: they are
//! never reduced, but become [`Outward`] items when they are resumed.
//!
//! Invariants:
//! - Y1 A minor collection looks at those anchors, imports and markers only that lead to young objects: they are in
//!   the `young` lists. So its cost does not grow with what was exported long ago.
//! - Y2 Imports are weak: an entry has the address of its record, which only the import's cell keeps alive. After a
//!   collection's trace, and before what was evacuated is used again, an entry whose record was not copied is dead.
//! - Y3 An anchor that is no root is kept by its marker alone, in the same way.
//! - Y5 Of an import that is being read, everything that waits for it is kept: daemons and markers, too, for another
//!   node may give it a value.
//! - (Y6 of `identities`, Y7 of `far`.)
//! - Y4 What an item of the queue holds is a root. So nothing that it names dies before it was told.
//! - Y8 Worker 0 has the tables, and makes all records of imports and all markers. What another worker has to tell, it
//!   keeps in a queue of its own, and sends it to worker 0 at its next attention, as mail. Such an item holds the
//!   record, too, whose arguments stay (H6 of `suspend`): so the tables' addresses are right until worker 0 learns of
//!   it, and an item whose record is no longer in the tables is out of date.
//! - Y9 With several workers a variable that is neither an import nor marked becomes a reference to one that is, never
//!   the other way round, and worker 0 alone makes one of two that are. No variable ceases to be an import or marked
//!   while it is unbound. So references form no circle: among those that are neither, U3 of `unify` holds.
//! - Y10 A variable that is private to another worker is not marked: one of worker 0's own stands for it, and that
//!   worker unifies the two.
//! - Y11 What a worker that is alone has to tell may wait for more: until there are [`BUNCH`] items, until
//!   [`BUNCH_BYTES`] more are allocated, or until anything else wants attention, nothing being ready included. So a
//!   program that throws goals one after the other leaves generated code once for many of them, and they travel
//!   together. A loop that does not allocate is ended by the ticker: no goal waits for longer than two ticks.
//! - Y12 While too much is under way from this node, worker 0 has no turn. Meanwhile, and while little room is left for
//!   what others have thrown to it (`Node::set_under_way`), another worker that has anything to tell waits between two
//!   reductions: so what is kept for other nodes stays bounded.
//! - Y13 A major collection that leaves less room than it should does not end the run of a node which *hopes*: other
//!   nodes may hold garbage in rings, and worker 0 looks outside the node at once. Whoever sees that there is no hope
//!   says so; and what is in use stays within the heap limit.

mod far;
mod identities;
mod known;
mod leaving;
mod look;
#[cfg(all(test, models))]
mod models;
pub(crate) mod outward;
pub(crate) mod state;
#[cfg(all(test, not(models)))]
mod tests;

pub use crate::goals::abroad::far::FAR;
pub use crate::goals::abroad::known::Known;
pub use crate::goals::abroad::outward::{By, Goal, Outward};
pub(crate) use crate::goals::abroad::state::Words;

use crate::goals::abroad::known::number_in;
use crate::goals::abroad::state::{Abroad, Import, Item, Kind, place};
use crate::goals::shoen::is_lane;
use crate::goals::state::SystemGoals;
use crate::goals::suspend::{RESUMED, record_class};
use crate::goals::unify::Written;
use crate::memory::ranges::{compare_exchange, pointer, read, write};
use crate::memory::tuning::LARGE_WORDS;
use crate::terms::{View, deref};
use crate::worker::{Options, PRIORITY_MAX, Worker};
use term::Word;
use term::abi::{Position, PredicateId};
use term::layout::{
    self, HOOK_SUSPENSION, SUSPENSION_ARGS, SUSPENSION_NEXT, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{self, Tag, UNBOUND};

/// Words of a record of either predicate.
const RECORD_WORDS: usize = SUSPENSION_ARGS + 2;
/// Y11: items that are told at once, at most; bytes that are allocated before fewer are told.
const BUNCH: usize = 32;
const BUNCH_BYTES: usize = 4 << 10;
/// The priority of the two predicates' goals, below all others.
pub(crate) const OUTWARD: i64 = -1;

fn argument(record: usize, index: usize) -> Word {
    read(record + 8 * (SUSPENSION_ARGS + index))
}

/// Y5: whether anything else waits for the variable of an import's record.
fn is_waited_for(record: usize) -> bool {
    let variable = deref(argument(record, 0));
    if record_class(record) != layout::SUSPENSION || variable.tag() != Tag::Ref {
        return false;
    }
    let mut list = read(variable.address());
    while list.tag() == Tag::Var && list != UNBOUND {
        let link = list.address();
        let hook = record_class(link) == layout::HOOK;
        let waits = if hook { read(link + 8 * HOOK_SUSPENSION).address() } else { link };
        if waits != record && read(waits + 8 * SUSPENSION_PREDICATE) != RESUMED {
            return true;
        }
        list = read(link + 8 * SUSPENSION_NEXT);
    }
    false
}

impl Import {
    /// Y5: its variable, if it is to be kept.
    fn awaited(self) -> Option<Word> {
        match self {
            Import::Record(record) => is_waited_for(record).then(|| argument(record, 0)),
            _ => None,
        }
    }
}

impl Worker {
    /// Y8: worker 0 learns it; of others it is sent there.
    fn tell(&mut self, what: Kind, words: &[Word]) {
        let item = Item { what, words: Words::from_slice(words) };
        if self.index != 0 {
            self.abroad.queue.push_back(item);
            return self.abi.want_attention();
        }
        self.learn(item);
        if !self.bunches() {
            self.abi.want_attention();
        }
    }
    /// Y11: whether what is in the queue may wait for more. Then it is seen to that it does not wait for long.
    fn bunches(&mut self) -> bool {
        let count = self.abroad.queue.len();
        if count >= BUNCH || !self.is_single() || self.is_metered() {
            return false;
        }
        if count == 1 {
            self.attention.look_at(self.abi.heap as usize + BUNCH_BYTES);
            let first = self.attention.first();
            self.abi.limit_after = self.abi.limit_after.min(first);
            if self.abi.limit() > first {
                self.abi.set_limit(first);
            }
            // K2: after the limit was set.
            return !self.is_woken() && (self.options.ticks || self.abroad.begin_bunch(&self.waker()));
        }
        true
    }
    /// What a worker of this node tells: it changes the tables, and other nodes may have to be told.
    fn learn(&mut self, Item { what, mut words }: Item) {
        debug_assert!(self.index == 0, "Y8: worker {} has no tables", self.index);
        match what {
            Kind::Wanted(import, _) | Kind::Bound(import, _) => {
                let record = words.pop().expect("with its record").address();
                if self.abroad.import(import) != Import::Record(record) {
                    if let Kind::Bound(_, by) = what {
                        self.end_binding(by.lane);
                    }
                    return;
                }
                if matches!(what, Kind::Bound(..)) {
                    self.abroad.set_import(import, Import::Bound(words[0]));
                    self.forget_arguments(record, 2);
                }
            }
            Kind::Marked(export) => {
                let record = words.pop().expect("with its record").address();
                self.forget_arguments(record, 2);
                let anchor = self.abroad.young_anchor(export);
                match anchor.marker {
                    marker if marker == record => (anchor.marker, anchor.word) = (0, words[0]),
                    // The others are of exports that had this number before. While one is queued, the word is a root:
                    // of what was none, its own marker has it (Y3).
                    0 if !anchor.is_root() => return,
                    marker if !anchor.is_root() => anchor.word = argument(marker, 0),
                    _ => {}
                }
                anchor.queued += 1;
            }
            Kind::Offered(predicate) => {
                let first = self.abroad.offered.is_empty();
                if !self.abroad.offered.insert(predicate) || !first {
                    return;
                }
            }
            Kind::Placed(predicate) => {
                self.abroad.placed.insert(predicate);
                return;
            }
            Kind::Throw { .. } | Kind::Looked(..) | Kind::Alias(_) => {}
        }
        self.abroad.queue.push_back(Item { what, words });
    }
    /// Y8: mail of this module's kind. Answers true.
    pub(crate) fn learn_mail(&mut self, words: &[Word]) -> bool {
        self.learn(Item::of_mail(words));
        true
    }
    /// Whether something happened that was not told yet.
    pub(crate) fn has_outward(&self) -> bool {
        !self.abroad.queue.is_empty()
    }
    /// The node that a number means, unless it is this one; an error if there is none. A node that is alone stands
    /// for all, and the next one that lives for one that is dead.
    pub(crate) fn other_node(&self, node: i64) -> Result<Option<u32>, String> {
        let Options { node: own, nodes, .. } = self.options;
        if nodes == 1 || node == own.into() {
            return Ok(None);
        }
        let valid = u32::try_from(node).ok().filter(|&node| node < nodes);
        let Some(node) = valid else {
            return Err(format!("there is no node {node}: the nodes are 0 to {}", nodes - 1));
        };
        // X21 of `shoen`.
        let node = self.shared.shoens.losses.living(node);
        Ok((node != own).then_some(node))
    }
    /// A goal of the running priority is for another node.
    pub(crate) fn throw(&mut self, node: u32, predicate: PredicateId, args: &[Word]) {
        self.throw_at(self.abi.priority, node, predicate, args);
    }
    /// A goal of this priority is.
    pub(crate) fn throw_at(&mut self, priority: i64, node: u32, predicate: PredicateId, args: &[Word]) {
        if is_lane(priority) {
            return self.throw_in(priority, node, predicate, args);
        }
        self.shared.shoens.losses.goes_uncounted(node);
        self.throw_outside(priority, node, predicate, args);
    }
    /// X20 of `shoen`: a goal of a lane is.
    #[cold]
    pub(crate) fn throw_in(&mut self, lane: i64, node: u32, predicate: PredicateId, args: &[Word]) {
        if self.is_dead(lane) {
            return;
        }
        self.lanes.send_off(&self.shared.shoens, lane);
        let Goal { priority, predicate, args } = self.leaving(lane, node, predicate, args);
        self.throw_outside(priority, node, predicate, &args);
    }
    /// A goal that belongs to no shoen is.
    pub(crate) fn throw_outside(&mut self, priority: i64, node: u32, predicate: PredicateId, args: &[Word]) {
        debug_assert!(node != self.options.node && node < self.options.nodes, "a goal for node {node}");
        debug_assert!(!is_lane(priority), "X20: lanes are of one node");
        self.tell(Kind::Throw { node, priority, predicate }, args);
    }
    /// A goal of this predicate may be reduced at any node.
    pub(crate) fn offer(&mut self, predicate: PredicateId) {
        if self.options.nodes > 1 && !self.abroad.offered.contains(&predicate) {
            self.tell(Kind::Offered(predicate), &[]);
            self.abroad.offered.insert(predicate);
        }
    }
    /// The program has placed a goal of this predicate at this node.
    pub(crate) fn place_here(&mut self, predicate: PredicateId) {
        if self.options.balance && !self.abroad.placed.contains(&predicate) {
            self.tell(Kind::Placed(predicate), &[]);
            self.abroad.placed.insert(predicate);
        }
    }
    /// Whether goals of this predicate may be reduced at any node.
    pub(crate) fn may_leave(&self, predicate: PredicateId) -> bool {
        let Abroad { offered, placed, .. } = &self.abroad;
        offered.contains(&predicate) || self.options.balance && !placed.contains(&predicate)
    }
    /// An import is read though no goal waits for it.
    pub(crate) fn read_abroad(&mut self, variable: Word) {
        let variable = deref(variable);
        if self.import_of(variable).is_some() && self.has_generator(read(variable.address())) {
            self.run_generator(variable.address());
        }
    }
    /// A daemon of this module was resumed; `args` is the address of its arguments.
    #[cold]
    pub(crate) fn resumed_outward(&mut self, goal: Word, args: usize) {
        let (cell, number) = (read(args), read(args + 8).as_int() as u32);
        let external = PredicateId::of_goal_word(goal) == self.system_goals.external;
        debug_assert!(external || goal == self.system_goals.exported.goal_word(), "OUTWARD is theirs alone");
        let what = match external {
            true => Kind::Bound(number, self.begin_binding(Position::NONE)),
            false => Kind::Marked(number),
        };
        self.tell(what, &[cell, pointer(Tag::Object, args - 8 * SUSPENSION_ARGS)]);
    }
    /// Whether an unbound cell's content is the generator of an import that nobody reads.
    pub(crate) fn is_unread(&self, content: Word) -> bool {
        self.has_generator(content)
            && read(content.address() + 8 * SUSPENSION_PREDICATE) == self.system_goals.external.goal_word()
    }
    /// The generator of an import runs, unless another worker was first: its record is that of a goal which waits.
    pub(crate) fn want_import(&mut self, record: usize) {
        self.want_import_as(record, false);
    }
    fn want_import_as(&mut self, record: usize, whole: bool) {
        let [generator, suspension] =
            [layout::GENERATOR, layout::SUSPENSION].map(|class| word::object_header(class, RECORD_WORDS - 1));
        if self.is_alone() {
            write(record, suspension);
        } else if !compare_exchange(record, generator, suspension) {
            return;
        }
        let import = argument(record, 1).as_int() as u32;
        self.tell(Kind::Wanted(import, whole), &[argument(record, 0), pointer(Tag::Object, record)]);
    }
    /// Unifies an import that nobody reads with a value, or leaves to others what that means: what became of its cell.
    /// `None`: it is to be read, or is none.
    pub(crate) fn unify_unread(&mut self, variable: Word, other: Word) -> Option<Written> {
        let content = read(variable.address());
        if !self.is_unread(content) {
            return None;
        }
        if other.tag() != Tag::Ref {
            let record = content.address();
            let import = argument(record, 1).as_int() as u32;
            let written = self.replace(variable.address(), content, other);
            if written == Written::Yes {
                let by = self.begin_binding(self.waiting.position);
                self.tell(Kind::Bound(import, by), &[variable, pointer(Tag::Object, record)]);
            }
            return Some(written);
        }
        self.is_abroad(other).then(|| {
            self.tell_alias(variable, other);
            Written::Yes
        })
    }
    /// Two variables that goals wait for are to be one: that one first which is an import or marked. `None`: both
    /// are, and it is left to others.
    pub(crate) fn alias_abroad(&mut self, a: Word, b: Word) -> Option<[Word; 2]> {
        match (self.is_abroad(a), self.is_abroad(b)) {
            (true, true) => {
                self.tell_alias(a, b);
                None
            }
            (false, true) => Some([b, a]),
            _ => Some([a, b]),
        }
    }
    /// Y9: of two unbound cells with these contents, the first is to become a reference to the second, unless the two
    /// change places. `None`: others make them one, or they are to be looked at again.
    pub(crate) fn turn_abroad(&mut self, from: (Word, Word), to: (Word, Word)) -> Option<bool> {
        let [of_from, of_to] = [from, to].map(|(_, content)| self.is_of_others(content));
        // What was read is of the two variables only if they are unbound still.
        if [from, to].iter().any(|(variable, content)| read(variable.address()) != *content) {
            return None;
        }
        if of_from && of_to {
            self.tell_alias(from.0, to.0);
        }
        (!of_from || !of_to).then_some(of_from)
    }
    /// Two variables are to be one, which others decide.
    pub(super) fn tell_alias(&mut self, a: Word, b: Word) {
        let by = self.begin_binding(self.waiting.position);
        self.tell(Kind::Alias(by), &[a, b]);
    }
    fn is_of_others(&self, content: Word) -> bool {
        let SystemGoals { external, exported, .. } = self.system_goals;
        number_in(content, external).is_some() || number_in(content, exported).is_some()
    }
}

/// For whoever carries terms between nodes.
impl Worker {
    /// Imports that have died since this was last asked for.
    pub(crate) fn take_dead(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.abroad.dead)
    }
    /// Exports that were no roots and have lost their marker since this was last asked for.
    pub(crate) fn take_lost(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.abroad.lost)
    }
    /// Keeps a word alive under this number, until [`Worker::release_anchor`].
    pub(crate) fn anchor(&mut self, export: u32, word: Word) {
        debug_assert!(self.index == 0, "Y8: worker {} has no tables", self.index);
        let word = deref(word);
        let anchor = if word.is_immediate() {
            place(&mut self.abroad.anchors, export)
        } else {
            self.abroad.young_anchor(export)
        };
        (anchor.word, anchor.root, anchor.distance) = (word, true, 1);
    }
    /// Whether an anchored word is a root. If it is none, it lives as long as its marker or something else keeps it;
    /// [`Worker::take_lost`] tells the end of the marker.
    pub(crate) fn hold_anchor(&mut self, export: u32, root: bool) {
        let Some(word) = self.anchored(export) else { return };
        let anchor = self.abroad.young_anchor(export);
        (anchor.word, anchor.root) = (word, root);
    }
    /// The anchored word; `None` if it is no root and has no marker.
    pub(crate) fn anchored(&self, export: u32) -> Option<Word> {
        let anchor = self.abroad.anchors.get(export as usize)?;
        if anchor.is_root() {
            return Some(deref(anchor.word));
        }
        (anchor.marker != 0).then(|| deref(argument(anchor.marker, 0)))
    }
    /// The number is free. A variable keeps its marker.
    pub(crate) fn release_anchor(&mut self, export: u32) {
        if let Some(word) = self.anchored(export) {
            self.abroad.identities.forget(word, export);
        }
        self.finish_told(Some(export));
        if let Some(anchor) = self.abroad.anchors.get_mut(export as usize) {
            anchor.clear();
        }
    }
    /// An export was made for a structure: [`Worker::noted_export`] tells it, until it is released.
    pub(crate) fn note_export(&mut self, structure: Word, export: u32) {
        let structure = deref(structure);
        if self.may_be_identified(structure) {
            self.abroad.identities.note(structure, export);
        }
    }
    /// The last export that was noted for a structure.
    pub(crate) fn noted_export(&self, structure: Word) -> Option<u32> {
        self.abroad.identities.noted(deref(structure))
    }
    /// Gives a structure an identity, unless it has one: the node that has made the identity, and a number.
    pub(crate) fn identify(&mut self, structure: Word, identity: (u32, u64)) {
        let structure = deref(structure);
        if self.may_be_identified(structure) {
            self.abroad.identities.identify(structure, identity);
        }
    }
    /// The identity of a structure.
    pub(crate) fn identity(&self, structure: Word) -> Option<(u32, u64)> {
        self.abroad.identities.identity(deref(structure))
    }
    /// The structure of this node that has an identity.
    pub(crate) fn identified(&self, identity: (u32, u64)) -> Option<Word> {
        self.abroad.identities.copy(identity)
    }
    /// Large objects do not move, and nobody tells in time that one has died.
    fn may_be_identified(&self, word: Word) -> bool {
        let words = match self.view(word) {
            View::Struct(_, arity) => arity,
            View::Unbound(_) | View::Int(_) | View::Atom(_) => return false,
            View::Cons(..) | View::Object(_) => 0,
        };
        words < LARGE_WORDS
    }
    /// An unbound variable gets a marker of this export: [`Outward::Marked`] comes when it is bound or becomes a
    /// reference. An import is read.
    pub(crate) fn mark(&mut self, variable: Word, export: u32) {
        debug_assert!(self.index == 0, "Y8: worker {} makes no markers", self.index);
        let mut variable = deref(variable);
        if variable.tag() != Tag::Ref {
            return;
        }
        // X13 of `shoen`: a goal of the running lane may get this record next.
        let (record, mut foreign) = (self.outside(|worker| worker.record(2)), None);
        write(record + 8 * SUSPENSION_PREDICATE, self.system_goals.exported.goal_word());
        write(record + 8 * SUSPENSION_PRIORITY, Word::small(OUTWARD));
        write(record + 8 * (SUSPENSION_ARGS + 1), Word::small(export.into()));
        loop {
            variable = deref(variable);
            write(record + 8 * SUSPENSION_NEXT, UNBOUND);
            write(record + 8 * SUSPENSION_ARGS, variable);
            if variable.tag() != Tag::Ref {
                return write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
            }
            let (cell, content) = (variable.address(), read(variable.address()));
            if let Some(owner) = self.owner(cell) {
                // Y10.
                foreign = Some((owner, variable));
                variable = self.new_variable();
            } else if self.has_generator(content) {
                self.run_generator(cell);
            } else if content.tag() == Tag::Var {
                write(record + 8 * SUSPENSION_NEXT, content);
                if self.replace(cell, content, pointer(Tag::Var, record)) == Written::Yes {
                    break;
                }
            }
        }
        let anchor = self.abroad.young_anchor(export);
        anchor.marker = record;
        if anchor.root {
            anchor.word = variable;
        }
        if let Some((owner, variable_there)) = foreign {
            self.post_unify_first(owner, variable_there, variable);
        }
    }
    /// A new variable that stands for the import of this number, which nobody reads yet.
    pub(crate) fn import(&mut self, import: u32) -> Word {
        let variable = self.new_variable();
        self.stand_for(variable, import);
        variable
    }
    fn stand_for(&mut self, variable: Word, import: u32) {
        self.set_generator(variable, self.system_goals.external, &[variable, Word::small(import.into())]);
        let record = read(variable.address()).address();
        // It will be a goal that waits.
        write(record + 8 * SUSPENSION_PRIORITY, Word::small(OUTWARD));
        self.abroad.set_import(import, Import::Record(record));
    }
    /// What an import's variable has become; `None`: it is dead, or was forgotten.
    pub(crate) fn import_cell(&self, import: u32) -> Option<Word> {
        match self.abroad.import(import) {
            Import::Free => None,
            Import::Record(record) => Some(deref(argument(record, 0))),
            Import::Bound(word) => Some(deref(word)),
        }
    }
    /// The number is free; the variable is one like any other, and nothing more is told of the import but what is
    /// queued.
    pub(crate) fn forget_import(&mut self, import: u32) {
        self.end_look(import);
        let entry = place(&mut self.abroad.imports, import);
        if let Import::Record(record) = std::mem::take(&mut entry.import)
            && record_class(record) == layout::SUSPENSION
        {
            write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
        }
    }
    /// An unbound variable becomes a reference to a term, or gets it for its value. Goals that wait for it go on, and
    /// wait for the other one if that is a variable. Nothing is told of the import that it stands for: the caller
    /// forgets it. False: another worker was first, or has the variable for itself; then the two are unified.
    pub(crate) fn become_reference(&mut self, variable: Word, to: Word) -> bool {
        loop {
            let (variable, to) = (deref(variable), deref(to));
            if variable == to {
                return false;
            }
            if variable.tag() != Tag::Ref {
                self.unify(variable, to);
                return false;
            }
            let waiting = read(variable.address());
            if waiting.tag() != Tag::Var {
                continue;
            }
            match self.replace(variable.address(), waiting, to) {
                Written::Yes => {
                    self.let_go(waiting);
                    return true;
                }
                Written::Changed => {}
                Written::Foreign(owner) => {
                    self.post_unify_first(owner, variable, to);
                    return false;
                }
            }
        }
    }
    /// What waited for a variable goes on, but for what would tell of an import.
    fn let_go(&mut self, waiting: Word) {
        if waiting == UNBOUND || self.has_generator(waiting) {
            return;
        }
        if let Some(import) = number_in(waiting, self.system_goals.external)
            && let Import::Record(record) = self.abroad.import(import)
        {
            write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
        }
        self.resume(waiting);
    }
    /// Another worker unifies two terms before anything else.
    fn post_unify_first(&mut self, owner: usize, a: Word, b: Word) {
        self.post_at(PRIORITY_MAX, owner, self.system_goals.unify, &[a, b]);
    }
    /// Y4: until the next item, or until it is released, what the last one named is a root.
    fn finish_told(&mut self, export: Option<u32>) {
        if let Some(told) = self.abroad.told.take_if(|told| Some(*told) == export) {
            place(&mut self.abroad.anchors, told).queued -= 1;
        }
    }
    /// The next thing that happened. Words are good until the next turn.
    pub(crate) fn next_outward(&mut self) -> Option<Outward> {
        debug_assert!(self.index == 0, "Y8: worker {} tells worker 0", self.index);
        self.finish_told(self.abroad.told);
        self.abroad.end_bunch();
        let Item { what, words } = self.abroad.queue.pop_front()?;
        Some(match what {
            Kind::Throw { node, priority, predicate } => {
                Outward::Throw { node, goal: Goal { priority, predicate, args: words } }
            }
            Kind::Wanted(import, whole) => Outward::Wanted { import, whole },
            Kind::Looked(import, whole) => Outward::Looked { import, whole },
            Kind::Bound(import, by) => Outward::Bound { import, value: deref(words[0]), by },
            Kind::Marked(export) => {
                self.abroad.told = Some(export);
                Outward::Marked { export }
            }
            Kind::Alias(by) => Outward::Alias { a: words[0], b: words[1], by },
            Kind::Offered(_) => Outward::Offered,
            Kind::Placed(_) => unreachable!("others need not know"),
        })
    }
}
