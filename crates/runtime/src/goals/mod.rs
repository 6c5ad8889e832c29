//! Goals: ready ones by priority, those that wait, and those that were resumed.
//!
//! For: the goal stack, suspension and resumption, the order of resumed goals, goals that wait for ever, goals of
//! builtins and of the runtime itself. It may know: terms, memory and its own worker. It never: gives a goal to
//! another worker (`sharing` does) or enters generated code (`node` does).

pub mod abroad;
pub(crate) mod calls;
pub(crate) mod deadlock;
mod gaps;
pub(crate) mod ready;
pub(crate) mod resume;
pub mod resumed_order;
pub(crate) mod runtime_predicates;
pub(crate) mod shoen;
pub(crate) mod slots;
pub(crate) mod stack;
pub(crate) mod state;
pub(crate) mod suspend;
mod take;
pub(crate) mod unify;
