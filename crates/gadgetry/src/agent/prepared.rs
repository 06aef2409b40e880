//! A run before its first step: from the agent, or from what a journal knows of it.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use gadgetry_proto::event::{Event, RunInfo};
use gadgetry_proto::message::Message;
use gadgetry_proto::run::{Command, Input, Output, Plan, Run, RunOptions, Summary};
use gadgetry_proto::tree::CostTree;
use tokio::sync::mpsc;

use crate::agent::finished::{systems, without_instructions};
use crate::agent::inner::Inner;
use crate::agent::observers::Observers;
use crate::agent::scope::{AgentScope, cancelled_by};
use crate::agent::{Conversation, Finished};
use crate::driver::RunResult;
use crate::journal::{
    self, Checkpoint, DurableRun, JournalError, Opened, Recorder, Recording, RunId, changes, play,
};
use crate::log::LogHeader;
use crate::observer::Observer;

/// Parts that a run was made from.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) inner: Arc<Inner>,
    /// Conversation before the question.
    pub(super) before: Arc<Conversation>,
    pub(super) question: Message,
    /// The options but for the identity.
    pub(super) options: RunOptions,
    pub(super) info: Arc<RunInfo>,
}

impl Origin {
    pub(super) fn plan(&self) -> Arc<Plan> {
        Arc::new(self.inner.plan.with(RunOptions {
            info: Some(Arc::clone(&self.info)),
            ..self.options.clone()
        }))
    }

    fn messages(&self) -> Vec<Message> {
        let question = std::iter::once(&self.question);
        self.before
            .messages
            .iter()
            .chain(question)
            .cloned()
            .collect()
    }

    pub(super) fn header(&self) -> LogHeader {
        let mut header = LogHeader::of(&self.plan(), self.messages());
        header.outputs = self.before.outputs.clone();
        header
    }

    pub(super) fn run(&self) -> Run {
        Run::new(&self.plan(), self.messages()).with_outputs(self.before.outputs.clone())
    }
}

/// A run before its first step.
pub(super) struct Prepared {
    pub(super) run: Run,
    pub(super) scope: AgentScope,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) origin: Arc<Origin>,
    /// The system messages that are not the agent's own, as they were given.
    pub(super) given: Vec<Message>,
    /// State of the run in a journal, if it was opened.
    pub(super) taken: Option<Taken>,
    /// Whether the options have changed since `run` was made.
    pub(super) is_changed: bool,
    /// Mistake of the caller for which the run does not begin.
    pub(super) mistake: Option<String>,
}

impl Prepared {
    /// Drives the run to its end, with all observers: the one path of all ways to consume it.
    pub(super) async fn drive(mut self, consumer: &mut dyn Observer) -> Finished {
        self.recognise().await;
        if let Some(mistake) = self.mistake.take().or_else(|| self.missing_value()) {
            return self.not_begun(mistake);
        }
        if let Err(error) = self.open_subagent().await {
            return self.not_begun(error.to_string());
        }
        if self.is_changed && self.taken.is_none() {
            self.run = self.origin.run();
        }
        let Self {
            run,
            scope,
            commands,
            origin,
            given,
            taken,
            ..
        } = self;
        let inner = &origin.inner;
        let own = systems(run.history()).count() - given.len();
        let markers = run.markers().clone();
        let costs = CostTree::default();
        let mut observers = Observers { costs, consumer };
        let (recording, summary) = match taken {
            Some(taken) => {
                observers.costs = taken.costs.clone();
                let recording = Recording::new(taken.recorder, taken.inbox, taken.costs);
                (Some(recording), taken.summary)
            }
            None => (None, None),
        };
        let ended = if let Some(summary) = summary {
            RunResult::of(run, summary, None)
        } else {
            let token = scope.services().scope.cancellation.clone();
            let ended = scope.drive(run, recording, commands, &mut observers);
            cancelled_by(inner.cancellation.as_ref(), &token, ended).await
        };
        Finished {
            history: without_instructions(ended.history, own, given),
            outputs: ended.outputs,
            markers,
            summary: ended.summary,
            costs: observers.costs,
            fault: ended.fault,
        }
    }
}

/// State of a run in a journal, played.
pub(super) struct Taken {
    recorder: Box<dyn Recorder>,
    inbox: BoxStream<'static, journal::RunMessage>,
    /// Costs of the run so far.
    costs: CostTree,
    /// Summary of the run, if it has ended.
    summary: Option<Summary>,
}

impl Origin {
    /// Makes a run of what the journal knows of it.
    fn take_up(
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
        // The server of the model may say more by now, or nothing.
        if let Some(inner) = self.inner.in_form_of(&header.config) {
            self.inner = Arc::new(inner);
        }
        let changes = changes(&header, &self.header());
        if !changes.is_empty() && !is_forced {
            let run = id.clone();
            return Err(JournalError::Changed { run, changes });
        }
        let seed = header.config.retry.as_ref().map(|retry| retry.seed);
        self.options.markers = Some(header.config.markers.clone());
        self.options.retry_seed = seed.or(self.options.retry_seed);
        if !is_forced {
            // What follows is played with these, too.
            self.options.asks = Some(header.config.asks);
        }
        if let Some(run) = &header.run {
            self.info = Arc::clone(run);
        }
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
            play(id, &mut run, entries, &mut |event: &Event| {
                costs.apply(event);
            })?
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
    fn plan_of(&self, header: &LogHeader, plan: &Arc<Plan>) -> Result<Arc<Plan>, JournalError> {
        let now = LogHeader::of(plan, Vec::new());
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
        let began = began.map_err(crate::log::LogError::from)?;
        Ok(Arc::new(began.with(RunOptions {
            info: header.run.clone(),
            ..RunOptions::default()
        })))
    }
}

impl Prepared {
    /// Takes over what the server of the model says about it, unless the journal has the run already.
    pub(super) async fn recognise(&mut self) {
        if self.taken.is_some() {
            return;
        }
        let inner = Arc::clone(&self.origin.inner);
        let own = self.scope.services().scope.cancellation.clone();
        let recognised = own.run_until_cancelled(inner.model.recognised());
        let recognised = match &inner.cancellation {
            Some(outer) => outer.run_until_cancelled(recognised).await.flatten(),
            None => recognised.await,
        };
        let Some(Some(model)) = recognised else {
            return;
        };
        match inner.with_model(model) {
            Ok(inner) => {
                self.scope.services_mut().model = Arc::clone(&inner.services.model);
                self.origin_mut().inner = Arc::new(inner);
                self.is_changed = true;
            }
            Err(error) => self.mistake = Some(error.to_string()),
        }
    }

    pub(super) fn origin_mut(&mut self) -> &mut Origin {
        Arc::make_mut(&mut self.origin)
    }

    pub(super) fn take_up(
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
    async fn open_subagent(&mut self) -> Result<(), JournalError> {
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

    /// The end of a run that could not begin.
    fn not_begun(self, fault: String) -> Finished {
        let mut run = self.run;
        let markers = run.markers().clone();
        // A run admits a command at any time.
        let _ = run.handle(run.now(), Input::Command(Command::Cancel));
        let summary = loop {
            if let Output::Finished(summary) = run.poll() {
                break summary;
            }
        };
        let ended = RunResult::of(run, summary, Some(fault));
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
