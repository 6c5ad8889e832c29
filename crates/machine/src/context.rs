//! What a handler may ask of its node: done at once.

use crate::core::Core;
use crate::header::{Call, Header, Kind, WORDS};
use crate::here::Here;
use crate::names::{Name, Passport};
use fabric::{Fabric, NodeId, Priority, Time};

/// A handler's way to its node.
pub struct Context<'a, F: Fabric> {
    pub(crate) core: &'a mut Core,
    pub(crate) fabric: &'a mut F,
    pub(crate) here: &'a Here,
}

impl<F: Fabric> Context<'_, F> {
    /// Which node this is.
    pub fn node(&self) -> NodeId {
        self.fabric.node()
    }
    /// How many there are.
    pub fn nodes(&self) -> u32 {
        self.fabric.nodes()
    }
    /// The time.
    pub fn now(&self) -> Time {
        self.fabric.now()
    }
    /// What the handler does takes so long, if time is simulated.
    pub fn spend(&mut self, time: u64) {
        self.core.spend(self.fabric, |spent| &mut spent.program, time);
    }
    /// X7: bytes of messages of this node that are under way.
    pub fn under_way(&self) -> u64 {
        self.core.flow.under_way()
    }
    /// For what only tasks may do, and to spawn one.
    pub fn here(&self) -> &Here {
        self.here
    }
    /// Sends a message to the handler of this code: at most [`WORDS`] words, or it panics.
    #[inline]
    pub fn send(&mut self, to: NodeId, priority: Priority, code: u32, words: &[u64]) {
        self.send_with(to, priority, code, words, Vec::new());
    }
    /// The same with a payload.
    #[inline]
    pub fn send_with(&mut self, to: NodeId, priority: Priority, code: u32, words: &[u64], payload: Vec<u8>) {
        assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
        let mut message = Header::new(Kind::Plain, code, 0).message(priority, words);
        message.payload = payload;
        self.core.post(self.fabric, to, message);
    }
    /// Answers a message of [`Here::call`]; false if it was none.
    pub fn reply(&mut self, call: &Call<'_>, words: &[u64], payload: Vec<u8>) -> bool {
        let Some(slot) = call.reply else { return false };
        self.reply_to(call.from, slot, words, payload);
        true
    }
    /// Answers later: what [`Call::reply_slot`] said.
    pub fn reply_to(&mut self, from: NodeId, slot: u64, words: &[u64], payload: Vec<u8>) {
        assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
        let mut all = [0; WORDS + 1];
        all[0] = slot;
        all[1..=words.len()].copy_from_slice(words);
        let mut message = Header::new(Kind::Reply, 0, 0).message(Priority::High, &all[..=words.len()]);
        message.payload = payload;
        self.core.post(self.fabric, from, message);
    }
    /// Gives something of this node a name, under which handlers get this value for it.
    pub fn enter(&mut self, value: u64) -> Name {
        self.core.names.enter(value)
    }
    /// The value under which something is known here, if it is here.
    pub fn translate(&self, name: Name) -> Option<u64> {
        self.core.names.translate(name)
    }
    /// Something goes to another node: the program sends it there with its passport, and it is
    /// [adopted](Context::adopt).
    pub fn leave(&mut self, name: Name, to: NodeId) -> Option<Passport> {
        self.core.names.leave(name, to)
    }
    /// Something has come from another node.
    pub fn adopt(&mut self, name: Name, passport: Passport) {
        if let Some(home) = self.core.names.adopt(name, passport) {
            let place = Header::new(Kind::Moved, 0, self.node().0);
            self.core.post(self.fabric, home, place.message(Priority::High, &[name.word(), passport.moves]));
        }
    }
    /// Sends a message to the handler of this code at the node that has something, wherever it is.
    pub fn send_to_name(&mut self, name: Name, priority: Priority, code: u32, words: &[u64]) {
        assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
        let mut all = [0; WORDS + 1];
        all[0] = name.word();
        all[1..=words.len()].copy_from_slice(words);
        let header = Header::new(Kind::Named, code, self.node().0);
        let to = self.core.names.place(name);
        self.core.post(self.fabric, to, header.message(priority, &all[..=words.len()]));
    }
}

impl Call<'_> {
    /// What [`Context::reply_to`] wants, if the sender waits for a reply.
    pub fn reply_slot(&self) -> Option<u64> {
        self.reply
    }
}
