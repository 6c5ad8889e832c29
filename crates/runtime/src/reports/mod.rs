//! Reports: how a run ended, and figures of it, as data.
//!
//! For: outcomes and errors, statistics, the trace of what each worker did when, and the profile of where time went.
//! It may know: a worker's public operations and the memory it reports about.
//! It never: prints, exits, or changes what a run does.

pub mod outcome;
pub mod profile;
pub mod statistics;
pub mod trace;
