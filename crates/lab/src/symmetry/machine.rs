//! Processors in virtual time: which one acts next, what it does next, and what that costs.

use super::code::Code;
use super::collect::Collection;
use super::memory::{GOAL, Local, Memory, Sizes, Word};
use std::collections::VecDeque;

/// Nanoseconds.
pub(super) type Time = u64;

/// What things cost, in nanoseconds of virtual time. Where each comes from is in `inputs` of the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// A reduction that takes no words from blocks. A suspension takes half of it, an answer all of it.
    pub(super) reduction: Time,
    /// A word that a reduction takes from a block.
    pub(super) word: Time,
    /// A lock: one for each reduction and binding, and what [`Locked`] says in a collection. A push takes none: ready
    /// goals are their processor's, and others ask it for them.
    pub(super) lock: Time,
    /// A word that a collection copies.
    pub(super) copy: Time,
    /// A goal that a collection copies, beside its words and the lock of the shared stack.
    pub(super) goal: Time,
    /// Between two looks of a processor that has nothing to do.
    pub(super) poll: Time,
}

/// Which goal is given to a processor that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Oldest,
    Newest,
}

/// Whose a ready goal is after a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The processor's that had it.
    Stays,
    /// The processor's that copied it.
    Copier,
}

/// What a processor locks in a collection, beside the stack of goals that all share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locked {
    /// Each object that it copies.
    Objects,
    /// Variables' cells and suspensions, which reductions change. Other objects never change: whoever copies one could
    /// exchange its first word for the new address.
    Variables,
}

/// How a machine is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) processors: u32,
    pub(super) sizes: Sizes,
    pub(super) costs: Costs,
    pub(super) given: Given,
    pub(super) after: After,
    pub(super) locked: Locked,
    /// Jitters the processors' starts.
    pub(super) seed: u64,
}

/// Processors start within this time.
pub(super) const JITTER: Time = 10_000_000;

/// What was counted, of all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) reductions: u64,
    pub(super) suspensions: u64,
    pub(super) bindings: u64,
    /// Goals of bodies, apart from the first of each, which goes on.
    pub(super) pushes: u64,
    pub(super) given: u64,
    /// Goals made; and records of goals that were taken from blocks.
    pub(super) goals: u64,
    pub(super) records: u64,
    /// Of locks during reduction.
    pub(super) lock: Time,
}

/// A processor.
#[derive(Default)]
pub(super) struct Processor {
    pub(super) clock: Time,
    pub(super) local: Local,
    /// Records of ready goals, the newest at the back.
    pub(super) ready: VecDeque<u32>,
    /// The goal that goes on.
    pub(super) current: Option<u32>,
    /// Its arguments.
    pub(super) arguments: Vec<Word>,
    /// Processors that asked it for a goal, with their messages.
    requests: Vec<(usize, u32)>,
    /// It asked another one.
    waits: bool,
}

/// The machine.
pub(super) struct Machine<'a> {
    pub(super) code: &'a Code,
    pub(super) setup: Setup,
    pub(super) memory: Memory,
    pub(super) processors: Vec<Processor>,
    pub(super) counts: Counts,
    /// Goals that wait.
    pub(super) suspended: u64,
    pub(super) collections: Vec<Collection>,
    /// Of the clause that is tried; arguments of a goal that is pushed. Kept for their room.
    pub(super) variables: Vec<Word>,
    pub(super) pushed: Vec<Word>,
    /// The cell of the answer.
    pub(super) answer: u32,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) answer: i64,
    /// Until the last goal was reduced.
    pub(super) time: Time,
    pub(super) counts: Counts,
    pub(super) consumed: u64,
    pub(super) collections: Vec<Collection>,
}

