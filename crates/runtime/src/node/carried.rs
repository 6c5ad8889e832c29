//! Terms that go to other nodes and come from them, for the crate that carries them (`face`).

use crate::goals::abroad::{By, Goal, Known, Outward};
use crate::node::face::{Term, Terms};
use crate::worker::{PRIORITY_MAX, Worker};
use term::Word;
use term::abi::PredicateId;

/// For whoever carries terms between nodes, at a node's first worker; a panic at others (Q3 of `face`).
impl<'t> Terms<'t> {
    fn first(&mut self) -> &mut Worker {
        assert!(self.worker.index == 0, "the first worker has the terms of other nodes");
        self.worker
    }
    /// The next thing that happened.
    pub fn next_outward(&mut self) -> Option<Outward<Term<'t>>> {
        Some(match self.first().next_outward()? {
            Outward::Throw { node, goal } => Outward::Throw { node, goal: goal.map(|word| self.term(word)) },
            Outward::Wanted { import, whole } => Outward::Wanted { import, whole },
            Outward::Looked { import, whole } => Outward::Looked { import, whole },
            Outward::Bound { import, value, by } => Outward::Bound { import, value: self.term(value), by },
            Outward::Marked { export } => Outward::Marked { export },
            Outward::Alias { a, b, by } => Outward::Alias { a: self.term(a), b: self.term(b), by },
            Outward::Offered => Outward::Offered,
        })
    }
    /// Takes the oldest goal that a node may reduce in place of this one, unless it is the only one, would wait at
    /// once, is large, or is of a predicate that `stays`.
    pub fn take_spare(&mut self, node: u32, stays: impl Fn(PredicateId) -> bool) -> Option<Goal<Term<'t>>> {
        let goal = self.first().take_spare(node, stays)?;
        Some(goal.map(|word| self.term(word)))
    }
    /// A goal of this priority, clamped to those there are, has come from another node. `false`: no program may call
    /// that, and no node says it.
    pub fn take_goal(&mut self, priority: i64, predicate: PredicateId, args: &[Term<'t>]) -> bool {
        let words: Vec<Word> = args.iter().map(|&term| self.own(term)).collect();
        let takes = self.worker.may_come(predicate, words.len());
        if takes {
            self.first().spawn_at_lane(priority.clamp(0, PRIORITY_MAX), predicate, &words);
        }
        takes
    }
    /// What a goal has bound goes to a node: the goal that binds it there, but for its last two arguments, the variable
    /// and the value. `None`: nobody counts it.
    pub fn leaving_binding(&mut self, by: By, node: u32) -> Option<Goal<Term<'t>>> {
        let goal = self.first().leaving_binding(by, node)?;
        Some(goal.map(|word| self.term(word)))
    }
    /// Other nodes were told what a goal has done.
    pub fn end_binding(&mut self, by: By) {
        self.first().end_binding(by.lane);
    }
    /// Unifies two terms, which a goal wanted.
    pub fn unify_in(&mut self, By { lane, position }: By, a: Term<'t>, b: Term<'t>) {
        let (a, b) = (self.own(a), self.own(b));
        match lane {
            0 => self.first().outside(|worker| worker.unify(a, b)),
            lane => self.first().in_lane(lane, |worker| worker.unify_at(a, b, position)),
        }
    }
    /// Another node has died. What it has sent has come before; what becomes of its goals and of goals that were sent
    /// there is seen to in the next turn.
    pub fn lose_node(&mut self, node: u32) {
        let lose = self.worker.system_goals.lose;
        self.first().spawn_at_lane(PRIORITY_MAX, lose, &[Word::small(node.into())]);
    }
    /// Imports that have died since this was last asked for.
    pub fn take_dead(&mut self) -> Vec<u32> {
        self.first().take_dead()
    }
    /// Exports that were no roots and have lost their marker since this was last asked for.
    pub fn take_lost(&mut self) -> Vec<u32> {
        self.first().take_lost()
    }
    /// After a major collection, once: imports that are farther than a step, and those that were before, with their
    /// distance: of an import that the program of this node holds 1, of one that an anchor holds a step more than that
    /// of the anchor, at most [`FAR`](crate::abroad::FAR).
    pub fn take_distances(&mut self) -> Option<Vec<(u32, u8)>> {
        self.first().take_distances()
    }
    /// Bytes of what is known of other nodes' terms and of those that other nodes know, and of the heap that the last
    /// major collection found held by other nodes and by nothing else.
    pub fn held_abroad(&self) -> usize {
        self.worker.held_abroad()
    }
    /// Whether other nodes may let go of what they alone hold: then a major collection that leaves too little room is
    /// not the last word.
    pub fn set_hopes(&mut self, hopes: bool) {
        self.first().set_hopes(hopes);
    }
    /// Bytes that whoever speaks with other nodes keeps for that, which count for the heap limit.
    pub fn set_bytes_beside(&mut self, bytes: usize) {
        self.first().set_bytes_beside(bytes);
    }
    /// Keeps a term alive under this number, until [`Terms::release_anchor`].
    pub fn anchor(&mut self, export: u32, term: Term<'t>) {
        let word = self.own(term);
        self.first().anchor(export, word);
    }
    /// Whether an anchored term is a root. If it is none, it lives as long as its marker or something else keeps it;
    /// [`Terms::take_lost`] tells the end of the marker.
    pub fn hold_anchor(&mut self, export: u32, root: bool) {
        self.first().hold_anchor(export, root);
    }
    /// The anchored term; `None` if it is no root and has no marker.
    pub fn anchored(&self, export: u32) -> Option<Term<'t>> {
        self.worker.anchored(export).map(|word| self.term(word))
    }
    /// How far the nearest reference to an anchored term is: at least 1. A new anchor's is 1.
    pub fn set_anchor_distance(&mut self, export: u32, distance: u8) {
        self.first().set_anchor_distance(export, distance);
    }
    /// The number is free. A variable keeps its marker.
    pub fn release_anchor(&mut self, export: u32) {
        self.first().release_anchor(export);
    }
    /// An export was made for a structure: [`Terms::noted_export`] tells it, until it is released.
    pub fn note_export(&mut self, structure: Term<'t>, export: u32) {
        let structure = self.own(structure);
        self.first().note_export(structure, export);
    }
    /// The last export that was noted for a structure.
    pub fn noted_export(&self, structure: Term<'t>) -> Option<u32> {
        self.worker.noted_export(self.own(structure))
    }
    /// Gives a structure an identity, unless it has one: the node that has made the identity, and a number.
    pub fn identify(&mut self, structure: Term<'t>, identity: (u32, u64)) {
        let structure = self.own(structure);
        self.first().identify(structure, identity);
    }
    /// The identity of a structure.
    pub fn identity(&self, structure: Term<'t>) -> Option<(u32, u64)> {
        self.worker.identity(self.own(structure))
    }
    /// The structure of this node that has an identity.
    pub fn identified(&self, identity: (u32, u64)) -> Option<Term<'t>> {
        self.worker.identified(identity).map(|word| self.term(word))
    }
    /// An unbound variable gets a marker of this export: [`Outward::Marked`] comes when it is bound or becomes a
    /// reference. An import is read.
    pub fn mark(&mut self, variable: Term<'t>, export: u32) {
        let variable = self.own(variable);
        self.first().mark(variable, export);
    }
    /// The export of the newest marker of a variable.
    pub fn marker_of(&self, variable: Term<'t>) -> Option<u32> {
        self.worker.marker_of(self.own(variable))
    }
    /// What other nodes know of a variable; an import that is marked, too, is an import.
    pub fn known_abroad(&self, variable: Term<'t>) -> Known {
        self.worker.known_abroad(self.own(variable))
    }
    /// A new variable that stands for the import of this number, which nobody reads yet.
    pub fn import(&mut self, import: u32) -> Term<'t> {
        let word = self.first().import(import);
        self.term(word)
    }
    /// What an import's variable has become; `None`: it is dead, or was forgotten.
    pub fn import_cell(&self, import: u32) -> Option<Term<'t>> {
        self.worker.import_cell(import).map(|word| self.term(word))
    }
    /// The number is free; the variable is one like any other, and nothing more is told of the import but what is
    /// queued.
    pub fn forget_import(&mut self, import: u32) {
        self.first().forget_import(import);
    }
    /// The answer to [`Outward::Looked`] if there is no value yet.
    pub fn import_is_unbound(&mut self, import: u32) {
        self.first().import_is_unbound(import);
    }
    /// An unbound variable becomes a reference to a term, or gets it for its value. Goals that wait for it go on, and
    /// wait for the other one if that is a variable. Nothing is told of the import that it stands for: the caller
    /// forgets it. False: another worker was first, or has the variable for itself; then the two are unified.
    pub fn become_reference(&mut self, variable: Term<'t>, to: Term<'t>) -> bool {
        let (variable, to) = (self.own(variable), self.own(to));
        self.first().outside(|worker| worker.become_reference(variable, to))
    }
}
