//! `--trace`: what each worker did when, in the trace event format that Perfetto and Chrome show.
//!
//! The node is a process and each worker a thread of it. What takes time is a complete event (`X`), a moment an instant (`i`), goals that were
//! given away are a flow (`s` to `f`), figures are counters (`C`). Times are microseconds.

use crate::driver::Machine;
use anyhow::Context;
use runtime::trace::{Event, Track, What};
use serde::{Serialize, Serializer};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The file of a run that is being traced.
pub(crate) struct Timeline<'p> {
    path: &'p Path,
    file: File,
}

impl<'p> Timeline<'p> {
    /// Opens the file before the run: a name that cannot be written should not cost one.
    pub(crate) fn start(path: &'p Path) -> anyhow::Result<Timeline<'p>> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Timeline { path, file })
    }
    /// Writes what was noted.
    pub(crate) fn finish(self, machine: &mut Machine) -> anyhow::Result<()> {
        let tracks = machine.node.take_trace().unwrap_or_default();
        write(&tracks, self.file).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// An event of the format.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    ph: &'a str,
    pid: u32,
    tid: usize,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// Of an instant: its scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    /// Of the end of a flow: it leads to the event around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "object")]
    args: &'a [(&'a str, Value<'a>)],
}

#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Number(u64),
    Text(&'a str),
}

fn object<S: Serializer>(args: &[(&str, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(args.iter().copied())
}

/// So many bytes are written at once.
const PIECE: usize = 1 << 16;

/// The events of a file, one a line.
struct Lines<W> {
    out: W,
    /// What is not written yet. Events are small: to hand each of their tokens to a writer would take longer than to make it.
    text: Vec<u8>,
    /// The worker whose events are being written.
    worker: usize,
    empty: bool,
}

fn write(tracks: &[Track], out: impl Write) -> std::io::Result<()> {
    let mut lines = Lines { out, text: Vec::with_capacity(2 * PIECE), worker: 0, empty: true };
    let left_out: u64 = tracks.iter().map(|track| track.left_out).sum();
    writeln!(lines.text, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"events left out\":{left_out}}},")?;
    writeln!(lines.text, "\"traceEvents\":[")?;
    lines.about("process_name", ("name", Value::Text("fifth")))?;
    for (worker, track) in tracks.iter().enumerate() {
        lines.worker = worker;
        lines.track(track)?;
    }
    lines.text.extend_from_slice(b"\n]}\n");
    lines.out.write_all(&lines.text)
}

impl<W: Write> Lines<W> {
    fn track(&mut self, track: &Track) -> std::io::Result<()> {
        let worker = self.worker;
        let name = format!("worker {worker}");
        self.about("thread_name", ("name", Value::Text(&name)))?;
        self.about("thread_sort_index", ("sort_index", Value::Number(worker as u64)))?;
        track.events.iter().try_for_each(|event| self.event(event, &name))?;
        if track.left_out > 0 {
            let last = track.events.last().map_or(0, |event| event.at + event.lasted);
            let text = "the trace of this worker is cut off: no room for more events";
            let args = [("events left out", Value::Number(track.left_out))];
            self.line(&Line { s: Some("t"), ..self.new_line(text, "i", last, &args) })?;
        }
        Ok(())
    }
    fn event(&mut self, event: &Event, worker: &str) -> std::io::Result<()> {
        let number = |number: usize| Value::Number(number as u64);
        match event.what {
            What::Reducing => self.span("reducing", event, &[]),
            What::Resting => self.span("resting", event, &[]),
            What::Outside => self.span("waiting for events outside", event, &[]),
            What::Stopping => self.span("stopping the others", event, &[]),
            What::Stopped => self.span("stopped", event, &[]),
            What::Collecting { major, words } => {
                let name = if major { "major collection" } else { "minor collection" };
                self.span(name, event, &[("words copied", number(words))])
            }
            What::Copying { words } => self.span("copying", event, &[("words copied", number(words))]),
            What::Waiting => self.span("waiting for the others", event, &[]),
            What::Asking { worker } => self.moment("asks for goals", event, &[("worker", number(worker))]),
            What::Giving { worker, words, gift } => {
                let args = [("worker", number(worker)), ("words", number(words))];
                self.moment("gives goals", event, &args)?;
                self.line(&Line { id: Some(gift), ..self.new_line("goals", "s", event.at, &[]) })
            }
            What::Receiving { words, gift } => {
                self.moment("receives goals", event, &[("words", number(words))])?;
                let end = self.new_line("goals", "f", event.at, &[]);
                self.line(&Line { id: Some(gift), bp: Some("e"), ..end })
            }
            What::Figures { suspensions, resumptions, ready_words } => {
                let args = [
                    ("suspensions", Value::Number(suspensions)),
                    ("resumptions", Value::Number(resumptions)),
                    ("words of ready goals", number(ready_words)),
                ];
                self.line(&self.new_line(worker, "C", event.at, &args))
            }
            What::Heap { words } => {
                self.line(&self.new_line("heap", "C", event.at, &[("words in use", number(words))]))
            }
        }
    }
    fn span(&mut self, name: &str, event: &Event, args: &[(&str, Value)]) -> std::io::Result<()> {
        let dur = Some(microseconds(event.lasted));
        self.line(&Line { dur, ..self.new_line(name, "X", event.at, args) })
    }
    fn moment(&mut self, name: &str, event: &Event, args: &[(&str, Value)]) -> std::io::Result<()> {
        self.line(&Line { s: Some("t"), ..self.new_line(name, "i", event.at, args) })
    }
    /// What the format calls metadata.
    fn about(&mut self, what: &str, arg: (&str, Value)) -> std::io::Result<()> {
        self.line(&self.new_line(what, "M", 0, &[arg]))
    }
    fn new_line<'a>(
        &self,
        name: &'a str,
        ph: &'a str,
        at: u64,
        args: &'a [(&'a str, Value<'a>)],
    ) -> Line<'a> {
        let ts = microseconds(at);
        Line { name, ph, pid: 1, tid: self.worker, ts, dur: None, s: None, bp: None, id: None, args }
    }
    fn line(&mut self, line: &Line) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.empty, false) {
            self.text.extend_from_slice(b",\n");
        }
        serde_json::to_writer(&mut self.text, line)?;
        if self.text.len() >= PIECE {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// Exact to the nanosecond for a hundred days.
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
