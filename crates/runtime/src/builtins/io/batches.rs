//! Streams that are served in batches: a stream that only writes costs its writer no resumption for each message.
//!
//! The process of a stream waits for the next message, and is resumed by it. After [`CALM`] messages in a row that only
//! write, it waits no more: its stream is a *batch*, and whoever binds the stream resumes nobody. The worker looks at
//! its batches now and then, and reduces the goal of each that has got something.
//!
//! A program sees of this:
//! - The messages of a stream are served in their order, and each once.
//! - O2 What goes to one file goes there in the order in which it was sent: before another stream that writes there is
//!   served, before the console writes, and before a file is opened or a process made, the batches concerned are
//!   served.
//! - A message that answers waits for the next look: that comes when nothing of the running priority is ready, when
//!   [`LOOK_BYTES`] were allocated, and whenever else the worker attends. After it the stream is no batch any more.
//! - So the list of a writer without an end is as long as [`LOOK_BYTES`] allow.
//! - At the end of a run, by an error, a signal or `exit`, too, all that was sent before is written.
//! - A batch waits for nobody: at the end of a run it is forgotten, as a daemon is.
//! - O7 A worker that rests has no batches: whoever binds a stream's variable then resumes its process.
//! - O8 A worker with batches looks at each tick: so a goal that neither allocates nor ends does not keep an answer
//!   back, for which it may wait. A process that forks has no batches.
//!
//! Of several nodes none has batches: messages come from elsewhere, too. None is a stream on a terminal, on standard
//! error, on a string, which somebody is waiting for, or on a pipe or socket that somebody may be waiting at
//! (`File::takes_batches`).

use super::{Io, STDERR};
use crate::memory::ranges::read;
use crate::terms::deref;
use crate::worker::{Root, Worker};
use term::Word;
use term::word::Tag;

/// Messages in a row that only write, after which a stream becomes a batch.
pub(super) const CALM: u32 = 64;
/// What a worker with batches allocates between two looks: little enough for the nearest cache.
pub(crate) const LOOK_BYTES: usize = 16 << 10;
/// Batches of a worker, at most.
const BATCHES_MAX: usize = 8;
/// Looks in a row that find nothing: then the stream is a batch no more. (Who would send may be gone.)
const IDLE_LOOKS_MAX: u32 = 16;

/// A stream that is one.
pub(super) struct Batch {
    pub(super) place: usize,
    /// The file that it writes.
    pub(super) output: usize,
    priority: i64,
    idle_looks: u32,
    /// The process's first and last arguments.
    messages: Root,
    state: Root,
}

impl Io {
    /// O2: whether a batch is to be served before a stream, which is none, that writes this file.
    #[inline(always)]
    pub(super) fn has_batch_before(&self, output: usize) -> bool {
        self.batches.iter().any(|batch| batch.output == output)
    }
    /// Whether a stream that has been calm may become a batch; otherwise it is to be calm anew.
    fn may_begin(&mut self, place: usize) -> Option<usize> {
        let output = self.streams.get_mut(place)?.output;
        let full = self.batches.len() >= BATCHES_MAX || self.has_batch_before(output);
        let takes = output != STDERR && self.file(output)?.takes_batches();
        (takes && !full && !self.streams.get_mut(place)?.interactive).then_some(output)
    }
}

impl Batch {
    /// Its stream is to be calm anew before it becomes one again.
    fn disturb(&self, worker: &mut Worker) {
        if let Some(stream) = worker.io().streams.get_mut(self.place) {
            stream.calm = 0;
        }
    }
    /// The process waits for these messages, or serves them.
    fn end(self, worker: &mut Worker, messages: Word) {
        let state = worker.take_root(self.state);
        worker.take_root(self.messages);
        let process = worker.system_goals.stream;
        let arguments = [messages, Word::small(self.place as i64), state];
        if messages.tag() == Tag::Ref {
            worker.in_lane(self.priority, |worker| worker.spawn_waiting(process, arguments, messages));
        } else if self.priority == worker.abi.priority {
            worker.call_or_spawn(process, &arguments);
        } else {
            worker.spawn_at_lane(self.priority, process, &arguments);
        }
    }
}

/// The process of a stream would wait for this variable, its messages' rest. True if it is a batch from now on.
pub(super) fn begin(worker: &mut Worker, place: usize, messages: Word, state: Word) -> bool {
    let refused = worker.is_one_of_several_nodes() || worker.has_generator(read(messages.address()));
    let io = worker.io();
    match io.streams.get_mut(place) {
        Some(stream) if stream.calm >= CALM => stream.calm = 0,
        _ => return false,
    }
    let Some(output) = io.may_begin(place).filter(|_| !refused) else { return false };
    if let Some(stream) = io.streams.get_mut(place) {
        // As long as it only writes, it goes on as a batch after it was served.
        stream.calm = CALM;
    }
    debug_assert!(messages.tag() == Tag::Ref, "O7: a batch begins when it would wait");
    let [messages, state] = [messages, state].map(|word| worker.roots.add(word));
    let priority = worker.lane_outside();
    worker.io().batches.push(Batch { place, output, priority, idle_looks: 0, messages, state });
    let waker = worker.waker();
    worker.io().ticker.set(true, &waker);
    worker.look_within(LOOK_BYTES);
    true
}

