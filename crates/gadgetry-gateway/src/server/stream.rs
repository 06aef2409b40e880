//! A reply as an event stream.

use std::io;
use std::pin::{Pin, pin};
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_providers::sse::SseEvent;
use tokio::sync::mpsc;
use tokio::time::{Duration, Sleep, sleep, timeout};

use super::reply::UpstreamReply;
use super::watch::Watch;
use crate::api::ReplyEncoder;

/// Maximum time that a client may leave the sent bytes unread.
const UNREAD: Duration = Duration::from_mins(2);

/// A streamed reply while it is sent.
struct StreamedReply {
    reply: UpstreamReply,
    watch: Watch,
    encoder: ReplyEncoder,
    /// Deltas that were read and not sent.
    deltas: Vec<Delta>,
    frames: Vec<SseEvent>,
    keep_alive: Duration,
    /// Fires when nothing was sent for [`UNREAD`]. It is reset when it fires, not with each part of the reply.
    silence: Pin<Box<Sleep>>,
    sent_at: Instant,
}

/// Returns the reply as an event stream.
pub(super) fn streamed(
    reply: UpstreamReply,
    watch: Watch,
    encoder: ReplyEncoder,
    first: Vec<Delta>,
    keep_alive: Duration,
) -> Response {
    let mut headers = HeaderMap::new();
    reply.describe(&mut headers);
    let stream = StreamedReply {
        reply,
        watch,
        encoder,
        deltas: first,
        frames: Vec::new(),
        keep_alive,
        silence: Box::pin(sleep(keep_alive)),
        sent_at: Instant::now(),
    };
    let parts = stream::unfold(Box::new(stream), |mut stream| async move {
        let bytes = stream.next().await?;
        Some((bytes, stream))
    });
    event_stream(headers, parts)
}

/// Returns a stream of server-sent events with these headers and parts.
///
/// The stream of parts is dropped when the client disconnects, or reads nothing for two minutes. Needs a tokio runtime.
pub fn event_stream(
    mut headers: HeaderMap,
    parts: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(pumped(parts)));
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

/// Returns the parts of a reply. A client that takes no part for [`UNREAD`] loses its reply and its slot among the requests in
/// flight: the server polls the next part only once the client has read.
fn pumped(
    reply: impl Stream<Item = Bytes> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> {
    // `None` is the end.
    let (parts, receiver) = mpsc::channel::<Option<Bytes>>(1);
    tokio::spawn(async move {
        let mut reply = pin!(reply);
        loop {
            let part = tokio::select! {
                biased;
                () = parts.closed() => return,
                part = reply.next() => part,
            };
            let is_end = part.is_none();
            let sent = timeout(UNREAD, parts.send(part)).await;
            if is_end || !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    });
    stream::unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Some(bytes)) => Some((Ok(bytes), Some(receiver))),
            Some(None) => None,
            None => Some((Err(io::ErrorKind::TimedOut.into()), None)),
        }
    })
}

impl StreamedReply {
    /// Returns the next bytes; `None` after the last ones.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let deltas = self.deltas.drain(..);
            let is_estimated = self
                .reply
                .encode(&mut self.encoder, deltas, &mut self.frames);
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
            if self.reply.is_over() {
                self.reply.remember(|| self.encoder.document());
                return None;
            }
            tokio::select! {
                biased;
                () = self.reply.next(&mut self.deltas) => self.watch.outcome = self.reply.outcome(),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_keeps_no_place() {
        let place = Arc::new(());
        let endless = |place: Arc<()>| {
            stream::unfold(place, |place| async move {
                Some((Bytes::from_static(b"x"), place))
            })
        };
        let mut parts = Box::pin(pumped(endless(Arc::clone(&place))));
        for _ in 0..1_000 {
            sleep(UNREAD / 2).await;
            assert!(matches!(parts.next().await, Some(Ok(_))), "it is read");
        }
        sleep(UNREAD * 2).await;
        assert_eq!(Arc::strong_count(&place), 1, "the place is free");
        let rest: Vec<_> = parts.collect().await;
        assert!(rest.last().is_some_and(Result::is_err), "it is cut off");
        // Whoever leaves has no place either.
        let parts = Box::pin(pumped(endless(Arc::clone(&place))));
        sleep(Duration::from_secs(1)).await;
        drop(parts);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&place), 1);
        let two = stream::iter([Bytes::from_static(b"a"), Bytes::from_static(b"b")]);
        let all: Vec<_> = pumped(two).map(Result::ok).collect().await;
        assert_eq!(all, [Some("a".into()), Some("b".into())]);
    }
}
