//! `gadgetry agent`: a model, its gadgets, and the loop between them.

use std::sync::Arc;

use gadgetry::{Agent, AgentRun, Content};

use crate::approvals::{TerminalApprover, check_names};
use crate::build_agent::{Parts, Situation};
use crate::checkpoints::Checkpoints;
use crate::cli::AgentArgs;
use crate::commands::continued::{self, FORMAT, is_unattended};
use crate::config::Asking;
use crate::connect::ImageUse;
use crate::error::Error;
use crate::follow::{Followed, Log, announce, follow};
use crate::hooks::{Commands, Ending, Moments, Start, noted};
use crate::invocation::Invocation;
use crate::log_file;
use crate::mcp;
use crate::media;
use crate::modes::CurrentMode;
use crate::options::Settings;
use crate::printer::Printer;
use crate::project::Project;
use crate::prompt::{not_empty, with_stdin};
use crate::sessions::{Asker, Kept, problem};
use crate::workspaces::Workspaces;

/// Runs the command. All input is checked before anything is started or written.
pub(crate) async fn run(
    args: &AgentArgs,
    invocation: &Invocation,
    printer: &Printer,
) -> Result<(), Error> {
    if args.options.model.quiet || args.print {
        printer.be_quiet();
    }
    if args.session.continues {
        return Box::pin(continued::run(args, invocation, printer)).await;
    }
    if let Some(word) = args.second.as_ref().filter(|word| *word != "-") {
        return Err(Error::input(format_args!(
            "unexpected argument '{word}' found"
        )));
    }
    let config = &invocation.config;
    let asker = (!args.session.no_session).then(Arc::<Asker>::default);
    let approver = Arc::new(TerminalApprover::new(config.user_path.clone()));
    let project = Project::read(&args.options, None, Asking::unless(args.print), printer)?;
    let prompt = args.prompt.clone().unwrap_or_default();
    let prompt = project.prompt(prompt, &args.options.skills)?;
    let images = media::images(&args.images)?;
    let workspaces = Workspaces::default();
    let checkpoints = Checkpoints::of(workspaces.clone());
    let situation = Situation {
        project,
        asker: asker.clone(),
        approver: (!args.print).then(|| Arc::clone(&approver)),
        is_unattended: is_unattended(args),
        images: ImageUse::None.or_next(!images.is_empty()),
        workspaces,
        checkpoints: args.writes_result().then(|| checkpoints.clone()),
        declared: Arc::clone(&config.declared),
        ..Situation::default()
    };
    let parts = Parts::read(&args.options, situation).await?;
    let agent = parts.agent(None)?;
    let awaited = args.print || args.second.is_some();
    let prompt = with_stdin(&prompt, awaited, printer)?;
    let mut prompt = not_empty(prompt)?;
    if let Some(note) = CurrentMode::new(args.options.approvals.approval_mode).note() {
        prompt = format!("{prompt}\n\n{note}");
    }
    let path = args.save.as_deref();
    let file = path
        .map(|path| log_file::create(path, &parts.in_use))
        .transpose()?;
    // Last, because servers are started, and the prompt was perhaps awaited.
    let servers = mcp::connect(&args.options.source, &config.declared, printer).await?;
    let agent = match &servers {
        Some(servers) => parts.agent(Some(servers))?,
        None => agent,
    };
    if !args.is_for_program() {
        parts.note(printer);
    }
    let options = &args.options;
    let names = check_names(
        &options.approvals,
        &options.source,
        &config.declared,
        &agent,
        servers.as_deref(),
    );
    for note in names? {
        printer.progress(&format!("{note}\n"));
    }
    let mode = CurrentMode::new(options.approvals.approval_mode);
    let commands = Commands::of(&config.declared, options, None, mode);
    let moments = Moments::new(commands, Start::Startup);
    let named = args.session.session.as_ref().map(ToString::to_string);
    let submitted = moments.submit(named.as_deref(), &prompt).await?;
    noted(&submitted.notes, printer);
    let message = media::message(prompt + &submitted.context, images);
    let (mut run, kept) = begin(args, &invocation.settings, &agent, message, printer).await?;
    let kept = kept.map(|kept| Kept { asker, ..kept });
    let log = match path.zip(file) {
        Some((path, file)) => {
            let header = run.header().await.map_err(Error::input)?;
            Some(Log::Live(log_file::begin(file, path, &header)?))
        }
        None => None,
    };
    let followed = Followed {
        kept: kept.as_ref(),
        approver: &approver,
        checkpoints: &checkpoints,
        log,
        format: FORMAT,
    };
    let done = follow(run, args, followed, printer).await;
    let session = kept.as_ref().map(|kept| kept.name.to_string());
    noted(
        &moments.end(session.as_deref(), Ending::Other).await,
        printer,
    );
    done
}

/// The run, in a new session if one can be kept. That is required only if the user has named it or its place.
async fn begin(
    args: &AgentArgs,
    settings: &Settings,
    agent: &Agent,
    message: Vec<Content>,
    printer: &Printer,
) -> Result<(AgentRun<'static>, Option<Kept>), Error> {
    if args.session.no_session {
        return Ok((agent.ask_with(message), None));
    }
    let (data, name) = (&args.options.model.data, args.session.session.as_ref());
    let is_required = name.is_some() || data.data_dir.is_some();
    let begun = async {
        let (kept, claim) = Kept::begin(data, name, settings, is_unattended(args)).await?;
        let durable = agent.durable(&kept.sessions.journal);
        let run = durable.run_id(kept.run.as_str());
        let run = run.ask_with(message.clone());
        let run = run.await.map_err(|error| problem(&error))?;
        drop(claim);
        Ok((run, kept))
    };
    match begun.await {
        Ok((run, kept)) => {
            announce(args, &kept, printer);
            Ok((run, Some(kept)))
        }
        Err(Error::Input(problem) | Error::Failed(problem)) if !is_required => {
            if !args.is_for_program() {
                printer.progress(&format!("no session: {problem}\n"));
            }
            Ok((agent.ask_with(message), None))
        }
        Err(error) => Err(error),
    }
}
