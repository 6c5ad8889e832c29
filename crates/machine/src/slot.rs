//! Slots: values that tasks wait for. The presence tags of the J-Machine (`cfut`: a read of an empty slot suspends).

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A value that is there or not yet. Clones are the same slot. It belongs to one node.
#[derive(Debug)]
pub struct Slot<T>(Rc<RefCell<State<T>>>);

#[derive(Debug)]
enum State<T> {
    Empty(Vec<Waker>),
    Full(T),
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Slot<T> {
        Slot(self.0.clone())
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Slot<T> {
        Slot::new()
    }
}

impl<T> Slot<T> {
    /// An empty slot.
    pub fn new() -> Slot<T> {
        Slot(Rc::new(RefCell::new(State::Empty(Vec::new()))))
    }
    /// Fills the slot: tasks that wait for it become ready. A slot that is full stays as it is, and the value comes
    /// back.
    pub fn fill(&self, value: T) -> Result<(), T> {
        let mut state = self.0.borrow_mut();
        let State::Empty(waiting) = &mut *state else { return Err(value) };
        let waiting = std::mem::take(waiting);
        *state = State::Full(value);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        Ok(())
    }
    /// Whether there is a value.
    pub fn is_full(&self) -> bool {
        matches!(&*self.0.borrow(), State::Full(_))
    }
}

impl<T: Clone> Slot<T> {
    /// The value, if it is there.
    pub fn get(&self) -> Option<T> {
        match &*self.0.borrow() {
            State::Full(value) => Some(value.clone()),
            State::Empty(_) => None,
        }
    }
    /// Waits for the value.
    pub fn read(&self) -> impl Future<Output = T> + use<T> {
        Read(self.clone())
    }
}

struct Read<T>(Slot<T>);

impl<T: Clone> Future for Read<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut *self.0.0.borrow_mut() {
            State::Full(value) => Poll::Ready(value.clone()),
            State::Empty(waiting) => {
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}
