//! Slash commands: their names, and what is written after them.

use crate::cli::SessionName;
use crate::slash::{self, is_message};

/// A command, for the help and for completion.
#[derive(Debug)]
pub(crate) struct SlashCommand {
    /// The name, with the slash.
    pub(crate) name: &'static str,
    /// Argument of the command; in brackets if it may be left out.
    pub(crate) argument: &'static str,
    /// Summary of the command.
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

/// The slash commands of the chat.
pub(crate) const COMMANDS: &[SlashCommand] = &[
    command("/help", "", "lists commands and keys"),
    command(
        "/model",
        "[NAME]",
        "uses another model from the next message on, or shows those that can be used",
    ),
    command(
        "/profile",
        "[NAME]",
        "uses another profile from the next message on, or lists them",
    ),
    command("/tools", "", "lists the gadgets"),
    command(
        "/skill",
        "[NAME [TEXT]]",
        "sends the instructions of a skill, or lists the skills",
    ),
    command("/approvals", "", "lists the rules about calls"),
    command(
        "/init",
        "",
        "lets the model write AGENTS.md for this project",
    ),
    command(
        "/transcript",
        "",
        "shows the whole conversation, to scroll and to search",
    ),
    command("/copy", "", "copies the last answer to the clipboard"),
    command("/cost", "", "shows tokens and cost"),
    command(
        "/compact",
        "",
        "shortens the conversation before the next request",
    ),
    command(
        "/undo",
        "[N]",
        "undoes the latest changes of files, by gadgets and commands",
    ),
    command(
        "/rewind",
        "[N]",
        "returns to before message N, with conversation and files, or lists the messages",
    ),
    command(
        "/diff",
        "",
        "shows the changes of files in this conversation",
    ),
    command(
        "/resume",
        "[NAME]",
        "continues another session, or shows them",
    ),
    command("/fork", "", "continues in another session from here"),
    command("/new", "", "begins a new conversation; so does /clear"),
    command(
        "/export",
        "FILE",
        "writes the conversation to a new file as Markdown",
    ),
    command("/quit", "", "leaves; so does /exit"),
];

/// Other names of commands.
const ALSO: [(&str, &str); 3] = [
    ("/clear", "/new"),
    ("/exit", "/quit"),
    ("/sessions", "/resume"),
];

/// Commands of other programs, and what does the same here.
const HABITS: &[(&str, &str)] = &[
    ("/agents", "/tools lists the subagents"),
    ("/config", "`gadgetry config` shows the options"),
    (
        "/context",
        "the last line shows the size of the context, /cost the tokens",
    ),
    ("/hooks", "`gadgetry config` shows the hooks"),
    (
        "/login",
        "keys are read from the environment; `gadgetry models` names them",
    ),
    (
        "/mcp",
        "`gadgetry mcp list` lists the servers, /tools their tools",
    ),
    (
        "/memory",
        "the instructions of a project are in AGENTS.md; /init lets the model write it",
    ),
    ("/permissions", "/approvals lists the rules about calls"),
    ("/plan", "Shift+Tab changes the mode"),
    (
        "/review",
        "`!git diff` shows the changes, and a message asks for a review",
    ),
    (
        "/status",
        "the last line shows model and mode, /cost the tokens",
    ),
    ("/theme", "--theme chooses the colours"),
];

/// A command that was entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// `/help`.
    Help,
    /// `/model [NAME]`.
    Model(Option<String>),
    /// `/profile [NAME]`.
    Profile(Option<String>),
    /// `/tools`.
    Tools,
    /// `/skill`.
    Skills,
    /// `/skill NAME [TEXT]`, or `/NAME [TEXT]` of a skill or a command by a file, which is a message.
    Skill(String, String),
    /// `/cost`.
    Cost,
    /// `/compact`.
    Compact,
    /// `/undo [N]`.
    Undo(usize),
    /// `/rewind [N]`.
    Rewind(Option<usize>),
    /// `/diff`.
    Diff,
    /// `/approvals`.
    Approvals,
    /// `/transcript`.
    Transcript,
    /// `/copy`.
    Copy,
    /// `/init`.
    Init,
    /// `/resume [NAME]`.
    Resume(Option<SessionName>),
    /// `/fork`.
    Fork,
    /// `/new`.
    New,
    /// `/export FILE`.
    Export(String),
    /// `/quit`.
    Quit,
    /// A name that no command has, with its slash, and the words about it.
    Unknown(String, String),
    /// A command with something wrong, and the words about it.
    Invalid(String),
}

impl Entered {
    /// Returns whether it waits for the end of a run in progress.
    pub(crate) fn needs_quiet(&self) -> bool {
        matches!(
            self,
            Self::Undo(_) | Self::Rewind(Some(_)) | Self::Fork | Self::New | Self::Resume(Some(_))
        )
    }

    /// The command in a text, which may be one of `named`, each with its slash; `None` if the text is a message. A path such as `/etc/hosts is wrong` is a message, and so is a
    /// text of several lines, unless it begins with `/skill`.
    pub(crate) fn of(text: &str, named: &[(String, String)]) -> Option<Self> {
        let text = text.trim();
        if !text.starts_with('/') {
            return None;
        }
        let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let also = ALSO.iter().find(|(other, _)| *other == name);
        let name = also.map_or(name, |(_, name)| name);
        let is_own = COMMANDS.iter().any(|it| it.name == name);
        if !is_own && named.iter().any(|(it, _)| it == name) {
            let argument = argument.trim().to_owned();
            return Some(Self::Skill(name[1..].to_owned(), argument));
        }
        if is_message(name, text) && name != "/skill" {
            return None;
        }
        let argument = argument.trim();
        let Some(known) = COMMANDS.iter().find(|it| it.name == name) else {
            return Some(Self::Unknown(name.to_owned(), unknown(name, named)));
        };
        let is_wrong = match known.argument {
            "" => !argument.is_empty(),
            optional if optional.starts_with('[') => false,
            _ => argument.is_empty(),
        };
        let entered = if is_wrong { None } else { read(name, argument) };
        Some(entered.unwrap_or_else(|| {
            let usage = format!("usage: {} {}", known.name, known.argument);
            Self::Invalid(usage.trim_end().to_owned())
        }))
    }
}

