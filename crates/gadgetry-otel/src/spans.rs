//! The hook that makes spans of runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use gadgetry::control::{Hook, RunContext};
use gadgetry::proto::id::CallId;
use gadgetry::proto::message::Request;
use gadgetry::{Event, Observer, TraceContext};
use opentelemetry::Context;
use opentelemetry::trace::Tracer;

use crate::context;
use crate::tree::Tree;

/// Runs that are followed at the same time. One that was dropped never ends, so the oldest make room.
const OPEN: usize = 10_000;

/// Makes spans of the runs of agents. It is a [`Hook`]: `Agent::builder().hook(spans)`; share it between agents in an [`Arc`].
///
/// A subagent needs no hook of its own: its events come with those of its parent. The [crate](crate) has an example.
pub struct Spans<T: Tracer> {
    tracer: T,
    content: bool,
    /// The runs that are followed, by their ids. Each event looks for its run: to compare ids is quicker than to hash one.
    open: Mutex<BTreeMap<Arc<str>, Tree<T::Span>>>,
}

impl<T: Tracer> Spans<T> {
    /// Makes spans for a tracer.
    pub fn new(tracer: T) -> Self {
        Self {
            tracer,
            content: false,
            open: Mutex::default(),
        }
    }

    /// Sets whether spans have content: messages, parameters, results and the messages of errors. They may be private. By default, they
    /// have none.
    #[must_use]
    pub fn content(mut self, content: bool) -> Self {
        self.content = content;
        self
    }

    /// Makes the spans of a saved run from its events, as an observer of [`gadgetry::log::replay`]. `start` is the time at which the run began, if
    /// its log does not say it.
    ///
    /// ```
    /// use gadgetry::log::{LogWriter, replay};
    /// use gadgetry::{Agent, ScriptedModel};
    /// use gadgetry_otel::Spans;
    /// use opentelemetry::global;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// # let mut run = Agent::builder().model(model).ask("What is 2 + 2?")?;
    /// # let mut file = Vec::new();
    /// # let mut log = LogWriter::new(&mut file, &run.header().await?)?;
    /// # run.observe(&mut log).await?;
    /// # log.finish()?;
    /// let spans = Spans::new(global::tracer("shop"));
    /// replay(&file[..], &mut spans.replay(std::time::SystemTime::now()))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn replay(&self, start: SystemTime) -> Replay<'_, T> {
        Replay {
            spans: self,
            tree: Tree::new(start, Context::current(), self.content, true),
        }
    }
}

impl<T: Tracer> fmt::Debug for Spans<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans")
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

impl<T> Hook for Spans<T>
where
    T: Tracer + Send + Sync,
    T::Span: Send + Sync,
{
    fn event(&self, run: &RunContext, event: &Event) {
        let info = run.info();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = open.get_mut(&info.id) {
            if tree.event(&self.tracer, event) {
                open.remove(&info.id);
            }
            return;
        }
        // A subagent with this hook: its parent passes its events on.
        if info.parent.is_some() && open.keys().any(|it| info.is_within(it)) {
            return;
        }
        if open.len() >= OPEN
            && let Some(oldest) = open
                .iter()
                .min_by_key(|(_, tree)| tree.start())
                .map(|it| Arc::clone(it.0))
            && let Some(mut tree) = open.remove(&oldest)
        {
            tree.end();
        }
        let since = Duration::from_millis(event.time.0);
        let now = SystemTime::now();
        let start = now.checked_sub(since).unwrap_or(now);
        let parent = match run.get::<TraceContext>() {
            Ok(trace) => context::received(trace),
            Err(_) => Context::current(),
        };
        let mut tree = Tree::new(start, parent, self.content, false).of(info);
        if !tree.event(&self.tracer, event) {
            open.insert(Arc::clone(&info.id), tree);
        }
    }

    fn trace_context(&self, run: &RunContext, call: Option<CallId>) -> Option<TraceContext> {
        let info = run.info();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = match open.get(&info.id) {
            Some(tree) => tree,
            // A subagent, whose spans are in the tree of its parent.
            None => open.iter().find(|(other, _)| info.is_within(other))?.1,
        };
        context::sent(&tree.context_of(&info.id, call)?)
    }

    fn request(&self, run: &RunContext, request: &Request) {
        if self.content {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(tree) = open.get_mut(&run.info().id) {
                tree.request(request.messages.iter().chain(&request.trailing));
            }
        }
    }
}

/// Makes the spans of one saved run. [`Spans::replay`] has an example.
///
/// Spans of a log that ends before its run end when this is dropped, with the time of the last event.
pub struct Replay<'s, T: Tracer> {
    spans: &'s Spans<T>,
    tree: Tree<T::Span>,
}

impl<T: Tracer> fmt::Debug for Replay<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").finish_non_exhaustive()
    }
}

impl<T> Observer for Replay<'_, T>
where
    T: Tracer + Sync,
    T::Span: Send,
{
    fn event(&mut self, event: &Event) {
        self.tree.event(&self.spans.tracer, event);
    }

    fn request(&mut self, request: &Request) {
        let messages = request.messages.iter().chain(&request.trailing);
        self.tree.request(messages);
    }
}

impl<T: Tracer> Drop for Replay<'_, T> {
    fn drop(&mut self) {
        self.tree.end();
    }
}
