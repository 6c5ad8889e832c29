//! Limits hold, with any number of workers: the heap limit, address space, threads.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use support::process::{Running, Text, end, error};

/// Programs that need ever more memory, each of its own kind. All print something first.
const GROWING: [(&str, &str); 12] = [
    ("goals", "go(N) :- N1 := N + 1, go(N1), goal(N), goal(N1).\ngoal(N) :- use(N, N).\nuse(_, _).\n"),
    (
        "forked",
        "go(N) :- fork(100, N).\nfork(0, _).\nfork(K, N) :- K > 0 | deep(N), K1 := K - 1, fork(K1, N).\ndeep(N) :- N1 := N + 1, deep(N1), goal(N), goal(N1).\ngoal(N) :- use(N, N).\nuse(_, _).\n",
    ),
    ("bucket", "go(N) :- later(N)@lower_priority, N1 := N + 1, go(N1).\nlater(_).\n"),
    // A worker that runs one makes two more: so other workers cannot do them as fast as they are made.
    (
        "buckets",
        "go(N) :- high(N)@priority(2000000000).\nhigh(N) :- later(N)@priority(N), N1 := N + 1, high(N1).\n\
         later(N) :- N1 := N + 1000003, N2 := N + 2000003, later(N1)@priority(N1), later(N2)@priority(N2).\n",
    ),
    (
        "list",
        "go(N) :- numbers(N, Ns), keep(Ns, Ns).\nnumbers(N, Ns) :- Ns = [N|Ns1], N1 := N + 1, numbers(N1, Ns1).\nkeep([_|Ns], All) :- keep(Ns, All).\n",
    ),
    ("waiting", "go(N) :- go(N, _X).\ngo(N, X) :- waits(X, N), N1 := N + 1, go(N1, X).\nwaits(a, _).\n"),
    (
        "many-variables",
        "go(N) :- go(N, []).\ngo(N, Xs) :- waits(X, N), N1 := N + 1, go(N1, [X|Xs]).\nwaits(a, _).\n",
    ),
    ("vectors", "go(N) :- go(N, []).\ngo(N, Vs) :- new_vector(V, 10000), N1 := N + 1, go(N1, [V|Vs]).\n"),
    (
        "small-vectors",
        "go(N) :- go(N, []).\ngo(N, Vs) :- new_vector(V, 100), set_vector_element(V, 3, _, N, V1), N1 := N + 1, \
         go(N1, [V1|Vs]).\n",
    ),
    ("strings", "go(N) :- go(N, []).\ngo(N, Ss) :- new_string(S, 500, 8), N1 := N + 1, go(N1, [S|Ss]).\n"),
    // Objects of all kinds.
    (
        "mixed",
        "go(N) :- go(N, []).\n\
         go(N, Ts) :- new_vector(V, 2000), new_string(S, 100, 8), tree(6, T), waits(X, N), N1 := N + 1, \
             go(N1, [f(V, S, X, T)|Ts]).\n\
         tree(0, T) :- T = leaf.\n\
         tree(D, T) :- D > 0 | D1 := D - 1, T = tree(A, D, B), tree(D1, A), tree(D1, B).\n\
         waits(a, _).\n",
    ),
    (
        "trees",
        "go(N) :- fork(100, N).\nfork(0, _).\nfork(K, N) :- K > 0 | tree(30, T), hold(T, T), K1 := K - 1, fork(K1, N).\n\
         tree(0, T) :- T = leaf.\n\
         tree(D, T) :- D > 0 | D1 := D - 1, T = tree(A, D, B), tree(D1, A), tree(D1, B).\n\
         hold(leaf, _).\nhold(tree(A, _, _), T) :- hold(A, T).\n",
    ),
];

fn growing(name: &str, clauses: &str) -> Text {
    let text = format!(":- module main.\nmain :- io:outstream([print(started), nl]), go(0).\n{clauses}");
    Text::new(name, text.as_bytes())
}

/// The end of a child, and the most memory that it was seen to have, in KiB.
fn watch(mut child: Running) -> (Output, u64) {
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = most.and_then(|kibibytes| kibibytes.trim().parse().ok()).unwrap_or(0).max(peak);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    (end(child), peak)
}

