//! The pages of the laboratory: what the live one answers, and how both look in a browser, if there is one.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::browser;
use support::process::Running;
use support::web::Address;

/// `fifth lab serve`, which ends with the test.
struct Served {
    _process: Running,
    page: Address,
}

impl Served {
    fn start() -> Served {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.args(["lab", "serve"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = Running::start(&mut command);
        let mut told = String::new();
        let mut lines = BufReader::new(process.stderr.take().expect("piped"));
        lines.read_line(&mut told).expect("it says where it is");
        assert!(told.starts_with("the laboratory is at http://"), "{told}");
        Served { page: Address::of_line(&told).expect("an address"), _process: process }
    }
    /// Status and body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (String, String) {
        self.page.ask(method, path, body).expect("it answers")
    }
}

/// The live page: what it needs is answered, an experiment starts from it and its report comes.
#[test]
fn the_live_page_runs_experiments() {
    let served = Served::start();
    let ask = |method: &str, path: &str, body: &str| served.ask(method, path, body);
    let (status, page) = ask("GET", "", "");
    assert_eq!(status, "200");
    assert!(page.contains("jmachine/fig4") && !page.contains("NONCE") && !page.contains("OPTIONS"), "{page}");
    let (status, movie) = ask("GET", "machine?machine=rdt&side=4", "");
    let movie: serde_json::Value = serde_json::from_str(&movie).expect("JSON");
    assert!(status == "200" && movie["hops"].as_array().is_some_and(|hops| !hops.is_empty()), "{movie}");
    assert_eq!(ask("GET", "machine?side=999", "").0, "400");
    let start = |names: &str, set: &str| {
        format!("{{\"names\":[{names}],\"scale\":\"small\",\"runs\":1,\"seed\":\"\",\"set\":\"{set}\"}}")
    };
    for (body, why) in [
        ("{}".to_string(), "missing field"),
        (start("", ""), "no experiment is chosen"),
        (start("\"nothing\"", ""), "no experiment is called nothing"),
        (start("\"jmachine/fig4\"", "speed=1"), "no input is called `speed`"),
    ] {
        let (status, told) = ask("POST", "start", &body);
        assert!(status == "400" && told.contains(why), "{body}: {told}");
    }
    assert_eq!(ask("GET", "start", "").0, "404");
    assert_eq!(ask("POST", "start", &start("\"jmachine/fig4\"", "")).0, "200");
    let begin = Instant::now();
    loop {
        let (_, state) = ask("GET", "state?shown=0&run=0", "");
        let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
        let reports = state["reports"].as_array().expect("a list");
        if state["running"] == false && reports.len() == 2 {
            assert!(reports[0].as_str().is_some_and(|html| html.contains("id=\"jmachine/fig4\"")), "{state}");
            // Nothing of a small run is on the scorecard.
            let scorecard = reports[1].as_str().unwrap_or_default();
            assert!(scorecard.contains("because it ran at small scale: jmachine/fig4."), "{scorecard}");
            assert!(scorecard.contains(">not run<") && !scorecard.contains(">within "), "{scorecard}");
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no report after a minute: {state}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where screenshots are kept: the test's artefacts.
fn artefacts() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The document that a headless browser makes of a page: one that has all that is expected. A busy machine may need
/// more time for what the page's script asks for, so that the browser is given twice as much at each of some attempts.
/// A picture of this name is kept. None: there is no browser.
fn browsed(address: &str, name: &str, dark: bool, expected: &[&str]) -> Option<()> {
    let browser = browser::installed()?;
    let run = |milliseconds: u32, more: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["100", browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
        command.args(["--window-size=1300,1600", &format!("--virtual-time-budget={milliseconds}")]);
        command.args(dark.then_some("--blink-settings=preferredColorScheme=0")).args(more).arg(address);
        let output = command.stdin(Stdio::null()).output().expect("timeout starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let mut document = String::new();
    for attempt in 0..6 {
        let milliseconds = 4_000 << attempt;
        document = run(milliseconds, &["--dump-dom"]);
        if !expected.iter().all(|text| document.contains(text)) {
            continue;
        }
        let picture = artefacts().join(name);
        // What an earlier run left would hide that there is none now.
        let _ = std::fs::remove_file(&picture);
        run(milliseconds, &[&format!("--screenshot={}", picture.display())]);
        if std::fs::read(&picture).is_ok_and(|bytes| bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000) {
            return Some(());
        }
    }
    let body = document.find("<body").map_or(&*document, |begin| &document[begin..]);
    panic!("{name} shows something, with {expected:?} in it: {body:.5000}")
}

#[test]
fn pages_are_shown_by_a_browser() {
    let folder = std::env::temp_dir().join(format!("fifth-pages-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args([
        "lab",
        "run",
        "jmachine/fig2",
        "jmachine/fig4",
        "jump1/fig11",
        "--scale",
        "small",
        "--out",
    ]);
    assert!(command.arg(&folder).stdout(Stdio::null()).status().expect("the command starts").success());
    let page = format!("file://{}", folder.join("report.html").display());
    let charts = ["id=\"scorecard\"", "</svg>"];
    if browsed(&page, "report.png", false, &charts).is_none() {
        eprintln!("there is no browser here: skipped");
        return;
    }
    browsed(&page, "report-dark.png", true, &charts);
    let served = Served::start();
    // Its script has run: it has asked for a machine and for the state, in spite of what the page forbids.
    browsed(&served.page.url(), "live.png", false, &["mesh 6x6: cycle", "Nothing runs."]);
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}
