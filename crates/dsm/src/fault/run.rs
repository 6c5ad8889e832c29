//! Runs of programs on real nodes: threads of one process, or processes under MPI.

use super::engine::Geared;
use super::{Attached, Faults, Mapping};
use crate::Work;
use crate::node::{Node, Space};
use crate::protocol::{Counters, Options};
use fabric::threads;
use fabric::{Drive, Failed, NodeId};
use machine::{Costs, Machine};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// So often, in nanoseconds, somebody looks whether a run has ended: while programs compute, that costs them time.
const PATIENCE: u64 = 200_000;

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

/// A node that is ready to be driven.
fn geared<F: Drive>(fabric: F, options: Options) -> Result<Geared<F>, Failed> {
    let (node, nodes) = (fabric.node(), fabric.nodes());
    let failed = |error: std::io::Error| Failed { node, reason: format!("no shared memory: {error}") };
    let mapping = Mapping::new(options.homes.len(), options.page_bytes).map_err(failed)?;
    let view = (mapping.words(), mapping.page_words());
    let costs = Costs { patience: PATIENCE, ..Costs::REAL };
    Geared::new(Machine::new(node, nodes, Node::of(options, Space::Mapping(mapping)), costs), fabric, view)
}

/// Runs a program on so many nodes that share memory, two threads each, by page faults. The results come in the order
/// of the nodes. An error if there is no memory or thread for one, or one panics. Options that make no sense are a
/// mistake of the caller's: panics.
pub fn run<R: Send>(
    nodes: u32,
    options: impl Fn(NodeId) -> Options,
    program: impl Fn(&Attached<'_>) -> R + Sync,
) -> Result<Vec<Ended<R>>, Failed> {
    let mut gates = Vec::new();
    for fabric in threads::open(nodes) {
        let options = options(fabric::Fabric::node(&fabric));
        gates.push(geared(fabric, options)?);
    }
    let mut ends: Vec<Option<R>> = (0..nodes).map(|_| None).collect();
    thread::scope(|scope| {
        for ((node, place), entry) in (0..nodes).zip(&mut ends).zip(&gates) {
            let (gate, program): (&Geared<_>, _) = (entry, &program);
            let spawned = [
                thread::Builder::new().name(format!("service {node}")).spawn_scoped(scope, || gate.serve()),
                thread::Builder::new().name(format!("node {node}")).spawn_scoped(scope, move || {
                    *place = live(gate, (node, nodes), program);
                }),
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

/// Runs this process's node of a program that shares memory, until all nodes of the job are done. All processes call
/// it together. After an error the job cannot go on: say what it was, and drop the session. Options that make no
/// sense are a mistake of the caller's: panics.
#[cfg(feature = "mpi")]
pub fn join<R>(
    session: &mut fabric::mpi::Session,
    options: impl FnOnce(NodeId) -> Options,
    program: impl FnOnce(&Attached<'_>) -> R,
) -> Result<Ended<R>, Failed> {
    let (node, nodes) = (session.node(), session.nodes());
    let gate = geared(session.open(), options(node))?;
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

/// A node's program, from its first fault to its end.
fn live<F: Drive, R>(
    gate: &Geared<F>,
    (node, nodes): (u32, u32),
    program: impl FnOnce(&Attached<'_>) -> R,
) -> Option<R> {
    let attached = Attached::new(gate, node, nodes);
    let faults = match Faults::new(gate) {
        Ok(faults) => faults,
        Err(error) => {
            gate.fail(format!("page faults cannot be served: {error}"));
            return None;
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| program(&attached)));
    drop(faults);
    let result = match result {
        Ok(result) => Some(result),
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
