//! From the configuration to words of the command line.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::form::{Given, words_of};
use super::keys::{DATA_DIR, RESTATE, VerbKeys};
use super::{
    Asking, Config, ConfigVerb, Keys, Origin, SYSTEM, SYSTEM_PROMPT, Settings, Source, custom,
    server,
};
use crate::args::{self, ConfigArgs};
use crate::error::Error;
use crate::printer::Printer;
use crate::sessions::is_of_one_run;

/// The option about the gadgets of an agent.
const GADGETS: &str = "gadgets";

/// The words with the options that are configured, and the configuration. What was typed has precedence.
pub(crate) fn command_line(
    words: Vec<OsString>,
    printer: &mut Printer,
) -> Result<(Vec<OsString>, Config), Error> {
    let Some(verb) = verb_index(&words).filter(|verb| words[*verb] != "help") else {
        let config = silent(&words, printer).unwrap_or_default();
        return with_commands(words, config);
    };
    let unchecked = args::command().ignore_errors(true);
    let unchecked = unchecked.allow_external_subcommands(true);
    let Ok(matches) = unchecked.try_get_matches_from(&words) else {
        return Ok((words, Config::default()));
    };
    let Some((name, of_verb)) = matches.subcommand() else {
        return Ok((words, Config::default()));
    };
    let mut keys = Keys::new();
    let of_root = chosen(&matches);
    if let Some(known) = ConfigVerb::named(name).filter(|_| keys.is_verb(name)) {
        let innermost = innermost(&words, verb, of_verb);
        let matches = innermost.matches;
        let chosen = if known == ConfigVerb::Serve {
            of_root
        } else {
            chosen(matches).or(of_root)
        };
        let mut config = Config::load(&chosen, &mut keys, Asking::Prompt, printer)?;
        let settings = config.settings(known, None, &keys)?;
        let keys = keys.of(known);
        let typed = keys.typed(matches);
        let mut settings = if typed.contains("continue") {
            of_continued(settings, chosen.profile.is_some())
        } else {
            settings
        };
        if known == ConfigVerb::Gadget {
            settings.retain(|name, _| innermost.has(name));
        }
        server::leave_typed(&mut settings, keys, matches, printer);
        if known.has_agent() {
            config.models.add_to(&mut settings, keys, matches, &typed);
        }
        let at = innermost.at + 1;
        let words = with_options(words, at, &config, keys, &settings, &typed)?;
        config.typed = typed;
        return Ok((words, config));
    }
    match name {
        "sessions" | "models" | "doctor" | "eval" => {
            // The options after `sessions resume NAME` are those of the agent.
            let chosen = scanned(&words[verb + 1..]).or(of_root);
            let config = Config::load(&chosen, &mut keys, Asking::Silent, printer)?;
            let has_profile = chosen.profile.is_some();
            let words = with_data_dir(words, verb, of_verb, &config, &keys, has_profile)?;
            Ok((words, config))
        }
        "remote" if keys.is_verb(name) => {
            let config = Config::load(&of_root, &mut keys, Asking::Silent, printer)?;
            let innermost = innermost(&words, verb, of_verb);
            let words = with_one(words, &innermost, RESTATE, &config, &keys)?;
            Ok((words, config))
        }
        "completions" => {
            let config = silent(&words, printer).unwrap_or_default();
            Ok((words, config))
        }
        "config" => {
            let innermost = innermost(&words, verb, of_verb);
            if !innermost.has(GADGETS) {
                return Ok((words, Config::default()));
            }
            // The gadgets are those of an agent.
            let chosen = chosen(innermost.matches).or(of_root);
            let config = Config::load(&chosen, &mut keys, Asking::Silent, printer)?;
            let mut settings = config.settings(ConfigVerb::Agent, None, &keys)?;
            settings.retain(|name, _| innermost.has(name));
            let keys = keys.of(ConfigVerb::Agent);
            let typed = keys.typed(innermost.matches);
            let at = innermost.at + 1;
            let words = with_options(words, at, &config, keys, &settings, &typed)?;
            Ok((words, config))
        }
        "skill" => {
            let config = Config::load(&of_root, &mut keys, Asking::Prompt, printer)?;
            Ok((words, config))
        }
        _ if keys.is_verb(name) => Ok((words, Config::default())),
        _ => {
            let chosen = scanned(&words[verb + 1..]).or(of_root);
            let mut config = Config::load(&chosen, &mut keys, Asking::Prompt, printer)?;
            let Some(command) = config.commands.get(name) else {
                return with_commands(words, config);
            };
            let (words, typed) = custom::expand(words, name, command, &config, &keys, printer)?;
            config.typed = typed;
            Ok((words, config))
        }
    }
}

