//! The answer of the Completions API as deltas.

use gadgetry_proto::delta::{Delta, StopReason};
use serde_json::Value;

use crate::openai::chat;
use crate::sse;
use crate::wire::Decode;

/// Reads chunks, and whole replies, of the Completions API.
///
/// The chunks are those of Chat Completions with a text in place of a delta, so this reads them as [`chat::Decoder`] does,
/// but for two things. Calls are in the text alone: native ones are dropped. And a clean end is
/// [`StopReason::NextTurn`], because the servers do not say whether the model has ended or a stop sequence of the template did.
///
/// ```
/// use gadgetry::{Delta, StopReason};
/// use gadgetry::provider::{Decode, openai::completions::Decoder};
/// let mut deltas = Vec::new();
/// let body = r#"{"choices":[{"index":0,"text":"Hello","finish_reason":"stop"}]}"#;
/// Decoder::new().reply(serde_json::from_str(body)?, &mut deltas);
/// assert_eq!(deltas[1], Delta::text("Hello"));
/// assert_eq!(deltas[2], Delta::MessageEnd { stop_reason: StopReason::NextTurn, usage: None });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder(chat::Decoder);

impl Decoder {
    /// A decoder at the start of an answer.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Changes the deltas that were added after `from`.
fn adapt(from: usize, out: &mut Vec<Delta>) {
    let mut added = out.split_off(from);
    added.retain(|delta| !is_call(delta));
    for delta in &mut added {
        if let Delta::MessageEnd { stop_reason, .. } = delta
            && stop_reason.is_clean()
        {
            *stop_reason = StopReason::NextTurn;
        }
    }
    out.append(&mut added);
}

fn is_call(delta: &Delta) -> bool {
    matches!(
        delta,
        Delta::ToolCallStart { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCall { .. }
    )
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) -> bool {
        let from = out.len();
        let is_known = self.0.frame(frame, out);
        adapt(from, out);
        is_known
    }

    fn reply(&mut self, body: Value, out: &mut Vec<Delta>) {
        let from = out.len();
        self.0.reply(body, out);
        adapt(from, out);
    }

    fn may_end(&self) -> bool {
        self.0.may_end()
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        let from = out.len();
        self.0.end(out);
        adapt(from, out);
    }
}