/// KiB that a process may have at most under a heap limit of this many MiB.
fn most(limit: u64) -> u64 {
    (2 * limit + 32) << 10
}

/// What was printed is there, and the error has figures and names the goal that was next.
#[test]
fn the_heap_limit_holds_with_any_number_of_workers() {
    for (name, clauses) in GROWING {
        let text = growing(name, clauses);
        for (limit, workers) in [(32, "1"), (32, "2"), (32, "8"), (64, "1"), (64, "8")] {
            let (output, peak) =
                watch(text.start(&["run", "--heap-limit", &format!("{limit}m"), "-w", workers]));
            let told = error(&output);
            assert_eq!(
                (output.status.code(), output.stdout.as_slice()),
                (Some(255), &b"started\n"[..]),
                "{name} {workers}: {told}"
            );
            assert!(
                told.contains(&format!("heap limit of {limit} MiB")) && told.contains("NEXT: "),
                "{name} {workers}: {told}"
            );
            assert!(peak <= most(limit), "{name} {limit}m {workers}: {peak} KiB");
        }
    }
}

/// What the runtime keeps for each goal that waits, beside the heap, counts: there are millions.
#[test]
fn the_bound_holds_for_millions_of_goals_that_wait() {
    for (name, clauses) in
        GROWING.into_iter().filter(|(name, _)| ["waiting", "many-variables"].contains(name))
    {
        let text = growing(&format!("{name}-large"), clauses);
        let (output, peak) = watch(text.start(&["run", "--heap-limit", "512m", "-w", "2"]));
        let told = error(&output);
        assert!(told.contains("heap limit of 512 MiB"), "{name}: {told}");
        assert!(peak <= most(512), "{name}: {peak} KiB");
    }
}

/// Five sixths of the limit that live all the time, beside garbage: nurseries shrink, and all of it goes on.
#[test]
fn what_nearly_fills_the_limit_has_room() {
    let clauses = "go(_) :- list(3500000, Ls), len(Ls, 0, L), churn(L, Ls).\n\
        list(N, Ls) :- N > 0 | Ls = [N|Ls1], N1 := N - 1, list(N1, Ls1).\nlist(0, Ls) :- Ls = [].\n\
        len([_|Ls], L0, L) :- L1 := L0 + 1, len(Ls, L1, L).\nlen([], L0, L) :- L = L0.\n\
        churn(L, Ls) :- wait(L) | churn(1000000, [], A), end(A, Ls).\n\
        churn(0, A, X) :- X = A.\nchurn(K, _, X) :- K > 0 | K1 := K - 1, churn(K1, [K, K, K, K], X).\n\
        end([_|_], Ls) :- len(Ls, 0, L), io:outstream([print(L), nl]).\n";
    let text = growing("nearly", clauses);
    for workers in ["1", "2", "8"] {
        let (output, peak) = watch(text.start(&["run", "--heap-limit", "64m", "-w", workers]));
        assert_eq!(output.status.code(), Some(0), "{workers}: {}", error(&output));
        assert_eq!(output.stdout, b"started\n3500000\n", "{workers}");
        assert!(peak <= most(64), "{workers}: {peak} KiB");
    }
}

/// The messages of a writer that never waits are served while it goes on: all of them would not fit.
#[test]
fn a_long_writer_keeps_no_list() {
    let clauses = "go(_) :- klicio:klicio([write_open(\"/dev/null\",normal(S))]),\n\
            write(2000000, S, [fflush(R)]), end(R).\n\
        write(0, S, T) :- S = T.\nwrite(N, S, T) :- N > 0 | S = [putc(N)|S1], N1 := N - 1, write(N1, S1, T).\n\
        end(R) :- wait(R) | io:outstream([print(R), nl]).\n";
    let text = growing("writer", clauses);
    let (output, peak) = watch(text.start(&["run", "--heap-limit", "32m", "-w", "1"]));
    assert_eq!(output.stdout, b"started\n0\n", "{}", error(&output));
    assert!(peak <= most(32), "{peak} KiB");
}

