//! What a node knows of another one: packets that came, packets that may go.
//!
//! Invariants:
//! - P1 A node has sent at most [`PACKETS`] packets of a priority that the receiver has not emptied: it has that
//!   number of credits, spends one for each, and gets it back when the packet has been polled to its end. So the
//!   memory of a receiver is bounded, whoever sends.
//! - P2 Messages are read in the order in which they were written. One whose payload is not there yet holds up those
//!   behind it of the same sender and priority (N1), and nobody else's.

use crate::wire::{self, HEADER_BYTES, Malformed, Record};
use crate::{Message, NodeId, Priority};
use std::collections::VecDeque;

/// Of the largest packet. Beyond four kilobytes MPI libraries change to a slower protocol.
pub(super) const PACKET_BYTES: usize = 3600;
/// P1.
pub(super) const PACKETS: u16 = 8;
/// Payloads that travel outside packets, of one priority to one node: the number that may be on their way.
pub(super) const LONG_MAX: u32 = 2;

/// Another node.
pub(super) struct Peer {
    /// By priority.
    pub(super) outbox: [Outbox; 2],
    pub(super) inbox: [Inbox; 2],
    /// It sends no more in this run.
    pub(super) is_done: bool,
}

/// To it.
pub(super) struct Outbox {
    /// The packet that is being filled; empty if there is none.
    pub(super) packet: Vec<u8>,
    pub(super) credits: u16,
    pub(super) long: u32,
    /// One of them travels in pieces, so nothing else may be on its way: pieces of two would be mistaken for each
    /// other.
    pub(super) in_pieces: bool,
}

/// From it.
#[derive(Default)]
pub(super) struct Inbox {
    packets: VecDeque<Packet>,
    /// Where the next record is in the first packet.
    position: usize,
    /// A message whose payload is on its way.
    waiting: Option<Message>,
    /// The same when it is complete.
    arrived: Option<Message>,
    /// The buffer of a packet that has been read to its end.
    pub(super) emptied: Option<Vec<u8>>,
    /// Credits to give back.
    pub(super) owed: u16,
}

/// Bytes that came, in a buffer that is longer.
pub(super) struct Packet {
    pub(super) buffer: Vec<u8>,
    pub(super) bytes: usize,
}

/// What an inbox has next.
pub(super) enum Next {
    Nothing,
    Message(Message),
    /// Bytes of its payload that must be received before it is complete.
    Awaits(u64),
    Malformed,
}

impl Peer {
    pub(super) fn new() -> Peer {
        let outbox = || Outbox { packet: Vec::new(), credits: PACKETS, long: 0, in_pieces: false };
        Peer { outbox: [outbox(), outbox()], inbox: Default::default(), is_done: false }
    }

    /// It has emptied packets of ours.
    pub(super) fn credit(&mut self, credits: [u16; 2]) -> Result<(), Malformed> {
        for (outbox, credits) in self.outbox.iter_mut().zip(credits) {
            outbox.credits = outbox.credits.checked_add(credits).ok_or(Malformed)?;
            if outbox.credits > PACKETS {
                return Err(Malformed);
            }
        }
        Ok(())
    }
}

impl Inbox {
    /// A packet whose header has been read. More than there are credits for are refused (P1).
    pub(super) fn arrive(&mut self, packet: Packet) -> Result<(), Malformed> {
        if self.packets.len() + usize::from(self.owed) >= PACKETS.into() || packet.bytes <= HEADER_BYTES {
            return Err(Malformed);
        }
        if self.packets.is_empty() {
            self.position = HEADER_BYTES;
        }
        self.packets.push_back(packet);
        Ok(())
    }

