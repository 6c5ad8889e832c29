//! A collection: all processors copy what is alive to the other side. They synchronize three times: when all have
//! stopped, when all ready goals are on one stack, and at the end. A processor takes a goal from that stack and copies
//! what hangs from it; suspended goals are pushed when they are met.

use super::machine::{After, Locked, Machine, Time};
use super::memory::{FLAG, GOAL, HEAD, SUSPENSION, Word};
use std::collections::VecDeque;
use std::ops::Range;

/// What a collection did.
#[derive(Clone, Debug, Default)]
pub(super) struct Collection {
    /// When no block was found, and how long all collections before it took.
    pub(super) start: Time,
    /// Until reduction went on.
    pub(super) time: Time,
    /// Until the last processor had ended its reduction.
    pub(super) stopping: Time,
    /// Words of goals, each counted as a whole record.
    pub(super) goals: u64,
    /// All other words.
    pub(super) heap: u64,
    /// By processor: with something to copy.
    pub(super) busy: Vec<Time>,
    /// Of all processors: locks, and waiting for the stack.
    pub(super) lock: Time,
    /// Of it, waiting for the stack.
    pub(super) waited: Time,
    /// Objects copied.
    pub(super) objects: u64,
    /// Pushes to the shared stack and pops.
    pub(super) stacked: u64,
}

impl Collection {
    /// Words that are alive.
    pub(super) fn words(&self) -> u64 {
        self.goals + self.heap
    }
}

/// A reference to a goal.
#[derive(Clone, Copy)]
enum Home {
    /// A processor's ready goals have it at this place.
    Ready(usize, usize),
    /// It waits; its flag.
    Flag(u32),
}

/// A collection under way.
struct Copying {
    done: Collection,
    stack: Vec<(u32, Home)>,
    /// When the stack's lock is free.
    stack_free: Time,
    /// By processor: new words that have old addresses in them.
    work: Vec<Vec<u32>>,
    ready: Vec<VecDeque<u32>>,
    clocks: Vec<Time>,
    /// By processor: the old words of the object that it copied last, and which is locked until its clock.
    held: Vec<Range<u32>>,
}

