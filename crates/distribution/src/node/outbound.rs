//! What a node tells others: of what happened to variables that they know, of goals that they get, and of collections.
//! The invariants are those of `node`.

use super::outgoing::{Mail, Outgoing};
use super::{GIFT_LEVELS, Reducer};
use crate::balance::{Notice, Round, Usage};
use crate::heap::Heap;
use crate::model::Meter;
use crate::protocol::{Counters, How, Protocol, With};
use crate::store::{ExportId, ImportId};
use crate::wire::message::TABLES;
use fabric::{Fabric, NodeId};
use machine::Context;
use runtime::abroad::{By, Outward};
use runtime::node::Terms;

/// All that speaks with other nodes.
pub(super) struct Outbound {
    pub(super) protocol: Protocol,
    /// Atoms below have the same number at all nodes.
    pub(super) atoms: u32,
    /// Exports to be told as marked.
    pub(super) late: Vec<ExportId>,
    pub(super) outgoing: Outgoing,
    /// J3.
    pub(super) meter: Option<Meter>,
}

impl Outbound {
    /// The protocol's tables at work, on a heap in which there is room for this number of words.
    pub(super) fn with<'t, F: Fabric, R>(
        &mut self,
        terms: &mut Terms<'t>,
        context: &mut Context<'_, F>,
        room: usize,
        act: impl FnOnce(&mut With<'_, Heap<'_, 't>, Mail<'_, '_, F>>) -> R,
    ) -> R {
        let Outbound { protocol, atoms, late, outgoing, meter } = self;
        let identities = protocol.options().identities;
        let mut heap = Heap::new(terms, *atoms, late).with_room(room).with_identities(identities);
        act(&mut protocol.with(&mut heap, &mut Mail { context, outgoing, meter: meter.as_mut() }))
    }
    /// Sends what the balance has to say.
    pub(super) fn say<F: Fabric>(
        &mut self,
        context: &mut Context<'_, F>,
        what: impl IntoIterator<Item = (NodeId, Notice)>,
    ) {
        let Outbound { outgoing, meter, .. } = self;
        let mut mail = Mail { context, outgoing, meter: meter.as_mut() };
        what.into_iter().for_each(|(to, notice)| mail.tell(to, notice));
    }
    /// Sends it to all others.
    pub(super) fn say_to_all<F: Fabric>(&mut self, context: &mut Context<'_, F>, notice: Notice) {
        let own = context.node();
        let others = (0..context.nodes()).map(NodeId).filter(|&to| to != own);
        self.say(context, others.map(|to| (to, notice)));
    }
    /// What was sent, and what the tables hold.
    pub(super) fn counters(&self) -> Counters {
        let mut counters = self.protocol.counters();
        counters.sent[TABLES..].copy_from_slice(&self.outgoing.notices);
        counters
    }
}

