//! A real node: its machine and its way to the others, which the thread of its program and a service thread step in
//! turn ([`turns`](super::turns)).
//!
//! - D7 An engine is used by whoever holds its lock only, with all that its machine and its fabric share inside by
//!   counted references: so it may go from thread to thread. MPI is begun so that it allows that.

use super::attached::Stats;
use super::mapping::Words;
use super::turns::{Turns, Wheel};
use crate::node::{Awaited, Node, Wish};
use crate::protocol::Counters;
use crate::{Page, Work};
use fabric::{Bell, Drive, Failed, Step};
use machine::Machine;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// What the lock protects.
pub(super) struct Engine<F> {
    machine: Machine<Node<()>>,
    fabric: F,
}

// SAFETY: D7. `Engine` holds counted references (`Rc`) whose other ends are all in the same engine, or with a thread
// that drops them before it gives the lock back.
unsafe impl<F> Send for Engine<F> {}

impl<F: Drive> Wheel for Engine<F> {
    type Bell = F::Bell;
    fn step(&mut self) -> Step {
        let step = fabric::Node::step(&mut self.machine, &mut self.fabric);
        self.fabric.settle(step);
        if let Some(refusal) = self.machine.program.refusal() {
            self.fabric.bell().fail(refusal);
        }
        if step == Step::Done
            && let Some(awaited) = self.machine.program.awaited()
        {
            self.fabric.bell().fail(never_comes(awaited));
        }
        if self.fabric.has_failed() { Step::Done } else { step }
    }
    fn lie_down(&mut self) -> Option<<F::Bell as Bell>::Rest> {
        self.fabric.lie_down()
    }
    fn may_spin(&self) -> bool {
        self.fabric.may_spin()
    }
    fn limit(&self, step: Step) -> Option<Duration> {
        let Step::Wait(Some(until)) = step else { return None };
        Some(Duration::from_nanos(until.0.saturating_sub(self.fabric.now().0)))
    }
}

/// The run has ended, although a program waits.
fn never_comes(awaited: Awaited) -> String {
    let others = "the programs of all other nodes have ended, or wait for what never comes, too";
    match awaited {
        Awaited::Barrier => format!("its program waits at a barrier, to which not all come: {others}"),
        Awaited::Lock(lock) => {
            format!("its program waits for lock {lock}, which nobody gives back: {others}")
        }
    }
}

/// What a program sees of its node's engine, whatever its fabric is.
pub(super) trait Gate: Sync {
    /// Does what the program wants. False: the run has failed.
    fn drive(&self, wish: Wish) -> bool;
    /// The program has touched a page that it may not.
    fn fault(&self, page: Page, writes: bool);
    /// A fault could not be served, because the run has failed.
    fn is_lost(&self) -> bool;
    /// The run has ended while this program waited for those of others.
    fn is_stuck(&self) -> bool;
    /// Whether the program has this lock.
    fn has_lock(&self, lock: u32) -> bool;
    /// What the node has done.
    fn stats(&self) -> Stats;
    /// The program's view, and the words of a page.
    fn view(&self) -> (Words, usize);
}

/// An engine with its lock, and the program's view.
pub(super) struct Geared<F: Drive> {
    turns: Turns<Engine<F>>,
    lost: AtomicBool,
    words: Words,
    page_words: usize,
}

impl<F: Drive> Geared<F> {
    /// The machine is stepped once, so that its program knows its way. An error if the system has refused a page.
    pub(super) fn new(
        mut machine: Machine<Node<()>>,
        mut fabric: F,
        (words, page_words): (Words, usize),
    ) -> Result<Geared<F>, Failed> {
        if let Some(reason) = machine.program.refusal() {
            return Err(Failed { node: fabric.node(), reason });
        }
        let step = fabric::Node::step(&mut machine, &mut fabric);
        fabric.settle(step);
        let bell = fabric.bell();
        let turns = Turns::new(Engine { machine, fabric }, bell);
        Ok(Geared { turns, lost: AtomicBool::new(false), words, page_words })
    }
    pub(super) fn serve(&self) {
        self.turns.serve();
    }
    pub(super) fn fail(&self, reason: String) {
        self.turns.bell().fail(reason);
    }
    pub(super) fn failure(&self) -> Option<Failed> {
        self.turns.bell().failure().or_else(|| {
            // Known here if programs of other processes wait.
            let waits = |engine: &mut Engine<F>| {
                let ended = engine.machine.ended().filter(|ended| ended.waiting > 0);
                ended.map(|_| engine.fabric.node())
            };
            let node = self.turns.with(waits)?;
            let reason =
                "its run has ended while programs of other nodes wait for a barrier or a lock".into();
            Some(Failed { node, reason })
        })
    }
    /// What is wrong if the program ends now.
    pub(super) fn unfinished(&self) -> Option<String> {
        self.turns.with(|engine| engine.machine.program.unfinished())
    }
    /// The program has ended: from now on the run may end (X6 of `machine`), as the service finds out.
    pub(super) fn leave(&self) {
        self.turns.with(|engine| engine.machine.program.leave());
        self.turns.bell().ring();
    }
    /// What the node has counted, and its way to the others.
    pub(super) fn end(self) -> (Counters, Work, F) {
        let Engine { machine, fabric } = self.turns.into_wheel();
        (machine.program.counters(), machine.program.work(), fabric)
    }
}

impl<F: Drive> Gate for Geared<F> {
    fn drive(&self, wish: Wish) -> bool {
        let end = Rc::new(RefCell::new(None));
        let begin = |engine: &mut Engine<F>| engine.machine.program.spawn(&end, wish);
        // D7: by the end of the task its reference is gone.
        self.turns.drive(begin, |_| end.borrow_mut().take()).is_some()
    }
    fn fault(&self, page: Page, writes: bool) {
        if !self.drive(Wish::Touch(page, writes)) {
            // The touch cannot be undone: the program goes on with whatever is there, and hears of it at its next
            // step.
            self.lost.store(true, Relaxed);
            self.turns.with(|engine| engine.machine.program.open());
        }
    }
    fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }
    fn is_stuck(&self) -> bool {
        self.turns
            .with(|engine| engine.machine.ended().is_some() && engine.machine.program.awaited().is_some())
    }
    fn has_lock(&self, lock: u32) -> bool {
        self.turns.with(|engine| engine.machine.program.has_lock(lock))
    }
    fn stats(&self) -> Stats {
        self.turns.with(|engine| Stats {
            nanoseconds: engine.fabric.now().0,
            counters: engine.machine.program.counters(),
            work: engine.machine.program.work(),
        })
    }
    fn view(&self) -> (Words, usize) {
        (self.words, self.page_words)
    }
}
