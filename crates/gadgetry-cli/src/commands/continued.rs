//! `gadgetry agent --continue`: a session that is resumed, or another prompt in its conversation.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::journal::RunId;
use gadgetry::log::load;
use gadgetry::proto::run::{Input, Output, Summary};
use gadgetry::{Agent, AgentRun, Conversation, RunError};

use crate::approvals::TerminalApprover;
use crate::args::{AgentArgs, AgentOptions, Typed, again};
use crate::build_agent::{Parts, Situation};
use crate::commands::agent::announce;
use crate::connect;
use crate::error::Error;
use crate::follow::{Log, follow, print_answer, save, verdict};
use crate::log_file::{self, InUse};
use crate::mcp;
use crate::printer::Printer;
use crate::prompt::{not_empty, typed_or_piped};
use crate::sessions::{
    Details, Kept, Session, SessionName, Sessions, details, problem, refuse_without, unknown,
};

/// Runs the command.
pub(crate) async fn run(typed: &AgentArgs, printer: &mut Printer) -> Result<(), Error> {
    let data = &typed.options.model.data;
    let sessions = Sessions::existing(data)?.ok_or_else(no_sessions)?;
    let (session, prompt) = choose(&sessions, typed).await?;
    let (number, last) = session.last()?;
    let stored = details(last).ok_or_else(|| without_details(&session))?;
    let mut args = again(&stored.options, &typed.typed)?;
    args.options.source.servers = Arc::clone(&typed.options.source.servers);
    args.options.approvals.written = Arc::clone(&typed.options.approvals.written);
    let missing = stored.missing(&args.typed);
    refuse_without(&missing)?;
    let kept = Kept {
        run: last.id.clone(),
        name: session.name.clone(),
        sessions,
        asker: Some(Arc::default()),
    };
    let approver = Arc::new(TerminalApprover::new(typed.user_file.clone()));
    let details = merged(&stored, &args.typed)?;
    move_to(&mut args.options, [&mut args.save], &stored.folder)?;
    let prompt = prompt.map(|it| typed_or_piped(&it, printer)).transpose()?;
    let prompt = prompt.map(not_empty).transpose()?;
    let mut continued = Continued {
        args,
        kept,
        approver,
        details,
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
async fn choose(sessions: &Sessions, args: &AgentArgs) -> Result<(Session, Option<String>), Error> {
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
        Some(word) if args.second.is_some() || args.typed.names_session => Err(unknown(word)),
        prompt => {
            let latest = sessions.all().await?.into_iter().next();
            let latest = latest.ok_or_else(no_sessions)?;
            Ok((latest, prompt.map(str::to_owned)))
        }
    }
}

/// No session is stored.
pub(crate) fn no_sessions() -> Error {
    Error::input("there is no session to continue")
}

/// The session was begun by a library, so how to continue it is unknown.
pub(crate) fn without_details(session: &Session) -> Error {
    Error::input(format_args!(
        "session {} was not begun by `gadgetry agent`, so its options are unknown",
        session.name
    ))
}

/// What is stored with the continued run: what was typed again replaces what was stored.
pub(crate) fn merged(stored: &Details, typed: &Typed) -> Result<Details, Error> {
    let mut details = Details::of(typed).map_err(|error| Error::machine(&error))?;
    for name in stored.missing(typed) {
        details.leave_out(name);
    }
    details.folder.clone_from(&stored.folder);
    details.added.clone_from(&stored.added);
    details.undone.clone_from(&stored.undone);
    Ok(details)
}

/// Continues in the working directory of the session. Paths that were typed are relative to the present one.
pub(crate) fn move_to<const N: usize>(
    options: &mut AgentOptions,
    files: [&mut Option<PathBuf>; N],
    folder: &str,
) -> Result<(), Error> {
    let absolute = |path: &Path| -> Result<PathBuf, Error> {
        std::path::absolute(path).map_err(|error| Error::machine(&error))
    };
    if let Some(file) = connect::script(&options.model.model)
        && !file.as_os_str().is_empty()
    {
        options.model.model = format!("script:{}", absolute(file)?.display());
    }
    let paths = [
        &mut options.model.data.data_dir,
        &mut options.source.gadgets,
        &mut options.source.workspace,
    ];
    let skills = &mut options.skills;
    let folders = skills
        .skills
        .iter_mut()
        .chain(&mut skills.configured_skills);
    let paths = files.into_iter().chain(paths).flatten();
    for path in paths.chain(folders) {
        *path = absolute(path)?;
    }
    env::set_current_dir(folder).map_err(|error| {
        Error::input(format_args!(
            "cannot continue in the session's working directory {folder}: {error}"
        ))
    })
}

struct Continued<'a> {
    args: AgentArgs,
    kept: Kept,
    approver: Arc<TerminalApprover>,
    details: Details,
    /// The MCP servers, until the end of the run.
    servers: Option<Arc<mcp::Connected>>,
    printer: &'a mut Printer,
}