/// O8: the process is to have one thread; no batch ticks any more.
pub(super) fn end_ticks(worker: &mut Worker) {
    end(worker);
    worker.io().ticker.end();
}

/// O7: a worker has no goal. True if there were batches, which have ended: it may have some now.
pub(crate) fn end(worker: &mut Worker) -> bool {
    let ended = worker.has_batches();
    while worker.has_batches() {
        let batch = worker.io().batches.remove(0);
        let messages = deref(worker.root_word(&batch.messages));
        batch.disturb(worker);
        batch.end(worker, messages);
    }
    if ended {
        worker.io().ticker.stop();
    }
    ended
}

/// Serves the batches that have got something: all, or (O2) those that write this file. True if there were any.
pub(crate) fn serve(worker: &mut Worker, before: Option<usize>) -> bool {
    let mut served = false;
    for _ in 0..worker.io().batches.len() {
        // Serving one may serve others.
        if worker.io().batches.is_empty() {
            break;
        }
        let mut batch = worker.io().batches.remove(0);
        let concerned = before.is_none_or(|output| output == batch.output);
        let messages = deref(worker.root_word(&batch.messages));
        let idle = messages.tag() == Tag::Ref;
        batch.idle_looks = if idle { batch.idle_looks + u32::from(concerned) } else { 0 };
        if !concerned || idle && batch.idle_looks < IDLE_LOOKS_MAX {
            worker.io().batches.push(batch);
            continue;
        }
        served |= !idle;
        if idle || before.is_some() {
            // Somebody else writes there in between, or nobody writes.
            batch.disturb(worker);
        }
        batch.end(worker, messages);
    }
    if !worker.has_batches() {
        worker.io().ticker.stop();
    }
    served
}

/// The same where no goal may be made: what needs one is left.
pub(crate) fn serve_quickly(worker: &mut Worker) {
    let count = worker.io().batches.len();
    for index in 0..count {
        let batch = worker.io().batches.remove(index);
        let messages = deref(worker.root_word(&batch.messages));
        let rest = worker.only_write(batch.place, messages);
        worker.set_root(&batch.messages, rest);
        worker.io().batches.insert(index, batch);
    }
}

/// The lanes of the batches' processes.
pub(super) fn lanes(worker: &mut Worker) -> Vec<i64> {
    if !worker.has_batches() {
        return Vec::new();
    }
    worker.io().batches.iter().map(|batch| batch.priority).collect()
}

/// X14 of `shoen`: ends the batches of shoens that were aborted. What they were sent is written.
pub(super) fn close_deserted(worker: &mut Worker) {
    for _ in 0..worker.io().batches.len() {
        let batch = worker.io().batches.remove(0);
        if !worker.was_aborted(batch.priority) {
            worker.io().batches.push(batch);
            continue;
        }
        let messages = deref(worker.root_word(&batch.messages));
        worker.only_write(batch.place, messages);
        worker.take_root(batch.messages);
        worker.take_root(batch.state);
    }
}

