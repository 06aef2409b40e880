//! Turns in which the model corrects its calls, invisible to the client.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::prompt::correction;
use serde_json::Value;

use super::history::HistoryWriter;
use super::instructions::{self, style};
use super::turn::{Failure, Turn};
use super::{Exchange, Progress, Setup};

/// Why a reply is not what the client can be given.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Problem {
    /// Calls are invalid.
    Invalid,
    /// The client demands a call, and the reply has no call.
    NotCalled,
    /// Something looked like a call, and was not one.
    NearMiss(String),
}

impl Exchange {
    /// What the model has to correct, if anything.
    pub(super) fn to_repair(&self) -> Option<Problem> {
        let request = &self.setup.request;
        if !request.may_call() {
            return None;
        }
        if !self.turn.failures.is_empty() {
            return Some(Problem::Invalid);
        }
        if !self.sent.is_empty() {
            return None;
        }
        if request.choice.kind.is_forced() {
            return Some(Problem::NotCalled);
        }
        let near_miss = self.turn.near_miss.clone();
        near_miss.map(Problem::NearMiss)
    }

    /// The next request: the reply, and what is wrong with it.
    pub(super) fn repair(&mut self, raw: String, problem: &Problem) -> Progress {
        self.counts.repairs += 1;
        self.was_near_miss = matches!(problem, Problem::NearMiss(_));
        let turn = std::mem::take(&mut self.turn);
        self.trailing.clear();
        if self.setup.is_native {
            self.repair_natively(raw, turn, problem);
        } else {
            self.messages.push(Message::text(Role::Assistant, raw));
            let text = self.correction(&turn, problem);
            self.messages.push(Message::text(Role::User, text));
        }
        Progress::Again(self.request())
    }

    /// What the model reads about its calls.
    pub(super) fn correction(&self, turn: &Turn, problem: &Problem) -> String {
        let Setup {
            tools,
            secrets,
            request,
            rules,
            ..
        } = &self.setup;
        let writer = HistoryWriter {
            tools,
            secrets,
            form: rules.call_form(),
            held: &|_| Vec::new(),
        };
        let mut texts: Vec<String> = Vec::new();
        for (id, name) in &turn.accepted {
            let text = "Accepted. Its result comes later. Do not write it again.";
            texts.push(writer.envelope(id, name, "accepted", text));
        }
        for failure in &turn.failures {
            let Failure { id, name, problem } = failure;
            let id = if id.is_empty() { "call" } else { id };
            let mut text = writer.envelope(id, name, "error", problem);
            if let Some(gadget) = tools.registry().get(name) {
                text.push_str(&correction(gadget, style(rules, secrets)));
            }
            texts.push(text);
        }
        if turn.repeats {
            texts.push(
                "You wrote the same lines again and again, so your reply was ended there."
                    .to_owned(),
            );
        }
        texts.push(match problem {
            Problem::Invalid => {
                "The calls with errors were not executed. Write them again, whole and corrected, and nothing else.".to_owned()
            }
            Problem::NotCalled => instructions::must_call(&request.choice, tools, rules, secrets),
            Problem::NearMiss(what) => format!(
                "{what}. Nothing was executed. If you meant to call a tool, write the call again, whole; otherwise write your \
                 answer again."
            ),
        });
        texts.join("\n\n")
    }

    pub(super) fn repair_natively(&mut self, raw: String, turn: Turn, problem: &Problem) {
        let mut content = Vec::new();
        if !raw.is_empty() {
            content.push(Content::Text { text: raw });
        }
        let mut results = Vec::new();
        for (at, call) in turn.native.into_iter().enumerate() {
            let id = if call.id.is_empty() {
                format!("call_{at}")
            } else {
                call.id
            };
            let failure = turn
                .failures
                .iter()
                .find(|it| it.id == id || it.id.is_empty());
            let (text, is_error) = match failure {
                Some(failure) => (failure.problem.clone(), true),
                None => (
                    "Accepted. Its result comes later. Do not call it again.".to_owned(),
                    false,
                ),
            };
            results.push(Content::GadgetResult {
                invocation_id: id.as_str().into(),
                gadget_name: call.name.clone(),
                text,
                is_error,
                sticky: false,
                media: Vec::new(),
            });
            content.push(Content::ToolUse {
                tool_use_id: id,
                name: call.name,
                input: call.input.unwrap_or_else(Value::String),
            });
        }
        if *problem == Problem::NotCalled {
            results.push(Content::Text {
                text: format!("Call {} now.", self.setup.request.choice),
            });
        }
        for (role, content) in [(Role::Assistant, content), (Role::User, results)] {
            if !content.is_empty() {
                self.messages.push(Message {
                    role,
                    content,
                    raw: None,
                });
            }
        }
    }

    /// The client's reply has failed: no call of the model can be sent.
    pub(super) fn fail(&mut self, problem: &Problem, out: &mut Vec<Delta>) -> Progress {
        let (code, message) = match problem {
            Problem::NotCalled => (
                "tool_choice_not_satisfied",
                format!(
                    "tool_choice not satisfied: the model did not call {}",
                    self.setup.request.choice
                ),
            ),
            Problem::Invalid | Problem::NearMiss(_) => {
                let first = self.turn.failures.first();
                let about = first.map_or_else(
                    || "a block that is not one".to_owned(),
                    |it| format!("{}: {}", it.name, it.problem),
                );
                (
                    "invalid_tool_call",
                    format!(
                        "the model wrote a tool call that is not valid, and did not correct it. {about}"
                    ),
                )
            }
        };
        out.push(Delta::Error {
            error: message,
            code: Some(code.to_owned()),
            kind: ModelErrorKind::Other,
            retry_after_ms: None,
            overflow: None,
        });
        self.over()
    }
}
