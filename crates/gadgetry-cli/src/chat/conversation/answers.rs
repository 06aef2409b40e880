//! Requests of runs that wait for the user's answer.

use std::collections::HashMap;
use std::path::PathBuf;

use gadgetry::approval::{Answer, ApprovalRequest, Rule};
use tokio::sync::oneshot;

use crate::approvals::{Approval, Verdict};
use crate::chat::requests::Request;
use crate::chat::state::{Message, RequestId};

/// The requests that were shown and are not answered.
pub(super) struct Answers {
    waiting: HashMap<RequestId, Waiting>,
    /// File where rules are kept for good.
    user_file: Option<PathBuf>,
}

/// The answer that a request waits for.
enum Waiting {
    Question(oneshot::Sender<Option<String>>),
    /// With the rules that the user can choose from.
    Approval(oneshot::Sender<Answer>, Vec<Rule>, Box<ApprovalRequest>),
}

impl Answers {
    /// Creates the list without open questions.
    pub(super) fn new(user_file: Option<PathBuf>) -> Self {
        Self {
            waiting: HashMap::new(),
            user_file,
        }
    }

    /// Takes a request, and returns what is shown of it.
    pub(super) fn open(&mut self, request: Request) -> Option<Message> {
        match request {
            Request::Question(id, question, answer) => {
                self.waiting.insert(id, Waiting::Question(answer));
                Some(Message::Question(id, question))
            }
            Request::Approval(id, request, answer) => {
                let rules = request.suggestions();
                let approval = Approval::of(&request, &rules);
                let waiting = Waiting::Approval(answer, rules, request);
                self.waiting.insert(id, waiting);
                Some(Message::Approval(id, approval))
            }
            Request::Withdrawn(id) => {
                let known = self.waiting.remove(&id);
                known.map(|_| Message::Withdrawn(id))
            }
        }
    }

    /// Answers a question.
    pub(super) fn answer(&mut self, id: RequestId, answer: Option<String>) {
        if let Some(Waiting::Question(sender)) = self.waiting.remove(&id) {
            // The gadget may be gone.
            let _ = sender.send(answer);
        }
    }

    /// Decides about a call. Returns what is wrong if a rule cannot be kept.
    pub(super) fn decide(&mut self, id: RequestId, verdict: Verdict) -> Option<String> {
        let Some(Waiting::Approval(sender, rules, request)) = self.waiting.remove(&id) else {
            return None;
        };
        let (answer, problem) = verdict.carry_out(&request, &rules, self.user_file.as_deref());
        // The call may be gone.
        let _ = sender.send(answer);
        problem
    }

    /// Forgets all, because their run has ended.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}
