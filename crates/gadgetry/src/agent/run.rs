//! A run of an agent, and the three ways to consume it.

use std::collections::VecDeque;
use std::fmt;
use std::future::{pending, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use gadgetry_proto::event::Event;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::RunOptions;

use crate::agent::finished::systems;
use crate::agent::identity::identity;
use crate::agent::inner::Inner;
use crate::agent::prepared::{Origin, Prepared};
use crate::agent::scope::AgentScope;
use crate::agent::{AgentHandle, Conversation, Finished, RunError, TypedError, Unfinished};
use crate::gadget::DynGadget;
use crate::log::{LogError, LogHeader};
use crate::observer::Observer;

/// A run that progresses while it is consumed.
///
/// Nothing runs before the first poll. No task outlives the run: dropping it, or the future of one of its methods, drops
/// the reply that is being read, all gadgets, and their subagents. Without polls, replies are not read, but gadgets
/// that have started keep running.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// use futures_util::StreamExt as _;
///
/// let mut run = gadgetry::Agent::builder().model(model).build()?.ask("What is 2+2?");
/// while let Some(event) = run.next().await {
///     // Not that of subagents.
///     if let Some(text) = event.own_text() {
///         print!("{text}");
///     }
/// }
/// assert!(run.finished().is_some_and(|finished| finished.summary.answer == "4"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a run does nothing until it is consumed"]
pub struct AgentRun<'t> {
    state: State,
    /// Events that the stream has not yielded yet.
    events: Queue,
    pub(super) handle: AgentHandle,
    pub(super) origin: Arc<Origin>,
    /// Whether the conversation was not empty before the question.
    is_continued: bool,
    /// Conversation that the run extends when it has ended.
    conversation: Option<&'t mut Conversation>,
}

type Queue = Arc<Mutex<VecDeque<Event>>>;

enum State {
    Ready(Box<Prepared>),
    Streaming(BoxFuture<'static, Finished>),
    Done(Box<Finished>),
}

impl AgentRun<'static> {
    /// A run about `question` after what was said `before`. An empty conversation begins with what the agent's begin with.
    pub(super) fn after(before: Conversation, inner: &Arc<Inner>, question: Message) -> Self {
        let is_continued = !before.is_empty();
        let before = if is_continued {
            before
        } else {
            Conversation {
                messages: inner.opening.clone(),
                outputs: inner.outputs.clone(),
                markers: None,
            }
        };
        let mut scope = AgentScope::of(inner);
        let info = identity(inner, scope.services_mut());
        let retry = inner.plan.config().retry.as_ref();
        let needs_seed = retry.is_some_and(|retry| retry.seed == 0);
        let is_durable = scope.services().durable.is_some();
        let options = RunOptions {
            budget: scope.services().scope.budget,
            retry_seed: needs_seed.then(crate::ask::random),
            markers: before.markers.clone(),
            asks: is_durable.then(|| scope.services().durable_asks()),
            info: None,
        };
        let origin = Arc::new(Origin {
            inner: Arc::clone(inner),
            before: Arc::new(before),
            question,
            options,
            info,
        });
        let run = origin.run();
        let cancellation = scope.services().scope.cancellation.clone();
        let approvals = scope.services().scope.shared.get();
        let (handle, commands) = AgentHandle::new(cancellation, approvals);
        let given = systems(&origin.before.messages).cloned().collect();
        Self {
            handle,
            origin: Arc::clone(&origin),
            events: Queue::default(),
            state: State::Ready(Box::new(Prepared {
                run,
                scope,
                commands,
                origin,
                given,
                taken: None,
                is_changed: false,
                mistake: None,
            })),
            is_continued,
            conversation: None,
        }
    }

    /// The same, and `conversation` is as after the run when that has ended.
    pub(super) fn keeping_in(self, conversation: &mut Conversation) -> AgentRun<'_> {
        AgentRun {
            conversation: Some(conversation),
            ..self
        }
    }
}

