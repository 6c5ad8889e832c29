//! Who may send how much: credits, and the outbox of what must wait (X2, X3).

use crate::header::{Header, Kind};
use fabric::{Busy, Fabric, Message, NodeId, Priority};
use std::collections::{BTreeMap, VecDeque};

/// Messages of low priority that a node may have under way to each peer. With them, 64 peers cannot put more than 6 MB into a node's queues.
pub const CREDITS: u32 = 1024;
/// Tasks wait while so many messages are in the outbox. Few: what goes through it costs much more than what need not wait. Where time is
/// simulated, any: so that each message leaves when it was sent.
const OUTBOX_FULL: usize = 64;
const OUTBOX_FULL_SIMULATED: usize = 1;

/// A node's credits and its outbox.
#[derive(Debug)]
pub(crate) struct Flow {
    /// How many messages may still be sent to each node.
    credits: Vec<u32>,
    /// How many credits each node is to get back.
    owed: Vec<u32>,
    /// What waits, high priority first.
    outbox: [BTreeMap<NodeId, VecDeque<Message>>; 2],
    waiting: usize,
    /// Messages that had to wait so far.
    put_off: u64,
    /// So many may wait before tasks have to.
    full: usize,
}

impl Flow {
    pub(crate) fn new(nodes: u32, simulated: bool) -> Flow {
        let all = nodes as usize;
        Flow {
            credits: vec![CREDITS; all],
            owed: vec![0; all],
            outbox: [BTreeMap::new(), BTreeMap::new()],
            waiting: 0,
            put_off: 0,
            full: if simulated { OUTBOX_FULL_SIMULATED } else { OUTBOX_FULL },
        }
    }
    /// Sends a message, or puts it into the outbox.
    #[inline(always)]
    pub(crate) fn send<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) {
        let pays = message.priority == Priority::Low;
        let credits = &mut self.credits[to.0 as usize];
        // Nothing waits: the usual case.
        if self.waiting == 0 && (!pays || *credits > 0) {
            *credits -= u32::from(pays);
            if let Err(Busy(message)) = fabric.send(to, message) {
                *credits += u32::from(pays);
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
    fn try_send<F: Fabric>(&mut self, fabric: &mut F, to: NodeId, message: Message) -> Result<(), Message> {
        let pays = message.priority == Priority::Low;
        let credits = &mut self.credits[to.0 as usize];
        if pays && *credits == 0 {
            return Err(message);
        }
        fabric.send(to, message).map_err(|Busy(message)| message)?;
        *credits -= u32::from(pays);
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
        let owed = &mut self.owed[from.0 as usize];
        *owed += 1;
        if *owed < CREDITS / 4 {
            return None;
        }
        let credits = std::mem::take(owed);
        Some(Header::new(Kind::Credits, 0, credits).message(Priority::High, &[]))
    }
    /// Credits have come back. False if there are more than were given.
    pub(crate) fn refill(&mut self, from: NodeId, count: u32) -> bool {
        let credits = &mut self.credits[from.0 as usize];
        let filled = credits.saturating_add(count);
        let right = filled <= CREDITS;
        if right {
            *credits = filled;
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
