//! Traces: which packets were sent when, as text that other programs read and write too.
//!
//! A line is `TIME FROM TO FLITS PRIORITY`: a cycle, two nodes' numbers, a length, and `low` or `high`. Times do not
//! decrease. Empty lines and what is behind `#` mean nothing.

use super::log::name;
use crate::{NodeId, Priority, Time};
use std::fmt;

/// A packet that a node sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When.
    pub time: Time,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Its length.
    pub flits: u32,
    /// Its priority.
    pub priority: Priority,
}

/// Why a text is no trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTrace {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for BadTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadTrace {}

/// A trace as text.
pub fn write(trace: &[Sent]) -> String {
    let mut text = String::from("# time from to flits priority\n");
    for Sent { time, from, to, flits, priority } in trace {
        text += &format!("{} {} {} {flits} {}\n", time.0, from.0, to.0, name(*priority));
    }
    text
}

/// The trace of a text, for a network of this number of nodes.
pub fn read(text: &str, nodes: u32) -> Result<Vec<Sent>, BadTrace> {
    let mut trace: Vec<Sent> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bad = |what: String| BadTrace { line: number + 1, what };
        let fields: Vec<&str> = line.split('#').next().unwrap_or_default().split_ascii_whitespace().collect();
        if fields.is_empty() {
            continue;
        }
        let [time, from, to, flits, priority] = fields[..] else {
            return Err(bad(format!("{} fields instead of five", fields.len())));
        };
        let whole = |text: &str| text.parse::<u64>().map_err(|_| bad(format!("`{text}` is no number")));
        let node = |text: &str| match text.parse::<u32>() {
            Ok(node) if node < nodes => Ok(NodeId(node)),
            _ => Err(bad(format!("`{text}` is none of the {nodes} nodes"))),
        };
        let priority = match priority {
            "low" => Priority::Low,
            "high" => Priority::High,
            other => return Err(bad(format!("`{other}` is neither low nor high"))),
        };
        let flits = match whole(flits)? {
            flits @ 1..=FLITS_MAX => flits as u32,
            _ => return Err(bad(format!("packets have 1 to {FLITS_MAX} flits"))),
        };
        let time = Time(whole(time)?);
        if trace.last().is_some_and(|last| last.time > time) {
            return Err(bad("time goes back".into()));
        }
        trace.push(Sent { time, from: node(from)?, to: node(to)?, flits, priority });
    }
    Ok(trace)
}

/// Longest packet of a trace that is read.
const FLITS_MAX: u64 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let trace = vec![
            Sent { time: Time(0), from: NodeId(3), to: NodeId(0), flits: 9, priority: Priority::Low },
            Sent { time: Time(1 << 40), from: NodeId(1), to: NodeId(1), flits: 1, priority: Priority::High },
        ];
        assert_eq!(read(&write(&trace), 4), Ok(trace));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text: &str| read(text, 4).expect_err("it is wrong").to_string();
        assert_eq!(wrong("\n1 2 3 4"), "line 2: 4 fields instead of five");
        assert_eq!(wrong("-1 2 3 4 low"), "line 1: `-1` is no number");
        assert_eq!(wrong("1 2 4 4 low"), "line 1: `4` is none of the 4 nodes");
        assert_eq!(wrong("1 2 3 0 low"), "line 1: packets have 1 to 16777216 flits");
        assert_eq!(wrong("1 2 3 1 urgent"), "line 1: `urgent` is neither low nor high");
        assert_eq!(wrong("2 2 3 1 low\n1 2 3 1 low"), "line 2: time goes back");
    }
}
