//! Messages survive the way through words, and words that no node sends are errors.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use distribution::{
    Distance, Distances, Item, Items, Malformed, Message, Name, Packed, Reader, Reference, StructureId,
    Token, Tokens,
};
use fabric::NodeId;

const NODES: u32 = 9;

fn node(u: &mut Unstructured<'_>) -> Result<NodeId> {
    Ok(NodeId(u.int_in_range(0..=NODES - 1)?))
}

fn reader(u: &mut Unstructured<'_>) -> Result<Reader> {
    Ok(Reader { node: node(u)?, import: u.arbitrary()?, serial: u.arbitrary()? })
}

fn reference(u: &mut Unstructured<'_>) -> Result<Reference> {
    let home = node(u)?;
    let (root, depth) = if u.arbitrary()? { (home, 1) } else { (node(u)?, u.int_in_range(2..=u32::MAX)?) };
    let log2 = if u.arbitrary()? { Some(u.int_in_range(0..=62)?) } else { None };
    let serial = u.int_in_range(0..=(1 << 40) - 1)?;
    let identity = if u.arbitrary()? { Some(StructureId { node: node(u)?, serial }) } else { None };
    Ok(Reference { home, entry: u.arbitrary()?, log2, black: u.arbitrary()?, root, depth, identity })
}

fn name<'a>(u: &mut Unstructured<'_>, words: &'a mut Vec<u64>) -> Result<Name<'a>> {
    Ok(if u.arbitrary()? {
        Name::Number(u.arbitrary()?)
    } else {
        let length = u.int_in_range(0..=20)?;
        Name::Text(Packed::new(u.bytes(length)?, words))
    })
}

/// Appends this number of random terms.
fn terms(u: &mut Unstructured<'_>, mut missing: usize, words: &mut Vec<u64>) -> Result<()> {
    let mut scratch = Vec::new();
    while missing > 0 {
        let arity = if missing < 20 { u.int_in_range(1..=4)? } else { 1 };
        let token = match u.int_in_range(0..=10)? {
            1 => Token::Atom(name(u, &mut scratch)?),
            2 => Token::List(arity),
            3 => Token::Struct(name(u, &mut scratch)?, arity),
            4 => Token::Vector(arity - 1),
            5 => Token::Reference(reference(u)?),
            6 => {
                let length = u.int_in_range(0..=40)?;
                Token::Bytes(Packed::new(u.bytes(length)?, &mut scratch))
            }
            7 => Token::Float(u.arbitrary()?),
            8 => {
                scratch.clear();
                for _ in 1..arity {
                    scratch.push(u.arbitrary()?);
                }
                scratch.push(u.int_in_range((1 << 60) + 1..=u64::MAX)?);
                Token::Big(u.arbitrary()?, &scratch)
            }
            9 => Token::Predicate(u.arbitrary()?),
            10 => Token::Module(name(u, &mut scratch)?),
            _ => Token::Int(u.arbitrary::<i64>()? >> 3),
        };
        token.write(words);
        missing = missing - 1 + token.parts();
    }
    Ok(())
}

/// The words of a random message, as `Message::write` puts them together.
fn message(u: &mut Unstructured<'_>) -> Result<Vec<u64>> {
    let (mut words, mut tail) = (Vec::new(), Vec::new());
    let (entry, import, weight) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
    let kind = u.int_in_range(0..=8)?;
    let count = match kind {
        0 => u.int_in_range(0..=5)?,
        2 | 4 => 1,
        _ => 0,
    };
    terms(u, count, &mut tail)?;
    if kind == 5 {
        for _ in 0..u.int_in_range(0..=4)? {
            let cancel = if u.arbitrary()? { Some(reader(u)?) } else { None };
            Items::push(&mut tail, &Item { entry: u.arbitrary()?, weight: u.arbitrary()?, cancel });
        }
    }
    if kind == 8 {
        for _ in 0..u.int_in_range(0..=4)? {
            let (entry, import, weight) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
            Distances::push(&mut tail, &Distance { entry, import, weight, distance: u.int_in_range(1..=8)? });
        }
    }
    let tokens =
        if matches!(kind, 5 | 8) { None } else { Some(Tokens::new(&tail, count, NODES).expect("terms")) };
    let reader = reader(u)?;
    let message = match (kind, tokens) {
        (0, Some(arguments)) => {
            let (priority, gift) = (u.arbitrary()?, u.arbitrary()?);
            Message::Throw { priority, predicate: import, arity: count as u8, gift, arguments }
        }
        (1, _) => {
            let (depth, hops, peek) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
            Message::Read { entry, reader, depth, hops, peek }
        }
        (2, Some(value)) => Message::Answer { reader, value },
        (3, _) => Message::Unbound { reader },
        (4, Some(value)) => Message::Unify { entry, weight, value },
        (5, _) => Message::Release { items: Items::new(&tail, NODES).expect("items") },
        (6, _) => Message::WantWeight { entry, import },
        (8, _) => Message::Distances { items: Distances::new(&tail).expect("items") },
        _ => Message::Grant { entry, import, log2: u.int_in_range(0..=62)? },
    };
    message.write(&mut words);
    assert_eq!(Message::read(&words, NODES).expect("a message"), message);
    Ok(words)
}

