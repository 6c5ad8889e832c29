//! Several nodes: what they send for what they do, and the heap limit of each.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::path::Path;
use std::process::Output;
use support::process::{Running, Text, end, error};

/// A program of the module `main`.
fn program(name: &str, clauses: &str) -> Text {
    Text::new(name, format!(":- module main.\n{clauses}").as_bytes())
}

/// The numbers of a line of `--stats`, one for each node.
fn counts(output: &Output, name: &str) -> Vec<u64> {
    let told = error(output);
    let line =
        told.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {told}"));
    line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

/// What it prints, and how many reads all nodes send for it.
fn reads(text: &Text, options: &[&str]) -> (String, u64) {
    // More than a pipe takes may be printed.
    let output = text.start(&[&["run", "--stats"], options].concat()).output();
    assert_eq!(output.status.code(), Some(0), "{options:?}: {}", error(&output));
    let sum = counts(&output, "sent, read").iter().sum();
    (String::from_utf8_lossy(&output.stdout).into_owned(), sum)
}

/// An answer brings as many heads as fit into it, and no references to more: each would be read by itself.
#[test]
fn a_list_of_structures_is_read_in_pieces() {
    for (name, head, pattern) in [
        ("pairs", "f(N,N)", "f(A,_)"),
        ("lists", "[N,N]", "[A|_]"),
        ("vectors", "{N,0,0,0,0,0,0,0}", "{A,_,_,_,_,_,_,_}"),
    ] {
        let text = program(
            name,
            &format!(
                "main :- make(100000,L)@node(1), walk(L,0,R), io:outstream([print(R),nl]).\n\
                 make(0,L) :- L = [].\nmake(N,L) :- N > 0 | L = [{head}|L1], N1 := N-1, make(N1,L1).\n\
                 walk([],S,R) :- R = S.\nwalk([{pattern}|L],S,R) :- S1 := S+A, walk(L,S1,R).\n"
            ),
        );
        let (printed, reads) = reads(&text, &["--nodes", "2"]);
        assert_eq!(printed, "5000050000\n", "{name}");
        assert!(reads < 6_000, "{name}: {reads} reads");
    }
}

/// What goes from node to node without end or in large pieces; each prints `done` if it comes to its end. From this
/// limit on, in MiB, those that keep little must.
const FLOODS: [(&str, u64, &str); 6] = [
    // Goals that are thrown faster than they travel.
    (
        "goals",
        8,
        "main :- throw(0).\nthrow(N) :- N < 300000 | M := N+1, next(N)@node(1), throw(M).\n\
         throw(300000) :- end(_)@node(1).\nnext(_).\nend(_) :- io:outstream([print(done),nl]).\n",
    ),
    // And back, with terms that the other node reads.
    (
        "terms",
        24,
        "main :- throw(0,1,A), throw(0,0,B)@node(1), end(A,B).\n\
         throw(N,To,R) :- N < 20000 | M := N+1, next([N,f(X)],X,Y)@node(To), go_on(Y,M,To,R).\n\
         throw(20000,_,R) :- R = done.\n\
         next([_,f(X)],Y,Z) :- X = Y, Z = 1.\n\
         go_on(_,M,To,R) :- throw(M,To,R).\n\
         end(done,done) :- io:outstream([print(done),nl]).\n",
    ),
    // Strings of a megabyte, of which one is alive at a time.
    (
        "strings",
        8,
        "main :- serve(Qs)@node(1), ask(0,Qs).\n\
         ask(100,Qs) :- Qs = [], io:outstream([print(done),nl]).\n\
         ask(N,Qs) :- N < 100 | Qs = [get(S)|Qs1], take(S,N,Qs1).\n\
         take(S,N,Qs) :- string(S,L,_) | M := N+L/L, ask(M,Qs).\n\
         serve([]).\nserve([get(S)|Qs]) :- new_string(S,1000000,8), serve(Qs).\n",
    ),
    // Goals that take long where they are thrown to.
    (
        "slow",
        u64::MAX,
        "main :- throw(0).\nthrow(N) :- N < 200000 | M := N+1, slow(20,[N,N])@node(1), throw(M).\n\
         throw(200000) :- io:outstream([print(done),nl]).\n\
         slow(0,_).\nslow(K,N) :- K > 0 | L := K-1, slow(L,N).\n",
    ),
    // Goals that wait there for ever.
    (
        "waiting",
        u64::MAX,
        "main :- throw(0,_).\nthrow(N,X) :- N < 400000 | M := N+1, waits(Y,X,N)@node(1), keep(Y), throw(M,X).\n\
         throw(400000,X) :- X = 1, io:outstream([print(done),nl]).\n\
         keep(_).\nwaits(_,1,_).\n",
    ),
    // A list whose strings are kept.
    (
        "kept",
        u64::MAX,
        "main :- make(60,L)@node(1), keep(L,[]).\n\
         make(0,L) :- L = [].\nmake(N,L) :- N > 0 | M := N-1, L = [S|L1], new_string(S,1000000,8), make(M,L1).\n\
         keep([],Kept) :- count(Kept,0).\nkeep([S|L],Kept) :- string(S,_,_) | keep(L,[S|Kept]).\n\
         count([],_) :- io:outstream([print(done),nl]).\ncount([_|Kept],N) :- M := N+1, count(Kept,M).\n",
    ),
];

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

/// With a heap limit for each node a program ends as it should, or with an error that has the limit, and takes no more
/// memory than all of them allow.
#[test]
fn the_heap_limit_of_nodes_holds_for_what_is_under_way() {
    for (name, least, clauses) in FLOODS {
        let text = program(&format!("flood-{name}"), clauses);
        for (limit, nodes, workers) in [
            (8u64, 2, 1),
            (12, 2, 1),
            (16, 2, 1),
            (16, 3, 1),
            (24, 2, 2),
            (32, 2, 1),
            (32, 8, 1),
            (48, 2, 1),
            (48, 3, 2),
        ] {
            let [heap, nodes_text, workers_text] =
                [format!("{limit}m"), format!("{nodes}"), format!("{workers}")];
            let options = ["run", "--heap-limit", &heap, "--nodes", &nodes_text, "-w", &workers_text];
            let (output, peak) = watch(text.start(&options));
            let (told, code) = (error(&output), output.status.code());
            let context = format!("{name} {limit}m {nodes} {workers}: {code:?} {told}");
            if limit >= least || code == Some(0) {
                assert_eq!((code, output.stdout.as_slice()), (Some(0), &b"done\n"[..]), "{context}");
            } else {
                assert_eq!(code, Some(255), "{context}");
                assert!(told.contains(&format!("heap limit of {limit} MiB")), "{context}");
            }
            // What a node has of terms of others, beside the heap, comes on top.
            let most = (5 * limit * nodes / 2 + 32 + 4 * nodes) << 10;
            assert!(peak <= most, "{peak} KiB, {context}");
        }
    }
}

/// Rings of a term at this node and one at the other, how many hundreds of them are made, one hundred after the other,
/// and how. All of them together take several times the heap limit of the test.
const RINGS: [(&str, u32, &str); 6] = [
    ("flat", 2500, "ring(X,A,B) :- X = a(Y), far(X,Y,A,B)@node(1).\nfar(X,Y,ok,B) :- Y = b(X), B = ok.\n"),
    (
        "deep",
        2500,
        "ring(X,A,B) :- X = a(f(g(Y))), far(X,Y,A,B)@node(1).\nfar(X,Y,ok,B) :- Y = b(h(i(X))), B = ok.\n",
    ),
    // The other begins.
    (
        "back",
        2500,
        "ring(X,A,B) :- far(X,V)@node(1), get(V,Y,A,B), X = a(f(g(Y))).\nfar(X,V) :- V = v(b(h(i(X)))).\n\
         get(v(Y0),Y,ok,B) :- Y = Y0, B = ok.\n",
    ),
    // Much here is held by little there, and the other way round.
    (
        "here",
        80,
        "ring(X,A,B) :- new_vector(V,2000), X = a(V,f(g(Y))), far(X,Y,A,B)@node(1).\n\
         far(X,Y,ok,B) :- Y = b(h(i(X))), B = ok.\n",
    ),
    (
        "there",
        80,
        "ring(X,A,B) :- X = a(f(g(Y))), far(X,Y,A,B)@node(1).\n\
         far(X,Y,ok,B) :- new_vector(V,2000), Y = b(V,h(i(X))), B = ok.\n",
    ),
    // Other nodes' rings hold much of a node that is in none.
    (
        "outside",
        80,
        "ring(_,A,B) :- new_vector(V,2000), builtin:current_node(_,T), one(V,T,A,B)@node(1).\n\
         one(V,T,A,B) :- X = a(V,Y), two(X,Y,A,B)@node(~(T-1)).\ntwo(X,Y,ok,B) :- Y = b(h(i(X))), B = ok.\n",
    ),
];

/// Garbage in rings over nodes is collected before it fills the heap.
#[test]
fn garbage_in_rings_over_nodes_fits_into_the_heap_limit() {
    for (name, hundreds, clauses) in RINGS {
        let text = program(
            &format!("ring-{name}"),
            &format!(
                "main :- loop({hundreds},R), done(R).\ndone(ok) :- io:outstream([print(done),nl]).\n\
                 loop(0,R) :- R = ok.\nloop(N,R) :- N > 0 | some(100,ok,A), next(A,N,R).\n\
                 next(ok,N,R) :- loop(~(N-1),R).\n\
                 some(0,A0,A) :- A = A0.\nsome(K,A0,A) :- K > 0 | ring(_,A0,A1), some(~(K-1),A1,A).\n{clauses}"
            ),
        );
        for options in [
            ["16m", "--nodes", "2", "-w", "1"],
            ["24m", "--nodes", "2", "-w", "2"],
            ["24m", "--nodes", "3", "-w", "1"],
            ["32m", "--nodes", "3", "-w", "3"],
        ] {
            let output = text.start(&[&["run", "--heap-limit"], &options[..]].concat()).output();
            assert_eq!(output.status.code(), Some(0), "{name} {options:?}: {}", error(&output));
            assert_eq!(output.stdout, b"done\n", "{name} {options:?}");
        }
    }
}

/// Terms that are deep to the left, to the right or in both ways, or wide: what makes one of size N.
const SHAPES: [(&str, &str); 6] = [
    (
        "left",
        "make(N,T) :- make(N,x,T).\nmake(0,T0,T) :- T = T0.\nmake(N,T0,T) :- N > 0 | make(~(N-1),f(T0,N),T).\n",
    ),
    ("right", "make(0,T) :- T = x.\nmake(N,T) :- N > 0 | T = f(N,T1), make(~(N-1),T1).\n"),
    (
        "heads",
        "make(N,T) :- make(N,x,T).\nmake(0,T0,T) :- T = T0.\nmake(N,T0,T) :- N > 0 | make(~(N-1),[T0|N],T).\n",
    ),
    ("list", "make(0,T) :- T = [].\nmake(N,T) :- N > 0 | T = [g(N,N)|T1], make(~(N-1),T1).\n"),
    (
        "vector",
        "make(N,T) :- new_vector(V,N), fill(N,V,T).\nfill(0,V,T) :- T = V.\n\
         fill(N,V,T) :- N > 0 | I := N-1, set_vector_element(V,I,_,g(N,h(N)),V1), fill(I,V1,T).\n",
    ),
    ("tree", "make(N,T) :- N > 1 | M := N/2, T = t(L,N,R), make(M,L), make(M,R).\nmake(1,T) :- T = leaf.\n"),
];

/// What goes through two terms, one of another node and one that is equal to it; each answers `yes`.
const WALKS: [(&str, &str); 4] = [
    ("unified", "walk(A,B,R) :- A = B, same(A,B,R).\n"),
    ("equal", "walk(A,B,R) :- same(A,B,R).\n"),
    ("ordered", "walk(A,B,R) :- A @>= B | R = yes.\n"),
    ("hashed", "walk(A,B,R) :- hash(A,1000000,H), hash(B,1000000,H1), H =:= H1 | R = yes.\n"),
];

const SIZE: usize = 20_000;

/// A walk fetches all of a term in a few answers, whatever its shape. (Each structure by itself would be one read.)
#[test]
fn a_term_that_is_walked_is_read_at_once() {
    for (shape, make) in SHAPES {
        for (way, walk) in WALKS {
            let text = program(
                &format!("{shape}-{way}"),
                &format!(
                    "main :- make({SIZE},A)@node(1), make({SIZE},B), walk(A,B,R), io:outstream([print(R),nl]).\n\
                     {make}{walk}same(A,A,R) :- R = yes.\n"
                ),
            );
            for options in
                [&["--nodes", "2"][..], &["--nodes", "2", "-w", "2"], &["--nodes", "3", "--balance"]]
            {
                let (printed, reads) = reads(&text, options);
                assert_eq!(printed, "yes\n", "{shape} {way} {options:?}");
                // A tree is read while it is made.
                assert!(reads < SIZE as u64 / 4, "{shape} {way} {options:?}: {reads} reads");
            }
        }
    }
}

/// The same for what is written.
#[test]
fn a_term_that_is_written_is_read_at_once() {
    for (shape, make) in SHAPES {
        let write = |node: u32| {
            let text = program(
                &format!("{shape}-written-{node}"),
                &format!("main :- make({SIZE},A)@node({node}), io:outstream([print(A),nl]).\n{make}"),
            );
            reads(&text, &["--nodes", "2"])
        };
        let ((here, _), (there, reads)) = (write(0), write(1));
        assert!(here.len() > SIZE && here == there, "{shape}");
        assert!(reads < SIZE as u64 / 4, "{shape}: {reads} reads");
    }
}

/// A program that goes through a term by itself reads more of it each time.
#[test]
fn a_term_that_a_program_copies_is_read_in_pieces() {
    let text = program(
        "copied",
        &format!(
            "main :- make({SIZE},A)@node(1), copy(A,B), make({SIZE},C), same(B,C,R), io:outstream([print(R),nl]).\n\
             {}copy(x,B) :- B = x.\ncopy(f(A,N),B) :- B = f(A1,N), copy(A,A1).\nsame(A,A,R) :- R = yes.\n",
            SHAPES[0].1
        ),
    );
    let (printed, reads) = reads(&text, &["--nodes", "2"]);
    assert_eq!(printed, "yes\n");
    assert!(reads < SIZE as u64 / 50, "{reads} reads");
}

/// A run of a program of the corpus, or another file, on a simulated machine of four nodes.
fn simulated(file: &Path, options: &[&str]) -> Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(["run", "--simulate", "multipsi:4", "--stats"]).args(options).arg(file);
    command.output().expect("the command starts")
}

