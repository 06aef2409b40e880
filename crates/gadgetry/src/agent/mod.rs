//! Agents: a model, its gadgets, and everything a run of them needs, in one place.
//!
//! [`Agent::builder`] takes the options, [`Agent::ask`] starts a run, and an [`AgentRun`] is consumed in one of three ways, which
//! share one implementation:
//!
//! | way | gives |
//! |---|---|
//! | [`AgentRun::text`] | the answer |
//! | [`AgentRun::on_event`] | every event to a closure, and then [`Finished`] |
//! | `AgentRun` as a [`Stream`](futures_core::Stream) | the events, one by one; [`AgentRun::finished`] afterwards |
//!
//! [`AgentRun::texts`] is that stream with only this agent's text, and `.await` on a run is [`AgentRun::finish`].
//!
//! ```
//! use futures_util::StreamExt as _;
//! use gadgetry::{Agent, GadgetSpec, Outcome, ScriptedModel, from_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model: ScriptedModel = concat!(
//!     r#"{"text": "!!!GADGET_START:Clock:now\n!!!GADGET_END"}"#, "\n",
//!     r#"{"text": "It is noon."}"#,
//! ).parse()?;
//! let spec = GadgetSpec { name: "Clock".to_owned(), ..GadgetSpec::default() };
//! let clock = from_fn(spec, |_, _| async { Outcome::ok("12:00") });
//!
//! let agent = Agent::builder().model(model).gadget(clock).build()?;
//! let mut run = agent.ask("What time is it?");
//! while let Some(event) = run.next().await {
//!     if let Some(text) = event.own_text() {
//!         assert_eq!(text, "It is noon.");
//!     }
//! }
//! let finished = run.finished().ok_or("the stream has ended")?;
//! assert_eq!(finished.summary.iterations, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Subagents
//!
//! A gadget that needs its own agent builds it with [`ExecutionContext::spawn_agent`](crate::ExecutionContext::spawn_agent).

mod build;
mod builder;
mod consume;
mod conversation;
mod durable;
mod error;
mod finished;
mod handle;
mod identity;
mod inner;
mod left_to_model;
mod observers;
mod options;
mod prepared;
mod run;
mod scope;
mod single;
mod synthetic;
mod typed;

use std::sync::Arc;

use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::run::Plan;

pub use builder::AgentBuilder;
pub use conversation::Conversation;
pub use durable::Durable;
pub use error::{AgentError, RunError, TypedError, Unfinished};
pub use finished::{Finished, FinishedCall};
pub use handle::{AgentHandle, NotInjected};
pub use run::AgentRun;
pub use single::{SingleCall, single_call};
pub use typed::Typed;

use inner::Inner;

/// A model with gadgets that answers prompts. Cheap to clone.
///
/// Runs of one agent are independent, but they share its rate limits, its observers and its gadgets. They may
/// run at the same time. [`Agent::ask_in`] continues a [`Conversation`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use gadgetry::{Agent, ScriptedModel};
/// let model: ScriptedModel = "{\"text\": \"4\"}\n{\"text\": \"9\"}".parse()?;
/// let agent = Agent::builder().model(model).build()?;
/// assert_eq!(agent.ask("2 × 2?").text().await?, "4");
/// assert_eq!(agent.ask("3 × 3?").text().await?, "9");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

