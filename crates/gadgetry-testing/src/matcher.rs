//! Matches requests to the rules of a mock model.

use gadgetry::proto::convo::TextForm;
use gadgetry::proto::message::{MediaKind, Message, Purpose, Request, Role};
use regex::Regex;

use crate::content::{media, results};
use crate::render::middle_left_out;

/// Maximum number of characters of a message in the reason of a refusal.
const SHOWN: usize = 120;

/// Matches every request.
///
/// ```
/// use gadgetry_testing::{MockModel, any};
/// let model = MockModel::builder().when(any()).optional().replies_text("done").build();
/// # drop(model);
/// ```
pub fn any() -> impl FnOnce(Matcher) -> Matcher {
    |matcher| matcher
}

/// Conditions on a request; all of them must hold. The text of a message is what a model reads of it: blocks, tags and
/// `Result (id): …` included. The last message is that of the conversation: hints that only one request carries stand
/// after it, and count where some message is looked for.
///
/// ```
/// use gadgetry::proto::message::Role;
/// use gadgetry_testing::MockModel;
/// let model = MockModel::builder()
///     .when(|m| m.last_message_contains("weather").message_count(2)).optional().replies_text("Sunny.")
///     .when(|m| m.role_matches(Role::User, r"\bQ\d+\b").not(|m| m.has_result("a"))).optional().replies_text("42")
///     .when(|m| m.is("asked late", |request| request.iteration > 8)).optional().replies_text("I give up.")
///     .build();
/// # drop(model);
/// ```
#[derive(Default)]
pub struct Matcher {
    conditions: Vec<Condition>,
}

struct Condition {
    label: String,
    /// The reason of a refusal.
    test: Box<Test>,
}

type Test = dyn Fn(&Asked<'_>) -> Result<(), String> + Send + Sync;

/// A request as conditions see it.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Request,
    /// All messages, those that only this request carries included.
    pub(crate) all_messages: &'a [Message],
    pub(crate) form: TextForm<'a>,
    pub(crate) model: &'a str,
    /// Requests before this one.
    pub(crate) before: usize,
}

impl Asked<'_> {
    fn texts(&self, role: Option<Role>) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let messages = self.all_messages.iter();
        let spoken = messages.filter(move |message| role.is_none_or(|role| role == message.role));
        spoken.map(|message| self.form.of(message))
    }
}

impl Matcher {
    /// The last message contains `text`.
    #[must_use]
    pub fn last_message_contains(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.last_message(format!("the last message contains {text:?}"), move |last| {
            last.contains(&text)
        })
    }

    /// The last message matches a regular expression.
    ///
    /// # Panics
    ///
    /// If `pattern` is not a valid regular expression.
    #[track_caller]
    #[must_use]
    pub fn last_message_matches(self, pattern: &str) -> Self {
        let regex = compiled(pattern);
        self.last_message(
            format!("the last message matches /{pattern}/"),
            move |last| regex.is_match(last),
        )
    }

    fn last_message(
        self,
        label: String,
        test: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(label, move |asked| {
            let Some(last) = asked.request.messages.last() else {
                return Err("there is no message".to_owned());
            };
            let text = asked.form.of(last);
            if test(&text) {
                return Ok(());
            }
            let text = middle_left_out(&text, SHOWN);
            Err(format!(
                "it is of the {} and reads {text:?}",
                last.role.name()
            ))
        })
    }

    /// Some message contains `text`, in any role.
    #[must_use]
    pub fn message_contains(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.some_message(None, &format!("contains {text:?}"), move |message| {
            message.contains(&text)
        })
    }

    /// Some message matches a regular expression, in any role.
    ///
    /// # Panics
    ///
    /// If `pattern` is not a valid regular expression.
    #[track_caller]
    #[must_use]
    pub fn message_matches(self, pattern: &str) -> Self {
        let regex = compiled(pattern);
        self.some_message(None, &format!("matches /{pattern}/"), move |message| {
            regex.is_match(message)
        })
    }

    /// Some message of this role contains `text`.
    #[must_use]
    pub fn role_contains(self, role: Role, text: impl Into<String>) -> Self {
        let text = text.into();
        self.some_message(Some(role), &format!("contains {text:?}"), move |message| {
            message.contains(&text)
        })
    }

    /// Some message of this role matches a regular expression.
    ///
    /// # Panics
    ///
    /// If `pattern` is not a valid regular expression.
    #[track_caller]
    #[must_use]
    pub fn role_matches(self, role: Role, pattern: &str) -> Self {
        let regex = compiled(pattern);
        self.some_message(
            Some(role),
            &format!("matches /{pattern}/"),
            move |message| regex.is_match(message),
        )
    }

    fn some_message(
        self,
        of: Option<Role>,
        what: &str,
        test: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let who = of.map_or_else(|| "a".to_owned(), |of| format!("a {}", of.name()));
        self.with(format!("{who} message {what}"), move |asked| {
            if asked.texts(of).any(|text| test(&text)) {
                return Ok(());
            }
            Err(match asked.texts(of).count() {
                0 => "there is no such message".to_owned(),
                1 => "the only one does not".to_owned(),
                count => format!("none of {count} does"),
            })
        })
    }

