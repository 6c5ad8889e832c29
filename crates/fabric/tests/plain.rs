//! A second simulator of networks, slow and plain, written from what the comments of `simulated`, its `topology` and
//! docs/laboratory.md say, and not from its code. Both are offered the same kinds of traffic from generators of their
//! own; mean latencies and what arrives agree within [`LATENCY`] and [`ACCEPTED`].
//!
//! What is left open there is decided here in the simplest way: an output takes inputs in turn, each time a flit.

use fabric::simulated::{self, Config, Pattern, Priorities, Routing, Source, Topology, Traffic};
use std::collections::VecDeque;

/// How far mean latencies may be apart: runs of some ten thousand packets differ by a third of it with their seeds.
const LATENCY: f64 = 0.03;
/// How far apart what arrives may be when more is offered than can: it depends on which packet waits, which is open.
/// By dimension it is a third of that.
const ACCEPTED: f64 = 0.1;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Ways {
    ByDimension,
    Adaptive,
    Valiant,
}

struct Packet {
    from: usize,
    to: usize,
    /// The node that it goes to first.
    between: Option<usize>,
    made: u64,
    flits: u32,
}

/// A flit in a buffer: of which packet, which one of it, from when on it may go.
struct Flit {
    packet: usize,
    number: u32,
    time: u64,
}

/// A link that a packet takes, and the class of virtual channel there. The link behind the last is the node itself.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Output {
    link: usize,
    class: usize,
}

/// Where a flit comes from: a link and a class; behind the last link, what the node sends.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Input {
    link: usize,
    class: usize,
}

struct Plain {
    sides: Vec<usize>,
    is_torus: bool,
    ways: Ways,
    /// Flits of a buffer.
    room: usize,
    packets: Vec<Packet>,
    /// By node, link and class: flits that came by this link.
    buffers: Vec<VecDeque<Flit>>,
    /// By node: packets that wait, and how many flits of the first have gone.
    queues: Vec<(VecDeque<usize>, u32)>,
    /// By node, input: what the packet takes whose flit is foremost.
    routes: Vec<Option<Output>>,
    /// By node, output: which input holds it.
    holders: Vec<Option<Input>>,
    /// By node, link: the input that went last.
    turns: Vec<usize>,
    random: u64,
}

