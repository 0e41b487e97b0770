// SPDX-License-Identifier: MIT

//! The servers: they listen on a port of 127.0.0.1 that the system chooses, say "port N" in one line,
//! and serve until they are ended.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BUFFER: usize = 4096;

/// The one of the C library, as the servers in C have it.
fn memchr(byte: u8, text: &[u8]) -> Option<usize> {
    let start = text.as_ptr();
    let found = unsafe { libc::memchr(start.cast(), byte.into(), text.len()) };
    (!found.is_null()).then(|| found as usize - start as usize)
}

pub async fn listen() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    listener
}

async fn echo_one(mut stream: TcpStream) -> std::io::Result<()> {
    let mut buf = vec![0; BUFFER];
    loop {
        let n = stream.read(&mut buf).await?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&buf[..n]).await?;
    }
}

pub async fn echo() {
    let listener = listen().await;
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(echo_one(stream));
    }
}

// ---- http, with the parser of bench/peers/http.h

const SHORTEST: usize = "GET / HTTP/1.0\r\n\r\n".len();
const CLOSE: &[u8] = b"Connection: close";
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

enum Request {
    Whole { length: usize, last: bool },
    Part,
    Bad,
}

fn parse(text: &[u8]) -> Request {
    let mut at = 0;
    let mut last = false;
    while let Some(n) = memchr(b'\n', &text[at..]) {
        if n == 0 || text[at + n - 1] != b'\r' {
            return Request::Bad;
        }
        let line = &text[at..at + n - 1];
        if at == 0 {
            if line.len() < SHORTEST - 4
                || !line.starts_with(b"GET /")
                || &line[line.len() - 9..line.len() - 1] != b" HTTP/1."
            {
                return Request::Bad;
            }
        } else if line.is_empty() {
            return Request::Whole { length: at + n + 1, last };
        } else if line.len() == CLOSE.len() && line.eq_ignore_ascii_case(CLOSE) {
            last = true;
        }
        at += n + 1;
    }
    if text.len() == BUFFER {
        return Request::Bad;
    }
    Request::Part
}

async fn http_one(mut stream: TcpStream) -> std::io::Result<()> {
    let mut buf = vec![0; BUFFER];
    let mut out = Vec::new();
    let mut have = 0;
    let mut closing = false;
    while !closing {
        let n = stream.read(&mut buf[have..]).await?;
        if n == 0 {
            break;
        }
        have += n;
        let mut from = 0;
        out.clear();
        while from < have && !closing {
            match parse(&buf[from..have]) {
                Request::Whole { length, last } => {
                    out.extend_from_slice(ANSWER);
                    from += length;
                    closing = last;
                }
                Request::Part => break,
                Request::Bad => return Ok(()),
            }
        }
        buf.copy_within(from..have, 0);
        have -= from;
        if !out.is_empty() {
            stream.write_all(&out).await?;
        }
    }
    Ok(())
}

pub async fn http() {
    let listener = listen().await;
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(http_one(stream));
    }
}
