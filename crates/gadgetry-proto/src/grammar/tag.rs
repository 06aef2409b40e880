//! Structural tags of xgrammar: <https://xgrammar.mlc.ai/docs/tutorials/structural_tag.html>.

use serde_json::{Value, json};

use super::call::{JSON_START, Writer};
use super::error::GrammarError;
use super::spec::{GrammarLimits, GrammarSpec};
use crate::call_form::CallForm;
use crate::message::ToolChoice;

/// The tag of whole replies: calls only where they are demanded, else prose with calls that a trigger begins.
pub(super) fn structural_tag(spec: &GrammarSpec<'_>) -> Result<Value, GrammarError> {
    let trigger = match spec.form {
        CallForm::Block => spec.markers.start(),
        CallForm::Json => JSON_START,
    };
    // Each tool has a grammar of its own there, and an engine writes counted characters out in each: with 128 tools that ends xgrammar.
    let spec = &GrammarSpec {
        limits: GrammarLimits {
            string: 0,
            ..spec.limits
        },
        ..*spec
    };
    let mut tags = Vec::new();
    let mut bytes = 0;
    for tool in &spec.callable()? {
        let mut writer = Writer::new(spec);
        let body = writer.between(tool)?;
        let (begin, end) = writer.ends(tool)?;
        let grammar = writer.rules.text(&body, spec.limits.bytes)?;
        bytes += grammar.len();
        tags.push(json!({ "begin": begin, "content": { "type": "grammar", "grammar": grammar }, "end": end }));
    }
    if bytes > spec.limits.bytes {
        return Err(GrammarError::TooLarge {
            limit: spec.limits.bytes,
        });
    }
    let format = match spec.choice {
        _ if tags.is_empty() => json!({ "type": "grammar", "grammar": spec.gbnf()? }),
        ToolChoice::Required | ToolChoice::Gadget(_) => json!({
            "type": "tags_with_separator",
            "tags": tags,
            "separator": "\n",
            "at_least_one": true,
            "stop_after_first": spec.is_single,
        }),
        ToolChoice::Auto | ToolChoice::None => json!({
            "type": "triggered_tags",
            "triggers": [trigger],
            "tags": tags,
            "at_least_one": false,
            "stop_after_first": spec.is_single,
        }),
    };
    Ok(json!({ "type": "structural_tag", "format": format }))
}
