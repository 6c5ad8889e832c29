//! Several nodes: what they send for what they do, and the heap limit of each.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::process::Output;
use support::process::{Running, Text, end, error};

/// A program of the module `main`.
fn program(name: &str, clauses: &str) -> Text {
    Text::new(name, format!(":- module main.\n{clauses}").as_bytes())
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
            let most = (2 * limit * nodes + 32 + 4 * nodes) << 10;
            assert!(peak <= most, "{peak} KiB, {context}");
        }
    }
}
