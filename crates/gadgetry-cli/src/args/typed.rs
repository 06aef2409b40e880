//! From the words of the command line to its verb, and back to the options that repeat a run.

use std::ffi::{OsStr, OsString};
use std::{env, fmt};

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use super::sessions::{SessionsArgs, SessionsVerb};
use super::{AgentArgs, Gadgetry, Verb};
use crate::error::Error;

/// The verb whose options a session keeps.
const AGENT: &str = "agent";

/// In place of a required option that the session has. No one can type it.
const OF_SESSION: &str = "\u{1}";

/// What was typed after `gadgetry agent`.
#[derive(Clone, Default)]
pub(crate) struct Typed {
    /// Each option, in the order of the help.
    pub(crate) options: Vec<TypedOption>,
    /// All words, if a session is to be continued.
    words: Vec<OsString>,
    /// Whether the first word must be the name of a session.
    pub(crate) names_session: bool,
}

/// An option that was typed.
#[derive(Clone)]
pub(crate) struct TypedOption {
    /// Its name, without hyphens.
    pub(crate) name: String,
    /// Its value, if it takes one.
    pub(crate) value: Option<OsString>,
}

/// Values may be keys.
impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Typed").finish_non_exhaustive()
    }
}

/// Parses the command line. A request for help is returned as [`Error::Help`].
pub(crate) fn typed() -> Result<Gadgetry, Error> {
    let words: Vec<OsString> = env::args_os().collect();
    if let Some(verb) = words.iter().skip(1).position(|it| !is_option(it))
        && words[verb + 1] == AGENT
        && words.iter().any(|it| it == "--continue")
    {
        let typed = continuing(&words, verb + 2)?;
        if let Some(Verb::Agent(args)) = &typed.verb
            && args.session.continues
        {
            return Ok(typed);
        }
    }
    let matches = Gadgetry::command().try_get_matches_from(&words)?;
    let typed = gadgetry(&matches)?;
    match typed.verb {
        Some(Verb::Sessions(SessionsArgs {
            verb: SessionsVerb::Resume(args),
        })) => {
            let mut words: Vec<OsString> = ["gadgetry", AGENT, "--continue"].map(Into::into).into();
            words.push(args.name.into());
            words.extend(args.options);
            let mut resumed = continuing(&words, 2)?;
            resumed.verbose = resumed.verbose.saturating_add(typed.verbose);
            if let Some(Verb::Agent(args)) = &mut resumed.verb {
                args.typed.names_session = true;
            }
            Ok(resumed)
        }
        _ => Ok(typed),
    }
}

/// The options of a run that repeats another: `stored`, written `--name` or `--name=value`, and what is `typed`, which
/// overrides them.
pub(crate) fn again(stored: &[String], typed: &Typed) -> Result<AgentArgs, Error> {
    let is_new = |option: &&String| {
        let mut given = typed.options.iter();
        !given.any(|given| given.name == name(option))
    };
    let words = ["gadgetry", AGENT].map(OsString::from).into_iter();
    let stored = stored.iter().filter(is_new).map(OsString::from);
    let words = words.chain(stored).chain(typed.words.iter().cloned());
    let matches = lenient().try_get_matches_from(words)?;
    match gadgetry(&matches)?.verb {
        Some(Verb::Agent(args)) => Ok(*args),
        _ => Err(Error::Failed("internal error (please report)".to_owned())),
    }
}

/// The name in `--name` or `--name=value`.
pub(crate) fn name(option: &str) -> &str {
    let option = option.strip_prefix("--").unwrap_or(option);
    option.split_once('=').map_or(option, |(name, _)| name)
}

/// Parses words without the options that a session has. The words of the verb begin at `from`.
fn continuing(words: &[OsString], from: usize) -> Result<Gadgetry, Error> {
    let (before, after) = words.split_at(from);
    let required = ["model", "gadgets"].map(|name| format!("--{name}={OF_SESSION}").into());
    let all = before.iter().cloned().chain(required);
    let matches = lenient().try_get_matches_from(all.chain(after.iter().cloned()))?;
    let mut typed = gadgetry(&matches)?;
    if let Some(Verb::Agent(args)) = &mut typed.verb {
        args.typed.words = after.to_vec();
    }
    Ok(typed)
}

/// The command line, in which an option overrides an earlier one of the same name.
fn lenient() -> Command {
    Gadgetry::command().mut_subcommand(AGENT, |agent| agent.args_override_self(true))
}

fn gadgetry(matches: &ArgMatches) -> Result<Gadgetry, Error> {
    let mut typed = Gadgetry::from_arg_matches(matches)?;
    if let (Some(Verb::Agent(args)), Some((_, agent))) = (&mut typed.verb, matches.subcommand()) {
        args.typed.options = options(agent);
    }
    Ok(typed)
}

/// The options that were typed, without those that only stand in for the options of a session.
fn options(matches: &ArgMatches) -> Vec<TypedOption> {
    let command = Gadgetry::command();
    let agent = command.find_subcommand(AGENT);
    let mut options = Vec::new();
    for argument in agent.into_iter().flat_map(Command::get_arguments) {
        let id = argument.get_id().as_str();
        let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(name) = argument.get_long().filter(|_| is_typed) else {
            continue;
        };
        let mut add = |value: Option<&OsStr>| {
            options.push(TypedOption {
                name: name.to_owned(),
                value: value.map(OsStr::to_owned),
            });
        };
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            add(None);
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        for value in values.filter(|value| *value != OF_SESSION) {
            add(Some(value));
        }
    }
    options
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}