impl Plain {
    fn new(sides: &[usize], is_torus: bool, ways: Ways, room: usize) -> Plain {
        let nodes: usize = sides.iter().product();
        let mut plain = Plain {
            sides: sides.to_vec(),
            is_torus,
            ways,
            room,
            packets: Vec::new(),
            buffers: Vec::new(),
            queues: (0..nodes).map(|_| Default::default()).collect(),
            routes: Vec::new(),
            holders: Vec::new(),
            turns: vec![0; nodes * (2 * sides.len() + 1)],
            random: 12_345,
        };
        let places = nodes * (plain.links() + 1) * plain.classes();
        plain.buffers.resize_with(places, VecDeque::new);
        plain.routes.resize(places, None);
        plain.holders.resize(places, None);
        plain
    }
    fn nodes(&self) -> usize {
        self.queues.len()
    }
    /// Links of a node; the number of the node itself among them.
    fn links(&self) -> usize {
        2 * self.sides.len()
    }
    /// Classes that a way by dimension needs.
    fn own_classes(&self) -> usize {
        if self.is_torus { 2 } else { 1 }
    }
    fn classes(&self) -> usize {
        match self.ways {
            Ways::ByDimension => self.own_classes(),
            Ways::Adaptive => self.own_classes() + 1,
            Ways::Valiant => 2 * self.own_classes(),
        }
    }
    fn at(&self, node: usize, link: usize, class: usize) -> usize {
        (node * (self.links() + 1) + link) * self.classes() + class
    }
    fn place(&self, node: usize, dimension: usize) -> usize {
        node / self.sides[..dimension].iter().product::<usize>() % self.sides[dimension]
    }
    /// The node at the other end of a link.
    fn neighbour(&self, node: usize, link: usize) -> usize {
        let (dimension, side) = (link / 2, self.sides[link / 2]);
        let stride: usize = self.sides[..dimension].iter().product();
        let here = self.place(node, dimension);
        let there = if link.is_multiple_of(2) { (here + 1) % side } else { (here + side - 1) % side };
        node - here * stride + there * stride
    }
    fn below(&mut self, limit: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    /// Links of a dimension that shorten the way: none, one, or both of a ring's. The first is the own one.
    fn shorter(&self, node: usize, to: usize, dimension: usize) -> Vec<usize> {
        let (here, there, side) =
            (self.place(node, dimension), self.place(to, dimension), self.sides[dimension]);
        let (up, down) = (2 * dimension, 2 * dimension + 1);
        if here == there {
            return vec![];
        }
        if !self.is_torus {
            return vec![if there > here { up } else { down }];
        }
        let ahead = (there + side - here) % side;
        match (2 * ahead).cmp(&side) {
            std::cmp::Ordering::Less => vec![up],
            std::cmp::Ordering::Greater => vec![down],
            // Half of the nodes go each way.
            std::cmp::Ordering::Equal if here.is_multiple_of(2) => vec![up, down],
            std::cmp::Ordering::Equal => vec![down, up],
        }
    }
    /// The first coordinate that is not right yet. A dimension begins in class 0, and goes on in class 1 from the link
    /// that closes its ring on.
    fn by_dimension(&self, node: usize, to: usize, came: Input) -> Output {
        for dimension in 0..self.sides.len() {
            let Some(&link) = self.shorter(node, to, dimension).first() else { continue };
            let here = self.place(node, dimension);
            let closes =
                self.is_torus && here == if link.is_multiple_of(2) { self.sides[dimension] - 1 } else { 0 };
            let goes_on = came.link / 2 == dimension && came.link < self.links();
            let class = if closes {
                1
            } else if goes_on {
                came.class
            } else {
                0
            };
            return Output { link, class };
        }
        Output { link: self.links(), class: 0 }
    }
    /// What a packet takes whose first flit came this way; for an adaptive one, as things are now.
    fn output(&self, node: usize, packet: usize, came: Input) -> Output {
        let Packet { from, to, between, .. } = self.packets[packet];
        match self.ways {
            Ways::ByDimension => self.by_dimension(node, to, came),
            Ways::Valiant => {
                let (own, between) = (self.own_classes(), between.expect("a node between"));
                // A packet that came in a class of the second part is on it; one that gets to the node begins it.
                let is_second = came.link < self.links() && came.class >= own;
                if !is_second && node != between && !(from == between && came.link == self.links()) {
                    return self.by_dimension(node, between, came);
                }
                let fresh = Input { link: self.links(), class: 0 };
                let came = if is_second { Input { class: came.class - own, ..came } } else { fresh };
                let output = self.by_dimension(node, to, came);
                let class = if output.link == self.links() { 0 } else { output.class + own };
                Output { class, ..output }
            }
            Ways::Adaptive => {
                let class = self.own_classes();
                let links = (0..self.sides.len()).flat_map(|dimension| self.shorter(node, to, dimension));
                let free = links.filter(|&link| {
                    self.holders[self.at(node, link, class)].is_none()
                        && self.has_room(node, Output { link, class })
                });
                let room = |&link: &usize| {
                    self.room - self.buffers[self.at(self.neighbour(node, link), link ^ 1, class)].len()
                };
                // A way by dimension that begins here: what came before says nothing of a ring's classes.
                free.max_by_key(room).map_or_else(|| self.escape(node, to), |link| Output { link, class })
            }
        }
    }
    /// The own way of a packet that may have come any way: in class 0 while the closing link is ahead of it.
    fn escape(&self, node: usize, to: usize) -> Output {
        let fresh = Input { link: self.links(), class: 0 };
        let output = self.by_dimension(node, to, fresh);
        if !self.is_torus || output.link == self.links() {
            return output;
        }
        let (here, there) = (self.place(node, output.link / 2), self.place(to, output.link / 2));
        let is_ahead = output.link.is_multiple_of(2) != (there > here);
        Output { class: usize::from(!is_ahead), ..output }
    }
    fn has_room(&self, node: usize, output: Output) -> bool {
        output.link == self.links() || {
            let there = self.at(self.neighbour(node, output.link), output.link ^ 1, output.class);
            self.buffers[there].len() < self.room
        }
    }
    /// The foremost flit of an input: its packet, its number, from when on it may go.
    fn foremost(&self, node: usize, input: Input) -> Option<(usize, u32, u64)> {
        if input.link < self.links() {
            let flit = self.buffers[self.at(node, input.link, input.class)].front()?;
            return Some((flit.packet, flit.number, flit.time));
        }
        let (queue, gone) = &self.queues[node];
        let packet = *queue.front()?;
        // The interface takes a cycle.
        Some((packet, *gone, self.packets[packet].made + 1))
    }
    fn inputs(&self) -> Vec<Input> {
        let of_link = |link| (0..self.classes()).map(move |class| Input { link, class });
        let own = Input { link: self.links(), class: 0 };
        (0..self.links()).flat_map(of_link).chain([own]).collect()
    }

    /// What goes in a cycle: from which input of which node, to where.
    fn choose(&mut self, now: u64, inputs: &[Input]) -> Vec<(usize, Input, Output)> {
        let mut moves = Vec::new();
        for node in 0..self.nodes() {
            let mut wanted: Vec<Option<Output>> = Vec::new();
            for &input in inputs {
                let ready = self.foremost(node, input).filter(|(.., time)| *time <= now);
                wanted.push(ready.and_then(|(packet, number, _)| {
                    let held = self.routes[self.at(node, input.link, input.class)].filter(|_| number > 0);
                    let output = held.unwrap_or_else(|| self.output(node, packet, input));
                    let holder = self.holders[self.at(node, output.link, output.class)];
                    let may = holder == if number == 0 { None } else { Some(input) };
                    (may && self.has_room(node, output)).then_some(output)
                }));
            }
            for link in 0..=self.links() {
                let turn = node * (self.links() + 1) + link;
                let next = (1..=inputs.len()).map(|n| (self.turns[turn] + n) % inputs.len());
                let taken = next.into_iter().find(|&at| wanted[at].is_some_and(|output| output.link == link));
                if let Some((at, output)) = taken.and_then(|at| Some((at, wanted[at]?))) {
                    self.turns[turn] = at;
                    moves.push((node, inputs[at], output));
                }
            }
        }
        moves
    }
    /// Lets flits go that were chosen; gives those that came to their nodes.
    fn go(&mut self, now: u64, moves: Vec<(usize, Input, Output)>) -> Vec<(usize, bool)> {
        let mut arrived = Vec::new();
        for (node, input, output) in moves {
            let (packet, number, _) = self.foremost(node, input).expect("it was chosen");
            let is_last = number + 1 == self.packets[packet].flits;
            let (from, to) =
                (self.at(node, input.link, input.class), self.at(node, output.link, output.class));
            self.routes[from] = Some(output).filter(|_| !is_last);
            self.holders[to] = Some(input).filter(|_| !is_last);
            if input.link < self.links() {
                self.buffers[from].pop_front();
            } else {
                let (queue, gone) = &mut self.queues[node];
                *gone = if is_last { 0 } else { *gone + 1 };
                if is_last {
                    queue.pop_front();
                }
            }
            if output.link == self.links() {
                assert_eq!(node, self.packets[packet].to, "it came to its receiver");
                arrived.push((packet, is_last));
            } else {
                let there = self.at(self.neighbour(node, output.link), output.link ^ 1, output.class);
                self.buffers[there].push_back(Flit { packet, number, time: now + 1 });
            }
        }
        arrived
    }

    /// The mean latency of packets that are made in `cycles` cycles behind a fourth of it, and what arrives of
    /// flits a node and cycle.
    fn measure(&mut self, pattern: Pattern, flits: u32, rate: f64, cycles: u64) -> (f64, f64) {
        let (begin, end) = (cycles / 4, cycles / 4 + cycles);
        let inputs = self.inputs();
        let (mut count, mut sum, mut accepted) = (0_u64, 0, 0_u64);
        for now in 0..end + cycles {
            for from in 0..self.nodes() {
                let chance = (rate / f64::from(flits) * (1 << 30) as f64) as usize;
                // What cannot leave waits: enough of it that more changes nothing.
                if self.below(1 << 30) < chance && self.queues[from].0.len() < 100 {
                    let to = match pattern {
                        Pattern::Uniform => self.below(self.nodes()),
                        // (x, y) to (y, x).
                        _ => self.place(from, 1) + self.place(from, 0) * self.sides[0],
                    };
                    let between = (self.ways == Ways::Valiant).then(|| self.below(self.nodes()));
                    self.queues[from].0.push_back(self.packets.len());
                    self.packets.push(Packet { from, to, between, made: now, flits });
                }
            }
            let moves = self.choose(now, &inputs);
            for (packet, is_last) in self.go(now, moves) {
                // With its node a cycle after it left the last router.
                accepted += u64::from((begin..end).contains(&(now + 1)));
                let made = self.packets[packet].made;
                if is_last && (begin..end).contains(&made) {
                    count += 1;
                    sum += now + 1 - made;
                }
            }
        }
        (sum as f64 / count as f64, accepted as f64 / (self.nodes() as f64 * cycles as f64))
    }
}

struct Case {
    sides: &'static [usize],
    is_torus: bool,
    ways: Ways,
    pattern: Pattern,
    flits: u32,
    room: usize,
}

impl Case {
    fn plain(&self, rate: f64, cycles: u64) -> (f64, f64) {
        Plain::new(self.sides, self.is_torus, self.ways, self.room).measure(
            self.pattern,
            self.flits,
            rate,
            cycles,
        )
    }
    fn first(&self, rate: f64, cycles: u64) -> (f64, f64) {
        let sides: Vec<u32> = self.sides.iter().map(|side| *side as u32).collect();
        let topology = if self.is_torus { Topology::torus(&sides) } else { Topology::mesh(&sides) };
        let routing = match self.ways {
            Ways::ByDimension => Routing::Own,
            Ways::Adaptive => Routing::Adaptive,
            Ways::Valiant => Routing::Valiant,
        };
        let config = Config {
            routing,
            priorities: Priorities::Alike,
            buffer_flits: self.room as u32,
            ..Config::plain(topology, 1)
        };
        let source = Source::Open { pattern: self.pattern, flits: self.flits, rate };
        let traffic = Traffic { source, warm_up: cycles / 4, measure: cycles, drain_max: cycles };
        let measured = simulated::measure(&config, &traffic);
        (measured.latency.mean(), measured.accepted)
    }
    /// Compares both: mean latencies at these loads, what arrives when each node offers a flit a cycle.
    fn agree(&self, rates: &[f64]) {
        let name = format!("{:?}, torus {}, {:?}, {:?}", self.sides, self.is_torus, self.ways, self.pattern);
        let near = |what: &str, plain: f64, first: f64, tolerance: f64| {
            println!("{name}: {what}: {first:.3}, plain {plain:.3}: {:+.1} %", 100.0 * (first / plain - 1.0));
            assert!((first / plain - 1.0).abs() < tolerance, "{name}: {what}: {first}, and not {plain}");
        };
        for &rate in rates {
            let (plain, first) = (self.plain(rate, 12_000), self.first(rate, 12_000));
            near(&format!("latency at {rate}"), plain.0, first.0, LATENCY);
            near(&format!("what arrives at {rate}"), plain.1, first.1, LATENCY);
        }
        let (plain, first) = (self.plain(1.0, 3_000), self.first(1.0, 3_000));
        near("what arrives of too much", plain.1, first.1, ACCEPTED);
    }
}

const MESH: Case = Case {
    sides: &[6, 6],
    is_torus: false,
    ways: Ways::ByDimension,
    pattern: Pattern::Uniform,
    flits: 4,
    room: 4,
};

#[test]
fn an_empty_network_takes_what_the_model_says() {
    for (is_torus, ways) in [(false, Ways::ByDimension), (true, Ways::ByDimension), (true, Ways::Adaptive)] {
        let plain = || Plain::new(&[4, 3], is_torus, ways, 4);
        for (from, to) in (0..12).flat_map(|from| (0..12).map(move |to| (from, to))) {
            let mut plain = plain();
            plain.packets.push(Packet { from, to, between: None, made: 0, flits: 5 });
            plain.queues[from].0.push_back(0);
            let (inputs, mut now) = (plain.inputs(), 0);
            let links: usize = (0..2)
                .map(|dimension| {
                    let ahead = plain.place(to, dimension).abs_diff(plain.place(from, dimension));
                    if is_torus { ahead.min(plain.sides[dimension] - ahead) } else { ahead }
                })
                .sum();
            loop {
                let moves = plain.choose(now, &inputs);
                now += 1;
                if plain.go(now - 1, moves).iter().any(|(_, is_last)| *is_last) {
                    break;
                }
            }
            // interface_cycles + (H + 1) hop_cycles + L - 1.
            assert_eq!(now, 1 + (links as u64 + 1) + 4, "{from} to {to}");
        }
    }
}

#[test]
fn a_mesh() {
    MESH.agree(&[0.1, 0.2, 0.3]);
    Case { pattern: Pattern::Transpose, flits: 1, ..MESH }.agree(&[0.15]);
    Case { sides: &[4, 3, 3], flits: 2, ..MESH }.agree(&[0.3]);
}

#[test]
fn a_torus() {
    let torus = Case { is_torus: true, ..MESH };
    torus.agree(&[0.1, 0.3]);
    Case { sides: &[5, 5], room: 8, flits: 3, pattern: Pattern::Transpose, ..torus }.agree(&[0.25]);
}

#[test]
fn by_way_of_random_nodes() {
    let valiant = Case { ways: Ways::Valiant, ..MESH };
    valiant.agree(&[0.05, 0.1]);
    Case { is_torus: true, pattern: Pattern::Transpose, room: 8, ..valiant }.agree(&[0.2, 0.3]);
}

#[test]
fn where_there_is_room() {
    let adaptive = Case { ways: Ways::Adaptive, ..MESH };
    adaptive.agree(&[0.1, 0.3]);
    Case { is_torus: true, pattern: Pattern::Transpose, ..adaptive }.agree(&[0.2]);
}
