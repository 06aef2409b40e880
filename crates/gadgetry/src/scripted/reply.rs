//! One reply of a script, and its deltas for a request.

use std::time::Duration;

use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::message::Request;
use gadgetry_proto::usage::Usage;
use serde::Deserialize;

/// Maximum number of characters of a request that an unmet expectation shows.
const SHOWN_CHARS: usize = 400;

/// A reply of the script.
#[derive(Debug)]
pub(super) struct ScriptedReply {
    /// One-based line of the file.
    pub(super) line: usize,
    pub(super) pieces: Vec<Piece>,
    pub(super) finish: Finish,
    pub(super) usage: Option<Usage>,
    /// Texts that the request must contain.
    pub(super) contains: Vec<String>,
}

/// A part of a reply.
#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    Delay(Duration),
}

/// End of a reply.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Finish {
    #[default]
    Stop,
    Length,
    Error,
    Disconnect,
}

/// Next step of a stream.
pub(super) enum Step {
    Send(Delta),
    Wait(Duration),
}

impl ScriptedReply {
    /// Returns the whole reply to `request`.
    pub(super) fn steps(&self, request: &Request) -> Vec<Step> {
        if let Some(error) = self.unmet(request) {
            return vec![Step::Send(error)];
        }
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Step::Send(Delta::text(text)),
            Piece::Delay(delay) => Step::Wait(*delay),
        });
        pieces
            .chain(self.end().into_iter().map(Step::Send))
            .collect()
    }

    fn end(&self) -> Vec<Delta> {
        let stop_reason = match self.finish {
            Finish::Stop => StopReason::Stop,
            Finish::Length => StopReason::MaxTokens,
            Finish::Error => {
                let error = Delta::Error(
                    ModelError::new(
                        ModelErrorKind::Other,
                        "the script says that the model fails here",
                    )
                    .with_code("script"),
                );
                return self.counts().chain([error]).collect();
            }
            Finish::Disconnect => return self.counts().collect(),
        };
        vec![Delta::MessageEnd {
            stop_reason,
            usage: self.usage,
        }]
    }

    /// Returns the token counts of a reply that has no [`Delta::MessageEnd`] to carry them.
    fn counts(&self) -> impl Iterator<Item = Delta> {
        self.usage.into_iter().map(|usage| Delta::Usage { usage })
    }

    fn unmet(&self, request: &Request) -> Option<Delta> {
        if self.contains.is_empty() {
            return None;
        }
        let text = request_text(request);
        let missing = self.contains.iter().filter(|part| !text.contains(*part));
        let missing: Vec<_> = missing.map(|part| format!("{part:?}")).collect();
        if missing.is_empty() {
            return None;
        }
        let error = format!(
            "line {} of the script expects a request that contains {}; this one does not. It ends with: {}",
            self.line,
            missing.join(" and "),
            last_chars(&text, SHOWN_CHARS),
        );
        Some(Delta::Error(
            ModelError::new(ModelErrorKind::Other, error).with_code("expectation"),
        ))
    }
}

/// Returns all text that a model would read of a request.
fn request_text(request: &Request) -> String {
    let messages = request.all_messages().map(prompt_text);
    messages.collect::<Vec<_>>().join("\n")
}

fn last_chars(text: &str, count: usize) -> &str {
    let cut = text.char_indices().rev().nth(count.saturating_sub(1));
    cut.map_or(text, |(start, _)| &text[start..])
}
