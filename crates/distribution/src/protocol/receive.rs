//! What a node does with each message.

use super::exports::{ALL, CHUNK_MAX, DEPTHS, Waiting, next_chunk};
use super::imports::Inherits;
use super::{Fault, Post, Rule, With};
use crate::store::{ExportId, ImportId, Seen, Store};
use crate::wire::message::{Item, Message, Reader};
use crate::wire::tokens::{Token, Tokens};
use fabric::NodeId;

impl<S: Store, P: Post> With<'_, S, P> {
    /// A message has come from a node. An error ends the run.
    pub fn receive(&mut self, from: NodeId, message: Message<'_>) -> Result<(), Fault> {
        let violation = |what| Err(Fault::Violation { from, what });
        match message {
            Message::Throw { priority, predicate, arguments, .. } => {
                let arguments = self.build(from, arguments, Inherits::All(0))?;
                if !self.store.spawn(priority, predicate, &arguments) {
                    return violation("a goal of an unknown predicate");
                }
            }
            Message::Read { entry, reader, depth, hops, peek } => {
                let export = self.exported(from, entry)?;
                if usize::from(depth) >= DEPTHS {
                    return violation("a read of an unknown depth");
                }
                self.read(export, Waiting { reader, depth }, hops, peek);
            }
            Message::Answer { reader, value } => {
                if reader.node != self.protocol.options.node {
                    return violation("an answer for another node");
                }
                self.answered(from, reader, value)?;
            }
            Message::Unbound { reader } => {
                let import = ImportId(reader.import);
                if self.protocol.imports.get(import).is_some() && reader == self.reader(import) {
                    self.unbound(import);
                }
            }
            Message::Unify { entry, weight, value } => {
                let export = self.exported(from, entry)?;
                let Some(term) = self.store.anchored(export) else {
                    return violation("a binding of what was released");
                };
                // If the two are unified inside, twice as much comes back.
                let chunk =
                    structures(value).checked_ilog2().map_or(0, |log2| (log2 + 1).min(CHUNK_MAX.into()));
                let values = self.build(from, value, Inherits::All(chunk as u8))?;
                debug_assert_eq!(values.len(), 1, "W2: a binding has one term");
                self.store.unify(term, values[0]);
                self.protocol.take(from, export, weight)?;
                self.try_free(export);
            }
            Message::Release { items } => {
                for item in items {
                    self.released(from, item)?;
                }
            }
            Message::WantWeight { entry, import } => {
                let export = self.exported(from, entry)?;
                let log2 = self.protocol.options.exponent;
                if let Some(entry) = self.protocol.exports.get_mut(export) {
                    entry.weight += 1 << log2;
                }
                self.forget_told(export);
                self.send(from, Message::Grant { entry, import, log2 });
            }
            Message::Grant { entry, import, log2 } => {
                self.granted(from, entry, ImportId(import), 1 << log2);
            }
            Message::Distances { items } => self.told(from, items)?,
        }
        Ok(())
    }

    /// An entry that the sender refers to.
    pub(super) fn exported(&self, from: NodeId, entry: u32) -> Result<ExportId, Fault> {
        match self.protocol.exports.get(ExportId(entry)) {
            Some(_) => Ok(ExportId(entry)),
            None => Err(Fault::Violation { from, what: "a message about what was released" }),
        }
    }

    /// Somebody reads an export: gets an answer, waits, or is passed on to where the term is.
    pub(super) fn read(&mut self, export: ExportId, waiting: Waiting, hops: u16, peek: bool) {
        if self.protocol.is_lost(waiting.reader.node) {
            return;
        }
        let Some(cell) = self.store.anchored(export) else { return };
        let import = match self.store.look(cell) {
            Seen::Import(import) => Some(import),
            Seen::Variable { .. } => None,
            _ => return self.answer(cell, waiting.reader, waiting.depth),
        };
        let Waiting { reader, depth } = waiting;
        if let Some(import) = import
            && (hops < self.protocol.options.hops || !self.protocol.rule(Rule::Hops))
            && self.protocol.rule(Rule::Forward)
            && (peek || !self.reading(import))
            && let Some(entry) = self.protocol.imports.get(import)
        {
            let (home, entry, hops) = (entry.home, entry.entry, hops + 1);
            return self.send(home, Message::Read { entry, reader, depth, hops, peek });
        }
        if peek {
            return self.send(reader.node, Message::Unbound { reader });
        }
        if let Some(entry) = self.protocol.exports.get_mut(export) {
            entry.readers.push(waiting);
        }
        self.hook(export, cell);
        if let Some(import) = import {
            self.wanted(import);
        }
    }

    /// An import that was looked at has no value yet. A suspect's variable does not move.
    pub(super) fn unbound(&mut self, import: ImportId) {
        let Some(entry) = self.protocol.imports.get_mut(import).filter(|entry| entry.moving) else {
            if self.store.cell(import).is_some() {
                self.store.unbound(import);
            }
            return;
        };
        let wanted = !entry.ahead;
        (entry.reading, entry.ahead, entry.moving) = (false, false, false);
        if wanted {
            self.wanted(import);
        }
        self.protocol.suspects.came();
        self.move_suspects();
    }

    fn answered(&mut self, from: NodeId, reader: Reader, value: Tokens<'_>) -> Result<(), Fault> {
        let import = ImportId(reader.import);
        let serial = self.protocol.rule(Rule::Serial);
        let asked = self.protocol.imports.get(import).filter(|_| !serial || self.reader(import) == reader);
        let (known, chunk) = (asked.is_some(), asked.map_or(0, |entry| entry.chunk));
        if matches!({ value }.next(), Some(Token::Reference(_))) {
            return Err(Fault::Violation { from, what: "an answer that is a reference" });
        }
        let moves = asked.is_some_and(|entry| entry.moving && entry.ahead);
        if moves && !self.has_room_for(import, &value) {
            return self.take_apart(from, value);
        }
        // Heads are other terms than their list.
        let of_list = chunk < ALL && matches!({ value }.next(), Some(Token::List(_)));
        let next = if self.protocol.rule(Rule::Chunks) { next_chunk(chunk) } else { 0 };
        let inherits = if of_list { Inherits::Tail(next) } else { Inherits::All(next) };
        self.protocol.suspects.begin(moves && self.protocol.rule(Rule::Parts));
        let values = self.build(from, value, inherits)?;
        self.protocol.suspects.end();
        debug_assert_eq!(values.len(), 1, "W2: an answer has one term");
        // An import whose variable has died gives its weight back when the store tells.
        let (true, Some(cell)) = (known, self.store.cell(import)) else { return Ok(()) };
        let Some(&entry) = self.protocol.imports.get(import) else { return Ok(()) };
        let open = self.store.look(cell) == Seen::Import(import);
        if !open && self.protocol.rule(Rule::Compare) {
            // It got a value here. Its home is about to be told that, and compares: then the fault is that goal's.
            return Ok(());
        }
        if let Some(identity) = entry.identity
            && self.store.identity(values[0]).is_none()
        {
            self.store.identify(values[0], identity);
        }
        self.release(entry.home, Item { entry: entry.entry, weight: entry.weight, cancel: None });
        if open {
            self.store.bind(cell, values[0]);
        }
        self.gone(import);
        // A list of which a goal reads so much is read to its end: the next part may come while this one is used. Never
        // two parts ahead: nobody may want them.
        let full = of_list
            && matches!({ value }.next(), Some(Token::List(heads)) if heads > 1)
            && value.words().len() > 1 << CHUNK_MAX;
        if full
            && self.protocol.rule(Rule::Ahead)
            && !entry.ahead
            && let Some(rest) = self.protocol.rest.take().filter(|&rest| self.unread(rest).is_some())
        {
            self.ask_ahead(rest, self.depth(rest));
        }
        Ok(())
    }

    fn released(&mut self, from: NodeId, item: Item) -> Result<(), Fault> {
        let export = self.exported(from, item.entry)?;
        if let (Some(reader), Some(entry)) = (item.cancel, self.protocol.exports.get_mut(export)) {
            entry.readers.retain(|waiting| waiting.reader != reader);
        }
        self.protocol.take(from, export, item.weight)?;
        self.try_free(export);
        Ok(())
    }

    fn granted(&mut self, from: NodeId, entry: u32, import: ImportId, weight: u64) {
        let key = self.protocol.rule(Rule::GrantKey);
        let same = |known: &super::Import| (known.home, known.entry) == (from, entry) || !key;
        match self.protocol.imports.get_mut(import).filter(|known| same(known)) {
            Some(known) => {
                known.asked = false;
                self.add_weight(import, weight);
            }
            None => self.release(from, Item { entry, weight, cancel: None }),
        }
    }
}

/// Conses, structures and vectors of a term.
fn structures(value: Tokens<'_>) -> usize {
    let count = |token| match token {
        Token::List(heads) => heads,
        Token::Struct(..) | Token::Vector(_) => 1,
        _ => 0,
    };
    value.map(count).sum()
}
