//! Messages as bytes, many in a packet.
//!
//! A packet is a header of eight bytes and then, if it is of a priority, records. Everything is little-endian;
//! records begin at multiples of eight bytes.
//!
//! | bytes of the header | |
//! |---|---|
//! | 0 | the format, [`FORMAT`] |
//! | 1 | what it is: messages of low priority, of high priority, nothing, or the last packet of a run |
//! | 2, 4 (two each) | credits that it gives back, for packets of low and high priority |
//! | 6 | the run, modulo 256 |
//! | 7 | 0 |
//!
//! A record is a word, then the message's words, then its payload, filled up with zeros to eight bytes. The word says
//! how many words (bits 0 to 7), where the payload is (bits 8 to 15: nowhere, here, or it follows outside of packets),
//! and how many bytes it has (16 to 63). A payload that is here goes on behind the header of the next packet of the
//! same priority if this one has no room for all of it; everything before it is in one packet.
//!
//! Decoding is total: whatever the bytes, it gives messages or [`Malformed`], and takes no more memory than there are
//! bytes, or [`INLINE_BYTES_MAX`].

use crate::{Message, Priority, WORDS_MAX};

const FORMAT: u8 = 1;
/// Of a packet's header.
pub(crate) const HEADER_BYTES: usize = 8;
/// Longer payloads travel outside packets. A page of memory with what is said of it is shorter: to announce it, to look
/// for it and to receive it takes longer than to copy it into two packets.
pub(crate) const INLINE_BYTES_MAX: usize = 8192;
/// Of the words of a longest message. Writing needs this much room behind what it writes.
pub(crate) const WORDS_BYTES: usize = 8 * WORDS_MAX;
const LENGTH_BITS: u32 = 48;

const NOWHERE: u64 = 0;
const HERE: u64 = 1;
const FOLLOWS: u64 = 2;

/// Bytes that no fabric has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Messages(Priority),
    /// Only its header says something.
    Bare,
    /// There are no more of this run.
    Last,
}

/// A packet's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// By priority.
    pub(crate) credits: [u16; 2],
    pub(crate) run: u8,
}

impl Header {
    /// Writes it over the first bytes of a packet.
    pub(crate) fn write(&self, packet: &mut [u8]) {
        let kind = match self.kind {
            Kind::Messages(priority) => priority as u8,
            Kind::Bare => 2,
            Kind::Last => 3,
        };
        let [low, high] = self.credits.map(u16::to_le_bytes);
        packet[..HEADER_BYTES]
            .copy_from_slice(&[FORMAT, kind, low[0], low[1], high[0], high[1], self.run, 0]);
    }

    pub(crate) fn read(packet: &[u8]) -> Result<Header, Malformed> {
        let Some(&[FORMAT, kind, l0, l1, h0, h1, run, 0]) = packet.first_chunk::<HEADER_BYTES>() else {
            return Err(Malformed);
        };
        let kind = match kind {
            0 => Kind::Messages(Priority::Low),
            1 => Kind::Messages(Priority::High),
            2 => Kind::Bare,
            3 => Kind::Last,
            _ => return Err(Malformed),
        };
        if !matches!(kind, Kind::Messages(_)) && packet.len() > HEADER_BYTES {
            return Err(Malformed);
        }
        Ok(Header { kind, credits: [u16::from_le_bytes([l0, l1]), u16::from_le_bytes([h0, h1])], run })
    }
}

/// How many bytes of a message must be in one packet: its words.
#[inline]
pub(crate) fn head_bytes(message: &Message) -> usize {
    8 * (1 + message.words().len())
}

/// Whether a message's payload travels outside of packets.
#[inline]
pub(crate) fn follows(message: &Message) -> bool {
    message.payload.len() > INLINE_BYTES_MAX
}

/// What of its payload travels in packets.
#[inline]
pub(crate) fn inside(message: &Message) -> &[u8] {
    if follows(message) { &[] } else { &message.payload }
}