    /// The last message is of this role.
    #[must_use]
    pub fn last_role(self, wanted: Role) -> Self {
        let label = format!("the last message is of the {}", wanted.name());
        self.with(label, move |asked| match asked.request.messages.last() {
            Some(last) if last.role == wanted => Ok(()),
            Some(last) => Err(format!("it is of the {}", last.role.name())),
            None => Err("there is no message".to_owned()),
        })
    }

    /// The conversation has this many messages, including those of the system.
    #[must_use]
    pub fn message_count(self, count: usize) -> Self {
        self.number("messages", count, |asked| asked.request.messages.len())
    }

    /// The run asks for its `number`th reply, from 1.
    #[must_use]
    pub fn iteration(self, number: u32) -> Self {
        self.number("iteration", number, |asked| asked.request.iteration)
    }

    /// The reply is wanted for this.
    #[must_use]
    pub fn purpose(self, wanted: Purpose) -> Self {
        self.with(format!("the purpose is {wanted:?}"), move |asked| {
            let purpose = asked.request.purpose;
            let refusal = || format!("it is {purpose:?}");
            (purpose == wanted).then_some(()).ok_or_else(refusal)
        })
    }

    /// The mock received this many requests before, from any run.
    #[must_use]
    pub fn calls_before(self, count: usize) -> Self {
        self.number("calls before", count, |asked| asked.before)
    }

    fn number<N: PartialEq + std::fmt::Display + Send + Sync + 'static>(
        self,
        what: &str,
        wanted: N,
        number: impl Fn(&Asked<'_>) -> N + Send + Sync + 'static,
    ) -> Self {
        self.with(format!("{what}: {wanted}"), move |asked| {
            let number = number(asked);
            let refusal = || format!("this request has {number}");
            (number == wanted).then_some(()).ok_or_else(refusal)
        })
    }

    /// The name of the model contains `part`. One mock can have several; see
    /// [`MockModel::as_named`](crate::MockModel::as_named).
    #[must_use]
    pub fn model(self, part: impl Into<String>) -> Self {
        let part = part.into();
        self.with(
            format!("the model's name contains {part:?}"),
            move |asked| {
                let refusal = || format!("it is {:?}", asked.model);
                let found = asked.model.contains(&part);
                found.then_some(()).ok_or_else(refusal)
            },
        )
    }

    /// The last message holds the result of the call with this id.
    #[must_use]
    pub fn has_result(self, invocation_id: impl Into<String>) -> Self {
        let wanted = invocation_id.into();
        self.with(format!("the result of {wanted:?} has come"), move |asked| {
            let last = asked.request.messages.last();
            let ids = last.into_iter().flat_map(results).map(|(id, _)| id);
            let ids: Vec<_> = ids.collect();
            if ids.contains(&wanted.as_str()) {
                return Ok(());
            }
            Err(format!("the last message has results of {ids:?}"))
        })
    }

    /// Some message has a picture, a sound or a file.
    #[must_use]
    pub fn has_media(self, kind: MediaKind) -> Self {
        self.with(
            format!("some media are of the kind {kind:?}"),
            move |asked| {
                let kinds = asked.all_messages.iter().flat_map(media).map(|it| it.kind);
                let kinds: Vec<_> = kinds.collect();
                let refusal = || format!("there are {kinds:?}");
                kinds.contains(&kind).then_some(()).ok_or_else(refusal)
            },
        )
    }

    /// Anything else. `label` says in reports what is wanted.
    #[must_use]
    pub fn is(
        self,
        label: impl Into<String>,
        test: impl Fn(&Request) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(label.into(), move |asked| {
            let refusal = || "it is not so".to_owned();
            test(asked.request).then_some(()).ok_or_else(refusal)
        })
    }

    /// The conditions of `build` do not all hold.
    #[must_use]
    pub fn not(self, build: impl FnOnce(Matcher) -> Matcher) -> Self {
        let inner = build(Matcher::default());
        self.with(format!("not ({})", inner.label()), move |asked| {
            let refusal = || "it is so".to_owned();
            inner.refusal(asked).map(drop).ok_or_else(refusal)
        })
    }

    fn with(
        mut self,
        label: String,
        test: impl Fn(&Asked<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let test = Box::new(test);
        self.conditions.push(Condition { label, test });
        self
    }

    /// Formats the conditions for messages.
    pub(crate) fn label(&self) -> String {
        let labels: Vec<_> = self.conditions.iter().map(|it| it.label.as_str()).collect();
        if labels.is_empty() {
            return "any request".to_owned();
        }
        labels.join(", and ")
    }

    /// The first condition that does not hold, and why.
    pub(crate) fn refusal(&self, asked: &Asked<'_>) -> Option<String> {
        self.conditions.iter().find_map(|condition| {
            let reason = (condition.test)(asked).err()?;
            Some(format!("{}: {reason}", condition.label))
        })
    }
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matcher({})", self.label())
    }
}

#[track_caller]
fn compiled(pattern: &str) -> Regex {
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => panic!("the test's pattern is not a valid regular expression: {error}"),
    }
}
