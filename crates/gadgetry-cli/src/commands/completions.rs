//! `gadgetry completions`: the completions for a shell, with the commands and profiles of the configuration.

use clap::Command;
use clap::builder::PossibleValuesParser;

use crate::cli::{self, CompletionsArgs};
use crate::config::Config;
use crate::error::Error;
use crate::invocation::with_commands;
use crate::printer::Printer;

/// The arguments that are the name of a profile.
const PROFILES: [&str; 2] = ["profile", "profile_name"];

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs, config: &Config, printer: &Printer) -> Result<(), Error> {
    let root = cli::command();
    let verbs: Vec<String> = root.get_subcommands().map(name).collect();
    let command = with_commands(root, config);
    let command = command.mut_subcommands(|command| {
        if verbs.contains(&name(&command)) {
            return command;
        }
        let about = command.get_about().map(ToString::to_string);
        command.about(harmless(&about.unwrap_or_default()))
    });
    let profiles = config.profiles.names().filter(|name| is_harmless(name));
    let profiles: Vec<String> = profiles.map(str::to_owned).collect();
    let mut command = if profiles.is_empty() {
        command
    } else {
        with_profiles(command, &profiles)
    };
    clap_complete::generate(args.shell, &mut command, "gadgetry", &mut *printer.out());
    printer.flush()
}

fn name(command: &Command) -> String {
    command.get_name().to_owned()
}

/// The command, in which profiles are known by name.
fn with_profiles(command: Command, names: &[String]) -> Command {
    let known = PROFILES.into_iter().filter(|id| {
        let mut arguments = command.get_arguments();
        arguments.any(|it| it.get_id() == id)
    });
    let known: Vec<&str> = known.collect();
    let command = known.into_iter().fold(command, |command, id| {
        let values = PossibleValuesParser::new(names.to_vec());
        command.mut_arg(id, |argument| argument.value_parser(values))
    });
    command.mut_subcommands(|command| with_profiles(command, names))
}

/// Returns whether a name means nothing else to any shell, which reads the script as code.
fn is_harmless(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)
}

/// The words of a description, without what a shell could read as code.
fn harmless(text: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || ".,-_/".contains(it);
    let words = text.split(|it| !is_plain(it)).filter(|it| !it.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_script() {
        for (name, expected) in [
            ("fast", true),
            ("a.b-c_1", true),
            ("", false),
            ("-x", false),
            ("a b", false),
            ("$(touch x)", false),
            ("a'b", false),
            ("a\nb", false),
        ] {
            assert_eq!(is_harmless(name), expected, "{name:?}");
        }
        for (text, expected) in [
            ("Reviews a change", "Reviews a change"),
            ("Does `it`, $(now); 'x'\n[y]: z", "Does it , now x y z"),
        ] {
            assert_eq!(harmless(text), expected);
        }
    }
}
