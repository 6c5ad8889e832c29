//! Foreign predicates: libraries in C, and what programs see of them. The listings of docs/c.md, what a function may do
//! wrong, and libraries that are none.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("fifth-foreign-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        path
    }
    /// A library, of this text in C.
    fn library(&self, name: &str, text: &str) -> PathBuf {
        let (source, library) =
            (self.write(&format!("{name}.c"), text), self.0.join(format!("lib{name}.so")));
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"])
            .args([&root().join("crates/fifth_c/include"), &source])
            .arg("-o")
            .arg(&library)
            .output()
            .expect("cc");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        library
    }
    /// The library with everything in it.
    fn all(&self) -> PathBuf {
        self.library("all", include_str!("foreign/all.c"))
    }
    fn fifth(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fifth"))
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .expect("the command")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const EXPECTED: &str = "\
[1,-5,99999999999999999999,2.500000,a,\"text\",{1,{}},f(3,[])]
7
v(1)
2.500000
second
3
one
bound
{bound,bound}
66
done
";

#[test]
fn terms_go_in_and_out_on_any_worker_and_node() {
    let folder = Folder::new("terms");
    folder.all();
    folder.write("p.kl1", include_str!("foreign/all.kl1"));
    for options in [
        &["--workers", "1"][..],
        &["--workers", "3"],
        &["--check-heap"],
        &["--workers", "2", "--check-heap=7"],
        &["--nodes", "2"],
        &["--nodes", "2", "--dsm-pages", "messages"],
        &["--simulate", "multipsi:4"],
        &["--stats"],
    ] {
        let arguments = [&["run", "--with", "liball.so"], options, &["p.kl1"]].concat();
        let output = folder.fifth(&arguments);
        assert_eq!(text(&output.stdout), EXPECTED, "{options:?}: {}", text(&output.stderr));
        assert!(output.status.success(), "{options:?}");
    }
}

/// What a goal says when its function does something wrong.
fn told(folder: &Folder, goal: &str) -> String {
    folder.write("w.kl1", &format!(":- module main.\nmain :- true | {goal}.\n"));
    let output = folder.fifth(&["run", "--with", "liball.so", "w.kl1"]);
    assert_eq!(output.status.code(), Some(255), "{goal}: {}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn what_a_function_does_wrong_is_a_failure_of_its_goal() {
    let folder = Folder::new("wrong");
    folder.all();
    for (goal, expected) in [
        ("all:fails(1)", "the reason"),
        ("all:silent(1)", "it failed, and gave no reason"),
        ("all:unset(1,X), io:outstream([print(X)])", "it is done, and has not set argument 2"),
        ("all:odd(1,_)", "its function returned 77"),
        ("all:idle(1,_)", "it waits for argument 1, which has a value"),
        ("all:beyond(1,_)", "argument 8 is asked for, and there are 2"),
        ("all:input(1,_)", "argument 1 is an input: it cannot be set"),
        ("all:null(1,_)", "NULL, and not a value"),
        ("all:add(1,a,_)", "argument 2 must be an integer of 64 bits, not the atom a"),
        ("all:add(99999999999999999999,1,_)", "argument 1 must be an integer of 64 bits"),
        ("all:half(1,_)", "argument 1 must be a float, not the integer 1"),
        ("X = f(X), all:same(X,Y), all:twice(Y,_)", "argument 1 contains itself"),
    ] {
        let said = told(&folder, goal);
        assert!(said.starts_with(&format!("fifth: {expected}")), "{goal}: {said}");
        let name = goal.split("all:").last().and_then(|name| name.split('(').next()).expect("a name");
        assert!(
            said.contains(&format!("FAIL: all:{name}(")) && said.contains("--> w.kl1:2"),
            "{goal}: {said}"
        );
    }
    // What it waits for is told as of any goal.
    let said = told(&folder, "all:copy([1|X], Y), all:add(Y, X, _)");
    assert!(said.contains("all:copy([1|_1],_2)") && said.contains("w.kl1:2"), "{said}");
    let said = told(&folder, "all:add(1, 2, 4)");
    assert!(said.starts_with("fifth: unification failure"), "{said}");
}

#[test]
fn executables_load_their_library_from_beside_themselves() {
    let folder = Folder::new("executables");
    folder.all();
    folder.write("p.kl1", include_str!("foreign/all.kl1"));
    let built = folder.fifth(&["build", "--with", "liball.so", "p.kl1"]);
    assert!(built.status.success() && built.stderr.is_empty(), "{}", text(&built.stderr));
    let run = || Command::new(folder.0.join("p")).current_dir("/").output().expect("the executable");
    assert_eq!(text(&run().stdout), EXPECTED, "{}", text(&run().stderr));
    let other = "#include \"fifth_foreign.h\"\nstatic int f(fifth_args *a) { (void)a; return 0; }\n\
                 FIFTH_LIBRARY(\"all\", 0, {\"f\", \"i\", f})\n";
    folder.library("all", other);
    let refused = run();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("liball.so has other predicates"), "{}", text(&refused.stderr));
    std::fs::remove_file(folder.0.join("liball.so")).expect("it is there");
    let refused = run();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("lie beside this executable"), "{}", text(&refused.stderr));
    // It says what is to be moved with it.
    std::fs::create_dir(folder.0.join("lib")).expect("a folder");
    folder.library("all", other);
    std::fs::rename(folder.0.join("liball.so"), folder.0.join("lib/liball.so")).expect("it can be moved");
    folder.write("q.kl1", ":- module main.\nmain :- true | all:f(1).\n");
    let built = folder.fifth(&["build", "--with", "lib/liball.so", "q.kl1"]);
    assert!(text(&built.stderr).contains("q needs lib/liball.so beside it"), "{}", text(&built.stderr));
}

