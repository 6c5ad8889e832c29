//! The REPL as somebody types into it: on a pseudo-terminal, through a pipe, and with files.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use support::process::{Running, end, error};

/// A folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fifth-terminal-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a temporary folder");
        fs::write(&path, text).expect("a temporary file");
        path.to_str().expect("a plain path").to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is only litter.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The REPL, whose history has a folder that is not there.
fn repl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(["repl", "--workers", "1"]).args(arguments);
    command.env("HOME", "/nonexistent").env_remove("XDG_STATE_HOME");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What it says when this is typed.
fn typed(arguments: &[&str], text: &[u8]) -> Output {
    let mut child = Running::start(&mut repl(arguments));
    child.stdin.take().expect("piped").write_all(text).expect("it reads");
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    output
}

/// What it prints, and what it complains of.
fn said(arguments: &[&str], text: &str) -> (String, String) {
    let output = typed(arguments, text.as_bytes());
    (String::from_utf8_lossy(&output.stdout).into_owned(), error(&output))
}

/// A session on a pseudo-terminal, by the command `script` of util-linux.
struct Session {
    child: Running,
    pieces: Receiver<Vec<u8>>,
    /// Shown, and not looked at yet.
    shown: Vec<u8>,
}

impl Session {
    fn new(variables: &[(&str, &str)]) -> Session {
        let line = format!("'{}' repl --workers 1", env!("CARGO_BIN_EXE_fifth"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        command.env("TERM", "xterm").env("HOME", "/nonexistent").env_remove("XDG_STATE_HOME");
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().for_each(|name| _ = command.env_remove(name));
        command.envs(variables.iter().copied());
        let mut child =
            Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut out = child.stdout.take().expect("piped");
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut piece) {
                if sender.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut session = Session { child, pieces, shown: Vec::new() };
        session.wait_for(b"fifth> ");
        session
    }
    /// What is shown up to this.
    fn wait_for(&mut self, text: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.shown.windows(text.len()).position(|window| window == text) {
                return self.shown.drain(..at + text.len()).collect();
            }
            let Ok(piece) = self.pieces.recv_timeout(Duration::from_secs(60)) else {
                let text = String::from_utf8_lossy(text).into_owned();
                panic!("no {text:?} in {:?}", String::from_utf8_lossy(&self.shown));
            };
            self.shown.extend(piece);
        }
    }
    fn send(&mut self, text: &[u8]) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(text).and_then(|()| input.flush()).expect("it reads");
    }
    /// Types a line, waits for something that it leads to, and then for the next prompt.
    fn line(&mut self, text: &str, wanted: &str) {
        self.send(text.as_bytes());
        self.send(b"\r");
        self.wait_for(wanted.as_bytes());
        self.wait_for(b"fifth> ");
    }
    /// Its exit code.
    fn end(mut self) -> Option<i32> {
        self.send(b":quit\r");
        end(self.child).status.code()
    }
}

#[test]
fn a_session_on_a_terminal() {
    let mut session = Session::new(&[]);
    session.line("help", "hint: `:help` explains");
    session.line("quit", "hint: `:quit` leaves");
    session.line("main", "hint: goals and clauses end with a point: `main.`");
    session.line("1+2.", "\n3\r\n");
    session.line("X = f(Y,Z).", "X = f(_1,_2)\r\nY = _1\r\nZ = _2\r\n");
    session.line("main.", "there is no predicate main/0");
    // A clause in three lines, with a prompt of their own.
    session.send(b"twice(X, Y) :-\r");
    session.wait_for(b"     | ");
    session.send(b"  Y := 2\r");
    session.wait_for(b"     | ");
    session.line("  * X.", "\r\n");
    session.line("twice(21, Y).", "Y = 42\r\n");
    session.line("twice(X, Y) :- Y := X + X + 1.", "twice/2 is defined anew");
    session.line("?- twice(21, Y).", "Y = 43\r\n");
    // Recalled and edited: the arrow up, a Backspace for the point.
    session.line("\x1b[A\x7f, Z = Y.", "Z = 43\r\n");
    // Ctrl-C abandons what is typed.
    session.send(b"lost(X) :-\r");
    session.wait_for(b"     | ");
    session.send(b"\x03");
    session.wait_for(b"fifth> ");
    session.line(":list", "twice(X, Y) :- Y := X + X + 1.\r\n");
    assert_eq!(session.end(), Some(0));
    assert!(!PathBuf::from("/nonexistent").exists(), "a home was made");
}

