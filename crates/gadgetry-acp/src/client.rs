//! A session's client: the user who approves and answers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver, Rule};
use gadgetry::{Human, HumanQuestion};
use serde_json::{Value, json};

use crate::peer::Peer;

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
    /// Whether it shows forms.
    has_forms: bool,
    /// The id of the session, once there is one.
    session: OnceLock<String>,
    /// Rules that would allow calls which wait, by the gadget and the call's id for the model.
    rules: Mutex<HashMap<(String, String), Vec<Rule>>>,
}

impl Client {
    /// The client of a session that has no id yet.
    pub(crate) fn new(peer: Peer, has_forms: bool) -> Self {
        Self(Arc::new(Inner {
            peer,
            has_forms,
            session: OnceLock::new(),
            rules: Mutex::default(),
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

    /// Takes the rules that would allow a call.
    pub(crate) fn rules_of(&self, gadget: &str, invocation: &str) -> Vec<Rule> {
        let key = (gadget.to_owned(), invocation.to_owned());
        self.rules().remove(&key).unwrap_or_default()
    }

    /// Returns whether the user can answer questions: the client shows forms.
    pub fn answers_questions(&self) -> bool {
        self.0.has_forms
    }

    async fn answer(&self, question: String) -> Option<String> {
        let session = self.0.session.get().filter(|_| self.0.has_forms)?;
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

    fn rules(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<Rule>>> {
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
        let key = (request.gadget.clone(), request.invocation_id.to_string());
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

/// An answer of the client as JSON that a type of the protocol has.
pub(crate) fn read<T: serde::de::DeserializeOwned>(answer: Option<Value>) -> Option<T> {
    serde_json::from_value(answer?).ok()
}
