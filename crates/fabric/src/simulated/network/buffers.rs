//! Virtual channels: a buffer at a router's input each, and the input at the other end that has the channel.
//!
//! The input of a router's own node is no buffer, but its place shows the foremost packet of a queue, so that routers
//! see all inputs alike.

use super::clock::Clock;
use super::shape::Shape;
use super::signals::Signals;
use crate::simulated::config::{Config, Flow};
use crate::simulated::packet::{FIRST, LAST, NOBODY, Packets, first_flit, packet_of};

/// No route, no owner.
pub(super) const NONE: u8 = u8::MAX;
/// The route of a packet that takes several.
pub(super) const FORK: u8 = u8::MAX - 1;

/// A virtual channel: its end at a router's input, and who holds it. What few flits need is elsewhere, because the
/// time of a cycle is that of the memory it touches.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    /// The foremost flit, or the one that will be when the rest of its packet comes; when it may go.
    pub(super) flit: u32,
    pub(super) time: u32,
    /// Flits of its packet that have not left.
    pub(super) left: u32,
    /// How many flits there are.
    pub(super) len: u16,
    /// Which output (port and channel) the foremost packet takes.
    pub(super) route: u8,
    /// Which input of the router at its other end has it.
    pub(super) owner: u8,
}

impl Buffer {
    const EMPTY: Buffer = Buffer { flit: 0, time: 0, left: 0, len: 0, route: NONE, owner: NONE };

    /// A packet is the foremost one from now on.
    fn begin(&mut self, number: u32, flits: u32) {
        (self.flit, self.left) = (first_flit(number, flits), flits);
    }
}

/// Those of all routers, by router, port and channel.
pub(super) struct Buffers {
    all: Vec<Buffer>,
    /// By buffer: the packet that came last.
    lasts: Vec<u32>,
    /// By place of each buffer, a ring; and where each ring begins. Empty if all delays are a cycle.
    times: Vec<u32>,
    firsts: Vec<u16>,
    signals: Signals,
    /// By buffer: the rule has spoken about the foremost packet. Empty without a rule.
    judged: Vec<bool>,
    /// Flits of a buffer.
    depth: usize,
    hop_cycles: u32,
    credit_cycles: u32,
}

