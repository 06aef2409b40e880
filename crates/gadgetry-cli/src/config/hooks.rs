//! `[[hooks]]`: commands that decide about calls and see their results.

use std::time::Duration;

use gadgetry::command::parse_duration;
use regex::{Regex, RegexBuilder};

use super::layer::unknown;
use super::value::{Item, Value};
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
}

impl HookEvent {
    const ALL: [Self; 3] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
    ];

    /// The name in files, and for the command.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
        }
    }
}

/// A pattern for names of gadgets.
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
    /// The names of the gadgets that it is about, as written and to be matched; `None` for all.
    matcher: Option<Matcher>,
    /// The text for `sh -c`.
    pub(crate) command: String,
    pub(crate) timeout: Duration,
}

impl HookCommand {
    /// Returns whether it is about a gadget.
    pub(crate) fn matches(&self, gadget: &str) -> bool {
        let mut matcher = self.matcher.iter();
        matcher.all(|it| it.pattern.is_match(gadget))
    }

    /// The names that its matcher has as words, each with the place of the matcher.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Place)> {
        let is_word = |it: &&str| {
            let mut chars = it.chars();
            !it.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        self.matcher.iter().flat_map(move |it| {
            let words = it.written.split('|').filter(is_word);
            words.map(|word| (word, &it.place))
        })
    }

    /// The command in a few words, for messages.
    pub(crate) fn shown(&self) -> String {
        short(&self.command)
    }

    /// All that decides what it does, for who consents to it.
    pub(super) fn written(&self) -> String {
        let matcher = self.matcher.as_ref();
        let matcher = matcher.map(|it| format!(" {:?}", it.written));
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
    Ok(HookCommand {
        event: event.ok_or_else(|| missing("an event"))?,
        matcher,
        command: command.ok_or_else(|| missing("a command"))?,
        timeout,
    })
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
