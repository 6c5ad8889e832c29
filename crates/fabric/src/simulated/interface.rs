//! Between a node and its router: what each flit of a packet adds ([`Config::entry`], [`Config::exit`]).

use super::config::Config;
use super::network::Network;
use super::packet::Packet;

/// What the interface takes for the flits of a packet; nobody's is so long that it takes more.
pub(super) fn entry(config: &Config, flits: u32) -> u32 {
    config.entry.of(flits.into()).min(1 << 29) as u32
}

impl Network {
    /// When a node has the message of a packet whose last flit has left the network in this cycle. Its interface hands
    /// on one after another.
    pub(super) fn arrival(&mut self, packet: u32, now: u64) -> u64 {
        let time = now + u64::from(self.config.hop_cycles);
        if self.config.exit.cycles == 0 {
            return time;
        }
        let Packet { to, flits, .. } = self.packets[packet];
        let free = &mut self.exits[to.0 as usize];
        *free = time.max(*free) + self.config.exit.of(flits.into());
        *free
    }
}
