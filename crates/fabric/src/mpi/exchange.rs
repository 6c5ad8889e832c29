//! What processes have to do with each other outside the runs of programs. Bytes go between the first and all others:
//! each exchange is a run of its own, so a process that waits gives way as in any other.

use super::{Error, Mpi, Session};
use crate::{Fabric, Message, Node, NodeId, Priority, Step};

/// One process's part in an exchange.
struct Exchange {
    to_send: Vec<(NodeId, Message)>,
    awaited: usize,
    came: Vec<(NodeId, Vec<u8>)>,
}

impl Node<Mpi> for Exchange {
    fn step(&mut self, fabric: &mut Mpi) -> Step {
        let mut did = false;
        while let Some(message) = fabric.poll() {
            self.came.push((message.from, message.payload));
            did = true;
        }
        while let Some((to, message)) = self.to_send.pop() {
            if let Err(busy) = fabric.send(to, message) {
                self.to_send.push((to, busy.0));
                return Step::Again;
            }
            did = true;
        }
        if self.came.len() >= self.awaited {
            Step::Done
        } else if did {
            Step::Again
        } else {
            Step::Wait(None)
        }
    }
}

fn message(payload: Vec<u8>) -> Message {
    let mut message = Message::new(Priority::Low, &[]);
    message.payload = payload;
    message
}

impl Session {
    /// How many processes of the job are on this host.
    pub fn here(&self) -> u32 {
        self.ports().bells.here() as u32
    }
    /// What each process gives, in the order of nodes, at the first process; nothing at the others. All of them call
    /// it together.
    pub fn gather(&mut self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let first = self.node() == NodeId(0);
        let to_send = vec![(NodeId(0), message(bytes))];
        let awaited = if first { self.nodes() as usize } else { 0 };
        let mut came = self.run(|_| Exchange { to_send, awaited, came: Vec::new() })?.came;
        came.sort_by_key(|&(from, _)| from);
        Ok(came.into_iter().map(|(_, bytes)| bytes).collect())
    }
    /// What the first process gives, at all processes. All of them call it together; what the others give is of no
    /// account.
    pub fn broadcast(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        let first = self.node() == NodeId(0);
        let others = (1..if first { self.nodes() } else { 1 }).map(NodeId);
        let to_send = others.map(|to| (to, message(bytes.clone()))).collect();
        let awaited = usize::from(!first);
        let came = self.run(|_| Exchange { to_send, awaited, came: Vec::new() })?.came;
        Ok(came.into_iter().next().map_or(bytes, |(_, bytes)| bytes))
    }
}
