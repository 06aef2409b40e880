//! Structural tags of xgrammar: <https://xgrammar.mlc.ai/docs/tutorials/structural_tag.html>.

use serde_json::{Value, json};

use super::call::{Calls, JSON_START, Writer};
use super::error::GrammarError;
use super::spec::{GrammarLimits, GrammarSpec, GrammarTool};
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
    let mut calls = Calls::new(spec);
    for tool in &spec.callable()? {
        calls.add(call(spec, tool))?;
    }
    let calls = calls.all()?;
    let bytes: usize = calls.iter().map(|call| call.grammar.len()).sum();
    let tags: Vec<Value> = calls.into_iter().map(Call::tag).collect();
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

struct Call {
    begin: String,
    grammar: String,
    end: String,
}

fn call(spec: &GrammarSpec<'_>, tool: &GrammarTool<'_>) -> Result<Call, GrammarError> {
    let mut writer = Writer::new(spec);
    let body = writer.between(tool)?;
    let (begin, end) = writer.ends(tool)?;
    let grammar = writer.rules.text(&body, spec.limits.bytes)?;
    Ok(Call {
        begin,
        grammar,
        end,
    })
}

impl Call {
    fn tag(self) -> Value {
        let content = json!({ "type": "grammar", "grammar": self.grammar });
        json!({ "begin": self.begin, "content": content, "end": self.end })
    }
}
