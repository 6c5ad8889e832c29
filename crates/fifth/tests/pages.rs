//! The pages of the laboratory: what the live one answers, and how both look in a browser, if there is one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `fifth lab serve`, which ends with the test.
struct Served {
    process: Child,
    host: String,
    token: String,
}

impl Served {
    fn start() -> Served {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.args(["lab", "serve"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the command starts");
        let mut told = String::new();
        let mut lines = BufReader::new(process.stderr.take().expect("piped"));
        lines.read_line(&mut told).expect("it says where it is");
        let address = told.trim().strip_prefix("the laboratory is at http://").expect("an address");
        let (host, token) = address.trim_end_matches('/').split_once('/').expect("a host and a token");
        Served { host: host.into(), token: token.into(), process }
    }
    /// Status and body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let Served { host, token, .. } = self;
        let mut stream = TcpStream::connect(host).expect("it listens");
        let len = body.len();
        let head = format!(
            "{method} /{token}/{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        (head.split(' ').nth(1).expect("a status").into(), body.into())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself: then the test has failed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
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

/// What a headless browser makes of a page: its document, and a picture of this name. None: there is no browser.
fn browsed(address: &str, name: &str, dark: bool) -> Option<String> {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    })?;
    let run = |more: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["100", browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
        command.args(["--window-size=1300,1600", "--virtual-time-budget=4000"]);
        command.args(dark.then_some("--blink-settings=preferredColorScheme=0")).args(more).arg(address);
        let output = command.stdin(Stdio::null()).output().expect("timeout starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let picture = artefacts().join(name);
    run(&[&format!("--screenshot={}", picture.display())]);
    let bytes = std::fs::read(&picture).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{name} shows something");
    Some(run(&["--dump-dom"]))
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
    let Some(document) = browsed(&page, "report.png", false) else {
        eprintln!("there is no browser here: skipped");
        return;
    };
    assert!(document.contains("id=\"scorecard\"") && document.contains("</svg>"), "{document:.500}");
    browsed(&page, "report-dark.png", true);
    let served = Served::start();
    let address = format!("http://{}/{}/", served.host, served.token);
    let document = browsed(&address, "live.png", false).expect("there is a browser");
    // Its script has run: it has asked for a machine and for the state, in spite of what the page forbids.
    assert!(document.contains("mesh 6x6: cycle"), "{document:.3000}");
    assert!(document.contains("Nothing runs."), "{document:.3000}");
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
}
