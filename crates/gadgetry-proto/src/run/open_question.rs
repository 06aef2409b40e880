//! The questions of a run that wait for an answer, for callers outside of its driver.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};
use crate::event::Approval;
use crate::id::{ApprovalId, CallId};
use crate::run::question::{Decision, QuestionId, QuestionKind};
use crate::run::start::AboutCall;

/// A question without an answer, see [`Run::open_questions`](crate::run::Run::open_questions).
///
/// ```
/// use gadgetry_proto::run::OpenQuestion;
/// let text = r#"{ "id": "5.0", "kind": "human", "call": 5, "gadget": "Book", "text": "Which day?" }"#;
/// let question: OpenQuestion = serde_json::from_str(text)?;
/// assert_eq!(question.id.to_string(), "5.0");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// The number that the answer names.
    pub id: QuestionRef,
    /// The subject of the question.
    pub kind: OpenQuestionKind,
    /// The call that it is about, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The gadget of the call, as registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gadget: Option<String>,
    /// The text to show.
    pub text: String,
    /// What the user is shown about a call that waits for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Arc<Approval>>,
}

impl OpenQuestion {
    /// A question that the run has asked.
    pub fn of(id: QuestionId, kind: &QuestionKind) -> Self {
        use OpenQuestionKind as Kind;
        let (kind, call, text) = match kind {
            QuestionKind::BeforeModelCall { request } => {
                let text = format!("Send request {} to the model?", request.iteration);
                (Kind::BeforeModelCall, None, text)
            }
            QuestionKind::BeforeCompaction { tokens, .. } => {
                let text = format!("Compact the conversation of {tokens} tokens?");
                (Kind::BeforeCompaction, None, text)
            }
            QuestionKind::AfterModelCall { iteration, .. } => {
                let text = format!("Reply {iteration} was read. Continue?");
                (Kind::AfterModelCall, None, text)
            }
            QuestionKind::ModelError { error, .. } => {
                (Kind::ModelError, None, error.message.clone())
            }
            QuestionKind::BeforeGadget { start } => {
                let (name, parameters) = (&start.gadget_name, &start.parameters);
                let text = format!("Execute gadget '{name}' with {parameters}?");
                let gadget = Some((start.id, name.as_str()));
                (Kind::BeforeGadget, gadget, text)
            }
            QuestionKind::AfterGadget { about, result, .. } => {
                let (Ok(text) | Err(text)) = result;
                (Kind::AfterGadget, Some(call(about)), text.clone())
            }
            QuestionKind::DependencySkipped { about, error, .. } => {
                (Kind::DependencySkipped, Some(call(about)), error.clone())
            }
            QuestionKind::Human { about, question } => {
                (Kind::Human, Some(call(about)), question.clone())
            }
            QuestionKind::Interrupted { about, question } => {
                (Kind::Interrupted, Some(call(about)), question.clone())
            }
            QuestionKind::Input { text } => (Kind::Input, None, text.clone()),
        };
        Self {
            id: QuestionRef::Run(id),
            kind,
            call: call.map(|(id, _)| id),
            gadget: call.map(|(_, gadget)| gadget.to_owned()),
            text,
            approval: None,
        }
    }

    /// An approval of a call.
    pub(super) fn of_approval(approval: &Arc<Approval>) -> Self {
        let (name, parameters) = (&approval.gadget_name, &approval.parameters);
        Self {
            id: QuestionRef::Approval(approval.id),
            kind: OpenQuestionKind::BeforeGadget,
            call: Some(approval.id.call),
            gadget: Some(name.clone()),
            text: format!("Execute gadget '{name}' with {parameters}?"),
            approval: Some(Arc::clone(approval)),
        }
    }
}

fn call(about: &AboutCall) -> (CallId, &str) {
    (about.id, &about.gadget_name)
}

