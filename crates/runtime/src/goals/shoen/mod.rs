//! Shoens: computations that are controlled and watched from outside, and whose failures stay inside (PIMOS).
//!
//! Each goal belongs to one shoen, or to none: that is said by its *lane*, which stands wherever a priority does.
//! Generated code copies it and compares it for equality, so goals of shoens cost what others do.
//!
//! Invariants:
//! - X11 A number below OUTWARD in place of a priority is a *lane*: a shoen, and a priority in it, its *rank*. Order is
//!   that of ranks. A goal of another lane of the same rank that is made ready comes on top of the stack, as it would
//!   if there were no shoens: else whoever makes a list would starve whoever reads it.
//! - X12 A shoen's tally counts its *holders*, and its goals that wait. A holder is whatever keeps it from its end, but
//!   for those: a worker that has ready goals of one of its lanes, mail, a shoen inside, what is not yet reported. Only
//!   a holder adds to it, or whoever takes a goal that waits. So once nothing is left, nothing comes back.
//! - X13 Goals of the running lane suspend and are resumed without being counted. Its worker counts them when it leaves
//!   the lane, and before a collection forgets which records are new: as it is a holder, none is missed. A goal of
//!   another lane that it resumes, it counts at once.
//! - X14 Whoever makes goals of a shoen ready is a holder first, and then looks whether it was aborted; whoever aborts
//!   says so first, and then looks whether there are holders. So no goal runs after the end was reported. Workers drop
//!   ready goals of aborted shoens at their next attention, those that wait when they are resumed, and major
//!   collections the rest.
//! - X15 Daemons are not counted: they wait in a lane of their own, which goes on after the shoen's end, unless it or a
//!   shoen around it was aborted. What they do wrong then is told to the shoen around it.
//! - X16 What fails in a shoen is noted, with a holder, and reported at the next attention: helpers make no goals.
//! - X17 A goal of a shoen that waits, and to which neither ready goals nor goals outside lead, nor anything that is
//!   awaited from outside, waits for ever. A major collection finds it if one worker makes it alone, as it does while
//!   there are shoens. Where no goal at all is ready, all that wait do so for ever.
//! - X18 What a worker allocates while it runs a lane's goals is counted with them (X13): so a limit is noticed when it
//!   leaves the lane, and at a collection at the latest. A foster (X20) tells the shoen's own node of what was counted
//!   there: when it is a portion of words that was not told, and whoever counts it when nothing is left of it. So the
//!   own node knows all but a portion from each other one, and all words of a shoen that is over. What a node had not
//!   told when it died (X21) is counted nowhere.
//! - X19 A shoen is *stopped* if it or one around it was told to stop, or has allocated what it may. A worker *parks*
//!   ready goals of stopped shoens at its next attention, after all that makes goals ready there: they are everybody's
//!   then, published, and keep their place as holders. Whoever parks looks once more whether the shoen is stopped, and
//!   whoever starts it says so before it takes what is parked; so nothing stays parked that is to run. Daemons are not
//!   stopped.
//! - X20 A goal of a shoen that goes to another node is counted by the sender, as a holder, until the receiver says
//!   that it is *done*. There a *foster* with the shoen's number has the goals that came, each of which is taken in
//!   before anything else runs, whatever its priority: so no goal without end keeps another shoen from its end. The
//!   node whose goal has made a foster is told when nothing is left of that; of all other goals that come, the sender
//!   is told at once, as the foster, or the shoen itself, has them from then on. So a shoen is over when nothing of it
//!   is left anywhere. A new foster says *hello* to the shoen's own node, which tells it all *orders* from then on, and
//!   those of before. What is to be reported goes home as a goal of the shoen. Daemons that leave are counted nowhere,
//!   and belong to what there is of the shoen at their node, be it over, or to a foster that is over from the start.
//!   Whoever tells that nothing is left tells at which nodes there are daemons, below it, too; so the shoen's own node
//!   knows all of them by the shoen's end. It counts each order to abort as a goal that it has sent, which is done when
//!   the daemons there are dropped, and tells a node once more that has daemons later. So at the end of what was
//!   aborted everything that goals of it have opened is closed, or will be before anything else is opened. A daemon
//!   under way meanwhile may come later: nodes remember what was aborted of late, and drop it, and its own node says so
//!   to a new foster. Where an open file was, another one may be by then: so who serves one looks whose it is. What
//!   leaves a node says which shoens are *around* its own, and daemons belong to all of them: where a shoen has left
//!   some that is over, so has the one around it, whose order to abort drops them.
//! - X21 A node may die; what becomes of shoens then says `losses`.

mod control;
pub(crate) mod deadlock;
pub(crate) mod faults;
pub(crate) mod fosters;
mod lanes;
pub(crate) mod losses;
#[cfg(all(test, models))]
mod models;
pub(crate) mod state;

use crate::goals::state::NO_PRIORITY;

/// Whether this is a lane, and no priority.
#[inline(always)]
pub(crate) fn is_lane(priority: i64) -> bool {
    priority < NO_PRIORITY
}
