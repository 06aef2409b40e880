//! One rule: a pattern of calls, and the decision about them.

use std::fmt;

use gadgetry_proto::error::{Classified, Fault};
use serde_json::Value;

use super::pattern::{Pattern, Wildcards};
use crate::gadget::{CommandLine, Origin, Permission, Subject};

/// Allows, denies or asks about calls.
///
/// The calls are written as a name, in which `*` is any text, optionally followed by a pattern for the argument in parentheses:
///
/// | pattern | calls |
/// |---|---|
/// | `ReadFile`, `Read*`, `*` | to these gadgets; case does not matter |
/// | `WriteFile(src/*.rs)` | to write such files directly in `src` |
/// | `WriteFile(src/**)` | to write files in `src` and all folders below it |
/// | `RunCommand(cargo test *)` | to run `cargo test` in the workspace's root, with any arguments or none |
/// | `RunCommand(cargo test *) in crates/**` | the same in folders below `crates`; `in **` is any folder |
/// | `RunCommand(cargo test *) in /home/me/shop` | the same in this folder and in no other workspace |
/// | `RunCommand in the sandbox` | to run commands in the sandbox; may also follow a pattern or a folder |
/// | `HttpFetch(https://*.example.com/**)` | to fetch pages of these hosts |
/// | `Deploy(target=staging*)` | to another gadget, by one of its parameters |
/// | `look@weather#3f1c…` | to the tool `look` of the MCP server `weather`, in its current definition |
/// | `look@weather`, `*@weather` | to this tool, or to all tools, of the server, however it defines them |
///
/// In paths and URLs, `*` is any text without a `/`, and `**` any text. In commands and parameters `*` is any text, but in a rule
/// that allows a command it matches nothing that a shell reads as more than a word (`;`, `&`, `|`, `<`, `>`, `$`, `` ` ``,
/// parentheses, braces, separators of lines, control characters): `cargo test; curl …` is not allowed by `cargo test*`. Nor
/// does a `*` with something after it match the beginning of a comment, or one quotation mark without the other. A backslash
/// makes the character after it literal.
///
/// Rules that allow apply to exactly what they name; rules that deny or ask apply to more:
///
/// - A call about a folder with everything in it (recursive deletion, search, listing) is allowed by a pattern that matches
///   everything in it, as `tmp/**` does for `tmp/x`. In a rule that denies, a pattern that matches the folder, or anything
///   directly in it, is enough.
/// - A rule without `in` allows commands in the root of any workspace, and denies them in every folder. A rule without a pattern
///   applies to all calls of the gadget, wherever they run.
/// - A folder that begins with `/` is an absolute path, any other is in the workspace.
/// - A rule with `in the sandbox` applies to commands in the sandbox only; without it, to those outside as well.
/// - A rule without `@` does not allow the calls of a server's tools, unless its name is `*`. It denies them.
///
/// A rule that misspells the name of one of the agent's gadgets is an error when the agent is built:
/// [`AgentError::RuleWithoutGadget`](crate::AgentError::RuleWithoutGadget). If the rule is about a gadget that is added later,
/// such as that of a subagent or a server, write its name with an `@`, a `*`, or a backslash before a character.
///
/// ```
/// use gadgetry::Permission;
/// use gadgetry::approval::Rule;
///
/// let rule = Rule::new(Permission::Allow, "RunCommand(cargo test *) in crates/*")?;
/// assert_eq!(rule.to_string(), "allow RunCommand(cargo test *) in crates/*");
/// # Ok::<(), gadgetry::approval::InvalidRule>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    permission: Permission,
    text: String,
    gadget: Pattern,
    /// True if the rule is about every gadget.
    is_any: bool,
    origin: Option<Source>,
    argument: Option<Argument>,
    folder: Option<Pattern>,
    /// True if the rule is about commands in the sandbox only.
    is_sandboxed: bool,
}

/// The parts of a rule, as written.
struct Parts<'t> {
    name: &'t str,
    pattern: Option<&'t str>,
    folder: Option<&'t str>,
    is_sandboxed: bool,
}

/// The end of a rule that is about commands in the sandbox only.
const IN_THE_SANDBOX: &str = " in the sandbox";

#[derive(Clone, Debug)]
struct Argument {
    path: Pattern,
    command: Pattern,
    parameter: Option<(String, Pattern)>,
}

/// The servers whose tools a rule is about.
#[derive(Clone, Debug)]
struct Source {
    server: Pattern,
    definition: Option<String>,
}

/// The name of a gadget, and its source if others define it.
///
/// ```
/// use gadgetry::approval::Named;
/// assert_eq!(Named::from("ReadFile").name, "ReadFile");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Named<'g> {
    /// The name.
    pub name: &'g str,
    /// The source.
    pub origin: Option<&'g Origin>,
}

