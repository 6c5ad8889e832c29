//! Figure 4: what it takes to send and to receive three kinds of messages.
//!
//! The operations are those of the protocol, on the heaps of two nodes of this process. Messages are made of words and
//! read again; what carries them is left out. The host runs them one instruction after another ([`Host::count`]).

use super::{CASES, SOURCE};
use crate::report::{Cell, Report, Table};
use crate::{Config, Error, Experiment, Host};
use distribution::{Goal, Heap, How, ImportId, Message, Options, Post, Protocol, Reader, With};
use fabric::NodeId;
use runtime::node::{Node, Term, Terms};
use std::sync::Arc;
use term::Atom;
use term::abi::PredicateId;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "multipsi/fig4",
    title: "Multi-PSI: to send and to receive a message",
    source: SOURCE,
    about: "What a processor does for three kinds of messages, published in microseconds of the Multi-PSI and counted \
        in instructions here: a read, an answer with a cons of an atom and a reference, a goal with an atom and two \
        references. References are white, or black: found again if the same term is sent or comes again.",
    times_host: false,
    run,
};

/// The operations and the published microseconds, in the order in which they are counted.
const OPERATIONS: [(&str, f64); 6] = [
    ("throw_goal, send", 85.0),
    ("throw_goal, receive", 130.0),
    ("read, send", 25.0),
    ("read, receive", 35.0),
    ("answer_value, send", 42.0),
    ("answer_value, receive", 80.0),
];
/// Each operation is counted this number of times with either colour; the count in the middle is reported.
const TIMES: usize = 11;

fn run(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
    host.progress(1, 1, "instructions of six operations");
    let counts = host.count(experiment.name).map_err(Error)?;
    let Some((marks, counts)) =
        counts.split_first().filter(|(_, rest)| rest.len() == 2 * TIMES * OPERATIONS.len())
    else {
        return Err(Error(format!("{} operations were counted", counts.len())));
    };
    let (white, black) = counts.split_at(TIMES * OPERATIONS.len());
    let instructions = |counts: &[u64], operation: usize| {
        let mut all: Vec<u64> = counts.iter().skip(operation).step_by(OPERATIONS.len()).copied().collect();
        all.sort_unstable();
        all[TIMES / 2] as f64 - *marks as f64
    };
    let all = |counts: &[u64]| -> Vec<f64> {
        let mut all: Vec<f64> =
            (0..OPERATIONS.len()).map(|operation| instructions(counts, operation)).collect();
        // What receives a read answers it, too; the answer alone is counted next.
        all[3] -= all[4];
        all
    };
    let (white, black) = (all(white), all(black));
    let published_sum: f64 = OPERATIONS.iter().map(|(_, micros)| micros).sum();
    let sum: f64 = white.iter().sum();
    let rows = OPERATIONS.iter().zip(white.iter().zip(&black)).map(|((name, micros), (&white, &black))| {
        vec![
            Cell::Text((*name).into()),
            Cell::Input(*micros, 0),
            Cell::Published(*micros, 0),
            Cell::Derived(100.0 * micros / published_sum, 1),
            Cell::Measured(white, 0),
            Cell::ratio(100.0 * white, sum, 1),
            Cell::Measured(black, 0),
            Cell::Measured(black - white, 0),
        ]
    });
    let table = Table::new("operations", "To send and to receive", NOTE, HEADS, rows.collect());
    let notes = vec![
        "Published: a black reference takes 2 to 5.6 us more than a white one. On the simulated machine the \
                      published times are inputs; nothing here changes them."
            .into(),
    ];
    let counted_on =
        "Counted on this host, one instruction after another: nothing else that runs changes it.".into();
    Ok(Report {
        notes,
        tables: vec![table, in_reductions(), in_bytes()?],
        ..Report::of(experiment, counted_on)
    })
}

const HEADS: &[&str] = &[
    "operation",
    "us of the simulated machine",
    "us, published",
    "% of all us",
    "instructions",
    "% of all",
    "black",
    "black - white",
];
const NOTE: &str = "Instructions with white references, and with black ones. A read is received and answered in one \
    step here: its share is that step less an answer of its own. A network's part is left out.";

/// How many reductions a message is, by the printed times.
fn in_reductions() -> Table {
    let micros = || OPERATIONS.iter().map(|(_, micros)| *micros);
    let least = micros().fold(f64::INFINITY, f64::min);
    let most = micros().fold(0.0, f64::max);
    // Of what is sent most often: a goal is not.
    let frequent = OPERATIONS[2..].iter().map(|(_, micros)| *micros).fold(0.0, f64::max);
    let row = |what, divisor: f64, micros: f64, published| {
        vec![Cell::text(what), Cell::Published(divisor, 2), Cell::Derived(micros / divisor, 1), published]
    };
    let (machine, processor) = (CASES[0].published.micros_a_reduction, f64::from(CASES[0].reduction) / 1e3);
    let own = |what, micros: f64| {
        vec![Cell::text(what), Cell::Fitted(processor, 2), Cell::Derived(micros / processor, 1), Cell::Absent]
    };
    let rows = vec![
        row("least, of the whole machine", machine, least, Cell::Published(10.0, 0)),
        row("most of reads and answers, of the whole machine", machine, frequent, Cell::Published(40.0, 0)),
        row("most, of the whole machine", machine, most, Cell::Absent),
        own("least, of one processor", least),
        own("most, of one processor", most),
    ];
    let note = "The paper says that a message costs 10 to 40 reductions. That is its times over the time in which all 16 \
        processors together make a reduction of Pentomino. Over what a reduction takes one processor, it is 1 to 6.";
    let heads = ["a message in reductions", "us a reduction", "reductions", "published"];
    Table::new("reductions", "How many reductions a message costs", note, &heads, rows)
}

