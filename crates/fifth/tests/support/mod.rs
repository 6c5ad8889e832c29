//! What several integration tests need.

pub(crate) mod browser;
pub(crate) mod directives;
pub(crate) mod execute;
pub(crate) mod nodes;
pub(crate) mod process;
pub(crate) mod web;
