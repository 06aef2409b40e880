//! Prompts and replies in the log, for those who have switched it on.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;

/// Logs what goes to the upstream, and what comes back.
pub(super) struct PromptLog {
    /// The id of the request in its answer's headers.
    request: String,
    is_on: bool,
    reply: String,
}

impl PromptLog {
    pub(super) fn new(request: &str, is_on: bool) -> Self {
        Self {
            request: request.to_owned(),
            is_on,
            reply: String::new(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A request is sent; the reply to the one before it is whole.
    pub(super) fn sent(&mut self, request: &Request) {
        if !self.is_on {
            return;
        }
        self.ended();
        let messages = serde_json::to_string(&request.messages).unwrap_or_default();
        tracing::info!(request = self.request, messages, "prompt");
    }

    pub(super) fn received(&mut self, delta: &Delta) {
        if self.is_on
            && let Delta::Text { delta, .. } | Delta::Reasoning { delta, .. } = delta
        {
            self.reply.push_str(delta);
        }
    }

    /// The reply is over, or was broken off.
    pub(super) fn ended(&mut self) {
        if !self.reply.is_empty() {
            let text = std::mem::take(&mut self.reply);
            tracing::info!(request = self.request, text, "reply");
        }
    }
}

impl Drop for PromptLog {
    fn drop(&mut self) {
        self.ended();
    }
}
