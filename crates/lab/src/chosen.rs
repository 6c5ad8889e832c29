//! What whoever measures has chosen instead of an experiment's own: where random numbers begin, and inputs of models.
//!
//! A choice holds for one thread, while an experiment runs in it ([`Chosen::during`]): experiments build their networks
//! and programs in many places, and each place asks here.

use fabric::simulated::{self, Duplex, Flow};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// An input that can be set.
#[derive(Debug)]
pub struct Input {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is, and whose.
    pub about: &'static str,
    range: RangeInclusive<f64>,
    whole: bool,
    /// Names of its values, beginning with that of 0; none: they are numbers.
    words: &'static [&'static str],
}

const fn whole(name: &'static str, about: &'static str, range: RangeInclusive<f64>) -> Input {
    Input { name, about, range, whole: true, words: &[] }
}

/// All of them.
pub const INPUTS: &[Input] = &[
    whole("buffer-flits", "flits of a virtual channel's buffer (jmachine, networks)", 1.0..=4096.0),
    Input {
        name: "duplex",
        about: "whether a link's directions share its wires: half or full (jmachine, networks)",
        range: 0.0..=1.0,
        whole: true,
        words: &["half", "full"],
    },
    whole("hop-cycles", "cycles of a router and its link (jmachine, networks, jump1)", 1.0..=1000.0),
    whole("interface-cycles", "cycles from a node to its router (jmachine, networks, jump1)", 0.0..=1000.0),
    whole("credit-cycles", "cycles until a free place may be used (jmachine, networks, jump1)", 1.0..=1000.0),
    Input {
        name: "cpi-factor",
        about: "times the cycles of an instruction that each program was told (jmachine)",
        range: 0.01..=100.0,
        whole: false,
        words: &[],
    },
    whole("fifo-bytes", "bytes of a router's FIFO (staff)", 40.0..=4096.0),
];

impl Input {
    /// The value of a text; the error says what it should be.
    fn parse(&self, text: &str) -> Result<f64, String> {
        let number = match self.words.iter().position(|word| *word == text) {
            Some(at) => Some(at as f64),
            None if self.words.is_empty() => text.parse().ok(),
            None => None,
        };
        let fits = |number: &f64| self.range.contains(number) && (!self.whole || number.fract() == 0.0);
        number.filter(fits).ok_or_else(|| {
            let (from, to) = (self.range.start(), self.range.end());
            let should = match (self.words, self.whole) {
                ([], true) => format!("a whole number from {from} to {to}"),
                ([], false) => format!("a number from {from} to {to}"),
                (words, _) => words.join(" or "),
            };
            format!("{} is {should}, not `{text}`", self.name)
        })
    }
}

/// An input and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The input's name.
    pub name: &'static str,
    /// Its value as it was given.
    pub text: String,
    /// Its value.
    pub value: f64,
}

impl Setting {
    /// Reads `name=value`, or `name=value,value..`: a setting for each value. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Vec<Setting>, String> {
        let (name, values) = text.split_once('=').ok_or("write INPUT=VALUE")?;
        let input = INPUTS.iter().find(|input| input.name == name).ok_or_else(|| {
            let names: Vec<&str> = INPUTS.iter().map(|input| input.name).collect();
            format!("no input is called `{name}`; there are {}", names.join(", "))
        })?;
        let one = |text: &str| {
            let value = input.parse(text)?;
            Ok(Setting { name: input.name, text: text.into(), value })
        };
        values.split(',').map(one).collect()
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.text)
    }
}

/// A choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Where random numbers begin; none: where the experiment likes.
    pub seed: Option<u64>,
    /// Inputs, each at most once.
    pub inputs: Vec<Setting>,
}

