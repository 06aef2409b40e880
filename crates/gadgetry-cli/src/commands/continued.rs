//! `gadgetry agent --continue`: a session that is resumed, or another prompt in its conversation.

use std::env;
use std::path::Path;
use std::sync::Arc;

use gadgetry::proto::run::Summary;
use gadgetry::{Agent, AgentRun, Conversation, Media, RunError};

use crate::approvals::TerminalApprover;
use crate::build_agent::{Parts, Situation};
#[cfg(feature = "chat")]
use crate::chat;
use crate::checkpoints::Checkpoints;
use crate::cli::{AgentArgs, SessionName};
use crate::config::{Asking, Declared};
use crate::connect::{self, ImageUse};
use crate::error::Error;
use crate::follow::{Followed, Format, Log, announce, follow, save, show_answer, verdict};
use crate::hooks::{Commands, Ending, Moments, Start, noted};
use crate::invocation::Invocation;
use crate::lines::one_line;
use crate::log_file::{self, InUse};
use crate::mcp;
use crate::media;
use crate::modes::CurrentMode;
use crate::options::{Options as _, required};
use crate::outcome::Recorder;
use crate::printer::{Printer, is_at_terminal};
use crate::project::Project;
use crate::prompt::{not_empty, with_stdin};
use crate::sessions::{
    Details, Kept, OPTIONS, Session, Sessions, details, latest_here, merged, move_to, no_sessions,
    not_kept, problem, refuse_without, replies_read, unknown, without_details,
};
use crate::workspaces::Workspaces;

/// How answers are shown in a terminal.
#[cfg(feature = "chat")]
pub(super) const FORMAT: Option<Format> = Some(chat::formatted);
#[cfg(not(feature = "chat"))]
pub(super) const FORMAT: Option<Format> = None;

/// Returns whether a run has no user who answers.
pub(super) fn is_unattended(args: &AgentArgs) -> bool {
    args.print || !is_at_terminal()
}

/// Runs the command.
pub(crate) async fn run(
    typed: &AgentArgs,
    invocation: &Invocation,
    printer: &Printer,
) -> Result<(), Error> {
    let data = &typed.options.model.data;
    let sessions = Sessions::existing(data)?.ok_or_else(no_sessions)?;
    let (session, prompt) = choose(&sessions, typed, invocation.names_session).await?;
    let hold = sessions.hold(&session.name).await?;
    let session = sessions.get(&session.name).await?;
    let (number, last) = session.last()?;
    let images = media::images(&typed.images)?;
    if !images.is_empty() && prompt.is_none() && !typed.print {
        return Err(Error::input(
            "an image needs a prompt: write one after the name of the session",
        ));
    }
    if !images.is_empty() && last.progress.summary.is_none() {
        return Err(Error::input(
            "the session was interrupted, so its run must end first: continue it without --image",
        ));
    }
    let stored = details(last).ok_or_else(|| without_details(&session))?;
    let settings = invocation.settings.clone();
    let settings = settings.merge(stored.settings()?, &OPTIONS);
    required(&settings, &OPTIONS)?;
    let missing = stored.missing(&settings);
    refuse_without(&missing)?;
    let kept = Kept {
        run: last.id.clone(),
        name: session.name.clone(),
        sessions,
        asker: Some(Arc::default()),
        hold: Some(hold),
    };
    let approver = Arc::new(TerminalApprover::new(invocation.config.user_path.clone()));
    let mut details = merged(&stored, &settings)?;
    // A run that has not ended continues with the gadgets that it began with.
    let is_over = last.progress.summary.is_some();
    details.is_unattended = if is_over {
        is_unattended(typed)
    } else {
        stored.is_unattended
    };
    let here = env::current_dir().ok();
    let settings = move_to(&stored.folder, settings)?;
    let args = AgentArgs::from_settings(&settings, &OPTIONS)?;
    let folder = Path::new(&stored.folder);
    let elsewhere = Some(folder).filter(|it| here.as_deref() != Some(it));
    let workspace = args.options.source.workspace.as_deref().or(elsewhere);
    if let Some(folder) = workspace
        && typed.options.source.workspace.is_none()
        && !(args.print || args.is_for_program())
    {
        let folder = one_line(&folder.to_string_lossy());
        printer.progress(&format!("the session works in {folder}\n"));
    }
    let header = kept.sessions.journal.header(&kept.run).await;
    let header = header.map_err(|error| problem(&error))?;
    let context = stored.context(&header.config)?;
    let project = Project::read(&args.options, context, Asking::unless(args.print), printer)?;
    let skills = &args.options.skills;
    let prompt = prompt.map(|it| project.prompt(it, skills)).transpose()?;
    // Without a prompt, only `--print` says that stdin is one.
    let prompt = prompt.or_else(|| args.print.then(String::new));
    let read = |it: String| with_stdin(&it, args.print, printer);
    let prompt = prompt.map(read).transpose()?;
    let prompt = prompt.filter(|it| !args.print || !it.is_empty());
    let prompt = prompt.map(not_empty).transpose()?;
    let mode = CurrentMode::new(args.options.approvals.approval_mode);
    let commands = Commands::of(&invocation.config.declared, &args.options, None, mode);
    let moments = Moments::new(commands, Start::Resume);
    let prompt = match prompt {
        Some(prompt) => {
            let session = kept.name.to_string();
            let submitted = moments.submit(Some(&session), &prompt).await?;
            noted(&submitted.notes, printer);
            Some(prompt + &submitted.context)
        }
        None => None,
    };
    let workspaces = Workspaces::default();
    let mut continued = Continued {
        args,
        moments,
        project,
        kept,
        approver,
        checkpoints: Checkpoints::of(workspaces.clone()),
        workspaces,
        details,
        images,
        declared: Arc::clone(&invocation.config.declared),
        servers: None,
        printer,
    };
    match (&last.progress.summary, prompt) {
        (Some(summary), None) => continued.repeat(summary).await,
        (Some(_), Some(prompt)) => {
            continued.note(&missing);
            continued.next(number + 1, prompt).await
        }
        (None, prompt) => {
            continued.note(&missing);
            continued.resume(prompt).await
        }
    }
}

