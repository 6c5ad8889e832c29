//! A conversation of an editor with `fifth lsp`: several modules, unsaved texts, and nonsense.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A test gives up when nothing has come for this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// An editor.
struct Editor {
    server: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What has come and nobody wanted yet.
    waiting: Vec<Value>,
    id: i64,
}

impl Editor {
    /// Starts a server. `cache`: where it may write.
    fn new(cache: &Path) -> Editor {
        let mut server = Command::new(env!("CARGO_BIN_EXE_fifth"))
            .arg("lsp")
            .env("XDG_CACHE_HOME", cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("fifth starts");
        let output = server.stdout.take().expect("it is piped");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = server.stdin.take();
        Editor { server, input, messages, waiting: Vec::new(), id: 0 }
    }

    /// With a server that was told of a folder.
    fn in_folder(folder: &Path) -> Editor {
        let mut editor = Editor::new(&folder.join(".cache"));
        let folders = json!([{ "uri": uri(folder), "name": "test" }]);
        let answer = editor.ask("initialize", json!({ "capabilities": {}, "workspaceFolders": folders }));
        assert_eq!(answer["serverInfo"]["name"], "fifth");
        editor.tell("initialized", json!({}));
        editor
    }

    fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the server's input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The whole answer to a request.
    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&wanted) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("the server answers");
            if wanted(&message) {
                return message;
            }
            self.waiting.push(message);
        }
    }

    /// The codes of the next diagnostics of a text in this version.
    fn diagnostics(&mut self, path: &Path, version: Option<i64>) -> Vec<Value> {
        let uri = uri(path);
        let about = |message: &Value| {
            let params = &message["params"];
            message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                && version.is_none_or(|version| params["version"] == version)
        };
        self.waiting.retain(|message| !about(message) || version.is_some());
        let message = self.wait_for(about);
        message["params"]["diagnostics"].as_array().expect("it is a list").clone()
    }

    fn open(&mut self, path: &Path, text: &str) {
        let document = json!({ "uri": uri(path), "languageId": "kl1", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the part between two places (line, column).
    fn change(&mut self, path: &Path, version: i64, places: [(u32, u32); 2], text: &str) {
        let [start, end] = places.map(position);
        let document = json!({ "uri": uri(path), "version": version });
        let changes = json!([{ "range": { "start": start, "end": end }, "text": text }]);
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    fn at(&mut self, method: &str, path: &Path, place: (u32, u32)) -> Value {
        self.ask(method, at(path, place))
    }

    /// Ends the server; its exit code.
    fn leave(mut self) -> Option<i32> {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.input = None;
        self.server.wait().expect("it ends").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // It has ended, or a test has failed.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn position((line, character): (u32, u32)) -> Value {
    json!({ "line": line, "character": character })
}

fn at(path: &Path, place: (u32, u32)) -> Value {
    json!({
        "textDocument": { "uri": uri(path) }, "position": position(place),
        "context": { "includeDeclaration": true, "triggerKind": 1 },
    })
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse().expect("a length is a number"),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("what the server says is JSON"))
}

/// The line, beginning and end of a range.
fn place(range: &Value) -> (u64, u64, u64) {
    let number = |pointer: &str| range.pointer(pointer).and_then(Value::as_u64).expect("a range has it");
    (number("/start/line"), number("/start/character"), number("/end/character"))
}

fn places(list: &Value) -> Vec<(String, (u64, u64, u64))> {
    let list = list.as_array().expect("it is a list").iter();
    let name = |uri: &Value| uri.as_str().expect("a name").rsplit('/').next().expect("a file").to_string();
    let mut places: Vec<_> = list.map(|found| (name(&found["uri"]), place(&found["range"]))).collect();
    places.sort();
    places
}

fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|diagnostic| diagnostic["code"].as_str().expect("a code")).collect()
}

const MAIN: &str = "\
:- module main.
main :- true | counter:create(S), S = [add(2),add(3),get(X)], io:outstream([print(X),nl]), show(X).
show(\"\u{1d54f}\") :- true | true.
otherwise.
show(X) :- integer(X) | helper(X, _).
helper(X, Y) :- true | Y = X.
";

const COUNTER: &str = "\
:- module counter.

%% create(+S)
%%
%% Counts what `add` messages bring.
create(S) :- true | count(S, 0).

count([add(N)|S], M) :- true | M1 := M + N, count(S, M1).
count([get(R)|S], M) :- true | R = M, count(S, M).
count([], _) :- true | true.
";

#[test]
fn an_editor_finds_its_way_through_several_modules() {
    let folder = tempfile::tempdir().expect("a folder");
    let [main, counter] = ["main.kl1", "counter.kl1"].map(|name| folder.path().join(name));
    // The file has an older text than the editor.
    std::fs::write(&main, ":- module main.\nmain :- true | nothing_of_this.\n").expect("it is written");
    std::fs::write(&counter, COUNTER).expect("it is written");
    let mut editor = Editor::in_folder(folder.path());
    editor.open(&main, MAIN);
    assert_eq!(editor.diagnostics(&main, Some(1)), [] as [Value; 0]);

    // Definitions: a call of another module, of this one, a module, a variable, a message, the library.
    let found = editor.at("textDocument/definition", &main, (1, 24));
    assert_eq!(places(&found), [("counter.kl1".into(), (5, 0, 6))]);
    let found = editor.at("textDocument/definition", &main, (1, 93));
    assert_eq!(places(&found), [("main.kl1".into(), (2, 0, 4))]);
    let found = editor.at("textDocument/definition", &main, (1, 17));
    assert_eq!(places(&found), [("counter.kl1".into(), (0, 3, 17))]);
    let found = editor.at("textDocument/definition", &main, (4, 31));
    assert_eq!(places(&found), [("main.kl1".into(), (4, 5, 6))]);
    let found = editor.at("textDocument/definition", &main, (1, 41));
    assert_eq!(places(&found), [("counter.kl1".into(), (7, 7, 10))]);
    let found = editor.at("textDocument/definition", &main, (1, 66));
    assert_eq!(
        found[0]["uri"].as_str().map(|uri| uri.ends_with("/fifth/library/io.kl1")),
        Some(true),
        "{found}"
    );

    // References, from the other text; a column behind a character of two code units.
    let found = editor.at("textDocument/references", &counter, (5, 1));
    assert_eq!(places(&found), [("counter.kl1".into(), (5, 0, 6)), ("main.kl1".into(), (1, 23, 29))]);
    let found = editor.at("textDocument/references", &counter, (7, 8));
    let adds = [(1, 39, 42), (1, 46, 49)].map(|place| ("main.kl1".to_string(), place));
    assert_eq!(places(&found), [vec![("counter.kl1".to_string(), (7, 7, 10))], adds.to_vec()].concat());
    let found = editor.at("textDocument/references", &main, (4, 8));
    assert_eq!(places(&found).len(), 0);
    let found = editor.at("textDocument/documentHighlight", &main, (4, 5));
    assert_eq!(found.as_array().map(Vec::len), Some(3));

    // Hover: the comment, and what is waited for.
    let found = editor.at("textDocument/hover", &main, (1, 24));
    let text = found["contents"]["value"].as_str().expect("a text");
    assert!(
        text.contains("counter:create(+S)") && text.contains("Counts what `add` messages bring."),
        "{text}"
    );
    let found = editor.at("textDocument/hover", &main, (1, 93));
    assert!(found["contents"]["value"].as_str().expect("a text").contains("show(+A1)"), "{found}");

    // Symbols.
    let found = editor.ask("textDocument/documentSymbol", at(&counter, (0, 0)));
    let names = found[0]["children"].as_array().expect("predicates").iter().map(|symbol| &symbol["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["create/1", "count/2"]);
    let found = editor.ask("workspace/symbol", json!({ "query": "cnt" }));
    assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");

    // The style of `fifth fmt`; a text that has it stays.
    let format =
        json!({ "textDocument": { "uri": uri(&main) }, "options": { "tabSize": 4, "insertSpaces": true } });
    let style = |text: &str| {
        let styled =
            syntax::pretty::pretty(text.as_bytes(), &term::AtomTable::new()).expect("it can be read");
        String::from_utf8(styled).expect("it was UTF-8")
    };
    let found = editor.ask("textDocument/formatting", format);
    let styled = style(MAIN);
    let expected = if styled == MAIN { Value::Null } else { json!(styled) };
    assert_eq!(found[0]["newText"], expected);

    // Hints of what is waited for.
    let range = json!({ "start": position((0, 0)), "end": position((99, 0)) });
    let found = editor
        .ask("textDocument/inlayHint", json!({ "textDocument": { "uri": uri(&main) }, "range": range }));
    let hints: Vec<_> = found.as_array().expect("hints").iter().map(|hint| &hint["position"]).collect();
    assert_eq!(hints, [&position((2, 5))]);
    assert_eq!(editor.leave(), Some(0));
}

#[test]
fn what_is_not_saved_counts_and_hints_are_mended() {
    let folder = tempfile::tempdir().expect("a folder");
    let [main, counter] = ["main.kl1", "counter.kl1"].map(|name| folder.path().join(name));
    std::fs::write(&main, MAIN).expect("it is written");
    let mut editor = Editor::in_folder(folder.path());
    editor.open(&main, MAIN);
    assert_eq!(codes(&editor.diagnostics(&main, Some(1))), ["undefined-module"]);
    // A module that is no file yet.
    editor.open(&counter, COUNTER);
    while !editor.diagnostics(&main, Some(1)).is_empty() {}

    // A slip in the other module is told of where it is called.
    editor.change(&counter, 2, [(5, 0), (5, 6)], "start");
    // The comment above it says `create`, too.
    assert_eq!(codes(&editor.diagnostics(&counter, Some(2))), ["other-documentation"]);
    let found = loop {
        let found = editor.diagnostics(&main, Some(1));
        if !found.is_empty() {
            break found;
        }
    };
    assert_eq!(codes(&found), ["undefined-predicate"]);
    editor.change(&counter, 3, [(5, 0), (5, 5)], "create");
    while !editor.diagnostics(&main, Some(1)).is_empty() {}

    // A mistyped name, and its mending.
    editor.change(&main, 2, [(4, 24), (4, 30)], "helpre");
    let found = editor.diagnostics(&main, Some(2));
    assert_eq!(codes(&found)[0], "undefined-predicate");
    let range = &found[0]["range"];
    let params =
        json!({ "textDocument": { "uri": uri(&main) }, "range": range, "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "Write `helper`");
    let edit = &actions[0]["edit"]["changes"][uri(&main)][0];
    assert_eq!((place(&edit["range"]), &edit["newText"]), ((4, 24, 30), &json!("helper")));
    editor.change(&main, 3, [(4, 24), (4, 30)], "helper");
    assert_eq!(codes(&editor.diagnostics(&main, Some(3))), [] as [&str; 0]);

    // Completion: after a module, in a list, of a variable.
    let labels = |found: Value| -> Vec<String> {
        let items = found.as_array().expect("items").iter();
        items.map(|item| item["label"].as_str().expect("a label").to_string()).collect()
    };
    editor.change(&main, 4, [(5, 27), (5, 28)], "X, counter:");
    let found = labels(editor.at("textDocument/completion", &main, (5, 38)));
    assert_eq!(found, ["count/2", "create/1"]);
    editor.change(&main, 5, [(5, 38), (5, 38)], "create([ge");
    let found = labels(editor.at("textDocument/completion", &main, (5, 48)));
    assert!(found.contains(&"get/1".into()) && !found.contains(&"helper/2".into()), "{found:?}");
    editor.change(&main, 6, [(5, 30), (5, 48)], "hel");
    let found = labels(editor.at("textDocument/completion", &main, (5, 33)));
    assert!(found.contains(&"helper/2".into()), "{found:?}");
    assert_eq!(editor.leave(), Some(0));
}

#[test]
fn names_are_changed_everywhere_and_not_where_they_are_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let [main, counter] = ["main.kl1", "counter.kl1"].map(|name| folder.path().join(name));
    std::fs::write(&counter, COUNTER).expect("it is written");
    std::fs::write(folder.path().join("other.kl1"), ":- module main.\nmain :- p([add(1)]).\np(_).\n")
        .expect("written");
    let mut editor = Editor::in_folder(folder.path());
    editor.open(&main, MAIN);
    let rename = |editor: &mut Editor, place, name: &str| {
        let mut params = at(&main, place);
        params["newName"] = json!(name);
        let answer = editor.answer("textDocument/rename", params);
        let Some(changes) = answer["result"]["changes"].as_object() else {
            return Err(answer["error"]["code"].clone());
        };
        let mut count: Vec<(String, usize)> = (changes.iter())
            .map(|(uri, edits)| {
                (uri.rsplit('/').next().expect("a file").into(), edits.as_array().map_or(0, Vec::len))
            })
            .collect();
        count.sort();
        Ok(count)
    };
    let file = |name: &str, count| (name.to_string(), count);
    assert_eq!(rename(&mut editor, (1, 24), "open"), Ok(vec![file("counter.kl1", 1), file("main.kl1", 1)]));
    // A message: in the texts that this one is connected with, not in another program of the folder.
    assert_eq!(rename(&mut editor, (1, 40), "plus"), Ok(vec![file("counter.kl1", 1), file("main.kl1", 2)]));
    assert_eq!(rename(&mut editor, (4, 5), "Number"), Ok(vec![file("main.kl1", 3)]));
    assert_eq!(rename(&mut editor, (5, 0), "it helps"), Ok(vec![file("main.kl1", 2)]));
    let refused = Err(json!(-32803));
    for (place, name) in [
        ((4, 5), "number"),
        ((5, 7), "Y"),
        ((5, 0), "Helper"),
        ((5, 0), ""),
        ((1, 0), "begin"),
        ((1, 24), "count([]"),
        ((1, 66), "output"),
        ((1, 77), "write"),
        ((4, 12), "number"),
        ((9, 9), "x"),
    ] {
        let result = rename(&mut editor, place, name);
        let may_be_quoted = (place, name) == ((1, 24), "count([]");
        assert!(result == refused || may_be_quoted, "{place:?} {name}: {result:?}");
    }
    assert_eq!(editor.leave(), Some(0));
}

#[test]
fn nonsense_is_answered_and_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let main = folder.path().join("main.kl1");
    let mut editor = Editor::new(&folder.path().join("cache"));
    let code = |answer: Value| answer["error"]["code"].as_i64();
    assert_eq!(code(editor.answer("textDocument/hover", at(&main, (0, 0)))), Some(-32002));
    editor.raw(b"nonsense\r\n\r\nContent-Length: 5\r\n\r\n{\"a\":Content-Length: 3\r\n\r\n[1]");
    for expected in [-32700, -32600] {
        let answer = editor.wait_for(|message| message["id"] == Value::Null);
        assert_eq!(answer["error"]["code"], expected);
    }
    editor.ask("initialize", json!({ "capabilities": {} }));
    assert_eq!(code(editor.answer("initialize", json!({ "capabilities": {} }))), Some(-32600));
    assert_eq!(code(editor.answer("textDocument/nothing", json!({}))), Some(-32601));
    assert_eq!(code(editor.answer("textDocument/hover", json!({ "position": 7 }))), Some(-32602));
    assert_eq!(code(editor.answer("textDocument/hover", at(&main, (0, 0)))), Some(-32803));
    editor.tell("nothing/known", json!([1]));
    editor.tell("textDocument/didChange", json!({ "textDocument": 3 }));
    editor.change(&main, 1, [(0, 0), (1, 1)], "not open");
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri(&main) } }));
    // A text without a name in a file system; places outside of it.
    let untitled = Path::new("untitled:1");
    let document = json!({ "uri": "untitled:1", "languageId": "kl1", "version": 1, "text": "p(X) :- q(" });
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let mut params = at(untitled, (1_000_000, 4_000_000_000));
    params["textDocument"]["uri"] = json!("untitled:1");
    for method in ["definition", "references", "hover", "completion", "documentSymbol"] {
        editor.ask(&format!("textDocument/{method}"), params.clone());
    }
    let zero = "a\u{0}b";
    editor.open(&main, zero);
    assert_eq!(codes(&editor.diagnostics(&main, Some(1))), ["unreadable-file"]);
    editor.change(&main, 2, [(7, 7), (0, 0)], "");
    assert_eq!(codes(&editor.diagnostics(&main, Some(2))), ["no-main"]);
    assert_eq!(editor.leave(), Some(0));
    // Without `shutdown`, and without a word.
    let mut editor = Editor::new(&folder.path().join("cache"));
    editor.tell("exit", Value::Null);
    assert_eq!(editor.server.wait().expect("it ends").code(), Some(1));
    let mut editor = Editor::new(&folder.path().join("cache"));
    editor.input = None;
    assert_eq!(editor.server.wait().expect("it ends").code(), Some(1));
}

