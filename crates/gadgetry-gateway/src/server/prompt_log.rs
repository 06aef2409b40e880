//! Prompts and replies in the log, if that is enabled.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;

/// Logs requests to the upstream, and their replies.
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

    /// Logs a request that is sent, and the complete reply to the one before it.
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

    /// Logs the reply, which has ended or was aborted.
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
