//! Functions in place of usual ones, of a node that is profiled: they note what its workers do (`reports::profile`).

use crate::memory::ranges::read;
use crate::node::entry::worker_of;
use crate::reports::profile::Doing;
use term::abi::{PredicateId, WorkerAbi};

/// `native` of a node that is profiled.
pub(crate) unsafe extern "C" fn native_profiled(abi: *mut WorkerAbi) -> bool {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let predicate = PredicateId::of_goal_word(read(worker.abi.goals as usize - 8));
    worker.shared.does(worker.index, Doing::Native(predicate));
    let goes_on = worker.reduce_native();
    if let Some(profiler) = worker.shared.profiler.get() {
        profiler.sampler(worker.index).goes_on();
    }
    goes_on
}

/// The way into generated code of a node that is profiled.
///
/// # Safety
/// What [`Enter`](crate::reports::profile::Enter) asks for.
pub(crate) unsafe extern "C" fn enter_profiled(abi: *mut WorkerAbi, entry: usize) -> u64 {
    let bottom = 0usize;
    let enter = {
        // SAFETY: E6 - the scheduler alone calls this, for its worker.
        let worker = unsafe { worker_of(abi) };
        let profiler = worker.shared.profiler.get().expect("it was set before this way in");
        profiler.sampler(worker.index).enters((&raw const bottom).expose_provenance());
        profiler.enter
    };
    // SAFETY: E6 - this is the scheduler's own call, of the way in that the node had before.
    let status = unsafe { enter(abi, entry) };
    // SAFETY: E6 - generated code has come back.
    let worker = unsafe { worker_of(abi) };
    worker.shared.does(worker.index, Doing::Scheduling);
    status
}