/// Prints how long after an edit its diagnostics come (`--nocapture` shows it); the rest of 50 ms is part of it.
#[test]
fn a_program_of_5000_lines_is_checked_after_each_edit() {
    let folder = tempfile::tempdir().expect("a folder");
    let main = folder.path().join("main.kl1");
    let mut text = String::from(":- module main.\nmain :- true | p0([1,2,3], _).\n");
    let mut predicates = 0;
    while text.lines().count() < 5000 {
        let (n, next) = (predicates, predicates + 1);
        text += &format!(
            "p{n}([], R) :- true | R = [].\np{n}([X|Xs], R) :- X > {n} | Y := X * {n} + 1, R = [Y|R1], p{n}(Xs, R1).\n"
        );
        text += &format!(
            "p{n}([X|Xs], R) :- X =< {n} | ( X =:= 0 -> p{next}(Xs, R) ; otherwise ; true -> R = [X] ).\n\n"
        );
        predicates = next;
    }
    text += &format!("p{predicates}(_, R) :- true | R = [].\n");
    let mut editor = Editor::in_folder(folder.path());
    editor.open(&main, &text);
    assert_eq!(codes(&editor.diagnostics(&main, Some(1))), [] as [&str; 0]);
    let mut times = Vec::new();
    for edit in 0..6 {
        let started = std::time::Instant::now();
        let (new, old) = if edit % 2 == 0 { ("Rr", "R") } else { ("R", "Rr") };
        editor.change(&main, 2 + edit, [(2, 7), (2, 7 + old.len() as u32)], new);
        let found = editor.diagnostics(&main, Some(2 + edit));
        times.push(started.elapsed().as_millis());
        assert_eq!(codes(&found).is_empty(), edit % 2 == 1, "{found:?}");
    }
    times.sort_unstable();
    println!("diagnostics of {} lines after an edit: {times:?} ms, 50 of them rest", text.lines().count());
    assert_eq!(editor.leave(), Some(0));
}

