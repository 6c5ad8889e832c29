//! Bytes to messages and back: JSON-RPC with the header lines of the language server protocol.

use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// A longer message is passed over, in bytes.
const MESSAGE_MAX: u64 = 1 << 28;
/// Longer header lines are read in pieces, in bytes.
const LINE_MAX: u64 = 1 << 12;

/// Codes of JSON-RPC and of the protocol.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL: i64 = -32603;
    pub(crate) const NOT_INITIALIZED: i64 = -32002;
    pub(crate) const REQUEST_FAILED: i64 = -32803;
}

/// What came.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// It wants an answer.
    Request { id: Value, method: String, params: Value },
    /// It wants none.
    Notification { method: String, params: Value },
    /// An answer to what this server asked.
    Response,
    /// It is no message; the sender is told so.
    Wrong { id: Value, code: i64, message: String },
}

/// The next message; `None` at the end of the input. What is no header is passed over.
pub(crate) fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if !line.is_empty() {
            let named = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            length = named.and_then(|(_, value)| value.trim().parse::<u64>().ok()).or(length);
            continue;
        }
        let Some(length) = length.take() else { continue };
        if length > MESSAGE_MAX {
            io::copy(&mut input.take(length), &mut io::sink())?;
            let message = format!("a message has at most {MESSAGE_MAX} bytes");
            return Ok(Some(Incoming::Wrong { id: Value::Null, code: code::INVALID_REQUEST, message }));
        }
        let mut body = Vec::new();
        let all = input.take(length).read_to_end(&mut body)? as u64 == length;
        return Ok(all.then(|| parse(&body)));
    }
}

/// The message that these bytes are.
pub(crate) fn parse(body: &[u8]) -> Incoming {
    let wrong = |id, code, message: &str| Incoming::Wrong { id, code, message: message.to_string() };
    let mut fields = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return wrong(Value::Null, code::INVALID_REQUEST, "a message is a JSON object"),
        Err(error) => return wrong(Value::Null, code::PARSE, &format!("this is no JSON: {error}")),
    };
    let mut field = |name| fields.remove(name);
    let (id, method, params) = (field("id"), field("method"), field("params").unwrap_or(Value::Null));
    match (id, method) {
        (None, Some(Value::String(method))) => Incoming::Notification { method, params },
        (Some(id @ (Value::Number(_) | Value::String(_))), Some(Value::String(method))) => {
            Incoming::Request { id, method, params }
        }
        (Some(_), None) => Incoming::Response,
        (id, _) => {
            let id = id.filter(|id| id.is_number() || id.is_string()).unwrap_or(Value::Null);
            wrong(id, code::INVALID_REQUEST, "a message has a method, and an id that is a number or a text")
        }
    }
}

/// What an answer says when it is none.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The answer to a request.
pub(crate) fn response(id: Value, result: Result<Value, Failure>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Failure { code, message }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    }
}

/// News for the client.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Writes a message.
pub(crate) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Incoming> {
        let mut input = bytes;
        std::iter::from_fn(|| read(&mut input).expect("bytes in memory can be read")).collect()
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_is_no_message_is_said_and_the_next_one_is_read() {
        let exit = || Incoming::Notification { method: "exit".into(), params: Value::Null };
        let good = framed(r#"{"jsonrpc":"2.0","method":"exit"}"#);
        for bad in ["{", "[]", "\"x\"", r#"{"id":1,"method":2}"#, r#"{"id":[],"method":"m"}"#, "\u{e9}", "{}"]
        {
            let found = all(format!("{}{good}", framed(bad)).as_bytes());
            assert!(
                matches!(found[..], [Incoming::Wrong { .. }, _]) && found[1] == exit(),
                "{bad}: {found:?}"
            );
        }
        let deep = framed(&"[".repeat(100_000));
        assert!(matches!(all(format!("{deep}{good}").as_bytes())[..], [Incoming::Wrong { .. }, _]));
        // Lines that are no headers, and headers without a length.
        for noise in
            ["nonsense\r\n", "\r\n\r\n", "Content-Length: x\r\n\r\n", "A: b\r\n\r\n", "content-type: x\r\n"]
        {
            assert_eq!(all(format!("{noise}{good}").as_bytes()), [exit()], "{noise:?}");
        }
        // The end comes too early.
        assert_eq!(all(b"Content-Length: 10\r\n\r\n{}"), []);
        assert_eq!(all(b"Content-Length: 99999999999999999999\r\n\r\n{}"), []);
        let response = framed(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert_eq!(all(response.as_bytes()), [Incoming::Response]);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, &notification("exit", Value::Null)).expect("a vector takes it");
        assert_eq!(all(&bytes), [Incoming::Notification { method: "exit".into(), params: Value::Null }]);
    }
}