impl Agent {
    /// Returns the plan of the agent's runs.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.inner.plan
    }

    /// Returns a run about one message of the user. Nothing happens until the run is consumed.
    pub fn ask(&self, prompt: impl Into<String>) -> AgentRun<'static> {
        self.ask_owned(Conversation::default(), prompt)
    }

    /// Returns a run that continues `conversation`: the model reads the earlier messages, and the run adds to them.
    ///
    /// When the run has ended, however it ended, the conversation has the question, every reply and every result. After a failed
    /// or cancelled run, these are the messages until then, with an answer for every call; call this method again to continue, or
    /// keep a clone from before to repeat the question. A run that is dropped before its end leaves the conversation as it was.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = "{\"text\": \"4\"}\n{\"text\": \"Yes.\"}".parse()?;
    /// use gadgetry::{Agent, Conversation};
    /// let agent = Agent::builder().model(model).build()?;
    /// let mut talk = Conversation::default();
    /// agent.ask_in(&mut talk, "What is 2+2?").text().await?;
    /// agent.ask_in(&mut talk, "Are you sure?").text().await?;
    /// assert_eq!(talk.messages().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_in<'t>(
        &self,
        conversation: &'t mut Conversation,
        prompt: impl Into<String>,
    ) -> AgentRun<'t> {
        let run = self.ask_owned(conversation.clone(), prompt);
        run.keeping_in(conversation)
    }

    /// Like [`Agent::ask_in`], but takes the conversation: the run borrows nothing, so it can be spawned, or be the body of a
    /// response. [`AgentRun::into_conversation`] returns the conversation after the end.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = "{\"text\": \"4\"}\n{\"text\": \"Yes.\"}".parse()?;
    /// use std::sync::{Arc, Mutex};
    /// use futures_util::{Stream, StreamExt as _, stream};
    /// use gadgetry::{Agent, Conversation};
    ///
    /// /// The text of a reply, as the body of a response. The session has the conversation when all of it was sent.
    /// fn body(agent: &Agent, session: Arc<Mutex<Conversation>>, prompt: &str) -> impl Stream<Item = String> + 'static + use<> {
    ///     let talk = session.lock().unwrap().clone();
    ///     let run = agent.ask_owned(talk, prompt);
    ///     let events = stream::unfold((run, session), async |(mut run, session)| {
    ///         if let Some(event) = run.next().await {
    ///             return Some((event, (run, session)));
    ///         }
    ///         *session.lock().unwrap() = run.into_conversation().ok()?;
    ///         None
    ///     });
    ///     events.filter_map(async |event| event.own_text().map(str::to_owned))
    /// }
    ///
    /// let agent = Agent::builder().model(model).build()?;
    /// let session = Arc::default();
    /// let first = tokio::spawn(body(&agent, Arc::clone(&session), "What is 2+2?").collect::<String>());
    /// assert_eq!(first.await?, "4");
    /// let second = body(&agent, Arc::clone(&session), "Are you sure?");
    /// assert_eq!(second.collect::<String>().await, "Yes.");
    /// assert_eq!(session.lock().unwrap().messages().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_owned(
        &self,
        conversation: Conversation,
        prompt: impl Into<String>,
    ) -> AgentRun<'static> {
        let question = Message::text(Role::User, prompt);
        AgentRun::after(conversation, &self.inner, question)
    }

    /// Returns a run about a message with more than text: images, audio, files.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use gadgetry::{Agent, Content, Media, MediaData, MediaKind, ScriptedModel};
    /// let model: ScriptedModel = r#"{"text": "A cat."}"#.parse()?;
    /// let picture = Media {
    ///     kind: MediaKind::Image,
    ///     mime_type: "image/png".to_owned(),
    ///     data: MediaData::Url("https://example.com/cat.png".to_owned()),
    ///     name: None,
    /// };
    /// let question = Content::Text { text: "What is this?".to_owned() };
    /// let agent = Agent::builder().model(model).build()?;
    /// let answer = agent.ask_with(vec![question, Content::Media(picture)]).text().await?;
    /// # assert_eq!(answer, "A cat.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_with(&self, content: Vec<Content>) -> AgentRun<'static> {
        AgentRun::after(Conversation::default(), &self.inner, of_user(content))
    }
}

fn of_user(content: Vec<Content>) -> Message {
    Message::new(Role::User, content)
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("plan", &self.inner.plan)
            .field("services", &self.inner.services)
            .finish_non_exhaustive()
    }
}