/// The run is over.
pub(crate) fn forget(worker: &mut Worker) {
    if worker.has_batches() {
        for Batch { messages, state, .. } in std::mem::take(&mut worker.io().batches) {
            worker.take_root(messages);
            worker.take_root(state);
        }
        worker.io().ticker.stop();
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::super::buffers::{Fd, File};
    use super::super::streams::Kind;
    use super::*;
    use crate::builtins::tests::worker;
    use std::sync::Arc;
    use term::symbol::{GETC, PUTC};

    /// A stream on a file, which was sent this number of characters: its place, its messages' rest, and its state.
    fn written(worker: &mut Worker, count: u32) -> (usize, Word, Word) {
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("every system has it");
        let file = File::new("null", None, Some(Fd::Owned(Arc::new(null.into()))));
        let io = worker.io();
        let file = io.add_file(file);
        let place = io.open_stream(file, file, Kind::File);
        let [rest, state] = [(); 2].map(|()| worker.new_variable());
        let message = put(worker);
        let messages = worker.list(&vec![message; count as usize], rest);
        worker.call_or_spawn(worker.system_goals.stream, &[messages, Word::small(place as i64), state]);
        (place, rest, state)
    }
    fn put(worker: &mut Worker) -> Word {
        worker.structure(PUTC, &[Word::small(120)])
    }
    /// Sends one more: the new rest, and whether somebody was resumed by it.
    fn one_more(worker: &mut Worker, rest: Word, message: Word) -> (Word, bool) {
        let new_rest = worker.new_variable();
        let cons = worker.cons(message, new_rest);
        worker.unify(rest, cons);
        (new_rest, worker.has_resumed())
    }
    fn length(worker: &mut Worker, place: usize) -> usize {
        let output = worker.io().streams.get_mut(place).expect("it is open").output;
        let file = worker.io().file(output).expect("it is there");
        file.buffer_at_hand().expect("it has room").0.len()
    }

    #[test]
    fn a_calm_stream_is_served_in_batches_and_resumed_by_nothing() {
        let worker = worker();
        let (_, rest, _) = written(worker, CALM - 1);
        assert!(!worker.has_batches());
        let message = put(worker);
        assert!(one_more(worker, rest, message).1);
        let (place, mut rest, _) = written(worker, CALM);
        assert!(worker.has_batches());
        worker.push_resumed();
        for _ in 0..10 {
            let message = put(worker);
            let (next, resumed) = one_more(worker, rest, message);
            assert!(!resumed);
            rest = next;
        }
        assert!(serve(worker, None) && worker.has_batches());
        assert!(!serve(worker, None));
        assert_eq!(length(worker, place), CALM as usize + 10);
    }

    #[test]
    fn a_process_that_is_resumed_by_each_message_becomes_one() {
        let worker = worker();
        let (place, mut rest, _) = written(worker, 1);
        for sent in 1..CALM {
            assert!(!worker.has_batches(), "{sent}");
            let message = put(worker);
            rest = one_more(worker, rest, message).0;
            assert!(!worker.has_resumed() || worker.reduce_first());
        }
        assert!(worker.has_batches());
        assert_eq!(length(worker, place), CALM as usize);
    }

    #[test]
    fn a_question_makes_its_stream_wait_again() {
        let worker = worker();
        let (_, rest, state) = written(worker, CALM);
        let answer = worker.new_variable();
        let message = worker.structure(term::symbol::FFLUSH, &[answer]);
        let (rest, resumed) = one_more(worker, rest, message);
        assert!(!resumed && serve(worker, None) && !worker.has_batches());
        assert_eq!(deref(answer), Word::small(0));
        let message = put(worker);
        assert!(one_more(worker, rest, message).1 && deref(state).tag() == Tag::Ref);
    }

    #[test]
    fn a_batch_that_gets_nothing_ends_and_its_process_keeps_its_priority() {
        let worker = worker();
        let (_, rest, _) = written(worker, CALM);
        let priority = std::mem::replace(&mut worker.abi.priority, 7);
        for _ in 0..IDLE_LOOKS_MAX {
            assert!(worker.has_batches() && !serve(worker, None));
        }
        assert!(!worker.has_batches());
        let record = read(rest.address()).address();
        assert_eq!(read(record + 8 * term::layout::SUSPENSION_PRIORITY), Word::small(priority));
    }

    #[test]
    fn a_worker_that_is_about_to_rest_ends_its_batches() {
        let worker = worker();
        let (place, rest, _) = written(worker, CALM);
        let message = put(worker);
        let (rest, _) = one_more(worker, rest, message);
        let (other, idle, _) = written(worker, CALM);
        assert!(end(worker) && !worker.has_batches() && !end(worker));
        assert_eq!([place, other].map(|place| length(worker, place)), [CALM as usize + 1, CALM as usize]);
        for rest in [rest, idle] {
            let message = put(worker);
            assert!(one_more(worker, rest, message).1);
            worker.push_resumed();
        }
    }

    #[test]
    fn only_what_goes_to_the_same_file_is_served_before_another_stream() {
        let worker = worker();
        let (place, rest, _) = written(worker, CALM);
        let message = put(worker);
        let (rest, _) = one_more(worker, rest, message);
        let output = worker.io().streams.get_mut(place).expect("it is open").output;
        assert!(!serve(worker, Some(output + 1)) && worker.has_batches());
        assert!(serve(worker, Some(output)) && !worker.has_batches());
        let message = put(worker);
        assert!(one_more(worker, rest, message).1);
        assert_eq!(length(worker, place), CALM as usize + 1);
    }

    #[test]
    fn where_no_goal_is_made_questions_are_left() {
        let worker = worker();
        let (place, rest, _) = written(worker, CALM + 6);
        let message = put(worker);
        let (rest, _) = one_more(worker, rest, message);
        let answer = worker.new_variable();
        let message = worker.structure(GETC, &[answer]);
        one_more(worker, rest, message);
        serve_quickly(worker);
        assert!(worker.has_batches() && deref(answer).tag() == Tag::Ref);
        assert_eq!(length(worker, place), CALM as usize + 7);
        forget(worker);
        assert!(!worker.has_batches());
    }
}
