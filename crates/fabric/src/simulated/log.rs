//! The event log: what happened to packets and nodes, a line each, the same on every host for a seed.
//!
//! `TIME send NUMBER FROM>TO FLITS PRIORITY`, `TIME hop NUMBER AT>NEXT` (its first flit), `TIME delay NUMBER AT>NEXT
//! CYCLES` (likewise
//! `stall`, and `drop` without cycles), `TIME arrive NUMBER`. Packets are numbered as they are sent. A multicast is
//! sent to `many`, all of its
//! copies have its number, and where one arrives stands behind.

use super::packet::{NOBODY, Packet};
use super::rule::{Crossing, Verdict};
use crate::Priority;
use std::fmt::Write;

/// The log of a run, if it is wanted.
pub(super) struct Log(Option<String>);

impl Log {
    pub(super) fn new(wanted: bool) -> Log {
        Log(wanted.then(String::new))
    }
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }
    /// The text; empty if it was not wanted.
    pub(super) fn take(&mut self) -> String {
        self.0.take().unwrap_or_default()
    }
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if let Some(text) = &mut self.0 {
            writeln!(text, "{line}").expect("a string takes everything");
        }
    }
    pub(super) fn send(&mut self, packet: &Packet) {
        let Packet { sent, number, from, to, flits, priority, .. } = packet;
        self.line(format_args!("{sent} send {number} {}>{} {flits} {}", from.0, to.0, name(*priority)));
    }
    pub(super) fn send_many(&mut self, packet: &Packet) {
        let Packet { sent, number, from, flits, priority, .. } = packet;
        self.line(format_args!("{sent} send {number} {}>many {flits} {}", from.0, name(*priority)));
    }
    pub(super) fn hop(&mut self, time: u64, packet: &Packet, at: usize, next: usize) {
        self.line(format_args!("{time} hop {} {at}>{next}", packet.number));
    }
    pub(super) fn verdict(&mut self, crossing: &Crossing, number: u64, verdict: Verdict) {
        let (what, cycles) = match verdict {
            Verdict::Pass => return,
            Verdict::Delay(cycles) => ("delay", format!(" {cycles}")),
            Verdict::Stall(cycles) => ("stall", format!(" {cycles}")),
            Verdict::Drop => ("drop", String::new()),
        };
        let Crossing { time, at, next, .. } = crossing;
        self.line(format_args!("{} {what} {number} {}>{}{cycles}", time.0, at.0, next.0));
    }
    pub(super) fn arrive(&mut self, time: u64, packet: &Packet) {
        match packet.cast {
            NOBODY => self.line(format_args!("{time} arrive {}", packet.number)),
            _ => self.line(format_args!("{time} arrive {} {}", packet.number, packet.to.0)),
        }
    }
}

/// A priority in logs and traces.
pub(super) fn name(priority: Priority) -> &'static str {
    match priority {
        Priority::Low => "low",
        Priority::High => "high",
    }
}
