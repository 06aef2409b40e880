//! The conversation as a durable session: each message is a run, which continues where the one before has ended.

mod base;
mod describe;
mod options;
mod past;
mod rewind;
mod turn;

use std::collections::BTreeMap;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use gadgetry::approval::Approvals;
use gadgetry::journal::JournalError;
use gadgetry::proto::convo::{TextForm, TokenEstimate};
use gadgetry::proto::event::FinishReason;
use gadgetry::proto::message::{Message, Role};
use gadgetry::proto::run::RunConfig;
use gadgetry::{Agent, AgentRun, Conversation, Finished, RunError, Skills};
use tempfile::TempDir;

use super::changes::{self, not_covered};
use super::images::Images;
use super::prompt::Prompt;
use super::report::Report;
use super::state::Facts;
use crate::cli::{ChatArgs, SessionName};
use crate::config::Asking;
use crate::connect::{self, ImageUse};
use crate::error::Error;
use crate::hooks::{Commands, Moments, Start};
use crate::invocation::Invocation;
use crate::live_output::LiveOutput;
use crate::mcp;
use crate::media;
use crate::options::{Options as _, Settings, required};
use crate::printer::Printer;
use crate::project::Project;
use crate::sessions::{
    Claim, Details, Kept, OPTIONS, Sessions, details, latest_here, merged, move_to, no_sessions,
    not_kept, problem, refuse_without, replies_read, text_of, without_details,
};

use base::{Base, agent, approvals};

pub(super) use base::User;
use turn::{Turn, Unanswered};

/// Note for the model before a message that follows an interrupted reply.
const INTERRUPTED: &str = "[The user has interrupted your reply.]";

/// A conversation.
pub(super) struct Talk {
    args: ChatArgs,
    /// The options in use, from which `args` is read.
    settings: Settings,
    /// Parts that another profile changes.
    base: Base,
    agent: Agent,
    skills: Skills,
    facts: Facts,
    user: User,
    moments: Moments,
    /// Images for the next message.
    images: Images,
    /// The rules, with those that the user has added in this conversation.
    approvals: Approvals,
    /// The MCP servers, which outlive the agents.
    servers: Option<Arc<mcp::Connected>>,
    conversation: Conversation,
    /// The latest message, unless there is a reply to it.
    unanswered: Option<Unanswered>,
    /// Whether the next run begins with a compaction.
    compacts_next: bool,
    /// Whether the user has interrupted the latest reply, which the model reads with the next message.
    is_interrupted: bool,
    /// The session; `None` before the first message.
    kept: Option<Kept>,
    /// The folder of a session that lasts as long as the program, because it cannot be kept.
    passing: Option<TempDir>,
    /// A problem that the user does not know of.
    problem: Option<String>,
    /// Commands of the user, about which the model reads with the next message.
    ran: Vec<String>,
    /// The session that was left for a new one.
    last: Option<Kept>,
    /// The messages so far.
    turns: Vec<Turn>,
    /// Details to store with each run.
    details: Option<Details>,
    /// The number of the latest run.
    number: u32,
}

/// Beginning of a conversation.
pub(super) struct Opened {
    pub(super) talk: Talk,
    /// The last exchange of a session that is continued: the user's message, and the answer if there is one.
    pub(super) last: Option<(String, String)>,
    /// The run of that session that was interrupted.
    pub(super) run: Option<AgentRun<'static>>,
    /// Note for the user.
    pub(super) note: Option<String>,
}

impl Talk {
    /// Opens a new conversation, or the one that the arguments name. All input is checked; nothing but MCP servers is started.
    pub(super) async fn open(
        args: ChatArgs,
        invocation: Invocation,
        user: User,
        printer: &Printer,
    ) -> Result<Opened, Error> {
        if let Some(names) = &args.continues {
            let names = names.first();
            return Box::pin(Self::continued(&args, invocation, names, user, printer)).await;
        }
        if let Some(name) = &args.session {
            let sessions = Sessions::existing(&args.options.model.data)?;
            if let Some(sessions) = sessions
                && sessions.find(name).await?.is_some()
            {
                return Err(Error::input(format_args!(
                    "there is a session {name} already; continue it with --continue {name}, or choose another name"
                )));
            }
        }
        let settings = invocation.settings.clone();
        let mut base = Base::new(invocation, None)?;
        base.project = Project::read(&args.options, None, Asking::Prompt, printer)?;
        let talk = Self::new((args, settings), base, 0, user, printer).await?;
        Ok(Opened {
            talk,
            last: None,
            run: None,
            note: None,
        })
    }

