//! From the words of the command line to what is done: one parse, whose options are merged with those of the configuration.
//!
//! ```text
//! words ─► clap ─► what was typed ────────┐
//! files, variables ─► Config ─► Settings ─┴─► merge ─► the struct of the verb
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `words` | what must be known before the words can be parsed: the verb, and the files that define custom commands |
//! | `verb` | the options of a verb, typed and configured |
//! | `custom` | custom commands: their definitions, and the verbs that they run |

mod custom;
mod verb;
mod words;

use std::env;
use std::ffi::OsString;

use clap::{ArgMatches, Command, FromArgMatches as _};

#[cfg(feature = "restate")]
use crate::cli::RestateArgs;
use crate::cli::{self, ConfigArgs, ConfigVerbs, DataArgs, GadgetOptions, Gadgetry, Verb};
use crate::config::{Asking, Config, ConfigVerb, Keys};
use crate::error::Error;
#[cfg(feature = "restate")]
use crate::options::RESTATE;
use crate::options::{CONTINUE, DATA_DIR, Definitions, MODEL, Options as _, Settings, required};
use crate::printer::Printer;

use verb::{Found, read};

pub(crate) use verb::merge;

pub(crate) use custom::with_commands;
#[cfg(feature = "acp")]
pub(crate) use custom::{has_prompt, prompt_of};

/// The verb that asks for a model.
const CHAT: &str = "chat";
/// The options that answer the question where and how an agent may work.
const PLACE: [&str; 4] = ["workspace", "worktree", "yes", "approval"];
/// The verb that starts without a model: its sessions say what is missing.
const ACP: &str = "acp";

/// A verb, and all that the user and the configuration say about it.
#[derive(Debug, Default)]
pub(crate) struct Invocation {
    pub(crate) verbose: u8,
    /// Whether traces have content.
    #[cfg(feature = "otel")]
    pub(crate) otel_content: bool,
    /// Whether a page shows the runs.
    #[cfg(feature = "inspect")]
    pub(crate) inspect: bool,
    /// The options about configuration: those of the verb if it can be configured, and else those before it.
    pub(crate) chosen: ConfigArgs,
    /// Without one, this is a request for help.
    pub(crate) verb: Option<Verb>,
    /// The options that were typed and configured for the verb.
    pub(crate) settings: Settings,
    pub(crate) config: Config,
    /// A conversation was begun on a terminal, and no model is chosen.
    pub(crate) first: Option<First>,
    /// The first word after `--continue` must be the name of a session.
    pub(crate) names_session: bool,
}

/// A conversation for which the user has not chosen a model.
#[derive(Debug)]
pub(crate) struct First {
    /// The words up to the verb.
    before: Vec<OsString>,
    /// The words after it.
    after: Vec<OsString>,
    /// Whether the user has not said where and how the agent may work.
    pub(crate) asks_place: bool,
    /// The server that the user has named, and the variable of its key.
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
}

impl First {
    /// The words with these options.
    pub(crate) fn with(self, options: Vec<OsString>) -> Vec<OsString> {
        let words = self.before.into_iter();
        words.chain(options).chain(self.after).collect()
    }
}

/// Parses the command line and adds the configuration. A request for help is returned as [`Error::Help`].
pub(crate) fn invocation(printer: &Printer) -> Result<Invocation, Error> {
    of_words(env::args_os().collect(), printer)
}

/// The same for other words.
pub(crate) fn of_words(words: Vec<OsString>, printer: &Printer) -> Result<Invocation, Error> {
    // Alone at a terminal, this is a conversation, if a model is configured.
    let chats = words.len() == 1 && is_at_both_ends();
    let (words, names_session) = if chats {
        (["gadgetry", "chat"].map(OsString::from).to_vec(), false)
    } else {
        words::resumed(words)
    };
    let (keys, root) = (Keys::new(), cli::command());
    let verb = words::verb(&words);
    let typed = words.clone();
    let is_known = |at: usize| root.find_subcommand(&words[at]).is_some();
    let (command, custom) = if verb.is_some_and(is_known) {
        (root.clone(), None)
    } else {
        let config = words::config(&words, verb, &keys, printer)?;
        (with_commands(root.clone(), &config), Some(config))
    };
    if let Some(name) = verb.filter(|_| words::wants_all_help(&words))
        && let Some(name) = words[name].to_str()
        && let Some(help) = cli::help_of_all(command.clone(), name)
    {
        return Err(Error::Help(help.to_string()));
    }
    let matches = command.try_get_matches_from(words)?;
    let chosen = ConfigArgs::from_arg_matches(&matches)?;
    let mut found = match (matches.subcommand(), custom) {
        (Some((name, of_command)), Some(config)) => {
            custom::found(name, of_command, config, &keys, printer)?
        }
        (Some((name, _)), None) => match ConfigVerb::named(name) {
            Some(verb) => configured(verb, &root, &matches, &chosen, &keys, printer)?,
            None => other(name, &root, &matches, &chosen, &keys, printer)?,
        },
        (None, config) => Found {
            config: config.unwrap_or_default(),
            ..Found::default()
        },
    };
    let first = verb.filter(|_| {
        let is_chat = matches.subcommand_name() == Some(CHAT) && is_at_both_ends();
        is_chat && !found.settings.has(MODEL) && !found.settings.has(CONTINUE)
    });
    let first = first.map(|at| {
        let (before, after) = typed.split_at(at + 1);
        let text = |name: &str| found.settings.text(name).map(str::to_owned);
        First {
            before: before.to_vec(),
            after: after.to_vec(),
            asks_place: !PLACE.iter().any(|it| found.settings.has(it)),
            base_url: text("base-url"),
            api_key_env: text("api-key-env"),
        }
    });
    if first.is_some() {
        found.verb = None;
    } else if !found.settings.has(CONTINUE) && matches.subcommand_name() != Some(ACP) {
        // Else the session may have it, or an editor shows what is missing.
        required(&found.settings, &found.options)?;
    }
    #[cfg(feature = "inspect")]
    let inspect = matches.get_flag("inspect");
    #[cfg(feature = "inspect")]
    if inspect && found.verb.as_ref().is_some_and(|it| !it.has_runs()) {
        return Err(Error::input(
            "--inspect is an option of verbs that run agents, and of `serve`; `gadgetry inspect` shows sessions and logs",
        ));
    }
    Ok(Invocation {
        verbose: matches.get_count("verbose"),
        #[cfg(feature = "otel")]
        otel_content: matches.get_flag("otel_content"),
        #[cfg(feature = "inspect")]
        inspect,
        chosen: found.chosen.unwrap_or(chosen),
        verb: found.verb,
        settings: found.settings,
        config: found.config,
        first,
        names_session,
    })
}

