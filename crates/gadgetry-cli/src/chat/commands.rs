//! Slash commands: their names, and what is written after them.

use gadgetry::proto::schema::closest;

/// A command, for the help and for completion.
#[derive(Debug)]
pub(crate) struct SlashCommand {
    /// The name, with the slash.
    pub(crate) name: &'static str,
    /// What follows it.
    pub(crate) argument: &'static str,
    /// What it does.
    pub(crate) summary: &'static str,
}

const fn command(
    name: &'static str,
    argument: &'static str,
    summary: &'static str,
) -> SlashCommand {
    SlashCommand {
        name,
        argument,
        summary,
    }
}

/// All commands.
pub(crate) const COMMANDS: [SlashCommand; 7] = [
    command("/help", "", "lists commands and keys"),
    command(
        "/model",
        "NAME",
        "uses another model from the next message on",
    ),
    command("/tools", "", "lists the gadgets"),
    command("/cost", "", "shows tokens and cost"),
    command(
        "/compact",
        "",
        "shortens the conversation before the next request",
    ),
    command(
        "/export",
        "FILE",
        "writes the conversation to a new file as Markdown",
    ),
    command("/quit", "", "leaves"),
];

/// A command that was entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// `/help`.
    Help,
    /// `/model NAME`.
    Model(String),
    /// `/tools`.
    Tools,
    /// `/cost`.
    Cost,
    /// `/compact`.
    Compact,
    /// `/export FILE`.
    Export(String),
    /// `/quit`.
    Quit,
    /// Something else, and what is wrong with it.
    Invalid(String),
}

impl Entered {
    /// The command in a text; `None` if the text is a message. A path such as `/etc/hosts is wrong` is a message.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let line = text.trim();
        if !line.starts_with('/') || line.contains('\n') {
            return None;
        }
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if name[1..].contains('/') {
            return None;
        }
        let argument = argument.trim();
        let Some(known) = COMMANDS.iter().find(|it| it.name == name) else {
            return Some(Self::Invalid(unknown(name)));
        };
        if known.argument.is_empty() != argument.is_empty() {
            let usage = format!("usage: {} {}", known.name, known.argument);
            return Some(Self::Invalid(usage.trim_end().to_owned()));
        }
        Some(match name {
            "/model" => Self::Model(argument.to_owned()),
            "/tools" => Self::Tools,
            "/cost" => Self::Cost,
            "/compact" => Self::Compact,
            "/export" => Self::Export(argument.to_owned()),
            "/quit" => Self::Quit,
            _ => Self::Help,
        })
    }
}

fn unknown(name: &str) -> String {
    let names = COMMANDS.iter().map(|it| it.name);
    match closest(name, names).first() {
        Some(near) => format!("unknown command {name}; did you mean {near}?"),
        None => format!("unknown command {name}; /help lists the commands"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let check = |text: &str, expected: Option<Entered>| {
            assert_eq!(Entered::of(text), expected, "{text:?}");
        };
        let invalid = |text: &str| Some(Entered::Invalid(text.to_owned()));
        check("hello", None);
        check("/etc/hosts is wrong", None);
        check("/help\nme", None);
        check(" /help ", Some(Entered::Help));
        check("/quit", Some(Entered::Quit));
        check("/model haiku", Some(Entered::Model("haiku".to_owned())));
        check("/export a b.md", Some(Entered::Export("a b.md".to_owned())));
        check("/model", invalid("usage: /model NAME"));
        check("/tools now", invalid("usage: /tools"));
        check(
            "/modle x",
            invalid("unknown command /modle; did you mean /model?"),
        );
        check(
            "/xyzzyplugh",
            invalid("unknown command /xyzzyplugh; /help lists the commands"),
        );
        check("/", invalid("unknown command /; /help lists the commands"));
    }
}