impl AgentRun<'_> {
    /// Returns the answer: the result of the gadget that completed the run, or the visible text of the last reply that has any.
    ///
    /// A run that ended otherwise is an error, which contains all of its messages. The answer is whole even if part of the stream
    /// was already read.
    ///
    /// Cancel safety: dropping the future cancels the run.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let run = gadgetry::Agent::builder().model(model).ask("What is 2+2?")?;
    /// assert_eq!(run.text().await?, "4");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn text(self) -> Result<String, RunError> {
        let finished = self.finish().await?;
        Ok(finished.summary.answer)
    }

    /// Runs to the end and ignores the events. Errors are those of [`AgentRun::text`].
    ///
    /// Cancel safety: dropping the future cancels the run.
    pub async fn finish(self) -> Result<Finished, RunError> {
        self.on_event(|_| {}).await
    }

    /// Passes every event to `handle`, in order and at once, those of subagents included. A panic of `handle` ends the run and
    /// reaches the caller. Errors are those of [`AgentRun::text`].
    ///
    /// Cancel safety: dropping the future cancels the run.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let run = gadgetry::Agent::builder().model(model).build()?.ask("What is 2+2?");
    /// let mut text = String::new();
    /// let finished = run.on_event(|event| text.extend(event.own_text())).await?;
    /// assert_eq!(text, finished.summary.answer);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn on_event(
        self,
        mut handle: impl FnMut(&Event) + Send,
    ) -> Result<Finished, RunError> {
        self.observe(&mut handle).await
    }

    /// Runs to the end, watched by `observer` in addition to those of the agent. Errors are those of [`AgentRun::text`].
    ///
    /// If part of the stream was already read, it sees only the remaining events.
    ///
    /// Cancel safety: dropping the future cancels the run.
    ///
    /// See [`log`](crate::log) for how to save a run with it.
    pub async fn observe(self, observer: &mut dyn Observer) -> Result<Finished, RunError> {
        let Self {
            state,
            events,
            conversation,
            ..
        } = self;
        let finished = match state {
            // Boxed, so that the futures of callers stay small.
            State::Ready(prepared) => Box::pin(prepared.drive(observer)).await,
            State::Streaming(mut driving) => {
                poll_fn(|cx| {
                    let ended = driving.as_mut().poll(cx);
                    forward(&events, observer);
                    ended
                })
                .await
            }
            State::Done(finished) => {
                forward(&events, observer);
                *finished
            }
        };
        if let Some(conversation) = conversation {
            *conversation = (&finished).into();
        }
        finished.into_result()
    }

    /// The run before its first step; `None` once it has begun.
    pub(super) fn prepared(&mut self) -> Option<&mut Prepared> {
        match &mut self.state {
            State::Ready(prepared) => Some(prepared),
            State::Streaming(_) | State::Done(_) => None,
        }
    }

    /// One more gadget, which the model must call to end the run.
    pub(super) fn add_before_start(
        &mut self,
        gadget: Arc<dyn DynGadget>,
    ) -> Result<(), TypedError> {
        let State::Ready(prepared) = &mut self.state else {
            return Err(TypedError::Begun);
        };
        let inner = Arc::new(self.origin.inner.ending_with(gadget)?);
        let services = prepared.scope.services_mut();
        services.toolbox = Arc::clone(&inner.services.toolbox);
        services.model = Arc::clone(&inner.services.model);
        services.hook_up();
        Arc::make_mut(&mut self.origin).inner = inner;
        prepared.run = self.origin.run();
        prepared.origin = Arc::clone(&self.origin);
        Ok(())
    }

    /// Returns the header of a log of the run: everything that it was made from, with the seed of its retries. Fails with
    /// [`LogError::Code`] if the agent has transforms, interceptors, a custom block with a closure, or
    /// [`trailing_with`](crate::AgentBuilder::trailing_with).
    ///
    /// It waits for the server of the model, if that is the user's own: the server's description of the model decides how the run
    /// calls gadgets.
    ///
    /// Cancel safety: dropping the future changes nothing.
    pub async fn header(&mut self) -> Result<LogHeader, LogError> {
        if let Some(prepared) = self.prepared() {
            prepared.recognise().await;
            self.settle();
        }
        let header = self.origin.header();
        header.without_code()?;
        Ok(header)
    }

    /// Returns a handle that injects messages into the run and cancels it, from anywhere.
    pub fn handle(&self) -> AgentHandle {
        self.handle.clone()
    }

    /// Returns the result of the run; `None` until the stream has given its last event.
    pub fn finished(&self) -> Option<&Finished> {
        match &self.state {
            State::Done(finished) if lock(&self.events).is_empty() => Some(finished),
            State::Done(_) | State::Ready(_) | State::Streaming(_) => None,
        }
    }

    /// Returns the conversation with the question, every reply and every result, to continue from. After a failed or cancelled
    /// run, it has the messages until then, with an answer for every call.
    ///
    /// # Errors
    ///
    /// [`Unfinished`] if the stream was not read to its end; it contains the conversation as it was before the question.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// use futures_util::StreamExt as _;
    /// use gadgetry::{Agent, Conversation};
    /// let agent = Agent::builder().model(model).build()?;
    /// let mut run = agent.ask_owned(Conversation::default(), "What is 2+2?");
    /// while run.next().await.is_some() {}
    /// assert_eq!(run.into_conversation()?.messages().len(), 2);
    ///
    /// let run = agent.ask_owned(Conversation::default(), "What is 3+3?");
    /// let unfinished = run.into_conversation().unwrap_err();
    /// assert!(unfinished.into_conversation().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_conversation(self) -> Result<Conversation, Unfinished> {
        match self.state {
            State::Done(finished) => Ok((*finished).into()),
            State::Ready(_) | State::Streaming(_) => Err(Unfinished::new(if self.is_continued {
                Conversation::clone(&self.origin.before)
            } else {
                Conversation::default()
            })),
        }
    }

    /// The run has ended: its conversation continues from there.
    fn keep(&mut self, finished: &Finished) {
        if let Some(conversation) = self.conversation.take() {
            *conversation = finished.into();
        }
    }
}

