//! The user who approves calls.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::id::InvocationId;
use serde_json::Value;

use super::rule::Rule;
use crate::gadget::{CallPreview, Permission, Subject};

/// A call that waits for approval.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// The gadget.
    pub gadget: String,
    /// The call's id for the model.
    pub invocation_id: InvocationId,
    /// The parameters, as the gadget will receive them.
    pub parameters: Arc<Value>,
    /// What the call would do.
    pub preview: CallPreview,
}

impl ApprovalRequest {
    /// Returns rules that would allow this call from now on, from the narrowest to the widest: exactly this subject, then for a
    /// file its folder, for a command its first word with any arguments, for a URL its host, then all calls of the gadget.
    pub fn suggestions(&self) -> Vec<Rule> {
        let subject = self.preview.subject.as_ref();
        let exact = Rule::exactly(Permission::Allow, &self.gadget, subject);
        let wider = subject.and_then(wider);
        let wider = wider.and_then(|pattern| {
            Rule::of_gadget(Permission::Allow, &self.gadget, Some(&pattern)).ok()
        });
        // All commands is more than a user can mean.
        let all = (!matches!(subject, Some(Subject::Command(_)) | None))
            .then(|| Rule::exactly(Permission::Allow, &self.gadget, None));
        exact
            .into_iter()
            .chain(wider)
            .chain(all.into_iter().flatten())
            .collect()
    }
}

/// A pattern for what is like the subject.
fn wider(subject: &Subject) -> Option<String> {
    use super::pattern::Pattern;
    match subject {
        Subject::Path(path) => {
            let (folder, _) = path.rsplit_once('/')?;
            Some(format!("{}/**", Pattern::literal(folder)))
        }
        Subject::Command(command) => {
            let is_plain = |word: &&str| {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
                word.chars().all(plain)
            };
            let word = command.split_whitespace().next().filter(is_plain)?;
            Some(format!("{word} *"))
        }
        Subject::Url(url) => {
            let (scheme, rest) = url.split_once("://")?;
            let host = rest.split('/').next()?;
            Some(format!("{scheme}://{}/**", Pattern::literal(host)))
        }
    }
}

/// The answer of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This call runs.
    Once,
    /// This call runs, and so do all that the rule allows, as long as these approvals live.
    Session(Rule),
    /// This call does not run. The model reads the reason.
    No(Option<String>),
}

/// Asks the user about calls, one at a time. Any `Fn(ApprovalRequest) -> impl Future<Output = Answer>` is one.
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