/// The output of a program that may be missing here: then the test says so.
fn output_of(command: &mut Command) -> Option<String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Some(String::from_utf8_lossy(&text).into_owned())
        }
        Err(_) => {
            println!("skipped: there is no {}", command.get_program().display());
            None
        }
    }
}

fn editors() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors")
}

#[test]
fn neovim_shows_colours_and_what_the_server_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let [main, script] = ["main.kl1", "test.lua"].map(|name| folder.path().join(name));
    std::fs::write(&main, "%% A program.\n:- module main.\nmain :- true | helpre(X).\nhelper(1).\n")
        .expect("written");
    let lua = r#"
        require('kl1').command = { os.getenv('FIFTH'), 'lsp' }
        vim.cmd('edit ' .. os.getenv('PROGRAM'))
        local function group(line, column) return vim.fn.synIDattr(vim.fn.synID(line, column, 1), 'name') end
        print('file', vim.bo.filetype, group(1, 1), group(2, 4), group(3, 1), group(3, 23))
        vim.wait(120000, function() return #vim.diagnostic.get(0) > 0 end, 20)
        for _, found in ipairs(vim.diagnostic.get(0)) do print('told', found.code or '', found.lnum, found.message) end
        vim.cmd('qall!')
    "#;
    std::fs::write(&script, lua).expect("written");
    let mut neovim = Command::new("nvim");
    neovim.args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "--cmd"]);
    neovim.arg(format!("set rtp^={}", editors().join("neovim").display()));
    neovim
        .args(["-c", "filetype plugin on", "-c", "syntax on", "-c"])
        .arg(format!("luafile {}", script.display()));
    neovim.args(["-c", "qall!"]).env("FIFTH", env!("CARGO_BIN_EXE_fifth")).env("PROGRAM", &main);
    neovim.env("HOME", folder.path()).env("XDG_CACHE_HOME", folder.path());
    let Some(output) = output_of(&mut neovim) else { return };
    assert!(output.contains("file kl1 kl1Comment kl1Directive kl1Head kl1Variable"), "{output}");
    assert!(output.contains("there is no predicate main:helpre/1"), "{output}");
}