/// A stack that has been deep is no longer a part of what is in use, and neither is a bucket that has been full.
#[test]
fn memory_of_goals_is_given_back() {
    // Each of the four rounds takes more than half of the limit in goals, then about as much in a list.
    let rounds = "go(N) :- N < 4 | goals(400000, B), after(B, N).\ngo(4).\n\
        after(B, N) :- wait(B) | list(1500000, Ls), len(Ls, 0, L), next(L, N).\n\
        next(L, N) :- wait(L) | N1 := N + 1, go(N1).\n\
        list(N, Ls) :- N > 0 | Ls = [N|Ls1], N1 := N - 1, list(N1, Ls1).\nlist(0, Ls) :- Ls = [].\n\
        len([_|Ls], L0, L) :- L1 := L0 + 1, len(Ls, L1, L).\nlen([], L0, L) :- L = L0.\n";
    let deep = "goals(N, B) :- N > 0 | N1 := N - 1, goals(N1, B1), pass(B1, B, N, N, N, N, N, N).\ngoals(0, B) :- B = 0.\n\
        pass(B1, B, _, _, _, _, _, _) :- B = B1.\n";
    let bucket = "goals(N, B) :- N > 0 | pass(B, B1, N, N, N, N, N, N)@lower_priority, N1 := N - 1, goals(N1, B1).\n\
        goals(0, B) :- B = 0.\npass(B, B1, _, _, _, _, _, _) :- B = B1.\n";
    for (name, goals) in [("deep", deep), ("full", bucket)] {
        let text = growing(name, &format!("{rounds}{goals}"));
        for workers in ["1", "2", "8"] {
            let options = ["run", "--heap-limit", "48m", "-w", workers];
            let output = end(text.start(&options));
            assert_eq!(output.status.code(), Some(0), "{name} {workers}: {}", error(&output));
        }
    }
}

/// A process that waits for its next message or for a flag leaves nothing at the flag when the message comes.
#[test]
fn to_wait_for_one_of_two_takes_no_more_and_more_memory() {
    let clauses = "go(_) :- process(Ms, Flag, Flag), messages(400000, Ms).\n\
        messages(0, Ms) :- Ms = [].\n\
        messages(N, Ms) :- N > 0 | Ms = [N|Ms1], N1 := N - 1, messages(N1, Ms1).\n\
        process(_, [], _) :- io:outstream([print(flag), nl]).\n\
        process([], _, _) :- io:outstream([print(done), nl]).\n\
        process([_|Ms], Flag, F) :- process(Ms, Flag, F).\n";
    let text = growing("flag", clauses);
    for workers in ["1", "2", "8"] {
        let output = end(text.start(&["run", "--heap-limit", "24m", "-w", workers]));
        assert_eq!(output.status.code(), Some(0), "{workers}: {}", error(&output));
        assert_eq!(output.stdout, b"started\ndone\n", "{workers}");
    }
}

/// What makes objects of megabytes, none of which needs more than the limit if garbage goes first, and what it prints.
const LARGE: [(&str, &str, &str, &str); 3] = [
    // A vector that is old when it is no longer needed.
    (
        "old",
        "32m",
        "go(N) :- new_vector(V, 3500000), keep(V, N).\n\
         keep(V, N) :- N < 6, vector(V, _) | churn(40000, [], X), next(X, V, N).\n\
         keep(V, 6) :- vector(V, _) | io:outstream([print(done), nl]).\n\
         churn(0, A, X) :- X = A.\nchurn(K, _, X) :- K > 0 | K1 := K - 1, churn(K1, [K], X).\n\
         next([_], V, N) :- vector(V, _) | N1 := N + 1, new_vector(W, 3500000), keep(W, N1).\n",
        "done",
    ),
    // All that one reduction makes is garbage in the next.
    (
        "four",
        "40m",
        "go(10) :- io:outstream([print(done), nl]).\n\
         go(N) :- N < 10 | new_vector(A, 1000000), new_vector(B, 1000000), new_vector(C, 1000000), new_vector(D, 1000000), \
             N1 := N + 1, use(A, B, C, D, N1).\n\
         use(A, B, C, D, N) :- vector(A, _), vector(B, _), vector(C, _), vector(D, _) | go(N).\n",
        "done",
    ),
    // An update in place needs no room for a copy.
    (
        "update",
        "48m",
        "go(N) :- new_vector(V, 5000000), update(N, V).\n\
         update(1000, V) :- vector_element(V, 7, E, _), io:outstream([print(E), nl]).\n\
         update(N, V) :- N < 1000 | N1 := N + 1, set_vector_element(V, 7, N, V1), update(N1, V1).\n",
        "999",
    ),
];

