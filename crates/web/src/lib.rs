//! A page for the user of this host: a server on a loopback port.
//!
//! Other users of the host reach loopback, too, and so do the scripts of any page in the user's browser. So:
//!
//! - W1 It listens on 127.0.0.1 and nowhere else.
//! - Its address has a token of 128 random bits; without it every path is unknown.
//! - `Host` names loopback and the port. A name that somebody made lead to 127.0.0.1 (DNS rebinding) is refused.
//! - No answer has a CORS header, and a request that says that it comes from another origin is refused.
//! - The address goes to nobody (`no-referrer`), answers are stored nowhere, and a page may run only what has the
//!   nonce of this one answer; it can be shown in no frame.
//! - What changes something is a POST: [`Site::get`] changes nothing.
//! - At most [`CONNECTIONS_MAX`] connections at a time, each with one request of bounded size and time.
//!
//! Absent on purpose: what the pages are, TLS, and anything for other hosts.

#![forbid(unsafe_code)]

mod request;

use request::{Refused, Request};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections at a time; more are turned away.
pub const CONNECTIONS_MAX: usize = 8;
/// How long a connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// What is answered.
pub enum Answer {
    /// A page: its text, which is given the nonce that its scripts and styles must have.
    Page(Box<dyn FnOnce(&str) -> String>),
    /// Data.
    Json(String),
    /// There is no such thing.
    Unknown,
    /// The request makes no sense; why.
    Wrong(String),
}

/// What a server shows. Paths are what stands behind the token and a slash; a query is what stands behind `?`.
pub trait Site: Send + Sync {
    /// Shows something, and changes nothing.
    fn get(&self, path: &str, query: &str) -> Answer;
    /// Does something.
    fn post(&self, path: &str, body: &str) -> Answer;
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: String,
}

impl Server {
    /// Listens on a port of loopback; 0 is any that is free.
    pub fn listen(port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        Ok(Server { listener, port, token: random()? })
    }
    /// Where the pages are. Whoever knows it can do all that they can.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }
    /// Serves for ever, each connection on a thread. The error says why it can no longer listen.
    pub fn run(self, site: Arc<dyn Site>) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        let (port, token) = (self.port, Arc::new(self.token));
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if passes(&error) => {
                    // Descriptors may be short for a while.
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let place = Place(open.clone());
            if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                turn_away(&stream);
                drop(place);
                continue;
            }
            let (site, token) = (site.clone(), token.clone());
            let serve = move || {
                let _place = place;
                // Whoever has gone needs no answer.
                let _ = serve(&stream, &*site, port, &token);
                let _ = stream.shutdown(Shutdown::Both);
            };
            // Where no thread can be had the connection is closed.
            let _ = std::thread::Builder::new().name("web".into()).spawn(serve);
        }
    }
}

/// A connection's place among those that are open.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether an error of `accept` is of one connection, or of a moment.
fn passes(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied)
}

fn turn_away(mut stream: &TcpStream) {
    let text = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    // Whoever has gone needs no answer.
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let _ = stream.write_all(text.as_bytes());
}

fn serve(stream: &TcpStream, site: &dyn Site, port: u16, token: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(SILENCE_MAX))?;
    let nonce = random()?;
    let answer = match Request::read(stream, port) {
        Ok(request) => answer(&request, site, token),
        Err(Refused::Gone(error)) => return Err(error),
        Err(Refused::Status(status, why)) => return send(stream, status, "text/plain", &why, &nonce),
    };
    match answer {
        Answer::Page(text) => send(stream, "200 OK", "text/html", &text(&nonce), &nonce),
        Answer::Json(text) => send(stream, "200 OK", "application/json", &text, &nonce),
        Answer::Unknown => send(stream, "404 Not Found", "text/plain", "there is no such page\n", &nonce),
        Answer::Wrong(why) => send(stream, "400 Bad Request", "text/plain", &why, &nonce),
    }
}

fn answer(request: &Request, site: &dyn Site, token: &str) -> Answer {
    let Some((given, path)) = request.path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return Answer::Unknown;
    };
    if !is_same(given.as_bytes(), token.as_bytes()) {
        return Answer::Unknown;
    }
    if request.is_post { site.post(path, &request.body) } else { site.get(path, &request.query) }
}

/// Compares in a time that does not depend on where the first difference is.
fn is_same(given: &[u8], right: &[u8]) -> bool {
    given.len() == right.len() && given.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn send(mut stream: &TcpStream, status: &str, kind: &str, body: &str, nonce: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: {kind}; charset=utf-8\r\n\
         Content-Length: {}\r\n\
         Connection: close\r\n\
         Cache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// 128 random bits as hexadecimal digits.
fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
