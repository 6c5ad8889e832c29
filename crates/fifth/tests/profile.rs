//! `--profile` and `--perf-map`: times by predicate and line, whatever the program does.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Its time goes to line 4, to a builtin of line 7 and to the collector.
const PROGRAM: &str = "\
:- module main.
main :- fib(33, N), lists:range(1, 60000, Xs), sorts(12, Xs, Ys), lists:length(Ys, M), io:outstream([print(N), putc(32), print(M), nl]).
fib(N, R) :- N < 2 | R = N.
fib(N, R) :- N >= 2 | N1 := N - 1, N2 := N - 2, fib(N1, A), fib(N2, B), R := A + B.

sorts(0, Xs, Ys) :- Ys = Xs.
sorts(N, Xs, Ys) :- N > 0 | strings:repeat(300000, \"word \", S), strings:trim(S, _), N1 := N - 1, lists:reverse(Xs, Zs), sorts(N1, Zs, Ys).
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fifth-profile-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        std::fs::write(path.join("p.kl1"), PROGRAM).expect("a temporary file");
        Folder(path)
    }
    fn fifth(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.args(arguments).current_dir(&self.0).output().expect("fifth runs")
    }
    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is only litter.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn right(output: &Output) {
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3524578 60000\n");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn folded_lines_name_predicates_lines_and_what_is_apart() {
    let folder = Folder::new("folded");
    for workers in ["1", "2"] {
        // The clock counts processor time, but a run may be over before it has rung often.
        let found = (0..20).any(|_| {
            right(&folder.fifth(&["run", "-w", workers, "--profile", "out.folded", "p.kl1"]));
            let text = String::from_utf8(folder.read("out.folded")).expect("a text");
            for line in text.lines() {
                let (place, rings) = line.rsplit_once(' ').expect("a number stands behind the place");
                assert!(rings.parse::<u64>().is_ok_and(|rings| rings > 0), "{line}");
                let apart = ["gc", "idle", "scheduler", "runtime", "runtime;builtin"].contains(&place);
                assert!(apart || place.contains(';') && !place.contains("line 0"), "{line}");
            }
            text.contains("main;fib/2;line 4 ")
        });
        assert!(found, "{workers} workers");
    }
}

#[test]
fn pprof_gets_a_compressed_file_with_names_and_files() {
    let folder = Folder::new("pprof");
    for name in ["out.pb.gz", "out.pprof"] {
        let found = (0..20).any(|_| {
            right(&folder.fifth(&["run", "-w", "1", "--profile", name, "p.kl1"]));
            let file = folder.read(name);
            assert_eq!(file[..3], [0x1f, 0x8b, 8]);
            let has = |text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(has("nanoseconds"));
            has("main:fib/2") && has("p.kl1")
        });
        assert!(found, "{name}");
    }
}

#[test]
fn a_module_of_the_programs_own_is_not_the_librarys() {
    let folder = Folder::new("own");
    let text = ":- module main.\nmain :- strings:mine(X), csv:rows(\"a,b\\n\",normal([[_,B]])), io:outstream([print([X,B]),nl]).\n\
                :- module strings.\nmine(X) :- X = 1.\n";
    std::fs::write(folder.0.join("own.kl1"), text).expect("a temporary file");
    for options in [&["run", "own.kl1"][..], &["run", "--profile", "out.folded", "own.kl1"]] {
        let output = folder.fifth(options);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[1,\"b\"]\n", "{output:?}");
    }
}

#[test]
fn each_node_of_a_process_is_profiled() {
    let folder = Folder::new("nodes");
    right(&folder.fifth(&["run", "--nodes", "2", "--profile", "out.folded", "p.kl1"]));
    assert!(!folder.read("out.folded").is_empty());
}

#[test]
fn perf_finds_the_names_of_code() {
    let folder = Folder::new("perf");
    let child = Command::new(env!("CARGO_BIN_EXE_fifth"))
        .args(["run", "--perf-map", "p.kl1"])
        .current_dir(&folder.0)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("fifth runs");
    let path = format!("/tmp/perf-{}.map", child.id());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let map = std::fs::read_to_string(Path::new(&path)).expect("the map is there");
    std::fs::remove_file(&path).expect("it can be removed");
    let mut end = 0;
    for line in map.lines() {
        let mut parts = line.splitn(3, ' ');
        let mut number = || usize::from_str_radix(parts.next().unwrap_or_default(), 16).expect("a number");
        let (start, size) = (number(), number());
        assert!(start >= end && size > 0, "{line}");
        end = start + size;
    }
    assert!(map.contains(" main:fib/2\n") && map.contains(" lists:reverse/3\n"), "{map}");
}
