//! Events as parts of the AI SDK's UI message stream, version 1.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::{Approval, ApprovalAnswer, CallAnswer, FinishReason};
use gadgetry::proto::id::CallId;
use gadgetry::{Event, EventKind};
use serde_json::{Value, json};

/// Turns the events of one run into the parts of one message of the AI SDK.
///
/// | event | parts |
/// |---|---|
/// | a reply begins, all its calls are answered | `start-step`, `finish-step` |
/// | `text`, `reasoning` | `text-*`, `reasoning-*` |
/// | a call | `tool-input-start`, `tool-input-available`, or `tool-input-error` if its parameters are malformed |
/// | `approval_required` | `tool-approval-request`, and `data-approval` with what the user has to see |
/// | `approval_answered` with `denied` | `tool-output-denied` |
/// | `gadget_result`, `gadget_skipped` | `tool-output-available`, `tool-output-error` |
/// | `gadget_progress`, `custom_block`, `human_input_required`, `reply_withdrawn` | `data-progress`, `data-block`, `data-question`, `data-withdrawn` |
/// | the end | `error` or `abort` if it failed or was cancelled, then `finish` |
///
/// Tools are `dynamic`, because a client does not know them. The events of subagents are left out, but for their approvals
/// (`data-approval`). The text of an `error` has no details: they may be about the provider.
///
/// ```
/// use gadgetry::Event;
/// use gadgetry_axum::UiMessages;
///
/// let event: Event = gadgetry::serde_json::from_str(r#"{ "v": 1, "seq": 1, "timeMs": 0, "type": "text", "text": "Hi" }"#)?;
/// let mut messages = UiMessages::default();
/// let parts: Vec<_> = messages.parts(&event).iter().map(|part| part["type"].clone()).collect();
/// assert_eq!(parts, ["start", "text-start", "text-delta"]);
/// # Ok::<(), gadgetry::serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct UiMessages {
    has_begun: bool,
    is_in_step: bool,
    /// The text or reasoning that is open.
    open: Option<Kind>,
    /// Number of texts and reasonings so far.
    blocks: u32,
    calls: BTreeMap<CallId, Call>,
    out: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
        }
    }
}

/// What the client knows of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Call {
    has_input: bool,
    is_denied: bool,
}