/// The subject of an [`OpenQuestion`]. It displays as in JSON: `human`, `beforeGadget`.
///
/// ```
/// use gadgetry_proto::run::OpenQuestionKind;
/// assert_eq!(OpenQuestionKind::BeforeGadget.to_string(), "beforeGadget");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OpenQuestionKind {
    /// [`QuestionKind::BeforeModelCall`]
    BeforeModelCall,
    /// [`QuestionKind::BeforeCompaction`]
    BeforeCompaction,
    /// [`QuestionKind::AfterModelCall`]
    AfterModelCall,
    /// [`QuestionKind::ModelError`]
    ModelError,
    /// [`QuestionKind::BeforeGadget`]: an approval.
    BeforeGadget,
    /// [`QuestionKind::AfterGadget`]
    AfterGadget,
    /// [`QuestionKind::DependencySkipped`]
    DependencySkipped,
    /// [`QuestionKind::Human`], and the questions of gadgets that are running.
    Human,
    /// [`QuestionKind::Input`]
    Input,
    /// [`QuestionKind::Interrupted`]
    Interrupted,
}

/// The rewrite after which a decision stops the run.
fn stopped(decision: &Decision) -> Option<&Decision> {
    if let Decision::StopAfter(rewrite) = decision {
        Some(rewrite)
    } else {
        None
    }
}

impl OpenQuestionKind {
    /// Returns `true` if a question of this kind admits this answer.
    pub fn admits(self, decision: &Decision) -> bool {
        use Decision as D;
        match self {
            _ if matches!(decision, D::Proceed) => true,
            Self::BeforeModelCall => matches!(decision, D::Request(_) | D::Reply(_) | D::Stop),
            Self::BeforeCompaction => matches!(decision, D::Deny(_)),
            Self::AfterModelCall => {
                let reply = stopped(decision).unwrap_or(decision);
                matches!(reply, D::AfterReply { .. }) || matches!(decision, D::Stop)
            }
            Self::ModelError => matches!(decision, D::Reply(_)),
            Self::BeforeGadget => matches!(decision, D::Parameters(_) | D::Result(_) | D::Deny(_)),
            Self::DependencySkipped => matches!(decision, D::Execute | D::Result(_)),
            Self::Interrupted => matches!(decision, D::Execute | D::Result(_) | D::Deny(_)),
            Self::AfterGadget => {
                let result = stopped(decision).unwrap_or(decision);
                matches!(result, D::Result(_)) || matches!(decision, D::Deny(_) | D::Stop)
            }
            Self::Human | Self::Input => matches!(decision, D::Result(_)),
        }
    }

    /// The decision that an answer of the user means; `None` if the question is for a hook.
    ///
    /// An interrupted gadget is executed again after `yes` or `y`, in any case. Any other answer fails the call, and the
    /// model reads the answer.
    ///
    /// ```
    /// use gadgetry_proto::run::{Decision, OpenQuestionKind};
    /// let answer = |kind: OpenQuestionKind| kind.answer("Yes".to_owned());
    /// assert_eq!(answer(OpenQuestionKind::Input), Some(Decision::Result("Yes".to_owned())));
    /// assert_eq!(answer(OpenQuestionKind::Interrupted), Some(Decision::Execute));
    /// ```
    pub fn answer(self, answer: String) -> Option<Decision> {
        match self {
            Self::Human | Self::Input => Some(Decision::Result(answer)),
            Self::Interrupted => {
                let word = answer.trim();
                if word.eq_ignore_ascii_case("yes") || word.eq_ignore_ascii_case("y") {
                    return Some(Decision::Execute);
                }
                Some(Decision::Deny(format!(
                    "interrupted: the program ended while this gadget was running. Whether it took effect is unknown. \
                     The user did not let it run again and answered: {word}"
                )))
            }
            Self::BeforeModelCall
            | Self::BeforeCompaction
            | Self::AfterModelCall
            | Self::ModelError
            | Self::BeforeGadget
            | Self::AfterGadget
            | Self::DependencySkipped => None,
        }
    }
}

