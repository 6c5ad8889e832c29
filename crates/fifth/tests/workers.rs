//! What a user sees of several workers: the option and the variable that say how many, executables, the REPL.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};
use support::process::{Running, Text, end, error, interrupt, wait_for_line};

/// Sums the leaves of a tree of goals, which all workers can share, and prints the sum and the arguments.
const TREE: &str = ":- module main.\n\
    main :- unix:argv(As), tree(14, N), io:outstream([print(N), nl, print(As), nl]).\n\
    tree(0, N) :- N = 1.\n\
    tree(D, N) :- D > 0 | D1 := D - 1, tree(D1, A), tree(D1, B), N := A + B.\n";

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whoever reduces goals that allocate nothing gives others away, too: this ends only if somebody else reduces the
/// last goal.
#[test]
fn loops_that_allocate_nothing_are_shared() {
    for (loops, workers) in [("spin(0)", "2"), ("spin(0)", "8"), ("spin(0), spin(0), spin(0)", "4")] {
        let spin = format!(
            ":- module main.\n\
            main :- {loops}, stop.\n\
            spin(N) :- N < 1000000000 | spin(~(N+1)).\n\
            spin(1000000000) :- spin(0).\n\
            stop :- unix:exit(7).\n"
        );
        let output = end(Text::new("spin", spin.as_bytes()).start(&["run", "-w", workers]));
        assert_eq!(output.status.code(), Some(7), "{workers}: {}", error(&output));
    }
}

/// So is a goal with a slot that another goal is going to fill, if it does not await it.
#[test]
fn goals_with_slots_are_given_away() {
    let spin = ":- module main.\n\
        main :- spin(0, R), stop(R).\n\
        spin(N, R) :- N < 1000000000 | spin(~(N+1), R).\n\
        spin(1000000000, R) :- R = 1.\n\
        stop(R) :- unix:exit(7), keep(R).\n\
        keep(1).\n";
    let text = Text::new("slot", spin.as_bytes());
    let shown = stdout(&end(text.start(&["run", "--dump", "ir"])));
    assert!(shown.contains(" := slot\n"), "{shown}");
    let output = end(text.start(&["run", "--stats", "-w", "2"]));
    let told = error(&output);
    assert!(output.status.code() == Some(7) && told.contains("\ngifts of goals        1\n"), "{told}");
}

/// So is a goal below others that talk to each other all the time. One worker would never come to it.
#[test]
fn goals_below_a_client_and_its_server_are_given_away() {
    let talk = ":- module main.\n\
        main :- client(0, S), server(S, 0), stop.\n\
        client(N, S) :- S = [add(N,X)|S1], next(X, S1).\n\
        next(X, S) :- integer(X) | client(X, S).\n\
        server([add(N,X)|S], T) :- X := (T + N + 1) mod 1000, server(S, X).\n\
        stop :- unix:exit(7).\n";
    let output = end(Text::new("talk", talk.as_bytes()).start(&["run", "-w", "2"]));
    assert_eq!(output.status.code(), Some(7), "{}", error(&output));
}

/// So is a goal that reads a list without an end, behind goals that never end, if there is nothing else to give: on the
/// stack, and at a lower priority.
#[test]
fn goals_behind_an_endless_producer_are_given_away() {
    for lower in ["", "@lower_priority"] {
        for (begin, goals) in [("make(0, L)", "make"), ("L = [0|_], spin(0)", "spin")] {
            let endless = format!(
                ":- module main.\n\
                main :- {begin}, read(L){lower}.\n\
                make(N, L) :- N < 1000 | L = [N|L1], make(~(N+1), L1).\n\
                make(1000, L) :- spin(0), L = [].\n\
                spin(N) :- N < 1000000000 | spin(~(N+1)).\n\
                spin(1000000000) :- spin(0).\n\
                read([N|L]) :- N < 1 | unix:exit(7), read(L).\n\
                read([N|L]) :- N >= 1 | read(L).\n"
            );
            let output = end(Text::new("endless", endless.as_bytes()).start(&["run", "-w", "2"]));
            assert_eq!(output.status.code(), Some(7), "{goals}{lower}: {}", error(&output));
        }
    }
}

