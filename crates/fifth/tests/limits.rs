//! Limits hold, with any number of workers: the heap limit, address space, threads.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use support::process::{Text, end, error};

/// Programs that need ever more memory, each of its own kind. All print something first.
const GROWING: [(&str, &str); 7] = [
    ("goals", "go(N) :- N1 := N + 1, go(N1), goal(N), goal(N1).\ngoal(N) :- use(N, N).\nuse(_, _).\n"),
    (
        "forked",
        "go(N) :- fork(100, N).\nfork(0, _).\nfork(K, N) :- K > 0 | deep(N), K1 := K - 1, fork(K1, N).\ndeep(N) :- N1 := N + 1, deep(N1), goal(N), goal(N1).\ngoal(N) :- use(N, N).\nuse(_, _).\n",
    ),
    ("bucket", "go(N) :- later(N)@lower_priority, N1 := N + 1, go(N1).\nlater(_).\n"),
    (
        "buckets",
        "go(N) :- high(N)@priority(2000000000).\nhigh(N) :- later(N)@priority(N), N1 := N + 1, high(N1).\nlater(_).\n",
    ),
    (
        "list",
        "go(N) :- numbers(N, Ns), keep(Ns, Ns).\nnumbers(N, Ns) :- Ns = [N|Ns1], N1 := N + 1, numbers(N1, Ns1).\nkeep([_|Ns], All) :- keep(Ns, All).\n",
    ),
    ("waiting", "go(N) :- go(N, _X).\ngo(N, X) :- waits(X, N), N1 := N + 1, go(N1, X).\nwaits(a, _).\n"),
    ("vectors", "go(N) :- go(N, []).\ngo(N, Vs) :- new_vector(V, 10000), N1 := N + 1, go(N1, [V|Vs]).\n"),
];

fn growing(name: &str, clauses: &str) -> Text {
    let text = format!(":- module main.\nmain :- io:outstream([print(started), nl]), go(0).\n{clauses}");
    Text::new(name, text.as_bytes())
}

/// The end of a child, and the most memory that it was seen to have, in KiB.
fn watch(mut child: Child) -> (Output, u64) {
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = most.and_then(|kibibytes| kibibytes.trim().parse().ok()).unwrap_or(0).max(peak);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    (end(child), peak)
}

/// What was printed is there, and the error has figures and names the goal that was next.
#[test]
fn the_heap_limit_holds_with_any_number_of_workers() {
    for (name, clauses) in GROWING {
        let text = growing(name, clauses);
        for workers in ["1", "2", "8"] {
            let options = ["run", "--heap-limit", "32m", "-w", workers];
            let (output, peak) = watch(text.command(&options).spawn().expect("it starts"));
            let told = error(&output);
            assert_eq!(
                (output.status.code(), output.stdout.as_slice()),
                (Some(255), &b"started\n"[..]),
                "{name} {workers}: {told}"
            );
            assert!(
                told.contains("heap limit of 32 MiB") && told.contains("NEXT: "),
                "{name} {workers}: {told}"
            );
            // A collection needs what is live twice; there are nurseries, and the compiler.
            assert!(peak < 8 * (32 << 10), "{name} {workers}: {peak} KiB");
        }
    }
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
            let output = end(text.command(&options).spawn().expect("it starts"));
            assert_eq!(output.status.code(), Some(0), "{name} {workers}: {}", error(&output));
        }
    }
}

const FINE: &str = ":- module main.\nmain :- tree(12, N), io:outstream([print(N), nl]).\n\
    tree(0, N) :- N = 1.\ntree(D, N) :- D > 0 | D1 := D - 1, tree(D1, A), tree(D1, B), N := A + B.\n";

/// The command under `ulimit -v`.
fn limited(kibibytes: u32, text: &Text, options: &[&str]) -> Output {
    let script = format!("ulimit -v {kibibytes} && exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_fifth"), "run"]).args(options).arg(&text.0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    end(command.spawn().expect("it starts"))
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