/// Appends all of a message but its payload to a packet.
#[inline]
pub(crate) fn write_head(packet: &mut Vec<u8>, message: &Message) {
    let bytes = message.payload.len() as u64;
    assert!(bytes >> LENGTH_BITS == 0, "no memory is that large");
    let place = match bytes {
        0 => NOWHERE,
        _ if follows(message) => FOLLOWS,
        _ => HERE,
    };
    let word = message.words().len() as u64 | (place << 8) | (bytes << 16);
    // All words at once, for that is a few instructions, and then off with those that are none.
    let mut words = [0; WORDS_BYTES];
    for (place, word) in words.as_chunks_mut::<8>().0.iter_mut().zip(message.array()) {
        *place = word.to_le_bytes();
    }
    packet.extend_from_slice(&word.to_le_bytes());
    let end = packet.len() + 8 * message.words().len();
    packet.extend_from_slice(&words);
    packet.truncate(end);
}

/// Appends the part of what is inside that a packet of `limit` bytes (a multiple of eight) has room for; answers the
/// rest.
#[inline]
pub(crate) fn write_inside<'a>(packet: &mut Vec<u8>, inside: &'a [u8], limit: usize) -> &'a [u8] {
    let (part, rest) = inside.split_at(inside.len().min(limit - packet.len()));
    packet.extend_from_slice(part);
    packet.resize(packet.len().next_multiple_of(8), 0);
    rest
}

/// The record at `position` if it is a message without payload and not near the end of the packet: the usual case, in
/// which nothing can be wrong with it. What is read goes straight to where it is wanted.
#[inline(always)]
pub(crate) fn read_plain(packet: &[u8], position: &mut usize, priority: Priority) -> Option<Message> {
    let (record, _) = packet.get(*position..)?.split_first_chunk::<{ 8 + WORDS_BYTES + 1 }>()?;
    let word_at = |i: usize| u64::from_le_bytes(std::array::from_fn(|byte| record[8 * i + byte]));
    let count = word_at(0);
    if count > WORDS_MAX as u64 {
        return None;
    }
    *position += 8 * (1 + count as usize);
    Some(Message::of_array(priority, count as usize, std::array::from_fn(|i| word_at(1 + i))))
}

/// Where the rest of a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// There is none.
    Nowhere,
    /// This number of bytes of payload is in the next packets: see [`read_on`].
    NextPacket(usize),
    /// A payload of this number of bytes travels outside of packets.
    Outside(u64),
}

/// A message, as far as it has been read.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) message: Message,
    pub(crate) rest: Rest,
}

/// The record at `position` of a packet, which moves behind it.
#[inline]
pub(crate) fn read(packet: &[u8], position: &mut usize, priority: Priority) -> Result<Record, Malformed> {
    let behind = packet.get(*position..).ok_or(Malformed)?;
    let (head, behind) = behind.split_first_chunk::<8>().ok_or(Malformed)?;
    let word = u64::from_le_bytes(*head);
    let (count, place, bytes) = ((word & 0xff) as usize, (word >> 8) & 0xff, word >> 16);
    if count > WORDS_MAX || behind.len() < 8 * count {
        return Err(Malformed);
    }
    let word_at =
        |words: &[u8], i: usize| u64::from_le_bytes(words[8 * i..8 * i + 8].try_into().expect("eight bytes"));
    // All words of a longest message at once, if the bytes are there: what is moved word by word cannot soon be moved
    // as a whole.
    let mut message = match behind.first_chunk::<WORDS_BYTES>() {
        Some(words) => Message::of_array(priority, count, std::array::from_fn(|i| word_at(words, i))),
        None => Message::with(priority, count, |i| word_at(behind, i)),
    };
    *position += 8 * (1 + count);
    let long = bytes > INLINE_BYTES_MAX as u64;
    match place {
        NOWHERE if bytes == 0 => Ok(Record { message, rest: Rest::Nowhere }),
        HERE if bytes > 0 && !long => {
            message.payload.reserve_exact(bytes as usize);
            read_on(packet, position, message, bytes as usize)
        }
        FOLLOWS if long => Ok(Record { message, rest: Rest::Outside(bytes) }),
        _ => Err(Malformed),
    }
}