/// What one goal sends to several inputs of a merger reaches the reader at once: it is resumed once, and not once for
/// each input.
#[test]
fn a_merger_forwards_what_all_inputs_have_before_the_reader_goes_on() {
    let merge = ":- module main.\n\
        main :- merge({A,B,C}, S), count(S, 0, N), send(1000, A, B, C), io:outstream([print(N), nl]).\n\
        send(0, A, B, C) :- A = [], B = [], C = [].\n\
        send(N, A, B, C) :- N > 0 | A = [N|A1], B = [N|B1], C = [N|C1], send(~(N-1), A1, B1, C1).\n\
        count([], A, N) :- N = A.\n\
        count([_|S], A, N) :- A1 := A+1, count(S, A1, N).\n";
    let output = end(Text::new("merge", merge.as_bytes()).start(&["run", "--stats", "-w", "1"]));
    assert_eq!(stdout(&output), "3000\n");
    let told = error(&output);
    let resumed = told.lines().find_map(|line| line.strip_prefix("resumptions"));
    let resumed: u32 = resumed.and_then(|count| count.trim().parse().ok()).expect(&told);
    // The three inputs' processes, and the reader.
    assert!((4000..4100).contains(&resumed), "{told}");
}

/// The REPL with this number of workers.
fn repl(workers: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(["repl", "--workers", workers]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(&mut command)
}

#[test]
fn an_option_or_the_environment_says_how_many_workers() {
    let text = Text::new("tree", TREE.as_bytes());
    let exe = text.0.with_extension("exe");
    let build =
        text.command(&["build", "-o", exe.to_str().expect("a plain path")]).output().expect("it starts");
    assert_eq!(build.status.code(), Some(0), "{}", error(&build));
    // Executables do not count reductions, and say nothing of them.
    let counted = Command::new(&exe).args(["--stats", "-w2"]).output().expect("it starts");
    let counted = error(&counted);
    assert!(counted.contains("workers               2\n") && !counted.contains("reductions"), "{counted}");
    let run = |variable: &str, arguments: &[&str]| {
        let executable = Command::new(&exe).args(arguments).env("FIFTH_WORKERS", variable).output();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        let (options, own): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|word| word.contains('w'));
        command.arg("run").args(options).arg(&text.0).arg("--").args(own).env("FIFTH_WORKERS", variable);
        [executable.expect("it starts"), command.output().expect("it starts")]
    };
    for (variable, arguments) in [
        ("", &[][..]),
        ("1", &["-w4"]),
        ("4", &[]),
        ("many", &["--workers=4", "in.txt"]),
        ("64", &["in.txt"]),
    ] {
        for output in run(variable, arguments) {
            let own = if arguments.contains(&"in.txt") { "[\"in.txt\"]" } else { "[]" };
            assert_eq!(
                stdout(&output),
                format!("16384\n{own}\n"),
                "{variable} {arguments:?} {}",
                error(&output)
            );
        }
    }
    for variable in ["0", "65", "many"] {
        for output in run(variable, &[]) {
            let told = format!("error: FIFTH_WORKERS is `{variable}`: the number of workers is from 1 to 64");
            assert_eq!((output.status.code(), error(&output).trim()), (Some(2), told.as_str()));
        }
    }
    std::fs::remove_file(exe).expect("it is there");
}

