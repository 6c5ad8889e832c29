//! Nodes of this host that measure: threads of this process, or the processes of an MPI job.

use crate::disturbed::{self, Share, Timed};
use crate::report::median;
use crate::{Config, Error};
use fabric::threads;
use machine::{Costs, Machine, Program};

/// Times of runs.
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Something else on the host disturbed them, again and again.
    pub(crate) disturbed: bool,
}

pub(crate) trait Nodes {
    /// What nodes are; names tables.
    const KIND: &'static str;
    /// How often what was disturbed is done again. Processes do not know what the first of them has measured, so they
    /// repeat nothing.
    const REPETITIONS: u32;
    /// What a reader of a table must know of them.
    fn about(&self) -> String;
    /// How many there can be.
    fn most(&self) -> u32;
    /// Runs a program on this number of them, and measures with that of node 0. What other nodes measure is
    /// no figure. Where there are more nodes than processors they take turns, and none is starved.
    fn time<P: Program>(
        &mut self,
        nodes: u32,
        make: impl Fn() -> P + Sync,
        measure: impl Fn(&P) -> f64 + Sync,
    ) -> Result<Timed<f64>, Error>;

    /// The median, the least and the most of as many runs as are asked for, at least one.
    fn times<P: Program>(
        &mut self,
        config: &Config,
        nodes: u32,
        make: impl Fn() -> P + Sync,
        measure: impl Fn(&P) -> f64 + Sync,
    ) -> Result<Times, Error> {
        let time = || self.time(nodes, &make, &measure);
        let (times, disturbed) = disturbed::repeated(config, Self::REPETITIONS, time, |time| vec![*time])?;
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        Ok(Times { median: median(times).unwrap_or_default(), least, most, disturbed })
    }
}

pub(crate) struct Threads;

impl Nodes for Threads {
    const KIND: &'static str = "threads";
    const REPETITIONS: u32 = disturbed::REPETITIONS;
    fn about(&self) -> String {
        "An MPI launcher (`mpirun -n 2 fifth lab run ...`) adds a table of processes, if fifth was built with the \
         feature `mpi`: docs/laboratory.md."
            .into()
    }
    fn most(&self) -> u32 {
        64
    }
    fn time<P: Program>(
        &mut self,
        nodes: u32,
        make: impl Fn() -> P + Sync,
        measure: impl Fn(&P) -> f64 + Sync,
    ) -> Result<Timed<f64>, Error> {
        let make = |node| Machine::new(node, nodes, make(), Costs::REAL);
        // Each thread is asked at its end.
        let ended = |machine: Machine<P>| (measure(&machine.program), Share::now().is_starved());
        let ended = threads::run(nodes, make, ended).map_err(|failed| Error(failed.to_string()))?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let starved = ended.len() <= processors && ended.iter().any(|(_, starved)| *starved);
        Ok(Timed { value: ended[0].0, starved })
    }
}

#[cfg(feature = "mpi")]
mod processes {
    use super::{Costs, Error, Machine, Nodes, Program, Share, Timed};
    use fabric::mpi::{Mpi, Session, launch};
    use fabric::{Node, NodeId, Step};

    impl Nodes for Session {
        const KIND: &'static str = "processes";
        const REPETITIONS: u32 = 0;
        fn about(&self) -> String {
            format!("The job has {} of them, under {}.", self.nodes(), launch::library())
        }
        fn most(&self) -> u32 {
            self.nodes()
        }
        fn time<P: Program>(
            &mut self,
            nodes: u32,
            make: impl Fn() -> P + Sync,
            measure: impl Fn(&P) -> f64 + Sync,
        ) -> Result<Timed<f64>, Error> {
            let before = Share::now();
            let make =
                |node: NodeId| Part((node.0 < nodes).then(|| Machine::new(node, nodes, make(), Costs::REAL)));
            let Part(machine) = self.run(make).map_err(|error| Error(error.to_string()))?;
            let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
            let starved = self.nodes() as usize <= processors && Share::now().since(before).is_starved();
            Ok(Timed { value: machine.map_or(0.0, |machine| measure(&machine.program)), starved })
        }
    }

    /// A process's machine; none: there are more processes than nodes.
    struct Part<P>(Option<Machine<P>>);

    impl<P: Program> Node<Mpi> for Part<P> {
        fn step(&mut self, fabric: &mut Mpi) -> Step {
            self.0.as_mut().map_or(Step::Done, |machine| machine.step(fabric))
        }
    }
}
