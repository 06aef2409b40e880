//! Connections to a free port of loopback.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Accepts connections on a thread of its own until it is dropped: an ordinary user may open a thousand files, and there are more tests.
pub(crate) struct Acceptor {
    pub(crate) address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Acceptor {
    /// Calls `serve` for one connection after the other.
    pub(crate) fn start(mut serve: impl FnMut(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        thread::spawn(move || {
            for connection in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                // A client may be gone by then.
                if let Ok(connection) = connection {
                    serve(connection);
                }
            }
        });
        Self { address, is_over }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}