impl<'g> From<&'g str> for Named<'g> {
    fn from(name: &'g str) -> Self {
        Self { name, origin: None }
    }
}

impl<'g> From<&'g String> for Named<'g> {
    fn from(name: &'g String) -> Self {
        Self::from(name.as_str())
    }
}

impl<'g> From<&&'g str> for Named<'g> {
    fn from(name: &&'g str) -> Self {
        Self::from(*name)
    }
}

impl Rule {
    /// Makes a rule about the calls that `calls` describes.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] if `calls` does not have this form.
    pub fn new(permission: Permission, calls: &str) -> Result<Self, InvalidRule> {
        let text = calls.trim();
        let invalid = |reason| InvalidRule {
            text: text.to_owned(),
            reason,
        };
        let compile = |pattern: &str, wildcards| {
            Pattern::new(pattern, wildcards).ok_or_else(|| invalid("the pattern is too long"))
        };
        let parts = parts(text).map_err(invalid)?;
        let (name, origin) = sourced(parts.name);
        let origin = origin.map(|(server, definition)| {
            if server.is_empty() || definition.is_some_and(str::is_empty) {
                return Err(invalid(
                    "write `tool@server` or `tool@server#definition`, or a backslash before an `@` of a name",
                ));
            }
            Ok(Source {
                server: compile(server, Wildcards::Anything)?,
                definition: definition.map(str::to_owned),
            })
        });
        if name.is_empty() {
            return Err(invalid(
                "the name of a gadget is missing; `*` means all of them",
            ));
        }
        if name.contains(|c: char| c.is_whitespace() || c == ')') {
            return Err(invalid(
                "the name of a gadget contains no spaces and no parentheses",
            ));
        }
        let argument = parts
            .pattern
            .map(|pattern| {
                if pattern.trim().is_empty() {
                    return Err(invalid("the pattern between the parentheses is empty"));
                }
                let words = match permission {
                    Permission::Allow => Wildcards::PlainWords,
                    Permission::Ask | Permission::Deny => Wildcards::Anything,
                };
                let parameter = pattern.split_once('=').map(|(key, pattern)| {
                    let pattern = compile(pattern, Wildcards::Anything)?;
                    Ok((key.trim().to_owned(), pattern))
                });
                Ok(Argument {
                    path: compile(pattern, Wildcards::Segments)?,
                    command: compile(pattern, words)?,
                    parameter: parameter.transpose()?,
                })
            })
            .transpose()?;
        let folder = parts.folder.map(|folder| match folder {
            "" => Err(invalid(
                "the folder after `in` is missing; `**` means all of them",
            )),
            folder => compile(folder, Wildcards::Segments),
        });
        Ok(Self {
            permission,
            text: text.to_owned(),
            gadget: compile(&name.to_lowercase(), Wildcards::Anything)?,
            is_any: name == "*",
            origin: origin.transpose()?,
            argument,
            folder: folder.transpose()?,
            is_sandboxed: parts.is_sandboxed,
        })
    }

