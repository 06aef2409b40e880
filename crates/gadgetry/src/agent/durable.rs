//! Durable runs of an agent.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::run::{Asks, Command, Input, Output, Plan, Run, Summary};
use gadgetry_proto::tree::CostTree;

use crate::agent::run::{Origin, Prepared};
use crate::agent::scope::AgentScope;
use crate::agent::{Agent, AgentRun, Conversation, Finished, Inner, of_user};
use crate::ask::random;
use crate::driver::RunResult;
use crate::journal::{
    self, Checkpoint, DurableRun, Journal, JournalError, Opened, Recorder, RunId, changes, play,
};
use crate::log::Header;

/// What a journal knows of a run, played.
pub(super) struct Taken {
    pub(super) recorder: Box<dyn Recorder>,
    pub(super) inbox: BoxStream<'static, journal::Message>,
    /// What the run has cost so far.
    pub(super) costs: CostTree,
    /// How it ended, if it has.
    pub(super) summary: Option<Summary>,
}

/// Durable runs of an agent, from [`Agent::durable`].
#[must_use = "a run does not begin before `ask`"]
pub struct Durable {
    inner: Arc<Inner>,
    journal: Arc<dyn Journal>,
    id: Option<String>,
    before: Option<Conversation>,
    is_forced: bool,
}

impl Agent {
    /// Runs that are kept in `journal` and can be resumed after the process has died, at any moment.
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
    /// A question to the user waits until it is answered, through the [`Human`](crate::Human) of the agent or through
    /// the journal, by whatever process; an agent without a user asks too.
    pub fn durable<J: Journal + Clone + 'static>(&self, journal: &J) -> Durable {
        Durable {
            inner: Arc::clone(&self.inner),
            journal: Arc::new(journal.clone()),
            id: None,
            before: None,
            is_forced: false,
        }
    }
}

impl Durable {
    /// Names the run; without a name, it gets a random one. See [`RunId`] for its form.
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
        self.before = Some(conversation);
        self
    }

    /// Resumes a run even if the agent that began it [differs](journal::changes). What is known of the run stays as it
    /// is; from there on it is a run of this agent.
    pub fn force(mut self) -> Self {
        self.is_forced = true;
        self
    }

    /// Begins the run about one message of the user, or resumes it if the journal has it. A run that has ended gives its
    /// result at once. The events are those from now on.
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
        let mut run = AgentRun::after(conversation, &self.inner, question, None);
        if let Some(prepared) = run.prepared() {
            prepared.origin_mut().options.asks = Some(self.inner.durable_asks());
            prepared.take_up(slot, opened, self.is_forced)?;
        }
        Ok(run)
    }

    async fn begin(self, question: Message) -> Result<AgentRun<'static>, JournalError> {
        let slot = self.slot()?;
        let before = self.before.filter(|it| !it.is_empty());
        let mut run = match before {
            Some(before) => AgentRun::after(before, &self.inner, question, None),
            None => AgentRun::new(&self.inner, question, None),
        };
        if let Some(prepared) = run.prepared() {
            prepared.origin_mut().options.asks = Some(self.inner.durable_asks());
            let header = prepared.origin.header();
            let opened = slot.journal.open(&slot.id, Some(&header)).await?;
            prepared.take_up(slot, opened, self.is_forced)?;
        }
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