/// Where the verb is.
pub(crate) fn verb_index(words: &[OsString]) -> Option<usize> {
    let mut words = words.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        if word == "--config" || word == "--profile" {
            words.next();
        } else if word == "--" {
            return None;
        } else if !is_option(word) {
            return Some(at);
        }
    }
    None
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// The configuration for verbs that do not depend on it.
fn silent(words: &[OsString], printer: &mut Printer) -> Option<Config> {
    let chosen = scanned(words.get(1..).unwrap_or_default());
    Config::load(&chosen, &mut Keys::new(), Asking::Silent, printer).ok()
}

/// A request for help, or an unknown verb: what is printed knows the custom commands, too.
fn with_commands(words: Vec<OsString>, config: Config) -> Result<(Vec<OsString>, Config), Error> {
    let command = custom::with_commands(args::command(), &config);
    command.try_get_matches_from(&words)?;
    Ok((words, config))
}

/// The options about configuration in what could be parsed. Where parsing has failed, there are no defaults.
fn chosen(matches: &ArgMatches) -> ConfigArgs {
    // `gadget` without a verb does not have them.
    let text = |name: &str| matches.try_get_one::<String>(name).ok().flatten().cloned();
    let path = matches.try_get_one::<PathBuf>("config").ok().flatten();
    let no_config = matches.try_get_one::<bool>("no_config").ok().flatten();
    ConfigArgs {
        config: path.cloned(),
        no_config: no_config.copied().unwrap_or_default(),
        profile: text("profile"),
    }
}

/// The options about configuration after a verb that is not known yet.
fn scanned(words: &[OsString]) -> ConfigArgs {
    let mut found = ConfigArgs::default();
    let mut words = words.iter().take_while(|it| *it != "--");
    while let Some(word) = words.next() {
        let Some(word) = word.to_str() else {
            continue;
        };
        match word.split_once('=') {
            Some(("--config", value)) => found.config = Some(value.into()),
            Some(("--profile", value)) => found.profile = Some(value.to_owned()),
            None if word == "--no-config" => found.no_config = true,
            None if word == "--config" => found.config = words.next().map(Into::into),
            None if word == "--profile" => {
                let name = words.next().and_then(|it| it.to_str());
                found.profile = name.map(str::to_owned);
            }
            Some(_) | None => {}
        }
    }
    found
}

/// The settings that apply to a session that is continued: those that it does not keep, and those of a profile that was
/// typed.
pub(super) fn of_continued(settings: Settings, has_profile: bool) -> Settings {
    let applies = |name: &str, source: &Source| {
        is_of_one_run(name) || (has_profile && matches!(source, Source::File(Origin::Profile, _)))
    };
    let settings = settings.into_iter();
    let settings = settings.filter(|(name, setting)| applies(name, &setting.source));
    settings.collect()
}

/// The words with the options of `settings` at `at`, but for those that were typed or conflict with one that was.
pub(super) fn with_options(
    mut words: Vec<OsString>,
    at: usize,
    config: &Config,
    keys: &VerbKeys,
    settings: &Settings,
    typed: &BTreeSet<String>,
) -> Result<Vec<OsString>, Error> {
    let is_free =
        |name: &str| !typed.contains(name) && !typed.iter().any(|typed| keys.conflict(name, typed));
    let mut added = Vec::new();
    for (name, setting) in settings {
        let needed = keys.needs(name).is_none_or(|needed| {
            typed.contains(needed) || (settings.contains_key(needed) && is_free(needed))
        });
        if !is_free(name) || !needed {
            continue;
        }
        if name != SYSTEM_PROMPT {
            added.extend(words_of(name, &setting.given));
        } else if let Given::Values(names) = &setting.given {
            let name = names.first().map(String::as_str).unwrap_or_default();
            let system = config.prompts.named(name)?.render(None, None)?;
            added.push(format!("--{SYSTEM}={system}"));
        }
    }
    words.splice(at..at, added.into_iter().map(OsString::from));
    Ok(words)
}

