//! Turns in which the model corrects its calls, invisible to the client.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::prompt::correction;
use serde_json::Value;

use super::history::HistoryWriter;
use super::instructions::{must_call, style};
use super::setup::Setup;
use super::turn::{AcceptedCall, Defect, RejectedCall, Turn};

/// Returns the messages of a repair turn: the reply as written, and its defects.
pub(super) fn messages(setup: &Setup, raw: String, turn: Turn, defect: &Defect) -> Vec<Message> {
    if setup.is_native {
        return native_messages(setup, raw, turn, defect);
    }
    vec![
        Message::text(Role::Assistant, raw),
        Message::text(Role::User, text(setup, &turn, defect)),
    ]
}

/// Returns the text for the model: the calls that are accepted, and how to correct the others.
fn text(setup: &Setup, turn: &Turn, defect: &Defect) -> String {
    let (tools, secrets, rules) = (setup.tools(), setup.secrets(), &*setup.rules);
    let writer = HistoryWriter::of(setup, &|_| Vec::new());
    let mut texts: Vec<String> = Vec::new();
    for AcceptedCall { id, name } in &turn.accepted {
        let text = "Accepted. Its result comes later. Do not write it again.";
        texts.push(writer.envelope(id, name, "accepted", text));
    }
    for RejectedCall { id, name, problem } in &turn.rejected {
        let id = if id.is_empty() { "call" } else { id };
        let mut text = writer.envelope(id, name, "error", problem);
        if let Some(gadget) = tools.registry().get(name) {
            text.push_str(&correction(gadget, style(rules, secrets)));
        }
        texts.push(text);
    }
    if turn.repeats {
        texts.push("You wrote the same again and again, so your reply was ended there.".to_owned());
    }
    texts.push(match defect {
        Defect::InvalidCalls => {
            "The calls with errors were not executed. Write them again, whole and corrected, and nothing else.".to_owned()
        }
        Defect::NoCall => must_call(&setup.client().choice, tools, rules, secrets),
        Defect::NearMiss(problem) => format!(
            "{problem}. Nothing was executed. If you meant to call a tool, write the call again, whole; otherwise write your \
             answer again."
        ),
    });
    texts.join("\n\n")
}

/// Returns the messages for an upstream with its own tool interface: results of its calls.
fn native_messages(setup: &Setup, raw: String, turn: Turn, defect: &Defect) -> Vec<Message> {
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
        let mut rejected = turn.rejected.iter();
        let rejected = rejected.find(|it| it.id == id || it.id.is_empty());
        let (text, is_error) = match rejected {
            Some(rejected) => (rejected.problem.clone(), true),
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
            input: call.input.map_or_else(Value::String, |(input, _)| input),
        });
    }
    if *defect == Defect::NoCall {
        results.push(Content::Text {
            text: format!("Call {} now.", setup.client().choice),
        });
    }
    let messages = [(Role::Assistant, content), (Role::User, results)].into_iter();
    let messages = messages.filter(|(_, content)| !content.is_empty());
    messages
        .map(|(role, content)| Message::new(role, content))
        .collect()
}

/// Returns the error of a reply whose defect the model has not corrected.
pub(super) fn error(setup: &Setup, turn: &Turn, defect: &Defect) -> Delta {
    let (code, message) = match defect {
        Defect::NoCall => (
            "tool_choice_not_satisfied",
            format!(
                "tool_choice not satisfied: the model did not call {}",
                setup.client().choice
            ),
        ),
        Defect::InvalidCalls | Defect::NearMiss(_) => {
            let first = turn.rejected.first();
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
    Delta::Error(ModelError::new(ModelErrorKind::Other, message).with_code(code))
}