impl UiMessages {
    /// Returns the parts of the next event of the run, each a JSON object with a `type`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what the protocol has no part for is left out"
    )]
    pub fn parts(&mut self, event: &Event) -> Vec<Value> {
        if !self.has_begun {
            self.has_begun = true;
            self.out.push(json!({"type": "start"}));
        }
        if !event.path.is_empty() {
            if let EventKind::ApprovalRequired { approval, .. } = &event.kind {
                self.approval(approval);
            }
            return std::mem::take(&mut self.out);
        }
        match &event.kind {
            EventKind::ModelCallStart { .. } => self.begin_step(),
            EventKind::ModelCallEnd { .. } => self.close(),
            EventKind::IterationEnd { .. } => self.end_step(),
            EventKind::ReplyWithdrawn { iteration } => {
                self.close();
                self.data("withdrawn", &json!({"iteration": iteration}));
            }
            EventKind::Text { text } => self.text(Kind::Text, text),
            EventKind::Reasoning { text } => self.text(Kind::Reasoning, text),
            EventKind::GadgetCallStart { call, start } => self.call(*call, &start.gadget_name),
            EventKind::GadgetCall { call, written } => {
                self.call(*call, &written.gadget_name);
                match &written.parameters {
                    Parameters::Parsed(input) => self.input(*call, &written.gadget_name, input),
                    Parameters::Malformed(malformed) => {
                        self.known(*call).has_input = true;
                        self.out.push(json!({
                            "type": "tool-input-error", "toolCallId": id(*call), "toolName": written.gadget_name,
                            "input": null, "dynamic": true, "errorText": malformed,
                        }));
                    }
                }
            }
            EventKind::ApprovalRequired { call, approval, .. } => {
                self.input(*call, &approval.gadget_name, &approval.parameters);
                self.approval(approval);
                self.out.push(json!({
                    "type": "tool-approval-request", "approvalId": approval.id, "toolCallId": id(*call),
                }));
            }
            EventKind::ApprovalAnswered {
                call,
                answer: ApprovalAnswer::Denied { .. },
                ..
            } => {
                self.known(*call).is_denied = true;
                self.out
                    .push(json!({"type": "tool-output-denied", "toolCallId": id(*call)}));
            }
            EventKind::GadgetStart {
                call,
                gadget_name,
                parameters,
                ..
            } => self.input(*call, gadget_name, parameters),
            EventKind::GadgetProgress { call, message, .. } => {
                self.data(
                    "progress",
                    &json!({"toolCallId": id(*call), "message": message}),
                );
            }
            EventKind::GadgetResult {
                call,
                gadget_name,
                answer,
                ..
            } => match answer {
                CallAnswer::Result(text) => {
                    self.input(*call, gadget_name, &Value::Null);
                    self.out.push(json!({
                        "type": "tool-output-available", "toolCallId": id(*call), "output": text, "dynamic": true,
                    }));
                }
                CallAnswer::Error(error) => self.failed(*call, gadget_name, error),
            },
            EventKind::GadgetSkipped {
                call,
                gadget_name,
                error,
                ..
            } => self.failed(*call, gadget_name, error),
            EventKind::CustomBlock(block) => self.data("block", &json!(block)),
            EventKind::HumanInputRequired { question, .. } => {
                self.data("question", &json!({"question": question}));
            }
            EventKind::RunFinished { reason, .. } => self.finish(*reason),
            _ => {}
        }
        std::mem::take(&mut self.out)
    }

    fn begin_step(&mut self) {
        if !self.is_in_step {
            self.is_in_step = true;
            self.out.push(json!({"type": "start-step"}));
        }
    }

    fn end_step(&mut self) {
        self.close();
        if self.is_in_step {
            self.is_in_step = false;
            self.out.push(json!({"type": "finish-step"}));
        }
    }

    fn text(&mut self, kind: Kind, text: &str) {
        if self.open != Some(kind) {
            self.close();
            self.open = Some(kind);
            self.blocks += 1;
            let word = kind.word();
            self.out
                .push(json!({"type": format!("{word}-start"), "id": self.block()}));
        }
        let word = kind.word();
        self.out
            .push(json!({"type": format!("{word}-delta"), "id": self.block(), "delta": text}));
    }

    fn block(&self) -> String {
        format!("block-{}", self.blocks)
    }

    fn close(&mut self) {
        if let Some(kind) = self.open.take() {
            let word = kind.word();
            self.out
                .push(json!({"type": format!("{word}-end"), "id": self.block()}));
        }
    }

    fn known(&mut self, call: CallId) -> &mut Call {
        self.calls.entry(call).or_default()
    }

    /// Announces a call, once.
    fn call(&mut self, call: CallId, name: &str) {
        self.close();
        if let Entry::Vacant(place) = self.calls.entry(call) {
            place.insert(Call::default());
            self.out.push(json!({
                "type": "tool-input-start", "toolCallId": id(call), "toolName": name, "dynamic": true,
            }));
        }
    }

    /// Sends the input of a call, once.
    fn input(&mut self, call: CallId, name: &str, input: &Value) {
        self.call(call, name);
        let known = self.known(call);
        if !known.has_input {
            known.has_input = true;
            self.out.push(json!({
                "type": "tool-input-available", "toolCallId": id(call), "toolName": name, "input": input, "dynamic": true,
            }));
        }
    }

    fn failed(&mut self, call: CallId, name: &str, error: &str) {
        self.input(call, name, &Value::Null);
        // The client shows that it was denied.
        if !self.known(call).is_denied {
            self.out.push(json!({
                "type": "tool-output-error", "toolCallId": id(call), "errorText": error, "dynamic": true,
            }));
        }
    }

    fn approval(&mut self, approval: &Approval) {
        self.out
            .push(json!({"type": "data-approval", "id": approval.id, "data": approval}));
    }

    fn data(&mut self, name: &str, data: &Value) {
        let part = json!({"type": format!("data-{name}"), "data": data});
        self.out.push(part);
    }

    fn finish(&mut self, reason: FinishReason) {
        self.end_step();
        let (word, error) = match reason {
            FinishReason::Completed | FinishReason::TaskCompleted | FinishReason::Stopped => {
                ("stop", None)
            }
            FinishReason::Truncated => ("length", None),
            FinishReason::Withheld => ("content-filter", None),
            FinishReason::MaxIterations => ("other", Some("too many replies")),
            FinishReason::BudgetExceeded => ("other", Some("the budget is spent")),
            FinishReason::ModelError => ("error", Some("the model failed")),
            FinishReason::GadgetError => ("error", Some("a tool failed")),
            FinishReason::Cancelled => {
                self.out.push(json!({"type": "abort"}));
                return;
            }
            _ => ("other", None),
        };
        if let Some(error) = error {
            self.out.push(json!({"type": "error", "errorText": error}));
        }
        self.out
            .push(json!({"type": "finish", "finishReason": word}));
    }
}

fn id(call: CallId) -> String {
    format!("call_{}", call.0)
}
