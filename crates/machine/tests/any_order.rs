//! Programs on a fabric that delivers in any order that is allowed, with the smallest queues: by seed.

use conformance::any_order::{Net, Way};
use conformance::machines::{Kind, tests};
use fabric::{Fabric, Node, NodeId, Step};
use machine::{Costs, Machine, Program};

/// Nodes with this much room, and the order of everything by seed.
struct Suite {
    seed: u64,
    nodes: u32,
    room: usize,
}

impl Kind for Suite {
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)> {
        let &mut Suite { seed, nodes, room } = self;
        let net = Net::new(seed, nodes, room);
        let costs = Costs { patience: 100, ..Costs::default() };
        let mut all: Vec<_> = (0..nodes)
            .map(|node| {
                let node = NodeId(node);
                let way = Way::new(node, nodes, &net);
                (Machine::new(node, nodes, make(node), costs), way, true)
            })
            .collect();
        for turn in 0.. {
            assert!(turn < 10_000_000, "no end");
            let Some(index) = all.iter().position(|(.., going)| *going) else { break };
            let pick = (index + net.borrow_mut().below(nodes) as usize) % all.len();
            let (machine, way, going) = &mut all[pick];
            if !*going {
                continue;
            }
            way.spend(7);
            *going = machine.step(way) != Step::Done;
        }
        all.into_iter().map(|(machine, way, _)| (way.node(), end(machine))).collect()
    }
}

#[test]
fn machines_conform_in_any_order() {
    for (name, test) in tests::<Suite>() {
        for seed in 0..40 {
            println!("{name}, seed {seed}");
            test(&mut Suite { seed, nodes: 1 + seed as u32 % 9, room: 1 + seed as usize % 3 });
        }
    }
}