impl std::fmt::Debug for Durable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Durable")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Origin {
    /// Makes a run of what the journal knows of it.
    pub(super) fn take_up(
        &mut self,
        id: &RunId,
        opened: Opened,
        is_forced: bool,
    ) -> Result<(Run, Taken), JournalError> {
        let Opened {
            header,
            checkpoint,
            entries,
            recorder,
            inbox,
        } = opened;
        let changes = changes(&header, &self.header());
        if !changes.is_empty() && !is_forced {
            let run = id.clone();
            return Err(JournalError::Changed { run, changes });
        }
        let seed = header.config.retry.as_ref().map(|retry| retry.seed);
        self.options.markers = Some(header.config.markers.clone());
        self.options.retry_seed = seed.or(self.options.retry_seed);
        let plan = self.plan();
        // What is known is played as it happened, also if this agent would have done it otherwise.
        let began = self.plan_of(&header, &plan)?;
        let is_new = checkpoint.is_none() && entries.is_empty();
        let (mut run, mut costs) = if let Some(Checkpoint { run, costs }) = checkpoint {
            (Run::load(&began, run)?, costs)
        } else {
            let run = Run::new(&began, header.conversation);
            (run.with_outputs(header.outputs), CostTree::default())
        };
        // One that has only begun has nothing in flight: nothing was done because of it that anything is known of.
        let summary = if is_new {
            None
        } else {
            play(id, &mut run, entries, |event| costs.apply(event))?
        };
        if !Arc::ptr_eq(&began, &plan) {
            run = Run::load(&plan, run.save())?;
        }
        let taken = Taken {
            recorder,
            inbox,
            costs,
            summary,
        };
        Ok((run, taken))
    }

    /// The plan of the run as it began; `plan` itself if it has not changed.
    fn plan_of(&self, header: &Header, plan: &Arc<Plan>) -> Result<Arc<Plan>, JournalError> {
        let now = Header::of(plan, Vec::new());
        if now.config == header.config && now.gadgets == header.gadgets {
            return Ok(Arc::clone(plan));
        }
        if header.code.is_empty() {
            return Ok(header.plan()?);
        }
        // Its code is that of the agent, which has said that it is the same.
        let registry = Arc::clone(self.inner.services.toolbox.registry());
        let code = plan.code().clone();
        let began = Plan::new(header.config.clone(), registry, code);
        Ok(Arc::new(began.map_err(crate::log::LogError::from)?))
    }
}

impl Inner {
    /// The questions of a durable run: the user answers through the journal, if not otherwise.
    pub(super) fn durable_asks(&self) -> Asks {
        Asks {
            human: true,
            ..self.plan.config().asks
        }
    }
}

impl Prepared {
    fn origin_mut(&mut self) -> &mut Origin {
        Arc::make_mut(&mut self.origin)
    }

    fn take_up(
        &mut self,
        slot: DurableRun,
        opened: Opened,
        is_forced: bool,
    ) -> Result<(), JournalError> {
        let (run, taken) = self.origin_mut().take_up(&slot.id, opened, is_forced)?;
        self.run = run;
        self.taken = Some(taken);
        let services = self.scope.services_mut();
        if services.scope.depth == 0 {
            services.scope.run_id = Some(slot.id.as_str().into());
        }
        services.durable = Some(slot);
        Ok(())
    }

    /// Opens the run in the journal of its parent, if it is that of a subagent of a durable run.
    pub(super) async fn open_subagent(&mut self) -> Result<(), JournalError> {
        let services = self.scope.services();
        let Some(slot) = services.durable.clone() else {
            return Ok(());
        };
        if self.taken.is_some() {
            return Ok(());
        }
        let header = self.origin.header();
        let mut opened = slot.journal.open(&slot.id, Some(&header)).await?;
        if !changes(&opened.header, &header).is_empty() {
            // Its gadget asks for something else this time.
            drop(opened);
            slot.journal.forget(&slot.id).await?;
            opened = slot.journal.open(&slot.id, Some(&header)).await?;
        }
        self.take_up(slot, opened, false)?;
        if let AgentScope::Subagent(subagent) = &self.scope {
            subagent.report_missing_cost(self.run.total_cost());
        }
        Ok(())
    }

    /// The end of a run that could not be opened in its journal.
    pub(super) fn not_begun(self, error: &JournalError) -> Finished {
        let mut run = self.run;
        let markers = run.markers().clone();
        // A run admits a command at any time.
        let _ = run.handle(run.now(), Input::Command(Command::Cancel));
        let summary = loop {
            if let Output::Finished(summary) = run.poll() {
                break summary;
            }
        };
        let ended = RunResult::of(run, summary, Some(error.to_string()));
        Finished {
            history: ended.history,
            outputs: ended.outputs,
            markers,
            summary: ended.summary,
            costs: CostTree::default(),
            fault: ended.fault,
        }
    }
}