thread_local! {
    static NOW: RefCell<(Chosen, BTreeSet<&'static str>)> = RefCell::default();
}

impl Chosen {
    /// Does something under this choice, and gives also which of its inputs were asked for.
    pub fn during<R>(&self, work: impl FnOnce() -> R) -> (R, BTreeSet<&'static str>) {
        /// What was chosen before is so again, however the work ends.
        struct Before(Option<(Chosen, BTreeSet<&'static str>)>);
        impl Drop for Before {
            fn drop(&mut self) {
                NOW.set(self.0.take().unwrap_or_default());
            }
        }
        let before = Before(Some(NOW.replace((self.clone(), BTreeSet::new()))));
        let result = work();
        let used = NOW.with_borrow(|now| now.1.clone());
        drop(before);
        (result, used)
    }
}

/// Where random numbers begin.
pub(crate) fn seed(own: u64) -> u64 {
    NOW.with_borrow(|now| now.0.seed.unwrap_or(own))
}

/// An input's value: the experiment's own, unless it was set.
pub(crate) fn input(name: &'static str, own: f64) -> f64 {
    debug_assert!(INPUTS.iter().any(|input| input.name == name), "{name} is an input");
    NOW.with_borrow_mut(|(chosen, used)| {
        let Some(set) = chosen.inputs.iter().find(|set| set.name == name) else { return own };
        used.insert(name);
        set.value
    })
}

/// The same of a whole number.
pub(crate) fn count(name: &'static str, own: u32) -> u32 {
    input(name, f64::from(own)) as u32
}

/// A program's cycles, as its processor was chosen.
pub(crate) fn cycles(own: u64) -> u64 {
    (own as f64 * input("cpi-factor", 1.0)).round() as u64
}

/// A network as it was chosen. Where buffers hold whole packets, or say stop and go, they stay as they are, and so do
/// links.
pub(crate) fn network(own: simulated::Config) -> simulated::Config {
    let own = simulated::Config {
        seed: seed(own.seed),
        hop_cycles: count("hop-cycles", own.hop_cycles),
        interface_cycles: count("interface-cycles", own.interface_cycles),
        credit_cycles: count("credit-cycles", own.credit_cycles),
        ..own
    };
    let is_grid = own.topology.links() == 2 * own.topology.sides().len();
    if own.flow != Flow::Credits || !is_grid {
        return own;
    }
    let duplex = if own.duplex == Duplex::Half { 0 } else { 1 };
    let duplex = if count("duplex", duplex) == 0 { Duplex::Half } else { Duplex::Full };
    simulated::Config { duplex, buffer_flits: count("buffer-flits", own.buffer_flits), ..own }
}

/// Choices, one for each value of the input that has several. The error says that several have.
pub fn choices(settings: &[Vec<Setting>]) -> Result<Vec<Chosen>, String> {
    let mut names = BTreeMap::new();
    for set in settings.iter().filter_map(|values| values.first()) {
        *names.entry(set.name).or_insert(0) += 1;
    }
    if let Some((name, _)) = names.iter().find(|(_, times)| **times > 1) {
        return Err(format!("{name} is set twice; write {name}=VALUE,VALUE to measure with several values"));
    }
    let (several, single): (Vec<_>, Vec<_>) = settings.iter().partition(|values| values.len() > 1);
    if several.len() > 1 {
        return Err("one input at a time can have several values".into());
    }
    let single: Vec<Setting> = single.into_iter().flatten().cloned().collect();
    let with =
        |more: Option<&Setting>| Chosen { seed: None, inputs: single.iter().chain(more).cloned().collect() };
    Ok(several
        .first()
        .map_or_else(|| vec![with(None)], |values| values.iter().map(|value| with(Some(value))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::simulated::Topology;

    fn set(text: &str) -> Chosen {
        Chosen { seed: Some(7), inputs: Setting::parse(text).expect("settings") }
    }

    #[test]
    fn a_choice_holds_while_the_work_runs() {
        let plain = || simulated::Config::plain(Topology::mesh(&[2, 2]), 1);
        let (chosen, used) = set("buffer-flits=9").during(|| network(plain()));
        assert_eq!((chosen.buffer_flits, chosen.seed), (9, 7));
        assert_eq!(used.into_iter().collect::<Vec<_>>(), ["buffer-flits"]);
        assert_eq!(network(plain()), plain());
        let (chosen, _) = set("duplex=half").during(|| network(plain()));
        assert_eq!(chosen.duplex, Duplex::Half);
        let (cycles, _) = set("cpi-factor=1.5").during(|| cycles(10));
        assert_eq!(cycles, 15);
        // An RDT's buffers hold a whole packet.
        let rdt = || simulated::Config::jump1(4, 1);
        let (chosen, used) = set("buffer-flits=2").during(|| network(rdt()));
        assert_eq!((chosen.buffer_flits, used.len()), (16, 0));
    }

    #[test]
    fn what_cannot_be_set_is_told() {
        for (text, told) in [
            ("speed=9", "no input is called `speed`; there are buffer-flits, duplex,"),
            ("buffer-flits", "write INPUT=VALUE"),
            ("buffer-flits=0", "buffer-flits is a whole number from 1 to 4096, not `0`"),
            ("buffer-flits=2.5", "a whole number"),
            ("buffer-flits=4,", "not ``"),
            ("cpi-factor=nan", "a number from 0.01 to 100, not `nan`"),
            ("duplex=both", "duplex is half or full, not `both`"),
            ("duplex=1", "half or full"),
        ] {
            assert!(Setting::parse(text).is_err_and(|error| error.contains(told)), "{text}");
        }
    }

    #[test]
    fn several_values_are_several_choices() {
        let parse = |texts: &[&str]| {
            let settings: Result<Vec<_>, _> = texts.iter().map(|text| Setting::parse(text)).collect();
            choices(&settings.expect("settings"))
        };
        let chosen = parse(&["hop-cycles=2", "buffer-flits=2,3,4"]).expect("choices");
        let texts =
            chosen.iter().map(|one| one.inputs.iter().map(Setting::to_string).collect::<Vec<_>>().join(" "));
        let texts: Vec<String> = texts.collect();
        assert_eq!(
            texts,
            ["hop-cycles=2 buffer-flits=2", "hop-cycles=2 buffer-flits=3", "hop-cycles=2 buffer-flits=4"]
        );
        assert_eq!(parse(&[]).map(|all| all.len()), Ok(1));
        assert!(parse(&["hop-cycles=2,3", "buffer-flits=2,3"]).is_err());
        assert!(parse(&["hop-cycles=2", "hop-cycles=3"]).is_err());
    }
}
