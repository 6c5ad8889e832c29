//! What clusters send each other, as messages of the fabric.
//!
//! `operation (8 bits) | line (24) | version, or level of an acknowledgement (32)`, and the bytes of the line.

use crate::jump1::lines::{Access, Held, Line, Message};
use fabric::Priority;

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Packet {
    Memory(Message),
    /// To those who may have a line.
    Invalidate(Line, u32),
    /// To whoever gathers acknowledgements, at this level of the tree: of this home's line.
    Gather {
        line: Line,
        level: u32,
        home: u32,
    },
    /// To the home: all below have acknowledged.
    Acknowledge {
        line: Line,
        level: u32,
    },
    /// A program has come to a barrier; all have.
    Arrive,
    Go,
}

const READ: u8 = 0;
const WRITE: u8 = 1;
const WANT: u8 = 2;
const GRANT: u8 = 4;
const RECALL: u8 = 6;
const GIVE: u8 = 8;
const INVALIDATE: u8 = 10;
const GATHER: u8 = 11;
const ACKNOWLEDGE: u8 = 12;
const ARRIVE: u8 = 13;
const GO: u8 = 14;

fn bit(access: Access) -> u8 {
    if access == Access::Write { WRITE } else { READ }
}

impl Packet {
    pub(super) fn message(self) -> fabric::Message {
        let none = Line(0);
        let (operation, line, number, held) = match self {
            Packet::Memory(Message::Want(line, access)) => (WANT | bit(access), line, 0, None),
            Packet::Memory(Message::Grant(line, held)) => {
                (GRANT | bit(held.access), line, held.version, Some(held))
            }
            Packet::Memory(Message::Recall { line, keep, version }) => {
                (RECALL | u8::from(keep), line, version, None)
            }
            Packet::Memory(Message::Give { line, keeps, held }) => {
                (GIVE | u8::from(keeps), line, held.version, Some(held))
            }
            Packet::Invalidate(line, version) => (INVALIDATE, line, version, None),
            Packet::Gather { line, level, home } => (GATHER, line, level << 24 | home, None),
            Packet::Acknowledge { line, level } => (ACKNOWLEDGE, line, level, None),
            Packet::Arrive => (ARRIVE, none, 0, None),
            Packet::Go => (GO, none, 0, None),
        };
        let word = u64::from(operation) | u64::from(line.0) << 8 | u64::from(number) << 32;
        let mut message = fabric::Message::new(Priority::Low, &[word]);
        message.payload = held.map(|held| held.bytes.to_vec()).unwrap_or_default();
        message
    }

    /// What came; `None` if no cluster sends it.
    pub(super) fn of(message: &fabric::Message) -> Option<Packet> {
        let &[word] = message.words() else { return None };
        let (operation, line, number) =
            (word as u8, Line((word >> 8) as u32 & 0xff_ffff), (word >> 32) as u32);
        let access = if operation & 1 == WRITE { Access::Write } else { Access::Read };
        let flag = operation & 1 != 0;
        let held = || {
            let bytes = message.payload.as_slice().try_into().ok()?;
            Some(Held { bytes, access, version: number })
        };
        Some(match operation {
            GATHER => Packet::Gather { line, level: number >> 24, home: number & 0xff_ffff },
            INVALIDATE => Packet::Invalidate(line, number),
            ACKNOWLEDGE => Packet::Acknowledge { line, level: number },
            ARRIVE => Packet::Arrive,
            GO => Packet::Go,
            _ => Packet::Memory(match operation & !1 {
                WANT => Message::Want(line, access),
                GRANT => Message::Grant(line, held()?),
                RECALL => Message::Recall { line, keep: flag, version: number },
                // A line that is given is not to be written any more.
                GIVE => Message::Give { line, keeps: flag, held: Held { access: Access::Read, ..held()? } },
                _ => return None,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_survive() {
        let held = |access| Held { bytes: [7; 32], access, version: 9 };
        let line = Line(0xff_fffe);
        for packet in [
            Packet::Memory(Message::Want(line, Access::Write)),
            Packet::Memory(Message::Grant(line, held(Access::Read))),
            Packet::Memory(Message::Grant(line, held(Access::Write))),
            Packet::Memory(Message::Recall { line, keep: true, version: 3 }),
            Packet::Memory(Message::Give { line, keeps: true, held: held(Access::Read) }),
            Packet::Memory(Message::Give { line, keeps: false, held: held(Access::Read) }),
            Packet::Invalidate(line, 4),
            Packet::Gather { line, level: 5, home: 65_535 },
            Packet::Acknowledge { line, level: 5 },
            Packet::Arrive,
            Packet::Go,
        ] {
            assert_eq!(Packet::of(&packet.clone().message()), Some(packet));
        }
        assert_eq!(Packet::of(&fabric::Message::new(Priority::Low, &[99])), None);
        assert_eq!(Packet::of(&fabric::Message::new(Priority::Low, &[])), None);
    }
}
