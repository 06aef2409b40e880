//! The questions that have no answer yet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::run::open_question::{OpenQuestion, OpenQuestionKind};
use crate::run::outbox::Outbox;
use crate::run::question::{Decision, Question, QuestionId, QuestionKind};

/// Numbers questions, and remembers what each is for until it is answered.
///
/// What depends on the answer is not kept here: it is the state of the asking part, such as the record of a call that is
/// held. So a question that no longer matters can simply be forgotten.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Questions {
    open: BTreeMap<QuestionId, Open>,
    next: u64,
    /// The loop waits for the answer to this one.
    blocking: Option<QuestionId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    subject: Subject,
    /// The question, to be repeated if the run is interrupted.
    kind: QuestionKind,
}

/// Whose decision it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Subject {
    /// The decision whether and how the request goes out.
    ModelCall,
    /// The decision about a compaction.
    Compaction,
    /// The decision after a model call that failed.
    ModelError,
    /// The form in which the conversation keeps a reply.
    AfterReply {
        /// Whether the conversation has a message of the reply.
        has_message: bool,
    },
    /// The next message of the user.
    Input,
    /// The decision whether and how a gadget starts.
    Start(CallId),
    /// The decision after an unmet dependency.
    Unmet(CallId),
    /// The decision about an outcome.
    Outcome(CallId),
    /// The user's answer to a gadget.
    Human(CallId),
    /// The decision whether an interrupted gadget is executed again.
    Interrupted(CallId),
}

impl Subject {
    fn kind(&self) -> OpenQuestionKind {
        match self {
            Self::ModelCall => OpenQuestionKind::BeforeModelCall,
            Self::Compaction => OpenQuestionKind::BeforeCompaction,
            Self::AfterReply { .. } => OpenQuestionKind::AfterModelCall,
            Self::ModelError => OpenQuestionKind::ModelError,
            Self::Start(_) => OpenQuestionKind::BeforeGadget,
            Self::Unmet(_) => OpenQuestionKind::DependencySkipped,
            Self::Interrupted(_) => OpenQuestionKind::Interrupted,
            Self::Outcome(_) => OpenQuestionKind::AfterGadget,
            Self::Human(_) => OpenQuestionKind::Human,
            Self::Input => OpenQuestionKind::Input,
        }
    }
}

impl Questions {
    /// Asks. Whatever does not depend on the answer continues.
    pub(super) fn ask(
        &mut self,
        subject: Subject,
        kind: QuestionKind,
        out: &mut Outbox,
    ) -> QuestionId {
        let id = QuestionId(self.next);
        self.next += 1;
        out.ask(Question {
            id,
            kind: kind.clone(),
        });
        self.open.insert(id, Open { subject, kind });
        id
    }

    /// Asks, and lets the loop wait for the answer.
    pub(super) fn block(&mut self, subject: Subject, kind: QuestionKind, out: &mut Outbox) {
        self.blocking = Some(self.ask(subject, kind, out));
    }

    /// Returns `true` if the loop waits for an answer.
    pub(super) fn is_blocking(&self) -> bool {
        self.blocking.is_some()
    }

    /// Returns `true` if the answer fits the question. Any answer fits a question that is not open: it is ignored.
    pub(super) fn admits(&self, id: QuestionId, decision: &Decision) -> bool {
        let open = self.open.get(&id);
        open.is_none_or(|open| open.subject.kind().admits(decision))
    }

    /// Closes a question that is answered; `None` if it was not open.
    pub(super) fn close(&mut self, id: QuestionId) -> Option<Subject> {
        let open = self.open.remove(&id)?;
        self.blocking.take_if(|blocking| *blocking == id);
        Some(open.subject)
    }

    /// The open question of a subject.
    pub(super) fn find(&self, subject: &Subject) -> Option<QuestionId> {
        let mut open = self.open.iter();
        open.find(|(_, open)| open.subject == *subject)
            .map(|(id, _)| *id)
    }

    /// Forgets all questions. Answers to them are ignored.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.blocking = None;
    }

    /// Open questions in the order asked.
    pub(super) fn ids(&self) -> impl Iterator<Item = QuestionId> + '_ {
        self.open.keys().copied()
    }

    /// Open questions in the order asked, for callers outside.
    pub(super) fn open(&self) -> impl Iterator<Item = OpenQuestion> + '_ {
        let open = self.open.iter();
        open.map(|(id, open)| OpenQuestion::of(*id, &open.kind))
    }

    /// Asks an open question once more, under its old number.
    pub(super) fn ask_again(&self, id: QuestionId, out: &mut Outbox) {
        if let Some(open) = self.open.get(&id) {
            let kind = open.kind.clone();
            out.ask(Question { id, kind });
        }
    }
}
