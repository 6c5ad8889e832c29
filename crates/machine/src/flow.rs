//! How much a node may send: credits, and the outbox of what must wait (X2, X3); and how much of it is under way (X7).

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

/// Bytes of payloads that a node has dispatched and not acknowledged to their sender, at most.
const KEPT_BYTES: u64 = 64 << 10;

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

/// Bytes of payloads between this node and another.
#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    /// Sent there, and not acknowledged.
    sent: u64,
    /// Of its own, not acknowledged.
    owed: u64,
}

impl Bytes {
    /// Those that are under way for sure.
    fn under_way(self) -> u64 {
        self.sent.saturating_sub(KEPT_BYTES)
    }
}

/// All peers. Those that this node has nothing to do with take (nearly) no memory, so that machines may have many
/// nodes.
#[derive(Debug, Default)]
struct Peers<T>(Vec<Option<Box<[T; CHUNK]>>>);

impl<T: Copy + Default> Peers<T> {
    #[inline]
    fn get(&mut self, node: NodeId) -> &mut T {
        let (chunk, place) = (node.0 as usize / CHUNK, node.0 as usize % CHUNK);
        match self.0.get_mut(chunk) {
            // Looked up twice: a borrow that is returned on one path only is held on all.
            Some(Some(_)) => &mut self.0[chunk].as_mut().expect("it is there")[place],
            _ => self.make(chunk, place),
        }
    }
    #[cold]
    fn make(&mut self, chunk: usize, place: usize) -> &mut T {
        if chunk >= self.0.len() {
            self.0.resize_with(chunk + 1, || None);
        }
        &mut self.0[chunk].get_or_insert_with(|| Box::new([T::default(); CHUNK]))[place]
    }
}

/// A node's credits and its outbox.
#[derive(Debug)]
pub(crate) struct Flow {
    peers: Peers<Peer>,
    /// Nothing where time is simulated: such a network holds little, and an acknowledgement would take time.
    bytes: Option<Peers<Bytes>>,
    /// All of it that is under way, and what waits in the outbox.
    bytes_under_way: u64,
    bytes_waiting: u64,
    /// What waits, high priority first.
    outbox: [BTreeMap<NodeId, VecDeque<Message>>; 2],
    waiting: usize,
    /// The fabric has refused some of it when it was tried last.
    refused: bool,
    /// Messages that had to wait so far.
    put_off: u64,
    /// Messages that may wait before tasks have to.
    full: usize,
}