/// Any node but the first dies at any time: whatever was in its shoens is done again, and nothing else.
/// `FIFTH_SEEDS=200` tries more times and nodes.
#[test]
fn a_farm_outlives_the_death_of_a_node() {
    let farm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/shoen/farm.kl1");
    let whole = error(&simulated(&farm, &[]));
    let time = whole.lines().find_map(|line| line.strip_prefix("virtual time")).expect("a figure");
    let seconds: f64 = time.trim().trim_end_matches(" s").parse().expect("a number");
    let cycles = (seconds / 200e-9) as u64;
    let seeds = std::env::var("FIFTH_SEEDS").map_or(24, |seeds| seeds.parse().expect("a number"));
    let (mut restarts, mut random) = (0, 1u64);
    for seed in 0..seeds {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
        let (node, cycle) = (1 + seed % 3, (random >> 20) % cycles);
        let crash = format!("--crash={node}@{cycle}");
        let output = simulated(&farm, &[&crash]);
        let printed = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = printed.lines().collect();
        let [sum, failed] = lines[..] else { panic!("{crash}: {output:?}") };
        assert!(output.status.success() && sum == "2496", "{crash}: {output:?}");
        restarts += failed.parse::<u64>().expect("a number");
    }
    // A job is at all nodes for most of its time.
    assert!(restarts > seeds, "{restarts} jobs were done again in {seeds} runs");
}