#[test]
fn libraries_that_are_none_are_refused_with_a_reason() {
    let folder = Folder::new("refused");
    let header = "#include \"fifth_foreign.h\"\nstatic int f(fifth_args *a) { (void)a; return 0; }\n";
    let table = |name: &str, rows: &str| {
        folder.library(name, &format!("{header}{rows}\n"));
    };
    folder.write("libtext.so", "no library\n");
    folder.library("plain", "int nothing;\n");
    let abi =
        "#undef FIFTH_FOREIGN_ABI\n#define FIFTH_FOREIGN_ABI 7\nFIFTH_LIBRARY(\"m\", 0, {\"f\", \"i\", f})";
    table("abi", abi);
    table("flags", "FIFTH_LIBRARY(\"m\", 64, {\"f\", \"i\", f})");
    table("twice", "FIFTH_LIBRARY(\"m\", 0, {\"f\", \"io\", f}, {\"f\", \"oi\", f})");
    table("modes", "FIFTH_LIBRARY(\"m\", 0, {\"f\", \"ix\", f})");
    table("code", "FIFTH_LIBRARY(\"m\", 0, {\"f\", \"i\", 0}, {\"g\", \"i\", f})");
    table("named", "FIFTH_LIBRARY(0, 0, {\"f\", \"i\", f})");
    table("own", "FIFTH_LIBRARY(\"string\", 0, {\"f\", \"i\", f})");
    table("many", "FIFTH_LIBRARY(\"m\", 0, {\"f\", \"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii\", f})");
    table("right", "FIFTH_LIBRARY(\"m\", 0, {\"f\", \"i\", f})");
    folder.write("p.kl1", ":- module main.\nmain :- true | m:f(1).\n");
    for (name, expected) in [
        ("missing", "cannot load libmissing.so: No such file"),
        ("text", "cannot load libtext.so"),
        ("plain", "libplain.so has no predicates for KL1: it lacks the symbol fifth_library"),
        (
            "abi",
            "libabi.so was compiled for ABI 7 of fifth_foreign.h, and this Fifth has 1: compile it again",
        ),
        ("flags", "libflags.so has flags that fifth_foreign.h does not have: 0x40"),
        ("twice", "libtwice.so: it has m:f/2 twice"),
        ("modes", "libmodes.so: m:f/2 has the mode `x`"),
        ("code", "libcode.so: its predicate f/1 has no function"),
        ("named", "libnamed.so: the name of its module is NULL"),
        ("own", "libown.so: its module has the name of one of Fifth's own, string"),
        ("many", "libmany.so: m:f/33 has more than 32 arguments"),
    ] {
        for command in ["check", "run", "build"] {
            let refused = folder.fifth(&[command, "--with", &format!("lib{name}.so"), "p.kl1"]);
            let said = text(&refused.stderr);
            assert!(refused.status.code() == Some(2) && said.contains(expected), "{command} {name}: {said}");
        }
    }
    let check = |more: &[&str]| {
        let output = folder.fifth(&[&["check"], more, &["p.kl1"]].concat());
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(check(&["--with", "libright.so"]), (Some(0), String::new()));
    let (code, said) = check(&["--with", "libright.so", "--with", "libright.so"]);
    assert!(code == Some(2) && said.contains("both have the module m"), "{said}");
    // Without the library the module is not there.
    assert!(check(&[]).1.contains("there is no module m"), "{}", check(&[]).1);
    // A module of the program may add to it, and not replace what it has.
    let more = ":- module main.\nmain :- true | m:f(1), m:g(1).\n:- module m.\ng(X) :- true | f(X).\n";
    folder.write("p.kl1", more);
    assert_eq!(check(&["--with", "libright.so"]), (Some(0), String::new()));
    folder.write("p.kl1", &format!("{more}f(_) :- true | true.\n"));
    let (code, said) = check(&["--with", "libright.so"]);
    assert!(code == Some(2) && said.contains("m:f/1 is a predicate of a library, too"), "{said}");
}

#[test]
fn the_example_runs() {
    let folder = Folder::new("example");
    let examples = root().join("examples/foreign");
    let library = std::fs::read_to_string(examples.join("spelling.c")).expect("the library");
    folder.library("spelling", &library);
    let program = examples.join("spelling.kl1");
    let output = folder.fifth(&["run", "--with", "libspelling.so", &program.display().to_string()]);
    assert_eq!(text(&output.stdout), "\"message\"\n", "{}", text(&output.stderr));
}

/// The blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("\n```").collect::<Vec<_>>();
    parts[1..].chunks(2).filter_map(|pair| pair[0].split_once('\n')).collect()
}

