//! What others decide: questions go out, and what depends on them waits for the answers.

use std::mem;
use std::sync::Arc;

use crate::call::Outcome;
use crate::event::{EventKind, FinishReason};
use crate::id::CallId;
use crate::message::{Content, Message, Role};
use crate::run::Run;
use crate::run::io::Output;
use crate::run::prepare::complete;
use crate::run::question::{AboutCall, Decision, Question, QuestionId, QuestionKind};
use crate::run::state::{Cut, Open, Pending, Phase, Prepared, Status, known};
use crate::sched::SkipDecision;
use crate::sched::Unmet;

impl Pending {
    /// Whether `decision` is an answer to it.
    pub(super) fn admits(&self, decision: &Decision) -> bool {
        use Decision as D;
        match self {
            _ if matches!(decision, D::Proceed) => true,
            Self::ModelCall => matches!(decision, D::Request(_) | D::Reply(_) | D::Stop),
            Self::AfterReply { .. } => matches!(decision, D::AfterReply { .. } | D::Stop),
            Self::ModelError => matches!(decision, D::Reply(_)),
            Self::Start(_) => matches!(decision, D::Parameters(_) | D::Result(_) | D::Deny(_)),
            Self::Unmet(_) => matches!(decision, D::Execute | D::Result(_)),
            Self::Outcome(..) => matches!(decision, D::Result(_) | D::Deny(_) | D::Stop),
            Self::Human(..) | Self::Input => matches!(decision, D::Result(_)),
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a decision that its question does not admit never comes here; the rest is to proceed"
)]
impl Run {
    /// Asks, and remembers what depends on the answer.
    pub(super) fn ask_for(&mut self, pending: Pending, kind: QuestionKind) -> QuestionId {
        let id = QuestionId(self.state.next_question);
        self.state.next_question += 1;
        let open = Open {
            kind: kind.clone(),
            pending,
        };
        self.state.questions.insert(id, open);
        self.put(Output::Ask(Question { id, kind }));
        id
    }

    /// Asks, and lets the loop wait for the answer.
    pub(super) fn block(&mut self, pending: Pending, kind: QuestionKind) {
        let id = self.ask_for(pending, kind);
        self.state.blocked = Some(id);
    }

    /// Somebody has decided. [`Pending::admits`] it, or it comes too late.
    pub(super) fn decide(&mut self, id: QuestionId, decision: Decision) {
        let Some(open) = self.state.questions.remove(&id) else {
            return;
        };
        if self.state.blocked == Some(id) {
            self.state.blocked = None;
        }
        match open.pending {
            Pending::ModelCall => self.decided_request(decision),
            Pending::ModelError => self.decided_error(decision),
            Pending::AfterReply { said } => self.decided_reply(said, decision),
            Pending::Input => self.decided_input(decision),
            Pending::Start(prepared) => self.decided_start(*prepared, decision),
            Pending::Unmet(unmet) => self.decided_unmet(unmet, decision),
            Pending::Outcome(id, outcome) => self.decided_outcome(id, outcome, decision),
            Pending::Human(id, outcome) => self.decided_human(id, outcome, decision),
        }
    }

    fn decided_request(&mut self, decision: Decision) {
        self.state.instead = None;
        let goes_out = matches!(decision, Decision::Proceed | Decision::Request(_));
        if goes_out && self.is_spent() {
            self.state.iteration -= 1;
            return self.finish(FinishReason::BudgetExceeded);
        }
        match decision {
            Decision::Request(request) => {
                self.state.instead = Some(request.clone());
                self.transmit(request);
            }
            Decision::Reply(text) => self.reply_with(&text),
            Decision::Stop => {
                self.state.iteration -= 1;
                self.finish(FinishReason::Stopped);
            }
            _ => {
                let request = self.request();
                self.transmit(request);
            }
        }
    }

    fn decided_error(&mut self, decision: Decision) {
        if let Decision::Reply(text) = decision {
            return self.reply_with(&text);
        }
        self.state.cut = Some(Cut::Error);
        self.state.phase = Phase::Working;
    }

    fn decided_reply(&mut self, said: bool, decision: Decision) {
        match decision {
            Decision::AfterReply { text, append } => {
                if let Some(text) = text {
                    self.replace_reply(said, text);
                }
                self.state.appended = append;
            }
            Decision::Stop => self.state.stopped = Some(FinishReason::Stopped),
            _ => {}
        }
    }

    fn replace_reply(&mut self, said: bool, text: String) {
        if !said {
            return self.push_message(Message::text(Role::Assistant, text));
        }
        if let Some(message) = self.state.history.edit().last_mut() {
            rewrite(message, text);
        }
        self.state.tokens.recount(self.state.history.messages());
    }

    fn decided_input(&mut self, decision: Decision) {
        let said = if let Decision::Result(text) = decision {
            Some(text)
        } else {
            None
        };
        self.tell(EventKind::HumanInputReceived {
            call: None,
            invocation_id: None,
            answered: said.is_some(),
        });
        match said {
            Some(text) => {
                self.state.injected.push(text);
                self.next_reply();
            }
            None => self.finish(FinishReason::Completed),
        }
    }

    /// The user says something. If the run waits for just that, it waits no more.
    pub(super) fn inject(&mut self, text: String) {
        let mut open = self.state.questions.iter();
        let waiting = open.find(|(_, open)| matches!(open.pending, Pending::Input));
        match waiting.map(|(id, _)| *id) {
            Some(id) => self.decide(id, Decision::Result(text)),
            None => self.state.injected.push(text),
        }
    }

