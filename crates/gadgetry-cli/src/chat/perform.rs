//! Slash commands, carried out for a conversation on the screen or in a pipe.

use std::path::Path;

use gadgetry::AgentHandle;

use super::commands::Entered;
use super::report::Report;
use super::talk::Talk;
use super::{export, files};
use crate::error::Error;

/// A message, as it was typed and as the model reads it.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) typed: String,
    pub(super) full: String,
    /// Reasons why files that it mentions are missing.
    pub(super) problems: Vec<String>,
}

impl Prompt {
    /// The message that a text means: the instructions of a skill after `/skill`, and the files that it mentions.
    pub(super) fn of(talk: &Talk, typed: String) -> Result<Self, Error> {
        let (full, problems) = match Entered::of(&typed, &talk.facts().names.named) {
            Some(Entered::Skill(name, text)) => {
                let instructions = talk.instructions(&name, &text)?;
                // The files that the user mentions, and not those that the skill mentions.
                let (with_files, problems) = files::attach(&text);
                (instructions + &with_files[text.len()..], problems)
            }
            Some(_) | None => files::attach(&typed),
        };
        Ok(Self {
            typed,
            full,
            problems,
        })
    }
}

/// Carries out a command, and returns what it shows. `run` is the run in progress. An error has changed nothing.
pub(super) async fn perform(
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
        Entered::Model(name) => {
            let has_left = talk.use_model(&name).await?;
            let mut reports = vec![Report::plain(format!("{name} is in use {when}"))];
            if has_left {
                let words = "headers, extra fields and the key variable of the other provider are not used for it";
                reports.push(Report::plain(words.to_owned()));
            }
            reports
        }
        Entered::Profile(None) => vec![talk.profiles()],
        Entered::Profile(Some(name)) => {
            talk.use_profile(&name).await?;
            let model = &talk.facts().name;
            let words = format!("profile {name} is in use {when}, with {model}");
            vec![Report::plain(words)]
        }
        Entered::Tools => vec![talk.gadgets().await],
        Entered::Skills => vec![talk.skills()],
        Entered::Compact => {
            match run {
                Some(run) => {
                    // A run that is over has no next request.
                    let _ = run.compact();
                }
                None => talk.compact_next(),
            }
            let words = "the conversation is compacted before the next request";
            vec![Report::plain(words)]
        }
        Entered::Undo(_) if run.is_some() => {
            return Err(Error::input(
                "a run is in progress; wait for its end or cancel it, then undo",
            ));
        }
        Entered::Undo(count) => talk.undo(count).await?,
        Entered::Export(path) => {
            let written = export::write(Path::new(&path), &talk.said());
            written.map_err(|error| Error::input(format_args!("cannot write {path}: {error}")))?;
            vec![Report::plain(format!("{path} has the conversation"))]
        }
        Entered::Invalid(problem) => return Err(Error::Input(problem)),
        Entered::Help => vec![Report::Table(Report::commands())],
        // A skill is a message, and the others belong to who shows the conversation.
        Entered::Skill(..) | Entered::Cost | Entered::Quit => Vec::new(),
    })
}
