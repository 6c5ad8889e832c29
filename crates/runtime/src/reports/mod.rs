//! Reports: how a run ended, and figures of it, as data.
//!
//! For: outcomes and errors, statistics, the trace of what each worker did when, the profile of where time
//! went, and what somebody sees who watches a run.
//! It may know: a worker's public operations and the memory it reports about.
//! It never: prints, exits, or changes what a run does.

pub mod outcome;
pub mod profile;
pub mod statistics;
pub mod trace;
pub mod watch;