#[test]
fn messages_survive_the_way_through_words() {
    arbtest(|u| message(u).map(|_| ())).budget_ms(2_000);
}

/// Whatever the words: an error, or a message that writes just these words, and needs no more of a heap than they
/// justify.
fn total(words: &[u64]) {
    let Ok(message) = Message::read(words, NODES) else { return };
    let mut again = Vec::new();
    message.write(&mut again);
    assert_eq!(again, words);
    let (tokens, mut count) = match message {
        Message::Throw { arguments, arity, .. } => (arguments, arity.into()),
        Message::Answer { value, .. } | Message::Unify { value, .. } => (value, 1),
        Message::Release { items } => {
            let mut again = Vec::new();
            items.for_each(|item| Items::push(&mut again, &item));
            return assert_eq!(again, words[1..]);
        }
        Message::Distances { items } => {
            let mut again = Vec::new();
            items.for_each(|item| Distances::push(&mut again, &item));
            return assert_eq!(again, words[1..]);
        }
        _ => return,
    };
    assert!(tokens.room() <= 9 * words.len() + 8, "{} words for {}", tokens.room(), words.len());
    for token in tokens {
        count = count - 1 + token.parts();
    }
    assert_eq!(count, 0usize);
}

#[test]
fn words_that_no_node_sends_are_errors() {
    arbtest(|u| {
        let mut words = message(u)?;
        for _ in 0..u.int_in_range(1..=4)? {
            let at = u.int_in_range(0..=words.len() - 1)?;
            match u.int_in_range(0..=3)? {
                0 => words[at] ^= 1 << u.int_in_range(0..=63)?,
                1 => words[at] = u.arbitrary()?,
                2 => words.truncate(at.max(1)),
                _ => words.insert(at, u.arbitrary()?),
            }
        }
        total(&words);
        Ok(())
    })
    .budget_ms(3_000);
    arbtest(|u| {
        total(&u.arbitrary::<Vec<u64>>()?);
        Ok(())
    })
    .budget_ms(1_000);
}

#[test]
fn errors_say_what_is_wrong() {
    let read = |words: &[u64]| Message::read(words, NODES).expect_err("an error");
    assert_eq!(read(&[]), Malformed("an empty message"));
    assert_eq!(read(&[9]), Malformed("an unknown kind or length of message"));
    // An answer that claims four billion conses, and one whose integer is not big.
    assert_eq!(read(&[2, 0, u64::from(u32::MAX) << 3 | 2, 0, 0]), Malformed("a term without its parts"));
    assert_eq!(read(&[2, 0, 6 | 2 << 3 | 2 << 8, 5]), Malformed("a big integer that is small"));
    assert_eq!(read(&[2, 0, 6 | 3 << 8, 1 << 24]), Malformed("bytes behind the last"));
    assert_eq!(read(&[1, u64::from(NODES), 0]), Malformed("an unknown node"));
    assert_eq!(read(&[2, 0, 4 | u64::from(NODES) << 12]), Malformed("a reference to an unknown node"));
}

#[test]
fn the_commonest_messages_are_short() {
    let direct = Reference {
        home: NodeId(1),
        entry: 7,
        log2: Some(56),
        black: true,
        root: NodeId(1),
        depth: 1,
        identity: None,
    };
    let mut words = Vec::new();
    for token in [Token::Atom(Name::Number(9)), Token::Reference(direct), Token::Reference(direct)] {
        token.write(&mut words);
    }
    let arguments = Tokens::new(&words, 3, NODES).expect("terms");
    let mut throw = Vec::new();
    Message::Throw { priority: 0, predicate: 3, arity: 3, gift: false, arguments }.write(&mut throw);
    assert_eq!(throw.len(), 5);
    let mut words = Vec::new();
    for token in [Token::List(1), Token::Atom(Name::Number(9)), Token::Reference(direct)] {
        token.write(&mut words);
    }
    let value = Tokens::new(&words, 1, NODES).expect("a term");
    let mut answer = Vec::new();
    Message::Answer { reader: Reader { node: NodeId(0), import: 1, serial: 2 }, value }.write(&mut answer);
    assert_eq!(answer.len(), 5);
}
