//! A reply as an event stream.

use std::pin::Pin;
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use gadgetry::proto::delta::Delta;
use gadgetry::provider::sse::Event;
use tokio::time::{Duration, Sleep, sleep};

use super::reply::{Reply, about, encode};
use crate::api::ReplyEncoder;

/// A streamed reply while it is sent.
struct Stream {
    reply: Reply,
    encoder: ReplyEncoder,
    /// Deltas that were read and not sent.
    deltas: Vec<Delta>,
    frames: Vec<Event>,
    keep_alive: Duration,
    /// Fires when nothing was sent for that long. It is moved when it fires, and not with each part of the reply.
    silence: Pin<Box<Sleep>>,
    sent_at: Instant,
}

/// The reply as an event stream.
pub(super) fn streamed(
    reply: Reply,
    encoder: ReplyEncoder,
    first: Vec<Delta>,
    keep_alive: Duration,
) -> Response {
    let mut headers = axum::http::HeaderMap::new();
    about(&reply, &mut headers);
    let stream = Stream {
        reply,
        encoder,
        deltas: first,
        frames: Vec::new(),
        keep_alive,
        silence: Box::pin(sleep(keep_alive)),
        sent_at: Instant::now(),
    };
    let body = stream::unfold(Box::new(stream), |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), stream))
    });
    let mut response = Response::new(Body::from_stream(body));
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that buffer would hold the stream back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    *response.headers_mut() = headers;
    response
}

impl Stream {
    /// The next bytes; `None` after the last ones.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let deltas = self.deltas.drain(..);
            let is_estimated = encode(&self.reply, &mut self.encoder, deltas, &mut self.frames);
            if !self.frames.is_empty() {
                let size = self.frames.iter().map(|frame| frame.data.len() + 64).sum();
                let mut text = String::with_capacity(size);
                if is_estimated {
                    text.push_str(": usage is estimated\n\n");
                }
                for frame in self.frames.drain(..) {
                    frame.encode(&mut text);
                }
                self.sent_at = Instant::now();
                return Some(text.into());
            }
            if self.reply.is_over {
                self.reply.remember(|| self.encoder.document());
                return None;
            }
            tokio::select! {
                biased;
                () = self.reply.next(&mut self.deltas) => {}
                () = &mut self.silence => {
                    let silent = self.sent_at.elapsed();
                    let left = self.keep_alive.saturating_sub(silent);
                    let next = if left.is_zero() { self.keep_alive } else { left };
                    self.silence.as_mut().reset(tokio::time::Instant::now() + next);
                    if left.is_zero() {
                        self.sent_at = Instant::now();
                        return Some(Bytes::from_static(b": keep-alive\n\n"));
                    }
                }
            }
        }
    }
}
