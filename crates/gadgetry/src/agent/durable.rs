//! Durable runs of an agent.

use std::any::Any;
use std::sync::Arc;

use gadgetry_proto::message::{Content, Message, Role};
use serde_json::Value;

use crate::agent::inner::Inner;
use crate::agent::options::Extras;
use crate::agent::{Agent, AgentRun, Conversation, of_user};
use crate::ask::random;
use crate::control::DynHook;
use crate::journal::{DurableRun, Journal, JournalError};

/// Durable runs of an agent, from [`Agent::durable`].
#[must_use = "a run does not begin before `ask`"]
pub struct Durable {
    inner: Arc<Inner>,
    journal: Arc<dyn Journal>,
    id: Option<String>,
    before: Conversation,
    is_forced: bool,
    pub(super) extras: Extras,
}

impl Agent {
    /// Returns durable runs: they are kept in `journal`, and can be resumed after the process has died at any moment.
    ///
    /// ```
    /// use gadgetry::journal::MemoryJournal;
    /// use gadgetry::{Agent, ScriptedModel};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = Agent::builder().model(model).build()?;
    /// let journal = MemoryJournal::default(); // real programs take `gadgetry_store::SqliteJournal`
    /// let run = agent.durable(&journal).run_id("sum").ask("What is 2+2?").await?;
    /// assert_eq!(run.text().await?, "4");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A question to the user waits until it is answered, through the [`Human`](crate::Human) of the agent or through the
    /// journal, from any process. An agent without a [`Human`](crate::Human) asks, too.
    pub fn durable<J: Journal + Clone + 'static>(&self, journal: &J) -> Durable {
        Durable {
            inner: Arc::clone(&self.inner),
            journal: Arc::new(journal.clone()),
            id: None,
            before: Conversation::default(),
            is_forced: false,
            extras: Extras::default(),
        }
    }
}

impl Durable {
    /// Names the run; without a name, it gets a random one. See [`RunId`](crate::journal::RunId) for its form.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Continues `conversation`: the model reads what was said before. An empty one begins as [`Agent::ask`] does. To resume
    /// the run, pass the conversation as it was when the run began.
    ///
    /// ```
    /// use gadgetry::journal::MemoryJournal;
    /// use gadgetry::{Agent, Conversation, ScriptedModel};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: ScriptedModel = "{\"text\": \"4\"}\n{\"text\": \"Yes.\"}".parse()?;
    /// let agent = Agent::builder().model(model).build()?;
    /// let journal = MemoryJournal::default();
    /// let first = agent.durable(&journal).run_id("sum").ask("What is 2+2?").await?.finish().await?;
    /// let talk = Conversation::from(&first);
    /// let second = agent.durable(&journal).run_id("sum.2").after(talk).ask("Are you sure?").await?;
    /// assert_eq!(second.finish().await?.history.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(mut self, conversation: Conversation) -> Self {
        self.before = conversation;
        self
    }

    /// Resumes a run even if the agent that began it [differs](crate::journal::changes). The recorded part of the run stays as it
    /// is; from there on, it is a run of this agent.
    pub fn force(mut self) -> Self {
        self.is_forced = true;
        self
    }

    /// Begins the run about one message of the user, or resumes it if the journal has it. A run that has ended returns its result
    /// at once. Only events from now on are emitted.
    ///
    /// # Errors
    ///
    /// [`JournalError::Owned`] if another process drives the run, [`JournalError::Changed`] if another agent or another
    /// question began it, and the errors of the journal.
    ///
    /// Cancel safety: dropping the future may leave a run that has begun; asking again resumes it.
    pub async fn ask(self, prompt: impl Into<String>) -> Result<AgentRun<'static>, JournalError> {
        let question = Message::text(Role::User, prompt);
        self.begin(question).await
    }

    /// [`Durable::ask`] with more than text, as [`Agent::ask_with`].
    ///
    /// # Errors
    ///
    /// As [`Durable::ask`].
    pub async fn ask_with(self, content: Vec<Content>) -> Result<AgentRun<'static>, JournalError> {
        self.begin(of_user(content)).await
    }

    /// Resumes a run that the journal has, with the question that began it.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if the journal does not have it, and as [`Durable::ask`].
    ///
    /// Cancel safety: dropping the future changes nothing.
    pub async fn resume(self) -> Result<AgentRun<'static>, JournalError> {
        let slot = self.slot()?;
        let opened = slot.journal.open(&slot.id, None).await?;
        let mut before = opened.header.conversation.clone();
        let question = before
            .pop()
            .unwrap_or_else(|| Message::text(Role::User, ""));
        let conversation = Conversation {
            messages: before,
            outputs: opened.header.outputs.clone(),
            markers: Some(opened.header.config.markers.clone()),
        };
        let mut run = AgentRun::after(conversation, &self.inner, question);
        if let Some(prepared) = run.prepared() {
            self.extras.add_to(prepared, slot.id.as_str());
            prepared.recognise().await;
            prepared.take_up(slot, opened, self.is_forced)?;
        }
        run.settle();
        Ok(run)
    }

    async fn begin(self, question: Message) -> Result<AgentRun<'static>, JournalError> {
        let slot = self.slot()?;
        let mut run = AgentRun::after(self.before, &self.inner, question);
        if let Some(prepared) = run.prepared() {
            self.extras.add_to(prepared, slot.id.as_str());
            prepared.recognise().await;
            let header = prepared.origin.header();
            let opened = slot.journal.open(&slot.id, Some(&header)).await?;
            prepared.take_up(slot, opened, self.is_forced)?;
        }
        run.settle();
        Ok(run)
    }

    fn slot(&self) -> Result<DurableRun, JournalError> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => format!("run-{:016x}", random()),
        };
        Ok(DurableRun {
            journal: Arc::clone(&self.journal),
            id: id.parse()?,
        })
    }
}

/// # Options of the run
impl Durable {
    /// Adds a value that the gadgets and hooks of the run find by its type; see [`AgentRun::with`]. It is not kept: the program
    /// has to add it again when it resumes the run.
    pub fn with(mut self, value: impl Any + Send + Sync) -> Self {
        self.extras.values.insert(value);
        self
    }

    /// Adds data about the run to [`RunInfo::metadata`](gadgetry_proto::event::RunInfo::metadata). The journal keeps those of the beginning.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extras.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds a hook after those of the agent. The program has to add it again when it resumes the run.
    pub fn hook(mut self, hook: impl DynHook + 'static) -> Self {
        self.extras.hooks.push(Arc::new(hook));
        self
    }
}

impl std::fmt::Debug for Durable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Durable")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