impl Buffers {
    pub(super) fn new(config: &Config, nodes: usize, shape: &Shape) -> Buffers {
        let (count, depth) = (nodes * shape.inputs(), config.buffer_flits as usize);
        let quick = (config.hop_cycles, config.credit_cycles, config.flow) == (1, 1, Flow::Credits);
        let timed = if quick { 0 } else { count };
        Buffers {
            all: vec![Buffer::EMPTY; count],
            lasts: vec![NOBODY; count],
            times: vec![0; timed * depth],
            firsts: vec![0; timed],
            signals: Signals::new(config.flow, count),
            judged: Vec::new(),
            depth,
            hop_cycles: config.hop_cycles,
            credit_cycles: config.credit_cycles,
        }
    }
    #[inline]
    pub(super) fn at(&self, at: usize) -> &Buffer {
        &self.all[at]
    }
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }
    pub(super) fn depth(&self) -> usize {
        self.depth
    }
    /// Whether flits wait for nothing but a place behind them.
    #[inline]
    pub(super) fn are_quick(&self) -> bool {
        self.times.is_empty()
    }
    /// Whether there is a place for a flit, as far as the sender knows.
    #[inline]
    pub(super) fn has_place(&self, at: usize, clock: u32) -> bool {
        let len = usize::from(self.all[at].len);
        if self.times.is_empty() { len < self.depth } else { self.has_place_in_time(at, len, clock) }
    }
    /// The same where hops, credits or signals take their time.
    #[cold]
    fn has_place_in_time(&self, at: usize, len: usize, clock: u32) -> bool {
        if self.signals.is_empty() {
            return len < self.depth && self.times[self.place(at, len)] <= clock;
        }
        self.signals.allow(at, clock)
    }
    /// Whether a packet of `flits` flits fits behind those that are there.
    pub(super) fn has_places(&self, at: usize, flits: u32) -> bool {
        usize::from(self.all[at].len) + flits as usize <= self.depth
    }
    /// Whether the time of the place `offset` behind the first has come.
    pub(super) fn is_past(&self, at: usize, offset: usize, clock: u32) -> bool {
        self.times.is_empty() || self.times[self.place(at, offset)] <= clock
    }
    /// The number, among all, of the place `offset` behind the first. Only where there are times.
    fn place(&self, at: usize, offset: usize) -> usize {
        let place = usize::from(self.firsts[at]) + offset;
        at * self.depth + if place >= self.depth { place - self.depth } else { place }
    }

    // ---- the foremost packet, and the channel --------------------------------------------------

    #[inline]
    pub(super) fn set_route(&mut self, at: usize, route: u8) {
        self.all[at].route = route;
    }
    /// An input takes the channel for a packet.
    #[inline]
    pub(super) fn take(&mut self, at: usize, input: u8) {
        self.all[at].owner = input;
    }
    /// The packet that had the channel has passed.
    #[inline]
    pub(super) fn give_back(&mut self, at: usize) {
        self.all[at].owner = NONE;
    }
    /// The foremost packet has gone wholly.
    #[inline]
    pub(super) fn end_packet(&mut self, at: usize) {
        self.all[at].route = NONE;
        if let Some(judged) = self.judged.get_mut(at) {
            *judged = false;
        }
    }
    /// This flit of a queue is foremost.
    #[inline]
    pub(super) fn show(&mut self, at: usize, flit: u32) {
        self.all[at].flit = flit;
    }
    /// This packet of a queue is foremost, and may go from then on.
    pub(super) fn show_packet(&mut self, at: usize, number: u32, flits: u32, time: u32) {
        let buffer = &mut self.all[at];
        (buffer.flit, buffer.time) = (first_flit(number, flits), time);
    }

    // ---- flits ---------------------------------------------------------------------------------

    /// The foremost flit leaves. `emptied` is called if there are no others; `behind` answers which packet is behind
    /// one whose last flit has left, and its length. These look into other stages in the middle of what this one does,
    /// so a flit costs as few instructions as if all stages were one.
    #[inline]
    pub(super) fn leave(
        &mut self,
        at: usize,
        clock: &Clock,
        emptied: impl FnOnce(),
        behind: impl FnOnce(u32) -> (u32, u32),
    ) {
        if !self.times.is_empty() {
            self.free_place(at, clock);
        }
        let buffer = &mut self.all[at];
        buffer.len -= 1;
        buffer.left -= 1;
        if buffer.len == 0 {
            emptied();
        }
        let packet = packet_of(buffer.flit);
        if buffer.left > 0 {
            buffer.flit = packet | if buffer.left == 1 { LAST } else { 0 };
        } else if buffer.len > 0 {
            let (next, flits) = behind(packet);
            buffer.begin(next, flits);
        }
    }
    /// A flit comes. True if there were none. `first` is called for the first flit of a packet, with the packet that
    /// is last so far, if any flits are here; else it answers the length of its own.
    #[inline]
    pub(super) fn enter(
        &mut self,
        at: usize,
        flit: u32,
        clock: &Clock,
        first: impl FnOnce(Option<u32>) -> u32,
    ) -> bool {
        let len = usize::from(self.all[at].len);
        if !self.times.is_empty() {
            self.take_place(at, len, clock);
        }
        let buffer = &mut self.all[at];
        buffer.len += 1;
        if flit & FIRST != 0 {
            let number = packet_of(flit);
            if len == 0 {
                buffer.begin(number, first(None));
            } else {
                first(Some(self.lasts[at]));
            }
            self.lasts[at] = number;
        }
        len == 0
    }
    /// A flit leaves that is neither the first nor the last of its packet, where buffers are quick. True if there are
    /// no others.
    #[inline]
    pub(super) fn leave_middle(&mut self, at: usize) -> bool {
        let buffer = &mut self.all[at];
        buffer.len -= 1;
        buffer.left -= 1;
        buffer.flit |= if buffer.left == 1 { LAST } else { 0 };
        buffer.len == 0
    }
    /// Such a flit comes. True if there were none.
    #[inline]
    pub(super) fn enter_middle(&mut self, at: usize) -> bool {
        let buffer = &mut self.all[at];
        buffer.len += 1;
        buffer.len == 1
    }
    /// The first flit leaves, where that takes its time.
    #[cold]
    fn free_place(&mut self, from: usize, clock: &Clock) {
        let clock = clock.cycle();
        let (freed, first) = (self.place(from, 0), self.place(from, 1));
        let later = clock + self.credit_cycles;
        self.times[freed] = later;
        self.firsts[from] = (first - from * self.depth) as u16;
        let buffer = &mut self.all[from];
        buffer.time = self.times[first];
        self.signals.note(from, usize::from(buffer.len) - 1, clock, later);
    }
    /// A flit comes to a buffer of this length, where that takes its time.
    #[cold]
    fn take_place(&mut self, to: usize, len: usize, clock: &Clock) {
        let clock = clock.cycle();
        let (time, place) = (clock + self.hop_cycles, self.place(to, len));
        self.times[place] = time;
        if len == 0 {
            self.all[to].time = time;
        }
        self.signals.note(to, len + 1, clock, clock + self.credit_cycles);
    }
    // ---- many flits, where buffers say stop and go ----------------------------------------------

    /// Whether buffers say stop and go.
    pub(super) fn say_stop(&self) -> bool {
        !self.signals.is_empty()
    }
    /// For how many cycles no sender hears anything new.
    pub(super) fn no_signal_for(&self, clock: u32) -> u32 {
        self.signals.quiet_for(clock)
    }
    /// For how many cycles a buffer says nothing new if a flit comes in each, or leaves, or both.
    pub(super) fn stays_in_bounds(&self, at: usize, comes: bool, leaves: bool) -> u32 {
        let len = u32::from(self.all[at].len);
        let room = if comes { self.depth as u32 - len } else { u32::MAX };
        room.min(self.signals.says_nothing_for(len, comes, leaves))
    }
    /// For how many cycles a flit may leave in each, as far as there are any and their times have come.
    pub(super) fn flows_for(&self, at: usize, comes: bool, clock: u32) -> u32 {
        let len = u32::from(self.all[at].len);
        let late = (0..len).find(|&flit| self.times[self.place(at, flit as usize)] > clock + flit);
        // Those that come now may leave when all that are there have left, if these are enough.
        let rest = if comes && len >= self.hop_cycles { u32::MAX } else { len.saturating_sub(1) };
        late.unwrap_or(rest)
    }
    /// A flit comes in each of these cycles, none of them the first of its packet.
    pub(super) fn enter_many(&mut self, at: usize, cycles: u32, clock: &Clock) {
        let (len, first) = (usize::from(self.all[at].len), clock.cycle() + self.hop_cycles);
        for n in 0..cycles {
            let place = self.place(at, len + n as usize);
            self.times[place] = first + n;
        }
        self.all[at].len += cycles as u16;
    }
    /// A flit leaves in each of these cycles, none of them the last but one of its packet.
    pub(super) fn leave_many(&mut self, at: usize, cycles: u32, clock: &Clock) {
        let first = clock.cycle() + self.credit_cycles;
        for n in 0..cycles {
            let place = self.place(at, n as usize);
            self.times[place] = first + n;
        }
        let next = self.place(at, cycles as usize);
        self.firsts[at] = (next - at * self.depth) as u16;
        let buffer = &mut self.all[at];
        buffer.len -= cycles as u16;
        buffer.left -= cycles;
        buffer.time = self.times[next];
    }
    /// The clock begins anew, earlier by this time.
    pub(super) fn shift(&mut self, past: u32) {
        for time in &mut self.times {
            *time = time.saturating_sub(past);
        }
        for buffer in &mut self.all {
            buffer.time = buffer.time.saturating_sub(past);
        }
        self.signals.shift(past);
    }

    // ---- faults --------------------------------------------------------------------------------

    /// There is a rule.
    pub(super) fn expect_rule(&mut self) {
        self.judged.resize(self.all.len(), false);
    }
    /// Whether the rule has spoken about the foremost packet.
    pub(super) fn is_judged(&self, at: usize) -> bool {
        self.judged[at]
    }
    /// The rule has spoken: the foremost packet waits until then.
    pub(super) fn hold(&mut self, at: usize, time: u32, judged: bool) {
        self.all[at].time = time;
        self.judged[at] = judged;
    }

    // ---- checks --------------------------------------------------------------------------------

    /// S2, S5, S6 of `check` for a buffer.
    pub(super) fn ring_is_right(&self, at: usize, clock: u32) -> Result<(), String> {
        let len = usize::from(self.all[at].len);
        if len > self.depth {
            return Err(format!("S2: {len} flits in buffer {at}"));
        }
        if !self.signals.is_right(at, len) {
            return Err(format!("S6: buffer {at} has {len} flits, and its sender is told otherwise"));
        }
        for offset in (0..self.depth).filter(|_| !self.times.is_empty()) {
            let time = self.times[self.place(at, offset)];
            let latest = clock + if offset < len { self.hop_cycles } else { self.credit_cycles };
            if time >= latest {
                return Err(format!("S5: place {offset} of buffer {at} is busy until {time}"));
            }
        }
        Ok(())
    }
    /// S3 of `check` for a buffer; counts the flits of each packet.
    pub(super) fn packets_follow(
        &self,
        at: usize,
        packets: &Packets,
        found: &mut [u32],
    ) -> Result<(), String> {
        let buffer = &self.all[at];
        let (mut number, mut rest) = (packet_of(buffer.flit), u32::from(buffer.len));
        if rest == 0 {
            return Ok(());
        }
        let flits = packets[number].flits;
        let first = if buffer.left == flits { FIRST } else { 0 };
        let last = if buffer.left == 1 { LAST } else { 0 };
        if !(1..=flits).contains(&buffer.left) || buffer.flit != number | first | last {
            return Err(format!("S3: the foremost flit of buffer {at} is not the one of {}", buffer.left));
        }
        let mut whole = buffer.left;
        loop {
            found[number as usize] += rest.min(whole);
            if rest <= whole {
                break;
            }
            rest -= whole;
            number = packets[number].next;
            if number == NOBODY || number as usize >= found.len() {
                return Err(format!("S3: {rest} flits of buffer {at} are of no packet"));
            }
            whole = packets[number].flits;
        }
        let says = self.lasts[at];
        if says != number {
            return Err(format!("S3: packet {number} is the last of buffer {at}, not {says}"));
        }
        Ok(())
    }
    /// Spoil them, for tests of the checks.
    #[cfg(test)]
    pub(super) fn spoil(&mut self, spoil: impl FnMut(&mut Buffer)) {
        self.all.iter_mut().for_each(spoil);
    }
    #[cfg(test)]
    pub(super) fn spoil_time(&mut self) {
        self.times[0] += 1000;
    }
    #[cfg(test)]
    pub(super) fn spoil_lasts(&mut self) {
        self.lasts.fill(NOBODY);
    }
    #[cfg(test)]
    pub(super) fn spoil_signals(&mut self) {
        self.signals.spoil();
    }
}
