//! The tasks of one node: which are ready, and their steps.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// All tasks of a node.
#[derive(Default)]
pub(crate) struct Tasks {
    tasks: Vec<Option<Entry>>,
    free: Vec<usize>,
    ready: Arc<Mutex<VecDeque<usize>>>,
    alive: usize,
}

struct Entry {
    task: Task,
    alarm: Arc<Alarm>,
    /// It waited for something in its last step, and did not just give way.
    waited: bool,
}

/// Makes a task ready. (Shared because wakers are; only the node's thread uses it, unless a program gives a waker
/// away.)
struct Alarm {
    task: usize,
    /// Whether the task is in `ready`. Relaxed: the lock of `ready` orders what matters.
    rung: AtomicBool,
    ready: Arc<Mutex<VecDeque<usize>>>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Relaxed) {
            base::lock(&self.ready).push_back(self.task);
        }
    }
}

impl Tasks {
    /// Enters a task, which is ready.
    pub(crate) fn spawn(&mut self, task: Task) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        let alarm = Arc::new(Alarm { task: index, rung: AtomicBool::new(false), ready: self.ready.clone() });
        alarm.wake_by_ref();
        self.tasks[index] = Some(Entry { task, alarm, waited: false });
        self.alive += 1;
    }
    /// Runs the task that has been ready longest until it waits or ends; true if it had waited for something before.
    pub(crate) fn step(&mut self) -> bool {
        let Some(index) = base::lock(&self.ready).pop_front() else {
            return false;
        };
        // A waker may outlive its task.
        let Some(Entry { task, alarm, waited }) = &mut self.tasks[index] else { return false };
        alarm.rung.store(false, Relaxed);
        let waker = Waker::from(alarm.clone());
        let poll = task.as_mut().poll(&mut Context::from_waker(&waker));
        let waited = std::mem::replace(waited, !alarm.rung.load(Relaxed));
        if poll.is_ready() {
            self.tasks[index] = None;
            self.free.push(index);
            self.alive -= 1;
        }
        waited
    }
    pub(crate) fn any_ready(&self) -> bool {
        !base::lock(&self.ready).is_empty()
    }
    /// How many have not ended.
    pub(crate) fn alive(&self) -> usize {
        self.alive
    }
}
