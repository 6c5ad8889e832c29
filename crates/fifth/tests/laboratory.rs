//! The programs and the command of the laboratory.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::execute;
use support::process::{Running, end, handles_interrupts, send};

/// Program, argument, answer, and whether it is small enough for a collection at every reduction.
const PROGRAMS: &[(&str, &str, &str, bool)] = &[
    ("puzzle3d", "tiny", "16\n", true),
    ("triangle", "third", "[133,15945]\n", false),
    ("kl1cmp", "1", "[19016,24358630]\n", false),
];

fn bench(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../benches/{name}.kl1"))
}

#[test]
fn small_programs_give_the_same_compiled_and_interpreted() {
    for &(name, argument, answer, tiny) in PROGRAMS {
        let (files, arguments) = ([bench(name)], [argument.to_string()]);
        let (given, messages) = execute::compiled(&[], &files, &arguments, b"").expect("it starts");
        assert!(messages.is_empty(), "{name}: {messages:?}");
        assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}: {}", given.stderr);
        let given = execute::interpreted(&files, &arguments, b"").expect("it ends");
        assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}, interpreted: {}", given.stderr);
        if tiny {
            let (given, _) =
                execute::compiled(&["--check-heap"], &files, &arguments, b"").expect("it starts");
            assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}, checked: {}", given.stderr);
        }
    }
}

/// Answers that are known from elsewhere: the Soma cube (240 packings, each in 48 positions), and triangle solitaire
/// from hole 5.
#[test]
fn known_answers_are_found() {
    for (name, argument, answer) in [("puzzle3d", "soma", "11520\n"), ("triangle", "5", "[1550,323873]\n")] {
        let (given, _) =
            execute::compiled(&[], &[bench(name)], &[argument.to_string()], b"").expect("it starts");
        assert_eq!(String::from_utf8_lossy(&given.stdout), answer, "{name}: {}", given.stderr);
    }
}

/// Coverings of boards, and cheapest ways through grids, as plain sequential programs in another language have found
/// them. They are the same on one node, on three, and on simulated machines, with any number of dealers and blocks.
#[test]
fn programs_for_nodes_give_known_answers_wherever_they_run() {
    for (name, arguments, answer) in [
        ("multipsi_pentomino", "3 5 1 1 0", "28\n"),
        ("multipsi_pentomino", "4 5 2 1 0", "200\n"),
        ("multipsi_pentomino", "5 5 2 3 0", "2568\n"),
        ("nodes_pentomino", "3 5 1", "28\n"),
        ("nodes_pentomino", "4 5 2", "200\n"),
        ("nodes_pentomino", "5 5 2 3", "2568\n"),
        ("nodes_bestpath", "10 3", "[713,36093]\n"),
        ("nodes_bestpath", "20 1", "[1222,271626]\n"),
        ("nodes_bestpath", "40", "[2317,1978057]\n"),
    ] {
        let arguments: Vec<String> = arguments.split(' ').map(String::from).collect();
        for options in [&[][..], &["--nodes", "3"], &["--simulate", "multipsi:4"], &["--simulate", "pim:9"]] {
            let (given, _) = execute::compiled(options, &[bench(name)], &arguments, b"").expect("it starts");
            let stdout = String::from_utf8_lossy(&given.stdout);
            assert_eq!(stdout, answer, "{name} {arguments:?} {options:?}: {}", given.stderr);
        }
    }
}

