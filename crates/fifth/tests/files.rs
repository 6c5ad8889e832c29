//! What the command writes: executables that notice damage, and files that are whole and over nothing that was to
//! stay.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::process::error;

/// Begins the program's section.
const MAGIC: &[u8] = b"FIFTH PROGRAM 3\n";
const PROGRAM: &str = ":- module main.\nmain :- io:outstream([print(hello), nl]).\n";

/// A folder with a program, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fifth-files-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        fs::write(path.join("p.kl1"), PROGRAM).expect("a temporary file");
        Folder(path)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    /// The command, in this folder.
    fn fifth(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }
    fn run(&self, arguments: &[&str]) -> Output {
        self.fifth(arguments).output().expect("it starts")
    }
    /// The command behind words of a shell.
    fn shell(&self, before: &str, arguments: &str) -> Output {
        let line = format!("{before}; exec {} {arguments}", env!("CARGO_BIN_EXE_fifth"));
        let shell = Command::new("sh").args(["-c", &line]).current_dir(&self.0).stdin(Stdio::null()).output();
        shell.expect("a shell")
    }
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is only litter.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs an executable. Another test may be starting a process at the moment when it was still open for writing.
fn run(executable: &Path) -> Output {
    loop {
        match Command::new(executable).stdin(Stdio::null()).output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
            result => return result.expect("it starts"),
        }
    }
}

/// It says hello.
fn greets(executable: &Path) {
    let output = run(executable);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"hello\n"[..]), "{}", error(&output));
}

/// It says that its program cannot be read.
fn refuses(executable: &Path, what: &str) {
    let output = run(executable);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{what}: {}", error(&output));
    let told = error(&output);
    assert!(told.contains("the program in this executable cannot be read; build it again"), "{what}: {told}");
}

#[test]
fn damage_of_the_program_is_an_error() {
    let folder = Folder::new("damage");
    assert!(folder.run(&["build", "p.kl1", "-o", "p"]).status.success());
    let executable = folder.path("p");
    greets(&executable);
    let bytes = fs::read(&executable).expect("it was built");
    let start = bytes.windows(MAGIC.len()).rposition(|window| window == MAGIC).expect("a section");
    let length = u64::from_le_bytes(bytes[start + 16..start + 24].try_into().expect("8 bytes")) as usize + 32;
    // Any sequence does that goes everywhere (Knuth's multiplier for 64 bits).
    let mut random: u64 = 27;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % bound
    };
    let write = |at: usize, bytes: &[u8]| {
        let file = File::options().write(true).open(&executable).expect("it can be written");
        file.write_all_at(bytes, at as u64).expect("it can be written");
    };
    for _ in 0..1000 {
        let at = start + below(length);
        let count = 1 + below(8.min(start + length - at));
        let damaged: Vec<u8> =
            bytes[at..at + count].iter().map(|byte| byte ^ (1 + below(255) as u8)).collect();
        write(at, &damaged);
        refuses(&executable, &format!("{count} bytes at {at}"));
        write(at, &bytes[at..at + count]);
    }
    greets(&executable);
    for length in [start, start + 1, start + 40, start + length - 1, bytes.len() - 1] {
        fs::write(&executable, &bytes[..length]).expect("it can be written");
        refuses(&executable, &format!("cut off at {length}"));
    }
}

#[test]
fn a_stripped_executable_keeps_its_program() {
    let folder = Folder::new("strip");
    assert!(folder.run(&["build", "p.kl1", "-o", "p"]).status.success());
    assert!(Command::new("strip").arg(folder.path("p")).status().expect("binutils").success());
    greets(&folder.path("p"));
    // Without its section it does not become the compiler.
    let removed = Command::new("objcopy").args(["--remove-section", ".fifth"]).arg(folder.path("p")).status();
    assert!(removed.expect("binutils").success());
    refuses(&folder.path("p"), "without a section");
}