/// Bytes of a word of a message on the simulated network.
const WORD_BYTES: u64 = 4;

/// How long the messages are.
fn in_bytes() -> Result<Table, Error> {
    let printed = [("throw_goal", 65.0), ("read", 14.0), ("answer_value", 24.0)];
    let row = |((name, published), words): ((&str, f64), usize)| {
        let bytes = Cell::count((words as u64 + 1) * WORD_BYTES);
        vec![Cell::text(name), Cell::count(words as u64), bytes, Cell::Published(published, 0)]
    };
    let rows = printed.into_iter().zip(Pair::new(false)?.words()?).map(row).collect();
    let note = "As the simulated machine sends them, with white references: 4 bytes a word, and a word for the kind, sender \
        and receiver. The paper's bytes of a goal are those that are moved to the Read Packet Buffer; how its messages \
        are laid out is not printed.";
    Ok(Table::new("bytes", "How long a message is", note, &["message", "words", "bytes", "published"], rows))
}

/// Runs the operations, each between two marks; the first two marks have nothing between them.
pub(crate) fn operations(mark: &mut dyn FnMut()) -> Result<(), Error> {
    mark();
    mark();
    for black in [false, true] {
        let mut pair = Pair::new(black)?;
        // The first time makes tables larger.
        (0..TIMES).try_for_each(|_| pair.exchange(mark))?;
    }
    Ok(())
}

/// Two nodes with their heaps. Node 1 has references to terms of node 0.
struct Pair {
    nodes: [Node; 2],
    protocols: [Protocol; 2],
    mail: Mail,
    /// What a node receives; empty between.
    arrived: Mail,
    predicate: PredicateId,
    atom: Atom,
    black: bool,
}

/// Keeps the words of messages that are under way, and where each ends. As where messages are really sent, no memory is
/// asked for once there is enough.
#[derive(Default)]
struct Mail {
    words: Vec<u64>,
    ends: Vec<usize>,
}

impl Post for Mail {
    fn post(&mut self, _: NodeId, message: Message<'_>) {
        message.write(&mut self.words);
        self.ends.push(self.words.len());
    }
}

impl Mail {
    fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }
}

type Works<'a, 'b, 't> = With<'a, Heap<'b, 't>, Mail>;

/// A cons of an atom and a variable.
fn cons<'t>(terms: &mut Terms<'t>, atom: Atom) -> Term<'t> {
    let rest = terms.new_variable();
    terms.cons(Term::atom(atom), rest)
}

impl Pair {
    fn new(black: bool) -> Result<Pair, Error> {
        let atoms = Arc::default();
        let node = |node| {
            let options =
                runtime::worker::Options { node, nodes: 2, share: 2, ..runtime::worker::Options::alone(1) };
            let node = Node::new(options, Arc::clone(&atoms), runtime::builtins::natives());
            node.map_err(|refused| Error(refused.to_string()))
        };
        let mut nodes = [node(0)?, node(1)?];
        let protocols = [0, 1]
            .map(|node| Protocol::new(Options { identities: false, black, ..Options::new(NodeId(node), 2) }));
        for node in &mut nodes {
            node.terms().ensure(100_000).map_err(|_| Error("no room".into()))?;
        }
        let terms = nodes[0].terms();
        let atom = terms.atoms().intern(b"atom");
        // The goals are never reduced: any predicate of three arguments that a program may call will do.
        let suits = |&predicate: &PredicateId| {
            terms.predicates().arity(predicate) == 3 && !terms.is_inner_predicate(predicate)
        };
        let predicate = (1..terms.predicates().len() as u32).map(PredicateId).find(suits);
        let predicate = predicate.ok_or_else(|| Error("no predicate has three arguments".into()))?;
        Ok(Pair { nodes, protocols, mail: Mail::default(), arrived: Mail::default(), predicate, atom, black })
    }

