//! The Messages API: what is sent, and what is kept of whatever a server answers.

#![cfg(feature = "providers")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod cuts;
mod mutations;
mod requests;
mod tools;
mod wholes;

use std::fmt::Write as _;

use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::usage::Usage;
use gadgetry::provider::{Decode as _, anthropic, json, sse};
use gadgetry::serde_json::Value;

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

/// What the decoder makes of an answer, with the raw frames that it does not know.
fn read(chunks: &[&[u8]]) -> Vec<Delta> {
    let mut decoder = anthropic::Decoder::new();
    let mut lines = sse::Decoder::new();
    let mut deltas = Vec::new();
    let mut take = |events: &mut Vec<sse::Event>, decoder: &mut anthropic::Decoder| {
        for event in events.drain(..) {
            let at = deltas.len();
            if !decoder.frame(&event, &mut deltas) {
                let mut data = json::parse(&event.data).unwrap_or_default();
                json::whole_value(&mut data);
                deltas.insert(at, Delta::Raw { data });
            }
        }
    };
    let mut events = Vec::new();
    for chunk in chunks {
        lines.feed(chunk, &mut events).unwrap();
        take(&mut events, &mut decoder);
    }
    // A last frame that nothing ended counts if it is whole, as `Http` has it.
    let last = lines.finish().unwrap();
    events.extend(last.filter(|event| json::parse(&event.data).is_ok()));
    take(&mut events, &mut decoder);
    decoder.end(&mut deltas);
    deltas
}

/// Deltas in short, with adjacent pieces of one text joined. A reply without an end says `cut`.
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
                add("", &format!("start {}", model.as_deref().unwrap_or("-")))
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
            Delta::Error { error, kind, .. } => {
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
        lines.push("cut".to_owned());
    }
    lines
}

fn word(stop_reason: &StopReason) -> String {
    let word = gadgetry::serde_json::to_value(stop_reason).unwrap();
    word.as_str().unwrap().to_owned()
}

/// Input, of it read from and written to the cache; output, of it reasoning.
fn counts(usage: Usage) -> String {
    assert_eq!(usage.total_tokens, usage.input_tokens + usage.output_tokens);
    format!(
        "{}({}+{})>{}({})",
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.cache_creation_tokens,
        usage.output_tokens,
        usage.reasoning_tokens
    )
}
