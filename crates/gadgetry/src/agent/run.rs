//! A run of an agent, and the three ways to consume it.

use std::collections::VecDeque;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use gadgetry_proto::event::{Event, FinishReason};
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::{Command, Input, Run, Summary};
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;

use crate::agent::{Inner, RunError};
use crate::context::{CancellationToken, Subagent};
use crate::driver::{Ended, Observer, drive};
use crate::family::Family;
use crate::services::Services;

/// Commands that wait for the run to be polled.
const INJECTED: usize = 256;

/// An observer that several runs tell.
pub(super) type SharedObserver = Arc<Mutex<dyn Observer>>;

/// A run that goes on while somebody consumes it.
///
/// Nothing runs before the first poll. No task outlives the run: dropping it, or the future of one of its methods, drops
/// the reply that is being read, all gadgets, and their subagents. While nobody polls, replies are not read, but gadgets
/// that have started go on.
#[must_use = "a run does nothing until it is consumed"]
pub struct AgentRun {
    state: State,
    /// What the stream has still to give.
    events: Queue,
    handle: AgentHandle,
}

type Queue = Arc<Mutex<VecDeque<Event>>>;

enum State {
    Ready(Box<Prepared>),
    Streaming(BoxFuture<'static, Finished>),
    Done(Box<Finished>),
    /// Only while it changes.
    Moving,
}

impl AgentRun {
    pub(super) fn new(inner: &Arc<Inner>, question: Message) -> Self {
        let mut conversation = inner.opening.clone();
        conversation.push(question);
        let place = Place::of(inner);
        let mut spec = inner.spec.clone();
        spec.budget = place.services().family.budget;
        let run = match Run::new(spec, conversation) {
            Ok(run) => run,
            Err(error) => unreachable!("`build` has tried this specification: {error}"),
        };
        let cancellation = place.services().family.cancellation.clone();
        let (sender, commands) = mpsc::channel(INJECTED);
        Self {
            handle: AgentHandle {
                sender,
                cancellation,
            },
            events: Queue::default(),
            state: State::Ready(Box::new(Prepared {
                run,
                place,
                commands,
                inner: Arc::clone(inner),
            })),
        }
    }

    /// The answer: what the gadget that completed the run has said, or the visible text of the last reply that has any.
    ///
    /// A run that ended otherwise is an error, with everything that was said in it. Who has read a part of the stream
    /// before gets the whole answer nevertheless.
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

    /// Runs to the end without looking at the events. Errors are those of [`AgentRun::text`].
    ///
    /// Cancel safety: dropping the future cancels the run.
    pub async fn finish(self) -> Result<Finished, RunError> {
        self.on_event(|_| {}).await
    }

    /// Gives every event to `handle`, in order and at once. Errors are those of [`AgentRun::text`].
    ///
    /// Cancel safety: dropping the future cancels the run.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// use gadgetry::proto::event::EventKind;
    /// let run = gadgetry::Agent::builder().model(model).ask("What is 2+2?")?;
    /// let mut text = String::new();
    /// let finished = run.on_event(|event| if let EventKind::Text { text: more } = &event.kind {
    ///     text.push_str(more);
    /// }).await?;
    /// assert_eq!(text, finished.summary.answer);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn on_event(
        mut self,
        mut handle: impl FnMut(&Event) + Send,
    ) -> Result<Finished, RunError> {
        match mem::replace(&mut self.state, State::Moving) {
            State::Ready(prepared) => prepared.drive(&mut handle).await,
            state => {
                self.state = state;
                while let Some(event) = self.next().await {
                    handle(&event);
                }
                match self.state {
                    State::Done(finished) => *finished,
                    State::Ready(_) | State::Streaming(_) | State::Moving => {
                        unreachable!("the stream has ended")
                    }
                }
            }
        }
        .into_result()
    }

    /// Injects messages into the run and cancels it, from anywhere.
    pub fn handle(&self) -> AgentHandle {
        self.handle.clone()
    }

    /// How the run ended; `None` until the stream has given its last event.
    pub fn finished(&self) -> Option<&Finished> {
        match &self.state {
            State::Done(finished) if lock(&self.events).is_empty() => Some(finished),
            State::Done(_) | State::Ready(_) | State::Streaming(_) | State::Moving => None,
        }
    }
}

/// The events of the run, in order. The stream ends when the run has; [`AgentRun::finished`] says how.
impl Stream for AgentRun {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        if let State::Ready(_) = this.state
            && let State::Ready(prepared) = mem::replace(&mut this.state, State::Moving)
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
                this.state = State::Done(Box::new(finished));
                Poll::Ready(next)
            }
            (Poll::Pending, Some(event)) => Poll::Ready(Some(event)),
            (Poll::Pending, None) => Poll::Pending,
        }
    }
}

impl std::fmt::Debug for AgentRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRun")
            .field("finished", &self.finished())
            .finish_non_exhaustive()
    }
}

fn lock(queue: &Mutex<VecDeque<Event>>) -> std::sync::MutexGuard<'_, VecDeque<Event>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run before its first step.
struct Prepared {
    run: Run,
    place: Place,
    commands: mpsc::Receiver<Command>,
    inner: Arc<Inner>,
}

impl Prepared {
    /// The one path: to the end of the run, telling everybody who watches.
    async fn drive(self, consumer: &mut dyn Observer) -> Finished {
        let given: Vec<Message> = systems(&self.inner.opening).cloned().collect();
        let own = systems(self.run.history()).count() - given.len();
        let mut audience = Audience {
            observers: &self.inner.observers,
            consumer,
        };
        let token = self.place.services().family.cancellation.clone();
        let ended = self.place.drive(self.run, self.commands, &mut audience);
        let ended = cancelled_by(self.inner.cancellation.as_ref(), &token, ended).await;
        Finished {
            history: without_instructions(ended.history, own, given),
            summary: ended.summary,
            fault: ended.fault,
        }
    }
}