impl Machine<'_> {
    /// Collects. No processor has a current goal.
    pub(super) fn collect(&mut self, start: Time) -> Result<(), String> {
        let count = self.processors.len();
        let consumed: Vec<u64> = self.processors.iter().map(|processor| processor.local.consumed).collect();
        let stopped = self.processors.iter().map(|processor| processor.clock).max().unwrap_or(start);
        // Each processor takes a lock to say that it is there.
        let barrier = count as Time * self.setup.costs.lock;
        let done = Collection {
            start,
            stopping: stopped - start,
            busy: vec![0; count],
            lock: 3 * barrier,
            ..Collection::default()
        };
        let mut copying = Copying {
            done,
            stack: Vec::new(),
            stack_free: 0,
            work: vec![Vec::new(); count],
            ready: self.processors.iter().map(|processor| processor.ready.clone()).collect(),
            clocks: vec![stopped + barrier; count],
            held: vec![0..0; count],
        };
        for (at, processor) in self.processors.iter_mut().enumerate() {
            let goals = std::mem::take(&mut processor.ready);
            copying.stack.extend(goals.iter().enumerate().map(|(n, &goal)| (goal, Home::Ready(at, n))));
            copying.on_stack(at, self.setup.costs.lock);
        }
        let gathered = copying.clocks.iter().copied().max().unwrap_or(stopped) + barrier;
        copying.clocks.fill(gathered);
        self.memory.flip(self.processors.iter_mut().map(|processor| &mut processor.local));
        let answer = Word::Ref(self.answer);
        self.answer = match self.evacuate(&mut copying, 0, answer)? {
            Word::Ref(cell) => cell,
            // It is bound already.
            value => {
                let cell = self.memory.take(&mut self.processors[0].local, 1)?;
                self.memory.set(cell, value);
                cell
            }
        };
        let end = self.copy_all(&mut copying)? + barrier;
        for ((processor, ready), consumed) in self.processors.iter_mut().zip(copying.ready).zip(consumed) {
            processor.ready = ready;
            processor.clock = end;
            // What is copied is not consumed.
            processor.local.consumed = consumed;
        }
        copying.done.time = end - start;
        self.collections.push(copying.done);
        Ok(())
    }

    /// The processor that is behind copies its next object, until nothing is left.
    fn copy_all(&mut self, copying: &mut Copying) -> Result<Time, String> {
        let mut end = copying.clocks[0];
        if self.setup.after == After::Copier {
            copying.ready.iter_mut().for_each(VecDeque::clear);
        }
        loop {
            let behind = (0..copying.clocks.len()).min_by_key(|&at| copying.clocks[at]);
            let at = behind.ok_or("a machine has processors")?;
            let before = copying.clocks[at];
            if let Some(cell) = copying.work[at].pop() {
                let word = self.evacuate(copying, at, self.memory.get(cell))?;
                self.memory.set(cell, word);
            } else if let Some((goal, home)) = copying.stack.pop() {
                copying.on_stack(at, self.setup.costs.lock);
                self.copy_goal(copying, at, goal, home)?;
            } else if copying.work.iter().all(Vec::is_empty) {
                return Ok(end);
            } else {
                copying.clocks[at] += self.setup.costs.poll;
                continue;
            }
            end = end.max(copying.clocks[at]);
            copying.done.busy[at] += copying.clocks[at] - before;
        }
    }

    /// Copying this number of words of an object, after this number of locks.
    fn charge(&self, copying: &mut Copying, at: usize, words: u32, locks: u32) {
        let costs = self.setup.costs;
        let lock = costs.lock * Time::from(locks);
        copying.clocks[at] += lock + Time::from(words) * costs.copy;
        copying.done.lock += lock;
        copying.done.objects += 1;
    }

    fn copy_goal(&mut self, copying: &mut Copying, at: usize, goal: u32, home: Home) -> Result<(), String> {
        let Word::Goal(_, arguments) = self.memory.get(goal) else { return Err("this is no goal".into()) };
        let to = self.memory.take(&mut self.processors[at].local, GOAL)?;
        self.memory.copy(goal, to, arguments + 1);
        copying.work[at].extend((to + 1..=to + arguments).rev());
        copying.done.goals += u64::from(GOAL);
        // The stack gives it to one processor only.
        self.charge(copying, at, HEAD + arguments, 0);
        copying.clocks[at] += self.setup.costs.goal;
        match home {
            Home::Flag(flag) => {
                if let Word::Waits(_, alone) = self.memory.get(flag) {
                    self.memory.set(flag, Word::Waits(to, alone));
                }
            }
            Home::Ready(owner, n) if self.setup.after == After::Stays => copying.ready[owner][n] = to,
            // The newest is copied first.
            Home::Ready(..) => copying.ready[at].push_front(to),
        }
        Ok(())
    }

    /// Room for this number of words, copied from there; what is in them is looked at later.
    fn object(&mut self, copying: &mut Copying, at: usize, from: u32, words: u32) -> Result<u32, String> {
        let to = self.memory.take(&mut self.processors[at].local, words)?;
        copying.done.heap += u64::from(words);
        let is_variable = |cell: &u32| matches!(self.memory.get(*cell), Word::Unbound | Word::Hook(_));
        let locks = match self.setup.locked {
            Locked::Variables => (from..from + words).filter(is_variable).count() as u32,
            Locked::Objects => 1,
        };
        self.charge(copying, at, words, locks);
        if locks > 0 {
            copying.held[at] = from..from + words;
        }
        for n in 0..words {
            let word = match self.memory.get(from + n) {
                // A reference led to this cell before.
                Word::Forward(cell) => Word::Ref(cell),
                Word::Hook(first) => {
                    self.memory.set(from + n, Word::Forward(to + n));
                    self.copy_suspensions(copying, at, first)?
                }
                word => {
                    if matches!(word, Word::Ref(_) | Word::List(_) | Word::Vector(..)) {
                        copying.work[at].push(to + n);
                    }
                    word
                }
            };
            self.memory.set(to + n, word);
            self.memory.set(from + n, if n == 0 { Word::Moved(to) } else { Word::Forward(to + n) });
        }
        Ok(to)
    }

    /// What stands for an old word in the new side.
    fn evacuate(&mut self, copying: &mut Copying, at: usize, word: Word) -> Result<Word, String> {
        let mut word = word;
        while let Word::Ref(cell) = word {
            word = match self.memory.get(cell) {
                Word::Forward(to) | Word::Moved(to) => {
                    copying.wait_for(at, cell);
                    return Ok(Word::Ref(to));
                }
                Word::Unbound | Word::Hook(_) => return Ok(Word::Ref(self.cell(copying, at, cell)?)),
                next => next,
            };
        }
        let (from, words) = match word {
            Word::List(from) => (from, 2),
            Word::Vector(from, words) => (from, words),
            constant => return Ok(constant),
        };
        let to = match self.memory.get(from) {
            Word::Moved(to) => {
                copying.wait_for(at, from);
                to
            }
            _ => self.object(copying, at, from, words)?,
        };
        Ok(if let Word::List(_) = word { Word::List(to) } else { Word::Vector(to, words) })
    }

    /// An unbound variable on its own.
    fn cell(&mut self, copying: &mut Copying, at: usize, from: u32) -> Result<u32, String> {
        let to = self.memory.take(&mut self.processors[at].local, 1)?;
        copying.done.heap += 1;
        self.charge(copying, at, 1, 1);
        let old = self.memory.get(from);
        self.memory.set(from, Word::Forward(to));
        let new = if let Word::Hook(first) = old { self.copy_suspensions(copying, at, first)? } else { old };
        self.memory.set(to, new);
        Ok(to)
    }

    /// The suspension records of a variable; goals that were resumed are in none of them.
    fn copy_suspensions(&mut self, copying: &mut Copying, at: usize, first: u32) -> Result<Word, String> {
        let mut flags = Vec::new();
        let mut next = Word::Hook(first);
        while let Word::Hook(record) = next {
            next = self.memory.get(record + 1);
            let Word::Flag(flag) = self.memory.get(record) else {
                return Err("this is no suspension".into());
            };
            flags.push(flag);
        }
        let mut hook = Word::Empty;
        for flag in flags.into_iter().rev() {
            let new = match self.memory.get(flag) {
                Word::Resumed => continue,
                Word::Forward(new) => new,
                waits => {
                    let new = self.memory.take(&mut self.processors[at].local, FLAG)?;
                    self.memory.set(new, waits);
                    self.memory.set(flag, Word::Forward(new));
                    copying.done.heap += u64::from(FLAG);
                    self.charge(copying, at, FLAG, 1);
                    if let Word::Waits(goal, _) = waits {
                        copying.stack.push((goal, Home::Flag(new)));
                        copying.on_stack(at, self.setup.costs.lock);
                    }
                    new
                }
            };
            let record = self.memory.take(&mut self.processors[at].local, SUSPENSION)?;
            self.memory.set(record, Word::Flag(new));
            self.memory.set(record + 1, hook);
            hook = Word::Hook(record);
            copying.done.heap += u64::from(SUSPENSION);
            self.charge(copying, at, SUSPENSION, 1);
        }
        Ok(if hook == Word::Empty { Word::Unbound } else { hook })
    }
}

impl Copying {
    /// A processor takes the stack's lock, for a push or a pop; whatever else it does with a goal needs no lock.
    fn on_stack(&mut self, at: usize, time: Time) {
        let begin = self.clocks[at].max(self.stack_free);
        self.stack_free = begin + time;
        self.done.waited += begin - self.clocks[at];
        self.done.lock += self.stack_free - self.clocks[at];
        self.done.stacked += 1;
        self.clocks[at] = self.stack_free;
    }
    /// A processor that comes to an object which another one is copying waits until that one gives its lock back.
    fn wait_for(&mut self, at: usize, cell: u32) {
        let holds = |other: &usize| *other != at && self.held[*other].contains(&cell);
        let until = (0..self.held.len()).filter(holds).map(|other| self.clocks[other]).max();
        let wait = until.unwrap_or(0).saturating_sub(self.clocks[at]);
        self.clocks[at] += wait;
        self.done.waited += wait;
        self.done.lock += wait;
    }
}