impl fmt::Display for OpenQuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Names a question of a run: `3` is the question of the run with this number, `5.0` the first question of call 5 to the
/// user while its gadget runs, `5-HASH` an approval of call 5.
///
/// ```
/// use gadgetry_proto::id::CallId;
/// use gadgetry_proto::run::{QuestionId, QuestionRef};
///
/// assert_eq!("3".parse(), Ok(QuestionRef::Run(QuestionId(3))));
/// assert_eq!("5.0".parse(), Ok(QuestionRef::Gadget { call: CallId(5), number: 0 }));
/// assert_eq!(serde_json::to_string(&QuestionRef::Run(QuestionId(3)))?, r#""3""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum QuestionRef {
    /// A question of the run itself, answered by [`Input::Decision`](crate::run::Input::Decision).
    Run(QuestionId),
    /// A question of a running gadget, answered by the process that executes the gadget.
    Gadget {
        /// The number of the call.
        call: CallId,
        /// The number of the question among those of the call, from 0.
        number: u32,
    },
    /// An approval of a call, answered by the process that drives the run: [`Decision::Proceed`] allows the call,
    /// [`Decision::Deny`] denies it.
    Approval(ApprovalId),
}

impl fmt::Display for QuestionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => write!(f, "{}", id.0),
            Self::Gadget { call, number } => write!(f, "{}.{number}", call.0),
            Self::Approval(id) => id.fmt(f),
        }
    }
}

/// A text that names no question: a mistake of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} does not name a question: expected a number such as `3`, or `5.0` for the first question of call 5"
)]
pub struct InvalidQuestionRef(pub String);

impl Classified for InvalidQuestionRef {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl FromStr for QuestionRef {
    type Err = InvalidQuestionRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `parse` would accept a sign.
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if let Ok(id) = text.parse() {
            return Ok(Self::Approval(id));
        }
        let reference = match text.split_once('.') {
            None if digits(text) => text.parse().ok().map(|id| Self::Run(QuestionId(id))),
            Some((call, number)) if digits(call) && digits(number) => {
                let numbers = call.parse().ok().zip(number.parse().ok());
                numbers.map(|(call, number)| Self::Gadget {
                    call: CallId(call),
                    number,
                })
            }
            None | Some(_) => None,
        };
        reference.ok_or_else(|| InvalidQuestionRef(text.to_owned()))
    }
}

impl From<QuestionRef> for String {
    fn from(reference: QuestionRef) -> Self {
        reference.to_string()
    }
}

impl TryFrom<String> for QuestionRef {
    type Error = InvalidQuestionRef;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_is_written() {
        let gadget = |call, number| QuestionRef::Gadget {
            call: CallId(call),
            number,
        };
        let check = |text: &str, expected: QuestionRef| {
            assert_eq!(text.parse(), Ok(expected), "{text}");
            assert_eq!(expected.to_string(), text);
        };
        check("0", QuestionRef::Run(QuestionId(0)));
        check("17", QuestionRef::Run(QuestionId(17)));
        check("5.0", gadget(5, 0));
        check("0.12", gadget(0, 12));
        let approval = ApprovalId {
            call: CallId(5),
            shown: u128::MAX - 1,
        };
        check(
            "5-fffffffffffffffffffffffffffffffe",
            QuestionRef::Approval(approval),
        );
    }

    #[test]
    fn an_invalid_question_reference_is_rejected() {
        for text in [
            "",
            ".",
            "5.",
            ".0",
            "5.0.1",
            "-1",
            "+1",
            "1.+0",
            " 1",
            "a",
            "5,0",
            "4294967296.0",
            "5-",
            "5-fe",
            "-fffffffffffffffffffffffffffffffe",
            "05-fffffffffffffffffffffffffffffffe",
            "5-+ffffffffffffffffffffffffffffffe",
            "5-FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFE",
            "5-0fffffffffffffffffffffffffffffffe",
        ] {
            let expected = InvalidQuestionRef(text.to_owned());
            assert_eq!(text.parse::<QuestionRef>(), Err(expected), "{text}");
        }
    }
}
