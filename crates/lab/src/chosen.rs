//! What whoever measures has chosen instead of an experiment's own: where random numbers begin, and inputs of models.
//!
//! A choice holds for one thread, while an experiment runs in it ([`Chosen::during`]): experiments build their networks
//! and programs in many places, and each place asks here.

use crate::Error;
use fabric::simulated::{self, Duplex, Flow};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};

/// An input that can be set.
#[derive(Debug)]
pub struct Input {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whose it is: groups of experiments, of which not all need have it.
    pub of: &'static [&'static str],
    range: RangeInclusive<f64>,
    whole: bool,
    /// Names of its values, beginning with that of 0; none: they are numbers.
    words: &'static [&'static str],
}

const fn number(
    name: &'static str,
    about: &'static str,
    of: &'static [&'static str],
    range: RangeInclusive<f64>,
) -> Input {
    Input { name, about, of, range, whole: false, words: &[] }
}

const fn whole(
    name: &'static str,
    about: &'static str,
    of: &'static [&'static str],
    range: RangeInclusive<f64>,
) -> Input {
    Input { whole: true, ..number(name, about, of, range) }
}

const fn words(
    name: &'static str,
    about: &'static str,
    of: &'static [&'static str],
    words: &'static [&'static str],
) -> Input {
    Input { words, ..whole(name, about, of, 0.0..=words.len() as f64 - 1.0) }
}

/// Groups whose networks are simulated flit by flit, with buffers that can have another size, or without.
const GRIDS: &[&str] = &["jmachine", "networks"];
const FLITS: &[&str] = &["jmachine", "networks", "jump1"];

/// All of them.
pub const INPUTS: &[Input] = &[
    whole("buffer-flits", "flits of a virtual channel's buffer", GRIDS, 1.0..=4096.0),
    words("duplex", "whether a link's directions share its wires: half or full", GRIDS, &["half", "full"]),
    whole("hop-cycles", "cycles of a router and its link", FLITS, 1.0..=1000.0),
    whole("interface-cycles", "cycles from a node to its router", FLITS, 0.0..=1000.0),
    whole("credit-cycles", "cycles until a free place may be used", FLITS, 1.0..=1000.0),
    number(
        "cpi-factor",
        "times the cycles of an instruction, or the time of a reduction, that each program was told",
        &["jmachine", "multipsi", "symmetry"],
        0.01..=100.0,
    ),
    words("depth", "how much of a structure an answer brings", &["multipsi"], &DEPTHS),
    words("tables", "whether references are white where they can be, or all black", &["multipsi"], &TABLES),
    number("lock-us", "microseconds of a lock", &["symmetry"], 0.0..=10_000.0),
    number("copy-us", "microseconds of a word that a collection copies", &["symmetry"], 0.0..=10_000.0),
    number("goal-us", "microseconds of a goal that a collection copies", &["symmetry"], 0.0..=10_000.0),
    whole("block-words", "words of a block of memory, of all programs", &["symmetry"], 256.0..=65_536.0),
    whole("fifo-bytes", "bytes of a router's FIFO", &["staff"], 40.0..=4096.0),
];
/// Values of `depth` and of `tables`, as `fifth run --simulate` has them.
pub(crate) const DEPTHS: [&str; 3] = ["off", "level", "adaptive"];
pub(crate) const TABLES: [&str; 2] = ["white", "black"];

/// The group of an experiment.
fn group(experiment: &str) -> &str {
    experiment.split_once('/').map_or(experiment, |(group, _)| group)
}

