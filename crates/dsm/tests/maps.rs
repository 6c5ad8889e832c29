//! A process has a limited number of maps. A test binary of its own, because it uses them up.

use dsm::Memory;
use dsm::fault::{Ended, Mechanism, Real};
use dsm::kernels::{PAGE_BYTES, PAGE_WORDS};
use dsm::protocol::{Homes, Mode, Options};
use fabric::NodeId;
use fabric::threads::Failed;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Pages that nodes touch when nearly all maps are in use.
const FREE: usize = 2000;
/// Maps that are left then: enough for the process itself, less than the touches need.
const LEFT: usize = 600;

/// Of a real node, which waits inside: a future that is ready at once.
fn now<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a real node waits inside"),
    }
}

/// Three nodes. First pages with homes in turn at two of them, each a map of its own in the views of both; then pages
/// of node 0. Node 2 reads all of these, which takes a few maps; after that no other node than node 1 has rights to
/// change when it reads every other one.
fn touch(mechanism: Mechanism, in_turn: usize) -> Result<Vec<Ended<f64>>, Failed> {
    let home = |page| NodeId(if page < in_turn { (page % 2) as u32 } else { 0 });
    let homes: Homes = (0..in_turn + FREE).map(home).collect();
    let (page_bytes, mode) = (PAGE_BYTES, Mode::Invalidate);
    let options = |node| Options { node, nodes: 3, page_bytes, homes: homes.clone(), mode };
    Real { faults: Some(mechanism), direct: false }.run(3, options, |memory| {
        let region = memory.region::<f64>(in_turn * PAGE_WORDS, FREE * PAGE_WORDS);
        let read = |step| (0..FREE).step_by(step).map(|page| region.get(page * PAGE_WORDS)).sum::<f64>();
        let mut sum = if memory.node() == 2 { read(1) } else { 0.0 };
        now(memory.barrier());
        if memory.node() == 1 {
            sum += read(2);
        }
        now(memory.barrier());
        sum
    })
}

#[test]
fn without_maps_a_run_ends_with_an_error_that_says_what_to_do() {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("a file of Linux");
    let maps: usize = text.trim().parse().expect("a number");
    if maps > 1 << 21 {
        eprintln!("vm.max_map_count is {maps}: too many to use up; nothing was tested");
        return;
    }
    let wanted = |ends: Result<Vec<Ended<f64>>, Failed>, node: u32| {
        let failed = ends.map(|_| ()).expect_err("there are not so many maps");
        assert_eq!(failed.node, NodeId(node), "{failed}");
        for part in ["cannot be protected", "raise vm.max_map_count", "pages of more than 4096 bytes"] {
            assert!(failed.reason.contains(part), "{failed}");
        }
    };
    assert!(touch(Mechanism::Protections, 0).is_ok(), "enough of them");
    // Node 1 uses them up by its touches, in the handler of page faults.
    wanted(touch(Mechanism::Protections, (maps - LEFT) / 2), 1);
    // And before anything is touched: node 1's view comes second.
    wanted(touch(Mechanism::Protections, maps * 3 / 4), 1);
    assert!(touch(Mechanism::Protections, 0).is_ok(), "they are free again");
    // Rights in the page table take no maps.
    if Mechanism::available().contains(&Mechanism::User) {
        assert!(touch(Mechanism::User, (maps - LEFT) / 2).is_ok());
    }
}
