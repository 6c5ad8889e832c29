//! Built without the feature `mpi`: there are no jobs.

use crate::error::Error;
use crate::machine::Told;
use crate::settings::Pages;
use arrays::Arrays;
use runtime::node::Node;
use term::abi::PredicateId;

/// None.
pub enum Job {}

impl Job {
    /// There is none, whatever the launcher says.
    pub fn join(size: u32) -> Result<Job, Error> {
        Err(Error::Settings(format!(
            "this is one of {size} processes, but fifth was built without its feature `mpi`: build it with `--features \
             mpi`, or run it without the MPI launcher"
        )))
    }
    /// Which of its processes this is.
    pub fn node(&self) -> u32 {
        match *self {}
    }
    /// How many there are.
    pub fn nodes(&self) -> u32 {
        match *self {}
    }
    /// How many of them are on this host.
    pub fn here(&self) -> u32 {
        match *self {}
    }
    pub(crate) fn arrays(&self, _: Option<Pages>) -> Arrays {
        match *self {}
    }
    pub(crate) fn broadcast(&mut self, _: Vec<u8>) -> Result<Vec<u8>, Error> {
        match *self {}
    }
    pub(crate) fn run(
        &mut self,
        _: &mut Node,
        _: PredicateId,
        _: u32,
        _: bool,
    ) -> Result<Option<(distribution::Run, Vec<Told>)>, Error> {
        match *self {}
    }
    pub(crate) fn leave(self) {
        match self {}
    }
}
