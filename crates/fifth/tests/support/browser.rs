//! A browser without a window, if there is one here: it opens a page, runs scripts in it, and takes pictures.
//!
//! It is told what to do by the protocol of Chrome's developer tools, over a pair of pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a page may take for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The name of a browser that is installed.
pub(crate) fn installed() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    })
}

/// A page that is open. The browser ends with it.
pub(crate) struct Opened {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: String,
    number: u64,
    _folder: tempfile::TempDir,
}

impl Opened {
    /// Opens the page of an address; `None`: there is no browser.
    pub(crate) fn start(address: &str) -> Option<Opened> {
        let browser = installed()?;
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        // Its pipes are the descriptors 3 and 4.
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null", browser]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
        command.args(["--remote-debugging-pipe", "--window-size=1300,1600"]);
        command.arg(format!("--user-data-dir={}", folder.path().display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("a shell");
        let orders = process.stdin.take().expect("piped");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        let mut opened =
            Opened { process, orders, answers, session: String::new(), number: 0, _folder: folder };
        let target = opened.done("Target.createTarget", json!({ "url": address }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = opened.done("Target.attachToTarget", attach);
        opened.session = attached["sessionId"].as_str().expect("a session").to_string();
        Some(opened)
    }
    fn done(&mut self, method: &str, params: Value) -> Value {
        self.order(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }
    fn order(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.number += 1;
        let mut order = json!({ "id": self.number, "method": method, "params": params });
        if !self.session.is_empty() {
            order["sessionId"] = self.session.clone().into();
        }
        let mut bytes = order.to_string().into_bytes();
        bytes.push(0);
        self.orders.write_all(&bytes).expect("the browser reads");
        loop {
            let mut bytes = Vec::new();
            let len = self.answers.read_until(0, &mut bytes).expect("the browser writes");
            assert!(len > 0, "the browser has ended, asked for {method}");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
            if answer["id"] == self.number {
                let is_done = answer["error"].is_null();
                return if is_done { Ok(answer["result"].clone()) } else { Err(answer["error"].to_string()) };
            }
        }
    }
    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        self.evaluated(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }
    fn evaluated(&mut self, expression: &str) -> Result<Value, String> {
        let what = json!({ "expression": expression, "returnByValue": true });
        let result = self.order("Runtime.evaluate", what)?;
        let is_value = result["exceptionDetails"].is_null();
        if is_value { Ok(result["result"]["value"].clone()) } else { Err(result.to_string()) }
    }
    /// Waits until an expression is true.
    pub(crate) fn wait_until(&mut self, expression: &str) {
        let begin = Instant::now();
        let whether = format!("!!({expression})");
        // Before the page has loaded, what the expression names is not there.
        while self.evaluated(&whether) != Ok(true.into()) {
            if begin.elapsed() > PATIENCE {
                let text = self.evaluated("document.body.innerText");
                panic!("{expression} is not true of {text:?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    /// Presses what this selector finds.
    pub(crate) fn press(&mut self, selector: &str) {
        self.value(&format!("document.querySelector({selector:?}).click()"));
    }
    /// Keeps a picture of the whole page.
    pub(crate) fn picture(&mut self, path: &Path) {
        // What an earlier run left would hide that there is none now.
        let _ = std::fs::remove_file(path);
        let taken =
            self.done("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": true }));
        let bytes = decoded(taken["data"].as_str().expect("a picture"));
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} bytes", bytes.len());
        std::fs::write(path, bytes).expect("a file");
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The bytes of a text in base 64.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte)) {
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
