//! What each worker did when, in the trace event format that Perfetto and Chrome show.
//!
//! Each node is a process and each worker a thread of it. What takes time is a complete event (`X`), a moment an
//! instant (`i`), goals that were given away and messages between nodes are flows (`s` to `f`), figures are counters
//! (`C`). Times are microseconds.

use distribution::KINDS;
use runtime::trace::{Event, Letter, Track, Tracks, What};
use std::fmt::{Arguments, Write as _};
use std::io::Write;

/// So many bytes are written at once.
const PIECE: usize = 1 << 16;

/// The events of a file, one a line. They are formatted as text: to make a tree of values of each would take longer
/// than all else that a trace costs. No name of ours has to be escaped.
struct Lines<W> {
    out: W,
    /// What is not written yet.
    text: String,
    /// The number of the process.
    process: usize,
    /// The node and the worker whose events are being written.
    node: usize,
    worker: usize,
    /// Nanoseconds from the first event of all to the first of the node.
    begin: u64,
}

/// Writes what was noted at each node. `one_clock`: they have their times from one clock; otherwise they are taken to
/// have begun at the same time.
pub fn write(nodes: &[Tracks], one_clock: bool, out: impl Write) -> std::io::Result<()> {
    let text = String::with_capacity(2 * PIECE);
    let mut lines = Lines { out, text, process: 0, node: 0, worker: 0, begin: 0 };
    let left_out: u64 = nodes.iter().flat_map(|node| &node.tracks).map(|track| track.left_out).sum();
    lines.text = format!(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"events left out\":{left_out}}},\n\"traceEvents\":[\n"
    );
    let start = nodes.iter().map(|node| node.start).min().unwrap_or_default();
    for (number, node) in nodes.iter().enumerate() {
        lines.begin = if one_clock { node.start - start } else { 0 };
        let several = nodes.len() > 1;
        (lines.node, lines.worker, lines.process) = (number, 0, if several { number } else { 1 });
        let name = if several { format!("node {number}") } else { "fifth".into() };
        let (pid, comma) = (lines.process, if number > 0 { ",\n" } else { "" });
        lines.text.push_str(&format!(
            "{comma}{{\"pid\":{pid},\"tid\":0,\"ph\":\"M\",\"name\":\"process_name\",\"ts\":0,\
             \"args\":{{\"name\":\"{name}\"}}}}"
        ));
        for (worker, track) in node.tracks.iter().enumerate() {
            lines.worker = worker;
            lines.track(track)?;
        }
    }
    lines.text.push_str("\n]}\n");
    lines.out.write_all(lines.text.as_bytes())
}