/// Says which experiment cannot have an input that is set, and what it can have: none of these experiments' groups
/// has it.
pub fn missing(settings: &[Vec<Setting>], experiments: &[&str]) -> Option<String> {
    let is_of = |input: &Input, experiment: &str| input.of.contains(&group(experiment));
    let known = |name: &str| INPUTS.iter().find(|input| input.name == name);
    let set = settings.iter().filter_map(|values| values.first()).filter_map(|set| known(set.name));
    let mut wrong = set.filter(|input| !experiments.iter().any(|experiment| is_of(input, experiment)));
    let input = wrong.next()?;
    let of = |experiment: &str| -> Vec<&str> {
        INPUTS.iter().filter(|input| is_of(input, experiment)).map(|input| input.name).collect()
    };
    let told = experiments.iter().map(|experiment| match of(experiment)[..] {
        [] => format!("{experiment} has none"),
        ref names => format!("{experiment} can have {}", names.join(", ")),
    });
    let mut told: Vec<String> = told.collect();
    if told.len() > 3 {
        told = vec![format!("it is an input of {}", input.of.join(", "))];
    }
    Some(format!("no experiment that is to run has the input {}: {}", input.name, told.join("; ")))
}

impl Input {
    /// What it is, and whose.
    pub fn told(&self) -> String {
        format!("{} ({})", self.about, self.of.join(", "))
    }
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
    /// Does something under this choice, and gives also which inputs were asked for, set or not; [`SEED`] among them.
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
        let asked = NOW.with_borrow(|now| now.1.clone());
        drop(before);
        (result, asked)
    }
}

/// What the seed is called among inputs that were asked for.
pub const SEED: &str = "seed";

/// Where random numbers begin.
pub(crate) fn seed(own: u64) -> u64 {
    NOW.with_borrow_mut(|(chosen, asked)| {
        asked.insert(SEED);
        chosen.seed.unwrap_or(own)
    })
}

/// An input's value, if it was set.
pub(crate) fn set(name: &'static str) -> Option<f64> {
    debug_assert!(INPUTS.iter().any(|input| input.name == name), "{name} is an input");
    NOW.with_borrow_mut(|(chosen, asked)| {
        asked.insert(name);
        chosen.inputs.iter().find(|set| set.name == name).map(|set| set.value)
    })
}

/// An input's value: the experiment's own, unless it was set.
pub(crate) fn input(name: &'static str, own: f64) -> f64 {
    set(name).unwrap_or(own)
}

/// The same of a whole number.
pub(crate) fn count(name: &'static str, own: u32) -> u32 {
    input(name, f64::from(own)) as u32
}

/// Does the same with each of several things, on all processors, under the choice of this thread. `done` hears of each
/// result as it comes; the results are in the order of the things. An error is that of the first thing that has one.
pub(crate) fn each<T: Sync, R: Send>(
    things: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
    mut done: impl FnMut(&T, &R),
) -> Result<Vec<R>, Error> {
    let chosen = NOW.with_borrow(|now| now.0.clone());
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<Result<R, Error>>> = things.iter().map(|_| None).collect();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..processors.min(things.len()) {
            let (sender, next, chosen, work) = (sender.clone(), &next, &chosen, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thing) = things.get(at) else { return };
                    let (result, asked) = chosen.during(|| work(thing));
                    // Nobody hears it if the receiver's thread panicked.
                    let _ = sender.send((at, result, asked));
                }
            });
        }
        drop(sender);
        for (at, result, asked) in receiver {
            NOW.with_borrow_mut(|now| now.1.extend(asked));
            if let Ok(result) = &result {
                done(&things[at], result);
            }
            results[at] = Some(result);
        }
    });
    results.into_iter().flatten().collect()
}