#[test]
fn a_large_object_is_not_refused_while_there_is_garbage() {
    for (name, limit, clauses, last) in LARGE {
        let text = growing(&format!("large-{name}"), clauses);
        for workers in ["1", "2", "8"] {
            let options = ["run", "--heap-limit", limit, "-w", workers];
            let (output, peak) = watch(text.start(&options));
            let told = error(&output);
            assert_eq!(output.status.code(), Some(0), "{name} {workers}: {told}");
            assert_eq!(output.stdout, format!("started\n{last}\n").as_bytes(), "{name} {workers}");
            let most: u64 = limit.trim_end_matches('m').parse().expect("mebibytes");
            // The nurseries and the compiler take the rest.
            assert!(peak < (most + 32) << 10, "{name} {workers}: {peak} KiB");
        }
    }
}

/// Two thirds of the limit that stay alive, and then a second object of that size.
#[test]
fn an_object_for_which_no_garbage_makes_room_is_refused() {
    let text = growing(
        "large-refused",
        "go(_) :- new_vector(V, 2500000), new_vector(W, 2500000), both(V, W).\n\
         both(V, W) :- vector(V, _), vector(W, _) | io:outstream([print(both), nl]).\n",
    );
    for workers in ["1", "2"] {
        let options = ["run", "--heap-limit", "32m", "-w", workers];
        let output = end(text.start(&options));
        let told = error(&output);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(255), &b"started\n"[..]),
            "{told}"
        );
        assert!(
            told.contains("an object of 2500008 words does not fit into the heap limit of 32 MiB"),
            "{told}"
        );
        assert!(told.contains("new_vector(_1,2500000)") && told.contains(".kl1:3"), "{told}");
    }
}

/// The first fills the heap alone, the second beside one that has it for itself, the third inside another one, which is
/// not blamed.
#[test]
fn a_shoen_that_fills_the_heap_is_dropped_and_others_go_on() {
    let text = growing(
        "shoen",
        "go(_) :- try(grows([]), A), kind(A, KA), second(KA, B), kind(B, KB), third(KB, C), \
            io:outstream([print([KA, KB, C]), nl]).\n\
         second(K, B) :- wait(K) | try(waits(_), _), try(both, B).\n\
         third(K, C) :- wait(K) | try(inner, R), kind(R, C).\n\
         inner :- try(grows([]), R), kind(R, K), is(K).\nis(heap_limit).\nwaits(1).\n\
         both :- grows([]), grows([]).\ngrows(L) :- grows([x | L]).\n\
         kind(failed(exception(K, _, _)), R) :- R = K.\notherwise.\nkind(R, K) :- K = R.\n",
    );
    for workers in ["1", "2", "4"] {
        let output = end(text.start(&["run", "--heap-limit", "64m", "-w", workers]));
        let (said, told) = (String::from_utf8_lossy(&output.stdout).into_owned(), error(&output));
        assert_eq!(said, "started\n[heap_limit,heap_limit,succeeded]\n", "{workers}: {told}");
    }
}

/// Products of 4 and 8 MB. In a guard, too, garbage is no reason to have none, and what fits nowhere is an error: no
/// other clause is taken.
#[test]
fn integers_for_which_there_is_no_room_are_refused_and_no_others() {
    let guard = "go(_) :- X := 1 << 30000000, go(X, 0).\n\
        go(X, N) :- N < 20, X * X > 0 | N1 := N + 1, go(X, N1).\n\
        go(_, 20) :- io:outstream([print(done), nl]).\n\
        otherwise.\ngo(_, _) :- io:outstream([print(other), nl]).\n";
    let body = "go(_) :- X := 1 << 30000000, go(X, 0).\n\
        go(X, N) :- N < 20 | Y := X * X, next(Y, X, N).\n\
        go(_, 20) :- io:outstream([print(done), nl]).\n\
        next(Y, X, N) :- Y > 0 | N1 := N + 1, go(X, N1).\n";
    for (name, clauses) in [("guard", guard), ("body", body)] {
        let text = growing(&format!("integers-{name}"), clauses);
        for workers in ["1", "2"] {
            let run = |limit| end(text.start(&["run", "--heap-limit", limit, "-w", workers]));
            let output = run("16m");
            let told = error(&output);
            assert_eq!(output.status.code(), Some(0), "{name} {workers}: {told}");
            assert_eq!(output.stdout, b"started\ndone\n", "{name} {workers}: {told}");
            let output = run("6m");
            let told = error(&output);
            assert_eq!(output.status.code(), Some(255), "{name} {workers}: {told}");
            assert_eq!(output.stdout, b"started\n", "{name} {workers}: {told}");
            assert!(
                told.contains("an object of 937500 words does not fit into the heap limit of 6 MiB"),
                "{told}"
            );
        }
    }
}