impl Flow {
    pub(crate) fn new(simulated: bool) -> Flow {
        Flow {
            peers: Peers::default(),
            bytes: (!simulated).then(Peers::default),
            bytes_under_way: 0,
            bytes_waiting: 0,
            outbox: [BTreeMap::new(), BTreeMap::new()],
            waiting: 0,
            refused: false,
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
        self.bytes_waiting += weight(&message);
        self.outbox[lane(message.priority)].entry(to).or_default().push_back(message);
        self.waiting += 1;
        self.put_off += 1;
    }
    pub(crate) fn put_off(&self) -> u64 {
        self.put_off
    }
    /// Bytes of messages of this node that have not arrived: those in the outbox, and the payloads that were sent and
    /// not acknowledged, but for the little that a receiver need not acknowledge. All of it gets less whatever this
    /// node does, as long as the others take what comes.
    pub(crate) fn under_way(&self) -> u64 {
        self.bytes_waiting + self.bytes_under_way
    }
    #[inline(always)]
    fn try_send<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) -> Result<(), Message> {
        let bytes = message.payload.len() as u64;
        if message.priority == Priority::High {
            fabric.send(to, message).map_err(|busy| self.was_refused(busy))?;
        } else {
            if self.peers.get(to).sent == CREDITS {
                return Err(message);
            }
            fabric.send(to, message).map_err(|busy| self.was_refused(busy))?;
            self.peers.get(to).sent += 1;
        }
        if bytes > 0 {
            self.note_sent(to, bytes);
        }
        Ok(())
    }
    #[cold]
    fn was_refused(&mut self, Busy(message): Busy) -> Message {
        self.refused = true;
        message
    }
    fn note_sent(&mut self, to: NodeId, bytes: u64) {
        let Some(peers) = &mut self.bytes else { return };
        let peer = peers.get(to);
        let before = peer.under_way();
        peer.sent += bytes;
        self.bytes_under_way += peer.under_way() - before;
    }
    /// Sends what it can of the outbox; true if something was sent.
    pub(crate) fn flush<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        if self.waiting == 0 {
            return false;
        }
        let before = self.waiting;
        self.refused = false;
        for lane in 0..2 {
            let mut queues = std::mem::take(&mut self.outbox[lane]);
            queues.retain(|&to, queue| {
                while let Some(message) = queue.pop_front() {
                    let bytes = weight(&message);
                    if let Err(message) = self.try_send(fabric, to, message) {
                        queue.push_front(message);
                        return true;
                    }
                    self.waiting -= 1;
                    self.bytes_waiting -= bytes;
                }
                false
            });
            self.outbox[lane] = queues;
        }
        self.waiting < before
    }
    /// A message of this node was dispatched: the credits and the acknowledgement that it now gets back.
    #[inline]
    pub(crate) fn dispatched(&mut self, from: NodeId, low: bool, bytes: usize) -> Option<Message> {
        let full = bytes > 0 && self.owes(from, bytes as u64);
        if !low && !full {
            return None;
        }
        let owed = &mut self.peers.get(from).owed;
        *owed += u32::from(low);
        if *owed < CREDITS / 4 && !full {
            return None;
        }
        Some(self.give_back(from))
    }
    /// Whether it is time to acknowledge payloads.
    fn owes(&mut self, from: NodeId, bytes: u64) -> bool {
        let Some(peers) = &mut self.bytes else { return false };
        let owed = &mut peers.get(from).owed;
        *owed += bytes;
        *owed >= KEPT_BYTES
    }
    #[cold]
    fn give_back(&mut self, from: NodeId) -> Message {
        let credits = std::mem::take(&mut self.peers.get(from).owed);
        let bytes = self.bytes.as_mut().map_or(0, |peers| std::mem::take(&mut peers.get(from).owed));
        let header = Header::new(Kind::Credits, 0, credits);
        header.message(Priority::High, if bytes > 0 { std::slice::from_ref(&bytes) } else { &[] })
    }
    /// Credits have come back, and an acknowledgement. False if there is more of it than was given or sent.
    pub(crate) fn refill(&mut self, from: NodeId, count: u32, words: &[u64]) -> bool {
        let sent = &mut self.peers.get(from).sent;
        let bytes = match *words {
            [] => 0,
            [bytes] => bytes,
            _ => return false,
        };
        let acknowledges =
            bytes == 0 || self.bytes.as_mut().is_some_and(|peers| peers.get(from).sent >= bytes);
        if count > *sent || !acknowledges {
            return false;
        }
        *sent -= count;
        if let Some(peers) = &mut self.bytes
            && bytes > 0
        {
            let peer = peers.get(from);
            let before = peer.under_way();
            peer.sent -= bytes;
            self.bytes_under_way -= before - peer.under_way();
        }
        true
    }
    pub(crate) fn is_full(&self) -> bool {
        self.waiting >= self.full
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }
    /// Whether the fabric has refused some of what waits.
    pub(crate) fn is_refused(&self) -> bool {
        self.waiting > 0 && self.refused
    }
}

/// Bytes that a message takes while it waits.
fn weight(message: &Message) -> u64 {
    (size_of::<Message>() + message.payload.len()) as u64
}

fn lane(priority: Priority) -> usize {
    match priority {
        Priority::High => 0,
        Priority::Low => 1,
    }
}
