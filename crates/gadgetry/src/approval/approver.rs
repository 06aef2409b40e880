//! The user who approves calls.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::event::{Approval, ApprovalSubject, RunInfo, SubjectKind};
use gadgetry_proto::id::{ApprovalId, CallId, InvocationId};
use gadgetry_proto::visible::visible;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::pattern::Pattern;
use super::rule::{Named, Rule, everything_in};
use crate::gadget::{CallPreview, CommandLine, Permission, Subject};

/// A call that waits for approval.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The run of the call.
    pub run: Arc<RunInfo>,
    /// The gadget.
    pub gadget: String,
    /// The call's id for the model.
    pub invocation_id: InvocationId,
    /// The parameters, as the gadget will receive them.
    pub parameters: Arc<Value>,
    /// Effects that the call would have.
    pub preview: CallPreview,
}

impl ApprovalRequest {
    /// Makes the request of a run that calls a gadget, for tests of approvers.
    pub fn new(
        run: impl Into<Arc<RunInfo>>,
        gadget: impl Into<String>,
        preview: CallPreview,
    ) -> Self {
        Self {
            run: run.into(),
            gadget: gadget.into(),
            invocation_id: "gadget_1".into(),
            parameters: Arc::default(),
            preview,
        }
    }

    /// Returns rules that would allow this call from now on, from the narrowest to the widest: exactly this subject, then the
    /// folder of a file or the host of a URL, then all calls of the gadget. A wider rule for commands is only suggested for
    /// programs that run no other program, whatever their arguments; for a tool of a server, only the tool in its current
    /// definition. A rule for a command is about this folder of this workspace, and about the sandbox if the command runs in it.
    ///
    /// None for a command that can change nothing: the rule would allow it to run where it can.
    pub fn suggestions(&self) -> Vec<Rule> {
        let subject = self.preview.subject.as_ref();
        if matches!(subject, Some(Subject::Command(command)) if command.is_read_only) {
            return Vec::new();
        }
        let gadget = Named {
            name: &self.gadget,
            origin: self.preview.origin.as_ref(),
        };
        let exact = Rule::exactly(Permission::Allow, gadget, subject);
        let wider = subject.and_then(|subject| {
            let (pattern, command) = wider(subject)?;
            Rule::of_gadget(Permission::Allow, gadget, Some(&pattern), command).ok()
        });
        // All commands is more than a user can mean.
        let all = (!matches!(subject, Some(Subject::Command(_)) | None))
            .then(|| Rule::exactly(Permission::Allow, gadget, None));
        exact
            .into_iter()
            .chain(wider)
            .chain(all.into_iter().flatten())
            .collect()
    }

    /// Returns the call as the events of its run show it. The hash in the id covers everything that the answer is bound to.
    pub(super) fn shown(&self, call: CallId) -> Approval {
        let preview = &self.preview;
        let subject = preview.subject.as_ref().map(shown_subject);
        // A diff may differ although the change is the same; then the preview is bound to something better.
        let diff = preview.diff.as_ref().filter(|_| preview.bound.is_empty());
        let origin = preview.origin.as_ref();
        let origin = origin.map(|it| (&it.server, &it.definition));
        let all = (
            &*self.run.id,
            &self.gadget,
            &*self.parameters,
            &subject,
            diff,
        );
        let rest = (&preview.notes, origin, &preview.bound);
        // Everything in it has a form in JSON, and the lengths of texts are unambiguous in it.
        let text = serde_json::to_vec(&(all, rest)).unwrap_or_default();
        let hash = Sha256::digest(text);
        let shown = hash[..16]
            .iter()
            .fold(0, |sum, byte| sum << 8 | u128::from(*byte));
        let id = ApprovalId { call, shown };
        let mut approval = Approval::new(id, &self.gadget, Arc::clone(&self.parameters));
        approval.subject = subject;
        approval.diff.clone_from(&preview.diff);
        approval.notes.clone_from(&preview.notes);
        approval.server = origin.map(|(server, _)| server.clone());
        approval
    }

