//! The spans of a run and of its subagents.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gadgetry::Event;
use gadgetry::proto::event::{Ancestor, EventKind, RunInfo};
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
    /// The run, where it is known: one that was resumed does not begin with an event that has it.
    info: Option<Arc<RunInfo>>,
    /// The spans of the run itself, which most events are of.
    root: Option<RunSpans<S>>,
    subagents: HashMap<Vec<Ancestor>, RunSpans<S>>,
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
            info: None,
            root: None,
            subagents: HashMap::new(),
        }
    }

    /// Knows the run, whatever its events say.
    #[must_use]
    pub(crate) fn of(mut self, info: &Arc<RunInfo>) -> Self {
        self.info = Some(Arc::clone(info));
        self
    }

    /// Returns when the run began.
    pub(crate) fn start(&self) -> SystemTime {
        self.start
    }

    /// The context of the current reply of a run, or of one of its calls; `None` if the run has no span.
    pub(crate) fn context_of(&self, run: &str, call: Option<CallId>) -> Option<SpanContext> {
        let mut runs = self.root.iter().chain(self.subagents.values());
        let run = runs.find(|it| it.is(run))?;
        Some(match call {
            Some(call) => run.context_of(call),
            None => run.context_of_reply(),
        })
    }

    /// Follows an event. Returns `true` if the run has ended.
    pub(crate) fn event<T: Tracer<Span = S>>(&mut self, tracer: &T, event: &Event) -> bool {
        if self.is_replay
            && event.path.is_empty()
            && let EventKind::RunStart(info) = &event.kind
            && let Some(start) = info.start_ms.and_then(time_of)
        {
            self.start = start;
        }
        let since = Duration::from_millis(event.time.0);
        let at = self.start.checked_add(since).unwrap_or(self.last);
        self.last = at;
        if self.run_at(&event.path).is_none() {
            let run = self.begin(tracer, event, at);
            if event.path.is_empty() {
                self.root = Some(run);
            } else {
                self.subagents.insert(event.path.clone(), run);
            }
        }
        if let Some(run) = self.run_at(&event.path) {
            run.event(tracer, &event.kind, at);
        }
        if !matches!(event.kind, EventKind::RunFinished { .. }) {
            return false;
        }
        if event.path.is_empty() {
            self.root = None;
            self.end();
        } else {
            self.subagents.remove(&*event.path);
        }
        event.path.is_empty()
    }

    fn run_at(&mut self, path: &[Ancestor]) -> Option<&mut RunSpans<S>> {
        if path.is_empty() {
            self.root.as_mut()
        } else {
            self.subagents.get_mut(path)
        }
    }

    /// Notes the messages of the request that the run itself has just sent.
    pub(crate) fn request<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) {
        if let Some(run) = &mut self.root {
            run.request(messages);
        }
    }

    /// Ends what is open, with the time of the last event.
    pub(crate) fn end(&mut self) {
        let subagents = self.subagents.drain().map(|(_, run)| run);
        for mut run in subagents.chain(self.root.take()) {
            run.end(self.last);
        }
    }

    fn begin<T: Tracer<Span = S>>(
        &mut self,
        tracer: &T,
        event: &Event,
        at: SystemTime,
    ) -> RunSpans<S> {
        let parent = match event.path.split_last() {
            None => self.parent.clone(),
            Some((last, above)) => match self.run_at(above) {
                Some(run) => Context::new().with_remote_span_context(run.context_of(last.call)),
                None => self.parent.clone(),
            },
        };
        let info = if let EventKind::RunStart(info) = &event.kind {
            Some(&**info)
        } else {
            self.info.as_deref().filter(|_| event.path.is_empty())
        };
        let mut run = RunSpans::begin(tracer, info, &parent, self.content, at);
        if self.is_replay {
            run.set(KeyValue::new(names::REPLAY, true));
        }
        run
    }
}

/// The time of these milliseconds since 1970; `None` if it cannot be represented.
fn time_of(unix_ms: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms))
}