/// The editor reads UTF-8 only. Where the environment names another encoding, lines are read without it.
#[test]
fn bytes_that_are_no_text_survive_on_a_terminal() {
    let goal = b"?- X = 'caf\xe9', io:outstream([print(X), nl]).\r";
    let mut session = Session::new(&[("LANG", "de_DE.ISO-8859-1")]);
    session.send(goal);
    session.wait_for(b"X = caf\xe9\r\n");
    session.wait_for(b"fifth> ");
    assert_eq!(session.end(), Some(0));
    // Elsewhere the session goes on, and so do they from the next line on.
    let mut session = Session::new(&[("LANG", "C.UTF-8")]);
    session.line("?- X = 'caf\u{e9}'.", "X = caf\u{e9}\r\n");
    session.send(b"\xe9\xe9");
    session.wait_for(b"bytes that are no UTF-8");
    session.wait_for(b"fifth> ");
    session.send(goal);
    session.wait_for(b"X = caf\xe9\r\n");
    session.wait_for(b"fifth> ");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn bytes_that_are_no_text_survive_in_a_pipe() {
    let text = b"p(X) :- X = \"\xe9\xff\".\n?- p(X), io:outstream([puts(X), nl]).\nq(X) :- X = '\xfe'.\n:list\nq(X).\n";
    let output = typed(&[], text);
    let wanted = b"X = \"\xe9\xff\"\n\xe9\xff\np(X) :- X = \"\xe9\xff\".\nq(X) :- X = '\xfe'.\nX = \xfe\n";
    let lines = |bytes: &[u8]| {
        let mut lines: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&output.stdout), lines(wanted), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn goals_and_values_need_no_mark() {
    let cases = [
        ("1+2.\n", "3\n"),
        ("X = 3.\n", "X = 3\n"),
        ("-7 mod 3 + 2*5.\n1.5*2.\n", "9\n3.0\n"),
        ("[1,2|T].\n\"text\".\n{a,b}.\n", "[1,2|_1]\nT = _1\n\"text\"\n{a,b}\n"),
        ("X := 2*3, Y = f(X).\n", "X = 6\nY = f(6)\n"),
        ("io:outstream([print(hi), nl]).\n", "hi\n"),
        ("It = 3.\nIt + 1, X = 1.\n", "It = 3\n"),
        ("?- X = f(Y,Z,Y).\n", "X = f(_1,_2,_1)\nY = _1\nZ = _2\n"),
        ("p(1,X) :- X = one.\np(1,X).\n", "X = one\n"),
        ("add(1,2,X).\n", "X = 3\n"),
    ];
    for (text, wanted) in cases {
        let (shown, told) = said(&[], text);
        assert_eq!(shown, wanted, "{text}\n{told}");
    }
}

#[test]
fn facts_are_defined_and_then_run() {
    let (shown, told) =
        said(&[], "edge(a,b).\n:def edge(b,c). edge(c,d).\nedge(b,c).\n:list\n?- edge(d,e).\n");
    assert_eq!(shown, "edge(a,b).\nedge(b,c).\nedge(c,d).\n");
    assert!(
        told.contains(
            "note: this defines the fact edge/2; from now on such an entry is run, and `:def` adds"
        ),
        "{told}"
    );
    assert!(told.contains("repl:edge(d,e)"), "{told}");
    let (shown, told) = said(&[], "main.\nquit.\nhelp.\n:list\n");
    assert_eq!(shown, "");
    for wanted in
        ["no predicate main/0; `main :- ..` defines it", "quit/0; `:quit` leaves", "help/0; `:help` explains"]
    {
        assert!(told.contains(wanted), "{told}");
    }
}

#[test]
fn words_without_a_point_are_hinted_in_a_pipe_too() {
    let (shown, told) = said(&[], "help\nquit\nmain\n?- X = 1.\nmain\n  :- true | true.\n:list\nlist\n");
    assert_eq!(shown, "X = 1\nmain\n  :- true | true.\n");
    let hints: Vec<&str> = told.lines().collect();
    assert_eq!(hints.len(), 4, "{told}");
    for (hint, wanted) in hints.iter().zip([":help", ":quit", "`main.`", ":list"]) {
        assert!(hint.starts_with("hint: ") && hint.contains(wanted), "{told}");
    }
}

#[test]
fn a_second_definition_replaces_the_first_and_says_so() {
    let (shown, told) = said(&[], "p(X) :- X = 1.\n?- p(X).\np(X) :- X = 2.\n?- p(X).\n");
    assert_eq!(shown, "X = 1\nX = 2\n");
    assert!(told.contains("note: p/1 is defined anew: its clause is replaced"), "{told}");
    // Clauses one after the other are one definition; the same head and guard again are another.
    let two = "q(1,X) :- X = one.\nq(2,X) :- X = two.\n";
    let (shown, told) = said(&[], &format!("{two}?- q(1,A), q(2,B).\n{two}?- q(2,B).\n"));
    assert_eq!(shown, "A = one\nB = two\nB = two\n");
    assert_eq!(told.matches("q/2 is defined anew: its 2 clauses are replaced").count(), 1, "{told}");
    let (shown, told) = said(&[], "r(X) :- X = 1.\nr(Y) :- true | Y = 2.\n?- r(X).\n");
    assert_eq!(shown, "X = 2\n");
    assert!(told.contains("r/1 is defined anew"), "{told}");
    // What is wrong replaces nothing; what is added says so itself.
    let (shown, told) =
        said(&[], "s(1,X) :- X = 1.\n?- true.\ns(X) :- foo(X) | true.\n:def s(2,X) :- X = 2.\ns(2,X).\n");
    assert_eq!(shown, "X = 2\n");
    assert!(!told.contains("anew"), "{told}");
}

#[test]
fn modules_of_files_stay_modules() {
    let folder = Folder::new("modules");
    let main = ":- module main.\nmain :- go(X), io:outstream([print(X), nl]).\ngo(X) :- helper:name(Y), name(Z), X = Y/Z.\n\
        name(X) :- X = main.\nunfinished :- nowhere.\n:- module second.\nname(X) :- X = second.\nonly(X) :- name(X).\n";
    let file = folder.write("in/main.kl1", main);
    folder.write("in/helper.kl1", ":- module helper.\nname(X) :- X = helper.\n");
    let text = "main.\n?- second:name(A), main:name(B), helper:name(C).\nonly(X).\nname(X).\n\
        name(X) :- X = own.\nname(X).\ngo(X).\n:list\n";
    let (shown, told) = said(&[&file], text);
    let wanted = format!(
        "/(helper,main)\nA = second\nB = main\nC = helper\nX = second\nX = second\nX = own\nX = /(helper,main)\n\
         name(X) :- X = own.\n% {file}: module main, second\n"
    );
    let lines = |text: &str| text.lines().map(String::from).collect::<std::collections::BTreeSet<_>>();
    // A term is shown when it is there, and again when it is complete.
    assert!(lines(&wanted).is_subset(&lines(&shown)), "{shown}\n{told}");
    assert!(told.contains("there is no predicate main:nowhere/0"), "{told}");
    // Loaded again, it replaces what there was.
    let other = folder.write("other.kl1", ":- module main.\nname(X) :- X = other.\n");
    let (shown, told) =
        said(&[&file], &format!(":load {file}\n:load {other}\n:clear\n:load {other}\nname(X).\n"));
    assert_eq!(shown, "X = other\n");
    assert!(told.contains("main.kl1 are replaced"), "{told}");
    assert!(told.contains("other.kl1: a module of it is in"), "{told}");
}

#[test]
fn what_the_workers_do_for_a_goal_is_written_to_a_file() {
    let folder = Folder::new("traced");
    let trace = folder.write("trace.json", "old");
    let text = format!("X = 1.\n:trace {} Y = 2\nZ = 3.\n", trace);
    let (shown, told) = said(&[], &text);
    assert_eq!((shown.as_str(), told.as_str()), ("X = 1\nY = 2\nZ = 3\n", ""));
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&trace).expect("it is there")).expect("it is JSON");
    let runs =
        json["traceEvents"].as_array().expect("a list").iter().filter(|event| event["dur"].is_number());
    assert!(runs.count() > 0, "{json}");
    let (shown, told) = said(&[], ":trace\n:trace file\n:trace /nowhere/file X = 1.\n");
    assert_eq!(shown, "");
    let wanted = ["needs a file and a goal", "needs a file and a goal", "cannot write /nowhere/file"];
    assert_eq!(told.lines().count(), wanted.len(), "{told}");
    assert!(told.lines().zip(wanted).all(|(line, wanted)| line.contains(wanted)), "{told}");
}