/// The events of the run, in order. The stream ends when the run has; [`AgentRun::finished`] says how.
impl Stream for AgentRun<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        // The pending future only holds the place while the run is moved into its own.
        if let State::Ready(_) = this.state
            && let State::Ready(prepared) =
                mem::replace(&mut this.state, State::Streaming(Box::pin(pending())))
        {
            let events = Arc::clone(&this.events);
            this.state = State::Streaming(Box::pin(async move {
                let mut keep = |event: &Event| lock(&events).push_back(event.clone());
                prepared.drive(&mut keep).await
            }));
        }
        let next = lock(&this.events).pop_front();
        if next.is_some() {
            return Poll::Ready(next);
        }
        let State::Streaming(driving) = &mut this.state else {
            return Poll::Ready(None);
        };
        let ended = driving.as_mut().poll(cx);
        let next = lock(&this.events).pop_front();
        match (ended, next) {
            (Poll::Ready(finished), next) => {
                this.keep(&finished);
                this.state = State::Done(Box::new(finished));
                Poll::Ready(next)
            }
            (Poll::Pending, Some(event)) => Poll::Ready(Some(event)),
            (Poll::Pending, None) => Poll::Pending,
        }
    }
}

impl fmt::Debug for AgentRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentRun")
            .field("finished", &self.finished())
            .finish_non_exhaustive()
    }
}

/// Gives the events that wait to `observer`.
fn forward(events: &Mutex<VecDeque<Event>>, observer: &mut dyn Observer) {
    loop {
        // The lock is released before the observer runs.
        let next = lock(events).pop_front();
        let Some(event) = next else { return };
        observer.event(&event);
    }
}

fn lock(queue: &Mutex<VecDeque<Event>>) -> MutexGuard<'_, VecDeque<Event>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
