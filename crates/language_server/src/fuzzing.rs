//! What must hold for any client: bodies of property tests and of fuzzers.

use crate::server::Server;
use crate::transport::{Incoming, parse};
use crate::{Host, transport};
use engine::Files;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A process without files.
pub(crate) struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        Err(format!("cannot read {}: there are no files", path.display()))
    }
    fn has(&self, _: &Path) -> bool {
        false
    }
}

impl Host for Nothing {
    fn texts_in(&self, _: &Path, _: bool) -> Vec<PathBuf> {
        Vec::new()
    }
    fn library_file(&self, _: &str, _: &str) -> Option<PathBuf> {
        None
    }
}

/// The requests about a place of a text.
const REQUESTS: [&str; 11] = [
    "definition",
    "references",
    "documentHighlight",
    "hover",
    "completion",
    "prepareRename",
    "rename",
    "documentSymbol",
    "inlayHint",
    "codeAction",
    "formatting",
];

/// A client that opens a text, changes it at any places, and asks everything at any place: each request has one answer,
/// and none of them is a bug. `numbers` says which places.
pub fn session(text: &str, change: &str, numbers: &[u32]) {
    let mut server = Server::new(&Nothing);
    let uri = "file:///a/m.kl1";
    send(&mut server, None, "initialize", json!({ "capabilities": {} }));
    let open = json!({ "textDocument": { "uri": uri, "languageId": "kl1", "version": 1, "text": text } });
    tell(&mut server, "textDocument/didOpen", open);
    server.rest();
    let mut numbers = numbers.iter().copied().chain(std::iter::repeat(0));
    let mut position = || {
        // Most places are near the beginning.
        let mut next = || {
            let number = numbers.next().unwrap_or_default();
            if number % 16 == 0 { number } else { number % 40 }
        };
        json!({ "line": next() % 1000, "character": next() })
    };
    for round in 0..2 {
        for method in REQUESTS {
            let at = position();
            let params = json!({
                "textDocument": { "uri": uri }, "position": at, "newName": change, "range": { "start": at, "end": position() },
                "context": { "includeDeclaration": true, "triggerKind": 1, "diagnostics": [] },
                "options": { "tabSize": 4, "insertSpaces": true },
            });
            send(&mut server, Some(round), &format!("textDocument/{method}"), params);
        }
        send(&mut server, Some(round), "workspace/symbol", json!({ "query": change }));
        let range = json!({ "start": position(), "end": position() });
        let change = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "range": range, "text": change }] });
        tell(&mut server, "textDocument/didChange", change);
        server.rest();
    }
    tell(&mut server, "textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    check(&server.take_output());
}

/// Any bytes as the input of a server, and any JSON as a message: it goes on, and answers what is a request.
pub fn messages(bytes: &[u8]) {
    let mut input = bytes;
    while let Ok(Some(_)) = transport::read(&mut input) {}
    let mut server = Server::new(&Nothing);
    send(&mut server, None, "initialize", json!({ "capabilities": {} }));
    for line in bytes.split(|&byte| byte == b'\n') {
        let incoming = parse(line);
        let asks = matches!(incoming, Incoming::Request { .. } | Incoming::Wrong { .. });
        server.receive(incoming);
        let output = server.take_output();
        assert_eq!(
            output.iter().filter(|message| message.get("method").is_none()).count(),
            usize::from(asks)
        );
        check(&output);
    }
}

fn tell(server: &mut Server<'_>, method: &str, params: Value) {
    server.receive(Incoming::Notification { method: method.into(), params });
    check(&server.take_output());
}

fn send(server: &mut Server<'_>, id: Option<u32>, method: &str, params: Value) {
    server.receive(Incoming::Request { id: json!(id.unwrap_or(99)), method: method.into(), params });
    let output = server.take_output();
    assert_eq!(output.iter().filter(|message| message.get("id").is_some()).count(), 1, "{method}");
    check(&output);
}

/// No message says that it is a bug, or that a request was not understood.
fn check(output: &[Value]) {
    for message in output {
        let text = message.to_string();
        assert!(!text.contains("a bug in Fifth") && !text.contains("cannot be understood"), "{text}");
        assert_ne!(message.pointer("/error/code"), Some(&json!(transport::code::INVALID_PARAMS)), "{text}");
    }
}