    /// Returns the call as lines for the user, in which gadgetry's words are distinct from those of the model.
    ///
    /// ```
    /// use gadgetry::approval::{ApprovalRequest, ShownLine};
    /// use gadgetry::control::RunInfo;
    /// use gadgetry::{CallPreview, Subject};
    ///
    /// let preview = CallPreview::of(Subject::command("make\u{2028}\u{1b}[2Kin the sandbox")).note("for up to 60 s");
    /// let request = ApprovalRequest::new(RunInfo::new("order-7", "haiku"), "RunCommand", preview);
    /// let lines: Vec<String> = request.lines().iter().map(ToString::to_string).collect();
    /// assert_eq!(lines, ["RunCommand", "for up to 60 s", "| make", r"| \u{1b}[2Kin the sandbox"]);
    /// ```
    pub fn lines(&self) -> Vec<ShownLine> {
        let preview = &self.preview;
        let mut lines = vec![ShownLine::Note(self.gadget.clone())];
        lines.extend(preview.notes.iter().cloned().map(ShownLine::Note));
        let text = match &preview.subject {
            Some(subject) => subject.text().to_owned(),
            None => serde_json::to_string_pretty(&*self.parameters).unwrap_or_default(),
        };
        lines.extend(split(&text).map(ShownLine::Text));
        let further = preview.further_parameters(&self.parameters);
        lines.extend(further.map(ShownLine::Text));
        let diff = preview.diff.as_deref().unwrap_or_default();
        lines.extend(diff.lines().flat_map(split).map(ShownLine::Diff));
        lines
    }
}

fn shown_subject(subject: &Subject) -> ApprovalSubject {
    let kind = match subject {
        Subject::Path(_) => SubjectKind::Path,
        Subject::Folder(_) => SubjectKind::Folder,
        Subject::Command(_) => SubjectKind::Command,
        Subject::Url(_) => SubjectKind::Url,
    };
    let mut shown = ApprovalSubject::new(kind, subject.text());
    if let Subject::Command(command) = subject {
        shown.folder.clone_from(&command.folder);
    }
    shown
}

/// A line of a question about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownLine {
    /// Words of gadgetry or the gadget about the call.
    Note(String),
    /// Text of the model: a command, a path, parameters. Contains no separator of lines.
    Text(String),
    /// Change of a file. Contains no separator of lines.
    Diff(String),
}

/// Writes `| ` before everything but notes, and writes out invisible characters, so that no text can look like a note.
impl fmt::Display for ShownLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(note) => split(note).try_for_each(|line| f.write_str(&visible(&line))),
            Self::Text(text) | Self::Diff(text) => write!(f, "| {}", visible(text)),
        }
    }
}

/// Splits a text into lines, at any character that some reader treats as the end of a line.
fn split(text: &str) -> impl Iterator<Item = String> {
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    text.trim_end_matches('\n')
        .replace("\r\n", "\n")
        .split(is_end)
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Programs that only report, whatever their arguments: they start no other program and write no file.
const REPORTING: [&str; 9] = [
    "basename", "cksum", "df", "dirname", "du", "ls", "pwd", "stat", "wc",
];

/// Returns a pattern for similar subjects, and the command if it is one.
fn wider(subject: &Subject) -> Option<(String, Option<&CommandLine>)> {
    match subject {
        Subject::Path(path) => {
            let (folder, _) = path.rsplit_once('/')?;
            Some((everything_in(folder), None))
        }
        Subject::Folder(_) => None,
        Subject::Command(command) => {
            let word = command.line.split_whitespace().next()?;
            let only_reports = REPORTING.contains(&word);
            only_reports.then(|| (format!("{word} *"), Some(command)))
        }
        Subject::Url(url) => {
            let (scheme, rest) = url.split_once("://")?;
            let host = rest.split('/').next()?;
            Some((format!("{scheme}://{}/**", Pattern::literal(host)), None))
        }
    }
}

/// The answer of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one answer a question, and a box would be every caller's to write"
)]
pub enum Answer {
    /// Allows this call alone.
    Once,
    /// This call runs, and so do all calls that the rule allows, as long as these approvals exist.
    Session(Rule),
    /// This call does not run. The model reads the reason.
    No(Option<String>),
    /// The question stays open: [`AgentHandle::answer`](crate::AgentHandle::answer) answers it, or another process does so
    /// through the [journal](crate::journal).
    Pending,
}

/// Asks the user about calls, one at a time. Any `Fn(ApprovalRequest) -> impl Future<Output = Answer>` is an approver.
pub trait Approver: Send + Sync {
    /// Returns the answer.
    ///
    /// Cancel safety: the future is dropped when the answer is no longer wanted. A panic stops the run.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer>;
}

impl<F, R> Approver for F
where
    F: Fn(ApprovalRequest) -> R + Send + Sync,
    R: Future<Output = Answer> + Send + 'static,
{
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(self(request))
    }
}
