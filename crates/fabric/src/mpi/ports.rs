//! Packets on their way through MPI, and their buffers.

use super::bells::Bells;
use super::peer::{PACKET_BYTES, Packet};
use super::raw::{Channel, Transfer};
use crate::wire::{HEADER_BYTES, WORDS_BYTES};
use std::collections::VecDeque;

/// Tags: packets, and payloads by priority. Two payloads between the same nodes are received in the order of their
/// announcements.
pub(super) const PACKET: i32 = 0;
pub(super) const PAYLOAD: [i32; 2] = [1, 2];
/// Receives that are begun before anything comes.
pub(super) const POSTED: usize = 16;
/// Looks for packets that are left out while nothing has rung.
const LEFT_OUT: u32 = 8;

/// What is begun with MPI and outlives a run.
pub(super) struct Ports {
    pub(super) channel: Channel,
    pub(super) bells: Bells,
    /// In the order in which they were begun, so the first is complete first.
    receiving: VecDeque<Transfer>,
    /// Packets on their way.
    pub(super) sending: VecDeque<Transfer>,
    /// Buffers of whole packets, for receiving; and empty ones, to be filled.
    pub(super) whole: Vec<Vec<u8>>,
    empty: Vec<Vec<u8>>,
    /// Looks in a row.
    left_out: u32,
}

impl Ports {
    pub(super) fn new(channel: Channel, bells: Bells) -> Ports {
        let mut ports = Ports {
            channel,
            bells,
            receiving: VecDeque::new(),
            sending: VecDeque::new(),
            whole: Vec::new(),
            empty: Vec::new(),
            left_out: 0,
        };
        (0..POSTED).for_each(|_| ports.post());
        ports
    }

    /// Begins to receive one more packet.
    fn post(&mut self) {
        let buffer = self.whole.pop().unwrap_or_else(|| self.channel.packet_buffer());
        self.receiving.push_back(self.channel.receive(buffer, PACKET));
    }

    /// The next packet that has come, and its sender.
    pub(super) fn receive(&mut self) -> Option<(u32, Packet)> {
        if self.bells.is_silent() && self.left_out < LEFT_OUT {
            self.left_out += 1;
            return None;
        }
        self.left_out = 0;
        let complete = self.receiving.front_mut().and_then(|first| first.test(&self.channel));
        // Receives are begun when there is time for it, or before it is too late.
        if complete.is_none() || self.receiving.len() <= POSTED / 2 {
            (self.receiving.len()..POSTED).for_each(|_| self.post());
        }
        let complete = complete?;
        self.bells.hear();
        let transfer = self.receiving.pop_front().expect("it was there");
        // One that is too long is read as if it had no header, which no fabric sends either.
        let bytes = complete.bytes.unwrap_or_default();
        Some((complete.from, Packet { buffer: transfer.into_buffer(), bytes }))
    }

    /// Does not leave out the next look.
    pub(super) fn look_anyway(&mut self) {
        self.left_out = LEFT_OUT;
    }

    pub(super) fn send(&mut self, to: u32, packet: Vec<u8>) {
        assert!(packet.len() <= PACKET_BYTES, "no receiver has room for more");
        let mut transfer = self.channel.send(packet, to, PACKET);
        self.bells.ring(to);
        match transfer.test(&self.channel) {
            Some(_) => self.reuse(transfer),
            None => self.sending.push_back(transfer),
        }
    }

    fn reuse(&mut self, sent: Transfer) {
        let mut buffer = sent.into_buffer();
        buffer.clear();
        self.empty.push(buffer);
    }

    /// Takes back buffers of packets that have been sent.
    pub(super) fn reclaim(&mut self) {
        while let Some(first) = self.sending.front_mut()
            && first.test(&self.channel).is_some()
        {
            let sent = self.sending.pop_front().expect("it was there");
            self.reuse(sent);
        }
    }

    pub(super) fn empty_packet(&mut self) -> Vec<u8> {
        let mut packet = self.empty.pop().unwrap_or_else(|| Vec::with_capacity(PACKET_BYTES + WORDS_BYTES));
        packet.resize(HEADER_BYTES, 0);
        packet
    }
}
