//! Bodies as blocks of IR.
//!
//! For: what a clause does after it commits, the versions of a predicate for fresh arguments, and the goals that
//! compute. It may know: plans of bodies, and what the decision tree found out on the way (`tree::facts`). It never:
//! chooses a clause, or names a register of a processor.

pub(crate) mod body;
pub(crate) mod computing;
pub(crate) mod fresh;
