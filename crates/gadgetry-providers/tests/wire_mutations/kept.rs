//! What a stream of deltas leaves, and the rules that every such stream keeps.

use futures_core::Stream;
use futures_util::StreamExt as _;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelError;
use serde_json::Value;

use super::row::{Finish, Kept};

/// A call as far as it has come.
struct Call {
    id: String,
    name: String,
    json: String,
    input: Option<Value>,
    is_over: bool,
}

/// Reads a reply to its end. An error is a rule that the stream has broken.
pub(crate) async fn read(mut deltas: impl Stream<Item = Delta> + Unpin) -> Result<Kept, String> {
    let mut kept = Kept::default();
    let mut calls: Vec<Call> = Vec::new();
    while let Some(delta) = deltas.next().await {
        if kept.finish != Finish::Nothing {
            return Err(format!("after the end: {delta:?}"));
        }
        let open = |calls: &mut Vec<Call>, id: &str| {
            let at = calls.iter().position(|call| call.id == id && !call.is_over);
            at.ok_or_else(|| format!("no open call {id:?}"))
        };
        match delta {
            Delta::Text { delta, .. } => kept.text += &delta,
            Delta::Reasoning { delta, .. } => kept.reasoning += &delta,
            Delta::ToolCallStart { id, name } => {
                if id.is_empty() || calls.iter().any(|call| call.id == id) {
                    return Err(format!("the id {id:?} is empty, or taken"));
                }
                calls.push(Call {
                    id,
                    name,
                    json: String::new(),
                    input: None,
                    is_over: false,
                });
            }
            Delta::ToolCallDelta { id, delta } => {
                let at = open(&mut calls, &id)?;
                calls[at].json += &delta;
            }
            Delta::ToolCallEnd { id, input } => {
                let at = open(&mut calls, &id)?;
                calls[at].is_over = true;
                calls[at].input = input;
            }
            Delta::ToolCall { id, name, input } => calls.push(Call {
                id,
                name,
                json: String::new(),
                input: Some(input),
                is_over: true,
            }),
            Delta::Usage { usage } => kept.usage = Some(usage),
            Delta::MessageEnd { stop_reason, usage } => {
                kept.finish = Finish::Stop(stop_reason);
                kept.usage = usage;
            }
            Delta::Error(ModelError {
                kind,
                retry_after_ms,
                message: error,
                ..
            }) => {
                if error.is_empty() {
                    return Err("an error without words".to_owned());
                }
                kept.finish = Finish::Error(kind);
                kept.wait_ms = retry_after_ms;
            }
            _ => {}
        }
    }
    for call in calls {
        if call.is_over {
            kept.calls.push((call.name, input(call.input, &call.json)));
        } else {
            kept.cut.push(call.name);
        }
    }
    Ok(kept)
}

/// As the engine reads it: no text at all is no parameters.
fn input(whole: Option<Value>, json: &str) -> Value {
    whole.unwrap_or_else(|| {
        if json.trim().is_empty() {
            return Value::Object(serde_json::Map::new());
        }
        serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.to_owned()))
    })
}
