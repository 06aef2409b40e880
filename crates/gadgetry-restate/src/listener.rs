//! The listener of a worker: Restate's requests, followers of events, and news of messages.
//!
//! The SDK's own server is not used. It accepts sockets with Nagle's algorithm, which costs 40 ms for each step of about
//! 20 kB, and with the default HTTP/2 window, with which a run of some thousand steps cannot be resumed: h2 takes the many
//! small frames of its journal for an attack. `tests/listener.rs` measures both.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use reqwest::Url;
use restate_sdk::endpoint::Endpoint;
use restate_sdk::hyper::HyperEndpoint;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::events::{EventHubs, find};
use crate::protocol::DRIVE_HEADER;

/// The window of a connection. h2 admits small frames for half of it, and each step of a resumed run is such a frame.
const WINDOW: u32 = 64 << 20;

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The services of a connection.
#[derive(Clone)]
struct Routes {
    restate: HyperEndpoint,
    hubs: EventHubs,
    token: Arc<str>,
}

/// Serves until `stop`, and then closes all connections.
pub(crate) async fn serve(
    listener: TcpListener,
    endpoint: Endpoint,
    hubs: EventHubs,
    token: Arc<str>,
    stop: CancellationToken,
) {
    let routes = Routes {
        restate: HyperEndpoint::new(endpoint),
        hubs,
        token,
    };
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http2().initial_connection_window_size(WINDOW);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Such as too many open files: others are closed meanwhile.
                tracing::warn!("a connection cannot be accepted: {error}");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        // It fails for a socket that is closed already.
        let _ = stream.set_nodelay(true);
        let (http, routes, stop) = (http.clone(), routes.clone(), stop.clone());
        tokio::spawn(async move {
            let connection = http.serve_connection(TokioIo::new(stream), routes);
            if let Some(Err(error)) = stop.run_until_cancelled(connection).await {
                tracing::debug!("a connection has ended: {error}");
            }
        });
    }
}

impl Service<Request<Incoming>> for Routes {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let path = request.uri().path();
        if let Some(what) = path.strip_prefix("/gadgetry/") {
            let answer = self.own(request.method(), what, &request);
            return Box::pin(std::future::ready(Ok(answer)));
        }
        let answer = self.restate.call(request);
        Box::pin(async move { Ok(answer.await?.map(BodyExt::boxed_unsync)) })
    }
}

impl Routes {
    fn own(&self, method: &Method, what: &str, request: &Request<Incoming>) -> Response<Body> {
        let header = request.headers().get("authorization");
        let token = header.and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
        if token != Some(&*self.token) {
            return empty(StatusCode::UNAUTHORIZED);
        }
        let query = Url::parse(&format!("http://worker{}", request.uri())).ok();
        let value = |name: &str| {
            let mut pairs = query.as_ref()?.query_pairs();
            pairs
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        let run = value("run").unwrap_or_default();
        let Some(hub) = find(&self.hubs, &run) else {
            return empty(StatusCode::NOT_FOUND);
        };
        match (method, what) {
            (&Method::POST, "wake") => {
                hub.wake();
                empty(StatusCode::NO_CONTENT)
            }
            (&Method::GET, "events") => {
                let from = value("from")
                    .and_then(|from| from.parse().ok())
                    .unwrap_or(0);
                let events = hub.follow(from, value("drive").as_deref());
                let events = events.map(|lines| Ok(Frame::data(lines)));
                let mut answer = Response::new(BodyExt::boxed_unsync(StreamBody::new(events)));
                let kind = hyper::header::HeaderValue::from_static("application/jsonl");
                answer.headers_mut().insert("content-type", kind);
                if let Ok(drive) = hub.drive.parse() {
                    answer.headers_mut().insert(DRIVE_HEADER, drive);
                }
                answer
            }
            _ => empty(StatusCode::NOT_FOUND),
        }
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Empty::new().map_err(Into::into).boxed_unsync());
    *answer.status_mut() = status;
    answer
}