/// The session that the words name, and the prompt.
async fn choose(
    sessions: &Sessions,
    args: &AgentArgs,
    names_session: bool,
) -> Result<(Session, Option<String>), Error> {
    let named = async |word: &str| match word.parse::<SessionName>() {
        Ok(name) => sessions.find(&name).await,
        Err(_) => Ok(None),
    };
    let first = args.prompt.as_deref();
    if let Some(word) = first
        && let Some(session) = named(word).await?
    {
        return Ok((session, args.second.clone()));
    }
    match first {
        Some(word) if args.second.is_some() || names_session => Err(unknown(word)),
        prompt => {
            let latest = latest_here(sessions.all().await?)?;
            Ok((latest, prompt.map(str::to_owned)))
        }
    }
}

struct Continued<'a> {
    args: AgentArgs,
    moments: Moments,
    project: Project,
    kept: Kept,
    approver: Arc<TerminalApprover>,
    workspaces: Workspaces,
    checkpoints: Checkpoints,
    details: Details,
    /// Those of the next message.
    images: Vec<Media>,
    declared: Arc<Declared>,
    /// The MCP servers, until the end of the run.
    servers: Option<Arc<mcp::Connected>>,
    printer: &'a Printer,
}

impl Continued<'_> {
    /// Says which options are missing that the session did not keep.
    fn note(&mut self, missing: &[&str]) {
        if !self.args.is_for_program()
            && let Some(note) = not_kept(missing)
        {
            self.printer.progress(&format!("{note}\n"));
        }
    }

    /// Prints the answer of a run that has ended.
    async fn repeat(&mut self, summary: &Summary) -> Result<(), Error> {
        if let Some(path) = &self.args.save {
            let file = log_file::create(path, &InUse::by([], &[]))?;
            save(&self.kept, file, path).await?;
        }
        let mut recorder = Recorder::default();
        let mut replay = self.kept.sessions.journal.replay();
        let replayed = replay.run(&self.kept.run, &mut recorder).await;
        if let Some(error) = replayed.unwrap_or_else(Some) {
            let note = format!("denied calls are not counted: {}\n", problem(&error));
            self.printer.progress(&note);
        }
        let verdict = verdict(summary).and_then(|()| recorder.verdict());
        if self.args.writes_result() {
            // Its events were written when it ran.
            let args = &self.args;
            let error = verdict.as_ref().err().map(ToString::to_string);
            let name = Some(self.kept.name.to_string());
            let model = (name, args.options.model.name());
            let outcome = recorder.outcome(summary, error, model, None);
            self.printer.json_line(&outcome)?;
        } else if !self.args.is_for_program() {
            show_answer(summary, FORMAT.filter(|_| !self.args.print), self.printer)?;
        }
        verdict
    }

    /// Resumes an interrupted run, optionally with another prompt.
    async fn resume(mut self, prompt: Option<String>) -> Result<(), Error> {
        let replies = if connect::script(self.args.options.model.name()).is_some() {
            replies_read(&self.kept.sessions, &self.kept.run).await?
        } else {
            0
        };
        let (agent, file) = self.agent(replies).await?;
        let mut durable = agent.durable(&self.kept.sessions.journal);
        if self.args.session.force {
            durable = durable.force();
        }
        let run = durable.run_id(self.kept.run.as_str()).resume();
        let run = run.await.map_err(|error| problem(&error))?;
        if let Some(prompt) = prompt {
            self.details.added.push(prompt.clone());
            // It cannot be over, because it was not polled yet.
            run.handle().inject(prompt).map_err(Error::input)?;
        }
        self.kept.store(&self.details).await?;
        self.follow(run, file.map(Log::Exported)).await
    }

    /// Asks about `prompt` after a run that has ended.
    async fn next(mut self, number: u32, prompt: String) -> Result<(), Error> {
        let (agent, file) = self.agent(0).await?;
        let journal = self.kept.sessions.journal.clone();
        let ended = agent.durable(&journal).run_id(self.kept.run.as_str());
        let ended = ended.force().resume().await;
        let ended = ended.map_err(|error| problem(&error))?;
        let ended = ended.finish().await;
        let ended = ended.unwrap_or_else(RunError::into_finished);
        self.kept.run = self.kept.name.run(number).map_err(Error::input)?;
        self.details.added.clear();
        let typed = prompt.clone();
        let prompt = self.details.with_undone(prompt);
        self.details.typed = (prompt != typed).then_some(typed);
        self.kept.store(&self.details).await?;
        let durable = agent.durable(&journal).run_id(self.kept.run.as_str());
        let message = media::message(prompt, std::mem::take(&mut self.images));
        let durable = durable.after(Conversation::from(&ended));
        let run = durable.ask_with(message).await;
        let mut run = run.map_err(|error| problem(&error))?;
        let log = match (file, &self.args.save) {
            (Some(file), Some(path)) => {
                let header = run.header().await.map_err(Error::input)?;
                Some(Log::Live(log_file::begin(file, path, &header)?))
            }
            _ => None,
        };
        self.follow(run, log).await
    }

    /// The agent of the session, and the file of `--save`.
    async fn agent(&mut self, replies: usize) -> Result<(Agent, Option<std::fs::File>), Error> {
        self.servers =
            mcp::connect(&self.args.options.source, &self.declared, self.printer).await?;
        let situation = Situation {
            replies,
            is_unattended: self.details.is_unattended,
            images: ImageUse::earlier(self.details.has_images).or_next(!self.images.is_empty()),
            asker: self.kept.asker.clone(),
            approver: (!self.args.print).then(|| Arc::clone(&self.approver)),
            workspaces: self.workspaces.clone(),
            checkpoints: (self.args.writes_result()).then(|| self.checkpoints.clone()),
            declared: Arc::clone(&self.declared),
            project: self.project.clone(),
            ..Situation::default()
        };
        let parts = Parts::read(&self.args.options, situation).await?;
        if !self.args.is_for_program() {
            parts.note(self.printer);
        }
        let agent = parts.agent(self.servers.as_deref())?;
        let path = self.args.save.as_deref();
        let file = path
            .map(|path| log_file::create(path, &parts.in_use))
            .transpose()?;
        Ok((agent, file))
    }

    async fn follow(self, run: AgentRun<'static>, log: Option<Log>) -> Result<(), Error> {
        announce(&self.args, &self.kept, self.printer);
        let followed = Followed {
            kept: Some(&self.kept),
            approver: &self.approver,
            checkpoints: &self.checkpoints,
            log,
            format: FORMAT,
        };
        let done = follow(run, &self.args, followed, self.printer).await;
        let session = self.kept.name.to_string();
        let notes = self.moments.end(Some(&session), Ending::Other).await;
        noted(&notes, self.printer);
        done
    }
}
