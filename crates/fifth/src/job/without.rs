//! Built without the feature `mpi`: there are no jobs.

use crate::driver::Told;
use crate::nodes::Pages;
use arrays::Arrays;
use lab::report::Table;
use lab::{Config, Experiment};
use runtime::node::Node;
use std::path::Path;
use std::process::Command;
use term::abi::PredicateId;

/// None.
pub(crate) enum Job {}

fn missing<T>(size: u32) -> anyhow::Result<T> {
    Err(super::refusal(format!(
        "this is one of {size} processes, but fifth was built without its feature `mpi`: build it with `--features \
         mpi`, or run it without the MPI launcher"
    )))
}

impl Job {
    pub(crate) fn join(size: u32) -> anyhow::Result<Job> {
        missing(size)
    }
    pub(crate) fn node(&self) -> u32 {
        match *self {}
    }
    pub(crate) fn nodes(&self) -> u32 {
        match *self {}
    }
    pub(crate) fn here(&self) -> u32 {
        match *self {}
    }
    pub(crate) fn arrays(&self, _: Option<Pages>) -> Arrays {
        match *self {}
    }
    pub(crate) fn broadcast(&mut self, _: Vec<u8>) -> anyhow::Result<Vec<u8>> {
        match *self {}
    }
    pub(crate) fn run(
        &mut self,
        _: &mut Node,
        _: PredicateId,
        _: u32,
    ) -> anyhow::Result<Option<(distribution::Run, Vec<Told>)>> {
        match *self {}
    }
    pub(crate) fn leave(self) {
        match self {}
    }
}

pub(crate) fn measure_together(
    size: u32,
    _: &[&Experiment],
    _: &Config,
) -> anyhow::Result<Option<Vec<Table>>> {
    missing(size)
}

/// A job of this number of processes of an executable: there are none without MPI.
pub(crate) fn launched(_: &Path, _: u32) -> Option<Command> {
    None
}
