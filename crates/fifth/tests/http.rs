//! Module `http` against clients that do as they should, and others.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::process::{Running, Text, watched};

/// A server of the example, with its port.
struct Server {
    running: Running,
    port: u16,
}

impl Server {
    fn start() -> Server {
        for _ in 0..20 {
            let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = probe.local_addr().expect("it is bound").port();
            drop(probe);
            let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/http.kl1");
            let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
            command.args(["run", "-w", "2", example, "--", &port.to_string()]).stdout(Stdio::piped());
            let mut running = Running::start(&mut command);
            let mut line = String::new();
            let out = BufReader::new(running.stdout.as_mut().expect("it is piped")).read_line(&mut line);
            out.expect("a line, or none");
            // Somebody else may have taken the port meanwhile.
            if line.contains(&port.to_string()) {
                return Server { running, port };
            }
        }
        panic!("no port is free");
    }
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }
    /// What it answers to these bytes, until it closes the connection.
    fn answer(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may have closed the connection before it has read all.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
    fn works(&self) {
        let text = self.answer(b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nHello, world!\n"),
            "{text}"
        );
    }
}

#[test]
fn a_connection_serves_one_request_after_the_other_and_bodies_of_each_kind() {
    let server = Server::start();
    let text = server.answer(
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello\
          POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n\
          HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n\
          POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok\
          GET /hello HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    let expected = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nabc0123456789\
                    HTTP/1.1 404 Not Found\r\nContent-Length: 23\r\n\r\n\
                    HTTP/1.1 404 Not Found\r\nContent-Length: 23\r\n\r\nThere is nothing here.\n\
                    HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    assert_eq!(text, expected);
}

#[test]
fn what_clients_do_wrong_ends_nothing_but_their_connections() {
    let server = Server::start();
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00"[..], "400"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "505"),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        (&[b"GET / HTTP/1.1\r\nHost: x\r\nA: ".to_vec(), vec![b'a'; 40_000]].concat(), "431"),
    ] {
        let text = server.answer(bytes);
        let prefix = format!("HTTP/1.1 {status} ");
        assert!(text.starts_with(&prefix) && text.contains("Connection: close"), "{text}");
        server.works();
    }
    // Each of these stops in the middle.
    for bytes in [
        &b""[..],
        b"GET /hello HT",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nabc",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n",
    ] {
        let text = server.answer(bytes);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        server.works();
    }
    // A client that does not read, and one that says nothing, keep nobody.
    let (silent, mut deaf) = (server.connect(), server.connect());
    for _ in 0..100 {
        let _ = deaf.write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    server.works();
    drop((silent, deaf));
    server.works();
}

#[test]
fn programs_get_pages_and_send_texts() {
    let server = Server::start();
    let program = format!(
        ":- module main.
main :- http:get(\"http://127.0.0.1:{port}/hello\", A), http:send(\"POST\", \"http://127.0.0.1:{port}/echo\", [{{\"A\",\"b\"}}], \"some text\", B),
    http:get(\"http://127.0.0.1:{port}/none#x\", C), http:get(\"https://a\", D), http:get(\"http://127.0.0.1:1/\", E),
    whole(A, A1), whole(B, B1), whole(C, C1), kind(E, E1), klicio:klicio([stdout(normal([putt([A1,B1,C1,D,E1]), nl]))]).
whole(normal(response(Status, _, Body)), R) :- http:body(Body, normal(Text)), R = {{Status,Text}}.
kind(abnormal(system(Name, _)), R) :- R = Name.
",
        port = server.port
    );
    let output = Text::new("get", program.as_bytes()).start(&["run"]).output();
    let expected = "[{200,\"Hello, world!\\n\"},{200,\"some text\"},{404,\"There is nothing here.\\n\"},abnormal(url),'ECONNREFUSED']\n";
    assert_eq!(
        (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout)),
        ("".into(), expected.into())
    );
}

#[test]
fn an_answer_may_be_a_stream() {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = probe.local_addr().expect("it is bound").port();
    drop(probe);
    let program = format!(
        ":- module main.
main :- http:serve({port}, [request(_, _, _, _, Reply)|_], R), answer(R, Reply, Body), http:get(\"http://127.0.0.1:{port}/\", A), body(A, Body).
answer(normal, Reply, Body) :- Reply = reply(200, [], [\"one \", \"two\"|Body]).
body(normal(response(200, Headers, [First|Body])), End) :- string(First, _) | End = [\"\", \" three\"],
    http:header(\"connection\", Headers, H), http:body([First|Body], normal(Text)), klicio:klicio([stdout(normal([putt(H), putt(Text), nl, fflush(F)]))]), end(F).
end(0) :- unix:exit(0).
"
    );
    let output = Text::new("stream", program.as_bytes()).start(&["run"]).output();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "normal(\"close\")\"one two three\"\n");
}

#[test]
fn silent_connections_are_many_and_cost_no_looks() {
    let server = Server::start();
    let mut silent: Vec<TcpStream> = (0..600).map(|_| server.connect()).collect();
    // Those that came last may wait among the few that are looked at.
    while watched(server.running.id()) < 500 {
        std::thread::sleep(Duration::from_millis(20));
    }
    server.works();
    for stream in silent.iter_mut().step_by(7) {
        stream.write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("it is open");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        assert!(text.ends_with("Hello, world!\n"), "{text}");
    }
    drop(silent);
    // All are taken out when they are closed; what waits for connections may be there, too.
    while watched(server.running.id()) > 1 {
        std::thread::sleep(Duration::from_millis(20));
    }
    server.works();
}
