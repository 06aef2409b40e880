//! State of a running gadget that is needed if it is interrupted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::amount;
use crate::id::CallId;
use crate::run::io::Report;
use crate::run::open_question::{OpenQuestion, OpenQuestionKind, QuestionRef};
use crate::run::start::{AnsweredQuestion, Start};
use crate::time::Time;

/// A call that can start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Prepared {
    pub(super) start: Start,
    pub(super) timeout_ms: Option<u64>,
}

/// The execution of a call, and what earlier ones have left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) since: Time,
    pub(super) deadline: Option<Time>,
    /// The cost that this execution has reported. Not charged: its outcome includes it.
    pub(super) reported: f64,
    /// The cost that interrupted executions had reported. Already charged.
    pub(super) lost: f64,
    /// The prepared call for another execution, if that may ever happen.
    again: Option<Box<Prepared>>,
    /// Questions to the user: the open ones, and, if it may be executed again, the answered ones.
    questions: Vec<HumanQuestion>,
    /// Costs of the events of its subagents, by their numbers. Already charged.
    subagent_costs: BTreeMap<u32, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct HumanQuestion {
    number: u32,
    question: String,
    answer: Option<String>,
}

impl Running {
    pub(super) fn new(since: Time, deadline: Option<Time>, again: Option<Box<Prepared>>) -> Self {
        Self {
            since,
            deadline,
            reported: 0.0,
            lost: 0.0,
            again,
            questions: Vec::new(),
            subagent_costs: BTreeMap::new(),
        }
    }

    /// Returns the prepared call, if it may be executed again.
    pub(super) fn again(&self) -> Option<&Prepared> {
        self.again.as_deref()
    }

    /// Notes what its gadget reports.
    pub(super) fn note(&mut self, report: &Report) {
        match report {
            Report::Cost(dollars) => add(&mut self.reported, *dollars),
            Report::SubagentCost { agent, dollars } => {
                add(&mut self.reported, *dollars);
                add(self.subagent_costs.entry(*agent).or_default(), *dollars);
            }
            Report::HumanQuestion { number, question } => {
                self.questions.retain(|it| it.number != *number);
                self.questions.push(HumanQuestion {
                    number: *number,
                    question: question.clone(),
                    answer: None,
                });
            }
            Report::HumanAnswer { number, answer } => self.answered(*number, answer.as_ref()),
            Report::Child { agent, event } => {
                let cost = event.kind.own_cost().unwrap_or_default();
                if cost > 0.0 {
                    add(self.subagent_costs.entry(*agent).or_default(), cost);
                }
            }
            Report::Progress(_) | Report::ApprovalRequired(_) | Report::ApprovalAnswered { .. } => {
            }
        }
    }

    fn answered(&mut self, number: u32, answer: Option<&String>) {
        let open = self.questions.iter().position(|it| it.number == number);
        let Some(at) = open else {
            return;
        };
        // Without a rerun nothing reads the answer again.
        match answer.filter(|_| self.again.is_some()) {
            Some(answer) => self.questions[at].answer = Some(answer.clone()),
            None => _ = self.questions.remove(at),
        }
    }

    /// Returns the questions without an answer.
    pub(super) fn open_questions<'a>(
        &'a self,
        call: CallId,
        gadget: Option<&'a str>,
    ) -> impl Iterator<Item = OpenQuestion> + 'a {
        let open = self.questions.iter().filter(|it| it.answer.is_none());
        open.map(move |it| OpenQuestion {
            id: QuestionRef::Gadget {
                call,
                number: it.number,
            },
            kind: OpenQuestionKind::Human,
            call: Some(call),
            gadget: gadget.map(str::to_owned),
            text: it.question.clone(),
            approval: None,
        })
    }

    /// The execution is lost, and the caller has charged what it had reported.
    pub(super) fn interrupt(&mut self, charged: f64) {
        self.reported = 0.0;
        add(&mut self.lost, charged);
        self.questions.retain(|it| it.answer.is_some());
        if let Some(again) = &mut self.again {
            let answered = self.questions.iter().filter_map(|it| {
                Some(AnsweredQuestion {
                    number: it.number,
                    question: it.question.clone(),
                    answer: it.answer.clone()?,
                })
            });
            again.start.answered = answered.collect();
            again.start.subagent_costs.clone_from(&self.subagent_costs);
        }
    }
}

/// Adds an amount of US dollars, which counts as 0 if it is invalid.
pub(super) fn add(sum: &mut f64, dollars: f64) {
    *sum = (*sum + amount(dollars)).min(f64::MAX);
}