#[test]
fn emacs_shows_colours_and_indents() {
    let folder = tempfile::tempdir().expect("a folder");
    let [main, script, mode] = ["main.kl1", "test.el", "kl1-mode.el"].map(|name| folder.path().join(name));
    std::fs::copy(editors().join("emacs/kl1-mode.el"), &mode).expect("copied");
    let text = "%% A program.\n:- module main.\nmain :- true | X = 0'a, Y = 0'', p(X,\nY, \"a%b\"),\nq.\np(_, _, _).\n";
    std::fs::write(&main, text).expect("written");
    let lisp = r#"
        (setq byte-compile-error-on-warn t)
        (unless (byte-compile-file "kl1-mode.el") (kill-emacs 3))
        (require 'kl1-mode)
        (find-file "main.kl1")
        (font-lock-ensure)
        (dolist (text '("%% A" "module main" "main :-" "X =" "Y =" "a%b"))
          (goto-char (point-min))
          (search-forward text)
          (princ (format "%s: %s\n" text (get-text-property (match-beginning 0) 'face))))
        (indent-region (point-min) (point-max))
        (princ (buffer-string))
    "#;
    std::fs::write(&script, lisp).expect("written");
    let mut emacs = Command::new("emacs");
    emacs
        .args(["--batch", "-Q", "-L", ".", "-l", "test.el"])
        .current_dir(folder.path())
        .env("HOME", folder.path());
    let Some(output) = output_of(&mut emacs) else { return };
    for expected in [
        "%% A: font-lock-comment",
        "module main: font-lock-preprocessor-face",
        "main :-: font-lock-function-name-face",
        "Y =: font-lock-variable-name-face",
        "a%b: font-lock-string-face",
        "p(X,\n                                   Y, \"a%b\"),\n    q.\np(_, _, _).\n",
    ] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
}
