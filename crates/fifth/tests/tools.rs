//! What helps to write programs: `fifth fmt`, `fifth test`, `fifth new`, `fifth doc`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The command, in a folder.
fn fifth(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().expect("it starts")
}

fn told(output: &Output) -> (Option<i32>, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("it can be written");
    }
    folder
}

const CROOKED: &str = ":-module(main).\nmain:-true|builtin:print( a ) . % end\n";
const STRAIGHT: &str = ":- module(main).\nmain :- true | builtin:print(a).  % end\n";

#[test]
fn fmt_writes_files_and_says_which_are_not_in_the_style() {
    let home = folder(&[("a.kl1", CROOKED), ("b.kl1", STRAIGHT)]);
    let check = || told(&fifth(home.path(), &["fmt", "--check", "a.kl1", "b.kl1"]));
    assert_eq!(check(), (Some(1), "a.kl1\n".into()));
    assert_eq!(fs::read_to_string(home.path().join("a.kl1")).ok().as_deref(), Some(CROOKED));
    assert_eq!(told(&fifth(home.path(), &["fmt", "a.kl1", "b.kl1"])), (Some(0), String::new()));
    assert_eq!(fs::read_to_string(home.path().join("a.kl1")).ok().as_deref(), Some(STRAIGHT));
    assert_eq!(check(), (Some(0), String::new()));
    let input = fs::File::open(home.path().join("b.kl1")).expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    let piped = command.args(["fmt", "-"]).stdin(input).output().expect("it starts");
    assert_eq!(told(&piped), (Some(0), STRAIGHT.into()));
}

#[test]
fn fmt_leaves_what_it_cannot_read() {
    let wrong = ":- module main.\nmain :- p(.\nq.\n";
    let home = folder(&[("a.kl1", wrong)]);
    let (code, text) = told(&fifth(home.path(), &["fmt", "a.kl1"]));
    assert!(code == Some(2) && text.contains("a.kl1:2"), "{code:?} {text}");
    assert_eq!(fs::read_to_string(home.path().join("a.kl1")).ok().as_deref(), Some(wrong));
    let (code, text) = told(&fifth(home.path(), &["fmt", "none.kl1"]));
    assert!(code == Some(2) && text.contains("cannot read none.kl1"), "{code:?} {text}");
}

#[test]
fn the_library_and_the_examples_are_in_the_style() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut folders, mut files) = (vec![root.join("library"), root.join("examples")], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "kl1") {
                files.push(path.display().to_string());
            }
        }
    }
    assert!(files.len() > 80, "{}", files.len());
    let arguments: Vec<&str> =
        ["fmt", "--check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    assert_eq!(told(&fifth(&root, &arguments)), (Some(0), String::new()), "`fifth fmt` writes them in it");
}

#[test]
fn a_new_program_passes_its_tests() {
    let home = folder(&[]);
    let (code, text) = told(&fifth(home.path(), &["new", "counter"]));
    assert!(code == Some(0), "{text}");
    let made = home.path().join("counter");
    let (code, text) = told(&fifth(&made, &["test"]));
    assert!(code == Some(0) && text.ends_with("3 passed, 0 failed\n"), "{text}");
    assert_eq!(told(&fifth(&made, &["run", "main.kl1"])), (Some(0), "2\n".into()));
    assert_eq!(
        told(&fifth(&made, &["fmt", "--check", "main.kl1", "main_tests.kl1"])),
        (Some(0), String::new())
    );
    let (code, text) = told(&fifth(home.path(), &["new", "counter"]));
    assert!(code == Some(2) && text.contains("cannot make the folder counter"), "{text}");
    assert_eq!(told(&fifth(home.path(), &["new", "No/name"])).0, Some(2));
}

