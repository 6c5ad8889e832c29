//! Programs and the laboratory under an MPI launcher.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use fabric::Random;
use fabric::mpi::launch;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::process::{Running, Text, end, error, wait_for_line};
use support::{directives, nodes};

/// A job of this number of processes of `fifth`.
fn job(processes: u32) -> Command {
    launch::processes(Path::new(env!("CARGO_BIN_EXE_fifth")), processes)
}

/// And all of what is about nodes and arrays, this with two workers each, too. `FIFTH_CORPUS` names others, as in
/// `programs`. With `FIFTH_SEED` goals are thrown to random nodes, too.
#[test]
fn a_tenth_of_the_corpus_does_what_it_says_in_two_and_four_processes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let filter = std::env::var("FIFTH_CORPUS").unwrap_or_default();
    let programs = directives::programs(&root, &filter).unwrap_or_else(|error| panic!("{error}"));
    let seed = std::env::var("FIFTH_SEED").ok().map(|seed| format!("--check-nodes={seed}"));
    let every = if filter.is_empty() { 10 } else { 1 };
    let always = |path: &Path| {
        path.parent().is_some_and(|in_it| ["nodes", "array"].iter().any(|name| in_it.ends_with(name)))
    };
    let (mut ran, mut wrong) = (0, Vec::new());
    for (number, program) in programs.iter().enumerate() {
        if number % every > 0 && !always(&program.path) {
            continue;
        }
        ran += 1;
        let mut run = |who: &str, processes, options: &[&str]| {
            let found = directives::in_a_job(who, job(processes), options, program);
            wrong.extend(found.iter().map(|what| format!("{}: {what}", program.path.display())));
        };
        run("2 processes", 2, &[]);
        run("4 processes", 4, &[]);
        let disorder = !program.directives.skip_check_heap && !program.directives.skip_check_nodes;
        if let Some(seed) = seed.as_deref().filter(|_| disorder) {
            run("2 processes in disorder", 2, &[seed]);
            run("4 processes in disorder", 4, &[seed]);
        }
        if always(&program.path) {
            run("2 processes with 2 workers each", 2, &["--workers", "2"]);
        }
        if program.path.parent().is_some_and(|folder| folder.ends_with("array")) {
            run("2 processes with copies", 2, &[directives::COPIES]);
            run("3 processes with copies", 3, &[directives::COPIES]);
            run("2 processes with copies and 2 workers each", 2, &[directives::COPIES, "--workers", "2"]);
        }
    }
    assert!(ran > 0 && wrong.is_empty(), "of {ran} programs:\n{}", wrong.join("\n"));
}

/// It goes on for ever: a node that works alone, and a stream from it to the first one.
const ENDLESS: &str = ":- module main.\n\
    main :- builtin:current_node(_, Total), io:errstream([print(started), nl, flush, sync(S)]), go(S, Total).\n\
    go(S, Total) :- wait(S) | Last := Total - 1, loop(0)@node(Last), make(L, 0)@node(Last), read(L).\n\
    loop(N) :- N >= 0 | loop(N).\nread([_ | L]) :- true | read(L).\n\
    make(L, N) :- true | L = [N | L1], N1 := N + 1, make(L1, N1).\n";

/// The same with an array, of which nodes have copies: each in turn adds to its elements.
const ENDLESS_ARRAY: &str = ":- module main.\n\
    main :- builtin:current_node(_, Total), array:new(A, 4), round(0, Total, A).\n\
    round(N, Total, A) :- wait(A) | To := N mod Total, add(0, A, B)@node(To), N1 := N + 1, round(N1, Total, B).\n\
    add(I, A, B) :- I < 4, wait(A) | array:element(A, I, X), Y $:= X + 1.0, array:set_element(A, I, Y, A1),\n\
        I1 := I + 1, add(I1, A1, B).\nadd(4, A, B) :- wait(A) | B = A.\n";