impl<W: Write> Lines<W> {
    fn track(&mut self, track: &Track) -> std::io::Result<()> {
        let worker = self.worker;
        self.line("M", "thread_name", 0, format_args!(",\"args\":{{\"name\":\"worker {worker}\"}}"));
        self.line("M", "thread_sort_index", 0, format_args!(",\"args\":{{\"sort_index\":{worker}}}"));
        let counters = format!("worker {worker}");
        for event in &track.events {
            self.event(event, &counters);
            if self.text.len() >= PIECE {
                self.out.write_all(self.text.as_bytes())?;
                self.text.clear();
            }
        }
        if track.left_out > 0 {
            let last = track.events.last().map_or(0, |event| event.at + event.lasted);
            let name = "the trace of this worker is cut off: no room for more events";
            self.moment(name, last, format_args!("\"events left out\":{}", track.left_out));
        }
        Ok(())
    }
    fn event(&mut self, event: &Event, counters: &str) {
        let at = event.at;
        match event.what {
            What::Reducing => self.span("reducing", event, None),
            What::Resting => self.span("resting", event, None),
            What::Outside => self.span("waiting for events outside", event, None),
            What::Stopping => self.span("stopping the others", event, None),
            What::Stopped => self.span("stopped", event, None),
            What::Collecting { major: false, words } => self.span("minor collection", event, Some(words)),
            What::Collecting { major: true, words } => self.span("major collection", event, Some(words)),
            What::Copying { words } => self.span("copying", event, Some(words)),
            What::Waiting => self.span("waiting for the others", event, None),
            What::Asking { worker } => self.moment("asks for goals", at, format_args!("\"worker\":{worker}")),
            What::Giving { worker, words, gift } => {
                self.moment("gives goals", at, format_args!("\"worker\":{worker},\"words\":{words}"));
                self.line("s", "goals", at, format_args!(",\"id\":{gift}"));
            }
            What::Receiving { words, gift } => {
                self.moment("receives goals", at, format_args!("\"words\":{words}"));
                // It leads to the span around it.
                self.line("f", "goals", at, format_args!(",\"bp\":\"e\",\"id\":{gift}"));
            }
            What::Figures { suspensions, resumptions, ready_words } => {
                let values = format_args!(
                    ",\"args\":{{\"suspensions\":{suspensions},\"resumptions\":{resumptions},\
                     \"words of ready goals\":{ready_words}}}"
                );
                self.line("C", counters, at, values);
            }
            What::Heap { words } => {
                self.line("C", "heap", at, format_args!(",\"args\":{{\"words in use\":{words}}}"));
            }
            What::Sending(letter) => self.letter(event, letter, "sends", "to", "s"),
            What::Handling(letter) => self.letter(event, letter, "handles", "from", "f"),
        }
    }
    /// A message is a span, and the beginning or end of a flow.
    fn letter(&mut self, event: &Event, letter: Letter, does: &str, way: &str, phase: &str) {
        let Letter { peer, urgent, number, kind } = letter;
        let kind = KINDS.get(usize::from(kind)).unwrap_or(&"message");
        let dur = Microseconds(event.lasted);
        let rest = format_args!(",\"dur\":{dur},\"args\":{{\"{way}\":{peer}}}");
        self.line("X", &format!("{does} {kind}"), event.at, rest);
        // The same at both ends: who sent it, who got it, and which of theirs it is. It fits into a double's 53 bits.
        let (from, to) =
            if phase == "s" { (self.node as u64, peer.into()) } else { (peer.into(), self.node as u64) };
        let id = from << 43 | to << 33 | u64::from(urgent) << 32 | u64::from(number);
        let bound = if phase == "f" { ",\"bp\":\"e\"" } else { "" };
        self.line(phase, "message", event.at, format_args!("{bound},\"id\":{id}"));
    }
    fn span(&mut self, name: &str, event: &Event, words_copied: Option<usize>) {
        let dur = Microseconds(event.lasted);
        match words_copied {
            None => self.line("X", name, event.at, format_args!(",\"dur\":{dur}")),
            Some(words) => self.line(
                "X",
                name,
                event.at,
                format_args!(",\"dur\":{dur},\"args\":{{\"words copied\":{words}}}"),
            ),
        }
    }
    fn moment(&mut self, name: &str, at: u64, args: Arguments) {
        self.line("i", name, at, format_args!(",\"s\":\"t\",\"args\":{{{args}}}"));
    }
    /// An event of the format. All of them follow another one.
    fn line(&mut self, phase: &str, name: &str, at: u64, rest: Arguments) {
        let (pid, tid, ts) = (self.process, self.worker, Microseconds(self.begin + at));
        write!(
            self.text,
            ",\n{{\"pid\":{pid},\"tid\":{tid},\"ph\":\"{phase}\",\"name\":\"{name}\",\"ts\":{ts}{rest}}}"
        )
        .expect("a text takes what is written");
    }
}

/// Nanoseconds as they are to be written.
struct Microseconds(u64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_without_room_says_so() {
        let events = vec![Event { at: 1, lasted: 2_345_678, what: What::Reducing }];
        let mut track = Track::default();
        (track.events, track.left_out) = (events, 7);
        let mut out = Vec::new();
        let tracks = Tracks { start: 5, tracks: vec![Track::default(), track] };
        super::write(&[tracks], true, &mut out).expect("a vector takes what is written");
        let json: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(json["otherData"]["events left out"], 7);
        let events = json["traceEvents"].as_array().expect("a list");
        let last: Vec<_> = events.iter().rev().take(2).collect();
        assert!(last[0]["name"].as_str().is_some_and(|name| name.contains("cut off")));
        assert_eq!(last[0]["args"]["events left out"], 7);
        assert_eq!((last[0]["tid"].as_u64(), last[0]["ts"].as_f64()), (Some(1), Some(2345.679)));
        assert_eq!((last[1]["ts"].as_f64(), last[1]["dur"].as_f64()), (Some(0.001), Some(2345.678)));
    }
}
