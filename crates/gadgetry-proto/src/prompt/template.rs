//! The text about gadgets in the system message, with every part replaceable.

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, Markers, Writer};
use crate::prompt::catalog::{CatalogEntry, CatalogExample, catalog};
use crate::schema::{Example, RegisteredGadget, Registry};

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
/// use gadgetry_proto::prompt::{CatalogEntry, PromptTemplate};
/// let template = PromptTemplate {
///     intro: Some("Call {names} with {start}.".to_owned()),
///     format: Some(String::new()),
///     ..PromptTemplate::default()
/// };
/// let schema = serde_json::json!({ "type": "object" });
/// let ping = CatalogEntry { name: "ping", description: "Says pong", schema: &schema, examples: &[] };
/// let text = template.render(&[ping], &Markers::default(), Anchoring::Anywhere);
/// assert!(text.is_some_and(|text| text.starts_with("Call ping with !!!GADGET_START:.\n\n# Gadgets")));
/// assert_eq!(template.render(&[], &Markers::default(), Anchoring::Anywhere), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PromptTemplate {
    /// What gadgets are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intro: Option<String>,
    /// The catalog, in place of `{gadgets}`, and its surroundings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// How a block is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// What happens to blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// What to do about markers inside values. The default one depends on the anchoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escape: Option<String>,
}

impl PromptTemplate {
    /// The whole text; none if there are no gadgets.
    pub fn render(
        &self,
        gadgets: &[CatalogEntry<'_>],
        markers: &Markers,
        anchoring: Anchoring,
    ) -> Option<String> {
        if gadgets.is_empty() {
            return None;
        }
        let names: Vec<&str> = gadgets.iter().map(|gadget| gadget.name).collect();
        let values = [
            ("{start}", markers.start().to_owned()),
            ("{end}", markers.end().to_owned()),
            ("{arg}", markers.arg().to_owned()),
            ("{gadgets}", catalog(gadgets)),
            ("{names}", names.join(", ")),
            ("{count}", names.len().to_string()),
        ];
        let escape = match anchoring {
            Anchoring::Anywhere => ANYWHERE,
            Anchoring::LineStart => LINE_START,
        };
        let parts = [
            (&self.intro, INTRO),
            (&self.catalog, CATALOG),
            (&self.format, FORMAT),
            (&self.rules, RULES),
            (&self.escape, escape),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(own, default)| fill(own.as_deref().unwrap_or(default), &values))
            .filter(|part| !part.is_empty())
            .collect();
        Some(parts.join("\n\n"))
    }

    /// [`PromptTemplate::render`] for all gadgets of `registry`, in its order, with their examples as blocks. An
    /// example that no block can express is left out.
    pub fn render_registry(
        &self,
        registry: &Registry,
        markers: &Markers,
        anchoring: Anchoring,
    ) -> Option<String> {
        let writer = Writer { markers, anchoring };
        let blocks: Vec<Vec<(&Example, String)>> = registry
            .iter()
            .map(|gadget| blocks(gadget, &writer))
            .collect();
        let examples: Vec<Vec<CatalogExample<'_>>> =
            blocks.iter().map(|of| catalog_examples(of)).collect();
        let gadgets = registry
            .iter()
            .zip(&examples)
            .map(|(gadget, examples)| CatalogEntry {
                name: gadget.name(),
                description: &gadget.spec().description,
                schema: &gadget.spec().parameters,
                examples,
            });
        self.render(&gadgets.collect::<Vec<_>>(), markers, anchoring)
    }
}

fn blocks<'g>(gadget: &'g RegisteredGadget, writer: &Writer<'_>) -> Vec<(&'g Example, String)> {
    let written = gadget.spec().examples.iter().filter_map(|example| {
        let mut block = String::new();
        let schema = Some(gadget.schema());
        writer
            .write(
                &mut block,
                gadget.name(),
                None,
                &[""; 0],
                &example.params,
                schema,
            )
            .ok()?;
        Some((example, block))
    });
    written.collect()
}

fn catalog_examples<'b>(blocks: &'b [(&Example, String)]) -> Vec<CatalogExample<'b>> {
    let examples = blocks.iter().map(|(example, block)| CatalogExample {
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

const INTRO: &str = "\
You can use gadgets. You call a gadget by writing a block of plain text, in the format below, anywhere in your reply. \
There is no other way to call one.";

const CATALOG: &str = "# Gadgets\n\n{gadgets}";

const FORMAT: &str = "\
# Writing a block

{start}Name:id
{arg}user/name
Ada
{arg}tags/0
new
{end}

- Every marker begins a line. The first line is `{start}Name`, `{start}Name:id` or `{start}Name:id:id1,id2`, where \
id1 and id2 are ids of other calls that must be done before.
- Each parameter has a line `{arg}` with its name and its value on the lines below, exactly as it is: no quotes, no \
escapes, as many lines as it needs.
- `/` leads into objects (`user/name`) and arrays, counted from 0 (`tags/0`, `tags/1`).
- `{end}` closes the block.";

const RULES: &str = "\
# What happens then

- Several blocks in one reply run in parallel. The results come in the next message, each as `Result (id): text`. \
Never write results yourself.
- A call that names other calls in its first line starts when they are done. Where a value of it is just `${id}`, or \
`${id/pointer}` for a part of a JSON result, it gets the result of that call. If one of those calls fails, this one is skipped.
- A reply without blocks is your answer.";

const ANYWHERE: &str = "\
A marker ends the value before it, wherever it appears: do not write markers inside values.";

const LINE_START: &str = "\
A marker counts only at the start of a line. If a line of a value, or of your text, has to begin with a marker, write \
a backslash before it: `\\{start}`.";