    /// A conversation in which nothing was said. Of a script, the first `replies` were read before.
    async fn new(
        (args, settings): (ChatArgs, Settings),
        base: Base,
        replies: usize,
        user: User,
        printer: &Printer,
    ) -> Result<Self, Error> {
        user.mode.set(args.options.approvals.approval_mode);
        let approvals = approvals(&args.options, &user)?;
        let parts = base
            .parts(&args.options, replies, &user, &approvals)
            .await?;
        // Options are checked before anything is started.
        let agent = agent(&parts, &user, None)?;
        let servers = mcp::connect(&args.options.source, base.declared(), printer).await?;
        let agent = match &servers {
            Some(servers) => self::agent(&parts, &user, Some(servers))?,
            None => agent,
        };
        parts.note(printer);
        let skills = parts.skills;
        let mode = user.mode.get();
        let facts = base.facts(&args.options, &skills, mode).await?;
        let commands = Commands::of(base.declared(), &args.options, None, user.mode.clone());
        let start = match args.continues {
            Some(_) => Start::Resume,
            None => Start::Startup,
        };
        Ok(Self {
            moments: Moments::new(commands, start),
            images: Images::default(),
            args,
            settings,
            base,
            agent,
            skills,
            facts,
            user,
            approvals,
            servers,
            conversation: Conversation::default(),
            unanswered: None,
            compacts_next: false,
            is_interrupted: false,
            ran: Vec::new(),
            kept: None,
            passing: None,
            problem: None,
            last: None,
            turns: Vec::new(),
            details: None,
            number: 0,
        })
    }

    async fn continued(
        typed: &ChatArgs,
        invocation: Invocation,
        name: Option<&SessionName>,
        user: User,
        printer: &Printer,
    ) -> Result<Opened, Error> {
        let data = &typed.options.model.data;
        let sessions = Sessions::existing(data)?.ok_or_else(no_sessions)?;
        let session = match name {
            Some(name) => sessions.get(name).await?,
            None => latest_here(sessions.all().await?)?,
        };
        let hold = sessions.hold(&session.name).await?;
        let session = sessions.get(&session.name).await?;
        let (number, last) = session.last()?;
        let stored = details(last).ok_or_else(|| without_details(&session))?;
        let of_session = stored.settings()?;
        let settings = invocation.settings.clone();
        let settings = settings.merge(of_session.clone(), &OPTIONS);
        required(&settings, &OPTIONS)?;
        let missing = stored.missing(&settings);
        refuse_without(&missing)?;
        let details = merged(&stored, &settings)?;
        let mut base = Base::new(invocation, Some(of_session))?;
        base.images = ImageUse::earlier(stored.has_images);
        let settings = move_to(&stored.folder, settings)?;
        let args = ChatArgs::from_settings(&settings, &OPTIONS)?;
        let kept = Kept {
            run: last.id.clone(),
            name: session.name.clone(),
            sessions,
            asker: None,
            hold: Some(hold),
        };
        let header = kept.sessions.journal.header(&kept.run).await;
        let header = header.map_err(|error| problem(&error))?;
        let prompt = header.conversation.last();
        let full = || prompt.map(|it| text_of(&it.content));
        let prompt = stored.typed.clone().or_else(full).unwrap_or_default();
        let summary = last.progress.summary.as_ref();
        let is_script = connect::script(args.options.model.name()).is_some();
        let replies = match summary {
            None if is_script => replies_read(&kept.sessions, &kept.run).await?,
            None | Some(_) => 0,
        };
        let answer = summary.map(|it| it.answer.clone()).unwrap_or_default();
        let is_forced = summary.is_some() || args.force;
        let is_ended = summary.is_some();
        let context = stored.context(&header.config)?;
        base.project = Project::read(&args.options, context, Asking::Prompt, printer)?;
        let mut talk = Self::new((args, settings), base, replies, user, printer).await?;
        let durable = talk.agent.durable(&kept.sessions.journal);
        let durable = durable.run_id(kept.run.as_str());
        let durable = if is_forced { durable.force() } else { durable };
        let durable = durable.with(talk.user.output.sink());
        let run = durable.resume().await;
        let run = run.map_err(|error| problem(&error))?;
        talk.kept = Some(kept);
        let turns = session.runs.values().map(|run| Turn {
            run: run.id.clone(),
            prompt: None,
            changes: None,
        });
        talk.turns = turns.collect();
        talk.details = Some(details);
        talk.number = number;
        let run = if is_ended {
            talk.take_up(run).await;
            None
        } else {
            talk.store().await?;
            Some(run)
        };
        Ok(Opened {
            note: not_kept(&missing),
            talk,
            last: Some((prompt, answer)),
            run,
        })
    }