impl Continued<'_> {
    /// Says which options are missing that the session did not keep.
    fn note(&mut self, missing: &[&str]) {
        if self.args.events.is_none()
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
        if self.args.events.is_none() {
            print_answer(summary, self.printer);
        }
        verdict(summary)
    }

    /// Drives an interrupted run on, with a further prompt perhaps.
    async fn resume(mut self, prompt: Option<String>) -> Result<(), Error> {
        let replies = if connect::script(&self.args.options.model.model).is_some() {
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
        let prompt = self.details.with_undone(prompt);
        self.kept.store(&self.details).await?;
        let durable = agent.durable(&journal).run_id(self.kept.run.as_str());
        let run = durable.after(Conversation::from(&ended)).ask(prompt).await;
        let run = run.map_err(|error| problem(&error))?;
        let log = match (file, &self.args.save) {
            (Some(file), Some(path)) => {
                let header = run.header().map_err(Error::input)?;
                Some(Log::Live(log_file::begin(file, path, &header)?))
            }
            _ => None,
        };
        self.follow(run, log).await
    }

    /// The agent of the session, and the file of `--save`.
    async fn agent(&mut self, replies: usize) -> Result<(Agent, Option<std::fs::File>), Error> {
        self.servers = mcp::connect(&self.args.options.source, self.printer).await?;
        let situation = Situation {
            replies,
            asker: self.kept.asker.clone(),
            approver: Some(Arc::clone(&self.approver)),
            ..Situation::default()
        };
        let parts = Parts::read(&self.args.options, situation).await?;
        let agent = parts.agent(self.servers.as_deref())?;
        let path = self.args.save.as_deref();
        let file = path
            .map(|path| log_file::create(path, &parts.in_use))
            .transpose()?;
        Ok((agent, file))
    }

    async fn follow(self, run: AgentRun<'static>, log: Option<Log>) -> Result<(), Error> {
        announce(&self.args, &self.kept, self.printer);
        let user = (Some(&self.kept), &*self.approver);
        follow(run, &self.args, user, log, self.printer).await
    }
}

/// A note about options that the session did not keep and that are `missing`.
pub(crate) fn not_kept(missing: &[&str]) -> Option<String> {
    let names: BTreeSet<String> = missing.iter().map(|name| format!("--{name}")).collect();
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" and ");
        format!("{names} may contain a key and was not kept; give it again if the server needs it")
    })
}

/// Replies that the run has read, without one that will be requested again.
pub(crate) async fn replies_read(sessions: &Sessions, run: &RunId) -> Result<usize, Error> {
    let mut log = Vec::new();
    sessions.export(run, &mut log).await?;
    let mut run = load(&log[..]).map_err(Error::input)?;
    if !run.pending().is_empty() {
        // What the driver does first.
        run.handle(run.now(), Input::Interrupted)
            .map_err(Error::input)?;
    }
    let mut requests = 0;
    loop {
        match run.poll() {
            Output::Send(_) => requests += 1,
            Output::Wait(_) | Output::Finished(_) => break,
            Output::Event(_)
            | Output::CloseModel
            | Output::Start(_)
            | Output::Cancel(_)
            | Output::Ask(_) => {}
        }
    }
    let read = run.iterations().saturating_sub(requests);
    Ok(usize::try_from(read).unwrap_or(usize::MAX))
}
