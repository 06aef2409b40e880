//! Where gadgets and replies report that they have begun, and wait to be let through.

use std::collections::VecDeque;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The test's side.
pub(crate) struct Gate {
    listener: TcpListener,
    /// Who came while another one was awaited.
    early: VecDeque<Waiting>,
}

/// Someone who waits at the gate. Dropping it lets them through.
pub(crate) struct Waiting {
    pub(crate) name: String,
    /// The process of the worker.
    pub(crate) process: u32,
    _stream: TcpStream,
}

impl Gate {
    pub(crate) async fn listen() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.expect("a port"),
            early: VecDeque::new(),
        }
    }

    pub(crate) fn address(&self) -> String {
        self.listener.local_addr().expect("it listens").to_string()
    }

    /// Lets these through, one after the other.
    pub(crate) async fn pass(&mut self, run: &str, names: &[&str]) {
        for name in names {
            drop(self.arrival(&format!("{run}/{name}")).await);
        }
    }

    /// Waits until `name` waits at the gate.
    pub(crate) async fn arrival(&mut self, name: &str) -> Waiting {
        if let Some(at) = self.early.iter().position(|it| it.name == name) {
            return self.early.remove(at).expect("it was found");
        }
        loop {
            let (mut stream, _) = self.listener.accept().await.expect("someone comes");
            let length = stream.read_u32().await.expect("they say who they are");
            let mut text = vec![0; usize::try_from(length).expect("a length")];
            stream.read_exact(&mut text).await.expect("a name");
            let process = stream.read_u32().await.expect("a process");
            let waiting = Waiting {
                name: String::from_utf8(text).expect("a name"),
                process,
                _stream: stream,
            };
            if waiting.name == name {
                return waiting;
            }
            self.early.push_back(waiting);
        }
    }
}

/// The worker's side: waits at the gate until it is let through.
pub(crate) async fn wait(address: &str, name: &str) {
    let mut stream = TcpStream::connect(address).await.expect("the test listens");
    let length = u32::try_from(name.len()).expect("a short name");
    stream.write_u32(length).await.expect("it reads");
    stream.write_all(name.as_bytes()).await.expect("it reads");
    let process = std::process::id();
    stream.write_u32(process).await.expect("it reads");
    // It ends with the end of the stream, or with an error if the test's process has ended.
    let _ = stream.read_u8().await;
}