/// The program's arguments are its own, whatever they look like.
#[test]
fn an_executable_leaves_its_programs_arguments_alone() {
    let text = Text::new("own", TREE.replace("14", "4").as_bytes());
    let exe = text.0.with_extension("exe");
    let build =
        text.command(&["build", "-o", exe.to_str().expect("a plain path")]).output().expect("it starts");
    assert_eq!(build.status.code(), Some(0), "{}", error(&build));
    let cases: [(&[&str], &str); 4] = [
        (&["a", "-w", "--workers"], r#"["a","-w","--workers"]"#),
        (&["--", "--workers", "x"], r#"["--workers","x"]"#),
        (&["-w", "2", "--", "--", "--help"], r#"["--","--help"]"#),
        (&["-", "--"], r#"["-","--"]"#),
    ];
    for (arguments, seen) in cases {
        let output = Command::new(&exe).args(arguments).output().expect("it starts");
        assert_eq!(stdout(&output), format!("16\n{seen}\n"), "{arguments:?} {}", error(&output));
    }
    for (arguments, code) in [(["--help"], 0), (["--unknown"], 2), (["--workers"], 2)] {
        let output = Command::new(&exe).args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {}", error(&output));
    }
    std::fs::remove_file(exe).expect("it is there");
}

/// Predicates, atoms and constants are added between queries; each query leaves nothing behind for the next.
#[test]
fn the_repl_has_as_many_workers_as_one_likes() {
    let typed = "\
tree(0, N) :- true | N = 1.
tree(D, N) :- D > 0 | D1 := D - 1, tree(D1, A), tree(D1, B), N := A + B.
?- tree(12, X).
?- tree(14, _X), tree(x, _Y).
leaf(X) :- true | X = new_atom([a, \"text\", {1, 2}]).
?- leaf(X).
leaves(0, Ls) :- true | Ls = [].
leaves(N, Ls) :- N > 0 | leaf(L), check(L, R), Ls = [R|Ls1], N1 := N - 1, leaves(N1, Ls1).
check(new_atom([a, S, {1, 2}]), R) :- string(S, L, 8) | R = L.
sum([], S0, S) :- true | S = S0.
sum([L|Ls], S0, S) :- S1 := S0 + L, sum(Ls, S1, S).
total(N, X) :- true | leaves(N, Ls), sum(Ls, 0, X).
?- total(20000, X).
?- tree(12, Z), tree(12, Z1), Y := Z + Z1.
?- tree(10, _X), _X = 3.
?- wait_for(_X).
wait_for(1) :- true | true.
?- wait_for(_X).
?- tree(14, X).
finish(8192) :- true | unix:exit(7).
?- tree(13, X), finish(X).
";
    let run = |workers: &str| {
        let mut child = repl(workers);
        child.stdin.take().expect("piped").write_all(typed.as_bytes()).expect("it reads");
        let output = end(child);
        let mut lines: Vec<String> = stdout(&output).lines().map(str::to_string).collect();
        // The variables of one query come in any order.
        lines.sort();
        (output.status.code(), lines, error(&output))
    };
    let (code, lines, told) = run("1");
    assert_eq!(code, Some(7), "{told}");
    assert!(lines.contains(&"X = 80000".to_string()) && lines.contains(&"Y = 8192".to_string()), "{lines:?}");
    for workers in ["2", "4", "64"] {
        let (other_code, others, other_told) = run(workers);
        assert_eq!((other_code, &others), (code, &lines), "{workers} workers: {other_told}");
        for word in ["reduction failure", "unification failure", "perpetual suspension", "wait_for(_1)"] {
            assert_eq!(told.matches(word).count(), other_told.matches(word).count(), "{word}: {other_told}");
        }
    }
}

#[test]
fn an_interrupt_ends_a_query_and_not_the_repl() {
    for workers in ["1", "4"] {
        let mut child = repl(workers);
        let mut input = child.stdin.take().expect("piped");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut answer = || lines.next().expect("a line").expect("text");
        input.write_all(b"loop(N) :- N1 := N + 1, loop(N1).\n").expect("it reads");
        for round in 1..=3 {
            let query = format!("?- X = {round}, loop(0), loop(1), loop(2).\n");
            input.write_all(query.as_bytes()).expect("it reads");
            // The query runs: its first binding has arrived.
            assert_eq!(answer(), format!("X = {round}"));
            interrupt(&child);
            input.write_all(b"?- Y := 6 * 7.\n").expect("it reads");
            assert_eq!(answer(), "Y = 42");
        }
        drop(input);
        let output = end(child);
        assert_eq!(output.status.code(), Some(0), "{}", error(&output));
        assert_eq!(error(&output).matches("fifth: interrupted").count(), 3, "{}", error(&output));
    }
}

/// The counts of what workers have to do with each other are part of `--stats`, where there are several.
#[test]
fn stats_count_what_workers_have_to_do_with_each_other() {
    let text = Text::new("counted", TREE.replace("14", "18").as_bytes());
    let stats = |workers| {
        let output = end(text.start(&["run", "--stats", "-w", workers]));
        assert_eq!(stdout(&output), "262144\n[]\n", "{}", error(&output));
        error(&output)
    };
    let told = stats("1");
    assert!(!told.contains("gifts of goals") && told.contains("\nreductions            "), "{told}");
    // This ends only if somebody else reduces the last goal, so there is a gift.
    let spin = ":- module main.\n\
        main :- spin(0), stop.\n\
        spin(N) :- N < 1000000000 | spin(~(N+1)).\n\
        spin(1000000000) :- spin(0).\n\
        stop :- unix:exit(7).\n";
    let output = end(Text::new("given", spin.as_bytes()).start(&["run", "--stats", "-w", "4"]));
    assert_eq!(output.status.code(), Some(7), "{}", error(&output));
    let told = error(&output);
    let count = |name: &str| -> u64 {
        let line = told.lines().find(|line| line.starts_with(name)).expect("a line for each count");
        line.rsplit(' ').next().and_then(|count| count.parse().ok()).expect("a number")
    };
    assert!(count("rests") > 0 && (1..=count("rests")).contains(&count("requests for goals")), "{told}");
    assert!(count("gifts") > 0 && count("words given") >= count("gifts"), "{told}");
    assert!(count("shared writes lost") <= count("shared writes  "), "{told}");
}

/// What `--dump` shows is the code that would run: with several workers, vectors are read with more care. No locked
/// instruction is in any of it.
#[test]
fn the_code_that_is_shown_is_that_of_so_many_workers() {
    let asm = |program: &str, workers: &str| {
        let path = format!("{}/../../benches/{program}.kl1", env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        let output = command.args(["run", "--dump", "asm", "-w", workers, &path]).output();
        let output = output.expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", error(&output));
        let text = stdout(&output);
        // As Cranelift writes them.
        let locked = ["lock", "atomically", "cmpxchg", "xchg", "xadd", "mfence"];
        let first = |line: &str| locked.iter().any(|word| line.trim_start().starts_with(word));
        assert!(text.lines().count() > 1000, "{program}: {text}");
        assert_eq!(text.lines().find(|line| first(line)), None, "{program}, {workers}");
        text
    };
    assert!(asm("queens", "1") == asm("queens", "2"));
    let (alone, several) = (asm("vector", "1"), asm("vector", "2"));
    assert!(alone.lines().count() < several.lines().count());
    assert!(several == asm("vector", "64"));
}

/// What the system says of a process's threads.
fn status(child: &Running, name: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("it is there");
    let value = |thread: std::io::Result<std::fs::DirEntry>| {
        let status = std::fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_string())
    };
    let values: Vec<String> = threads.filter_map(value).collect();
    assert!(!values.is_empty(), "no thread has {name}");
    values
}

/// How often a process's threads have gone to sleep.
fn sleeps(child: &Running) -> u64 {
    status(child, "voluntary_ctxt_switches:")
        .iter()
        .map(|count| count.parse::<u64>().expect("a number"))
        .sum()
}

/// Whether none of them has or wants a processor.
fn all_sleep(child: &Running) -> bool {
    status(child, "State:").iter().all(|state| state.starts_with('S'))
}

/// While a program waits for the world outside, nobody wakes up to look whether there is something to do; and then
/// all are there again.
#[test]
fn workers_sleep_while_a_program_waits() {
    let program = ":- module main.\n\
        main :- io:errstream([print(started), nl, flush]), io:instream([getc(C)]), go(C).\n\
        go(C) :- integer(C) | tree(16, N), io:outstream([print(C + N), nl]).\n\
        tree(0, N) :- N = 1.\n\
        tree(D, N) :- D > 0 | D1 := D - 1, tree(D1, A), tree(D1, B), N := A + B.\n";
    let text = Text::new("waits", program.as_bytes());
    for workers in ["1", "2", "64"] {
        let mut child = Running::start(text.command(&["run", "-w", workers]).stdin(Stdio::piped()));
        wait_for_line(&mut child, "started");
        // Some threads may be late: from when all of them sleep and have slept for a while, nobody wakes up.
        let mut before = sleeps(&child);
        let settled = (0..40).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(250));
            all_sleep(&child) && before == std::mem::replace(&mut before, sleeps(&child))
        });
        assert!(settled, "{workers} workers");
        for _ in 0..4 {
            std::thread::sleep(std::time::Duration::from_millis(250));
            assert_eq!(sleeps(&child), before, "{workers} workers");
        }
        child.stdin.take().expect("piped").write_all(b"a").expect("it reads");
        let output = end(child);
        assert_eq!(stdout(&output), "+(97,65536)\n", "{}", error(&output));
    }
}
