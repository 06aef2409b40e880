//! `[[hooks]]`: commands that decide about calls, prompts and ends of runs, and see results and sessions.

use std::time::Duration;

use gadgetry::command::parse_duration;
use regex::{Regex, RegexBuilder};

use super::layer::unknown;
use super::value::{Item, Value};
use crate::claude_code;
use crate::error::Error;
use crate::lines::short;
use crate::options::{Origin, Place};

/// The time that a command has, if the file does not say.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Hooks of a file.
const MOST: usize = 100;

/// The moment at which a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookEvent {
    /// Before a gadget starts.
    PreToolUse,
    /// After it has succeeded.
    PostToolUse,
    /// After it has failed.
    PostToolUseFailure,
    /// Before a prompt of the user is sent.
    UserPromptSubmit,
    /// Before a run ends.
    Stop,
    /// Before the run of a subagent ends.
    SubagentStop,
    /// Before a conversation is compacted.
    PreCompact,
    /// Before the first prompt of a session.
    SessionStart,
    /// After a session.
    SessionEnd,
    /// When `chat` begins to wait for the user.
    Notification,
}

/// The subject of a matcher.
enum Subject {
    /// The name of a gadget.
    Gadget,
    /// The name of a subagent.
    Agent,
    /// One of these words.
    Words(&'static [&'static str]),
    /// No subject: a matcher is a mistake.
    Nothing,
}

impl HookEvent {
    const ALL: [Self; 10] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::SubagentStop,
        Self::PreCompact,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Notification,
    ];

    /// The name in files, and for the command.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Notification => "Notification",
        }
    }

    /// Returns whether its commands deny what they are about.
    pub(crate) fn denies(self) -> bool {
        matches!(self, Self::PreToolUse | Self::UserPromptSubmit)
    }

    fn subject(self) -> Subject {
        match self {
            Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure => Subject::Gadget,
            Self::SubagentStop => Subject::Agent,
            Self::PreCompact => Subject::Words(&["manual", "auto"]),
            // `compact`: the session stays what it was.
            Self::SessionStart => Subject::Words(&["startup", "resume", "clear", "compact"]),
            Self::SessionEnd => Subject::Words(&["clear", "logout", "prompt_input_exit", "other"]),
            Self::Notification => Subject::Words(&["permission_prompt", "idle_prompt"]),
            Self::UserPromptSubmit | Self::Stop => Subject::Nothing,
        }
    }
}

/// A pattern for the names of what an event is about.
#[derive(Clone, Debug)]
struct Matcher {
    written: String,
    pattern: Regex,
    place: Place,
}

/// A table of `[[hooks]]`.
#[derive(Clone, Debug)]
pub(crate) struct HookCommand {
    pub(crate) event: HookEvent,
    /// The names of what it is about, as written and to be matched; `None` for all.
    matcher: Option<Matcher>,
    /// The text for `sh -c`.
    pub(crate) command: String,
    pub(crate) timeout: Duration,
    place: Place,
}

impl HookCommand {
    /// Returns whether it is about a subject, such as a gadget.
    pub(crate) fn matches(&self, subject: &str) -> bool {
        self.has(subject) || self.tool(subject).is_some()
    }

    /// Returns the name in Claude Code by which it is about a gadget, unless it is about the gadget by its own name.
    pub(crate) fn tool(&self, gadget: &str) -> Option<&'static str> {
        let is_by_tool = matches!(self.event.subject(), Subject::Gadget) && !self.has(gadget);
        let mut names = claude_code::names_of(gadget).filter(|_| is_by_tool);
        names.find(|name| self.has(name))
    }

    fn has(&self, subject: &str) -> bool {
        let mut matcher = self.matcher.iter();
        matcher.all(|it| it.pattern.is_match(subject))
    }

    /// The names of gadgets that its matcher has as words, each with the place of the matcher.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Place)> {
        let is_word = |it: &&str| {
            let mut chars = it.chars();
            !it.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let is_of_gadgets = matches!(self.event.subject(), Subject::Gadget);
        let matcher = self.matcher.iter().filter(move |_| is_of_gadgets);
        matcher.flat_map(move |it| {
            let words = it.written.split('|').filter(is_word);
            words.map(|word| (word, &it.place))
        })
    }

    /// The command in a few words, for messages.
    pub(crate) fn shown(&self) -> String {
        short(&self.command)
    }

    /// Where it is, for the user.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The names of what it is about, as written; `None` for all.
    pub(crate) fn matcher(&self) -> Option<&str> {
        self.matcher.as_ref().map(|it| it.written.as_str())
    }

    /// All that decides what it does, for who consents to it.
    pub(super) fn written(&self) -> String {
        let matcher = self.matcher().map(|written| format!(" {written:?}"));
        let (event, matcher) = (self.event.name(), matcher.unwrap_or_default());
        format!("hook {event}{matcher} = {:?}", self.command)
    }
}