/// What a run does whose node 2 dies early: output, and what is said of an error.
fn dies(name: &str, clauses: &str, crash: &str) -> (String, String) {
    let text = program(name, clauses);
    let output = text.start(&["run", "--simulate", "multipsi:4", crash]).output();
    (String::from_utf8_lossy(&output.stdout).into_owned(), error(&output))
}

#[test]
fn a_death_is_an_exception_of_shoens_with_goals_there_and_ends_a_run_with_others() {
    const LOOP: &str = "loop(0).\nloop(N) :- N > 0 | M := N - 1, loop(M).\nfar(N,I) :- loop(N)@node(I).\n\
                        say(X) :- wait(X) | builtin:print(X).\n";
    let goals = |main: &str| format!("main :- {main}\n{LOOP}");
    let (early, late) = ("--crash=2@60000", "--crash=2@99000000");
    let tried = "try(far(100000,2),R), kind(R,K), say(K), loop(30000).";
    let kind = "kind(failed(exception(K,G,_)),X) :- X = [K,G].\nkind(succeeded,X) :- X = well.\n";
    let tried = goals(tried) + kind;
    assert_eq!(dies("tried", &tried, early), ("[node_lost(2),skip]\n".into(), "".into()));
    assert_eq!(dies("alive", &tried, late), ("well\n".into(), "".into()));
    // Inside: the shoen in which the goals were is told, not the one around it.
    let inner =
        goals("try(outer(R),S), say([S,R]).") + "outer(K) :- try(far(100000,2),R), kind(R,K).\n" + kind;
    let inner = inner.replace("say(X) :- wait(X)", "say([X,[_,Y]]) :- wait(X), wait(Y)");
    assert_eq!(dies("inner", &inner, early), ("succeeded\n".into(), "".into()));
    // Goals for the dead node go to the next one.
    let after = goals("try(far(100000,2),R), again(R).")
        + "again(R) :- wait(R) | where(N)@node(2), say(N).\nwhere(N) :- builtin:current_node(N,_).\n";
    assert_eq!(dies("after", &after, early), ("3\n".into(), "".into()));
    // Nobody counts goals of no shoen, and a shoen may leave it to nobody.
    let (printed, said) = dies("bare", &goals("loop(100000)@node(2), loop(100000)."), early);
    assert!(
        printed.is_empty() && said.contains("node 2 has died") && said.contains("belong to no shoen"),
        "{said}"
    );
    let unheard = goals("shoen:execute(far(100000,2),range(0,100),[raised],[],_), loop(100000).");
    let (_, said) = dies("unheard", &unheard, early);
    assert!(said.contains("node 2 has died") && said.contains("is told of node_lost"), "{said}");
    let (_, said) = dies("first", &goals("try(far(100000,2),_)."), "--crash=0@60000");
    assert!(said.contains("node 0 has died"), "{said}");
    // A node that has nothing of it may die.
    let (printed, said) = dies("idle", &goals("try(far(30000,1),R), say(R)."), early);
    assert_eq!((printed.as_str(), said.as_str()), ("succeeded\n", ""));
}

/// As at its own node: the shoen goes on, and is not blamed for a full heap.
#[test]
fn an_object_that_does_not_fit_at_another_node_is_an_exception_of_its_goal() {
    let text = program(
        "large",
        "main :- shoen:execute(both(X),[],Es), kinds(Es,K,E), show(K,E,X).\n\
         both(X) :- large@node(1), fine(X)@node(1).\n\
         large :- generic:new(vector,V,100000000), used(V).\n\
         used(_).\n\
         fine(X) :- X = 7.\n\
         kinds([started|Es],K,E) :- kinds(Es,K,E).\n\
         kinds([exception(K0,G,_,New)|Es],K,E) :- K = K0, instead(G,New), kinds(Es,K,E).\n\
         kinds([E0],_,E) :- E = E0.\n\
         instead(skip,_).\n\
         otherwise.\n\
         instead(_,New) :- New = skip.\n\
         show(K,E,X) :- wait(K), wait(E), wait(X) | io:outstream([print([K,E,X]),nl]).\n",
    );
    for nodes in ["1", "2"] {
        let output = text.start(&["run", "--heap-limit", "64m", "--nodes", nodes]).output();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "[heap_limit,terminated,7]\n",
            "{}",
            error(&output)
        );
    }
}