/// Files have their names in their first lines; what the commands of a block print stands in the block behind it.
#[test]
fn the_guide_is_right() {
    let page = std::fs::read_to_string(root().join("docs/c.md")).expect("the guide");
    let (_, part) = page.split_once("\n## Foreign predicates\n").expect("the part");
    let folder = Folder::new("guide");
    let mut said = None;
    for (language, block) in blocks(part) {
        match language {
            "c" | "kl1" | "rust" => {
                let first = block.lines().next().unwrap_or_default();
                let name = first.trim_matches([' ', '/', '*', '%']);
                folder.write(name, block);
            }
            "sh" => {
                let include =
                    format!("-Wall -Wextra -Werror -I {}", root().join("crates/fifth_c/include").display());
                let script = block.replace("-I crates/fifth_c/include", &include);
                let command = Path::new(env!("CARGO_BIN_EXE_fifth")).parent().expect("a folder");
                let paths = std::env::join_paths(
                    std::iter::once(command.to_path_buf())
                        .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
                );
                let output = Command::new("sh")
                    .args(["-c", &script])
                    .env("PATH", paths.expect("paths"))
                    .current_dir(&folder.0)
                    .output()
                    .expect("a shell");
                said = Some(text(&output.stdout) + &text(&output.stderr));
            }
            "text" => assert_eq!(said.take(), Some(format!("{block}\n"))),
            _ => {}
        }
    }
    assert!(said.is_none(), "{said:?}");
}
