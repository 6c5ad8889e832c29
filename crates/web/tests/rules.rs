//! The rules of the server, each with what breaks it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use web::{Answer, CONNECTIONS_MAX, Server, Site};

/// Counts what is done.
#[derive(Default)]
struct Counting {
    done: AtomicU32,
}

impl Site for Counting {
    fn get(&self, path: &str, query: &str) -> Answer {
        match path {
            "" => Answer::Page(Box::new(|nonce| format!("<script nonce=\"{nonce}\"></script>"))),
            "state" => Answer::Json(format!("{{\"query\":\"{query}\"}}")),
            _ => Answer::Unknown,
        }
    }
    fn post(&self, path: &str, body: &str) -> Answer {
        if path != "do" {
            return Answer::Wrong("do what?\n".into());
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        Answer::Json(format!("\"{body}\""))
    }
}

struct Served {
    site: Arc<Counting>,
    port: u16,
    token: String,
}

fn served() -> Served {
    let server = Server::listen(0).expect("a port is free");
    let address = server.address();
    let rest = address.strip_prefix("http://127.0.0.1:").expect("W1");
    let (port, token) = rest.split_once('/').expect("a port and a token");
    let (port, token) = (port.parse().expect("a number"), token.trim_end_matches('/').to_string());
    let site = Arc::new(Counting::default());
    let shown: Arc<dyn Site> = site.clone();
    std::thread::spawn(move || server.run(shown));
    Served { site, port, token }
}

impl Served {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }
    /// What is answered to these lines.
    fn raw(&self, request: &str) -> String {
        let mut stream = self.connect();
        // It may have been turned away before it has said everything.
        let _ = stream.write_all(request.as_bytes());
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let Served { port, token, .. } = self;
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: 127.0.0.1:{port}\r\n") };
        let len = body.len();
        self.raw(&format!(
            "{method} /{token}/{path} HTTP/1.1\r\n{host}{headers}Content-Length: {len}\r\n\r\n{body}"
        ))
    }
    fn done(&self) -> u32 {
        self.site.done.load(Ordering::Relaxed)
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn it_listens_on_loopback_only() {
    let served = served();
    // Another address of loopback is another address, too.
    assert!(TcpStream::connect((Ipv4Addr::new(127, 0, 0, 2), served.port)).is_err());
    assert_eq!(status(&served.ask("GET", "", "", "")), "200");
}

#[test]
fn without_the_token_nothing_is_known() {
    let served = served();
    assert_eq!(served.token.len(), 32);
    assert!(served.token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_ne!(served.token, super_token());
    let host = format!("Host: 127.0.0.1:{}", served.port);
    let zeros = "0".repeat(32);
    for path in [
        "/",
        "/state",
        &format!("/{zeros}/"),
        &format!("/{}", &served.token),
        &format!("/{}x/", served.token),
    ] {
        assert_eq!(status(&served.raw(&format!("GET {path} HTTP/1.1\r\n{host}\r\n\r\n"))), "404", "{path}");
        let post = format!("POST {path} HTTP/1.1\r\n{host}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(status(&served.raw(&post)), "404", "{path}");
    }
    assert_eq!(served.done(), 0);
}

/// The token of another server.
fn super_token() -> String {
    served().token
}

#[test]
fn a_host_of_another_name_is_refused() {
    let served = served();
    let port = served.port;
    for host in [
        "Host: evil.example\r\n".to_string(),
        format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".into(),
        format!("Host: 127.0.0.1:{}\r\n", port ^ 1),
        format!("Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"),
        "X-Host: none; Host:\r\n".into(),
    ] {
        assert_eq!(status(&served.ask("GET", "", &host, "")), "403", "{host}");
        assert_eq!(status(&served.ask("POST", "do", &host, "")), "403", "{host}");
    }
    let own = format!("Host: LocalHost:{port}\r\n");
    assert_eq!(status(&served.ask("GET", "", &own, "")), "200");
    assert_eq!(served.done(), 0);
}

#[test]
fn other_pages_may_ask_nothing() {
    let served = served();
    for header in [
        "Origin: https://evil.example\r\n".to_string(),
        "Origin: null\r\n".into(),
        format!("Origin: https://127.0.0.1:{}\r\n", served.port),
        format!("Origin: http://127.0.0.1:{}\r\n", served.port ^ 1),
        "Sec-Fetch-Site: cross-site\r\n".into(),
        "Sec-Fetch-Site: same-site\r\n".into(),
    ] {
        for (method, path) in [("GET", "state"), ("POST", "do")] {
            let answer = served.ask(method, path, &header, "");
            assert_eq!(status(&answer), "403", "{header}");
            assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
        }
    }
    let own = format!("Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\n", served.port);
    let answer = served.ask("POST", "do", &own, "it");
    assert_eq!((status(&answer), served.done()), ("200", 1));
    assert!(answer.ends_with("\"it\"") && !answer.to_lowercase().contains("access-control"), "{answer}");
    let asked = served.ask("OPTIONS", "do", "Access-Control-Request-Method: POST\r\n", "");
    assert_eq!(status(&asked), "405");
}

#[test]
fn answers_say_what_a_browser_may_do() {
    let served = served();
    let nonce = |answer: &str| {
        let rest = answer.split("<script nonce=\"").nth(1).expect("a script");
        rest.split('"').next().expect("a nonce").to_string()
    };
    let [one, other] = [0; 2].map(|_| served.ask("GET", "", "", ""));
    assert!(one.contains(&format!("script-src 'nonce-{}';", nonce(&one))), "{one}");
    assert!(nonce(&one).len() == 32 && nonce(&one) != nonce(&other), "each answer has its own");
    for answer in [one, served.ask("GET", "state", "", ""), served.ask("GET", "nothing", "", "")] {
        for line in [
            "Referrer-Policy: no-referrer\r\n",
            "Cache-Control: no-store\r\n",
            "X-Content-Type-Options: nosniff\r\n",
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'none'",
        ] {
            assert!(answer.contains(line), "{line}: {answer}");
        }
        assert!(!answer.contains("unsafe-inline"), "{answer}");
    }
}

#[test]
fn only_a_post_does_something() {
    let served = served();
    assert_eq!(status(&served.ask("GET", "do", "", "")), "404");
    for method in ["PUT", "DELETE", "HEAD", "PATCH"] {
        assert_eq!(status(&served.ask(method, "do", "", "")), "405", "{method}");
    }
    assert_eq!(served.done(), 0);
    assert_eq!(status(&served.ask("POST", "other", "", "")), "400");
    assert_eq!(status(&served.ask("POST", "do", "", "x")), "200");
    assert_eq!(served.done(), 1);
    assert!(served.ask("GET", "state?since=3", "", "").ends_with("{\"query\":\"since=3\"}"));
}

#[test]
fn there_are_places_for_eight() {
    let served = served();
    let silent: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(|_| served.connect()).collect();
    // Their threads may have to begin first; then the ninth is turned away at once.
    assert_eq!(status(&served.ask("GET", "", "", "")), "503");
    drop(silent);
    // Their places are free when their ends are noticed.
    for _ in 0..6000 {
        if status(&served.ask("GET", "", "", "")) == "200" {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no place is free after a minute");
}

#[test]
fn what_is_no_request_is_refused() {
    let served = served();
    let Served { port, token, .. } = &served;
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let path = format!("/{token}/do");
    for (request, expected) in [
        ("\u{1}\u{2}\u{3}\r\n\r\n".to_string(), "400"),
        ("GET\r\n\r\n".into(), "400"),
        (format!("POST {path} HTTP/1.1\r\n{host}Content-Length: x\r\n\r\n"), "400"),
        (format!("POST {path} HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), "400"),
        (format!("POST {path} HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"), "400"),
        (format!("POST {path} HTTP/1.1\r\n{host}Content-Length: 99999999\r\n\r\n"), "413"),
        (format!("POST {path} HTTP/1.1\r\n{host}Content-Length: 18446744073709551615\r\n\r\n"), "413"),
        (format!("GET {path} HTTP/1.1\r\n{host}X: {}\r\n", "x".repeat(20_000)), "431"),
    ] {
        let answer = served.raw(&request);
        // What was not read when it was refused may reset the connection before the answer is read.
        assert!([expected, "none"].contains(&status(&answer)), "{request:.60}: {answer:.80}");
    }
    let mut body = format!("POST {path} HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\n").into_bytes();
    body.extend([0xff, 0xfe]);
    let mut stream = served.connect();
    stream.write_all(&body).expect("it is read");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert_eq!((status(&text), served.done()), ("400", 0));
    assert_eq!(status(&served.ask("GET", "", "", "")), "200", "it goes on");
}
