//! The spans of a run and of its subagents.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use gadgetry::Event;
use gadgetry::proto::event::{Ancestor, EventKind};
use gadgetry::proto::id::CallId;
use gadgetry::proto::message::Message;
use opentelemetry::trace::{Span, SpanContext, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::names;
use crate::run::RunSpans;

/// A run with its subagents, each at the path of its events.
pub(crate) struct Tree<S> {
    /// When time 0 of the run was.
    start: SystemTime,
    /// When the last event was.
    last: SystemTime,
    parent: Context,
    content: bool,
    is_replay: bool,
    runs: HashMap<Vec<Ancestor>, RunSpans<S>>,
}

impl<S: Span> Tree<S> {
    /// The spans of a run that began at `start`, below `parent`.
    pub(crate) fn new(start: SystemTime, parent: Context, content: bool, is_replay: bool) -> Self {
        Self {
            start,
            last: start,
            parent,
            content,
            is_replay,
            runs: HashMap::new(),
        }
    }

    /// Returns when the run began.
    pub(crate) fn start(&self) -> SystemTime {
        self.start
    }

    /// The context of the current reply of a run, or of one of its calls; `None` if the run has no span.
    pub(crate) fn context_of(&self, run: &str, call: Option<CallId>) -> Option<SpanContext> {
        let run = self.runs.values().find(|it| it.is(run))?;
        Some(match call {
            Some(call) => run.context_of(call),
            None => run.context_of_reply(),
        })
    }

    /// Follows an event. Returns `true` if the run has ended.
    pub(crate) fn event<T: Tracer<Span = S>>(&mut self, tracer: &T, event: &Event) -> bool {
        let since = Duration::from_millis(event.time.0);
        let at = self.start.checked_add(since).unwrap_or(self.last);
        self.last = at;
        if !self.runs.contains_key(&*event.path) {
            let run = self.begin(tracer, event, at);
            self.runs.insert(event.path.clone(), run);
        }
        if let Some(run) = self.runs.get_mut(&*event.path) {
            run.event(tracer, &event.kind, at);
        }
        let has_ended = matches!(event.kind, EventKind::RunFinished { .. });
        if has_ended {
            self.runs.remove(&*event.path);
            if event.path.is_empty() {
                self.end();
            }
        }
        has_ended && event.path.is_empty()
    }

    /// Notes the messages of the request that the run itself has just sent.
    pub(crate) fn request<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) {
        if let Some(run) = self.runs.get_mut(&[] as &[Ancestor]) {
            run.request(messages);
        }
    }

    /// Ends what is open, with the time of the last event.
    pub(crate) fn end(&mut self) {
        for (_, mut run) in self.runs.drain() {
            run.end(self.last);
        }
    }

    fn begin<T: Tracer<Span = S>>(&self, tracer: &T, event: &Event, at: SystemTime) -> RunSpans<S> {
        let parent = match event.path.split_last() {
            None => self.parent.clone(),
            Some((last, above)) => match self.runs.get(above) {
                Some(run) => Context::new().with_remote_span_context(run.context_of(last.call)),
                None => self.parent.clone(),
            },
        };
        let info = if let EventKind::RunStart(info) = &event.kind {
            Some(&**info)
        } else {
            None
        };
        let mut run = RunSpans::begin(tracer, info, &parent, self.content, at);
        if self.is_replay {
            run.set(KeyValue::new(names::REPLAY, true));
        }
        run
    }
}
