//! Runs of programs on real nodes: threads of one process, or processes under MPI.

use super::engine::Geared;
use super::mapping::{available, memory, of_host};
use super::{Attached, Faults, Mapping, user};
use crate::Work;
use crate::node::{Node, Space};
use crate::protocol::{Counters, Homes, Options};
use fabric::threads;
use fabric::{Drive, Failed, NodeId};
use machine::{Costs, Machine};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Nanoseconds between two looks at whether a run has ended: while programs compute, that costs them time.
const PATIENCE: u64 = 200_000;

/// The most nodes that a run has in one process: each has two threads, and ways to all others.
pub const NODES_MAX: u32 = 1024;

/// What keeps a run from its begin, if anything: the number of its nodes, or the size of its memory. `here`: nodes of
/// this process.
pub fn check(here: u32, options: &Options) -> Result<(), String> {
    options.check()?;
    if !(1..=NODES_MAX).contains(&here) {
        return Err(format!("{here} nodes in one process: 1 to {NODES_MAX}"));
    }
    let (pages, page_bytes) = (options.homes.len(), options.page_bytes);
    let too_much = "with too little memory, use fewer pages";
    let bytes =
        pages.checked_mul(page_bytes).ok_or_else(|| format!("no room for {pages} pages: {too_much}"))?;
    if let Some(all) = of_host().filter(|&all| bytes > all) {
        let has = all >> 20;
        return Err(format!(
            "{bytes} bytes of shared memory on a host of {has} MiB, swap included: {too_much}"
        ));
    }
    // What nodes have to know of pages of which nothing is known yet.
    let known = options.homes.bytes_a_page().saturating_mul(pages).saturating_mul(here as usize);
    match available().filter(|&available| known > available) {
        Some(_) => {
            Err(format!("{here} nodes that know of {pages} pages need {} MiB: {too_much}", known >> 20))
        }
        None => Ok(()),
    }
}

/// What a node's program gave, and what the node has counted.
#[derive(Clone, Debug)]
pub struct Ended<R> {
    /// What it gave.
    pub result: R,
    /// What the protocol has done.
    pub counters: Counters,
    /// What the program has done, in nanoseconds; `written` has only what it declared.
    pub work: Work,
}

/// How a node learns what its program touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mechanism {
    /// By `userfaultfd`, which not every system allows.
    User,
    /// By protections of pages: each run of pages with equal rights is one of the maps of which a process has a
    /// limited number.
    Protections,
}

/// Names [`Mechanism`] in the environment: `userfaultfd` or `segv`.
const FAULTS: &str = "FIFTH_DSM_FAULTS";

impl Mechanism {
    /// Those that this system has, the best first.
    pub fn available() -> Vec<Mechanism> {
        let user = user::is_there().then_some(Mechanism::User);
        user.into_iter().chain([Mechanism::Protections]).collect()
    }
    /// That which `FIFTH_DSM_FAULTS` names, or else the best that there is.
    fn chosen() -> Result<Mechanism, String> {
        let there = Mechanism::available();
        match std::env::var(FAULTS).ok().as_deref() {
            None | Some("") => Ok(there[0]),
            Some("segv") => Ok(Mechanism::Protections),
            Some("userfaultfd") if there.contains(&Mechanism::User) => Ok(Mechanism::User),
            Some("userfaultfd") => {
                Err(format!("{FAULTS}=userfaultfd: this system does not allow it; `segv` does without"))
            }
            Some(other) => Err(format!("{FAULTS}={other}: it may be `userfaultfd` or `segv`")),
        }
    }
}

/// How real nodes reach the memory that they share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Real {
    /// How they learn what is touched. `None`: as `FIFTH_DSM_FAULTS` says (`userfaultfd` or `segv`), or else in the
    /// best way that the system has.
    pub faults: Option<Mechanism>,
    /// If all nodes are on one host, they have the same pages: no page faults, and none travels. Otherwise, or if
    /// processes cannot open each other's memory, pages go by messages.
    pub direct: bool,
}

impl Default for Real {
    fn default() -> Real {
        Real { faults: None, direct: true }
    }
}

/// A node that is ready to be driven; with the memory of all, if there is one.
fn geared<F: Drive>(
    real: Real,
    fabric: F,
    mut options: Options,
    shared: Option<OwnedFd>,
) -> Result<Geared<F>, Failed> {
    let (node, nodes) = (fabric.node(), fabric.nodes());
    let failed = |error: std::io::Error| Failed { node, reason: format!("no shared memory: {error}") };
    let (pages, page_bytes) = (options.homes.len(), options.page_bytes);
    let mapping = match shared {
        Some(shared) => {
            // A page that each node has is at home at each.
            options.homes = Homes::One { node, pages: pages as u32 };
            Mapping::open_to_all(shared, pages, page_bytes)
        }
        None => {
            let faults = real.faults.map_or_else(Mechanism::chosen, Ok);
            let faults = faults.map_err(|reason| Failed { node, reason })?;
            Mapping::new(pages, page_bytes, faults == Mechanism::User)
        }
    };
    let mapping = mapping.map_err(failed)?;
    let view = (mapping.words(), mapping.page_words());
    let costs = Costs { patience: PATIENCE, ..Costs::REAL };
    Geared::new(Machine::new(node, nodes, Node::of(options, Space::Mapping(mapping)), costs), fabric, view)
}

