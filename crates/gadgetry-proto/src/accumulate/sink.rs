//! The destination of stream events.

use crate::accumulate::stream_event::StreamEvent;

/// A list of events, or nowhere: then no event is made, and nothing is copied for one.
pub(crate) struct Sink<'a>(Option<&'a mut Vec<StreamEvent>>);

impl<'a> Sink<'a> {
    pub(crate) fn nowhere() -> Self {
        Self(None)
    }

    pub(crate) fn of(events: &'a mut Vec<StreamEvent>) -> Self {
        Self(Some(events))
    }

    pub(crate) fn push(&mut self, event: impl FnOnce() -> StreamEvent) {
        if let Some(events) = &mut self.0 {
            events.push(event());
        }
    }
}