    /// What a node does, with its heap.
    fn at<T>(&mut self, node: usize, act: impl FnOnce(&mut Works<'_, '_, '_>) -> T) -> T {
        let (mut late, mut terms) = (Vec::new(), self.nodes[node].terms());
        let mut heap = Heap::new(&mut terms, u32::MAX, &mut late);
        act(&mut self.protocols[node].with(&mut heap, &mut self.mail))
    }
    /// A node receives what is under way.
    fn receive(&mut self, node: usize) -> Result<(), Error> {
        std::mem::swap(&mut self.mail, &mut self.arrived);
        let arrived = std::mem::take(&mut self.arrived);
        let from = NodeId(1 - node as u32);
        let received = self.at(node, |node| {
            let mut begin = 0;
            for &end in &arrived.ends {
                let words = &arrived.words[begin..end];
                let message = Message::read(words, 2).map_err(|malformed| Error(malformed.0.into()))?;
                node.receive(from, message).map_err(|fault| Error(fault.to_string()))?;
                begin = end;
            }
            Ok(())
        });
        self.arrived = arrived;
        self.arrived.clear();
        received
    }
    /// Node 0 sends a goal, between two marks; its arguments are made before.
    fn throw(
        &mut self,
        arguments: impl for<'t> FnOnce(&mut Terms<'t>) -> [Term<'t>; 3],
        mark: &mut dyn FnMut(),
    ) {
        let white = if self.black { 0 } else { u64::MAX };
        let Pair { predicate, .. } = *self;
        let (mut late, mut terms) = (Vec::new(), self.nodes[0].terms());
        let goal = Goal { priority: 0, predicate, args: arguments(&mut terms).into_iter().collect() };
        let how = How { values: 0, levels: 0, gift: false, white };
        mark();
        let mut heap = Heap::new(&mut terms, u32::MAX, &mut late);
        self.protocols[0].with(&mut heap, &mut self.mail).throw(NodeId(1), &goal, how);
        mark();
    }
    /// Node 0 answers, between two marks, with a cons that is made before.
    fn answer(&mut self, reader: Reader, mark: &mut dyn FnMut()) {
        let (mut late, mut terms) = (Vec::new(), self.nodes[0].terms());
        let other = cons(&mut terms, self.atom);
        mark();
        let mut heap = Heap::new(&mut terms, u32::MAX, &mut late);
        self.protocols[0].with(&mut heap, &mut self.mail).answer(other, reader, 2);
        mark();
    }
    /// Words of a goal, of a read and of an answer, as the operations have them.
    fn words(&mut self) -> Result<[usize; 3], Error> {
        let atom = self.atom;
        self.throw(|terms| [Term::atom(atom), terms.new_variable(), terms.new_variable()], &mut || ());
        let goal = self.only()?;
        self.receive(1)?;
        self.throw(|terms| [Term::atom(atom), cons(terms, atom), Term::atom(atom)], &mut || ());
        self.receive(1)?;
        let import = self.protocols[1].counters().imports_most as u32 - 1;
        self.at(1, |node| node.wanted(ImportId(import)));
        let read = self.only()?;
        self.receive(0)?;
        Ok([goal, read, self.only()?])
    }
    /// Words of the one message that is under way.
    fn only(&self) -> Result<usize, Error> {
        match self.mail.ends[..] {
            [end] => Ok(end),
            _ => Err(Error(format!("{} messages are under way, and should be one", self.mail.ends.len()))),
        }
    }

    /// Each operation once, in the order of [`OPERATIONS`].
    fn exchange(&mut self, mark: &mut dyn FnMut()) -> Result<(), Error> {
        let atom = self.atom;
        self.throw(|terms| [Term::atom(atom), terms.new_variable(), terms.new_variable()], mark);
        mark();
        self.receive(1)?;
        mark();
        // A reference to what can be read at once.
        self.throw(|terms| [Term::atom(atom), cons(terms, atom), Term::atom(atom)], &mut || ());
        self.receive(1)?;
        // Numbers that are free are used first, and there is at most one.
        let import = self.protocols[1].counters().imports_most as u32 - 1;
        mark();
        self.at(1, |node| node.wanted(ImportId(import)));
        mark();
        mark();
        self.receive(0)?;
        mark();
        let answer = std::mem::replace(&mut self.mail, std::mem::take(&mut self.arrived));
        self.answer(Reader { node: NodeId(1), import, serial: 0 }, mark);
        self.arrived = std::mem::replace(&mut self.mail, answer);
        self.arrived.clear();
        mark();
        self.receive(1)?;
        mark();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_between_pairs_of_marks() {
        let mut marks = 0;
        operations(&mut || marks += 1).expect("it works");
        assert_eq!(marks, 2 * (1 + 2 * TIMES * OPERATIONS.len()));
    }

    #[test]
    fn each_exchange_sends_what_it_says() {
        let mut pair = Pair::new(true).expect("it works");
        for _ in 0..3 {
            pair.exchange(&mut || ()).expect("it works");
        }
        let sent = |node: usize, kind: &str| {
            let kind = distribution::KINDS.iter().position(|known| *known == kind).expect("a kind");
            pair.protocols[node].counters().sent[kind]
        };
        // Of the two answers one is only counted.
        assert_eq!([sent(0, "throw_goal"), sent(0, "answer_value"), sent(1, "read")], [6, 6, 3]);
        // Two variables, two lists and their rests.
        assert_eq!(pair.protocols[0].counters().exports, 3 * 5);
    }
}
