//! The Messages API: what is sent, and what is kept of whatever a server answers.

#![cfg(feature = "http")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it looks at"
)]

mod cuts;
mod kept;
mod mutations;
mod over_http;
mod requests;
mod tools;
mod wholes;

use std::fmt::Write as _;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::usage::Usage;
use gadgetry_providers::{ResponseDecoder, anthropic};
use serde_json::Value;

/// Frames as a server sends them, `event: data`, or only data if a line begins with a brace.
fn stream(frames: &[&str]) -> String {
    let mut bytes = String::new();
    for frame in frames {
        match frame.split_once(' ') {
            Some((event, data)) if !frame.starts_with('{') => {
                write!(bytes, "event: {event}\ndata: {data}\n\n").unwrap();
            }
            _ => write!(bytes, "data: {frame}\n\n").unwrap(),
        }
    }
    bytes
}

/// What becomes of an answer, with the raw frames that the decoder does not know.
fn read(chunks: &[&[u8]]) -> Vec<Delta> {
    let mut answer = ResponseDecoder::new(Box::new(anthropic::Decoder::new()));
    let mut deltas = Vec::new();
    for chunk in chunks {
        answer.feed(chunk, &mut deltas);
    }
    answer.end(None, &mut deltas);
    deltas
}

/// Deltas in short, with adjacent pieces of one text joined. A truncated reply says `cut`.
fn shown(deltas: &[Delta]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |kind: &str, text: &str| match lines.last_mut() {
        Some(line) if !kind.is_empty() && line.starts_with(kind) => line.push_str(text),
        _ => lines.push(format!("{kind}{text}")),
    };
    let mut is_over = false;
    for delta in deltas {
        match delta {
            Delta::MessageStart { model } => {
                add("", &format!("start {}", model.as_deref().unwrap_or("-")));
            }
            Delta::Text { delta, .. } => add("text ", delta),
            Delta::Reasoning { delta, .. } => add("think ", delta),
            Delta::ReasoningMetadata { metadata } => {
                add(
                    "",
                    &format!("about {}", Value::from(metadata.extensions.clone())),
                );
            }
            Delta::ContentMetadata { metadata } => {
                add(
                    "",
                    &format!("cites {}", Value::from(metadata.citations.clone())),
                );
            }
            Delta::ToolCallStart { id, name } => add("", &format!("call {id} {name}")),
            Delta::ToolCallDelta { id, delta } => add(&format!("json {id} "), delta),
            Delta::ToolCallEnd { id, input } => {
                let input = input
                    .as_ref()
                    .map(|input| format!(" {input}"))
                    .unwrap_or_default();
                add("", &format!("done {id}{input}"));
            }
            Delta::Raw { data } => add("", &format!("raw {data}")),
            Delta::Usage { usage } => add("", &format!("usage {}", counts(*usage))),
            Delta::Error(ModelError {
                kind: ModelErrorKind::Truncated,
                ..
            }) => {
                is_over = true;
                add("", "cut");
            }
            Delta::Error(ModelError {
                message: error,
                kind,
                ..
            }) => {
                is_over = true;
                add("", &format!("error {kind:?} {error}"));
            }
            Delta::MessageEnd { stop_reason, usage } => {
                is_over = true;
                let usage = usage.map(counts).unwrap_or_default();
                add("", format!("end {} {usage}", word(stop_reason)).trim_end());
            }
            other => add("", &format!("{other:?}")),
        }
    }
    if !is_over {
        lines.push("no end".to_owned());
    }
    lines
}

fn word(stop_reason: &StopReason) -> String {
    let word = serde_json::to_value(stop_reason).unwrap();
    word.as_str().unwrap().to_owned()
}

/// Input, of it read from and written to the cache; output, of it reasoning.
fn counts(usage: Usage) -> String {
    assert_eq!(usage.total_tokens, usage.input_tokens + usage.output_tokens);
    let hour = match usage.cache_creation_1h_tokens {
        0 => String::new(),
        tokens => format!("/{tokens}h"),
    };
    format!(
        "{}({}+{}{hour})>{}({})",
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.cache_creation_tokens,
        usage.output_tokens,
        usage.reasoning_tokens
    )
}