/// More of a message's payload, of which `missing` bytes are missing, at `position` of a packet, which moves behind
/// it.
pub(crate) fn read_on(
    packet: &[u8],
    position: &mut usize,
    mut message: Message,
    missing: usize,
) -> Result<Record, Malformed> {
    let behind = packet.get(*position..).ok_or(Malformed)?;
    if behind.len() < missing {
        message.payload.extend_from_slice(behind);
        *position = packet.len();
        return Ok(Record { message, rest: Rest::NextPacket(missing - behind.len()) });
    }
    let padded = missing.next_multiple_of(8);
    let (part, padding) = behind.get(..padded).ok_or(Malformed)?.split_at(missing);
    if padding.iter().any(|&byte| byte != 0) {
        return Err(Malformed);
    }
    message.payload.extend_from_slice(part);
    *position += padded;
    Ok(Record { message, rest: Rest::Nowhere })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arbtest::arbtest;

    fn message(priority: Priority, words: &[u64], bytes: usize) -> Message {
        let mut message = Message::new(priority, words);
        message.payload = (0..bytes).map(|byte| byte as u8 | 1).collect();
        message
    }

    /// A whole message in one packet, however long that becomes.
    fn write(packet: &mut Vec<u8>, message: &Message) {
        write_head(packet, message);
        assert!(write_inside(packet, inside(message), usize::MAX - 7).is_empty());
    }

    #[test]
    fn what_is_written_is_read() {
        let messages: Vec<Message> = [0, 1, 7, 8, 9, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1]
            .iter()
            .enumerate()
            .map(|(i, &bytes)| message(Priority::High, &[u64::MAX, 0, 2, 3, 4, 5, 6, 7][..i], bytes))
            .collect();
        let header = Header { kind: Kind::Messages(Priority::High), credits: [3, 70_00], run: 255 };
        let mut packet = vec![0; HEADER_BYTES];
        header.write(&mut packet);
        for message in &messages {
            let before = packet.len();
            write(&mut packet, message);
            let bytes = head_bytes(message) + inside(message).len().next_multiple_of(8);
            assert_eq!(packet.len() - before, bytes);
        }
        assert_eq!(Header::read(&packet), Ok(header));
        let mut position = HEADER_BYTES;
        for mut message in messages {
            let record = read(&packet, &mut position, Priority::High).expect("it has been written so");
            if follows(&message) {
                assert_eq!(record.rest, Rest::Outside(message.payload.len() as u64));
                message.payload.clear();
            }
            assert_eq!(record.message, message);
        }
        assert_eq!(position, packet.len());
        assert_eq!(read(&packet, &mut position, Priority::High), Err(Malformed));
    }

    #[test]
    fn a_payload_goes_on_in_the_next_packets() {
        let message = message(Priority::Low, &[1, 2], 83);
        // Room for the words only, for all, and for anything between.
        for limit in (HEADER_BYTES + 24..=HEADER_BYTES + 24 + 88).step_by(8) {
            let mut packets = vec![vec![0; HEADER_BYTES]];
            write_head(&mut packets[0], &message);
            let mut rest = write_inside(&mut packets[0], inside(&message), limit);
            while !rest.is_empty() {
                let mut packet = vec![0; HEADER_BYTES];
                rest = write_inside(&mut packet, rest, limit);
                packets.push(packet);
            }
            let bytes: usize = packets.iter().map(|packet| packet.len() - HEADER_BYTES).sum();
            assert_eq!(bytes, 24 + 88, "nothing is filled up but the end");
            let mut record = None;
            for packet in &packets {
                let mut position = HEADER_BYTES;
                let now = match record {
                    None => read(packet, &mut position, Priority::Low),
                    Some(Record { message, rest: Rest::NextPacket(missing) }) => {
                        read_on(packet, &mut position, message, missing)
                    }
                    Some(_) => panic!("it ended before its packets"),
                };
                assert_eq!(position, packet.len());
                record = Some(now.expect("it has been written so"));
            }
            assert_eq!(record, Some(Record { message: message.clone(), rest: Rest::Nowhere }));
        }
    }

    #[test]
    fn lies_are_refused() {
        let record = |word: u64, rest: usize| {
            let mut bytes = word.to_le_bytes().to_vec();
            bytes.resize(8 + rest, 0);
            read(&bytes, &mut 0, Priority::Low)
        };
        assert!(record(2, 16).is_ok());
        for (word, rest, what) in [
            (2, 15, "fewer words than it says"),
            (9, 80, "more words than a message has"),
            (HERE << 8 | 9 << 16, 9, "bytes that are not filled up to eight"),
            (HERE << 8 | 9000 << 16, 9000, "a long payload inside"),
            (FOLLOWS << 8 | 5 << 16, 0, "a short payload outside"),
            (NOWHERE << 8 | 5 << 16, 8, "a payload that is nowhere"),
            (HERE << 8, 8, "no payload, inside"),
            (3 << 8, 8, "a payload at an unknown place"),
            (u64::MAX, 80, "everything"),
        ] {
            assert_eq!(record(word, rest), Err(Malformed), "{what}");
        }
        let part = |missing, bytes: &[u8]| read_on(bytes, &mut 0, message(Priority::Low, &[], 0), missing);
        assert!(part(3, &[1, 2, 3, 0, 0, 0, 0, 0]).is_ok());
        for (missing, bytes) in [(3, &[1, 2, 3, 4, 0, 0, 0, 0][..]), (3, &[1, 2, 3, 0])] {
            assert_eq!(part(missing, bytes), Err(Malformed), "{missing} bytes: {bytes:?}");
        }
        for header in [
            &[1, 0, 0, 0, 0, 0, 0][..],
            &[2, 0, 0, 0, 0, 0, 0, 0],
            &[1, 4, 0, 0, 0, 0, 0, 0],
            &[1, 3, 0, 0, 0, 0, 0, 0, 9],
        ] {
            assert_eq!(Header::read(header), Err(Malformed), "{header:?}");
        }
    }

    /// Any bytes give messages or an error; what could be read is written as it was.
    #[test]
    fn reading_is_total() {
        arbtest(|u| {
            // Near the truth more often than by chance: some real records, then some bytes changed.
            let mut packet = Vec::new();
            for _ in 0..u.int_in_range(0..=3)? {
                let words = vec![u.arbitrary()?; u.int_in_range(0..=WORDS_MAX)?];
                write(&mut packet, &message(Priority::Low, &words, u.int_in_range(0..=30)?));
            }
            for _ in 0..u.int_in_range(0..=4)? {
                if !packet.is_empty() {
                    let place = u.choose_index(packet.len())?;
                    packet[place] = u.arbitrary()?;
                }
            }
            packet.extend_from_slice(&u.arbitrary::<Vec<u8>>()?);
            let _ = Header::read(&packet);
            let (mut position, mut again) = (0, Vec::new());
            loop {
                let mut plain_end = position;
                let plain = read_plain(&packet, &mut plain_end, Priority::Low);
                let Ok(mut record) = read(&packet, &mut position, Priority::Low) else {
                    assert_eq!(plain, None);
                    break;
                };
                if let Some(plain) = plain {
                    assert_eq!((plain, plain_end), (record.message.clone(), position));
                    assert_eq!(record.rest, Rest::Nowhere);
                    assert!(position < packet.len(), "whoever reads the last record must know it");
                }
                assert!(position <= packet.len() && record.message.payload.len() <= INLINE_BYTES_MAX);
                match record.rest {
                    Rest::Nowhere => {}
                    Rest::NextPacket(_) => {
                        assert_eq!(position, packet.len());
                        return Ok(());
                    }
                    Rest::Outside(bytes) if bytes > 1 << 16 => return Ok(()),
                    Rest::Outside(bytes) => record.message.payload = vec![0; bytes as usize],
                }
                write(&mut again, &record.message);
                assert_eq!(again, packet[..position]);
            }
            Ok(())
        })
        .budget_ms(1_000);
    }
}
