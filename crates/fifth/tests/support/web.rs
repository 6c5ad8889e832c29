//! A page that a process serves, as a browser asks for it.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Where the page is.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) token: String,
}

impl Address {
    /// Of a line that ends with it.
    pub(crate) fn of_line(line: &str) -> Option<Address> {
        let rest = line.trim().split_once("http://")?.1.trim_end_matches('/');
        let (host, token) = rest.split_once('/')?;
        Some(Address { host: host.into(), token: token.into() })
    }
    /// As a browser has it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/", self.host, self.token)
    }
    /// What is answered to these bytes; nothing if it does not listen any more.
    pub(crate) fn raw(&self, request: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.host).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }
    /// Status and body of an answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Option<(String, String)> {
        let Address { host, token } = self;
        let len = body.len();
        let text = self.raw(&format!(
            "{method} /{token}/{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len}\r\n\r\n{body}"
        ))?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.into(), body.into()))
    }
}