/// The command with these arguments: exit code, standard output and standard error.
fn lab(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    // It makes no files but those that it is asked for: an interrupt could leave them.
    command.arg("lab").args(arguments).env("TMPDIR", "/proc");
    let output = command.output().expect("the command starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_small_experiment_runs_and_writes_its_files() {
    let folder = std::env::temp_dir().join(format!("fifth-laboratory-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let options = ["--scale", "small", "--runs", "2", "--workers", "1,2", "--out", &out];
    let (code, stdout, stderr) = lab(&[&["run", "tr448"], &options[..]].concat());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    for what in ["puzzle3d", "kl1cmp", "triangle", "Fifth today", "words/reduction"] {
        assert!(stdout.contains(what), "no {what} in\n{stdout}");
    }
    let read =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(read("tr448/speed.csv").lines().count(), 1 + 2 * 3);
    // What the small triangle makes fits into one nursery: it may end without a collection.
    let lines = read("tr448/utilisation.csv").lines().filter(|line| !line.contains("\"triangle, ")).count();
    assert_eq!(lines, 1 + 2 + 2 * 2);
    // It is another machine than the paper's: nothing published stands beside it.
    assert!(!stdout.contains("published"), "{stdout}");
    assert!(read("tr448/speed.csv").starts_with("program,workers,s,s: kind,"));
    assert!(read("tr448/speed.csv").contains(",measured,"));
    let json: serde_json::Value = serde_json::from_str(&read("tr448/report.json")).expect("JSON");
    assert_eq!(json["tables"][0]["rows"][0][2]["kind"], "measured", "{json}");
    assert!(
        read("tr448/in-use-kl1cmp-1.csv").lines().count() > 100,
        "two runs, and many collections in each"
    );
    assert!(read("tr448/in-use-kl1cmp-1.svg").starts_with("<svg"));
    // So does the smallest program, perhaps.
    assert!((6 + 8..=6 + 12).contains(&read("report.html").matches("<svg").count()));
    // A name and an answer for each experiment, and where it comes from.
    for what in [
        "id=\"contents\"",
        "How fast does Fifth reduce",
        "id=\"origin\"",
        env!("FIFTH_COMMIT"),
        "@media print",
    ] {
        assert!(read("report.html").contains(what), "{what}");
    }
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}

/// The instructions of an operation do not hang on what else this host does.
#[test]
fn instructions_of_messages_are_counted() {
    let (code, stdout, stderr) = lab(&["run", "multipsi/fig4"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let row = |name: &str| -> Vec<f64> {
        let line = stdout.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{stdout}"));
        let cells = line[name.len()..].split_whitespace();
        cells
            .map(|cell| cell.trim_end_matches(['*', '^', '~']).replace(',', "").parse().expect("a number"))
            .collect()
    };
    // Instructions with white references, and how many more black ones take.
    let costs = ["throw_goal, send", "throw_goal, receive", "read, send", "read, receive"];
    let costs = costs.map(row).map(|row| (row[3], row[6]));
    assert!(costs.iter().all(|(white, _)| (100.0..20_000.0).contains(white)), "{costs:?}");
    assert!(costs[1].1 > 0.0 && costs[2].1 == 0.0, "a read has no reference: {costs:?}");
}

/// On simulated machines nothing hangs on this host.
#[test]
fn a_simulated_report_is_the_same_byte_for_byte() {
    let names = ["multipsi/table1", "multipsi/fig5"];
    let run = || lab(&[&["run"], &names[..], &["--scale", "small"]].concat());
    let (code, stdout, stderr) = run();
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    for what in [
        "183,405*",
        "41,600*",
        "adaptive, all black",
        "depth off, structure IDs",
        "pim:9",
        "41^",
        "~ derived: follows from inputs and counts",
    ] {
        assert!(stdout.contains(what), "no {what} in\n{stdout}");
    }
    assert_eq!((code, stdout, stderr), run());
}

#[test]
fn nodes_of_this_host_are_measured_beside_the_simulated_ones() {
    let (code, stdout, stderr) =
        lab(&["run", "multipsi/table1", "--scale", "small", "--nodes", "2", "--runs", "1"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("2 threads %"), "{stdout}");
}

#[test]
fn what_was_measured_is_not_lost_if_something_fails() {
    // No room for this number of workers.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1100000 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_fifth"), "lab", "run"]);
    command.args(["tr448", "jmachine/fig4", "--scale", "small", "--workers", "8"]);
    let output = command.output().expect("the command starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(255), "{stderr}");
    assert!(stderr.starts_with("error: tr448: ") && stderr.contains("ulimit -v"), "{stderr}");
    assert!(stderr.ends_with("error: 1 of 2 experiments failed: tr448\n"), "{stderr}");
    assert!(stdout.starts_with("jmachine/fig4: "), "{stdout}");

    let folder = std::env::temp_dir().join(format!("fifth-unwritable-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("report.html")).expect("the folder is new");
    let (code, stdout, stderr) = lab(&["run", "jmachine/fig4", "--out", &folder.to_string_lossy()]);
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.starts_with("error: cannot write ") && stderr.contains("report.html"), "{stderr}");
    assert!(stdout.starts_with("jmachine/fig4: "), "{stdout}");
}

#[test]
fn a_program_ends_with_the_laboratory_that_runs_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(["lab", "run", "tr448", "--workers", "1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let laboratory = Running::start(&mut command);
    let start = Instant::now();
    let is_late = || start.elapsed() > Duration::from_secs(60);
    let threads = format!("/proc/{}/task", laboratory.id());
    let program = loop {
        // Any of its threads may have started it.
        let threads = std::fs::read_dir(&threads).expect("it runs").flatten();
        let children = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")));
        let child = children.flatten().find_map(|text| text.trim().parse::<u32>().ok());
        if let Some(child) = child.filter(|&child| handles_interrupts(child) == Some(true)) {
            break child;
        }
        assert!(!is_late(), "no program begins");
        std::thread::sleep(Duration::from_millis(5));
    };
    send(&laboratory, Signal::KILL);
    assert_eq!(end(laboratory).status.code(), None);
    // It may stay as a process that nobody waits for.
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{program}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    while runs() {
        assert!(!is_late(), "the program goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn figures_of_a_run_are_complete() {
    let file = std::env::temp_dir().join(format!("fifth-figures-{}.json", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(["run", "--stats", "--stats-file"]).arg(&file).arg(bench("prodcons"));
    let output = command.output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    // What cannot be removed is only litter.
    let _ = std::fs::remove_file(&file);
    let figure = |name: &str| {
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        line.trim().parse::<u64>().unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    for (name, key) in
        [("reductions", "reductions"), ("suspensions", "suspensions"), ("words allocated", "words_allocated")]
    {
        assert_eq!(Some(figure(name)), json[key].as_u64(), "{name}");
    }
    let collections = json["collections"].as_array().expect("a list");
    assert_eq!(figure("pauses"), collections.len() as u64);
    let sum = |key: &str| collections.iter().filter_map(|c| c[key].as_u64()).sum::<u64>();
    assert_eq!(figure("words copied, minor") + figure("words copied, major"), sum("words_copied"));
    let shares = collections.iter().filter_map(|c| c["shares"].as_array()).flatten();
    let shared: u64 = shares.filter_map(|share| share["words_copied"].as_u64()).sum();
    assert_eq!(shared, sum("words_copied"));
    let (heap, waiting) = (sum("heap_words"), sum("waiting_words"));
    assert!(sum("ready_words") > 0 && waiting > 0 && waiting < heap, "{waiting} of {heap}");
}

/// Rows of the scorecard that have cells of these reports.
fn scorecard_rows_of(reports: &[lab::report::Report]) -> Vec<&'static lab::scorecard::Row> {
    let is_theirs = |row: &&lab::scorecard::Row| match &row.link {
        lab::scorecard::Link::Cell(address) => reports.iter().any(|report| report.name == address.experiment),
        lab::scorecard::Link::Nothing(_) => false,
    };
    let rows: Vec<_> = lab::scorecard::rows().iter().filter(is_theirs).collect();
    assert!(rows.len() > 50, "{} rows", rows.len());
    rows
}

/// Rows whose experiments run programs have their cells, and a folder of reports is read again.
#[test]
fn the_scorecard_reads_what_was_measured() {
    let folder = std::env::temp_dir().join(format!("fifth-scorecard-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let (code, stdout, stderr) = lab(&["scorecard", "--from", &out]);
    assert_eq!(code, Some(2), "{stdout}{stderr}");
    assert!(stderr.contains("has no reports"), "{stderr}");
    let ran = [
        lab(&["run", "multipsi", "--scale", "small", "--out", &out]),
        lab(&["run", "jmachine/fig2", "--out", &out]),
    ];
    assert!(ran.iter().all(|(code, _, stderr)| *code == Some(0) && stderr.is_empty()), "{ran:?}");
    let (code, scorecard, stderr) = lab(&["scorecard", "--from", &out]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{scorecard}");
    // Once as a head of a column.
    assert_eq!(scorecard.matches("no cell").count(), 1, "{scorecard}");
    let row = |quantity: &str| scorecard.lines().find(|line| line.contains(quantity)).unwrap_or_default();
    assert!(row("read neighbour, cycles").contains("within 10 %"), "{scorecard}");
    assert!(row("base of ping, cycles").contains("derived"), "{scorecard}");
    // Not run: another experiment. A run at small scale is none.
    assert!(row("barrier of 8 nodes").contains("not run"), "{scorecard}");
    let words: Vec<&str> = scorecard.split_whitespace().collect();
    assert!(words.join(" ").contains(" of them were not run."), "{scorecard}");
    assert!(row("Pentomino speed").contains("not run"), "{scorecard}");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("it was written");
    assert!(page.contains("<a href=\"#jmachine/fig2/ping\">") && page.contains("id=\"jmachine/fig2/ping\""));
    let reports = ["table1", "fig4", "fig5"].map(|name| {
        let json = std::fs::read_to_string(folder.join(format!("multipsi/{name}/report.json")));
        serde_json::from_str::<lab::report::Report>(&json.expect("it was written")).expect("it is a report")
    });
    for row in scorecard_rows_of(&reports) {
        let (cell, state) = lab::scorecard::state(row, &reports);
        assert!(state != lab::scorecard::State::NoCell, "{} {}: {cell:?}", row.place, row.quantity);
        assert!(row.quantity != "Pentomino speed" || state.show().starts_with("fitted"), "{state:?}");
    }
    // Whatever stands in a file, it is an error and nothing worse.
    let report = folder.join("jmachine/fig2/report.json");
    for text in ["", "{}", "[1", "{\"name\":1}"] {
        std::fs::write(&report, text).expect("it is a file");
        let (code, stdout, stderr) = lab(&["scorecard", "--from", &out]);
        assert_eq!(code, Some(2), "{text}: {stdout}{stderr}");
        assert!(stderr.contains("is no report"), "{text}: {stderr}");
    }
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}

/// Each example, with fewer cycles: whatever the number of threads, the same comes out.
#[test]
fn networks_of_files_are_measured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/networks");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("it is a file");
        let text = text.replace("seeds = [1, 2, 3]", "").replace("measure = 2000", "");
        let text = text.replace("[traffic]", "[traffic]\nwarm-up = 100\nmeasure = 400\ndrain = 1000");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let copy = std::env::temp_dir().join(format!("fifth-network-{}-{name}", std::process::id()));
        std::fs::write(&copy, text).expect("it is written");
        let run = |threads: &str| lab(&["network", &copy.to_string_lossy(), "--threads", threads]);
        let (code, stdout, stderr) = run("1");
        assert_eq!(stderr, "", "{name}");
        assert!(
            code == Some(0) && stdout.contains("Verdict") && stdout.contains("Load and latency"),
            "{stdout}"
        );
        assert_eq!(run("3"), (code, stdout, stderr), "{name}");
        // What cannot be removed is only litter.
        let _ = std::fs::remove_file(&copy);
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["custom.toml", "dragonfly.toml", "mesh.toml", "rdt.toml", "torus.toml"]);
}

#[test]
fn a_wrong_file_of_a_network_is_told_with_line_and_key() {
    let file = std::env::temp_dir().join(format!("fifth-wrong-network-{}.toml", std::process::id()));
    let name = file.to_string_lossy().into_owned();
    std::fs::write(&file, "[network]\ntopology = \"mesh\"\nsides = [4, 0]\n[traffic]\n")
        .expect("it is written");
    let (code, stdout, stderr) = lab(&["network", &name]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(
        stderr.contains("missing field `pattern`") && stderr.contains(&format!("{name}:4: ")),
        "{stderr}"
    );
    let text =
        "[network]\ntopology = \"mesh\"\nsides = [4, 0]\n[traffic]\npattern = \"uniform\"\nloads = [0.1]\n";
    std::fs::write(&file, text).expect("it is written");
    let (_, _, stderr) = lab(&["network", &name]);
    assert!(
        stderr.contains(&format!("{name}:3: sides: ")) && stderr.contains("3 | sides = [4, 0]"),
        "{stderr}"
    );
    let expecting = text.replace('0', "4").replace("4.1", "0.1") + "[expect]\nlatency-at-most = 1\n";
    std::fs::write(&file, expecting).expect("it is written");
    let (code, stdout, _) = lab(&["network", &name]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("at most 1: does not hold"), "{stdout}");
    // What cannot be removed is only litter.
    let _ = std::fs::remove_file(&file);
}

/// Each block of docs/exercises.md is a command, and what its output has.
#[test]
fn exercises_show_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/exercises.md")).expect("the exercises");
    let blocks: Vec<&str> =
        text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 6);
    for block in blocks {
        let (command, expected) = block.split_once('\n').expect("a command and what to see");
        let arguments = command.strip_prefix("$ fifth ").expect("a command of Fifth").split(' ');
        let output = Command::new(env!("CARGO_BIN_EXE_fifth")).args(arguments).current_dir(&root).output();
        let output = output.expect("the command starts");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        for line in expected.lines() {
            assert!(stdout.contains(line), "{command}: no `{line}` in\n{stdout}");
        }
    }
}

#[test]
fn figures_of_the_readme_are_made_again() {
    let folder = std::env::temp_dir().join(format!("fifth-figures-of-{}", std::process::id()));
    let (code, stdout, stderr) = lab(&["figures", &folder.to_string_lossy(), "--scale", "small"]);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "", ""));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures");
    for (name, what) in [("speed-up.svg", "class=\"ideal\""), ("two-workers.svg", "worker 1")] {
        for folder in [&folder, &own] {
            let text = std::fs::read_to_string(folder.join(name)).expect("it was written");
            assert!(text.starts_with("<svg") && text.contains(what), "{name}: {text}");
        }
    }
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}

/// What a folder has of this very program, asked for the same, is not measured again.
#[test]
fn a_run_is_resumed_where_it_ended() {
    let folder = std::env::temp_dir().join(format!("fifth-resumed-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let run = |more: &[&str]| {
        let (code, stdout, stderr) = lab(&[&["run", "jmachine/fig4", "--out", &out][..], more].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        stdout
    };
    let report = folder.join("jmachine/fig4/report.json");
    let read = || std::fs::read_to_string(&report).expect("it was written");
    let first = run(&[]);
    // A mark shows whether the file stays.
    let marked = read().replace("Bandwidth between two nodes", "Bandwidth between two nodes, marked");
    std::fs::write(&report, &marked).expect("it is written");
    assert!(run(&["--resume"]).contains("marked"));
    for more in [&["--resume", "--seed", "2"][..], &["--resume", "--scale", "small"], &[]] {
        std::fs::write(&report, &marked).expect("it is written");
        assert!(!run(more).contains("marked"), "{more:?}");
    }
    let other = read().replace(&format!("\"commit\": \"{}", env!("FIFTH_COMMIT")), "\"commit\": \"other");
    std::fs::write(&report, other.replace("between two nodes", "marked")).expect("it is written");
    assert!(!run(&["--resume"]).contains("marked"), "another commit's report is no report of this one");
    std::fs::write(&report, "{").expect("it is written");
    assert_eq!(run(&["--resume"]), first);
    let left: Vec<_> = std::fs::read_dir(folder.join("jmachine/fig4")).expect("a folder").flatten().collect();
    assert!(left.iter().all(|entry| !entry.path().to_string_lossy().ends_with(".part")), "{left:?}");
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn seeds_and_inputs_are_chosen() {
    let run = |more: &[&str]| lab(&[&["run"], more, &["--scale", "small"]].concat());
    let (code, stdout, stderr) = run(&["jump1/fig11", "--seed", "1..3"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("Spread over seeds") && stdout.contains("Medians over seeds 1 to 3"), "{stdout}");
    let (code, stdout, stderr) = run(&["jmachine/fig2", "--set", "hop-cycles=1,2"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("Sensitivity to hop-cycles") && stdout.contains("hop-cycles=2"), "{stdout}");
    let (code, stdout, stderr) = run(&["jmachine/fig2", "--set", "fifo-bytes=100"]);
    assert_eq!(code, Some(2), "{stdout}");
    assert!(
        stderr.contains("has the input fifo-bytes: jmachine/fig2 can have buffer-flits, duplex"),
        "{stderr}"
    );
    let (code, stdout, stderr) = run(&["jmachine/fig2", "--set", "cpi-factor=2"]);
    assert_eq!(code, Some(2), "{stdout}");
    assert!(
        stderr.contains("no experiment that ran has the input cpi-factor; they have buffer-flits"),
        "{stderr}"
    );
    let (code, stdout, stderr) = run(&["symmetry", "--set", "lock-us=0,50"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("Sensitivity to lock-us") && stdout.contains("lock in red"), "{stdout}");
    let (code, stdout, stderr) = run(&["symmetry", "--seed", "1..2"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("Medians over seeds 1 to 2") && stdout.contains("speed"), "{stdout}");
    let (code, stdout, stderr) = run(&["multipsi/fig5", "--set", "cpi-factor=1,0.5"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("Sensitivity to cpi-factor") && stdout.contains("work rate"), "{stdout}");
    let (code, stdout, stderr) = run(&["multipsi/fig5", "--seed", "1..9"]);
    assert_eq!(code, Some(2), "{stdout}");
    assert!(stderr.contains("has a seed") && stderr.contains("cpi-factor, depth, tables"), "{stderr}");
    let (code, _, stderr) = run(&["jmachine/fig2", "--set", "speed=9"]);
    assert!(
        code == Some(2) && stderr.contains("no input is called `speed`; there are buffer-flits"),
        "{stderr}"
    );
    let (code, stdout, _) = lab(&["inputs"]);
    assert!(code == Some(0) && stdout.contains("fifo-bytes") && stdout.contains("(staff)"), "{stdout}");
}

/// Figures of a run at small scale mean little: no row has them, and the page says so.
#[test]
fn a_small_run_counts_in_no_scorecard() {
    let folder = std::env::temp_dir().join(format!("fifth-small-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let (code, ..) = lab(&["run", "jmachine/fig2", "jmachine/fig4", "--scale", "small", "--out", &out]);
    assert_eq!(code, Some(0));
    let told = "because it ran at small scale";
    let (code, stdout, stderr) = lab(&["scorecard", "--from", &out]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains(&format!("Not counted, {told}: jmachine/fig2, jmachine/fig4.")), "{stdout}");
    let row = stdout.lines().find(|line| line.contains("8 words, of the peak")).unwrap_or_default();
    assert!(row.contains("not run"), "{row}");
    let (code, markdown, _) = lab(&["scorecard", "--from", &out, "--markdown"]);
    assert!(code == Some(0) && !markdown.contains("| within "), "{markdown}");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("it was written");
    assert!(page.contains("stand beside no printed ones, because it ran at small scale"), "{page}");
    assert!(!page.contains("printed values that are measured here"), "{page}");
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}

/// A report with other inputs stands nowhere beside the papers.
#[test]
fn what_was_set_otherwise_counts_in_no_scorecard() {
    let folder = std::env::temp_dir().join(format!("fifth-set-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let (code, ..) = lab(&["run", "jmachine/fig4", "--set", "buffer-flits=1", "--out", &out]);
    assert_eq!(code, Some(0));
    let (code, stdout, stderr) = lab(&["scorecard", "--from", &out]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("Not counted") && stdout.contains("jmachine/fig4"), "{stdout}");
    let row = stdout.lines().find(|line| line.contains("8 words, of the peak")).unwrap_or_default();
    assert!(row.contains("not run"), "{row}");
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}