    /// Whether there is something to read.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.arrived.is_some() || (self.waiting.is_none() && !self.packets.is_empty())
    }

    /// The payload of the message that waits for it.
    pub(super) fn complete(&mut self, payload: Vec<u8>) {
        let mut message = self.waiting.take().expect("a payload is received only for a message that waits");
        message.payload = payload;
        self.arrived = Some(message);
    }

    /// The next message, if it is there, has no payload and is not among the last of its packet.
    #[inline(always)]
    pub(super) fn next_plain(&mut self, from: NodeId, priority: Priority) -> Option<Message> {
        if self.arrived.is_some() || self.waiting.is_some() {
            return None;
        }
        let packet = self.packets.front()?;
        let mut message = wire::read_plain(&packet.buffer[..packet.bytes], &mut self.position, priority)?;
        message.from = from;
        Some(message)
    }

    /// The next message. If it was the last of its packet, the buffer is in `emptied`.
    #[inline]
    pub(super) fn next(&mut self, from: NodeId, priority: Priority) -> Next {
        if self.arrived.is_some() || self.waiting.is_some() {
            return self.arrived.take().map_or(Next::Nothing, Next::Message);
        }
        let Some(packet) = self.packets.front() else { return Next::Nothing };
        let read = wire::read(&packet.buffer[..packet.bytes], &mut self.position, priority);
        let Ok(Record { mut message, follows }) = read else { return Next::Malformed };
        message.from = from;
        if self.position == packet.bytes {
            self.emptied = self.packets.pop_front().map(|packet| packet.buffer);
            self.position = HEADER_BYTES;
            self.owed += 1;
        }
        if follows == 0 {
            return Next::Message(message);
        }
        self.waiting = Some(message);
        Next::Awaits(follows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Header, Kind};
    use arbtest::arbtest;

    fn packet(messages: &[Message]) -> Packet {
        let mut buffer = vec![0; HEADER_BYTES];
        messages.iter().for_each(|message| wire::write(&mut buffer, message));
        let bytes = buffer.len();
        buffer.resize(PACKET_BYTES * 2, 0xee);
        Packet { buffer, bytes }
    }

    #[test]
    fn a_message_that_waits_for_its_payload_holds_up_those_behind_it() {
        let mut long = Message::new(Priority::Low, &[1]);
        long.payload = vec![7; 5000];
        let mut inbox = Inbox::default();
        inbox.arrive(packet(&[long.clone(), Message::new(Priority::Low, &[2])])).expect("there are credits");
        assert!(matches!(inbox.next(NodeId(4), Priority::Low), Next::Awaits(5000)));
        assert!(!inbox.is_ready());
        assert!(matches!(inbox.next(NodeId(4), Priority::Low), Next::Nothing));
        inbox.complete(long.payload.clone());
        long.from = NodeId(4);
        let Next::Message(first) = inbox.next(NodeId(4), Priority::Low) else { panic!("complete") };
        assert_eq!(first, long);
        let Next::Message(second) = inbox.next(NodeId(4), Priority::Low) else { panic!("last") };
        assert_eq!(
            (second.words(), inbox.owed, inbox.is_ready(), inbox.emptied.is_some()),
            (&[2][..], 1, false, true)
        );
    }

    /// Whatever packets come: messages or an error, and never more packets than there are credits.
    #[test]
    fn any_packets_are_read_or_refused() {
        arbtest(|u| {
            let mut peer = Peer::new();
            for _ in 0..u.int_in_range(0..=30)? {
                // Some real records, some bytes of them changed, and then anything.
                let mut buffer = vec![0; HEADER_BYTES];
                let priority = if u.arbitrary()? { Priority::High } else { Priority::Low };
                let credits = [u.int_in_range(0..=1)?, u.int_in_range(0..=1)?];
                Header { kind: Kind::Messages(priority), credits, run: 1 }.write(&mut buffer);
                for _ in 0..u.int_in_range(0..=3)? {
                    let words = vec![u.arbitrary()?; u.int_in_range(0..=8)?];
                    let mut message = Message::new(priority, &words);
                    message.payload = vec![7; u.int_in_range(0..=2500)?];
                    wire::write(&mut buffer, &message);
                }
                if u.ratio(1, 3)? {
                    for _ in 0..u.int_in_range(1..=4)? {
                        let place = u.choose_index(buffer.len())?;
                        buffer[place] = u.arbitrary()?;
                    }
                    buffer.extend(u.arbitrary::<Vec<u8>>()?);
                }
                let Ok(header) = Header::read(&buffer) else { continue };
                if peer.credit(header.credits).is_err() {
                    return Ok(());
                }
                assert!(peer.outbox.iter().all(|outbox| outbox.credits <= PACKETS));
                if let Kind::Messages(priority) = header.kind {
                    let inbox = &mut peer.inbox[priority as usize];
                    let bytes = buffer.len();
                    if inbox.arrive(Packet { buffer, bytes }).is_err() {
                        return Ok(());
                    }
                    assert!(inbox.packets.len() <= PACKETS.into());
                }
                for _ in 0..u.int_in_range(0..=4)? {
                    let inbox = &mut peer.inbox[priority as usize];
                    match inbox.next(NodeId(1), priority) {
                        Next::Awaits(bytes) => inbox.complete(vec![0; bytes.min(9) as usize]),
                        Next::Malformed => return Ok(()),
                        Next::Message(_) | Next::Nothing => {}
                    }
                    let _ = inbox.emptied.take();
                }
            }
            Ok(())
        })
        .budget_ms(1_000);
    }

    #[test]
    fn packets_and_credits_beyond_the_bound_are_refused() {
        let mut peer = Peer::new();
        for _ in 0..PACKETS {
            let message = Message::new(Priority::High, &[]);
            peer.inbox[1].arrive(packet(&[message])).expect("there are credits");
        }
        assert_eq!(peer.inbox[1].arrive(packet(&[Message::new(Priority::High, &[])])), Err(Malformed));
        assert_eq!(peer.inbox[0].arrive(packet(&[])), Err(Malformed), "a packet without a message");
        assert_eq!(peer.credit([0, 1]), Err(Malformed), "nothing was sent");
        assert_eq!(peer.credit([u16::MAX, 0]), Err(Malformed));
    }
}