/// The configuration as far as it can be read, for the completion of words.
pub(crate) fn config_for_completion(words: &[OsString], printer: &Printer) -> Config {
    let keys = Keys::new();
    words::config(words, None, &keys, printer).unwrap_or_default()
}

/// The help of the whole program, with the custom commands.
pub(crate) fn help(config: &Config) -> String {
    let mut command = with_commands(cli::command(), config);
    command.render_long_help().to_string()
}

fn is_at_both_ends() -> bool {
    use std::io::{IsTerminal as _, stdin, stdout};

    cfg!(feature = "chat") && stdin().is_terminal() && stdout().is_terminal()
}

/// The last verb, as in `sessions list`: its definition, and what follows it.
fn innermost<'a>(root: &'a Command, matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    let (mut command, mut of_verb) = (root, matches);
    while let Some((name, inner)) = of_verb.subcommand()
        && let Some(definition) = command.find_subcommand(name)
    {
        (command, of_verb) = (definition, inner);
    }
    (command, of_verb)
}

/// A verb whose options can be configured.
fn configured(
    verb: ConfigVerb,
    root: &Command,
    matches: &ArgMatches,
    before: &ConfigArgs,
    keys: &Keys,
    printer: &Printer,
) -> Result<Found, Error> {
    let (command, of_verb) = innermost(root, matches);
    let options = Definitions::of(command);
    let chosen = if verb == ConfigVerb::Serve {
        // Its own option --config is about something else.
        before.clone()
    } else {
        ConfigArgs::from_arg_matches(of_verb)?.or(before.clone())
    };
    let config = Config::load(&chosen, keys, Asking::Prompt, printer)?;
    let typed = Settings::typed(&options, of_verb);
    let mut weaker = config.settings(verb, None, keys)?;
    if typed.has(CONTINUE) {
        let profile = config.profile.as_ref();
        let profile = profile.filter(|_| chosen.profile.is_some());
        weaker = config.of_continued(weaker, verb, profile, keys)?;
    }
    // Not all verbs of `gadget` have the same options.
    let weaker = weaker.only(|name, _| options.get(name).is_some());
    let settings = merge(verb, typed, weaker, &config, &options, printer)?;
    Ok(Found {
        verb: read(verb, &settings, &options, matches)?,
        settings,
        options,
        config,
        chosen: Some(chosen),
    })
}

/// A verb of which single options can be configured, if any.
fn other(
    name: &str,
    root: &Command,
    matches: &ArgMatches,
    chosen: &ConfigArgs,
    keys: &Keys,
    printer: &Printer,
) -> Result<Found, Error> {
    let mut verb = Gadgetry::from_arg_matches(matches)?.verb;
    let (command, of_verb) = innermost(root, matches);
    let options = Definitions::of(command);
    let load = |chosen: &ConfigArgs, asking| Config::load(chosen, keys, asking, printer);
    let one = |config: &Config, name: &str| {
        let setting = config.everywhere(name)?;
        let setting = setting.filter(|_| options.get(name).is_some());
        let configured = setting
            .map(|it| (name.to_owned(), it))
            .into_iter()
            .collect();
        Ok::<_, Error>(Settings::typed(&options, of_verb).merge(configured, &options))
    };
    let config = match (name, &mut verb) {
        ("sessions" | "models" | "doctor" | "eval", Some(verb)) => {
            let config = load(chosen, Asking::Silent)?;
            if let Some(data) = verb.data_mut() {
                *data = DataArgs::from_settings(&one(&config, DATA_DIR)?, &options)?;
            }
            config
        }
        #[cfg(feature = "restate")]
        ("remote", Some(Verb::Remote(args))) => {
            let config = load(chosen, Asking::Silent)?;
            let settings = one(&config, RESTATE)?;
            *args.restate_mut() = RestateArgs::from_settings(&settings, &options)?;
            config
        }
        ("completions", _) => load(chosen, Asking::Silent).unwrap_or_default(),
        ("skill", _) => load(chosen, Asking::Prompt)?,
        ("config", Some(Verb::Config(args))) => {
            if let Some(ConfigVerbs::Approvals(approvals)) = &mut args.verb {
                // The gadgets are those of an agent.
                let chosen = approvals.chosen.clone().or(chosen.clone());
                let config = load(&chosen, Asking::Silent)?;
                let weaker = config.settings(ConfigVerb::Agent, None, keys)?;
                let weaker = weaker.only(|name, _| options.get(name).is_some());
                let settings = Settings::typed(&options, of_verb).merge(weaker, &options);
                approvals.source = GadgetOptions::from_settings(&settings, &options)?;
            }
            Config::default()
        }
        _ => Config::default(),
    };
    Ok(Found {
        verb,
        config,
        ..Found::default()
    })
}