impl<'a> Machine<'a> {
    /// A machine whose first goal is `go(Answer)`.
    pub(super) fn new(code: &'a Code, setup: Setup) -> Result<Machine<'a>, String> {
        let mut seed = setup.seed;
        let processors = (0..setup.processors).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Processor { clock: (seed >> 33) % JITTER, ..Processor::default() }
        });
        let mut machine = Machine {
            code,
            setup,
            memory: Memory::new(setup.sizes, setup.processors),
            processors: processors.collect(),
            counts: Counts { goals: 1, ..Counts::default() },
            suspended: 0,
            collections: Vec::new(),
            variables: Vec::new(),
            pushed: Vec::new(),
            answer: 0,
        };
        let first = code.number("go", 1).ok_or("a program has a predicate go/1")?;
        machine.answer = machine.memory.take(&mut machine.processors[0].local, 1)?;
        machine.memory.set(machine.answer, Word::Unbound);
        machine.processors[0].current = Some(first);
        machine.processors[0].arguments = vec![Word::Ref(machine.answer)];
        Ok(machine)
    }

    /// Runs the program. The error says which goal failed, or that goals wait for ever, or that memory is too small.
    pub(super) fn run(mut self) -> Result<Run, String> {
        while self.step()? {}
        let Word::Int(answer) = self.memory.deref(self.memory.load(self.answer)) else {
            return Err(format!("no answer, and {} goals wait", self.suspended));
        };
        if self.suspended > 0 {
            return Err(format!("{} goals wait for ever", self.suspended));
        }
        Ok(Run {
            answer,
            time: self.processors.iter().map(|processor| processor.clock).max().unwrap_or(0),
            counts: self.counts,
            consumed: self.processors.iter().map(|processor| processor.local.consumed).sum(),
            collections: self.collections,
        })
    }

    /// The processor that is behind acts; a collection if memory is full and all have come to its time. False when
    /// nothing is left to do.
    pub(super) fn step(&mut self) -> Result<bool, String> {
        let clocks = self.processors.iter().enumerate().filter(|(_, processor)| !processor.waits);
        let Some(at) = clocks.min_by_key(|(_, processor)| processor.clock).map(|(at, _)| at) else {
            return Err("all processors wait for an answer".into());
        };
        if !self.processors[at].requests.is_empty() {
            self.respond(at);
            return Ok(true);
        }
        if !self.next_goal(at)? {
            return Ok(self.is_busy());
        }
        self.reduce(at)?;
        if self.memory.is_full() {
            self.stop(at)?;
        }
        Ok(true)
    }

    /// Whether there is a goal that can be reduced.
    fn is_busy(&self) -> bool {
        self.processors.iter().any(|processor| processor.current.is_some() || !processor.ready.is_empty())
    }

    /// Makes a ready goal the current one; asks for one if there is none.
    fn next_goal(&mut self, at: usize) -> Result<bool, String> {
        if self.processors[at].current.is_some() {
            return Ok(true);
        }
        if let Some(record) = self.processors[at].ready.pop_back() {
            self.unpack(at, record);
            return Ok(true);
        }
        let most = (0..self.processors.len()).max_by_key(|&other| self.processors[other].ready.len());
        let most = most.filter(|&other| !self.processors[other].ready.is_empty());
        let poll = self.setup.costs.poll;
        let asker = &mut self.processors[at];
        asker.clock += poll;
        if let Some(most) = most {
            let message = self.memory.record(&mut asker.local, 3)?;
            asker.waits = true;
            self.processors[most].requests.push((at, message));
        }
        Ok(false)
    }

    /// A record's goal becomes the current one, and the record is free.
    fn unpack(&mut self, at: usize, record: u32) {
        let Word::Goal(predicate, arguments) = self.memory.get(record) else { return };
        let (memory, processor) = (&self.memory, &mut self.processors[at]);
        processor.arguments.clear();
        processor.arguments.extend((record + 1..=record + arguments).map(|cell| memory.load(cell)));
        processor.current = Some(predicate);
        processor.local.free[0].push(record);
    }

    /// A goal's record.
    pub(super) fn pack(&mut self, at: usize, predicate: u32, arguments: &[Word]) -> Result<u32, String> {
        let local = &mut self.processors[at].local;
        self.counts.records += u64::from(local.free[0].is_empty());
        let record = self.memory.record(local, 0)?;
        let count = arguments.len() as u32;
        if count + super::memory::HEAD > GOAL {
            return Err(format!("a goal of {count} arguments does not fit a record"));
        }
        self.memory.set(record, Word::Goal(predicate, count));
        for (cell, &word) in (record + 1..).zip(arguments) {
            self.memory.set(cell, word);
        }
        Ok(record)
    }

    /// Answers one processor that asked.
    fn respond(&mut self, at: usize) {
        let processor = &mut self.processors[at];
        let Some((asker, message)) = processor.requests.pop() else { return };
        processor.local.free[3].push(message);
        let goal = match self.setup.given {
            Given::Oldest => processor.ready.pop_front(),
            Given::Newest => processor.ready.pop_back(),
        };
        if goal.is_some() {
            processor.clock += self.setup.costs.reduction;
            self.counts.given += 1;
        }
        let clock = processor.clock;
        let asker = &mut self.processors[asker];
        asker.ready.extend(goal);
        asker.waits = false;
        asker.clock = asker.clock.max(clock);
    }

    /// No block is left: all processors come to the end of the reduction in which they are, and collect.
    fn stop(&mut self, finder: usize) -> Result<(), String> {
        let request = self.processors[finder].clock;
        for at in 0..self.processors.len() {
            while self.processors[at].clock < request && !self.processors[at].waits {
                if !self.processors[at].requests.is_empty() {
                    self.respond(at);
                } else if self.next_goal(at)? {
                    self.reduce(at)?;
                }
            }
        }
        // No request is under way during a collection: whoever asked asks again.
        for processor in &mut self.processors {
            processor.requests.clear();
            processor.waits = false;
            processor.clock = processor.clock.max(request);
        }
        for at in 0..self.processors.len() {
            if let Some(predicate) = self.processors[at].current.take() {
                let arguments = std::mem::take(&mut self.processors[at].arguments);
                let record = self.pack(at, predicate, &arguments)?;
                self.processors[at].ready.push_back(record);
            }
        }
        self.collect(request)
    }
}