    /// Makes a rule about the calls of this gadget that act on exactly this subject, or about all of its calls if `subject` is
    /// `None`. One about a command is about its folder in this workspace, and about the sandbox if the command runs in it.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] if the text of the subject is too long, or one of the names cannot be written in a rule, as `a(b)`.
    pub(crate) fn exactly<'g>(
        permission: Permission,
        gadget: impl Into<Named<'g>>,
        subject: Option<&Subject>,
    ) -> Result<Self, InvalidRule> {
        let pattern = subject.map(|subject| match subject {
            Subject::Folder(folder) => everything_in(folder),
            // As it is compared.
            Subject::Command(command) => Pattern::literal(trimmed(&command.line)),
            Subject::Path(_) | Subject::Url(_) => Pattern::literal(subject.text()),
        });
        let command = match subject {
            Some(Subject::Command(command)) => Some(command),
            Some(_) | None => None,
        };
        Self::of_gadget(permission, gadget.into(), pattern.as_deref(), command)
    }

    /// Makes a rule about the calls of this gadget that match a pattern, and run where `command` does. Names are literal: a
    /// third-party tool may be named `*`.
    pub(super) fn of_gadget(
        permission: Permission,
        gadget: Named<'_>,
        pattern: Option<&str>,
        command: Option<&CommandLine>,
    ) -> Result<Self, InvalidRule> {
        let invalid = |text: &str, reason| InvalidRule {
            text: text.to_owned(),
            reason,
        };
        let word = |name: &str| {
            if name.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')')) {
                let reason = "the name of a gadget contains no spaces and no parentheses";
                return Err(invalid(name, reason));
            }
            Ok(Pattern::literal(name)
                .replace('@', r"\@")
                .replace('#', r"\#"))
        };
        let mut calls = word(gadget.name)?;
        if let Some(origin) = gadget.origin {
            calls.extend(["@", &word(&origin.server)?, "#", &word(&origin.definition)?]);
        }
        if let Some(pattern) = pattern {
            calls.extend(["(", pattern, ")"]);
        }
        if let Some(folder) = command.and_then(place) {
            let is_misread = folder != folder.trim()
                || folder.ends_with(')')
                || folder.contains(") in ")
                || folder.ends_with(IN_THE_SANDBOX);
            if is_misread {
                return Err(invalid(&folder, "this folder cannot be written in a rule"));
            }
            calls.extend([" in ", &Pattern::literal(&folder)]);
        }
        if command.is_some_and(|command| command.is_sandboxed) {
            calls.push_str(IN_THE_SANDBOX);
        }
        Self::new(permission, &calls)
    }

    /// Returns the permission that the rule gives.
    pub fn permission(&self) -> Permission {
        self.permission
    }

    /// The calls, as written.
    pub fn calls(&self) -> &str {
        &self.text
    }

    /// The name of the gadget, as written: it may have a `*`, and a backslash before other characters.
    ///
    /// ```
    /// # use gadgetry::approval::Rule;
    /// let rule: Rule = "deny look@weather".parse()?;
    /// assert_eq!(rule.gadget(), "look");
    /// # Ok::<(), gadgetry::approval::InvalidRule>(())
    /// ```
    pub fn gadget(&self) -> &str {
        parts(&self.text).map_or("", |parts| sourced(parts.name).0)
    }

    /// Returns whether the rule is about tools of servers only.
    pub(super) fn is_about_server(&self) -> bool {
        self.origin.is_some()
    }

    /// Returns whether the rule is about this call.
    pub fn matches<'g>(
        &self,
        gadget: impl Into<Named<'g>>,
        parameters: &Value,
        subject: Option<&Subject>,
    ) -> bool {
        self.is_about_gadget(gadget.into())
            && (!self.is_sandboxed || is_sandboxed(subject))
            && self.is_about_folder_of(subject)
            && self.argument.as_ref().is_none_or(|argument| match subject {
                Some(Subject::Path(text) | Subject::Url(text)) => argument.path.matches(text),
                Some(Subject::Folder(folder)) if self.allows() => argument.path.covers(folder),
                Some(Subject::Folder(folder)) => argument.path.touches(folder),
                Some(Subject::Command(CommandLine { line, .. })) => {
                    argument.command.matches(trimmed(line))
                }
                None => argument
                    .parameter
                    .as_ref()
                    .is_some_and(|(key, pattern)| match parameters.get(key) {
                        Some(Value::String(text)) => pattern.matches(text),
                        Some(value) => pattern.matches(&value.to_string()),
                        None => false,
                    }),
            })
    }

    /// Returns why the rule does not allow this command although its pattern resembles the line; `None` if it does not resemble it.
    pub(super) fn misses(&self, gadget: Named<'_>, subject: Option<&Subject>) -> Option<String> {
        let Some(Subject::Command(command)) = subject else {
            return None;
        };
        let parts = parts(&self.text).ok()?;
        let pattern = parts
            .pattern
            .filter(|_| self.allows() && self.is_about_gadget(gadget))?;
        let line = trimmed(&command.line);
        if !Pattern::new(pattern, Wildcards::Anything)?.matches(line) {
            return None;
        }
        let why = if self.is_sandboxed && !command.is_sandboxed {
            "it is about commands in the sandbox".to_owned()
        } else if !self.is_about_folder_of(subject) {
            match parts.folder {
                Some(folder) => {
                    let folder = named_as(folder, command);
                    format!("it is not about the folder {}", folder.unwrap_or_default())
                }
                None => "without `in FOLDER` it is about the workspace's root".to_owned(),
            }
        } else if !self.argument.as_ref()?.command.matches(line) {
            let any = Pattern::new("*", Wildcards::PlainWords)?;
            let is_word = |c: char| any.matches(c.encode_utf8(&mut [0; 4]));
            let mut separators = line.chars().filter(|c| !is_word(*c));
            let first = separators.clone().next();
            let separator = separators.find(|c| !pattern.contains(*c)).or(first);
            match separator {
                None => "no `*` before its end matches a comment or an open quotation".to_owned(),
                Some('\n') => "no `*` of it matches a line break".to_owned(),
                Some(c) => format!("no `*` of it matches `{}`", c.escape_debug()),
            }
        } else {
            return None;
        };
        Some(format!("`{self}` does not allow it: {why}"))
    }

    fn allows(&self) -> bool {
        self.permission == Permission::Allow
    }

    fn is_about_gadget(&self, gadget: Named<'_>) -> bool {
        self.gadget.matches(&gadget.name.to_lowercase()) && self.is_about_tools_of(gadget.origin)
    }

    fn is_about_tools_of(&self, origin: Option<&Origin>) -> bool {
        match (&self.origin, origin) {
            (None, None) => true,
            (None, Some(_)) => self.is_any || !self.allows(),
            (Some(_), None) => false,
            (Some(rule), Some(origin)) => {
                let definition = rule.definition.as_ref();
                rule.server.matches(&origin.server)
                    && (!self.allows() || definition.is_none_or(|it| *it == origin.definition))
            }
        }
    }

    fn is_about_folder_of(&self, subject: Option<&Subject>) -> bool {
        match (&self.folder, subject) {
            (Some(folder), Some(Subject::Command(command))) => {
                let written = parts(&self.text).ok().and_then(|parts| parts.folder);
                let name = written.and_then(|written| named_as(written, command));
                name.map_or(!self.allows(), |name| folder.matches(&name))
            }
            (Some(_), _) => false,
            (None, Some(Subject::Command(command))) => {
                command.folder.is_none() || self.argument.is_none() || !self.allows()
            }
            (None, _) => true,
        }
    }
}