impl Reducer<'_> {
    /// Tells the protocol what has happened; false if nothing has.
    pub(super) fn tell<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        debug_assert!(!self.over, "J2: a run that has ended tells nothing");
        let Reducer { node, out, balance, .. } = self;
        let mut terms = node.terms();
        let mut any = false;
        while let Some(event) = terms.next_outward() {
            any = true;
            let awaits = match &event {
                Outward::Throw { goal, .. } => terms.predicates().get(goal.predicate).awaits,
                Outward::Offered => {
                    balance.offered();
                    out.say_to_all(context, Notice::Offer);
                    continue;
                }
                _ => 0,
            };
            let by = match event {
                Outward::Bound { by, .. } | Outward::Alias { by, .. } => by,
                _ => By::default(),
            };
            out.with(&mut terms, context, 0, |with| match event {
                Outward::Throw { node, goal } => {
                    let how = How { values: awaits, levels: 1, gift: false, white: 0 };
                    with.throw(NodeId(node), &goal, how);
                }
                Outward::Wanted { import, whole } => {
                    if whole {
                        with.want_whole(ImportId(import));
                    }
                    with.wanted(ImportId(import));
                }
                Outward::Looked { import, whole } => {
                    if whole {
                        with.want_whole(ImportId(import));
                    }
                    with.peek(ImportId(import));
                }
                Outward::Bound { import, .. } => with.bound(ImportId(import), by),
                Outward::Marked { export } => with.marked(ExportId(export)),
                Outward::Alias { a, b, .. } => with.alias(a, b, by),
                Outward::Offered => {}
            });
            terms.end_binding(by);
        }
        let (dead, lost) = (terms.take_dead(), terms.take_lost());
        let distances = terms.take_distances().map(|far| {
            let far = far.into_iter().map(|(import, distance)| (ImportId(import), distance));
            (far.collect::<Vec<_>>(), terms.room() / 8)
        });
        let collected = distances.is_some();
        let marked = std::mem::take(&mut out.late);
        any |= !marked.is_empty();
        out.with(&mut terms, context, 0, |with| {
            dead.into_iter().for_each(|import| with.dead(ImportId(import)));
            lost.into_iter().for_each(|export| with.lost(ExportId(export)));
            if let Some((far, room)) = distances {
                with.far(&far, room);
            }
            marked.into_iter().for_each(|export| with.marked(export));
        });
        self.weigh(collected) || any
    }

    /// Counts what the tables take, and whether everything is to be collected. If it was, true if rounds begin.
    fn weigh(&mut self, collected: bool) -> bool {
        let Reducer { node, out, rounds, .. } = self;
        let mut terms = node.terms();
        let (bytes, idle) = out.protocol.bytes();
        terms.set_bytes_beside(bytes);
        if !collected {
            if bytes > 0 && rounds.must_look(terms.bytes_in_use().saturating_sub(idle)) {
                terms.collect_soon();
            }
            return false;
        }
        let usage = usage(&terms, &out.protocol);
        let leads = rounds.collected(&usage);
        if leads || !rounds.are_on() {
            terms.set_hopes(leads || usage.leaves_enough());
        }
        leads
    }

    /// Takes part in rounds. True if this node holds back for them (R1 of `rounds`).
    pub(super) fn take_part<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        while self.rounds.are_on() {
            if self.rounds.take_due() {
                self.node.collect_everything();
                self.tell(context);
            }
            if self.out.protocol.moves() {
                break;
            }
            self.flush(context);
            for leader in self.rounds.done() {
                self.out.say(context, Some((leader, Notice::Collect(Round::Done))));
            }
            let Reducer { node, out, rounds, .. } = self;
            let usage = usage(&node.terms(), &out.protocol);
            let Some(round) = rounds.go_on(&usage) else { break };
            if round == Round::Over {
                node.terms().set_hopes(usage.leaves_enough());
            }
            out.say_to_all(context, Notice::Collect(round));
        }
        self.rounds.are_on()
    }

    /// Sends the releases that were kept for a batch.
    pub(super) fn flush<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        self.out.with(&mut self.node.terms(), context, 0, |with| with.flush());
    }

    /// If a node wants a goal, looks for one to spare unless it has just done so, and gives it.
    pub(super) fn feed<F: Fabric>(&mut self, context: &mut Context<'_, F>) {
        if !self.balance.is_asked() {
            return;
        }
        self.balance.tell_time(self.time());
        let Some(to) = self.balance.asker() else { return };
        let Reducer { node, out, balance, .. } = self;
        let mut terms = node.terms();
        debug_assert!(!self.holds_back, "J5: a node that holds back gives no goal away");
        let spare = terms.take_spare(to.0, |predicate| balance.stays(predicate.0));
        balance.looked(to, spare.is_some());
        let Some(goal) = spare else { return };
        balance.gave(goal.predicate.0);
        let info = terms.predicates().get(goal.predicate);
        let how = How { values: info.awaits | info.reads, levels: GIFT_LEVELS, gift: true, white: 0 };
        out.with(&mut terms, context, 0, |with| with.throw(to, &goal, how));
    }
}

/// What a node has in use.
fn usage(terms: &Terms<'_>, protocol: &Protocol) -> Usage {
    let (_, idle) = protocol.bytes();
    Usage {
        in_use: terms.bytes_in_use().saturating_sub(idle),
        held: terms.held_abroad().saturating_sub(idle),
        limit: terms.heap_limit(),
        farthest: protocol.farthest(),
    }
}