#[test]
fn documentation_codes_and_seconds_are_asked_for() {
    let folder = Folder::new("asked");
    let file = folder.write(
        "shop.kl1",
        "%% A shop.\n\n:- module shop.\n\n%% price(+What,-P)\n%% P is its price.\nprice(soup,P) :- P = 5.\n",
    );
    let (shown, told) = said(&[&file], ":doc price\n:doc shop\n:explain no-main\n:time price(soup,P)\n");
    assert!(shown.contains("shop:price(+What,-P)\n\nP is its price.\n"), "{shown}");
    assert!(shown.contains("# shop\n\nA shop.\n\n## `price(+What,-P)`"), "{shown}");
    assert!(shown.contains("no-main (error)") && shown.ends_with("P = 5\n"), "{shown}");
    assert!(told.ends_with(" s\n") && told.starts_with("0."), "{told}");
    let (shown, told) = said(&[], ":doc nowhere\n:explain nothing\n:doc\n:time\n");
    assert_eq!(shown, "");
    let wanted = ["about nowhere", "there is no code nothing", ":doc needs a name", ":time needs a goal"];
    for (line, wanted) in told.lines().zip(wanted) {
        assert!(line.contains(wanted), "{told}");
    }
    assert_eq!(told.lines().count(), wanted.len(), "{told}");
}
