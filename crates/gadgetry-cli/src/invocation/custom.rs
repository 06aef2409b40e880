//! Custom commands: `gadgetry NAME`, for a table `[commands.NAME]`.

use clap::{Arg, ArgMatches, Command};

use super::verb::{Found, merge, read};
#[cfg(feature = "acp")]
use crate::config::Template;
use crate::config::{Config, ConfigVerb, CustomCommand, Keys};
use crate::error::Error;
use crate::options::{CONTINUE, Setting, Settings, Source, Value, required};
use crate::printer::Printer;
use crate::prompt::typed_or_piped;

/// The argument of the verbs that has the prompt.
const PROMPT: &str = "prompt";
/// The words that are part of the prompt.
const WORDS: &str = "words";
/// The variables of a command's prompt.
const ARGS: &str = "args";
const STDIN: &str = "stdin";

/// The command line with the custom commands.
pub(crate) fn with_commands(root: Command, config: &Config) -> Command {
    let commands = config.commands.iter();
    let commands = commands.map(|(name, command)| definition(&root, name, command));
    let commands: Vec<Command> = commands.collect();
    root.subcommands(commands)
}

/// The options of the verb that a command runs, and words.
fn definition(root: &Command, name: &str, command: &CustomCommand) -> Command {
    let verb = root.find_subcommand(command.verb.name());
    let options = verb.into_iter().flat_map(Command::get_arguments);
    let options = options.filter(|argument| !argument.is_positional());
    let usage = format!("gadgetry {name} [OPTIONS] [WORDS]...");
    let about = match &command.description {
        Some(description) => description.clone(),
        None => format!("Custom command ({})", command.place.file),
    };
    let words = Arg::new(WORDS)
        .value_name("WORDS")
        .num_args(0..)
        .help("The prompt, or the words that the prompt of the command refers to");
    Command::new(name.to_owned())
        .override_usage(usage)
        .about(about)
        .args(options.cloned())
        .arg(words)
}

/// The verb that a command runs, with its settings, what was typed, and the prompt.
pub(super) fn found(
    name: &str,
    of_command: &ArgMatches,
    config: Config,
    keys: &Keys,
    printer: &Printer,
) -> Result<Found, Error> {
    let Some(command) = config.commands.get(name) else {
        return Err(Error::Failed("internal error (please report)".to_owned()));
    };
    let (verb, options) = (command.verb, keys.of(command.verb).clone());
    let typed = Settings::typed(&options, of_command);
    if typed.has(CONTINUE) {
        return Err(Error::input(format_args!(
            "{name} begins sessions; continue one with `gadgetry {} --continue`",
            verb.name()
        )));
    }
    let weaker = config.settings(verb, Some(command), keys)?;
    let mut settings = merge(verb, typed, weaker, &config, &options, printer)?;
    required(&settings, &options)?;
    let words = of_command.get_many::<String>(WORDS).unwrap_or_default();
    let words: Vec<&str> = words.map(String::as_str).collect();
    if let Some(prompt) = prompt(name, command, &words.join(" "), &config, printer)? {
        settings.insert(PROMPT, Setting::new(Value::text(prompt), Source::Flag));
    } else if verb == ConfigVerb::Agent {
        return Err(Error::input(
            "the following required arguments were not provided: <PROMPT>",
        ));
    }
    Ok(Found {
        verb: read(verb, &settings, &options, of_command)?,
        settings,
        options,
        config,
        chosen: None,
    })
}

/// The prompt, if there is one.
fn prompt(
    name: &str,
    command: &CustomCommand,
    words: &str,
    config: &Config,
    printer: &Printer,
) -> Result<Option<String>, Error> {
    let Some(source) = &command.prompt else {
        return Ok((!words.is_empty()).then(|| words.to_owned()));
    };
    let template = format!("commands.{name}");
    let template = config.prompts.template(&template, source.clone())?;
    if !words.is_empty() && !template.uses(ARGS) {
        return Err(Error::input(format_args!(
            "unexpected argument '{words}' found; the prompt of {name} does not refer to {ARGS}"
        )));
    }
    let stdin = template.uses(STDIN);
    let stdin = stdin.then(|| typed_or_piped("-", printer)).transpose()?;
    template.render(Some(words), stdin.as_deref()).map(Some)
}

/// Returns the prompt of a command with these words; `None` if the command has none, or takes a part of it from stdin.
#[cfg(feature = "acp")]
pub(crate) fn prompt_of(config: &Config, name: &str, words: &str) -> Result<Option<String>, Error> {
    let template = template_of(config, name)?;
    let prompt = template.map(|it| it.render(Some(words), None));
    prompt.transpose()
}

/// Returns whether [`prompt_of`] has a prompt for a command.
#[cfg(feature = "acp")]
pub(crate) fn has_prompt(config: &Config, name: &str) -> bool {
    template_of(config, name).is_ok_and(|it| it.is_some())
}

#[cfg(feature = "acp")]
fn template_of(config: &Config, name: &str) -> Result<Option<Template>, Error> {
    let command = config.commands.get(name);
    let Some(source) = command.and_then(|it| it.prompt.as_ref()) else {
        return Ok(None);
    };
    let name = format!("commands.{name}");
    let template = config.prompts.template(&name, source.clone())?;
    Ok(Some(template).filter(|it| !it.uses(STDIN)))
}
