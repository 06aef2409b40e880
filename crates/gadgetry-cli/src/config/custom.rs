//! Custom commands: `gadgetry NAME`, for a table `[commands.NAME]`.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Arg, Command};

use super::server::leave_typed;
use super::words::with_options;
use super::{Config, CustomCommand, Keys, SYSTEM, SYSTEM_PROMPT};
use crate::args;
use crate::error::Error;
use crate::printer::Printer;
use crate::prompt::typed_or_piped;

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
    let about = match &command.description {
        Some(description) => description.clone(),
        None => format!("Custom command ({})", command.place.file),
    };
    let words = Arg::new(WORDS)
        .value_name("WORDS")
        .num_args(0..)
        .help("The prompt, or the words that the prompt of the command refers to");
    Command::new(name.to_owned())
        .about(about)
        .args(options.cloned())
        .arg(words)
}

/// The words of the verb that a command runs: its settings, what was typed, and the prompt. Also returns the names of the
/// options that the user or the command has set.
pub(super) fn expand(
    words: Vec<OsString>,
    name: &str,
    command: &CustomCommand,
    config: &Config,
    keys: &Keys,
    printer: &mut Printer,
) -> Result<(Vec<OsString>, BTreeSet<String>), Error> {
    let verb = command.verb;
    let root = args::command();
    let custom = definition(&root, name, command);
    let root = root.subcommand(custom);
    let unchecked = root.clone().ignore_errors(true);
    let matches = unchecked.try_get_matches_from(&words)?;
    let of_command = matches.subcommand_matches(name);
    let typed = of_command.map(|it| keys.of(verb).typed(it));
    let typed = typed.unwrap_or_default();
    if typed.contains("continue") {
        return Err(Error::input(format_args!(
            "{name} begins sessions; continue one with `gadgetry {} --continue`",
            verb.name()
        )));
    }
    let Some(at) = super::verb_index(&words) else {
        return Ok((words, typed));
    };
    let mut settings = config.settings(verb, Some(command), keys)?;
    if let Some(of_command) = of_command {
        leave_typed(&mut settings, keys.of(verb), of_command, printer);
    }
    let words = with_options(words, at + 1, config, keys.of(verb), &settings, &typed)?;
    let matches = root.clone().try_get_matches_from(words)?;
    let Some(of_command) = matches.subcommand_matches(name) else {
        return Err(Error::Failed("internal error (please report)".to_owned()));
    };
    let mut expanded = vec![OsString::from("gadgetry")];
    let verbose = usize::from(matches.get_count("verbose"));
    expanded.extend(vec![OsString::from("--verbose"); verbose]);
    expanded.push(verb.name().into());
    for option in args::options(&root, name, of_command) {
        let mut word = OsString::from(format!("--{}", option.name));
        if let Some(value) = option.value {
            word.push("=");
            word.push(value);
        }
        expanded.push(word);
    }
    let words = of_command.get_many::<String>(WORDS).unwrap_or_default();
    let words: Vec<&str> = words.map(String::as_str).collect();
    if let Some(prompt) = prompt(name, command, &words.join(" "), config, printer)? {
        expanded.extend([OsString::from("--"), prompt.into()]);
    }
    let of_command = command.settings.keys().map(|name| match name.as_str() {
        SYSTEM_PROMPT => SYSTEM.to_owned(),
        name => name.to_owned(),
    });
    Ok((expanded, of_command.chain(typed).collect()))
}

/// The prompt, if there is one.
fn prompt(
    name: &str,
    command: &CustomCommand,
    words: &str,
    config: &Config,
    printer: &mut Printer,
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
