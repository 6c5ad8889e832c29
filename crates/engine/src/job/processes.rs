//! Built with the feature `mpi`. After an error the job cannot go on: whoever has a [`Job`] says what it was before it
//! drops that, for then the job is over.

use crate::error::{Error, reasons};
use crate::machine::Told;
use crate::settings::Pages;
use arrays::{Arrays, FILE_BYTES};
use distribution::{Part, Run};
use fabric::mpi;
use runtime::node::Node;
use std::time::Instant;
use term::abi::PredicateId;

/// This process's part in a job.
pub struct Job {
    session: mpi::Session,
}

impl Job {
    /// All processes of the job, of which their launcher says that there are `size`, call it together.
    pub fn join(size: u32) -> Result<Job, Error> {
        let session = mpi::Session::start().map_err(failed)?;
        let sees = session.nodes();
        if sees != size {
            // Each of them is alone.
            session.finish();
            return Err(Error::Settings(other_launcher(size, sees)));
        }
        Ok(Job { session })
    }
    /// Which of its processes this is.
    pub fn node(&self) -> u32 {
        self.session.node().0
    }
    /// How many there are.
    pub fn nodes(&self) -> u32 {
        self.session.nodes()
    }
    /// How many of them are on this host.
    pub fn here(&self) -> u32 {
        self.session.here()
    }
    /// The arrays of all processes, which say the same of their pages; all call it together.
    pub(crate) fn arrays(&self, pages: Option<Pages>) -> Arrays {
        let file = match pages {
            Some(Pages::Messages) => None,
            _ => self.session.shared_file(FILE_BYTES),
        };
        match (file, pages) {
            (Some(file), _) => Arrays::of(file.into()),
            (None, Some(Pages::Mapped)) => Arrays::none(
                "the processes of this run are on several hosts, or cannot open each other's memory: leave out \
                 --dsm-pages=mapped",
            ),
            (None, _) => Arrays::of_copies(self.node(), self.nodes()),
        }
    }
    /// What the first process gives; all call it together.
    pub(crate) fn broadcast(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.session.broadcast(bytes).map_err(failed)
    }
    /// Runs a goal at the first node, and all that follows from it at all nodes; all call it together. At the first
    /// process: what became of it, and what each other node did.
    pub(crate) fn run(
        &mut self,
        node: &mut Node,
        goal: PredicateId,
        atoms: u32,
        identities: bool,
    ) -> Result<Option<(Run, Vec<Told>)>, Error> {
        let started = Instant::now();
        let part = distribution::run_part(&mut self.session, node, goal, atoms, identities);
        let part = part.map_err(failed)?;
        // The first node tells the same without being asked.
        let told = (self.node() > 0).then(|| Told::of(node, started));
        let bytes = postcard::to_stdvec(&(part, told))
            .map_err(|error| Error::Job(format!("cannot store how the run ended: {error}")))?;
        let ends = self.session.gather(bytes).map_err(failed)?;
        if ends.is_empty() {
            return Ok(None);
        }
        let ends = ends.iter().enumerate().map(|(node, bytes)| {
            postcard::from_bytes(bytes).map_err(|error| {
                Error::Job(format!("what node {node} says of its end makes no sense: {error}"))
            })
        });
        let ends: Vec<(Part, Option<Told>)> = ends.collect::<Result<_, _>>()?;
        let (parts, told): (Vec<Part>, Vec<Option<Told>>) = ends.into_iter().unzip();
        Ok(Some((Run::of(parts), told.into_iter().flatten().collect())))
    }
    /// This process goes on alone; all call it together.
    pub(crate) fn leave(self) {
        self.session.finish();
    }
}

fn failed(error: mpi::Error) -> Error {
    Error::Job(reasons(&error))
}

/// Why processes that a launcher has started do not see each other: it says that there are `size`.
pub fn other_launcher(size: u32, sees: u32) -> String {
    let library = mpi::launch::library();
    format!(
        "this is one of {size} processes, but {library}, with which fifth was built, sees {sees}: use the launcher of \
         that library"
    )
}