    /// Takes the conversation of a run that has ended.
    async fn take_up(&mut self, run: AgentRun<'static>) {
        let finished = run.finish().await;
        self.ended(&finished.unwrap_or_else(RunError::into_finished));
    }

    /// Takes up tools that servers have changed.
    async fn refresh(&mut self) -> Result<(), Error> {
        if self.servers.as_ref().is_some_and(|it| it.has_changed()) {
            self.rebuild().await?;
        }
        Ok(())
    }

    /// Begins a run about a message.
    pub(super) async fn ask(&mut self, prompt: Prompt) -> Result<AgentRun<'static>, Error> {
        if !prompt.images.is_empty() && self.base.images == ImageUse::None {
            self.base.images = ImageUse::Earlier;
            self.rebuild().await?;
        }
        self.refresh().await?;
        let full = prompt.full.clone();
        let mut message = self.details_mut()?.with_undone(prompt.full);
        for note in self.ran.drain(..).rev() {
            message = format!("{note}\n\n{message}");
        }
        if mem::take(&mut self.is_interrupted) {
            message = format!("{INTERRUPTED}\n\n{message}");
        }
        let again = self.unanswered.take();
        if let Some(again) = again.filter(|it| it.typed == prompt.typed) {
            message = again.notes + &message;
            self.conversation = again.before;
        }
        let notes = message.strip_suffix(&full).unwrap_or_default().to_owned();
        self.unanswered = Some(Unanswered {
            typed: prompt.typed.clone(),
            notes,
            before: self.conversation.clone(),
        });
        if let Some(note) = self.user.mode.note() {
            message = format!("{message}\n\n{note}");
        }
        let typed = (message != prompt.typed).then(|| prompt.typed.clone());
        self.details_mut()?.typed = typed;
        let claim = self.next_run().await?;
        let kept = self.kept.as_ref().ok_or_else(no_sessions)?;
        let workspace = self.user.workspaces.current();
        self.turns.push(Turn {
            run: kept.run.clone(),
            prompt: Some(prompt.typed),
            changes: workspace.map(|it| it.changes()),
        });
        let durable = self.agent.durable(&kept.sessions.journal);
        let durable = durable.run_id(kept.run.as_str());
        let durable = durable.with(self.user.output.sink());
        let durable = durable.after(self.conversation.clone());
        let message = media::message(message, prompt.images);
        let run = durable.ask_with(message).await;
        let run = run.map_err(|error: JournalError| problem(&error))?;
        drop(claim);
        if mem::take(&mut self.compacts_next) {
            // It cannot be over, because it was not polled yet.
            let _ = run.handle().compact();
        }
        Ok(run)
    }

    /// The next run of the session, which is begun if it is the first one; then the claim is held until the run has begun.
    async fn next_run(&mut self) -> Result<Option<Claim>, Error> {
        let mut claim = None;
        if let Some(kept) = &mut self.kept {
            kept.run = kept.name.run(self.number + 1).map_err(Error::input)?;
        } else {
            let (kept, own) = self.begin().await?;
            (self.kept, claim) = (Some(kept), Some(own));
        }
        self.number += 1;
        if let Some(details) = &mut self.details {
            details.added.clear();
        }
        self.store().await?;
        Ok(claim)
    }

    /// Begins a session. Where none can be kept, and the user has not said where, it lasts as long as the program.
    async fn begin(&mut self) -> Result<(Kept, Claim), Error> {
        let (name, data) = (
            self.args.session.as_ref(),
            &mut self.args.options.model.data,
        );
        let is_required = name.is_some() || data.data_dir.is_some();
        match Kept::begin(data, name, &self.settings, false).await {
            Err(Error::Input(problem) | Error::Failed(problem)) if !is_required => {
                let folder = tempfile::tempdir().map_err(|error| Error::machine(&error))?;
                data.data_dir = Some(folder.path().to_owned());
                self.problem = Some(format!("the conversation is not kept: {problem}"));
                self.passing = Some(folder);
                Kept::begin(data, None, &self.settings, false).await
            }
            begun => begun,
        }
    }

    /// Takes note of a message that was added to the run, which reads it in `full`.
    pub(super) async fn added(&mut self, full: String, typed: &str) -> Result<(), Error> {
        self.user.injected.add(full, typed.to_owned());
        self.details_mut()?.added.push(typed.to_owned());
        self.store().await
    }

    /// Returns the latest message that was added like this, as the run reads it.
    pub(super) fn full(&self, typed: &str) -> Option<String> {
        self.user.injected.full(typed)
    }

    /// Takes note that a message was taken back from the run.
    pub(super) async fn taken_back(&mut self, typed: &str) -> Result<(), Error> {
        let added = &mut self.details_mut()?.added;
        if let Some(index) = added.iter().rposition(|it| it == typed) {
            added.remove(index);
        }
        self.store().await
    }

    /// Takes the messages that the run has not read before its end.
    pub(super) async fn take_unread(&mut self) -> Result<Vec<String>, Error> {
        let unread = self.user.injected.take();
        if !unread.is_empty() {
            self.details_mut()?.added.retain(|it| !unread.contains(it));
            self.store().await?;
        }
        Ok(unread)
    }

    /// The next message continues after this run.
    pub(super) fn ended(&mut self, finished: &Finished) {
        self.user.output.clear();
        self.is_interrupted = finished.summary.reason == FinishReason::Cancelled;
        self.conversation = Conversation::from(finished);
        self.unanswered.take_if(|it| !it.is_left_by(finished));
    }

    /// Compacts the conversation before the next request. Returns `false` if nothing in it can go by then.
    pub(super) fn compact_next(&mut self) -> bool {
        self.compacts_next = can_compact(self.agent.plan().config(), &self.conversation);
        self.compacts_next
    }

    /// Undoes the latest changes of files. The model reads about it with the next message, also if the session is continued by
    /// another program.
    pub(super) async fn undo(&mut self, count: usize) -> Result<Vec<Report>, Error> {
        let workspace = self.user.workspaces.current();
        let problem = self.user.checkpoints.problem();
        let not_covered = problem.as_deref().map(not_covered);
        let undoing = changes::undo(workspace.as_deref(), count, not_covered)?;
        self.details_mut()?.undone.extend(undoing.changes);
        self.store().await?;
        Ok(undoing.reports)
    }

    /// Shows the changes of files since the start of the program.
    pub(super) fn diff(&self) -> Result<Vec<Report>, Error> {
        let workspace = self.user.workspaces.current();
        let differences = workspace.map(|it| it.differences()).unwrap_or_default();
        if differences.is_empty() {
            return Err(Error::input(
                "no file has changed in this conversation since the start of this program",
            ));
        }
        let diffs = differences.into_iter().map(|(_, diff)| Report::Diff(diff));
        Ok(diffs.collect())
    }

    /// Returns the messages of the conversation.
    pub(super) fn messages(&self) -> &[Message] {
        self.conversation.messages()
    }

    /// Returns the texts of the conversation, with the role of each message.
    pub(super) fn said(&self) -> Vec<(Role, String)> {
        texts(self.conversation.messages()).collect()
    }

    /// Takes note of a command that the user has run.
    pub(super) fn ran(&mut self, note: String) {
        self.ran.push(note);
    }

    /// Returns the folder that the agent works in.
    pub(super) fn folder(&self) -> PathBuf {
        let workspace = self.user.workspaces.current();
        workspace.map_or_else(|| PathBuf::from("."), |it| it.root().to_owned())
    }

    /// Returns what commands write while they run.
    pub(super) fn output(&self) -> &LiveOutput {
        &self.user.output
    }

    /// Cancels the gadgets in flight.
    pub(super) fn cancel_gadgets(&self) {
        self.user.flight.cancel();
    }

    /// Takes the reason that the conversation is not kept, or that changes by commands cannot be undone, once.
    pub(super) fn take_problem(&mut self) -> Option<String> {
        let problem = self.problem.take();
        problem.or_else(|| {
            self.user
                .checkpoints
                .take_problem()
                .as_deref()
                .map(not_covered)
        })
    }

    /// Returns whether another program can continue the session.
    pub(super) fn is_kept(&self) -> bool {
        self.passing.is_none()
    }

    /// The name of the session, or of the one before if nothing was said in it; `None` before the first message.
    pub(super) fn name(&self) -> Option<&SessionName> {
        let kept = self.kept.as_ref().or(self.last.as_ref());
        kept.map(|kept| &kept.name)
    }

    /// Fails unless there is another session of this name, which no other process has open.
    pub(super) async fn check_session(&self, name: &SessionName) -> Result<(), Error> {
        if self.kept.as_ref().is_some_and(|it| it.name == *name) {
            return Err(Error::input(format_args!("this is the session {name}")));
        }
        let sessions = Sessions::existing(&self.args.options.model.data)?;
        let sessions = sessions.ok_or_else(no_sessions)?;
        sessions.get(name).await?;
        sessions.hold(name).await.map(drop)
    }

    /// Returns the commands about the conversation.
    pub(super) fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Waits until everything is on the disk.
    pub(super) async fn flush(&self) {
        for kept in [&self.kept, &self.last].into_iter().flatten() {
            kept.sessions.flush().await;
        }
    }

    fn details_mut(&mut self) -> Result<&mut Details, Error> {
        if self.details.is_none() {
            let details = Details::of(&self.settings);
            self.details = Some(details.map_err(|error| Error::machine(&error))?);
        }
        self.details.as_mut().ok_or_else(no_sessions)
    }

    async fn store(&mut self) -> Result<(), Error> {
        let details = self.details_mut()?.clone();
        match &self.kept {
            Some(kept) => kept.store(&details).await,
            None => Ok(()),
        }
    }
}

/// Returns the texts of messages, with the role of each message.
fn texts(messages: &[Message]) -> impl Iterator<Item = (Role, String)> {
    let texts = messages.iter();
    let texts = texts.map(|message| (message.role, text_of(&message.content)));
    texts.filter(|(_, text)| !text.trim().is_empty())
}

/// Returns whether the conversation is shorter when it is compacted before the next message.
fn can_compact(config: &RunConfig, conversation: &Conversation) -> bool {
    let Some(compaction) = &config.compaction else {
        return false;
    };
    let next = Message::text(Role::User, "The next message.");
    let messages = [conversation.messages(), &[next]].concat();
    let form = TextForm {
        markers: &config.markers,
        anchoring: config.anchoring,
        xml_names: &BTreeMap::new(),
    };
    let tokens = TokenEstimate::of(&messages);
    let window = config.context_window.unwrap_or_default();
    let plan = compaction.plan_now(&messages, &tokens, window, &form);
    plan.is_some()
}
