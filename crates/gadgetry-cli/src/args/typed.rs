//! From the words of the command line to its verb, and back to the options that repeat a run.

use std::ffi::{OsStr, OsString};
use std::{env, fmt};

#[cfg(feature = "chat")]
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

#[cfg(feature = "chat")]
use super::ChatArgs;
use super::sessions::{SessionsArgs, SessionsVerb};
use super::{AgentArgs, Gadgetry, Verb, command};
use crate::config::{self, for_server, verb_index};
use crate::error::Error;
use crate::printer::Printer;
use crate::sessions::is_of_one_run;

/// The verbs whose options a session keeps.
const AGENT: &str = "agent";
const CHAT: &str = "chat";

/// In place of a required option that the session has. No one can type it.
const OF_SESSION: &str = "\u{1}";

/// What was typed after `gadgetry agent` or `gadgetry chat`.
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

/// Parses the command line, to which the configuration adds options. A request for help is returned as [`Error::Help`].
pub(crate) fn typed(printer: &mut Printer) -> Result<Gadgetry, Error> {
    let words: Vec<OsString> = env::args_os().collect();
    #[cfg(feature = "chat")]
    if words.len() == 1
        && let Some(chat) = chat_by_default(printer)?
    {
        return Ok(chat);
    }
    let (words, configuration) = config::command_line(words, printer)?;
    let mut typed = of_words(&words)?;
    typed.configuration = configuration;
    Ok(typed)
}

fn of_words(words: &[OsString]) -> Result<Gadgetry, Error> {
    if let Some(verb) = verb_index(words)
        && (words[verb] == AGENT || words[verb] == CHAT)
        && words.iter().any(|it| continues(it))
    {
        let typed = continuing(words, verb + 1)?;
        if typed.verb.as_ref().is_some_and(is_continued) {
            return Ok(typed);
        }
    }
    let matches = command().try_get_matches_from(words)?;
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

/// `gadgetry chat` in place of no verb, if a user is at a terminal and nothing that it needs is missing.
#[cfg(feature = "chat")]
fn chat_by_default(printer: &mut Printer) -> Result<Option<Gadgetry>, Error> {
    use std::io::{IsTerminal as _, stdin, stdout};

    if !stdin().is_terminal() || !stdout().is_terminal() {
        return Ok(None);
    }
    let words = ["gadgetry", CHAT].map(OsString::from).into();
    let (words, configuration) = config::command_line(words, printer)?;
    match command().try_get_matches_from(words) {
        Ok(matches) => {
            let mut typed = gadgetry(&matches)?;
            typed.configuration = configuration;
            Ok(Some(typed))
        }
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The options of a conversation that continues a session: those that are `stored`, overridden by what is `typed`.
#[cfg(feature = "chat")]
pub(crate) fn chat_again(stored: &[String], typed: &Typed) -> Result<ChatArgs, Error> {
    match again_as(CHAT, stored, typed)? {
        Some(Verb::Chat(args)) => Ok(*args),
        _ => Err(Error::Failed("internal error (please report)".to_owned())),
    }
}

/// The options of a conversation, given as words.
#[cfg(feature = "chat")]
pub(crate) fn chat_of(options: Vec<String>) -> Result<ChatArgs, Error> {
    let words = ["gadgetry", CHAT].map(str::to_owned);
    let words = words.into_iter().chain(options);
    match gadgetry(&lenient().try_get_matches_from(words)?)?.verb {
        Some(Verb::Chat(args)) => Ok(*args),
        _ => Err(Error::Failed("internal error (please report)".to_owned())),
    }
}

/// The options of a run that repeats another: `stored`, written `--name` or `--name=value`, and what is `typed`, which
/// overrides them.
pub(crate) fn again(stored: &[String], typed: &Typed) -> Result<AgentArgs, Error> {
    match again_as(AGENT, stored, typed)? {
        Some(Verb::Agent(args)) => Ok(*args),
        _ => Err(Error::Failed("internal error (please report)".to_owned())),
    }
}

fn again_as(verb: &str, stored: &[String], typed: &Typed) -> Result<Option<Verb>, Error> {
    let is_new = |option: &&String| {
        let mut given = typed.options.iter();
        !given.any(|given| given.name == name(option))
    };
    let words = ["gadgetry", verb].map(OsString::from).into_iter();
    // Rules that a file had then are not those of now.
    let stored = stored.iter().filter(|it| !is_of_one_run(name(it)));
    let stored = for_server(stored.cloned().collect(), |name| {
        let mut given = typed.options.iter().rev();
        let value = given.find(|given| given.name == name)?.value.as_ref();
        Some(value?.to_string_lossy().into_owned())
    });
    let stored = stored.iter().filter(is_new).map(OsString::from);
    let words = words.chain(stored).chain(typed.words.iter().cloned());
    let matches = lenient().try_get_matches_from(words)?;
    Ok(gadgetry(&matches)?.verb)
}

/// The name in `--name` or `--name=value`.
pub(crate) fn name(option: &str) -> &str {
    let option = option.strip_prefix("--").unwrap_or(option);
    option.split_once('=').map_or(option, |(name, _)| name)
}

/// Parses words without the options that a session has. The words of the verb begin at `from`.
fn continuing(words: &[OsString], from: usize) -> Result<Gadgetry, Error> {
    let (before, after) = words.split_at(from);
    let required = [format!("--model={OF_SESSION}").into()];
    let all = before.iter().cloned().chain(required);
    let matches = lenient().try_get_matches_from(all.chain(after.iter().cloned()))?;
    let mut typed = gadgetry(&matches)?;
    if let Some(it) = typed.verb.as_mut().and_then(typed_of) {
        it.words = after.to_vec();
    }
    Ok(typed)
}

/// Whether the word begins the option `--continue`.
fn continues(word: &OsStr) -> bool {
    let word = word.as_encoded_bytes();
    word == b"--continue" || word.starts_with(b"--continue=")
}

/// Whether the verb continues a session.
fn is_continued(verb: &Verb) -> bool {
    match verb {
        Verb::Agent(args) => args.session.continues,
        #[cfg(feature = "chat")]
        Verb::Chat(args) => args.continues.is_some(),
        _ => false,
    }
}

/// What was typed after a verb whose options a session keeps.
fn typed_of(verb: &mut Verb) -> Option<&mut Typed> {
    match verb {
        Verb::Agent(args) => Some(&mut args.typed),
        #[cfg(feature = "chat")]
        Verb::Chat(args) => Some(&mut args.typed),
        _ => None,
    }
}

/// The command line, in which an option overrides an earlier one of the same name.
fn lenient() -> Command {
    let command = command();
    let command = command.mut_subcommand(AGENT, |it| it.args_override_self(true));
    if cfg!(feature = "chat") {
        command.mut_subcommand(CHAT, |it| it.args_override_self(true))
    } else {
        command
    }
}

fn gadgetry(matches: &ArgMatches) -> Result<Gadgetry, Error> {
    let mut typed = Gadgetry::from_arg_matches(matches)?;
    if let Some(it) = typed.verb.as_mut().and_then(typed_of)
        && let Some((verb, matches)) = matches.subcommand()
    {
        it.options = options(&Gadgetry::command(), verb, matches);
    }
    Ok(typed)
}

/// The options of a verb that were typed, without those that only stand in for the options of a session.
pub(crate) fn options(root: &Command, verb: &str, matches: &ArgMatches) -> Vec<TypedOption> {
    let command = root.find_subcommand(verb);
    let mut options = Vec::new();
    for argument in command.into_iter().flat_map(Command::get_arguments) {
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
