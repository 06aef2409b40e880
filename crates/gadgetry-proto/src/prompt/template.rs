//! The text about gadgets in the system message, with every part replaceable.

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, Markers, Writer};
use crate::call_form::CallForm;
use crate::prompt::catalog::{CatalogEntry, CatalogExample, catalog};
use crate::prompt::json_call::json_call;
use crate::schema::{Example, RegisteredGadget, Registry};

/// The form of calls that a prompt describes.
#[derive(Clone, Copy, Debug)]
pub struct CallStyle<'a> {
    /// Blocks, or another form.
    pub form: CallForm,
    /// The markers of blocks.
    pub markers: &'a Markers,
    /// The places where markers count.
    pub anchoring: Anchoring,
}

/// The parts of the text about gadgets. An absent part is the default one, an empty part is left out.
///
/// Parts follow each other in the order of the fields. In each of them these placeholders are filled in; any other
/// text in braces stays as it is:
///
/// | placeholder | becomes |
/// |---|---|
/// | `{start}` `{end}` `{arg}` | the markers |
/// | `{gadgets}` | the catalog: a section for each gadget |
/// | `{names}` | the gadgets' names, with commas |
/// | `{count}` | the number of gadgets |
///
/// ```
/// use gadgetry_proto::block::{Anchoring, Markers};
/// use gadgetry_proto::call_form::CallForm;
/// use gadgetry_proto::prompt::{CallStyle, CatalogEntry, PromptTemplate};
/// let template = PromptTemplate {
///     intro: Some("Call {names} with {start}.".to_owned()),
///     format: Some(String::new()),
///     ..PromptTemplate::default()
/// };
/// let schema = serde_json::json!({ "type": "object" });
/// let ping = CatalogEntry { name: "ping", description: "Says pong", schema: &schema, examples: &[] };
/// let markers = Markers::default();
/// let style = CallStyle { form: CallForm::Block, markers: &markers, anchoring: Anchoring::Anywhere };
/// let text = template.render(&[ping], style);
/// assert!(text.is_some_and(|text| text.starts_with("Call ping with !!!GADGET_START:.\n\n# Gadgets")));
/// assert_eq!(template.render(&[], style), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PromptTemplate {
    /// An introduction to gadgets; empty by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intro: Option<String>,
    /// The catalog, in place of `{gadgets}`, and its surroundings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The form of a call. The default depends on the form of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The rules of execution. The default depends on the form of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The way to write markers inside values. The default depends on the form of calls and on the anchoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escape: Option<String>,
}

impl PromptTemplate {
    /// The whole text; none if there are no gadgets.
    pub fn render(&self, gadgets: &[CatalogEntry<'_>], style: CallStyle<'_>) -> Option<String> {
        if gadgets.is_empty() {
            return None;
        }
        let CallStyle {
            form,
            markers,
            anchoring,
        } = style;
        let names: Vec<&str> = gadgets.iter().map(|gadget| gadget.name).collect();
        let values = [
            ("{start}", markers.start().to_owned()),
            ("{end}", markers.end().to_owned()),
            ("{arg}", markers.arg().to_owned()),
            ("{gadgets}", catalog(gadgets)),
            ("{names}", names.join(", ")),
            ("{count}", names.len().to_string()),
        ];
        let (format, rules, escape) = match (form, anchoring) {
            (CallForm::Block, Anchoring::Anywhere) => (FORMAT, RULES, ANYWHERE),
            (CallForm::Block, Anchoring::LineStart) => (FORMAT, RULES, LINE_START),
            (CallForm::Json, _) => (JSON_FORMAT, JSON_RULES, ""),
        };
        let parts = [
            (&self.intro, ""),
            (&self.catalog, CATALOG),
            (&self.format, format),
            (&self.rules, rules),
            (&self.escape, escape),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(own, default)| fill(own.as_deref().unwrap_or(default), &values))
            .filter(|part| !part.is_empty())
            .collect();
        Some(parts.join("\n\n"))
    }

    /// [`PromptTemplate::render`] for all gadgets of `registry`, in its order, with their examples as calls. An
    /// example that the form cannot express is left out.
    pub fn render_registry(&self, registry: &Registry, style: CallStyle<'_>) -> Option<String> {
        with_entries(registry, style, |gadgets| self.render(gadgets, style))
    }
}

/// Calls `read` with the entries of all gadgets, with their examples as calls.
pub(crate) fn with_entries<R>(
    registry: &Registry,
    style: CallStyle<'_>,
    read: impl FnOnce(&[CatalogEntry<'_>]) -> R,
) -> R {
    let calls: Vec<Vec<(&Example, String)>> = registry
        .iter()
        .map(|gadget| example_calls(gadget, style))
        .collect();
    let examples: Vec<Vec<CatalogExample<'_>>> =
        calls.iter().map(|of| catalog_examples(of)).collect();
    let gadgets = registry
        .iter()
        .zip(&examples)
        .map(|(gadget, examples)| CatalogEntry {
            name: gadget.name(),
            description: &gadget.spec().description,
            schema: gadget.shown_parameters(),
            examples,
        });
    read(&gadgets.collect::<Vec<_>>())
}

fn example_calls<'g>(
    gadget: &'g RegisteredGadget,
    style: CallStyle<'_>,
) -> Vec<(&'g Example, String)> {
    let written = gadget.spec().examples.iter().filter_map(|example| {
        let call = match style.form {
            CallForm::Block => {
                let writer = Writer {
                    markers: style.markers,
                    anchoring: style.anchoring,
                };
                let (mut block, schema) = (String::new(), Some(gadget.schema()));
                let none = [""; 0];
                writer
                    .write(
                        &mut block,
                        gadget.name(),
                        None,
                        &none,
                        &example.params,
                        schema,
                    )
                    .ok()?;
                block
            }
            CallForm::Json => json_call(gadget.name(), &example.params),
        };
        Some((example, call))
    });
    written.collect()
}

fn catalog_examples<'b>(calls: &'b [(&Example, String)]) -> Vec<CatalogExample<'b>> {
    let examples = calls.iter().map(|(example, block)| CatalogExample {
        comment: example.comment.as_deref(),
        block,
        output: example.output.as_deref(),
    });
    examples.collect()
}

/// Fills placeholders in, once: what they become is not looked at again.
fn fill(part: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some((name, value)) = values.iter().find(|(name, _)| from.starts_with(name)) {
            out.push_str(value);
            rest = &from[name.len()..];
        } else {
            out.push('{');
            rest = &from[1..];
        }
    }
    out.push_str(rest);
    out
}

const CATALOG: &str = "# Gadgets\n\n{gadgets}";

const FORMAT: &str = "\
# Calling a gadget

A call is a block in your reply:

{start}NAME
{arg}PARAMETER
VALUE
{end}

Each marker begins a line. Values are plain text, without quotes or escapes, as many lines as needed; objects and arrays are \
JSON.";

const RULES: &str = "\
Blocks run in parallel. `{start}NAME:b:a` names a call b and lets it wait for the call a; its value `${a}` becomes the result of \
a. Results come in the next message: never write them. A reply without blocks is your answer.";

const ANYWHERE: &str = "\
A marker ends the value before it, wherever it appears: do not write markers inside values.";

const LINE_START: &str = "\
Put a backslash before a line of a value that begins with a marker.";

const JSON_FORMAT: &str = "\
# Calling a gadget

A call is JSON in your reply:

<tool_call>
{\"name\":NAME,\"arguments\":{PARAMETER:VALUE}}
</tool_call>";

const JSON_RULES: &str = "\
Calls run in parallel. Results come in the next message: never write them. A reply without calls is your answer.";