/// The processes of a job that run this file.
fn ranks(file: &Path) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let runs = |folder: PathBuf| {
        let pid: i32 = folder.file_name()?.to_str()?.parse().ok()?;
        let line = std::fs::read(folder.join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let own = words[0] == env!("CARGO_BIN_EXE_fifth").as_bytes();
        (own && words.contains(&file.as_os_str().as_encoded_bytes())).then(|| Pid::from_raw(pid))?
    };
    let mut ranks: Vec<Pid> = processes.flatten().filter_map(|entry| runs(entry.path())).collect();
    ranks.sort_unstable_by_key(|pid| pid.as_raw_nonzero());
    ranks
}

fn start(text: &Text, processes: u32, options: &[&str]) -> Running {
    let mut job = job(processes);
    Running::start(job.arg("run").args(options).arg(&text.0).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// `FIFTH_KILLS=200` of the environment is the number of runs.
#[test]
fn a_process_that_is_killed_ends_the_job_at_once_whenever_that_is() {
    let texts = [
        (Text::new("killed", ENDLESS.as_bytes()), &[][..]),
        (Text::new("killed_array", ENDLESS_ARRAY.as_bytes()), &[directives::COPIES][..]),
    ];
    let runs = std::env::var("FIFTH_KILLS").map_or(20, |runs| runs.parse().expect("a number of runs"));
    let (mut random, mut longest, mut hanging) = (Random::new(29), Duration::ZERO, 0);
    for run in 0..runs {
        let processes = 2 + run % 3;
        let (text, options) = &texts[run as usize % 2];
        let mut child = start(text, processes, options);
        let victims = loop {
            let ranks = ranks(&text.0);
            if ranks.len() == processes as usize {
                break ranks;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        // While they find each other, compile, or run.
        std::thread::sleep(Duration::from_micros(random.below(600_000).into()));
        let victim = victims[random.below(processes) as usize];
        let killed = Instant::now();
        kill_process(victim, Signal::KILL).expect("it runs");
        while !ranks(&text.0).is_empty() && killed.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ranks(&text.0), [], "run {run}");
        // Open MPI's launcher hangs in its own library in one run of about thirty, when all processes have ended.
        let asked = Instant::now();
        while child.try_wait().expect("a child").is_none() && asked.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().expect("a child").is_none() {
            println!("run {run}: the launcher does not end");
            hanging += 1;
            continue;
        }
        let output = end(child);
        assert!(!output.status.success(), "run {run}: {}", error(&output));
        longest = longest.max(killed.elapsed());
        assert_eq!(ranks(&text.0), [], "run {run}");
    }
    println!("{runs} runs with a process killed: the last one ended {longest:?} later at most");
    assert!(hanging <= 1 + runs / 10, "the launcher hung in {hanging} of {runs} runs");
}

#[test]
fn the_first_process_writes_figures_and_the_timeline_of_all() {
    let folder = std::env::temp_dir().join(format!("fifth-mpi-figures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nodes_stream.kl1");
    let [figures, trace] = ["figures", "trace"].map(|name| folder.join(name));
    let mut job = job(2);
    job.arg("run").arg("--stats-file").arg(&figures).arg("--trace").arg(&trace).arg(program);
    let output = launch::outcome(job).expect("a launcher");
    assert!(output.status.success(), "{}", error(&output));
    nodes::check(&figures, &trace, 2);
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_process_that_is_interrupted_ends_the_program_with_one_report() {
    let text = Text::new("interrupted", ENDLESS.as_bytes());
    for signal in [Signal::INT, Signal::TERM] {
        let mut child = start(&text, 3, &[]);
        wait_for_line(&mut child, "started");
        std::thread::sleep(Duration::from_millis(200));
        let ranks = ranks(&text.0);
        // The last one works.
        kill_process(ranks[ranks.len() - 1], signal).expect("it runs");
        let output = end(child);
        let told = error(&output);
        assert_eq!(
            (output.status.code(), told.matches("fifth: interrupted").count()),
            (Some(130), 1),
            "{told}"
        );
    }
}

#[test]
fn only_the_first_process_says_what_is_wrong_with_the_command_line() {
    for (arguments, says) in [
        (&["run", "--frob"][..], "unexpected argument '--frob'"),
        (&["run", "/nowhere.kl1"], "cannot read /nowhere.kl1"),
        (&["run", "--nodes", "2", "x.kl1"], "each of these 3 processes is a node: leave out --nodes"),
        (&["run", "-w", "2", "--schedule=1", "x.kl1"], "--schedule orders the workers of one node"),
    ] {
        let mut job = job(3);
        job.args(arguments);
        let output = launch::outcome(job).expect("a launcher");
        let told = error(&output);
        assert_eq!((output.status.code(), told.matches(says).count()), (Some(2), 1), "{arguments:?}: {told}");
    }
}

/// A launcher ends all processes when one has failed.
#[test]
fn the_first_process_says_what_is_wrong_when_it_is_the_last_to_find_it() {
    let late = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 0 ] || sleep 1; exec \"$0\" \"$@\"";
    for arguments in [&["run", "--frob"][..], &["run", "--nodes", "2", "x.kl1"]] {
        let mut job = launch::processes(Path::new("/bin/sh"), 3);
        job.args(["-c", late, env!("CARGO_BIN_EXE_fifth")]).args(arguments);
        let output = launch::outcome(job).expect("a launcher");
        let told = error(&output);
        assert_eq!(
            (output.status.code(), told.matches("error: ").count()),
            (Some(2), 1),
            "{arguments:?}: {told}"
        );
    }
}

/// `fifth lab run` in this number of processes: whether it ends well, standard output, standard error.
fn lab(processes: u32, arguments: &[&str]) -> (bool, String, String) {
    let mut job = job(processes);
    job.args(["lab", "run", "--scale", "small", "--runs", "2"]).args(arguments);
    let output = launch::outcome(job).expect("a launcher");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// Median, least and most in the rows of a table. Behind each figure stands its kind, and another figure behind all.
fn figures(table: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
    let figures = |line: &str| {
        let fields: Vec<&str> = line.split(',').rev().collect();
        let of_runs = fields.into_iter().skip(3).step_by(2).take(3);
        of_runs.map(|figure| figure.parse().expect("a number")).collect()
    };
    text.lines().skip(1).map(figures).collect()
}

#[test]
fn the_first_process_reports_what_is_measured_between_them() {
    let folder = std::env::temp_dir().join(format!("fifth-mpi-{}", std::process::id()));
    for (processes, barriers) in [(2, 1), (3, 1), (4, 2)] {
        let out = folder.to_string_lossy().into_owned();
        let (ended, stdout, stderr) = lab(processes, &["jmachine/table1", "jmachine/table3", "--out", &out]);
        assert!(ended, "{stdout}\n{stderr}");
        for title in ["threads", "processes"]
            .map(|nodes| [format!("Messages between {nodes}"), format!("Barriers of {nodes}")])
            .as_flattened()
        {
            assert_eq!(stdout.matches(title).count(), 1, "{title} once in\n{stdout}");
        }
        assert!(
            stdout.contains(&format!("The job has {processes} of them, under {}.", launch::library())),
            "{stdout}"
        );
        for (table, rows) in [("jmachine/table1", 3), ("jmachine/table3", barriers)] {
            let figures = figures(&folder.join(table).join("processes.csv"));
            let positive = figures.iter().flatten().filter(|figure| **figure > 0.0).count();
            assert_eq!((figures.len(), positive), (rows, 3 * rows), "{table}: {figures:?}");
        }
        // What cannot be removed is only litter.
        let _ = std::fs::remove_dir_all(&folder);
    }
}

#[test]
fn experiments_that_measure_nothing_between_processes_are_refused() {
    let (ended, stdout, stderr) = lab(2, &["jmachine/table1", "jmachine/fig4"]);
    assert!(!ended && stdout.is_empty(), "{stdout}");
    assert!(stderr.contains("jmachine/fig4 measures nothing between processes"), "{stderr}");
}

#[test]
fn one_process_measures_as_without_a_launcher() {
    let (ended, stdout, stderr) = lab(1, &["jmachine/table1"]);
    assert!(ended && !stdout.contains("Messages between processes"), "{stdout}\n{stderr}");
    assert!(stdout.contains("`mpirun -n 2 fifth lab run ...`"), "{stdout}");
}
