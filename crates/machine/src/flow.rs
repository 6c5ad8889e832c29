//! How much a node may send: credits, and the outbox of what must wait (X2, X3).

use crate::header::{Header, Kind};
use fabric::{Busy, Fabric, Message, NodeId, Priority};
use std::collections::{BTreeMap, VecDeque};

/// Messages of low priority that a node may have under way to each peer. With them, 64 peers cannot put more than 6
/// MB into a node's queues.
pub const CREDITS: u32 = 1024;
/// Messages in the outbox from which on tasks wait. Few: what goes through it costs much more than what need not
/// wait. Where time is simulated, any: so that each message leaves when it was sent.
const OUTBOX_FULL: usize = 64;
const OUTBOX_FULL_SIMULATED: usize = 1;

/// Peers of numbers next to each other that get their place together.
const CHUNK: usize = 64;

/// What there is between this node and another.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    /// Messages that this node has under way to it.
    sent: u32,
    /// How many credits it is to get back.
    owed: u32,
}

/// All peers. Those that this node has nothing to do with take (nearly) no memory, so that machines may have many
/// nodes.
#[derive(Debug, Default)]
struct Peers(Vec<Option<Box<[Peer; CHUNK]>>>);

impl Peers {
    #[inline]
    fn get(&mut self, node: NodeId) -> &mut Peer {
        let (chunk, place) = (node.0 as usize / CHUNK, node.0 as usize % CHUNK);
        match self.0.get_mut(chunk) {
            // Looked up twice: a borrow that is returned on one path only is held on all.
            Some(Some(_)) => &mut self.0[chunk].as_mut().expect("it is there")[place],
            _ => self.make(chunk, place),
        }
    }
    #[cold]
    fn make(&mut self, chunk: usize, place: usize) -> &mut Peer {
        if chunk >= self.0.len() {
            self.0.resize_with(chunk + 1, || None);
        }
        &mut self.0[chunk].get_or_insert_with(|| Box::new([Peer::default(); CHUNK]))[place]
    }
}

/// A node's credits and its outbox.
#[derive(Debug)]
pub(crate) struct Flow {
    peers: Peers,
    /// What waits, high priority first.
    outbox: [BTreeMap<NodeId, VecDeque<Message>>; 2],
    waiting: usize,
    /// Messages that had to wait so far.
    put_off: u64,
    /// Messages that may wait before tasks have to.
    full: usize,
}

impl Flow {
    pub(crate) fn new(simulated: bool) -> Flow {
        Flow {
            peers: Peers::default(),
            outbox: [BTreeMap::new(), BTreeMap::new()],
            waiting: 0,
            put_off: 0,
            full: if simulated { OUTBOX_FULL_SIMULATED } else { OUTBOX_FULL },
        }
    }
    /// Sends a message, or puts it into the outbox.
    #[inline(always)]
    pub(crate) fn send<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) {
        // Nothing waits: the usual case.
        if self.waiting == 0 {
            if let Err(message) = self.try_send(fabric, to, message) {
                self.wait(to, message);
            }
            return;
        }
        self.send_behind(fabric, to, message);
    }
    #[cold]
    fn send_behind<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) {
        if !self.outbox[lane(message.priority)].contains_key(&to) {
            let Err(refused) = self.try_send(fabric, to, message) else { return };
            return self.wait(to, refused);
        }
        self.wait(to, message);
    }
    #[cold]
    fn wait(&mut self, to: NodeId, message: Message) {
        self.outbox[lane(message.priority)].entry(to).or_default().push_back(message);
        self.waiting += 1;
        self.put_off += 1;
    }
    pub(crate) fn put_off(&self) -> u64 {
        self.put_off
    }
    #[inline(always)]
    fn try_send<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) -> Result<(), Message> {
        if message.priority == Priority::High {
            return fabric.send(to, message).map_err(|Busy(message)| message);
        }
        let peer = self.peers.get(to);
        if peer.sent == CREDITS {
            return Err(message);
        }
        fabric.send(to, message).map_err(|Busy(message)| message)?;
        peer.sent += 1;
        Ok(())
    }
    /// Sends what it can of the outbox; true if something was sent.
    pub(crate) fn flush<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        if self.waiting == 0 {
            return false;
        }
        let before = self.waiting;
        for lane in 0..2 {
            let mut queues = std::mem::take(&mut self.outbox[lane]);
            queues.retain(|&to, queue| {
                while let Some(message) = queue.pop_front() {
                    if let Err(message) = self.try_send(fabric, to, message) {
                        queue.push_front(message);
                        return true;
                    }
                    self.waiting -= 1;
                }
                false
            });
            self.outbox[lane] = queues;
        }
        self.waiting < before
    }
    /// A message of low priority of this node was dispatched: the credits that it now gets back.
    pub(crate) fn dispatched(&mut self, from: NodeId) -> Option<Message> {
        let owed = &mut self.peers.get(from).owed;
        *owed += 1;
        if *owed < CREDITS / 4 {
            return None;
        }
        let credits = std::mem::take(owed);
        Some(Header::new(Kind::Credits, 0, credits).message(Priority::High, &[]))
    }
    /// Credits have come back. False if there are more than were given.
    pub(crate) fn refill(&mut self, from: NodeId, count: u32) -> bool {
        let sent = &mut self.peers.get(from).sent;
        let right = count <= *sent;
        if right {
            *sent -= count;
        }
        right
    }
    pub(crate) fn is_full(&self) -> bool {
        self.waiting >= self.full
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

fn lane(priority: Priority) -> usize {
    match priority {
        Priority::High => 0,
        Priority::Low => 1,
    }
}
