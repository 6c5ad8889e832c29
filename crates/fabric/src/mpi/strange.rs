//! What no fabric sends: for tests.

use super::Mpi;
use super::ports::{PACKET, PAYLOAD};
use crate::{NodeId, Priority};

impl Mpi {
    /// Sends bytes that no fabric sends.
    #[doc(hidden)]
    pub fn send_for_test(&mut self, to: NodeId, bytes: Vec<u8>) {
        self.ports.sending.push_back(self.ports.channel.send(bytes, to.0, PACKET));
        self.ports.bells.ring(to.0);
    }
    /// Sends a payload of low priority that is not as it was announced.
    #[doc(hidden)]
    pub fn send_payload_for_test(&mut self, to: NodeId, bytes: Vec<u8>) {
        let transfer = self.ports.channel.send(bytes, to.0, PAYLOAD[Priority::Low as usize]);
        self.long_out.push((to.0, Priority::Low, transfer));
        self.peers[to.0 as usize].outbox[Priority::Low as usize].long += 1;
    }
}
