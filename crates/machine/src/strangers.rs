//! A machine among nodes that send anything: it goes on, whatever comes.

use crate::*;
use arbtest::arbitrary::{self, Unstructured};
use arbtest::arbtest;
use fabric::{Busy, Gather, Message, Node, NodeId, Priority, Step, Time, WORDS_MAX};
use header::{Header, Kind};

const NODES: u32 = 5;

/// What comes, from whom; what goes out is only looked at.
struct Strangers<'a> {
    node: NodeId,
    time: u64,
    incoming: Vec<Message>,
    own: Vec<Message>,
    gather: Option<Gather>,
    u: &'a mut Unstructured<'a>,
}

impl fabric::Fabric for Strangers<'_> {
    fn node(&self) -> NodeId {
        self.node
    }
    fn nodes(&self) -> u32 {
        NODES
    }
    fn send(&mut self, to: NodeId, mut message: Message) -> Result<(), Busy> {
        assert!(to.0 < NODES, "a message to node {}", to.0);
        if self.u.ratio(1, 8).unwrap_or(false) {
            return Err(Busy(message));
        }
        if to == self.node {
            message.from = to;
            self.own.push(message);
        }
        Ok(())
    }
    fn poll(&mut self) -> Option<Message> {
        let parent = self.u.int_in_range(0..=NODES).unwrap_or(NODES);
        let parent = (parent < NODES).then_some(NodeId(parent));
        let any = self.u.arbitrary().unwrap_or(false);
        let children = self.u.int_in_range(0..=3).unwrap_or(0);
        self.gather = any.then_some(Gather { parent, children, level: 0 });
        self.own.pop().or_else(|| self.incoming.pop())
    }
    fn gather(&self) -> Option<Gather> {
        self.gather
    }
    fn now(&self) -> Time {
        Time(self.time)
    }
    fn spend(&mut self, time: u64) {
        self.time += time;
    }
}

/// Does of everything something, and takes or refuses what comes.
struct Everything;

impl Program for Everything {
    fn start(&mut self, here: &Here) {
        for round in 0..3 {
            let task = here.clone();
            here.spawn(async move { task.barrier().await });
            let task = here.clone();
            here.spawn(async move { _ = task.reduce(Reduction::Sum, round).await });
            let task = here.clone();
            here.spawn(async move {
                let reply = task.call(NodeId(1), 1, &[round]).await;
                assert!(reply.words().len() <= WORDS);
            });
            for spread in Spread::ALL {
                let (task, all) = (here.clone(), NodeSet::all(NODES));
                here.spawn(async move { _ = task.multicast_by(spread, all, 2, &[round], vec![1; 3]).await });
            }
            let task = here.clone();
            here.spawn(async move { task.broadcast(3, &[round], Vec::new()).await });
        }
    }
    fn handle<F: fabric::Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match call.code % 8 {
            0 => return Verdict::Refused,
            1 => _ = context.reply(call, call.words.get(1..).unwrap_or_default(), Vec::new()),
            2 => {
                let name = context.enter(7);
                context.send_to_name(name, Priority::Low, 4, &[]);
                if call.words.first().is_some_and(|word| word % 2 == 0) {
                    _ = context.leave(name, call.from);
                }
            }
            3 => context.send(call.from, call.priority, 0, call.words),
            4 => {
                if let Some((name, _)) = call.object {
                    context.send_to_name(name, Priority::High, 5, &[]);
                }
            }
            7 => return Verdict::Strange,
            _ => {}
        }
        Verdict::Done
    }
}

