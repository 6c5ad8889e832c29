//! Half-duplex links: of two sides that want the same wires, one gets them.

use super::outputs::{Grant, Outputs};
use super::shape::Shape;
use std::cmp::Ordering;

/// Which side wants the wires, and which had them; by node and port.
pub(super) struct Wires {
    /// When this side was chosen, and in which level.
    chosen: Vec<(u32, u8)>,
    /// Whether it had the link last.
    had_link: Vec<bool>,
}

impl Wires {
    pub(super) fn new(ports: usize) -> Wires {
        Wires { chosen: vec![(0, 0); ports], had_link: vec![false; ports] }
    }
    /// Keeps the flits that get their wires in this cycle.
    pub(super) fn share(&mut self, grants: &mut Vec<Grant>, clock: u32, outputs: &Outputs, shape: &Shape) {
        for grant in &*grants {
            self.chosen[grant.port as usize] = (clock, shape.gate(grant.route).level);
        }
        grants.retain(|grant| {
            let Some(opposite) = opposite(grant.port as usize, outputs, shape) else { return true };
            let ((time, theirs), (_, ours)) = (self.chosen[opposite], self.chosen[grant.port as usize]);
            match (time == clock, ours.cmp(&theirs)) {
                (false, _) => true,
                (true, Ordering::Equal) => {
                    match (self.had_link[grant.port as usize], self.had_link[opposite]) {
                        (false, true) => true,
                        (true, false) => false,
                        // Never used before.
                        _ => (grant.port as usize) < opposite,
                    }
                }
                (true, order) => order == Ordering::Greater,
            }
        });
        for grant in grants {
            if let Some(opposite) = opposite(grant.port as usize, outputs, shape) {
                self.had_link[grant.port as usize] = true;
                self.had_link[opposite] = false;
            }
        }
    }
    /// The clock begins anew.
    pub(super) fn begin_anew(&mut self) {
        self.chosen.fill((0, 0));
    }
}

/// The port that shares its wires with this one; a node's own port has none.
fn opposite(port: usize, outputs: &Outputs, shape: &Shape) -> Option<usize> {
    let number = port % shape.ports();
    let neighbour = outputs.at(port).neighbour as usize;
    (number < shape.ports() - 1).then(|| neighbour * shape.ports() + (number ^ 1))
}
