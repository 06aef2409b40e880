//! Gadgets as the tools of a provider: their names, and the forms of their calls.

use std::collections::BTreeMap;

use gadgetry_proto::json::read_value;
use gadgetry_proto::schema::GadgetSpec;

/// The maximum length of a tool's name, at the providers that have one.
const LENGTH: usize = 64;

/// Maps names of gadgets to names of tools, which have only letters, digits, `_` and `-`, and back.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolNames {
    sent: BTreeMap<String, String>,
    meant: BTreeMap<String, String>,
}

impl ToolNames {
    /// The names of `gadgets`. Tool names that would be equal get a number.
    pub(crate) fn of(gadgets: &[GadgetSpec]) -> Self {
        let mut names = Self::default();
        for gadget in gadgets {
            let plain = plain(&gadget.name);
            let mut sent = plain.clone();
            for number in 2.. {
                if !names.meant.contains_key(&sent) {
                    break;
                }
                let suffix = format!("_{number}");
                let kept = plain.len().min(LENGTH - suffix.len());
                sent = format!("{}{suffix}", &plain[..kept]);
            }
            names.meant.insert(sent.clone(), gadget.name.clone());
            names.sent.insert(gadget.name.clone(), sent);
        }
        names
    }

    /// The tool name of a gadget, also of one that is no longer offered.
    pub(crate) fn sent(&self, name: &str) -> String {
        self.sent.get(name).cloned().unwrap_or_else(|| plain(name))
    }

    /// The gadget that a tool's name means; an unknown name is unchanged.
    pub(crate) fn meant<'n>(&'n self, name: &'n str) -> &'n str {
        self.meant.get(name).map_or(name, String::as_str)
    }
}

/// The parameter that holds the text of a tool that takes free text.
pub const TEXT_PARAMETER: &str = "input";

/// Tools whose calls OpenAI's APIs write in another form than that of a function of this name: tools that take free text, which
/// are [`TEXT_PARAMETER`] in the parameters here, and tools in a namespace.
///
/// ```
/// use gadgetry::Delta;
/// use gadgetry::provider::Encode as _;
/// use gadgetry::provider::openai::chat;
/// use gadgetry::provider::tools::ToolForms;
/// let mut forms = ToolForms::default();
/// forms.add("patch", "patch", None, true);
/// let mut encoder = chat::Encoder::new("chatcmpl-1", 0).tool_forms(forms);
/// let input = serde_json::json!({"input": "+ line"});
/// encoder.delta(&Delta::ToolCall { id: "call_1".into(), name: "patch".into(), input }, &mut Vec::new());
/// let call = &encoder.document()["choices"][0]["message"]["tool_calls"][0];
/// assert_eq!(call["custom"]["input"], "+ line");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolForms(BTreeMap<String, ToolForm>);

/// Form of the calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolForm {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) is_text: bool,
}

impl ToolForms {
    /// Adds a tool: `call_name` in deltas is `name` in `namespace` for the client, with free text if `is_text`.
    pub fn add(
        &mut self,
        call_name: impl Into<String>,
        name: &str,
        namespace: Option<&str>,
        is_text: bool,
    ) {
        let form = ToolForm {
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            is_text,
        };
        self.0.insert(call_name.into(), form);
    }

    /// The form of a tool that has another than the usual one.
    pub(super) fn of(&self, call_name: &str) -> Option<&ToolForm> {
        self.0.get(call_name)
    }

    /// Returns whether a tool takes free text.
    pub(super) fn is_text(&self, call_name: &str) -> bool {
        self.of(call_name).is_some_and(|form| form.is_text)
    }
}

/// The free text in the arguments of a call.
pub(super) fn text_of(arguments: &str) -> String {
    let parsed = read_value(arguments).unwrap_or_default();
    let text = parsed[TEXT_PARAMETER].as_str();
    text.unwrap_or_default().to_owned()
}

fn plain(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(LENGTH).collect();
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_gadgets_become_names_of_tools_and_back() {
        let spec = GadgetSpec {
            name: "math.add".into(),
            ..GadgetSpec::default()
        };
        let names = ToolNames::of(&[spec]);
        assert_eq!(names.sent("math.add"), "math_add");
        assert_eq!(names.meant("math_add"), "math.add");
    }
}
