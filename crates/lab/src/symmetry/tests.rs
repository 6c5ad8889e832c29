//! Answers against the reference interpreter's; what holds after steps; what the costs were fitted to.

use super::code::Code;
use super::machine::{After, Given, Locked, Machine, Setup};
use super::memory::{RECORDS, Sizes, Word};
use super::programs::Program;
use super::{COSTS, sizes};
use crate::Scale;
use oracle::interpret::{Options, Outcome, run};
use std::collections::HashSet;
use syntax::source::SourceMap;
use term::AtomTable;

fn setup(program: Program, scale: Scale, processors: u32) -> Setup {
    let sizes = sizes(program, scale);
    let (given, after, locked) = (Given::Oldest, After::Stays, Locked::Objects);
    Setup { processors, sizes, costs: COSTS, given, after, locked, seed: 1 }
}

/// The reference interpreter's answer.
fn reference(text: &str) -> i64 {
    let text = format!("{text}\nmain :- go(N), say(N).\nsay(N) :- integer(N) | unix:exit(~(N mod 256)).\n");
    let (mut sources, atoms) = (SourceMap::default(), AtomTable::new());
    let file = sources.add("program".into(), text.into_bytes());
    let (program, _) = syntax::read_program(&sources, &[file], &atoms);
    match run(&program, &atoms, Options::bare(2_000_000)).outcome {
        Outcome::Exit(status) => i64::from(status),
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers_are_those_of_the_reference_interpreter() {
    for program in Program::ALL {
        let text = program.text(Scale::Small);
        let expected = reference(&text);
        let code = Code::read(&text).expect("the machine has all of it");
        for processors in [1, 3, 8] {
            for (given, after) in [(Given::Oldest, After::Stays), (Given::Newest, After::Copier)] {
                let setup = Setup { given, after, ..setup(program, Scale::Small, processors) };
                let run = Machine::new(&code, setup).and_then(Machine::run).expect("an answer");
                assert_eq!(run.answer % 256, expected, "{program:?}, {setup:?}");
                assert_eq!(run.answer, program.answer(Scale::Small), "{program:?}");
                assert_eq!(run.counts.goals, run.counts.reductions, "each goal is reduced once");
            }
        }
    }
}

/// With its list of jumps triangle has the same positions and solutions; a solution is then a list.
#[test]
fn a_list_of_jumps_changes_no_answer() {
    let run = |text: &str| {
        let code = Code::read(text).expect("a program");
        Machine::new(&code, setup(Program::Triangle, Scale::Small, 2))
            .and_then(Machine::run)
            .expect("an answer")
    };
    let (plain, listed) = (run(&Program::Triangle.text(Scale::Small)), run(&Program::listed(Scale::Small)));
    assert_eq!((listed.answer, listed.counts.reductions), (plain.answer, plain.counts.reductions));
    assert!(listed.consumed > plain.consumed);
}

/// Looks at everything that is alive: each object lies in blocks in use, no record is free and alive, goals are as many
/// as were made and not reduced.
fn check(machine: &Machine<'_>) {
    let memory = &machine.memory;
    assert!(memory.fits());
    let mut free = HashSet::new();
    for processor in &machine.processors {
        for (kind, list) in processor.local.free.iter().enumerate() {
            for &record in list {
                assert!(memory.holds(record, RECORDS[kind]) && free.insert(record), "free twice: {record}");
            }
        }
    }
    let (mut goals, mut seen) = (HashSet::new(), HashSet::new());
    let mut words = vec![Word::Ref(machine.answer)];
    let mut going = 0;
    for processor in &machine.processors {
        if processor.current.is_some() {
            going += 1;
            words.extend(&processor.arguments);
        }
        for &goal in &processor.ready {
            assert!(goals.insert(goal), "ready twice: {goal}");
        }
    }
    let mut work: Vec<u32> = goals.iter().copied().collect();
    loop {
        if let Some(goal) = work.pop() {
            let Word::Goal(_, count) = memory.get(goal) else { panic!("no goal at {goal}") };
            assert!(memory.holds(goal, RECORDS[0]) && !free.contains(&goal), "a free goal: {goal}");
            words.extend((goal + 1..=goal + count).map(|cell| memory.get(cell)));
        } else if let Some(word) = words.pop() {
            let (from, count) = match word {
                Word::Ref(cell) => (cell, 1),
                Word::List(from) => (from, 2),
                Word::Vector(from, count) => (from, count),
                Word::Hook(record) => {
                    assert!(memory.holds(record, RECORDS[1]) && !free.contains(&record));
                    let Word::Flag(flag) = memory.get(record) else { panic!("no suspension") };
                    if let Word::Waits(goal, _) = memory.get(flag)
                        && goals.insert(goal)
                    {
                        work.push(goal);
                    }
                    words.push(memory.get(record + 1));
                    continue;
                }
                Word::Forward(_) | Word::Moved(_) => panic!("left from a collection: {word:?}"),
                _ => continue,
            };
            if seen.insert((from, count)) {
                assert!(memory.holds(from, count), "{word:?} is in no block in use");
                words.extend((from..from + count).map(|cell| memory.get(cell)));
            }
        } else {
            break;
        }
    }
    assert_eq!(goals.len() as u64 + going, machine.counts.goals - machine.counts.reductions);
}

#[test]
fn memory_is_whole_after_steps_and_collections() {
    let cases = [(Program::Kl1cmp, After::Stays, 384), (Program::Triangle, After::Copier, 512)];
    for (program, after, block) in cases {
        let code = Code::read(&program.text(Scale::Small)).expect("a program");
        // So few words that there are several collections.
        let sizes = Sizes { blocks: 64, block };
        let setup = Setup { sizes, after, ..setup(program, Scale::Small, 4) };
        let mut machine = Machine::new(&code, setup).expect("it starts");
        let (mut steps, mut collections) = (0, 0);
        while machine.collections.len() < 3 && machine.step().expect("it goes on") {
            steps += 1;
            // To look at all of it takes long: at first it is looked at after each step, then sometimes.
            if steps < 2_000 || steps % 101 == 0 || machine.collections.len() > collections {
                check(&machine);
            }
            collections = machine.collections.len();
        }
        assert!(
            machine.collections.len() > 1,
            "{program:?}: {steps} steps, {} collections",
            machine.collections.len()
        );
    }
}

#[test]
fn costs_are_fitted_to_what_the_inputs_say() {
    let of = |program: Program, processors| {
        let code = Code::read(&program.text(Scale::Full)).expect("a program");
        let run = Machine::new(&code, setup(program, Scale::Full, processors)).and_then(Machine::run);
        super::Case { program, processors, runs: vec![run.expect("an answer")] }
    };
    let near =
        |value: f64, printed: f64| assert!((value / printed - 1.0).abs() < 0.02, "{value} for {printed}");
    let (puzzle, kl1cmp, triangle) =
        (of(Program::Puzzle, 1), of(Program::Kl1cmp, 1), of(Program::Triangle, 1));
    near(puzzle.reducing_speed(), 1_891.0);
    near(kl1cmp.reducing_speed(), 1_508.0);
    near(kl1cmp.copied_a_second(), 14_800.0);
    near(triangle.copied_a_second(), 15_100.0);
    near(of(Program::Kl1cmp, 2).lock_in_reduction(), 6.2);
}

#[test]
fn programs_that_cannot_go_on_say_so() {
    let run = |text: &str| {
        let code = Code::read(&format!(":- module main.\n{text}"))?;
        Machine::new(&code, setup(Program::Kl1cmp, Scale::Small, 2))?.run().map(|run| run.answer)
    };
    assert_eq!(run("go(N) :- N = 7."), Ok(7));
    let wrong = |text: &str| run(text).expect_err("it has no answer");
    assert_eq!(wrong("go(N) :- p(_,N).\np(1,N) :- N = 1."), "no answer, and 1 goals wait");
    assert_eq!(wrong("go(N) :- p(2,N).\np(1,N) :- N = 1."), "no clause of p/2 commits");
    assert!(wrong("go(N) :- p([],N).\np(L,N) :- p([a|L],N).").contains("more is alive"));
    assert!(wrong("go(N) :- N = 1, N = 2.").contains("do not unify"));
    assert!(wrong("go(N) :- q(N).").contains("there is no q/1"));
}

/// What a collection's locks take is one time for each object and each use of the stack, and what processors wait for
/// each other: a processor alone never does, and of several one waits at what another copies.
#[test]
fn locks_of_a_collection_are_held_or_waited_for() {
    let collections = |processors, locked| {
        let code = Code::read(&Program::Kl1cmp.text(Scale::Small)).expect("a program");
        let sizes = Sizes { blocks: 64, block: 384 };
        let setup = Setup { sizes, locked, ..setup(Program::Kl1cmp, Scale::Small, processors) };
        Machine::new(&code, setup).and_then(Machine::run).expect("an answer").collections
    };
    for processors in [1, 4] {
        for done in collections(processors, Locked::Objects) {
            let goals = done.goals / u64::from(RECORDS[0]);
            let locks = 3 * u64::from(processors) + done.stacked + done.objects - goals;
            assert_eq!(done.lock - done.waited, locks * COSTS.lock, "{done:?}");
        }
    }
    let waited =
        |processors, locked| -> u64 { collections(processors, locked).iter().map(|done| done.waited).sum() };
    assert_eq!(waited(1, Locked::Objects), 0);
    // Objects that nobody locks are waited for by nobody.
    assert!(waited(4, Locked::Objects) > waited(4, Locked::Variables) && waited(4, Locked::Variables) > 0);
}
