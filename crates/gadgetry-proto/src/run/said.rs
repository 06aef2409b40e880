//! The content of a reply for the conversation, and notes about one that calls nothing.

use crate::call_form::CallForm;
use crate::message::{Content, Message};
use crate::run::plan::Plan;

/// The error of a reply that ends with [`StopReason::ToolUse`](crate::delta::StopReason::ToolUse) and has no calls.
pub(super) const NO_CALL: &str = "The reply announced a call, but contained none";

/// The note for a model that says that it calls something, and calls nothing.
pub(super) fn no_call_note(plan: &Plan) -> String {
    let how = if !plan.config.tools.reads_blocks() {
        "use your interface for tools".to_owned()
    } else if plan.config.form == CallForm::Json {
        "write JSON between <tool_call> and </tool_call>".to_owned()
    } else {
        let start = plan.config.markers.start();
        format!("write a block that begins with {start}")
    };
    format!("{NO_CALL}. To call a gadget, {how}; if you are done, answer without a call.")
}

/// Returns `true` if a part of a message says nothing by itself.
pub(super) fn is_blank(content: &Content) -> bool {
    if let Content::Text { text } = content {
        return text.trim().is_empty();
    }
    matches!(content, Content::ProviderData(_))
}

/// The text of a message.
pub(super) fn visible_text(message: &Message) -> String {
    let mut text = String::new();
    for content in &message.content {
        if let Content::Text { text: more } = content {
            text.push_str(more);
        }
    }
    text
}
