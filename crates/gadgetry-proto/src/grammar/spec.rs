//! The tools, form and sizes that a grammar is made of.

use serde_json::Value;

use super::error::GrammarError;
use crate::block::Markers;
use crate::call_form::CallForm;
use crate::message::ToolChoice;

/// A tool that a reply may call.
#[derive(Clone, Copy, Debug)]
pub struct GrammarTool<'a> {
    /// The name as calls have it.
    pub name: &'a str,
    /// The JSON Schema of the parameters.
    pub schema: &'a Value,
    /// Parameters whose text may have several lines in a block, whatever the schema says, and any length in both forms.
    pub multiline: &'a [&'a str],
}

/// What a reply may be.
///
/// ```
/// use gadgetry_proto::block::Markers;
/// use gadgetry_proto::call_form::CallForm;
/// use gadgetry_proto::grammar::{GrammarLimits, GrammarSpec, GrammarTool};
/// use gadgetry_proto::message::ToolChoice;
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": { "servings": { "type": "integer", "minimum": 1, "maximum": 9 } },
///     "required": ["servings"],
/// });
/// let spec = GrammarSpec {
///     tools: &[GrammarTool { name: "Cook", schema: &schema, multiline: &[] }],
///     form: CallForm::Block,
///     markers: &Markers::default(),
///     choice: &ToolChoice::Required,
///     is_single: true,
///     limits: GrammarLimits::default(),
/// };
/// let grammar = spec.gbnf()?;
/// assert!(grammar.starts_with("root ::= call \"\\n\"?\n"));
/// assert!(grammar.contains(r#""!!!ARG:servings\n" [1-9] "\n" "!!!GADGET_END""#));
/// # Ok::<(), gadgetry_proto::grammar::GrammarError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GrammarSpec<'a> {
    /// The tools.
    pub tools: &'a [GrammarTool<'a>],
    /// The form of calls.
    pub form: CallForm,
    /// The markers of blocks.
    pub markers: &'a Markers,
    /// Whether, and which, tools are called.
    pub choice: &'a ToolChoice,
    /// Whether the reply ends after one call.
    pub is_single: bool,
    /// Limits on the size of the grammar and of what it admits.
    pub limits: GrammarLimits,
}

/// Sizes of a grammar and of what it admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrammarLimits {
    /// Characters of the id of a call; zero admits no ids.
    pub id: u32,
    /// Digits of an integer, and of each side of a decimal point.
    pub digits: u32,
    /// Characters of a string on one line without `maxLength`; zero sets no limit, and a structural tag has none.
    pub string: u32,
    /// Items of an array without `maxItems`; zero sets no limit.
    pub items: u32,
    /// Characters of the line of thought before a demanded call; zero admits none.
    pub thought: u32,
    /// Bytes of the text of the grammar. Servers take long to read larger ones, and read them for each request.
    pub bytes: usize,
}

impl Default for GrammarLimits {
    fn default() -> Self {
        Self {
            id: 12,
            digits: 15,
            string: 0,
            items: 0,
            thought: 0,
            bytes: 256 << 10,
        }
    }
}

impl GrammarLimits {
    /// Returns the sizes for a small model: calls have no ids, and strings and arrays end. Such a model repeats itself in a string that
    /// is open, up to the last token that a reply has.
    pub fn small() -> Self {
        Self {
            id: 0,
            string: 200,
            items: 12,
            ..Self::default()
        }
    }
}

impl GrammarSpec<'_> {
    /// The tools that may be called.
    pub(super) fn callable(&self) -> Result<Vec<GrammarTool<'_>>, GrammarError> {
        let tools: Vec<GrammarTool<'_>> = match self.choice {
            ToolChoice::None => return Ok(Vec::new()),
            ToolChoice::Auto | ToolChoice::Required => self.tools.to_vec(),
            ToolChoice::Gadget(name) => {
                let named = self.tools.iter().filter(|tool| tool.name == name);
                let named: Vec<_> = named.copied().collect();
                if named.is_empty() {
                    return Err(GrammarError::UnknownTool(name.clone()));
                }
                named
            }
        };
        if tools.is_empty() && self.choice.is_forced() {
            return Err(GrammarError::NoTools);
        }
        Ok(tools)
    }
}
