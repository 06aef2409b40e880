//! One rule: which calls, and what about them.

use std::fmt;

use serde_json::Value;

use super::pattern::{Pattern, Wildcards};
use crate::gadget::{Permission, Subject};

/// Allows, denies or asks about calls.
///
/// The calls are written as a name, in which `*` is any text, and optionally a pattern for the argument in parentheses:
///
/// | pattern | calls |
/// |---|---|
/// | `ReadFile`, `mcp_*`, `*` | of these gadgets; case does not matter |
/// | `WriteFile(src/*.rs)` | of files directly in `src` |
/// | `WriteFile(src/**)` | of files in `src` and all folders below it |
/// | `RunCommand(cargo test *)` | of `cargo test`, with any arguments or none |
/// | `HttpFetch(https://*.example.com/**)` | of pages of these hosts |
/// | `Deploy(target=staging*)` | of other gadgets, by one of their parameters |
///
/// In paths and URLs, `*` is any text without a `/`, and `**` any text. In commands and parameters `*` is any text, but in a
/// rule that allows a command it contains nothing that a shell reads as more than a word (`;`, `&`, `|`, `<`, `>`, `$`, `` ` ``,
/// parentheses, braces, line breaks): `cargo test; curl …` is not allowed by `cargo test*`. A backslash makes the character
/// after it literal.
///
/// ```
/// use gadgetry::Permission;
/// use gadgetry::approval::Rule;
///
/// let rule = Rule::new(Permission::Allow, "RunCommand(cargo test *)")?;
/// assert_eq!(rule.to_string(), "allow RunCommand(cargo test *)");
/// # Ok::<(), gadgetry::approval::InvalidRule>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    permission: Permission,
    text: String,
    gadget: Pattern,
    argument: Option<Argument>,
}

#[derive(Clone, Debug)]
struct Argument {
    path: Pattern,
    command: Pattern,
    parameter: Option<(String, Pattern)>,
}

impl Rule {
    /// A rule about the calls that `calls` describes.
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
        let (name, argument) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')');
                let inside = inside.ok_or_else(|| invalid("the closing parenthesis is missing"))?;
                (name.trim_end(), Some(inside))
            }
        };
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
        let compile = |pattern: &str, wildcards| {
            Pattern::new(pattern, wildcards).ok_or_else(|| invalid("the pattern is too long"))
        };
        let argument = argument
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
        Ok(Self {
            permission,
            text: text.to_owned(),
            gadget: compile(&name.to_lowercase(), Wildcards::Anything)?,
            argument,
        })
    }

    /// A rule about calls of this gadget that act on exactly this, or about all of its calls if `subject` is `None`.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] if the text of the subject is too long, or the name of the gadget cannot be written in a rule, as `a(b)`.
    pub fn exactly(
        permission: Permission,
        gadget: &str,
        subject: Option<&Subject>,
    ) -> Result<Self, InvalidRule> {
        let pattern = subject.map(|subject| Pattern::literal(subject.text()));
        Self::of_gadget(permission, gadget, pattern.as_deref())
    }

    /// A rule about calls of this gadget that match a pattern. Its name is taken literally: a stranger's tool may be named `*`.
    pub(super) fn of_gadget(
        permission: Permission,
        gadget: &str,
        pattern: Option<&str>,
    ) -> Result<Self, InvalidRule> {
        if gadget.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')')) {
            return Err(InvalidRule {
                text: gadget.to_owned(),
                reason: "the name of a gadget contains no spaces and no parentheses",
            });
        }
        let gadget = Pattern::literal(gadget);
        match pattern {
            Some(pattern) => Self::new(permission, &format!("{gadget}({pattern})")),
            None => Self::new(permission, &gadget),
        }
    }

    /// What it says about the calls.
    pub fn permission(&self) -> Permission {
        self.permission
    }

    /// The calls, as written.
    pub fn calls(&self) -> &str {
        &self.text
    }

    /// Returns whether it is about this call.
    pub fn matches(&self, gadget: &str, parameters: &Value, subject: Option<&Subject>) -> bool {
        self.gadget.matches(&gadget.to_lowercase())
            && self.argument.as_ref().is_none_or(|argument| match subject {
                Some(Subject::Path(text) | Subject::Url(text)) => argument.path.matches(text),
                Some(Subject::Command(text)) => argument.command.matches(text.trim()),
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

/// A text that describes no calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid rule `{text}`: {reason}; write `Gadget` or `Gadget(pattern)`")]
pub struct InvalidRule {
    text: String,
    reason: &'static str,
}

impl InvalidRule {
    pub(super) fn without_permission(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            reason: "it does not begin with `allow`, `ask` or `deny`",
        }
    }
}
