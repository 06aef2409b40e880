//! The questions of a run: to its hooks and its user, and answers from outside.

use std::sync::Arc;

use gadgetry_proto::run::{Decision, Input, OpenQuestion, Question, QuestionKind, QuestionRef};

use crate::control::DynHook as _;
use crate::driver::Driver;
use crate::human::{HumanQuestion, ask_in_turn};
use crate::journal::{DurableRun, JournalError, RunMessageContent};

impl Driver<'_> {
    /// Asks the user or the hooks, in a task of its own.
    pub(super) fn ask(&mut self, Question { id, kind }: Question) {
        let services = &self.handle.services;
        let task = match (kind.for_user(), &services.human) {
            (Some(text), Some(human)) => {
                if matches!(kind, QuestionKind::Input { .. }) {
                    self.user_input = Some(id);
                }
                let mut question = HumanQuestion::new(text, Arc::clone(self.handle.run.info()));
                let open = OpenQuestion::of(id, &kind);
                (question.call, question.gadget) = (open.call, open.gadget);
                let answer = ask_in_turn(&services.scope, Arc::clone(human), question);
                let decision = async move {
                    let decision = answer.await.and_then(|answer| open.kind.answer(answer));
                    decision.unwrap_or(Decision::Proceed)
                };
                self.tasks
                    .question(id, "the human's side", Box::pin(decision))
            }
            (None, _) if !services.hooks.is_empty() => {
                let handle = Arc::clone(&self.handle);
                let decision =
                    async move { handle.services.hooks.decide(&handle.run, &kind).await };
                self.tasks.question(id, "a hook", Box::pin(decision))
            }
            // The answer comes through the journal.
            (Some(_), None) if self.recording.is_some() => return,
            (Some(_), None) | (None, _) => {
                self.queue.push_back(Input::Decision(id, Decision::Proceed));
                return;
            }
        };
        self.questions.insert(id, task);
    }

    /// The input for a message from outside.
    pub(super) fn message(&mut self, message: Option<RunMessageContent>) -> Option<Input> {
        let Some(message) = message else {
            if let Some(DurableRun { id, .. }) = &self.handle.services.durable {
                let run = id.clone();
                self.lose_journal(&JournalError::Lost { run });
            }
            return None;
        };
        match message {
            RunMessageContent::Command(command) => Some(Input::Command(command)),
            RunMessageContent::Answer {
                question: QuestionRef::Run(id),
                decision,
            } => {
                let is_admitted = self.run.admits(id, &decision);
                if !is_admitted {
                    tracing::warn!("question {} does not admit the answer from outside", id.0);
                }
                is_admitted.then_some(Input::Decision(id, decision))
            }
            RunMessageContent::Answer {
                question: QuestionRef::Gadget { call, number },
                decision,
            } => {
                let answer = if let Decision::Result(answer) = decision {
                    Some(answer)
                } else {
                    None
                };
                self.handle.answer(call, number, answer);
                // The gadget reports the answer.
                None
            }
            RunMessageContent::Answer {
                question: QuestionRef::Approval(id),
                decision,
            } => {
                self.handle.approve(id, decision);
                // The approvals report the answer, and decide.
                None
            }
        }
    }
}