/// Goals on millions of levels of priority: what the levels take counts in time.
#[test]
fn many_priorities_do_not_pass_the_limit_by_much() {
    let (_, clauses) = GROWING.iter().find(|(name, _)| *name == "buckets").expect("it is there");
    let text = growing("levels", clauses);
    let (output, peak) = watch(text.start(&["run", "--heap-limit", "128m", "-w", "2"]));
    assert_eq!(output.status.code(), Some(255), "{}", error(&output));
    assert!(peak < 160 << 10, "{peak} KiB");
}

/// Were each goal to look at all that wait for the same variable, they would take hours.
#[test]
fn a_report_of_very_many_goals_that_wait_for_one_variable_has_an_end() {
    let clauses = "go(_) :- all(1000000, X), first(_, X).\n\
        all(0, _).\nall(N, X) :- N > 0 | N1 := N - 1, waits(X, N), all(N1, X).\n\
        waits(a, _).\nfirst(a, X) :- X = a.\n";
    let output = end(growing("many", clauses).start(&["run", "-w", "1"]));
    let told = error(&output);
    assert_eq!(output.status.code(), Some(255), "{told}");
    assert!(
        told.contains("1000001 goals wait") && told.contains("_2, which main:first(_1,_2) holds"),
        "{told}"
    );
}

const FINE: &str = ":- module main.\nmain :- tree(12, N), io:outstream([print(N), nl]).\n\
    tree(0, N) :- N = 1.\ntree(D, N) :- D > 0 | D1 := D - 1, tree(D1, A), tree(D1, B), N := A + B.\n";

/// A run under `ulimit -v`.
fn limited(kibibytes: u32, text: &Text, options: &[&str]) -> Output {
    limited_command(kibibytes, text, &[&["run"], options].concat())
}

/// The command under `ulimit -v`.
fn limited_command(kibibytes: u32, text: &Text, options: &[&str]) -> Output {
    let mut command = in_address_space(kibibytes);
    end(Running::start(command.args(options).arg(&text.0)))
}