const TESTS: &str = "\
% stdout: 3
%% ?- next(1,N). %= N = 2
:- module main.
main :- next(2,N), io:outstream([print(N),nl]).
next(N,M) :- M := N + 1.
test_good(R) :- next(1,2), R = ok.
test_bad(R) :- io:outstream([puts(\"noise\"),nl]), R = failed(\"<no>\").
test_waits(R) :- never(R).
never(R) :- wait(R) | true.
test_exits(R) :- unix:exit(7), R = ok.
test_endless(R) :- test_endless(R).
";

#[test]
fn a_failing_test_ends_no_other_one() {
    let home = folder(&[("t.kl1", TESTS)]);
    let (code, text) = told(&fifth(home.path(), &["test", "t.kl1", "--timeout", "2"]));
    assert_eq!(code, Some(1), "{text}");
    let lines = [
        "ok      t.kl1:2 next(1,N)",
        "ok      t.kl1:4 main:main",
        "ok      t.kl1:6 main:test_good",
        "FAILED  t.kl1:7 main:test_bad",
        "        R = failed(\"<no>\"), and ok is expected",
        "        noise",
        "FAILED  t.kl1:8 main:test_waits",
        "FAILED  t.kl1:10 main:test_exits",
        "        it ended with unix:exit(7)",
        "FAILED  t.kl1:11 main:test_endless",
        "        it has not ended after 2 seconds",
        "3 passed, 4 failed",
    ];
    for line in lines {
        assert!(text.lines().any(|told| told == line), "no `{line}` in\n{text}");
    }
    assert!(text.contains("main:never(R)") || text.contains("never"), "{text}");
}

#[test]
fn results_are_json_or_junit_too() {
    let home = folder(&[("t.kl1", TESTS)]);
    let run = |arguments: &[&str]| told(&fifth(home.path(), arguments));
    let (code, text) =
        run(&["test", "t.kl1", "--filter", "test_good", "--format", "json", "--schedule", "3"]);
    let one: serde_json::Value = serde_json::from_str(&text).expect("one object");
    assert!(code == Some(0) && one["passed"] == true && one["test"] == "main:test_good", "{text}");
    let (code, text) = run(&["test", "t.kl1", "--filter", "test_bad", "--format", "junit"]);
    assert!(code == Some(1) && text.contains("tests=\"1\" failures=\"1\""), "{text}");
    assert!(text.contains("failed(&quot;&lt;no&gt;&quot;)"), "{text}");
    let (code, text) = run(&["test", "t.kl1", "--filter", "nothing"]);
    assert!(code == Some(2) && text.contains("there is no test"), "{text}");
}

#[test]
fn a_file_with_errors_is_no_pass() {
    let home = folder(&[("t.kl1", ":- module m.\ntest_a(R) :- nowhere:p(R).\n")]);
    let (code, text) = told(&fifth(home.path(), &["test"]));
    assert!(code == Some(2) && text.contains("undefined-module"), "{code:?} {text}");
    let empty = folder(&[]);
    let (code, text) = told(&fifth(empty.path(), &["test"]));
    assert!(code == Some(2) && text.contains("no KL1 file"), "{code:?} {text}");
}

#[test]
fn doc_is_markdown_or_a_page() {
    let text =
        "%% A <b>shop</b>.\n:- module shop.\n%% price(+What,-P)\n%% Its *price*.\nprice(_,P) :- P = 1.\n";
    let home = folder(&[("shop.kl1", text), ("bad.kl1", ":- module main.\n%% other(+A)\nmain.\n")]);
    let printed = told(&fifth(home.path(), &["doc", "shop.kl1"]));
    let expected = "# shop\n\nA <b>shop</b>.\n\n## `price(+What,-P)`\n\nIts *price*.\n";
    assert_eq!(printed, (Some(0), expected.into()));
    assert_eq!(
        told(&fifth(home.path(), &["doc", "--html", "shop.html", "shop.kl1"])),
        (Some(0), String::new())
    );
    let page = fs::read_to_string(home.path().join("shop.html")).expect("it was written");
    for part in
        ["<title>shop</title>", "<em>price</em>", "A &lt;b&gt;shop", "<h2><code>price(+What,-P)</code></h2>"]
    {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let (code, text) = told(&fifth(home.path(), &["doc", "bad.kl1"]));
    assert!(code == Some(2) && text.contains("other-documentation"), "{code:?} {text}");
    let (code, text) = told(&fifth(home.path(), &["check", "bad.kl1"]));
    assert!(text.contains("other-documentation"), "{code:?} {text}");
}

#[test]
fn a_library_is_a_folder_of_modules() {
    let home = folder(&[("main.kl1", ":- module main.\nmain :- shop:open.\n")]);
    fs::create_dir(home.path().join("lib")).expect("a folder");
    let shop = ":- module shop.\nopen :- io:outstream([puts(\"open\"),nl]).\n";
    fs::write(home.path().join("lib/shop.kl1"), shop).expect("a file");
    assert_eq!(
        told(&fifth(home.path(), &["run", "--library", "lib", "main.kl1"])),
        (Some(0), "open\n".into())
    );
    let (code, text) = told(&fifth(home.path(), &["run", "main.kl1"]));
    assert!(code == Some(2) && text.contains("undefined-module"), "{text}");
    let (code, text) = told(&fifth(home.path(), &["run", "--library", "none", "main.kl1"]));
    assert!(code == Some(2) && text.contains("--library none: there is no such folder"), "{text}");
}

/// The files of the library, by their names.
fn library() -> (std::path::PathBuf, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../library");
    let files = fs::read_dir(&folder).expect("the library").map(|entry| entry.expect("an entry").file_name());
    let mut files: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    files.sort();
    (folder, files)
}

#[test]
fn examples_of_the_library_give_what_they_say() {
    let (library, files) = library();
    let arguments: Vec<&str> = std::iter::once("test").chain(files.iter().map(String::as_str)).collect();
    let (code, text) = told(&fifth(&library, &arguments));
    assert_eq!(code, Some(0), "{text}");
    let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(passed >= 100, "only {passed} examples");
}

#[test]
fn each_module_of_the_library_says_what_it_is_and_only_of_predicates_that_there_are() {
    let (library, files) = library();
    let mut used = String::from(":- module main.\nmain :- all([");
    for file in &files {
        let (code, text) = told(&fifth(&library, &["doc", file]));
        assert!(code == Some(0) && text.starts_with("# "), "{file}: {text}");
        let about = text.split("\n\n").nth(1).unwrap_or_default();
        assert!(!about.is_empty() && !about.starts_with('#'), "{file} does not say what it is");
        let module = file.trim_end_matches(".kl1");
        let mut signatures = std::collections::BTreeSet::new();
        for signature in text.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')) {
            assert!(signatures.insert(signature), "{file} says twice what {signature} is");
            let (name, arguments) = signature.split_once('(').expect("arguments are named");
            let arity = arguments.split(',').count();
            used += &format!("predicate#({module}:{name}/{arity}),\n");
        }
    }
    used += "[]]).\nall(_).\n";
    let home = folder(&[("used.kl1", &used)]);
    let (code, text) = told(&fifth(home.path(), &["check", "used.kl1"]));
    assert!(code == Some(0) && !text.contains("undefined"), "{text}");
}

#[test]
fn tables_in_documents_come_from_comments() {
    let (library, files) = library();
    let page = fs::read_to_string(library.join("../docs/library.md")).expect("the page");
    let home = folder(&[("library.md", &page)]);
    let copy = home.path().join("library.md");
    let copy = copy.to_str().expect("a path in UTF-8");
    let arguments = ["doc", "--update", copy].into_iter().chain(files.iter().map(String::as_str));
    assert_eq!(told(&fifth(&library, &arguments.collect::<Vec<_>>())), (Some(0), String::new()));
    let made = fs::read_to_string(copy).expect("it was written");
    assert!(made == page, "docs/library.md is old: fifth doc --update docs/library.md library/*.kl1");
    assert!(page.contains("| `lists:append(+Xs,+Ys,-Zs)` |"), "it has no table of lists");
}

#[test]
fn a_text_for_tables_has_marks() {
    let module = ":- module shop.\n%% price(+What,-P)\n%% Its\n%% price.\nprice(_,P) :- P = 1.\n";
    let marked = "A\n<!-- fifth doc shop -->\nold\n<!-- end -->\nB\n";
    let home = folder(&[
        ("shop.kl1", module),
        ("a.md", marked),
        ("b.md", "none\n"),
        ("c.md", "<!-- fifth doc x -->\n"),
    ]);
    let update = |name: &str| told(&fifth(home.path(), &["doc", "--update", name, "shop.kl1"]));
    assert_eq!(update("a.md"), (Some(0), String::new()));
    let expected = "A\n<!-- fifth doc shop -->\n| predicate | meaning |\n|---|---|\n\
                    | `shop:price(+What,-P)` | Its price. |\n<!-- end -->\nB\n";
    assert_eq!(fs::read_to_string(home.path().join("a.md")).ok().as_deref(), Some(expected));
    for (name, why) in
        [("b.md", "it has no mark"), ("c.md", "a mark for module x"), ("d.md", "cannot read d.md")]
    {
        let (code, text) = update(name);
        assert!(code == Some(2) && text.contains(why), "{code:?} {text}");
    }
}
