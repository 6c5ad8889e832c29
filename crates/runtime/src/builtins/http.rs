//! Module `http`: heads of requests and answers (RFC 9112) as terms and back. The rest of the module is KL1
//! (`library/http.kl1`).
//!
//! What comes from a peer never ends the run: it is `wrong(Status,Text)`.

use super::parts::WORDS_BESIDE;
use super::{Row, attempt, bytes, error, list_items, method, wrong};
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use httparse::{EMPTY_HEADER, Error, Header, Status};
use term::Word;

/// Headers of a head, at most.
const HEADERS_MAX: usize = 100;
/// Bytes of a head, at most.
const HEAD_MAX: usize = 16 << 10;
/// Bytes of the line before a chunk, at most.
const CHUNK_LINE_MAX: usize = 256;

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Bytes(u64),
    Chunked,
    /// Until the connection is closed.
    Rest,
}

/// What headers say of the connection.
#[derive(Debug, PartialEq, Eq)]
struct Framing {
    length: Length,
    /// The connection is good for another request.
    keeps: bool,
    /// Whoever sends a body waits for leave to do so.
    asks: bool,
}

/// Why a head is refused: a status and a text.
type Refused = (u16, &'static str);

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// Of a request, or of an answer (whose body may last until the end of the connection).
fn framing(headers: &[Header<'_>], version: u8, is_request: bool) -> Result<Framing, Refused> {
    let named = |name: &'static str| {
        headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    };
    let mut lengths = named("content-length").flat_map(tokens);
    let first = lengths.next();
    if lengths.any(|other| Some(other) != first) {
        return Err((400, "two lengths of one body"));
    }
    let length = first.map(|digits| {
        let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        text.and_then(|text| text.parse().ok()).ok_or((400, "the length of the body is no number"))
    });
    let codings: Vec<&[u8]> = named("transfer-encoding").flat_map(tokens).collect();
    let length = match (length.transpose()?, codings.as_slice()) {
        (Some(length), []) => Length::Bytes(length),
        (None, []) if is_request => Length::Bytes(0),
        (None, []) => Length::Rest,
        (Some(_), _) => return Err((400, "a body has a length or is in chunks")),
        (None, [coding]) if coding.eq_ignore_ascii_case(b"chunked") => Length::Chunked,
        _ => return Err((501, "this coding of a body is not understood")),
    };
    if is_request && version == 1 && named("host").count() != 1 {
        return Err((400, "there is not one host"));
    }
    let says =
        |word: &[u8]| named("connection").flat_map(tokens).any(|token| token.eq_ignore_ascii_case(word));
    let keeps = length != Length::Rest && if version == 1 { !says(b"close") } else { says(b"keep-alive") };
    let asks = version == 1 && named("expect").any(|value| value.eq_ignore_ascii_case(b"100-continue"));
    Ok(Framing { length, keeps, asks })
}

fn refusal(error: Error) -> Refused {
    match error {
        Error::TooManyHeaders => (431, "there are too many headers"),
        Error::Version => (505, "this version of HTTP is not understood"),
        _ => (400, "the head is not understood"),
    }
}

fn refused(worker: &mut Worker, (status, why): Refused) -> Word {
    debug_assert!((400..600).contains(&status), "a refusal has the status of an error");
    let (why, name) = (worker.string(why.as_bytes()), worker.intern("wrong"));
    worker.structure(name, &[Word::small(status.into()), why])
}

/// `{Name,Value}` of each, names in small letters.
fn header_list(worker: &mut Worker, headers: &[Header<'_>]) -> Word {
    headers.iter().rev().fold(Word::NIL, |list, header| {
        let name = worker.string(header.name.to_ascii_lowercase().as_bytes());
        let value = worker.string(header.value.trim_ascii());
        let pair = worker.vector(&[name, value]);
        worker.cons(pair, list)
    })
}

/// `head(First,Headers,Length,Keeps,Asks,Bytes)`.
fn head_term(
    worker: &mut Worker,
    first: [Word; 2],
    headers: &[Header<'_>],
    framing: &Framing,
    size: usize,
) -> Word {
    debug_assert!(headers.len() <= HEADERS_MAX && size <= HEAD_MAX, "a head is within its limits");
    let list = header_list(worker, headers);
    let first = worker.vector(&first);
    let length = match framing.length {
        Length::Bytes(bytes) => worker.integer(&bytes.into()),
        Length::Chunked => Word::atom(worker.intern("chunked")),
        Length::Rest => Word::atom(worker.intern("rest")),
    };
    let [keeps, asks] =
        [framing.keeps, framing.asks].map(|is| Word::atom(worker.intern(if is { "yes" } else { "no" })));
    let name = worker.intern("head");
    worker.structure(name, &[first, list, length, keeps, asks, Word::small(size as i64)])
}

/// `head(S,Kind,R)`: the head that S begins with, of a `request` (First is `{Method,Target}`) or an `answer` (First is
/// `{Status,Reason}`); R is `head(..)`, `partial` or `wrong(Status,Text)`.
fn head(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = worker.string_length(inputs[0]).unwrap_or(0);
    let text = match worker.string_length(inputs[0]) {
        Some(_) => worker.string_part(inputs[0], 0..length.min(HEAD_MAX)),
        None => return wrong(worker, 1, "a string", inputs[0]),
    };
    let kind = worker.atom_value(inputs[1]);
    let is_request = kind == Some(worker.intern("request"));
    if !is_request && kind != Some(worker.intern("answer")) {
        return wrong(worker, 2, "request or answer", inputs[1]);
    }
    // A header is a pair, two strings and a cons.
    attempt!(worker.ensure_young(text.len() / 4 + HEADERS_MAX * 4 * WORDS_BESIDE));
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let result = if is_request {
        let mut request = httparse::Request::new(&mut headers);
        request.parse(&text).map_err(refusal).and_then(|status| {
            let Status::Complete(size) = status else { return Ok(None) };
            let framing = framing(request.headers, request.version.unwrap_or(0), true)?;
            let first = [request.method, request.path];
            let first = first.map(|part| worker.string(part.unwrap_or_default().as_bytes()));
            Ok(Some(head_term(worker, first, request.headers, &framing, size)))
        })
    } else {
        let mut answer = httparse::Response::new(&mut headers);
        answer.parse(&text).map_err(refusal).and_then(|status| {
            let Status::Complete(size) = status else { return Ok(None) };
            let framing = framing(answer.headers, answer.version.unwrap_or(0), false)?;
            let reason = worker.string(answer.reason.unwrap_or_default().as_bytes());
            let first = [Word::small(answer.code.unwrap_or(0).into()), reason];
            Ok(Some(head_term(worker, first, answer.headers, &framing, size)))
        })
    };
    outputs[0] = match result {
        Ok(Some(head)) => head,
        Ok(None) if length >= HEAD_MAX => refused(worker, (431, "the head is too long")),
        Ok(None) => Word::atom(worker.intern("partial")),
        Err(why) => refused(worker, why),
    };
    Outcome::Done
}

/// `chunk(S,R)`: the line that S begins with, before a chunk; R is `chunk(Size,Bytes)`, Bytes being those of the line,
/// `partial` or `wrong(Status,Text)`.
fn chunk(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some(length) = worker.string_length(inputs[0]) else {
        return wrong(worker, 1, "a string", inputs[0]);
    };
    let text = worker.string_part(inputs[0], 0..length.min(CHUNK_LINE_MAX));
    attempt!(worker.ensure_young(4 * WORDS_BESIDE));
    outputs[0] = match httparse::parse_chunk_size(&text) {
        Ok(Status::Complete((bytes, size))) => {
            debug_assert!(bytes <= text.len(), "the line is a part of the text");
            let (size, name) = (worker.integer(&size.into()), worker.intern("chunk"));
            worker.structure(name, &[size, Word::small(bytes as i64)])
        }
        Ok(Status::Partial) if text.len() < CHUNK_LINE_MAX => Word::atom(worker.intern("partial")),
        _ => refused(worker, (400, "a chunk has no size")),
    };
    Outcome::Done
}

/// What stands in a line of its own for whatever a program takes from a peer: no end of a line.
fn add_clean(text: &[u8], out: &mut Vec<u8>) {
    out.extend(
        text.iter().map(|&byte| if byte < b' ' && byte != b'\t' || byte == 127 { b' ' } else { byte }),
    );
}

fn reason(status: i64) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

/// `answer_head(Status,Headers,More,S)`: the head of an answer; More is a text that stands behind its headers.
fn answer_head(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let status = attempt!(super::integer(worker, 1, inputs[0]));
    if !(100..=999).contains(&status) {
        return error(
            ErrorKind::Range,
            format!("argument 1 is out of range: a status is 100 to 999, not {status}"),
        );
    }
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status)).into_bytes();
    for header in attempt!(list_items(worker, 2, inputs[1])) {
        attempt!(add_header(worker, header, &mut text));
    }
    text.extend(attempt!(bytes(worker, 3, inputs[2])));
    attempt!(worker.ensure_young(text.len() / 8 + WORDS_BESIDE));
    outputs[0] = worker.string(&text);
    Outcome::Done
}

/// Adds the line of a `{Name,Value}`.
fn add_header(worker: &mut Worker, header: Word, text: &mut Vec<u8>) -> Result<(), Outcome> {
    let header = super::known(header)?;
    if worker.vector_length(header) != Some(2) {
        return Err(wrong(worker, 2, "a list of {Name,Value}", header));
    }
    for (index, end) in [(0, &b": "[..]), (1, b"\r\n")] {
        let part = super::known(worker.vector_element(header, index))?;
        let part = worker.string_bytes(part).ok_or_else(|| wrong(worker, 2, "a header of strings", part))?;
        add_clean(&part, text);
        text.extend_from_slice(end);
    }
    Ok(())
}

/// `url(S,R)`: R is `url(Host,Port,Target)` of `http://host[:port][/target]`, or `none`.
fn url(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    attempt!(worker.ensure_young(text.len() / 4 + 4 * WORDS_BESIDE));
    let parts = std::str::from_utf8(&text).ok().and_then(parts_of_url);
    outputs[0] = match parts {
        Some((host, port, target)) => {
            let (host, target) = (worker.string(host.as_bytes()), worker.string(target.as_bytes()));
            let name = worker.intern("url");
            worker.structure(name, &[host, Word::small(port.into()), target])
        }
        None => Word::atom(worker.intern("none")),
    };
    Outcome::Done
}

fn parts_of_url(text: &str) -> Option<(&str, u16, String)> {
    let rest = text.strip_prefix("http://")?;
    if rest.bytes().any(|byte| byte <= b' ' || byte == 127) {
        return None;
    }
    let rest = rest.split('#').next()?;
    let (place, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (place, 80),
    };
    let slash = if target.starts_with('/') { "" } else { "/" };
    (!host.is_empty() && !host.contains('@')).then(|| (host, port, format!("{slash}{target}")))
}

const MODULE: &str = "http";

pub(super) const NATIVES: &[Row] = &[
    method(MODULE, "head", "iio", head),
    method(MODULE, "chunk", "io", chunk),
    method(MODULE, "answer_head", "iiio", answer_head),
    method(MODULE, "split_url", "io", url),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use term::symbol::NIL;

    fn read(text: &str, kind: &str) -> String {
        let worker = worker();
        let (string, kind) = (worker.string(text.as_bytes()), Word::atom(worker.intern(kind)));
        let mut out = [Word::NIL];
        assert!(matches!(head(worker, &[string, kind], &mut out), Outcome::Done));
        worker.term_text(out[0])
    }

    #[test]
    fn heads_say_how_long_their_bodies_are_and_whether_connections_go_on() {
        let post = "POST /a HTTP/1.1\r\nHost: x\r\n";
        for (text, expected) in [
            (
                "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nrest",
                r#"head({"GET","/a?b"},[{"host","x"}],0,yes,no,30)"#,
            ),
            ("GET / HTTP/1.0\r\n\r\n", r#"head({"GET","/"},[],0,no,no,18)"#),
            ("GET / HTTP/1.1\r\nHost: x\r\n", "partial"),
            ("", "partial"),
            ("GET / HTTP/1.1\r\n\r\n", "wrong(400,"),
            ("GET / HTTP/2.0\r\n\r\n", "wrong(505,"),
            ("\u{16}\u{3}\u{1}", "wrong(400,"),
            (&format!("{post}Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), "wrong(400,"),
            (&format!("{post}Content-Length: +5\r\n\r\n"), "wrong(400,"),
            (&format!("{post}Content-Length: 99999999999999999999\r\n\r\n"), "wrong(400,"),
            (&format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), "wrong(400,"),
            (&format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\n"), "wrong(501,"),
            (&format!("{post}{}\r\n", "A: b\r\n".repeat(HEADERS_MAX)), "wrong(431,"),
            (&format!("{post}A: {}", "b".repeat(HEAD_MAX)), "wrong(431,"),
        ] {
            let found = read(text, "request");
            assert!(found.starts_with(expected), "{text:?}: {found}");
        }
        let chunked =
            read(&format!("{post}Transfer-Encoding: Chunked\r\nExpect: 100-continue\r\n\r\n"), "request");
        assert!(chunked.contains(",chunked,yes,yes,"), "{chunked}");
        let answer = read("HTTP/1.1 200 OK\r\n\r\n", "answer");
        assert_eq!(answer, r#"head({200,"OK"},[],rest,no,no,19)"#);
    }

    #[test]
    fn no_header_makes_a_line_of_its_own() {
        let worker = worker();
        let (name, value) = (worker.string(b"Location"), worker.string(b"/a\r\nSet-Cookie: b"));
        let pair = worker.vector(&[name, value]);
        let (list, more) = (worker.cons(pair, Word::atom(NIL)), worker.string(b"\r\n"));
        let mut out = [Word::NIL];
        assert!(matches!(answer_head(worker, &[Word::small(303), list, more], &mut out), Outcome::Done));
        let text = worker.string_bytes(out[0]).expect("a string");
        assert_eq!(text, b"HTTP/1.1 303 See Other\r\nLocation: /a  Set-Cookie: b\r\n\r\n");
    }

    #[test]
    fn addresses_have_a_host_a_port_and_a_target() {
        let of = |text: &'static str| {
            parts_of_url(text).map(|(host, port, target)| format!("{host} {port} {target}"))
        };
        assert_eq!(of("http://a.b").as_deref(), Some("a.b 80 /"));
        assert_eq!(of("http://a:81/c?d#e").as_deref(), Some("a 81 /c?d"));
        assert_eq!(of("http://a?d").as_deref(), Some("a 80 /?d"));
        for wrong in ["https://a", "http://", "http://a:b/", "http://a b/", "http://u@a/", "a"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
