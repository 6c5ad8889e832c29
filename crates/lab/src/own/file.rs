//! A network's file: what it may say, and what is wrong with it, with the line and the key.

use fabric::NodeId;
use fabric::simulated::{self, Arbitration, Duplex, Pattern, Priorities, Routing, Topology};
use serde::Deserialize;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;

/// Most nodes: what a host of 8 GB has room for.
const NODES_MAX: u64 = 1 << 16;
const SIDES_OF_AN_RDT: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Most loads, and most seeds.
const RUNS_MAX: usize = 200;
/// The longest latency that a file may allow.
const CYCLES_MAX: f64 = 1e9;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// The key that is wrong, or that stands before what is wrong; empty: there is none.
    pub key: String,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        write!(f, "{}: {key}{}", self.line, self.what)
    }
}

impl Wrong {
    fn at(text: &str, span: Range<usize>, what: impl Into<String>) -> Wrong {
        let start = (0..=span.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let line = 1 + text[..start].matches('\n').count();
        // The key of this line, or of the last line before it that has one.
        let key_of = |line: &str| {
            let (key, _) = line.split_once('=')?;
            let is_key = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let key = key.trim();
            (!key.is_empty() && key.chars().all(is_key)).then(|| key.to_string())
        };
        let mut lines = text.lines().take(line).collect::<Vec<_>>().into_iter().rev();
        let is_table = lines.clone().next().is_some_and(|line| line.trim_start().starts_with('['));
        let key = if is_table { None } else { lines.find_map(key_of) };
        Wrong { line, key: key.unwrap_or_default(), what: what.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: Option<String>,
    network: Spanned<Network>,
    traffic: Traffic,
    #[serde(default)]
    faults: Faults,
    #[serde(default)]
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Mesh,
    Torus,
    Rdt,
    Dragonfly,
    Custom,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ways {
    DimensionOrder,
    Vectors,
    Minimal,
    UpDown,
    Table,
    Adaptive,
    Valiant,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wires {
    Full,
    Half,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    Fixed,
    RoundRobin,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Network {
    topology: Spanned<Form>,
    sides: Option<Spanned<Vec<u32>>>,
    side: Option<Spanned<u32>>,
    routers: Option<Spanned<u32>>,
    global: Option<Spanned<u32>>,
    nodes: Option<Spanned<u32>>,
    links: Option<Spanned<Vec<[u32; 2]>>>,
    table: Option<Spanned<Vec<Vec<i64>>>>,
    routing: Option<Spanned<Ways>>,
    buffer_flits: Option<Spanned<u32>>,
    hop_cycles: Option<Spanned<u32>>,
    credit_cycles: Option<Spanned<u32>>,
    interface_cycles: Option<Spanned<u32>>,
    duplex: Option<Spanned<Wires>>,
    arbitration: Option<Choice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Receivers {
    Uniform,
    Transpose,
    BitComplement,
    Neighbour,
    HotSpot,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Traffic {
    pattern: Spanned<Receivers>,
    hot_node: Option<Spanned<u32>>,
    hot_share: Option<Spanned<f64>>,
    flits: Option<Spanned<u32>>,
    loads: Spanned<Vec<Spanned<f64>>>,
    seeds: Option<Spanned<Vec<u64>>>,
    warm_up: Option<Spanned<u64>>,
    measure: Option<Spanned<u64>>,
    drain: Option<Spanned<u64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Faults {
    delay: Option<Spanned<f64>>,
    stall: Option<Spanned<f64>>,
    drop: Option<Spanned<f64>>,
    cycles_max: Option<Spanned<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Expect {
    accepted_at_least: Option<Spanned<f64>>,
    latency_at_most: Option<Spanned<f64>>,
}

/// What a file says.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) name: String,
    pub(super) config: simulated::Config,
    pub(super) routing: &'static str,
    pub(super) pattern: Pattern,
    pub(super) pattern_name: &'static str,
    pub(super) flits: u32,
    pub(super) loads: Vec<f64>,
    pub(super) seeds: Vec<u64>,
    pub(super) warm_up: u64,
    pub(super) measure: u64,
    pub(super) drain: u64,
    /// How probable delays, stalls and losses are, and how long the first two at most.
    pub(super) faults: Option<(f64, f64, f64, u32)>,
    pub(super) accepted_at_least: Option<f64>,
    pub(super) latency_at_most: Option<f64>,
}

/// Reads a file's text.
pub(super) fn read(text: &str) -> Result<Own, Wrong> {
    let file: File = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        Wrong::at(text, span, error.message())
    })?;
    let reader = Reader { text };
    let (topology, routing, ways) = reader.topology(&file.network)?;
    let network = file.network.get_ref();
    let nodes = topology.nodes();
    let plain = simulated::Config::plain(topology, 1);
    let duplex = match network.duplex.as_ref().map(|wires| *wires.get_ref()) {
        Some(Wires::Half) => Duplex::Half,
        _ => Duplex::Full,
    };
    let config = simulated::Config {
        routing,
        duplex,
        priorities: Priorities::Alike,
        arbitration: match network.arbitration {
            Some(Choice::Fixed) => Arbitration::Fixed,
            _ => Arbitration::RoundRobin,
        },
        buffer_flits: reader.within(&network.buffer_flits, 1..=4096, 8)?,
        hop_cycles: reader.within(&network.hop_cycles, 1..=1000, 1)?,
        credit_cycles: reader.within(&network.credit_cycles, 1..=1000, 1)?,
        interface_cycles: reader.within(&network.interface_cycles, 0..=1000, 1)?,
        ..plain
    };
    let is_graph = matches!(network.topology.get_ref(), Form::Custom | Form::Dragonfly);
    if let Some(wires) = network.duplex.as_ref().filter(|_| duplex == Duplex::Half && is_graph) {
        return Err(reader.wrong(wires, "half-duplex links are those of a mesh, a torus or an RDT"));
    }
    if !config.fits() {
        let what = "its routers have too many virtual channels; a network with fewer links a node, or another routing, fits";
        return Err(reader.wrong(&network.topology, what));
    }
    let traffic = &file.traffic;
    let (pattern, pattern_name) = reader.pattern(traffic, &config.topology)?;
    let faults = reader.faults(&file.faults)?;
    Ok(Own {
        name: file.name.unwrap_or_else(|| config.topology.to_string()),
        routing: ways,
        pattern,
        pattern_name,
        flits: reader.within(&traffic.flits, 1..=4096, 4)?,
        loads: reader.loads(&traffic.loads)?,
        seeds: reader.seeds(traffic.seeds.as_ref())?,
        warm_up: reader.within(&traffic.warm_up, 0..=100_000_000, 1000)?,
        measure: reader.within(&traffic.measure, 1..=100_000_000, 4000)?,
        drain: reader.within(&traffic.drain, 0..=100_000_000, 10_000)?,
        faults,
        accepted_at_least: reader.bound(&file.expect.accepted_at_least, 1.0)?,
        latency_at_most: reader.bound(&file.expect.latency_at_most, CYCLES_MAX)?,
        config: simulated::Config { time_max: u64::MAX / 2, ..config },
    })
    .and_then(|own| {
        if u64::from(nodes) > NODES_MAX { Err(reader.wrong(&network.topology, too_many())) } else { Ok(own) }
    })
}

fn too_many() -> String {
    format!("at most {NODES_MAX} nodes")
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn wrong<T>(&self, value: &Spanned<T>, what: impl Into<String>) -> Wrong {
        Wrong::at(self.text, value.span(), what)
    }
    fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        value: &Option<Spanned<T>>,
        range: RangeInclusive<T>,
        own: T,
    ) -> Result<T, Wrong> {
        let Some(value) = value else { return Ok(own) };
        let number = *value.get_ref();
        if range.contains(&number) {
            return Ok(number);
        }
        Err(self.wrong(value, format!("{number} is not from {} to {}", range.start(), range.end())))
    }
    /// What is expected, if anything is: from 0 to `most`.
    fn bound(&self, value: &Option<Spanned<f64>>, most: f64) -> Result<Option<f64>, Wrong> {
        value.as_ref().map(|_| self.within(value, 0.0..=most, most)).transpose()
    }
    /// A key that this topology needs.
    fn needed<'v, T>(
        &self,
        network: &Spanned<Network>,
        value: &'v Option<Spanned<T>>,
        key: &str,
    ) -> Result<&'v Spanned<T>, Wrong> {
        value.as_ref().ok_or_else(|| {
            let topology = &network.get_ref().topology;
            self.wrong(topology, format!("this topology needs the key `{key}`"))
        })
    }

    fn topology(&self, network: &Spanned<Network>) -> Result<(Topology, Routing, &'static str), Wrong> {
        let Network { sides, side, routers, global, nodes, links, table, .. } = network.get_ref();
        let form = network.get_ref().topology.get_ref();
        self.only_own_keys(network)?;
        let (topology, own) = match form {
            Form::Mesh | Form::Torus => {
                let spanned = self.needed(network, sides, "sides")?;
                let sides = spanned.get_ref();
                let nodes =
                    sides.iter().try_fold(1u64, |product, side| product.checked_mul(u64::from(*side)));
                let fits = (1..=3).contains(&sides.len())
                    && nodes.is_some_and(|nodes| (1..=NODES_MAX).contains(&nodes));
                if !fits {
                    let what =
                        format!("one to three sides of at least 1, at most {NODES_MAX} nodes together");
                    return Err(self.wrong(spanned, what));
                }
                let make = if matches!(form, Form::Mesh) { Topology::mesh } else { Topology::torus };
                (make(sides), Ways::DimensionOrder)
            }
            Form::Rdt => {
                let side = self.needed(network, side, "side")?;
                if !SIDES_OF_AN_RDT.contains(side.get_ref()) {
                    return Err(self.wrong(side, "the side of an RDT is 4, 8, 16, 32, 64, 128 or 256"));
                }
                (Topology::rdt(*side.get_ref()), Ways::Vectors)
            }
            Form::Dragonfly => {
                let routers = self.needed(network, routers, "routers")?;
                let global = self.needed(network, global, "global")?;
                let made = Topology::dragonfly(*routers.get_ref(), *global.get_ref());
                (made.map_err(|what| self.wrong(routers, what))?, Ways::Minimal)
            }
            Form::Custom => {
                let nodes = self.needed(network, nodes, "nodes")?;
                let links = self.needed(network, links, "links")?;
                let pairs: Vec<(u32, u32)> = links.get_ref().iter().map(|link| (link[0], link[1])).collect();
                let next = |to: &i64| u32::try_from(*to).ok();
                let rows = table
                    .as_ref()
                    .map(|table| table.get_ref().iter().flatten().map(next).collect::<Vec<_>>());
                let made = Topology::graph(*nodes.get_ref(), &pairs, rows.as_deref());
                let made = made.map_err(|what| match table {
                    Some(table) if what.contains("table") => self.wrong(table, what),
                    _ if what.contains(" nodes") && !what.contains("link") => self.wrong(nodes, what),
                    _ => self.wrong(links, what),
                });
                (made?, if table.is_some() { Ways::Table } else { Ways::UpDown })
            }
        };
        let (routing, name) = self.routing(network, own)?;
        Ok((topology, routing, name))
    }

    /// Keys of other topologies are a mistake.
    fn only_own_keys(&self, network: &Spanned<Network>) -> Result<(), Wrong> {
        let Network { sides, side, routers, global, nodes, links, table, .. } = network.get_ref();
        let spans = [
            (sides.as_ref().map(Spanned::span), "sides", "mesh and torus"),
            (side.as_ref().map(Spanned::span), "side", "rdt"),
            (routers.as_ref().map(Spanned::span), "routers", "dragonfly"),
            (global.as_ref().map(Spanned::span), "global", "dragonfly"),
            (nodes.as_ref().map(Spanned::span), "nodes", "custom"),
            (links.as_ref().map(Spanned::span), "links", "custom"),
            (table.as_ref().map(Spanned::span), "table", "custom"),
        ];
        let own: &[&str] = match network.get_ref().topology.get_ref() {
            Form::Mesh | Form::Torus => &["sides"],
            Form::Rdt => &["side"],
            Form::Dragonfly => &["routers", "global"],
            Form::Custom => &["nodes", "links", "table"],
        };
        let stranger = spans.into_iter().find_map(|(span, key, of)| {
            let span = span.filter(|_| !own.contains(&key))?;
            Some(Wrong::at(self.text, span, format!("this key is for the topology {of}")))
        });
        stranger.map_or(Ok(()), Err)
    }

    fn routing(&self, network: &Spanned<Network>, own: Ways) -> Result<(Routing, &'static str), Wrong> {
        let name = |ways: Ways| match ways {
            Ways::DimensionOrder => "dimension-order",
            Ways::Vectors => "vectors",
            Ways::Minimal => "minimal",
            Ways::UpDown => "up-down",
            Ways::Table => "table",
            Ways::Adaptive => "adaptive",
            Ways::Valiant => "valiant",
        };
        let Some(asked) = &network.get_ref().routing else { return Ok((Routing::Own, name(own))) };
        let ways = *asked.get_ref();
        let routing = match ways {
            Ways::Adaptive | Ways::Valiant if own == Ways::Vectors => None,
            Ways::Adaptive => Some(Routing::Adaptive),
            Ways::Valiant => Some(Routing::Valiant),
            ways if ways == own => Some(Routing::Own),
            _ => None,
        };
        let what = || match own {
            Ways::Vectors => "an RDT's packets go along vectors".to_string(),
            Ways::UpDown if ways == Ways::Table => {
                "a table of ways is missing: write `table = [[..], ..]`".into()
            }
            own => format!("this topology's routings are {}, adaptive and valiant", name(own)),
        };
        routing.map(|routing| (routing, name(ways))).ok_or_else(|| self.wrong(asked, what()))
    }

    fn pattern(&self, traffic: &Traffic, topology: &Topology) -> Result<(Pattern, &'static str), Wrong> {
        let is_hot = matches!(traffic.pattern.get_ref(), Receivers::HotSpot);
        let stray =
            traffic.hot_node.as_ref().map(Spanned::span).or(traffic.hot_share.as_ref().map(Spanned::span));
        if let Some(span) = stray.filter(|_| !is_hot) {
            return Err(Wrong::at(self.text, span, "this key is for the pattern hot-spot"));
        }
        Ok(match traffic.pattern.get_ref() {
            Receivers::Uniform => (Pattern::Uniform, "uniform"),
            Receivers::BitComplement => (Pattern::BitComplement, "bit-complement"),
            Receivers::Neighbour => (Pattern::Neighbour, "neighbour"),
            Receivers::Transpose => {
                let sides = topology.sides();
                if sides.len() < 2 || sides.iter().any(|side| *side != sides[0]) {
                    return Err(self
                        .wrong(&traffic.pattern, "transpose needs a network of equal sides, two or three"));
                }
                (Pattern::Transpose, "transpose")
            }
            Receivers::HotSpot => {
                let node = NodeId(self.within(&traffic.hot_node, 0..=topology.nodes() - 1, 0)?);
                (
                    Pattern::HotSpot { node, share: self.within(&traffic.hot_share, 0.0..=1.0, 0.1)? },
                    "hot-spot",
                )
            }
        })
    }

    fn loads(&self, loads: &Spanned<Vec<Spanned<f64>>>) -> Result<Vec<f64>, Wrong> {
        if !(1..=RUNS_MAX).contains(&loads.get_ref().len()) {
            return Err(self.wrong(loads, format!("1 to {RUNS_MAX} loads")));
        }
        let each = loads.get_ref().iter().map(|load| {
            let value = *load.get_ref();
            let fits = value > 0.0 && value <= 1.0;
            let what = format!("{value} is no load: flits a node and cycle, above 0 and at most 1");
            if fits { Ok(value) } else { Err(self.wrong(load, what)) }
        });
        let mut all: Vec<f64> = each.collect::<Result<_, _>>()?;
        all.sort_by(f64::total_cmp);
        all.dedup();
        Ok(all)
    }

    fn seeds(&self, seeds: Option<&Spanned<Vec<u64>>>) -> Result<Vec<u64>, Wrong> {
        let Some(seeds) = seeds else { return Ok(vec![1]) };
        if !(1..=RUNS_MAX).contains(&seeds.get_ref().len()) {
            return Err(self.wrong(seeds, format!("1 to {RUNS_MAX} seeds")));
        }
        let mut all = seeds.get_ref().clone();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn faults(&self, faults: &Faults) -> Result<Option<(f64, f64, f64, u32)>, Wrong> {
        let share = |value: &Option<Spanned<f64>>| self.within(value, 0.0..=0.9, 0.0);
        let all = (share(&faults.delay)?, share(&faults.stall)?, share(&faults.drop)?);
        let cycles = self.within(&faults.cycles_max, 1..=100_000, 100)?;
        Ok((all != (0.0, 0.0, 0.0)).then_some((all.0, all.1, all.2, cycles)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(network: &str, traffic: &str) -> String {
        format!("[network]\n{network}\n[traffic]\npattern = \"uniform\"\nloads = [0.1]\n{traffic}\n")
    }

    #[test]
    fn what_is_wrong_has_its_line_and_key() {
        let mesh = "topology = \"mesh\"\nsides = [4, 4]";
        let links = "topology = \"custom\"\nnodes = 3\nlinks = [\n  [0, 1],\n  [1, 2],\n  [2, 0],\n]";
        for (text, line, key, told) in [
            (String::new(), 1, "", "missing field `network`"),
            ("[network".into(), 1, "", ""),
            (with("topology = \"mesh\"\nsides = [4, 0]", ""), 3, "sides", "at least 1"),
            (with("topology = \"mesh\"\nsides = [4, \"x\"]", ""), 3, "sides", "invalid type"),
            (with("topology = \"mesh\"\nsides = [65536, 65536]", ""), 3, "sides", "65536 nodes"),
            (with("topology = \"mesh\"\nsides = []", ""), 3, "sides", "one to three"),
            (with("topology = \"mesh\"", ""), 2, "topology", "needs the key `sides`"),
            (with("topology = \"cube\"", ""), 2, "topology", "unknown variant `cube`"),
            (with("topology = \"rdt\"\nside = 5", ""), 3, "side", "4, 8, 16"),
            (with("topology = \"rdt\"\nside = 4\nrouting = \"valiant\"", ""), 4, "routing", "along vectors"),
            (with("topology = \"dragonfly\"\nrouters = 90\nglobal = 90", ""), 3, "routers", "dragonfly"),
            (with(&format!("{mesh}\nnodes = 3"), ""), 4, "nodes", "for the topology custom"),
            (
                with(&format!("{mesh}\nrouting = \"up-down\""), ""),
                4,
                "routing",
                "dimension-order, adaptive and valiant",
            ),
            (with(&format!("{mesh}\nbuffer-flits = 0"), ""), 4, "buffer-flits", "0 is not from 1 to 4096"),
            (with(&format!("{mesh}\nbufer-flits = 8"), ""), 4, "bufer-flits", "unknown field `bufer-flits`"),
            (with(&format!("{links}\nrouting = \"table\""), ""), 9, "routing", "table of ways is missing"),
            (with(&format!("{links}\nduplex = \"half\""), ""), 9, "duplex", "half-duplex"),
            (with(&format!("{links}\ntable = [[-1, 1, 2]]"), ""), 9, "table", "3 entries; 3 nodes need 9"),
            (with("topology = \"custom\"\nnodes = 3\nlinks = [\n  [0, 1]\n]", ""), 4, "links", "to node 2"),
            (with(mesh, "flits = 0"), 7, "flits", "0 is not from 1 to 4096"),
            (with(mesh, "hot-node = 3"), 7, "hot-node", "hot-spot"),
            (with(mesh, "seeds = []"), 7, "seeds", "1 to 200 seeds"),
            (with(mesh, "[faults]\ndrop = 2.0"), 8, "drop", "2 is not from 0 to 0.9"),
            (with(mesh, "").replace("[0.1]", "[0.1,\n  7.5]"), 7, "loads", "7.5 is no load"),
            (with(mesh, "").replace("[0.1]", "[nan]"), 6, "loads", "is no load"),
            (
                with(mesh, "[expect]\naccepted-at-least = nan"),
                8,
                "accepted-at-least",
                "NaN is not from 0 to 1",
            ),
            (with(mesh, "[expect]\nlatency-at-most = -1.0"), 8, "latency-at-most", "-1 is not from 0"),
            (
                with("topology = \"mesh\"\nsides = [4, 5]", "").replace("uniform", "transpose"),
                5,
                "pattern",
                "equal sides",
            ),
        ] {
            let wrong = read(&text).err().unwrap_or_else(|| panic!("{text}"));
            assert_eq!((wrong.line, wrong.key.as_str()), (line, key), "{text}\n{wrong}");
            assert!(wrong.what.contains(told), "{text}\n{wrong}");
        }
    }

    /// A run that is there twice would count twice in the median.
    #[test]
    fn loads_and_seeds_are_in_order_and_once() {
        let text = with("topology = \"mesh\"\nsides = [4, 4]", "seeds = [3, 1, 3]");
        let own = read(&text.replace("[0.1]", "[0.3, 0.1, 0.3]")).expect("it is right");
        assert_eq!((&own.loads[..], &own.seeds[..]), (&[0.1, 0.3][..], &[1, 3][..]));
    }

    #[test]
    fn what_is_not_said_has_its_usual_value() {
        let own = read(&with("topology = \"torus\"\nsides = [4, 4]", "")).expect("it is right");
        assert_eq!(
            (own.name.as_str(), own.routing, own.pattern_name),
            ("torus 4x4", "dimension-order", "uniform")
        );
        assert_eq!((own.flits, &own.seeds[..], own.config.buffer_flits), (4, &[1][..], 8));
        assert!(own.faults.is_none());
    }
}
