//! What messages of a conversation hold.

use gadgetry_proto::id::InvocationId;
use gadgetry_proto::message::{Content, Message};

/// The ids of the calls through the provider's own interface.
pub(super) fn tool_uses(reply: &Message) -> Vec<InvocationId> {
    let uses = reply.content.iter().filter_map(|content| {
        let Content::ToolUse { tool_use_id, .. } = content else {
            return None;
        };
        Some(tool_use_id.as_str().into())
    });
    uses.collect()
}

/// The ids of the calls in a reply.
pub(super) fn calls(reply: &Message) -> Vec<InvocationId> {
    ids(reply, |content| {
        let Content::GadgetCall(call) = content else {
            return None;
        };
        Some(&call.invocation_id)
    })
}

/// Whether a text says that a call was skipped for this reason.
pub(super) fn tells_skip(text: &str, reason: &str) -> bool {
    let Some(rest) = text.strip_prefix("Skipped: ") else {
        return false;
    };
    let reason = reason.split("\n\n").next().unwrap_or_default();
    rest.eq_ignore_ascii_case(reason)
        || rest.ends_with(&format!("\" failed: {reason}"))
        || (reason == "Dependency failed" && rest.ends_with("\" failed"))
}

/// How long a result is that was too long, by its notice.
pub(super) fn announced_bytes(notice: &str) -> Option<usize> {
    let (name, rest) = notice.split_once(" returned too much data: ")?;
    let (bytes, _) = rest.split_once(' ')?;
    let bytes = bytes.replace(',', "").parse().ok();
    bytes.filter(|_| name.starts_with("[Gadget \""))
}

pub(super) fn is_result(content: &Content) -> bool {
    matches!(content, Content::GadgetResult { .. })
}

pub(super) fn ids<'a>(
    message: &'a Message,
    id: impl Fn(&'a Content) -> Option<&'a InvocationId>,
) -> Vec<InvocationId> {
    message.content.iter().filter_map(id).cloned().collect()
}