    fn decided_start(&mut self, mut prepared: Prepared, decision: Decision) {
        let id = prepared.start.id;
        match decision {
            Decision::Parameters(parameters) => {
                prepared.start.parameters = parameters;
                match self.validate(&mut prepared) {
                    Ok(()) => self.launch(prepared),
                    Err(error) => self.settle(id, Err(error)),
                }
            }
            Decision::Result(text) => {
                self.keep(id, Arc::new(prepared.start.parameters));
                self.settle(id, Ok(text));
            }
            Decision::Deny(error) => {
                self.keep(id, Arc::new(prepared.start.parameters));
                self.settle(id, Err(error));
            }
            _ => self.launch(prepared),
        }
        self.dispatch();
    }

    /// Fills in defaults and checks parameters that were changed.
    pub(super) fn validate(&self, prepared: &mut Prepared) -> Result<(), String> {
        let Some(gadget) = self.spec.registry.get(&prepared.start.gadget_name) else {
            return Ok(());
        };
        let parameters = mem::take(&mut prepared.start.parameters);
        prepared.start.parameters = complete(parameters, gadget)?;
        Ok(())
    }

    /// A call that the scheduler has started comes to its end without its gadget. What follows from that is for
    /// [`Run::dispatch`], which may be just what has led here: thousands of such calls must not be as many levels deep.
    pub(super) fn settle(&mut self, id: CallId, result: Result<String, String>) {
        let finished = result.as_ref().map(|_| ()).map_err(Clone::clone);
        self.answer(id, result.map(Arc::from).map_err(Arc::from), 0, 0.0);
        self.state.scheduler.finish(id, finished);
    }

    fn decided_unmet(&mut self, unmet: Unmet, decision: Decision) {
        let id = unmet.id;
        match decision {
            Decision::Execute => {
                self.state.scheduler.decide(id, SkipDecision::Execute);
            }
            Decision::Result(text) => {
                self.state.scheduler.decide(id, SkipDecision::Fallback);
                self.answer(id, Ok(Arc::from(text)), 0, 0.0);
            }
            _ => {
                self.state.scheduler.decide(id, SkipDecision::Skip);
                self.skip(unmet);
            }
        }
        self.dispatch();
    }

    fn decided_outcome(&mut self, id: CallId, mut outcome: Outcome, decision: Decision) {
        match decision {
            Decision::Result(text) => outcome.result = Ok(text),
            Decision::Deny(error) => {
                outcome.result = Err(error);
                outcome.media.clear();
                outcome.completes_run = false;
            }
            Decision::Stop => self.state.stopped = Some(FinishReason::Stopped),
            _ => {}
        }
        self.conclude(id, outcome);
    }

    fn decided_human(&mut self, id: CallId, mut outcome: Outcome, decision: Decision) {
        let answered = matches!(decision, Decision::Result(_));
        if let Decision::Result(text) = decision {
            outcome.result = Ok(text);
        }
        let invocation_id = self.record(id).map(|it| it.call.invocation_id.clone());
        self.tell(EventKind::HumanInputReceived {
            call: Some(id),
            invocation_id,
            answered,
        });
        self.weigh(id, outcome);
    }

    /// The call of a question.
    pub(super) fn about(&mut self, id: CallId) -> Option<AboutCall> {
        let record = self.record(id)?;
        Some(AboutCall {
            id,
            invocation_id: record.call.invocation_id.clone(),
            gadget_name: record.gadget.clone().unwrap_or_default(),
            parameters: known(record.parameters.as_ref(), &record.call),
        })
    }

    /// What the gadget came to, for whoever may see it otherwise.
    pub(super) fn weigh(&mut self, id: CallId, outcome: Outcome) {
        if self.spec.asks.after_gadget
            && let Some(about) = self.about(id)
            && let Some(Status::Ended { duration_ms, .. }) = self.record(id).map(|it| &it.status)
        {
            let question = QuestionKind::AfterGadget {
                about,
                result: outcome.result.clone(),
                duration_ms: *duration_ms,
            };
            self.ask_for(Pending::Outcome(id, outcome), question);
        } else {
            self.conclude(id, outcome);
        }
    }

    /// Somebody has to be asked before the gadget's outcome is known.
    pub(super) fn ask_human(&mut self, id: CallId, mut outcome: Outcome) {
        let question = mem::take(&mut outcome.asks_human).unwrap_or_default();
        let Some(about) = self.about(id) else {
            return;
        };
        self.tell(EventKind::HumanInputRequired {
            call: Some(id),
            invocation_id: Some(about.invocation_id.clone()),
            question: question.clone(),
        });
        if !self.spec.asks.human {
            return self.decided_human(id, outcome, Decision::Proceed);
        }
        self.ask_for(
            Pending::Human(id, outcome),
            QuestionKind::Human { about, question },
        );
    }
}

/// Puts `text` in the place of what a reply says. Its calls stay, for those who read them.
pub(super) fn rewrite(message: &mut Message, text: String) {
    message
        .content
        .retain(|content| !matches!(content, Content::Text { .. }));
    message
        .content
        .insert(0, Content::Text { text: text.clone() });
    message.raw = Some(text);
}
