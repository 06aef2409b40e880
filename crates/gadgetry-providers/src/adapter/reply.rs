//! One reply of a client, as deltas.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::StreamExt as _;
use gadgetry_proto::delta::{Delta, StopReason};

use crate::adapter::AdapterError;

/// Appends the deltas of a chunk.
pub(super) type Map<C> = Arc<dyn Fn(C, &mut VecDeque<Delta>) + Send + Sync>;

/// The deltas of one reply.
pub(super) struct AdapterReply<C> {
    /// `None` once nothing more is read of it.
    chunks: Option<BoxStream<'static, Result<C, AdapterError>>>,
    map: Map<C>,
    ready: VecDeque<Delta>,
    /// True if a delta has ended the reply.
    ended: bool,
    /// True if a delta must end it.
    requires_end: bool,
}

impl<C> AdapterReply<C> {
    pub(super) fn new(
        chunks: BoxStream<'static, Result<C, AdapterError>>,
        map: Map<C>,
        requires_end: bool,
    ) -> Self {
        Self {
            chunks: Some(chunks),
            map,
            ready: VecDeque::new(),
            ended: false,
            requires_end,
        }
    }

    /// The next delta of those that are ready. Nothing follows an error.
    fn next_ready(&mut self) -> Option<Delta> {
        let delta = self.ready.pop_front()?;
        if matches!(delta, Delta::MessageEnd { .. }) {
            self.ended = true;
        } else if matches!(delta, Delta::Error(_)) {
            self.chunks = None;
            self.ready.clear();
        }
        Some(delta)
    }
}

// No field is structurally pinned; the chunks are in a box.
impl<C> Unpin for AdapterReply<C> {}

impl<C> Stream for AdapterReply<C> {
    type Item = Delta;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        loop {
            if let Some(delta) = self.next_ready() {
                return Poll::Ready(Some(delta));
            }
            let this = &mut *self;
            let Some(chunks) = &mut this.chunks else {
                return Poll::Ready(None);
            };
            match std::task::ready!(chunks.poll_next_unpin(cx)) {
                Some(Ok(chunk)) => (this.map)(chunk, &mut this.ready),
                // A connection that breaks after the end loses nothing.
                Some(Err(_)) if this.ended => this.chunks = None,
                Some(Err(error)) => this.ready.push_back(error.into_delta()),
                None => {
                    this.chunks = None;
                    if !this.ended && !this.requires_end {
                        this.ready.push_back(Delta::MessageEnd {
                            stop_reason: StopReason::Stop,
                            usage: None,
                        });
                    }
                }
            }
        }
    }
}