/// The command, without arguments yet.
fn in_address_space(kibibytes: u32) -> Command {
    let script = format!("ulimit -v {kibibytes} && exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_fifth")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn less_address_space_is_a_smaller_heap_and_fewer_workers() {
    let text = Text::new("limited", FINE.as_bytes());
    for (kibibytes, options) in [
        (64_000_000, &["-w", "8"][..]),
        (4_000_000, &["-w", "8"]),
        (4_000_000, &[]),
        (1_500_000, &["-w", "2"]),
        (1_100_000, &["-w", "1"]),
        (1_100_000, &[]),
    ] {
        let output = limited(kibibytes, &text, options);
        assert_eq!(output.status.code(), Some(0), "{kibibytes} {options:?}: {}", error(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4096\n");
    }
    for (kibibytes, options) in [(500_000, &[][..]), (1_100_000, &["-w", "8"])] {
        let output = limited(kibibytes, &text, options);
        assert_eq!(output.status.code(), Some(2), "{kibibytes} {options:?}: {}", error(&output));
        assert!(error(&output).contains("ulimit -v"), "{}", error(&output));
        assert_eq!(error(&output).contains("--workers N"), !options.is_empty(), "{}", error(&output));
    }
}

/// Nothing runs, so no heap is reserved.
#[test]
fn a_check_needs_little_address_space() {
    let text = Text::new("checked", FINE.as_bytes());
    let output = limited_command(100_000, &text, &["check"]);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    let output = limited_command(100_000, &text, &["run"]);
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
}

/// The command, and a program whose text takes the compiler hundreds of megabytes.
#[test]
fn no_limit_of_address_space_ends_in_a_signal() {
    let large = format!(":- module main.\nmain :- p([{}1]).\np(_).\n", "f(X,1),".repeat(150_000));
    let (large, small) =
        (Text::new("large-text", large.as_bytes()), Text::new("small-text", FINE.as_bytes()));
    // With less the system cannot load the executable: it ends before Fifth's first instruction.
    let is_loaded = |&mebibytes: &u32| {
        let output = end(Running::start(in_address_space(mebibytes << 10).arg("--version")));
        output.status.success()
    };
    let first = (20..=120).step_by(20).find(is_loaded).expect("it starts in 120 MiB");
    let mut refused = 0;
    for mebibytes in (first..1300).step_by(20) {
        let all = [
            (&small, &["run"][..]),
            (&small, &["run", "-w", "2"]),
            (&large, &["check"]),
            (&large, &["run", "-w", "1"]),
        ];
        let some = if mebibytes < 800 || mebibytes % 160 == 0 { 4 } else { 2 };
        for (text, options) in &all[..some] {
            let output = limited_command(mebibytes << 10, text, options);
            let (code, told) = (output.status.code(), error(&output));
            assert!(matches!(code, Some(0 | 2 | 255)), "{mebibytes} {options:?}: {:?} {told}", output.status);
            assert_eq!(code == Some(0), told.is_empty(), "{mebibytes} {options:?}: {told}");
            assert!(told.is_empty() || told.contains("refuse"), "{mebibytes} {options:?}: {told}");
            refused += u32::from(code == Some(255) && told.contains("the system refuses more memory"));
        }
    }
    assert!(refused >= 2, "{refused}");
}

#[test]
fn programs_that_grow_meet_a_limit_in_little_address_space() {
    for (name, clauses) in GROWING {
        let text = growing(&format!("{name}-limited"), clauses);
        for workers in ["1", "2"] {
            let output = limited(1_500_000, &text, &["-w", workers]);
            let told = error(&output);
            assert_eq!(
                (output.status.code(), output.stdout.as_slice()),
                (Some(255), &b"started\n"[..]),
                "{name} {workers}: {told}"
            );
            assert!(
                told.contains("heap limit of ") || told.contains("refuses more memory for goals"),
                "{told}"
            );
        }
    }
}

/// Nobody limits the superuser's threads: then another user runs a copy of the command.
#[test]
fn refused_threads_are_fewer_workers_or_an_error() {
    let text = Text::new("threads", FINE.as_bytes());
    let copy = text.0.with_extension("copy");
    std::fs::copy(env!("CARGO_BIN_EXE_fifth"), &copy).expect("a copy");
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).expect("its owner");
    std::fs::set_permissions(&text.0, PermissionsExt::from_mode(0o644)).expect("its owner");
    let superuser = std::fs::metadata("/proc/self").expect("/proc").uid() == 0;
    let run = |options: &[&str], variable: &str| {
        let mut command = Command::new("prlimit");
        command.arg("--nproc=1:1").arg(&copy).arg("run").args(options).arg(&text.0);
        command.env("FIFTH_WORKERS", variable).current_dir("/");
        if superuser {
            let nobody_else = 200_000 + std::process::id();
            command.uid(nobody_else).gid(nobody_else);
        }
        command.output().expect("prlimit starts")
    };
    for (options, variable) in [(&[][..], ""), (&["-w", "1"], "8")] {
        let output = run(options, variable);
        assert_eq!(output.status.code(), Some(0), "{}", error(&output));
        assert_eq!((output.stdout.as_slice(), error(&output).as_str()), (&b"4096\n"[..], ""));
    }
    for (options, variable) in [(&["-w", "8"][..], ""), (&["-w", "2"], "1"), (&[], "2")] {
        let output = run(options, variable);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{options:?}");
        let told = error(&output);
        assert!(told.contains("refuses the threads for ") && told.contains("--workers N"), "{told}");
    }
    std::fs::remove_file(copy).expect("it is there");
}