/// Where a run is driven.
enum Place {
    Alone(Box<Services>),
    Below(Box<Subagent>),
}

impl Place {
    /// A place for one more run.
    fn of(inner: &Inner) -> Self {
        let mut services = inner.services.clone();
        let budget = inner.spec.budget;
        let Some(parent) = &inner.parent else {
            // Nothing that is spent by one run is known to another.
            services.family = Family {
                max_depth: services.family.max_depth,
                budget,
                ..Family::default()
            };
            return Self::Alone(Box::new(services));
        };
        match parent.subagent() {
            Ok(mut subagent) => {
                let mut family = subagent.services.family.clone();
                family.max_depth = services.family.max_depth;
                services.family = match budget {
                    Some(dollars) => family.with_budget(dollars),
                    None => family,
                };
                subagent.services = services;
                Self::Below(Box::new(subagent))
            }
            Err(error) => unreachable!("`build` has looked at the parent: {error}"),
        }
    }

    fn services(&self) -> &Services {
        match self {
            Self::Alone(services) => services,
            Self::Below(subagent) => &subagent.services,
        }
    }

    async fn drive(
        self,
        run: Run,
        commands: mpsc::Receiver<Command>,
        observer: &mut dyn Observer,
    ) -> Ended {
        match self {
            Self::Alone(services) => drive(run, &services, commands, observer).await,
            Self::Below(subagent) => subagent.drive(run, commands, observer).await,
        }
    }
}

/// The end of `run`, which `token` cancels when `outer` is cancelled.
async fn cancelled_by(
    outer: Option<&CancellationToken>,
    token: &CancellationToken,
    run: impl Future<Output = Ended>,
) -> Ended {
    let Some(outer) = outer else {
        return run.await;
    };
    let mut run = std::pin::pin!(run);
    tokio::select! {
        biased;
        () = outer.cancelled() => {
            token.cancel();
            run.await
        }
        ended = &mut run => ended,
    }
}

fn systems(messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages
        .iter()
        .filter(|message| message.role == Role::System)
}

/// `history` without what a run tells the model: its first `own` system messages are left out, and the next ones are as
/// they were `given`.
fn without_instructions(history: Vec<Message>, own: usize, given: Vec<Message>) -> Vec<Message> {
    let (mut left, mut given) = (own, given.into_iter());
    let mut kept = Vec::with_capacity(history.len());
    for message in history {
        if message.role != Role::System {
            kept.push(message);
        } else if left > 0 {
            left -= 1;
        } else {
            kept.push(given.next().unwrap_or(message));
        }
    }
    kept
}

/// Everybody who is told about a run: observers first, then whoever consumes it.
struct Audience<'a> {
    observers: &'a [SharedObserver],
    consumer: &'a mut dyn Observer,
}

impl Observer for Audience<'_> {
    fn event(&mut self, event: &Event) {
        for observer in self.observers {
            let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.event(event);
        }
        self.consumer.event(event);
    }

    fn input(&mut self, time: Time, input: &Input) {
        for observer in self.observers {
            let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.input(time, input);
        }
    }
}

/// How a run ended, and what is left of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// Why it ended, what it cost, and the answer.
    pub summary: Summary,
    /// The conversation, with the question and the results of gadgets, but without the agent's own instructions: for
    /// [`AgentBuilder::history`](crate::AgentBuilder::history).
    pub history: Vec<Message>,
    /// If a controller has panicked, and the run was cancelled for it: its words.
    pub fault: Option<String>,
}

impl Finished {
    /// The same, if the run came to an answer: the model was done, or a gadget or a controller has ended the run.
    pub fn into_result(self) -> Result<Self, RunError> {
        match self.summary.reason {
            FinishReason::Completed | FinishReason::TaskCompleted | FinishReason::Stopped => {
                Ok(self)
            }
            _ => Err(RunError::new(self)),
        }
    }
}

/// Reaches into a run from outside. It works whether or not the run is being polled, and does nothing once it is over.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let run = gadgetry::Agent::builder().model(model).ask("What is 2+2?")?;
/// let handle = run.handle();
/// handle.cancel();
/// assert!(run.text().await.is_err());
/// assert!(handle.inject("Are you there?").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AgentHandle {
    sender: mpsc::Sender<Command>,
    cancellation: CancellationToken,
}

impl AgentHandle {
    /// Puts a message of the user before the model with its next request. A run that is about to end goes on for it.
    pub fn inject(&self, text: impl Into<String>) -> Result<(), NotInjected> {
        self.send(Command::Inject(text.into()))
    }

    /// Makes the conversation shorter before the next request, whatever its length, as far as something can go. Without
    /// [compaction](crate::AgentBuilder::without_compaction) it does nothing.
    pub fn compact(&self) -> Result<(), NotInjected> {
        self.send(Command::Compact)
    }

    fn send(&self, command: Command) -> Result<(), NotInjected> {
        self.sender.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => NotInjected::TooMany,
            mpsc::error::TrySendError::Closed(_) => NotInjected::Over,
        })
    }

    /// Stops the run: gadgets are cancelled, every call is answered, and no model is asked any more. The run then ends
    /// with [`FinishReason::Cancelled`].
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }
}

/// Why a run was not told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInjected {
    /// The run has ended, or was dropped.
    #[error("the run is over; ask the agent again to say more")]
    Over,
    /// Nobody has polled the run while all these commands came.
    #[error("{INJECTED} commands wait already; poll the run before you send more")]
    TooMany,
}