/// [`Real::run`] by messages, as if no two nodes were on one host.
pub fn run<R: Send>(
    nodes: u32,
    options: impl Fn(NodeId) -> Options,
    program: impl Fn(&Attached<'_>) -> R + Sync,
) -> Result<Vec<Ended<R>>, Failed> {
    Real { faults: None, direct: false }.run(nodes, options, program)
}

impl Real {
    /// Runs a program on `nodes` nodes that share memory, two threads each. The results come in the order of the
    /// nodes. An error if there is no memory or thread for one; if one panics or ends with a lock; or if one waits at
    /// a barrier or for a lock while all others have ended or wait, too. Options that make no sense are an error,
    /// as well.
    pub fn run<R: Send>(
        self,
        nodes: u32,
        options: impl Fn(NodeId) -> Options,
        program: impl Fn(&Attached<'_>) -> R + Sync,
    ) -> Result<Vec<Ended<R>>, Failed> {
        let mut gates = Vec::new();
        let mut shared: Option<OwnedFd> = None;
        let refused = |node, reason| Failed { node, reason };
        if !(1..=NODES_MAX).contains(&nodes) {
            return Err(refused(NodeId(0), format!("{nodes} nodes in one process: 1 to {NODES_MAX}")));
        }
        for fabric in threads::open(nodes) {
            let node = fabric::Fabric::node(&fabric);
            let options = options(node);
            check(nodes, &options).map_err(|reason| refused(node, reason))?;
            let failed =
                |error: std::io::Error| Failed { node, reason: format!("no shared memory: {error}") };
            if self.direct && shared.is_none() {
                shared = Some(memory(options.homes.len() * options.page_bytes).map_err(failed)?);
            }
            let shared = shared.as_ref().map(OwnedFd::try_clone).transpose().map_err(failed)?;
            gates.push(geared(self, fabric, options, shared)?);
        }
        let mut ends: Vec<Option<R>> = (0..nodes).map(|_| None).collect();
        thread::scope(|scope| {
            for ((node, place), entry) in (0..nodes).zip(&mut ends).zip(&gates) {
                let (gate, program): (&Geared<_>, _) = (entry, &program);
                let service = thread::Builder::new().name(format!("service {node}"));
                let main = thread::Builder::new().name(format!("node {node}"));
                let spawned = [
                    service.spawn_scoped(scope, || gate.serve()),
                    main.spawn_scoped(scope, move || *place = live(gate, (node, nodes), program)),
                ];
                if let Some(Err(error)) = spawned.into_iter().find(Result::is_err) {
                    gate.fail(format!("no thread for it: {error}"));
                    break;
                }
            }
        });
        if let Some(failed) = gates.first().and_then(|gate| gate.failure()) {
            return Err(failed);
        }
        let end = |(result, gate): (Option<R>, Geared<_>)| {
            let (counters, work, _) = gate.end();
            Ended { result: result.expect("a node that did not fail has its end"), counters, work }
        };
        Ok(ends.into_iter().zip(gates).map(end).collect())
    }

    /// Runs this process's node of a program that shares memory, until all nodes of the job are done. All processes
    /// call it together. Errors are those of [`Real::run`]: after one the job cannot go on: say what it was, and drop
    /// the session.
    #[cfg(feature = "mpi")]
    pub fn join<R>(
        self,
        session: &mut fabric::mpi::Session,
        options: impl FnOnce(NodeId) -> Options,
        program: impl FnOnce(&Attached<'_>) -> R,
    ) -> Result<Ended<R>, Failed> {
        let (node, nodes) = (session.node(), session.nodes());
        let options = options(node);
        check(1, &options).map_err(|reason| Failed { node, reason })?;
        let shared = if self.direct {
            session.shared_file((options.homes.len() * options.page_bytes) as u64).map(OwnedFd::from)
        } else {
            None
        };
        let gate = geared(self, session.open(), options, shared)?;
        let result = thread::scope(|scope| {
            let service = thread::Builder::new().name("service".into()).spawn_scoped(scope, || gate.serve());
            match service {
                Ok(_) => live(&gate, (node.0, nodes), program),
                Err(error) => {
                    gate.fail(format!("no thread for it: {error}"));
                    None
                }
            }
        });
        if let Some(failed) = gate.failure() {
            return Err(failed);
        }
        let (counters, work, fabric) = gate.end();
        session.close(fabric).map_err(|error| Failed { node, reason: error.to_string() })?;
        Ok(Ended { result: result.expect("a node that did not fail has its end"), counters, work })
    }
}

/// A node's program, from its first fault to its end.
fn live<F: Drive, R>(
    gate: &Geared<F>,
    (node, nodes): (u32, u32),
    program: impl FnOnce(&Attached<'_>) -> R,
) -> Option<R> {
    let attached = Attached::new(gate, node, nodes);
    let faults = match Faults::new(gate, node) {
        Ok(faults) => faults,
        Err(error) => {
            gate.fail(format!("page faults cannot be served: {error}"));
            return None;
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| program(&attached)));
    drop(faults);
    let result = match result {
        Ok(result) => {
            gate.unfinished().into_iter().for_each(|reason| gate.fail(reason));
            Some(result)
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            gate.fail(text.unwrap_or_else(|| "panicked".into()));
            None
        }
    };
    gate.leave();
    result
}
