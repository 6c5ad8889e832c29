//! A request, as far as this server takes any.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request's head, and of its body, at most.
const HEAD_MAX: usize = 8 << 10;
const BODY_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 64;
/// How long a request may take to come.
const TIME_MAX: Duration = Duration::from_secs(20);

/// A request that may be answered.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) is_post: bool,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: String,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Nobody is there any more.
    Gone(io::Error),
    /// It is answered with this status and text.
    Status(&'static str, String),
}

fn bad(why: &str) -> Refused {
    Refused::Status("400 Bad Request", format!("{why}\n"))
}
fn forbidden(why: &str) -> Refused {
    Refused::Status("403 Forbidden", format!("{why}\n"))
}

/// What of a head matters.
struct Head {
    is_post: bool,
    target: String,
    body_len: usize,
    /// Where the body begins.
    len: usize,
}

impl Request {
    /// Reads one request for a server on this port of loopback.
    pub(crate) fn read(mut stream: &TcpStream, port: u16) -> Result<Request, Refused> {
        let (begin, mut bytes) = (Instant::now(), Vec::new());
        let mut more = |bytes: &mut Vec<u8>| {
            if begin.elapsed() > TIME_MAX {
                return Err(Refused::Status("408 Request Timeout", String::new()));
            }
            let mut part = [0; 4096];
            match stream.read(&mut part) {
                Ok(0) => Err(Refused::Gone(io::ErrorKind::UnexpectedEof.into())),
                Ok(len) => {
                    bytes.extend_from_slice(&part[..len]);
                    Ok(())
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(error) => Err(Refused::Gone(error)),
            }
        };
        let head = loop {
            if let Some(head) = head(&bytes, port)? {
                break head;
            }
            if bytes.len() > HEAD_MAX {
                return Err(Refused::Status("431 Request Header Fields Too Large", String::new()));
            }
            more(&mut bytes)?;
        };
        while bytes.len() < head.len + head.body_len {
            more(&mut bytes)?;
        }
        let body = bytes[head.len..head.len + head.body_len].to_vec();
        let body = String::from_utf8(body).map_err(|_| bad("the body is no UTF-8"))?;
        let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
        Ok(Request { is_post: head.is_post, path: path.into(), query: query.into(), body })
    }
}

/// The head at the beginning of these bytes, if it is complete.
fn head(bytes: &[u8], port: u16) -> Result<Option<Head>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(bad("this is no request")),
    };
    let is_post = match request.method {
        Some("GET") => false,
        Some("POST") => true,
        _ => return Err(Refused::Status("405 Method Not Allowed", "GET or POST\n".into())),
    };
    let values = |name: &str| {
        let own = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        own.map(|header| String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if !matches!(&values("host")[..], [host] if hosts.contains(host)) {
        return Err(forbidden("this host has another name"));
    }
    let is_own = |origin: &String| hosts.iter().any(|host| *origin == format!("http://{host}"));
    if !values("origin").iter().all(is_own) {
        return Err(forbidden("another page may not ask this"));
    }
    // A browser says so of each request, whatever made it.
    let is_foreign = |site: &String| !["same-origin", "none"].contains(&site.as_str());
    if values("sec-fetch-site").iter().any(is_foreign) {
        return Err(forbidden("another page may not ask this"));
    }
    if !values("transfer-encoding").is_empty() {
        return Err(bad("bodies have a length"));
    }
    let body_len = match &values("content-length")[..] {
        [] => 0,
        [len] => len.parse().map_err(|_| bad("the length is no number"))?,
        _ => return Err(bad("two lengths")),
    };
    if body_len > BODY_MAX {
        return Err(Refused::Status("413 Content Too Large", String::new()));
    }
    let target = request.path.unwrap_or_default().to_string();
    Ok(Some(Head { is_post, target, body_len, len }))
}
