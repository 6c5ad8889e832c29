//! The conformance suite on threads, and what is particular to them.

use conformance::fabrics::{Kind, programs};
use fabric::threads::{Failed, Threads, run};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step, Time};
use std::time::{Duration, Instant};

/// Options for this number of threads.
struct Suite(u32);

impl Kind for Suite {
    type Fabric = Threads;
    fn nodes(&self) -> u32 {
        self.0
    }
    fn run<N: Node<Threads>>(&mut self, make: impl Fn(NodeId) -> N + Sync) {
        if let Err(failed) = run(self.0, make, drop) {
            panic!("{failed}");
        }
    }
}

fn conforms(nodes: u32) {
    for (name, program) in programs::<Suite>() {
        let begin = Instant::now();
        program(&mut Suite(nodes));
        println!("{nodes} nodes, {name}: {:.1?}", begin.elapsed());
    }
}

#[test]
fn two_nodes_conform() {
    conforms(2);
}

#[test]
fn three_nodes_conform() {
    conforms(3);
}

#[test]
fn eight_nodes_conform() {
    conforms(8);
}

#[test]
fn sixty_four_nodes_conform() {
    conforms(64);
}

/// Waits for ever, but for the one that panics.
struct Waiting;

impl Node<Threads> for Waiting {
    fn step(&mut self, fabric: &mut Threads) -> Step {
        assert!(fabric.node().0 != 3 || fabric.now().0 < 1_000_000, "enough of this");
        Step::Wait((fabric.node().0 == 3).then_some(Time(1_000_000)))
    }
}

#[test]
fn a_panic_ends_the_run_although_all_others_sleep() {
    let failed = run(8, |_| Waiting, drop).expect_err("node 3 panics");
    assert_eq!(failed, Failed { node: NodeId(3), reason: "enough of this".into() });
}

#[test]
fn a_panic_ends_the_run_although_others_have_no_room() {
    struct Sends;
    impl Node<Threads> for Sends {
        fn step(&mut self, fabric: &mut Threads) -> Step {
            if fabric.node().0 == 0 {
                std::thread::sleep(Duration::from_millis(5));
                panic!("tired");
            }
            let _ = fabric.send(NodeId(0), Message::new(Priority::Low, &[1]));
            Step::Again
        }
    }
    assert_eq!(run(3, |_| Sends, drop).expect_err("node 0 panics").node, NodeId(0));
}

#[test]
fn messages_to_a_node_that_is_done_vanish() {
    struct Sends(u64);
    impl Node<Threads> for Sends {
        fn step(&mut self, fabric: &mut Threads) -> Step {
            let message = Message::new(Priority::Low, &[self.0]);
            if fabric.node().0 == 0 || self.0 == 100_000 {
                return Step::Done;
            }
            self.0 += u64::from(fabric.send(NodeId(0), message).is_ok());
            Step::Again
        }
    }
    run(2, |_| Sends(0), drop).expect("the sender is not held up");
}

#[test]
fn what_the_nodes_end_with_comes_back_in_order() {
    struct Ends(NodeId);
    impl Node<Threads> for Ends {
        fn step(&mut self, fabric: &mut Threads) -> Step {
            assert_eq!(self.0, fabric.node());
            Step::Done
        }
    }
    assert_eq!(run(5, Ends, |node| node.0.0), Ok(vec![0, 1, 2, 3, 4]));
}