/// What was done, by a name and the choice under which it was done; and which inputs it had asked for.
pub(crate) type Memory<R> = Mutex<BTreeMap<String, Arc<OnceLock<Remembered<R>>>>>;
type Remembered<R> = (Result<R, Error>, BTreeSet<&'static str>);

/// Does something once for a name and this thread's choice, and remembers what it gave: several experiments show the
/// same simulated runs. A thread that comes while another one does it waits for that.
pub(crate) fn once<R: Clone>(
    memory: &Memory<R>,
    name: &str,
    work: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    let chosen = NOW.with_borrow(|now| now.0.clone());
    let place = base::lock(memory).entry(format!("{name} {chosen:?}")).or_default().clone();
    let (result, asked) = place.get_or_init(|| chosen.during(work));
    NOW.with_borrow_mut(|now| now.1.extend(asked));
    result.clone()
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
        let all = ["buffer-flits", "credit-cycles", "duplex", "hop-cycles", "interface-cycles", SEED];
        assert_eq!(used.into_iter().collect::<Vec<_>>(), all);
        assert_eq!(network(plain()), plain());
        let (chosen, _) = set("duplex=half").during(|| network(plain()));
        assert_eq!(chosen.duplex, Duplex::Half);
        let (cycles, _) = set("cpi-factor=1.5").during(|| cycles(10));
        assert_eq!(cycles, 15);
        // An RDT's buffers hold a whole packet.
        let rdt = || simulated::Config::jump1(4, 1);
        let (chosen, used) = set("buffer-flits=2").during(|| network(rdt()));
        assert_eq!((chosen.buffer_flits, used.contains("buffer-flits")), (16, false));
    }

    #[test]
    fn an_input_that_nobody_has_is_told_before_anything_runs() {
        let told = |text: &str, experiments: &[&str]| {
            missing(&[Setting::parse(text).expect("settings")], experiments).unwrap_or_default()
        };
        assert_eq!(told("lock-us=1,2", &["symmetry"]), "");
        assert_eq!(told("cpi-factor=2", &["tr448", "multipsi/fig5"]), "");
        assert_eq!(
            told("buffer-flits=9", &["multipsi/fig5", "tr448"]),
            "no experiment that is to run has the input buffer-flits: multipsi/fig5 can have cpi-factor, depth, \
             tables; tr448 has none"
        );
        assert!(
            told("fifo-bytes=99", &["symmetry", "tr448", "jmachine/fig2", "jmachine/fig3"])
                .ends_with("it is an input of staff")
        );
    }

    #[test]
    fn several_threads_have_the_choice_of_the_first() {
        let things: Vec<u64> = (0..50).collect();
        let mut heard = Vec::new();
        let work = |thing: &u64| Ok(1000 * thing + cycles(10) + seed(1));
        let (results, asked) =
            set("cpi-factor=2").during(|| each(&things, work, |thing, _| heard.push(*thing)));
        assert_eq!(results, Ok(things.iter().map(|thing| 1000 * thing + 20 + 7).collect::<Vec<_>>()));
        assert!(asked.contains("cpi-factor") && asked.contains(SEED), "{asked:?}");
        heard.sort_unstable();
        assert_eq!(heard, things);
        let fails = |thing: &u64| if thing % 20 == 9 { Err(Error(format!("{thing}"))) } else { Ok(()) };
        assert_eq!(each(&things, fails, |_, ()| {}), Err(Error("9".into())));
        assert_eq!(each(&[], fails, |_, ()| {}), Ok(vec![]));
    }

    #[test]
    fn what_was_done_under_the_same_choice_is_not_done_again() {
        let (memory, done) = (Memory::default(), AtomicUsize::new(0));
        let ask = |chosen: &Chosen, name: &str| {
            chosen.during(|| {
                once(&memory, name, || {
                    done.fetch_add(1, Ordering::Relaxed);
                    Ok(cycles(10))
                })
            })
        };
        let twice = set("cpi-factor=2");
        for (chosen, name, given, times) in [
            (&twice, "sort", 20, 1),
            (&twice, "sort", 20, 1),
            (&twice, "queens", 20, 2),
            (&Chosen::default(), "sort", 10, 3),
        ] {
            let (result, asked) = ask(chosen, name);
            assert_eq!((result, done.load(Ordering::Relaxed)), (Ok(given), times), "{name}");
            assert!(asked.contains("cpi-factor"), "{name}: {asked:?}");
        }
    }

    #[test]
    fn what_cannot_be_set_is_told() {
        for (text, told) in [
            ("speed=9", "no input is called `speed`; there are buffer-flits, duplex,"),
            ("depth=2", "depth is off or level or adaptive, not `2`"),
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
