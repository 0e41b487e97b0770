// SPDX-License-Identifier: MIT

//! The servers: they listen on a port of 127.0.0.1 that the system chooses, say "port N" in one line,
//! and serve until they are ended.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BUFFER: usize = 4096;

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
