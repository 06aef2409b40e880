//! A bare proxy: bytes pass through hyper, and nothing looks at them. What it adds, any gateway adds.

use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use crate::Failure;

/// Serves it, with a connection to the upstream for each connection of a client.
pub(crate) async fn serve(upstream: String) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let there = TcpStream::connect(&upstream).await?;
        there.set_nodelay(true)?;
        let (sender, connection) = client::handshake::<_, Incoming>(TokioIo::new(there)).await?;
        tokio::spawn(connection);
        tokio::spawn(async move {
            let sender = Mutex::new(sender);
            let forward = async |request: Request<Incoming>| -> hyper::Result<Response<Incoming>> {
                let mut sender = sender.lock().await;
                sender.ready().await?;
                sender.send_request(request).await
            };
            let service = service_fn(forward);
            // A client that goes ends its connection.
            let _ = server::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}