fn is_sandboxed(subject: Option<&Subject>) -> bool {
    matches!(subject, Some(Subject::Command(command)) if command.is_sandboxed)
}

/// Returns the folder of a command as a rule about exactly this folder names it; `None` for the root of an unknown workspace.
fn place(command: &CommandLine) -> Option<String> {
    command.absolute_folder().or_else(|| command.folder.clone())
}

/// Returns the folder of a command in the form of `written`, the folder of a rule: absolute, or relative to the workspace.
fn named_as(written: &str, command: &CommandLine) -> Option<String> {
    if written.starts_with('/') {
        return command.absolute_folder();
    }
    Some(command.folder.as_deref().unwrap_or(".").to_owned())
}

/// Trims the blanks that a shell skips. It treats other whitespace as part of a word.
fn trimmed(line: &str) -> &str {
    line.trim_matches([' ', '\t', '\n'])
}

/// Returns a pattern for everything in a folder.
pub(super) fn everything_in(folder: &str) -> String {
    match folder {
        "." => "**".to_owned(),
        folder => format!("{}/**", Pattern::literal(folder)),
    }
}

/// Returns the parts of `NAME(PATTERN) in FOLDER in the sandbox`. A text that ends with a parenthesis has no folder, whatever the
/// pattern contains.
fn parts(text: &str) -> Result<Parts<'_>, &'static str> {
    let (text, is_sandboxed) = match text.strip_suffix(IN_THE_SANDBOX) {
        Some(text) => (text.trim_end(), true),
        None => (text, false),
    };
    let (name, pattern, folder) = match text.split_once('(') {
        None => match text.split_once(" in ") {
            Some((name, folder)) => (name, None, Some(folder)),
            None => (text, None, None),
        },
        Some((name, rest)) => {
            if let Some(inside) = rest.strip_suffix(')') {
                (name, Some(inside), None)
            } else {
                let parts = rest.rsplit_once(") in ");
                let (inside, folder) = parts.ok_or("the closing parenthesis is missing")?;
                (name, Some(inside), Some(folder))
            }
        }
    };
    Ok(Parts {
        name: name.trim_end(),
        pattern,
        folder: folder.map(str::trim),
        is_sandboxed,
    })
}

/// Splits `TOOL@SERVER#DEFINITION` at characters without a backslash before them.
fn sourced(name: &str) -> (&str, Option<(&str, Option<&str>)>) {
    let Some((tool, source)) = split_at_plain(name, '@') else {
        return (name, None);
    };
    match split_at_plain(source, '#') {
        Some((server, definition)) => (tool, Some((server, Some(definition)))),
        None => (tool, Some((source, None))),
    }
}

fn split_at_plain(text: &str, separator: char) -> Option<(&str, &str)> {
    let mut is_literal = false;
    for (index, c) in text.char_indices() {
        if c == separator && !is_literal {
            return Some((&text[..index], &text[index + c.len_utf8()..]));
        }
        is_literal = c == '\\' && !is_literal;
    }
    None
}

/// The permission and the calls, as in `deny WriteFile(.git/**)`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.permission, self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.permission == other.permission && self.text == other.text
    }
}

impl Eq for Rule {}

/// Error for a text that does not describe calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid rule `{text}`: {reason}; write `Gadget` or `Gadget(pattern)`")]
pub struct InvalidRule {
    text: String,
    reason: &'static str,
}

impl Classified for InvalidRule {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl InvalidRule {
    pub(super) fn without_permission(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            reason: "it does not begin with `allow`, `ask` or `deny`",
        }
    }
}