/// A message that a machine might have sent, more or less.
fn message(u: &mut Unstructured<'_>) -> arbitrary::Result<Message> {
    let mut words = [0; WORDS_MAX];
    for word in &mut words {
        // Small numbers mean something more often: nodes, entries, names of nodes' first objects.
        *word = match u.int_in_range(0..=3)? {
            0 => u.arbitrary()?,
            1 => u.int_in_range(0..=4u64)? << 32 | u.int_in_range(0..=2u64)?,
            _ => u.int_in_range(0..=6)?,
        };
    }
    if u.ratio(7, 8)? {
        let kind = u.int_in_range(0..=19u64)?;
        let aux = if u.ratio(3, 4)? { u.int_in_range(0..=6u64)? } else { u.arbitrary::<u64>()? >> 40 };
        words[0] = u.int_in_range(0..=9u64)? | kind << 32 | aux << 40;
    }
    let priority = if u.arbitrary()? { Priority::High } else { Priority::Low };
    let mut message = Message::of_array(priority, u.int_in_range(0..=WORDS_MAX)?, words);
    message.from = NodeId(u.int_in_range(0..=NODES - 1)?);
    if u.ratio(1, 2)? {
        message.payload = u.arbitrary()?;
        if u.ratio(3, 4)? {
            let set: NodeSet = (0..8).map(NodeId).filter(|_| u.arbitrary().unwrap_or(false)).collect();
            set.append_to(&mut message.payload);
        }
    }
    Ok(message)
}

#[test]
fn whatever_strangers_send_a_machine_goes_on() {
    arbtest(|u| {
        let node = NodeId(u.int_in_range(0..=NODES - 1)?);
        let mut incoming = Vec::new();
        for _ in 0..u.int_in_range(0..=60)? {
            incoming.push(message(u)?);
        }
        let rest: Vec<u8> = (0..64).map(|_| u.arbitrary().unwrap_or(0)).collect();
        let mut rest = Unstructured::new(&rest);
        let mut machine = Machine::new(node, NODES, Everything, Costs { patience: 50, ..Costs::default() });
        let mut fabric = Strangers { node, time: 0, incoming, own: Vec::new(), gather: None, u: &mut rest };
        for _ in 0..60 {
            fabric.time += 20;
            if machine.step(&mut fabric) == Step::Done {
                break;
            }
        }
        Ok(())
    })
    .budget_ms(2_000);
}

/// What a handler does not know is counted, however it came, and none of it goes back.
#[test]
fn what_no_handler_knows_is_strange() {
    let message = |kind, words: &[u64], payload| {
        let mut message = Header { kind, code: 7, aux: 1 }.message(Priority::Low, words);
        (message.from, message.payload) = (NodeId(1), payload);
        message
    };
    let mut set = Vec::new();
    NodeSet::new().append_to(&mut set);
    let incoming = vec![
        message(Kind::Plain, &[], Vec::new()),
        message(Kind::Request, &[0, 5], Vec::new()),
        message(Kind::Broadcast, &[5], Vec::new()),
        message(Kind::Multicast, &[1], set),
    ];
    let strange = incoming.len() as u64;
    let mut fabric = Strangers {
        node: NodeId(4),
        time: 0,
        incoming,
        own: Vec::new(),
        gather: None,
        u: &mut Unstructured::new(&[]),
    };
    let mut machine = Machine::new(NodeId(4), NODES, Everything, Costs { patience: 50, ..Costs::default() });
    assert_ne!(machine.step(&mut fabric), Step::Done);
    assert_eq!((machine.counters().strange, machine.counters().returned), (strange, 0));
}

/// News of objects that no node has made, at nodes that do not exist, change nothing.
#[test]
fn news_of_nowhere_is_strange() {
    let moved = |name: Name, aux| {
        let mut message =
            Header { kind: Kind::Moved, code: 0, aux }.message(Priority::High, &[name.word(), 9]);
        message.from = NodeId(1);
        message
    };
    let own = Name { home: NodeId(0), index: 0 };
    let others = Name { home: NodeId(3), index: 0 };
    let incoming = vec![
        moved(others, NODES),
        moved(own, NODES),
        moved(own, 1),
        moved(Name { home: NodeId(NODES), index: 0 }, 1),
    ];
    let strange = incoming.len() as u64;
    let mut fabric = Strangers {
        node: NodeId(0),
        time: 0,
        incoming,
        own: Vec::new(),
        gather: None,
        u: &mut Unstructured::new(&[]),
    };
    let mut machine = Machine::new(NodeId(0), NODES, Everything, Costs { patience: 50, ..Costs::default() });
    assert_ne!(machine.step(&mut fabric), Step::Done);
    assert_eq!(machine.counters().strange, strange);
}
