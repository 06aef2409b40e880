//! A session's client: the user who approves and answers, the files that are open, and terminals.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol_schema::v1::{
    ClientCapabilities, ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver, Rule};
use gadgetry::terminal::{TerminalCommand, TerminalRun};
use gadgetry::{Human, HumanQuestion};
use serde_json::json;

use crate::error::TerminalError;
use crate::live::{Live, Seen};
use crate::peer::{Peer, read};
use crate::terminal::{self, Shown};

/// Calls whose rules are kept until they are shown.
const KEPT: usize = 256;

/// The client of a session. A host makes it the [`Approver`] and the [`Human`] of the agents of the session. Clones are the same
/// client.
///
/// As an approver it leaves each question open: the session shows `approval_required` events of its runs to the user, and answers them.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    peer: Peer,
    capabilities: ClientCapabilities,
    /// The id of the session, once there is one.
    session: OnceLock<String>,
    /// Rules that would allow calls which wait.
    rules: Mutex<HashMap<Asked, Vec<Rule>>>,
    live: Arc<Live>,
}

/// A call that waits: its run, which may be a subagent's, the gadget, and the call's id for the model.
type Asked = (Arc<str>, String, String);

impl Client {
    /// The client of a session that has no id yet.
    pub(crate) fn new(peer: Peer, capabilities: ClientCapabilities) -> Self {
        Self(Arc::new(Inner {
            peer,
            capabilities,
            session: OnceLock::new(),
            rules: Mutex::default(),
            live: Arc::default(),
        }))
    }

    /// Names the session.
    pub(crate) fn begin(&self, session: &str) {
        // A session is opened once.
        let _ = self.0.session.set(session.to_owned());
    }

    /// Returns the connection.
    pub(crate) fn peer(&self) -> &Peer {
        &self.0.peer
    }

    /// Returns the news about calls that run.
    pub(crate) fn live(&self) -> &Live {
        &self.0.live
    }

    /// Takes the rules that would allow a call.
    pub(crate) fn rules_of(&self, run: &Arc<str>, gadget: &str, invocation: &str) -> Vec<Rule> {
        let key = (Arc::clone(run), gadget.to_owned(), invocation.to_owned());
        self.rules().remove(&key).unwrap_or_default()
    }

    /// Returns whether the user can answer questions: the client shows forms.
    pub fn answers_questions(&self) -> bool {
        self.0
            .capabilities
            .elicitation
            .as_ref()
            .is_some_and(|it| it.form.is_some())
    }

    /// Returns whether the client has the texts of files, with changes that are not saved.
    pub fn reads_files(&self) -> bool {
        self.0.capabilities.fs.read_text_file
    }

    /// Returns whether the client writes files.
    pub fn writes_files(&self) -> bool {
        self.0.capabilities.fs.write_text_file
    }

    /// Returns the text of a file as the client has it, with changes that are not saved; `None` if it has none. Which files an agent
    /// may read is for the caller to decide. The path is absolute.
    ///
    /// Cancel safety: a late answer is ignored.
    pub async fn read_text_file(&self, path: &Path) -> Option<String> {
        let session = self.0.session.get().filter(|_| self.reads_files())?;
        let request = ReadTextFileRequest::new(session.clone(), path);
        let answer = self.0.peer.request("fs/read_text_file", request).await;
        read::<ReadTextFileResponse>(answer).map(|it| it.content)
    }

    /// Writes a file through the client, and returns whether that was done. Which files an agent may write is for the caller to decide.
    /// The path is absolute.
    ///
    /// Cancel safety: if the future is dropped, the client may have written the file.
    pub async fn write_text_file(&self, path: &Path, text: &str) -> bool {
        let session = self.0.session.get().filter(|_| self.writes_files());
        let Some(session) = session else {
            return false;
        };
        let request = WriteTextFileRequest::new(session.clone(), path, text);
        let answer = self.0.peer.request("fs/write_text_file", request).await;
        answer.is_some()
    }

    /// Returns whether the client runs commands in terminals.
    pub fn has_terminals(&self) -> bool {
        self.0.capabilities.terminal
    }

    /// Runs a command in a terminal of the client, which the user sees in the call of this
    /// [key](gadgetry::ExecutionContext::idempotency_key). Whether an agent may run it is for the caller to decide: the command has the
    /// rights and the environment of the client.
    ///
    /// # Errors
    ///
    /// [`TerminalError`] if the client has no terminals, does not start the command, or does not say how it ended.
    ///
    /// Cancel safety: if the future is dropped, the client ends the command.
    pub async fn run_in_terminal(
        &self,
        call: &str,
        command: TerminalCommand,
    ) -> Result<TerminalRun, TerminalError> {
        let session = self.0.session.get().filter(|_| self.has_terminals());
        let session = session.ok_or(TerminalError::NotStarted)?.clone();
        let shown = Shown {
            live: Arc::clone(&self.0.live),
            key: call.to_owned(),
        };
        terminal::run(self.peer().clone(), session, command, shown).await
    }

    /// Shows the end of the output of a command in its call until that has a result. A later one replaces it. The call is named by its
    /// [key](gadgetry::ExecutionContext::idempotency_key); those of subagents are not shown.
    pub fn show_output(&self, call: &str, output: String) {
        self.live().show(call, Seen::Output(output));
    }

    async fn answer(&self, question: String) -> Option<String> {
        let session = self.0.session.get().filter(|_| self.answers_questions())?;
        let form = json!({
            "sessionId": session,
            "mode": "form",
            "message": question,
            "requestedSchema": {
                "type": "object",
                "properties": { "answer": { "type": "string", "title": "Answer" } },
                "required": ["answer"],
            },
        });
        let answer = self.0.peer.request("elicitation/create", form).await?;
        let is_accepted = answer["action"] == "accept";
        let text = answer["content"]["answer"].as_str().map(str::to_owned);
        text.filter(|_| is_accepted)
    }

    fn rules(&self) -> MutexGuard<'_, HashMap<Asked, Vec<Rule>>> {
        self.0.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for Client {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        // The event that shows it is emitted after this.
        let mut rules = self.rules();
        if rules.len() >= KEPT {
            rules.clear();
        }
        let run = Arc::clone(&request.run.id);
        let key = (
            run,
            request.gadget.clone(),
            request.invocation_id.to_string(),
        );
        rules.insert(key, request.suggestions());
        async { Answer::Pending }.boxed()
    }
}

impl Human for Client {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        self.answer(question.text).boxed()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("session", &self.0.session)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use gadgetry::proto::event::RunInfo;
    use gadgetry::{CallPreview, Subject};

    use super::*;

    /// Subagents number their calls as the agent does.
    #[test]
    fn rules_are_those_of_the_run() {
        let (peer, _messages) = Peer::new();
        let client = Client::new(peer, ClientCapabilities::default());
        let runs = ["a", "b"].map(|id| Arc::new(RunInfo::new(id, "m")));
        for run in &runs {
            let preview = CallPreview::of(Subject::command(format!("make {}", run.id)));
            let request = ApprovalRequest::new(Arc::clone(run), "Run", preview);
            assert_eq!(
                client.approve(request).now_or_never(),
                Some(Answer::Pending)
            );
        }
        for run in &runs {
            let rules = client.rules_of(&run.id, "Run", "gadget_1");
            let first = rules.first().map(ToString::to_string);
            assert_eq!(first, Some(format!("allow Run(make {})", run.id)));
        }
    }
}