/// The last verb of the words, as in `sessions list`.
struct Innermost<'a> {
    /// Where it is.
    at: usize,
    matches: &'a ArgMatches,
    /// Its definition.
    command: Option<Command>,
}

impl Innermost<'_> {
    /// The option of this name.
    fn option(&self, name: &str) -> Option<&Arg> {
        let mut arguments = self.command.iter().flat_map(Command::get_arguments);
        arguments.find(|it| it.get_long() == Some(name))
    }

    /// Whether it has this option.
    fn has(&self, name: &str) -> bool {
        self.option(name).is_some()
    }
}

/// The last verb, from the first one, which is at `verb`.
fn innermost<'a>(words: &[OsString], verb: usize, of_verb: &'a ArgMatches) -> Innermost<'a> {
    let root = args::command();
    let mut command = words.get(verb).and_then(|it| root.find_subcommand(it));
    let (mut at, mut matches) = (verb, of_verb);
    while let (Some((name, inner)), Some(outer)) = (matches.subcommand(), command) {
        command = outer.find_subcommand(name);
        let found = words.iter().skip(at).position(|it| it == name);
        at += found.unwrap_or(0);
        matches = inner;
    }
    Innermost {
        at,
        matches,
        command: command.cloned(),
    }
}

/// The words with the configured data directory, if the verb has the option.
fn with_data_dir(
    words: Vec<OsString>,
    verb: usize,
    of_verb: &ArgMatches,
    config: &Config,
    keys: &Keys,
    has_profile: bool,
) -> Result<Vec<OsString>, Error> {
    let innermost = innermost(&words, verb, of_verb);
    let command = innermost.command.as_ref();
    if command.is_some_and(|it| it.get_name() == "resume") {
        // The name of the session is first.
        let at = (innermost.at + 2).min(words.len());
        let settings = config.settings(ConfigVerb::Agent, None, keys)?;
        let settings = of_continued(settings, has_profile);
        let keys = keys.of(ConfigVerb::Agent);
        return with_options(words, at, config, keys, &settings, &BTreeSet::new());
    }
    with_one(words, &innermost, DATA_DIR, config, keys)
}

/// The words with the value of one key, if the verb has the option and it was not typed.
fn with_one(
    words: Vec<OsString>,
    innermost: &Innermost<'_>,
    name: &str,
    config: &Config,
    keys: &Keys,
) -> Result<Vec<OsString>, Error> {
    let is_open = innermost.option(name).is_some_and(|it| {
        let source = innermost.matches.value_source(it.get_id().as_str());
        source != Some(ValueSource::CommandLine)
    });
    let setting = config.everywhere(name)?.filter(|_| is_open);
    let settings = setting.map(|it| (name.to_owned(), it));
    let settings = settings.into_iter().collect();
    let keys = keys.of(ConfigVerb::Agent);
    let at = innermost.at + 1;
    with_options(words, at, config, keys, &settings, &BTreeSet::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_verb_is_the_first_word_that_is_no_option() {
        let check = |line: &str, expected: Option<usize>| {
            assert_eq!(verb_index(&words(line)), expected, "{line}");
        };
        check("gadgetry", None);
        check("gadgetry -v --no-config", None);
        check("gadgetry agent", Some(1));
        check(
            "gadgetry -v --profile p --config=f agent --config x",
            Some(5),
        );
        check("gadgetry --config agent", None);
        check("gadgetry -- agent", None);
    }

    #[test]
    fn options_of_verbs_that_are_not_known_yet() {
        let check = |line: &str, config: Option<&str>, no_config: bool, profile: Option<&str>| {
            let found = scanned(&words(line));
            assert_eq!(found.config.as_deref(), config.map(std::path::Path::new));
            assert_eq!(
                (found.no_config, found.profile.as_deref()),
                (no_config, profile),
                "{line}"
            );
        };
        check("", None, false, None);
        check(
            "x --config f --profile=p -- --no-config",
            Some("f"),
            false,
            Some("p"),
        );
        check("--no-config --config", None, true, None);
        check("--configs=a --profiles b", None, false, None);
    }
}
