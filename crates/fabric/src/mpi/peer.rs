//! What a node knows of another one: packets that came, packets that may go.
//!
//! Invariants:
//! - P1 A node has sent at most [`PACKETS`] packets of a priority that the receiver has not emptied: it has that
//!   number of credits, spends one for each, and gets it back when the packet has been polled to its end. So the
//!   memory of a receiver is bounded, whoever sends: to these packets, one message of which a part has been read, and
//!   what was announced and asked for.
//! - Messages are read in the order in which they were written. One whose payload is not all there yet holds up
//!   those behind it of the same sender and priority (N1), and nobody else's.
//! - P3 A message that goes through several packets is taken only if there are credits for those that it fills. A
//!   receiver that has read everything keeps back fewer than half of the credits, so there will be.

use crate::wire::{self, HEADER_BYTES, INLINE_BYTES_MAX, Malformed, Record, Rest, WORDS_BYTES};
use crate::{Message, NodeId, Priority};
use std::collections::VecDeque;

/// Of the largest packet. Beyond four kilobytes MPI libraries change to a slower protocol.
pub(super) const PACKET_BYTES: usize = 3600;
/// P1.
pub(super) const PACKETS: u16 = 8;
/// P3: packets that are full before the last byte of a longest message is written.
const FILLED_MAX: usize = 1 + (8 + WORDS_BYTES + INLINE_BYTES_MAX).div_ceil(PACKET_BYTES - HEADER_BYTES);
const _: () = assert!(FILLED_MAX <= (PACKETS / 2) as usize && PACKET_BYTES.is_multiple_of(8));
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
    /// A message, and the number of its bytes that are in the next packets.
    begun: Option<(Message, usize)>,
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

impl Outbox {
    /// How many packets are full before the last byte of a message is written: for each there must be a credit.
    #[inline]
    pub(super) fn fills(&self, message: &Message) -> u16 {
        let (head, mut rest) = (wire::head_bytes(message), wire::inside(message).len());
        let mut filled = 0;
        let mut end = self.packet.len().max(HEADER_BYTES) + head;
        if end > PACKET_BYTES {
            (filled, end) = (1, HEADER_BYTES + head);
        }
        while end + rest > PACKET_BYTES {
            rest -= PACKET_BYTES - end;
            (filled, end) = (filled + 1, HEADER_BYTES);
        }
        filled
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
        if self.arrived.is_some() || self.waiting.is_some() || self.begun.is_some() {
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
        let bytes = &packet.buffer[..packet.bytes];
        let read = match self.begun.take() {
            Some((message, missing)) => wire::read_on(bytes, &mut self.position, message, missing),
            None => wire::read(bytes, &mut self.position, priority),
        };
        let Ok(Record { mut message, rest }) = read else { return Next::Malformed };
        message.from = from;
        if self.position == packet.bytes {
            self.emptied = self.packets.pop_front().map(|packet| packet.buffer);
            self.position = HEADER_BYTES;
            self.owed += 1;
        }
        match rest {
            Rest::Nowhere => return Next::Message(message),
            Rest::NextPacket(missing) => self.begun = Some((message, missing)),
            Rest::Outside(bytes) => {
                self.waiting = Some(message);
                return Next::Awaits(bytes);
            }
        }
        Next::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Header, Kind};
    use arbtest::arbtest;

    /// As much of a message as a packet that is empty, or filled as far, has room for: packets.
    fn write(buffer: &mut Vec<u8>, message: &Message) -> Vec<Vec<u8>> {
        wire::write_head(buffer, message);
        let mut rest = wire::write_inside(buffer, wire::inside(message), PACKET_BYTES);
        let mut more = Vec::new();
        while !rest.is_empty() {
            let mut next = vec![0; HEADER_BYTES];
            rest = wire::write_inside(&mut next, rest, PACKET_BYTES);
            more.push(next);
        }
        more
    }

    fn packet(messages: &[Message]) -> Packet {
        let mut buffer = vec![0; HEADER_BYTES];
        messages.iter().for_each(|message| assert!(write(&mut buffer, message).is_empty()));
        let bytes = buffer.len();
        buffer.resize(PACKET_BYTES * 2, 0xee);
        Packet { buffer, bytes }
    }

    #[test]
    fn a_message_that_waits_for_its_payload_holds_up_those_behind_it() {
        let mut long = Message::new(Priority::Low, &[1]);
        long.payload = vec![7; 9000];
        let mut inbox = Inbox::default();
        inbox.arrive(packet(&[long.clone(), Message::new(Priority::Low, &[2])])).expect("there are credits");
        assert!(matches!(inbox.next(NodeId(4), Priority::Low), Next::Awaits(9000)));
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

    #[test]
    fn a_page_comes_in_two_packets_and_the_credits_of_both_go_back() {
        let mut page = Message::new(Priority::High, &[1, 2]);
        page.payload = (0..4108).map(|byte| byte as u8).collect();
        let (mut first, mut outbox) = (vec![0; HEADER_BYTES], Peer::new().outbox.into_iter().next().unwrap());
        assert_eq!(outbox.fills(&page), 1);
        let mut more = write(&mut first, &page);
        assert_eq!((first.len(), more.len()), (PACKET_BYTES, 1));
        write(&mut more[0], &Message::new(Priority::High, &[3]));
        let mut inbox = Inbox::default();
        for buffer in [first, more.remove(0)] {
            assert!(matches!(inbox.next(NodeId(1), Priority::High), Next::Nothing));
            assert!(inbox.next_plain(NodeId(1), Priority::High).is_none() && !inbox.is_ready());
            let bytes = buffer.len();
            inbox.arrive(Packet { buffer, bytes }).expect("there are credits");
            assert!(inbox.is_ready());
        }
        page.from = NodeId(1);
        let Next::Message(came) = inbox.next(NodeId(1), Priority::High) else { panic!("it is complete") };
        assert_eq!((came, inbox.owed), (page.clone(), 1));
        let Next::Message(behind) = inbox.next(NodeId(1), Priority::High) else { panic!("it is there") };
        assert_eq!((behind.words(), inbox.owed, inbox.is_ready()), (&[3][..], 2, false));
        // From every place in a packet: as many as there are.
        page.payload.resize(INLINE_BYTES_MAX, 0);
        for filled in (HEADER_BYTES..=PACKET_BYTES).step_by(8) {
            outbox.packet = vec![0; filled];
            let mut buffer = outbox.packet.clone();
            let mut packets = 0;
            if buffer.len() + wire::head_bytes(&page) > PACKET_BYTES {
                buffer.truncate(HEADER_BYTES);
                packets = 1;
            }
            packets += write(&mut buffer, &page).len();
            assert_eq!(usize::from(outbox.fills(&page)), packets, "from {filled} on");
            assert!(packets <= FILLED_MAX);
        }
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
                let header = Header { kind: Kind::Messages(priority), credits, run: 1 };
                header.write(&mut buffer);
                for _ in 0..u.int_in_range(0..=3)? {
                    let words = vec![u.arbitrary()?; u.int_in_range(0..=8)?];
                    let mut message = Message::new(priority, &words);
                    message.payload = vec![7; u.int_in_range(0..=9000)?];
                    if buffer.len() + wire::head_bytes(&message) > PACKET_BYTES {
                        break;
                    }
                    let Some(last) = write(&mut buffer, &message).pop() else { continue };
                    // Its first part or its last, as if the others had come.
                    if u.arbitrary()? {
                        buffer = last;
                        header.write(&mut buffer);
                    }
                    break;
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