#[test]
fn builds_at_the_same_time_leave_one_whole_executable() {
    let folder = Folder::new("together");
    let victim = folder.path("victim");
    fs::write(&victim, "precious").expect("it can be written");
    symlink(&victim, folder.path(".p.partial")).expect("a link");
    let builds: Vec<_> = (0..4)
        .map(|_| {
            folder.fifth(&["build", "p.kl1", "-o", "p"]).stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    for build in builds {
        let output = build.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", error(&output));
    }
    greets(&folder.path("p"));
    assert_eq!(fs::read(&victim).expect("it is there"), b"precious");
    assert_eq!(folder.names(), [".p.partial", "p", "p.kl1", "victim"]);
}

#[test]
fn nothing_is_written_over_inputs_folders_and_devices() {
    let folder = Folder::new("over");
    fs::write(folder.path("m.kl1"), ":- module m.\nq :- true.\n").expect("a temporary file");
    fs::write(folder.path("two.kl1"), ":- module main.\nmain :- m:q.\n").expect("a temporary file");
    fs::create_dir(folder.path("folder")).expect("a folder");
    symlink("p.kl1", folder.path("link.kl1")).expect("a link");
    symlink("nowhere", folder.path("broken")).expect("a link");
    let before = folder.names();
    for (arguments, wanted) in [
        (&["build", "p.kl1", "-o", "p.kl1"][..], "cannot write p.kl1: this command reads it, too"),
        (&["build", "p.kl1", "-o", "link.kl1"], "this command reads it, too"),
        (&["build", "two.kl1", "-o", "m.kl1"], "this command reads it, too"),
        (&["build", "p.kl1", "-o", env!("CARGO_BIN_EXE_fifth")], "this command reads it, too"),
        (&["run", "--trace", "p.kl1", "p.kl1"], "this command reads it, too"),
        (&["run", "--stats-file", "./p.kl1", "p.kl1"], "this command reads it, too"),
        (
            &["run", "--stats-file", "t", "--trace", "t", "p.kl1"],
            "--stats-file and --trace name the same file",
        ),
        (&["build", "p.kl1", "-o", "folder"], "it is a folder"),
        (&["build", "p.kl1", "-o", "broken"], "it is a symbolic link that leads nowhere"),
        (&["build", "p.kl1", "-o", "none/p"], "cannot write none/p: No such file or directory"),
    ] {
        let output = folder.run(arguments);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{arguments:?}");
        assert!(error(&output).contains(wanted), "{arguments:?}: {}", error(&output));
    }
    assert_eq!(folder.names(), before);
    assert_eq!(fs::read(folder.path("p.kl1")).expect("it is there"), PROGRAM.as_bytes());
    // A device is written into, and a link stays one.
    let output = folder.run(&["build", "p.kl1", "-o", "/dev/null"]);
    assert!(output.status.success(), "{}", error(&output));
    assert!(fs::metadata("/dev/null").expect("a device").file_type().is_char_device());
    let output = folder.run(&["run", "--trace", "/dev/full", "p.kl1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("cannot write /dev/full: No space left on device"), "{}", error(&output));
    fs::write(folder.path("target"), "old").expect("a temporary file");
    symlink("target", folder.path("to")).expect("a link");
    assert!(folder.run(&["build", "p.kl1", "-o", "to"]).status.success());
    assert!(folder.path("to").is_symlink());
    greets(&folder.path("target"));
}

/// A file that is longer than the shell allows is as one on a full disk.
#[test]
fn a_full_disk_leaves_no_half_file() {
    let folder = Folder::new("full");
    fs::write(folder.path("old"), "old").expect("a temporary file");
    for name in ["old", "new"] {
        for arguments in [
            format!("run --trace {name} p.kl1"),
            format!("run --stats-file {name} p.kl1"),
            format!("build p.kl1 -o {name}"),
        ] {
            let output = folder.shell("trap '' XFSZ; ulimit -f 0", &arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments}: {}", error(&output));
            let wanted = format!("error: cannot write {name}: File too large");
            assert!(error(&output).contains(&wanted), "{arguments}: {}", error(&output));
        }
    }
    assert_eq!(folder.names(), ["old", "p.kl1"]);
    assert_eq!(fs::read(folder.path("old")).expect("it is there"), b"old");
}

#[test]
fn a_closed_standard_output_is_an_error_if_there_is_output() {
    let folder = Folder::new("closed");
    let quiet = ":- module main.\nmain :- true.\n";
    fs::write(folder.path("quiet.kl1"), quiet).expect("a temporary file");
    let loud = ":- module main.\nmain :- io:errstream([print(hello), nl]).\n";
    fs::write(folder.path("loud.kl1"), loud).expect("a temporary file");
    let output = folder.shell("exec >&-", "run p.kl1");
    assert_eq!(output.status.code(), Some(255), "{}", error(&output));
    assert!(error(&output).contains("cannot write to stdout: Bad file descriptor"), "{}", error(&output));
    assert_eq!(folder.shell("exec 2>&-", "run loud.kl1").status.code(), Some(255));
    let output = folder.shell("exec >&-", "run quiet.kl1");
    assert_eq!((output.status.code(), error(&output)), (Some(0), String::new()));
    let output = folder.shell("exec >&-", "--help");
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("cannot write to standard output: it is closed"), "{}", error(&output));
    assert_eq!(folder.shell("exec >/dev/null", "run p.kl1").status.code(), Some(0));
}

#[test]
fn an_error_is_reported_after_what_was_written_before_it() {
    let folder = Folder::new("order");
    let text = ":- module main.\nmain :- klicio:klicio([stdout(normal(S))]), write(100,S).\n\
        write(0,S) :- true | S = [nl|S1], wrong(1,S1).\n\
        write(N,S) :- N > 0 | S = [putc(120)|S1], M := N-1, write(M,S1).\nwrong(2,_) :- true | true.\n";
    fs::write(folder.path("p.kl1"), text).expect("a temporary file");
    let output = folder.shell("exec 2>&1", "run --workers 1 p.kl1");
    let written = String::from_utf8_lossy(&output.stdout);
    assert!(written.starts_with(&format!("{}\nfifth: reduction failure", "x".repeat(100))), "{written}");
}

#[test]
fn an_executable_has_the_name_of_its_first_file() {
    let folder = Folder::new("named");
    let built = folder.run(&["build", "p.kl1"]);
    assert_eq!(built.status.code(), Some(0), "{}", error(&built));
    let run = || Command::new(folder.path("p")).output().expect("it starts").stdout;
    assert_eq!(run(), b"hello\n");
    // What was built may be built again; what is something else stays.
    fs::write(folder.path("p.kl1"), PROGRAM.replace("hello", "again")).expect("a temporary file");
    assert_eq!(folder.run(&["build", "p.kl1"]).status.code(), Some(0));
    assert_eq!(run(), b"again\n");
    let other: [fn(&Path); 4] = [
        |path| fs::write(path, "mine").expect("a file"),
        |path| _ = fs::copy(env!("CARGO_BIN_EXE_fifth"), path).expect("a copy"),
        |path| fs::create_dir(path).expect("a folder"),
        |path| symlink("nowhere", path).expect("a link"),
    ];
    for (number, make) in other.iter().enumerate() {
        let (name, text) = (format!("other{number}"), format!("other{number}.kl1"));
        fs::write(folder.path(&text), PROGRAM).expect("a temporary file");
        make(&folder.path(&name));
        let refused = folder.run(&["build", &text]);
        let told = format!(
            "error: {name} is there, and is no executable that Fifth has built: name another with `-o"
        );
        assert!(error(&refused).starts_with(&told), "{}", error(&refused));
        assert_eq!(refused.status.code(), Some(2));
    }
    assert_eq!(fs::read(folder.path("other0")).expect("it is there"), b"mine");
    fs::write(folder.path("plain"), PROGRAM).expect("a temporary file");
    for file in ["plain", "-"] {
        let refused = folder.run(&["build", file]);
        assert_eq!(
            (refused.status.code(), error(&refused).contains("`-o EXECUTABLE`")),
            (Some(2), true),
            "{file}"
        );
    }
}

/// An executable that cannot read itself says why: nothing is wrong with it.
#[test]
fn an_executable_that_cannot_be_read_says_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = Folder::new("unreadable");
    assert_eq!(folder.run(&["build", "p.kl1"]).status.code(), Some(0));
    let exe = folder.path("p");
    let allow = |mode| fs::set_permissions(&exe, fs::Permissions::from_mode(mode)).expect("it is ours");
    allow(0o111);
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut command = Command::new(&exe);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        // It may read everything.
        command.uid(65534).gid(65534);
    }
    let output = command.output().expect("it starts");
    let told = error(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("has its program in itself") && told.contains("chmod a+r"), "{told}");
    assert!(!told.contains("build it again"), "{told}");
    allow(0o755);
    if !is_root {
        eprintln!("not tested without being root: a folder without /proc (chroot)");
        return;
    }
    // What it is linked with, in a place of its own.
    let linked = Command::new("ldd").arg(&exe).output().expect("ldd");
    let root = folder.path("root");
    let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
    for library in linked.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(place.parent().expect("a folder")).expect("a temporary folder");
        fs::copy(library, place).expect("a copy");
    }
    fs::copy(&exe, root.join("p")).expect("a copy");
    let output = Command::new("chroot").arg(&root).arg("/p").output().expect("chroot");
    let told = error(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("mount /proc") && !told.contains("build it again"), "{told}");
}