/// The command of a known name; `None` if its argument is wrong.
fn read(name: &str, argument: &str) -> Option<Entered> {
    let some = || (!argument.is_empty()).then(|| argument.to_owned());
    Some(match name {
        "/model" => Entered::Model(some()),
        "/diff" => Entered::Diff,
        "/approvals" => Entered::Approvals,
        "/transcript" => Entered::Transcript,
        "/copy" => Entered::Copy,
        "/init" => Entered::Init,
        "/resume" if argument.is_empty() => Entered::Resume(None),
        "/resume" => Entered::Resume(Some(argument.parse().ok()?)),
        "/profile" => Entered::Profile(some()),
        "/tools" => Entered::Tools,
        "/skill" if argument.is_empty() => Entered::Skills,
        "/skill" => {
            let parts = argument.split_once(char::is_whitespace);
            let (name, text) = parts.unwrap_or((argument, ""));
            Entered::Skill(name.to_owned(), text.trim().to_owned())
        }
        "/cost" => Entered::Cost,
        "/compact" => Entered::Compact,
        "/undo" if argument.is_empty() => Entered::Undo(1),
        "/undo" => Entered::Undo(argument.parse().ok().filter(|it| *it > 0)?),
        "/rewind" if argument.is_empty() => Entered::Rewind(None),
        "/rewind" => Entered::Rewind(Some(argument.parse().ok()?)),
        "/fork" => Entered::Fork,
        "/new" => Entered::New,
        "/export" => Entered::Export(argument.to_owned()),
        "/quit" => Entered::Quit,
        _ => Entered::Help,
    })
}

fn unknown(name: &str, named: &[(String, String)]) -> String {
    if let Some((_, words)) = HABITS.iter().find(|(habit, _)| *habit == name) {
        return format!("unknown command {name}; {words}");
    }
    let names = COMMANDS.iter().map(|it| it.name);
    let names = names.chain(ALSO.iter().map(|(name, _)| *name));
    let names = names.chain(named.iter().map(|(name, _)| &**name));
    slash::unknown(name, names, "/help lists the commands")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let check = |text: &str, expected: Option<Entered>| {
            let named = ["/fix", "/help"].map(|name| (name.to_owned(), String::new()));
            assert_eq!(Entered::of(text, &named), expected, "{text:?}");
        };
        let invalid = |text: &str| Some(Entered::Invalid(text.to_owned()));
        let unknown = |text: &str| {
            let name = text.split([' ', ';']).nth(2).unwrap_or_default();
            Some(Entered::Unknown(name.to_owned(), text.to_owned()))
        };
        let skill = |name: &str, text: &str| Some(Entered::Skill(name.to_owned(), text.to_owned()));
        check("hello", None);
        check("/etc/hosts is wrong", None);
        check("/help\nme", None);
        check(" /help ", Some(Entered::Help));
        check("/quit", Some(Entered::Quit));
        check(
            "/model haiku",
            Some(Entered::Model(Some("haiku".to_owned()))),
        );
        check("/profile", Some(Entered::Profile(None)));
        check("/profile a", Some(Entered::Profile(Some("a".to_owned()))));
        check("/skill", Some(Entered::Skills));
        check("/skill review", skill("review", ""));
        check("/skill review  a b ", skill("review", "a b"));
        check(
            "/skill review\nline 1\nline 2",
            skill("review", "line 1\nline 2"),
        );
        // Commands by files, unless their name is taken.
        check("/fix", skill("fix", ""));
        check("/fix it\nnow", skill("fix", "it\nnow"));
        check(
            "/fixx",
            unknown("unknown command /fixx; did you mean /fix?"),
        );
        check("/help", Some(Entered::Help));
        check("/undo", Some(Entered::Undo(1)));
        check("/undo 3", Some(Entered::Undo(3)));
        check("/undo 0", invalid("usage: /undo [N]"));
        check("/undo it", invalid("usage: /undo [N]"));
        check("/rewind", Some(Entered::Rewind(None)));
        check("/rewind 3", Some(Entered::Rewind(Some(3))));
        check("/rewind it", invalid("usage: /rewind [N]"));
        check("/fork", Some(Entered::Fork));
        check("/new", Some(Entered::New));
        check("/clear", Some(Entered::New));
        check("/exit", Some(Entered::Quit));
        check(
            "/exti",
            unknown("unknown command /exti; did you mean /exit?"),
        );
        check("/export a b.md", Some(Entered::Export("a b.md".to_owned())));
        check("/model", Some(Entered::Model(None)));
        check("/resume", Some(Entered::Resume(None)));
        check("/sessions", Some(Entered::Resume(None)));
        check("/resume a b", invalid("usage: /resume [NAME]"));
        check("/tools now", invalid("usage: /tools"));
        check(
            "/modle x",
            unknown("unknown command /modle; did you mean /model?"),
        );
        check(
            "/permissions",
            unknown("unknown command /permissions; /approvals lists the rules about calls"),
        );
        check(
            "/xyzzyplugh",
            unknown("unknown command /xyzzyplugh; /help lists the commands"),
        );
        check("/", unknown("unknown command /; /help lists the commands"));
    }
}
