//! Nodes of this host that measure: threads of this process, or the processes of an MPI job.

use crate::Error;
use crate::report::median;
use fabric::threads;
use machine::{Costs, Machine, Program};

pub(crate) trait Nodes {
    /// What nodes are; names tables.
    const KIND: &'static str;
    /// What a reader of a table must know of them.
    fn about(&self) -> String;
    /// How many there can be.
    fn most(&self) -> u32;
    /// Runs a program on this number of them, and measures with that of node 0. What other nodes measure is
    /// no figure.
    fn time<P: Program>(
        &mut self,
        nodes: u32,
        make: impl Fn() -> P + Sync,
        measure: impl Fn(&P) -> f64 + Sync,
    ) -> Result<f64, Error>;

    /// The median, the least and the most of this number of runs, at least one.
    fn times<P: Program>(
        &mut self,
        runs: u32,
        nodes: u32,
        make: impl Fn() -> P + Sync,
        measure: impl Fn(&P) -> f64 + Sync,
    ) -> Result<[f64; 3], Error> {
        let times =
            (0..runs).map(|_| self.time(nodes, &make, &measure)).collect::<Result<Vec<f64>, Error>>()?;
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        Ok([median(times).unwrap_or_default(), least, most])
    }
}

pub(crate) struct Threads;

impl Nodes for Threads {
    const KIND: &'static str = "threads";
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
    ) -> Result<f64, Error> {
        let make = |node| Machine::new(node, nodes, make(), Costs::REAL);
        let times = threads::run(nodes, make, |machine| measure(&machine.program));
        Ok(times.map_err(|failed| Error(failed.to_string()))?[0])
    }
}

#[cfg(feature = "mpi")]
mod processes {
    use super::{Costs, Error, Machine, Nodes, Program};
    use fabric::mpi::{Mpi, Session, launch};
    use fabric::{Node, NodeId, Step};

    impl Nodes for Session {
        const KIND: &'static str = "processes";
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
        ) -> Result<f64, Error> {
            let make =
                |node: NodeId| Part((node.0 < nodes).then(|| Machine::new(node, nodes, make(), Costs::REAL)));
            let Part(machine) = self.run(make).map_err(|error| Error(error.to_string()))?;
            Ok(machine.map_or(0.0, |machine| measure(&machine.program)))
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