#[test]
fn a_program_comes_from_standard_input() {
    let folder = Folder::new("dash");
    folder_module(&folder);
    let run = |arguments: &[&str], text: &str| {
        let mut command = folder.fifth(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), text.as_bytes())
            .expect("it reads");
        child.wait_with_output().expect("a child")
    };
    let output = run(&["run", "-", "--", "-"], PROGRAM);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"hello\n"[..]), "{}", error(&output));
    // With what it calls beside it, or named.
    let calls = ":- module main.\nmain :- beside:name(X), io:outstream([print(X), nl]).\n";
    for arguments in [&["run", "-"][..], &["run", "-", "beside.kl1"], &["run", "beside.kl1", "-"]] {
        let output = run(arguments, calls);
        assert_eq!(&output.stdout[..], b"beside\n", "{}", error(&output));
    }
    // Places are those of the text, of errors before the run and in it.
    let output = run(&["check", "-"], "#!/usr/bin/env -S fifth run\n:- module main.\n\nmain :- foo.\n");
    assert!(error(&output).contains("standard input:4:9"), "{}", error(&output));
    let output = run(&["run", "-"], ":- module main.\nmain :-\n  X := 1/0, io:outstream([print(X)]).\n");
    let told = error(&output);
    assert!(told.contains("standard input:3") && told.contains("X := 1/0"), "{told}");
    let output = run(&["check", "--message-format", "json", "-"], ":- module main.\nmain :- foo.\n");
    assert!(error(&output).contains("standard input"), "{}", error(&output));
}

fn folder_module(folder: &Folder) {
    fs::write(folder.path("beside.kl1"), ":- module beside.\nname(X) :- X = beside.\n")
        .expect("a temporary file");
}

#[test]
fn a_script_is_a_program() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("script");
    folder_module(&folder);
    let text = "main :- unix:argv(As), beside:name(X), io:outstream([print([X|As]), nl]).\n";
    let fifth = env!("CARGO_BIN_EXE_fifth");
    for (number, first) in
        [format!("#!{fifth} run"), format!("#!/usr/bin/env -S {fifth} run")].iter().enumerate()
    {
        let script = folder.path(&format!("script{number}"));
        fs::write(&script, format!("{first}\n:- module main.\n{text}")).expect("a temporary file");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let output = Command::new(&script).args(["--", "a", "-b"]).output().expect("it starts");
        let wanted = "[beside,\"a\",\"-b\"]\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "{}", error(&output));
        // Lines and columns stay what they are, also of a mistake in the first line of clauses.
        fs::write(&script, format!("{first}\n:- module main.\nmain :- foo.\n")).expect("a temporary file");
        let output = Command::new(&script).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(error(&output).contains(&format!("script{number}:3:9")), "{}", error(&output));
    }
}