/// Reads `[[hooks]]` of a file of this origin.
pub(super) fn hooks(item: &Item, origin: Origin) -> Result<Vec<HookCommand>, Error> {
    let Value::List(items) = &item.value else {
        return Err(item.wrong_type("hooks", "a list of tables, [[hooks]]"));
    };
    if let Some(item) = items.get(MOST) {
        let problem = format_args!("there are more than {MOST} hooks");
        return Err(item.place.error(problem));
    }
    items.iter().map(|item| hook(item, origin)).collect()
}

fn hook(item: &Item, origin: Origin) -> Result<HookCommand, Error> {
    let (mut event, mut matcher, mut command, mut timeout) = (None, None, None, TIMEOUT);
    for entry in item.table("hooks")? {
        let (key, place) = (entry.key.as_str(), &entry.item.place);
        let text = || entry.item.text(key);
        match key {
            "event" => {
                let name = text()?;
                let known = HookEvent::ALL.into_iter().find(|it| it.name() == name);
                let names = HookEvent::ALL.map(HookEvent::name).join(", ");
                event = Some(known.ok_or_else(|| {
                    place.error(format_args!(
                        "there is no event {name:?}; there are {names}"
                    ))
                })?);
            }
            "matcher" => {
                let written = text()?.trim();
                matcher = match written {
                    "" | "*" => None,
                    _ => Some(Matcher {
                        written: written.to_owned(),
                        pattern: pattern(written, place)?,
                        place: place.clone(),
                    }),
                };
            }
            "command" => {
                let text = text()?;
                let is_relative = ["./", "../"]
                    .iter()
                    .any(|it| text.trim_start().starts_with(it));
                if is_relative && origin == Origin::User {
                    return Err(place.error(
                        "this would run a program of whatever folder gadgetry is started in, also of a repository that was just cloned; \
                         write its whole path, such as ~/bin/check.sh",
                    ));
                }
                command = Some(text.to_owned());
            }
            "timeout" => {
                let text = text()?;
                timeout = parse_duration(text).ok_or_else(|| {
                    place.error(format_args!("{text:?} is not a duration such as 30s"))
                })?;
            }
            _ => return Err(unknown(entry, ["event", "matcher", "command", "timeout"])),
        }
    }
    let missing = |key: &str| item.place.error(format_args!("a hook needs {key}"));
    let event = event.ok_or_else(|| missing("an event"))?;
    if let Some(matcher) = &matcher {
        check_matcher(event, matcher)?;
    }
    Ok(HookCommand {
        event,
        matcher,
        command: command.ok_or_else(|| missing("a command"))?,
        timeout,
        place: item.place.clone(),
    })
}

/// A matcher that matches nothing is a command that never runs.
fn check_matcher(event: HookEvent, matcher: &Matcher) -> Result<(), Error> {
    let name = event.name();
    match event.subject() {
        Subject::Gadget if matcher.written.contains("mcp__") => Err(matcher.place.error(
            "MCP tools do not have the names of Claude Code here; write TOOL, or SERVER__TOOL if another gadget has that name, as \
             `gadgetry gadget list` shows them",
        )),
        Subject::Gadget | Subject::Agent => Ok(()),
        Subject::Nothing => {
            let words = format_args!("{name} is about nothing that a matcher could match");
            Err(matcher.place.error(words))
        }
        Subject::Words(words) if words.iter().any(|it| matcher.pattern.is_match(it)) => Ok(()),
        Subject::Words(words) => Err(matcher.place.error(format_args!(
            "{:?} matches nothing that {name} is about: {}",
            matcher.written,
            words.join(", ")
        ))),
    }
}

/// The pattern of a whole name.
fn pattern(written: &str, place: &Place) -> Result<Regex, Error> {
    // A guard that is about `writefile` is meant for `WriteFile`, as in rules of approvals.
    let mut pattern = RegexBuilder::new(&format!("^(?:{written})$"));
    pattern.case_insensitive(true).build().map_err(|_| {
        place.error(format_args!(
            "{written:?} is not a regular expression; expected names of gadgets, such as WriteFile|EditFile"
        ))
    })
}
