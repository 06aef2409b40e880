//! Slash commands, carried out for a conversation on the screen or in a pipe.

use std::path::Path;

use gadgetry::AgentHandle;

use super::commands::Entered;
use super::export;
use super::report::Report;
use super::talk::Talk;
use crate::connect;
use crate::error::Error;

/// Note about what is not sent to another server.
const LEFT: &str =
    "headers, extra fields and the key variable of the other provider are not used for it";

/// Result of a command.
#[derive(Debug, Default)]
pub(super) struct Performed {
    /// Reports for the user.
    pub(super) reports: Vec<Report>,
    /// A message for the input line.
    pub(super) draft: Option<String>,
}

/// Carries out a command. `run` is the run in progress. An error has changed nothing.
pub(super) async fn perform(
    talk: &mut Talk,
    run: Option<&AgentHandle>,
    command: Entered,
) -> Result<Performed, Error> {
    if run.is_some() && command.needs_quiet() {
        return Err(Error::input(
            "a run is in progress; wait for its end or cancel it first",
        ));
    }
    if let Entered::Rewind(Some(number)) = command {
        let rewound = talk.rewind(number).await?;
        return Ok(Performed {
            reports: rewound.reports,
            draft: Some(rewound.prompt),
        });
    }
    let reports = reports(talk, run, command).await?;
    Ok(Performed {
        reports,
        draft: None,
    })
}

async fn reports(
    talk: &mut Talk,
    run: Option<&AgentHandle>,
    command: Entered,
) -> Result<Vec<Report>, Error> {
    let when = if run.is_some() {
        "from the next message on"
    } else {
        "now"
    };
    Ok(match command {
        Entered::Model(None) => vec![talk.models().await?],
        Entered::Diff => talk.diff()?,
        Entered::Approvals => vec![talk.rules()],
        Entered::Resume(_) => vec![talk.sessions().await?],
        Entered::Model(Some(name)) => {
            let has_left = talk.use_model(&name).await?;
            let mut reports = vec![Report::plain(format!("{name} is in use {when}"))];
            if connect::script(&name).is_none() && !talk.facts().names.has_model(&name) {
                let words = "no server and no table of models lists it: `/model ` and a part of a name finds those that they list";
                reports.push(Report::plain(words));
            }
            if has_left {
                reports.push(Report::plain(LEFT));
            }
            reports
        }
        Entered::Profile(None) => vec![talk.profiles()],
        Entered::Profile(Some(name)) => {
            let has_left = talk.use_profile(&name).await?;
            let model = &talk.facts().name;
            let words = format!("profile {name} is in use {when}, with {model}");
            let mut reports = vec![Report::plain(words)];
            if has_left {
                reports.push(Report::plain(LEFT));
            }
            reports
        }
        Entered::Tools => vec![talk.gadgets().await],
        Entered::Skills => vec![talk.skills()],
        Entered::Compact => {
            let words = match run {
                Some(run) => {
                    // A run that is over has no next request.
                    let _ = run.compact();
                    "the conversation is compacted before the next request, if anything in it can go"
                }
                None if talk.compact_next() => {
                    "the conversation is compacted before the next request"
                }
                None => {
                    "there is nothing to compact: the latest replies stay, and there are no others"
                }
            };
            vec![Report::plain(words)]
        }
        Entered::Undo(count) => talk.undo(count).await?,
        Entered::Rewind(_) => talk.turns().await?,
        Entered::Fork => vec![talk.fork()?],
        Entered::New => talk.start_over().await,
        Entered::Export(path) => {
            let written = export::write(Path::new(&path), talk.messages());
            written.map_err(|error| Error::input(format_args!("cannot write {path}: {error}")))?;
            vec![Report::plain(format!("{path} has the conversation"))]
        }
        Entered::Unknown(name, problem) => {
            return Err(Error::Input(talk.refusal(&name).unwrap_or(problem)));
        }
        Entered::Invalid(problem) => return Err(Error::Input(problem)),
        Entered::Help => vec![Report::Table(Report::commands())],
        // A skill is a message, and the others belong to who shows the conversation.
        Entered::Skill(..)
        | Entered::Init
        | Entered::Cost
        | Entered::Copy
        | Entered::Transcript
        | Entered::Quit => Vec::new(),
    })
}
