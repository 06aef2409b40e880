//! The constraint of a reply, by the size of the model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::GrammarError;
use super::multiline::multiline;
use super::spec::{GrammarLimits, GrammarSpec, GrammarTool};
use crate::block::Markers;
use crate::call_form::CallForm;
use crate::message::{Constraint, Notation, ToolChoice};

/// Size of a model, as far as grammars depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelSize {
    /// The model ends its texts and lists by itself.
    #[default]
    Large,
    /// The model repeats itself in a string that is open, up to the last token that a reply has. So strings and lists have limits.
    Small,
}

/// The reply of a model whose calls are constrained.
///
/// ```
/// use gadgetry_proto::block::Markers;
/// use gadgetry_proto::call_form::CallForm;
/// use gadgetry_proto::grammar::{ConstrainedReply, ModelSize};
/// use gadgetry_proto::message::{Constraint, Notation, ToolChoice};
///
/// let schema = serde_json::json!({ "type": "object", "properties": { "city": { "type": "string" } } });
/// let reply = ConstrainedReply {
///     size: ModelSize::Small,
///     form: CallForm::Json,
///     markers: &Markers::default(),
///     choice: &ToolChoice::Required,
///     is_single: true,
///     has_ids: false,
///     max_tokens: Some(100),
/// };
/// let constraint = reply.constraint([("weather", &schema)], Notation::Gbnf)?;
/// assert!(matches!(constraint, Constraint::Gbnf(text) if text.contains("{0,50}")));
/// # Ok::<(), gadgetry_proto::grammar::GrammarError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstrainedReply<'a> {
    /// The size of the model.
    pub size: ModelSize,
    /// The form of calls.
    pub form: CallForm,
    /// The markers of blocks.
    pub markers: &'a Markers,
    /// Whether, and which, tools are called.
    pub choice: &'a ToolChoice,
    /// Whether the reply ends after one call.
    pub is_single: bool,
    /// Whether calls may have ids. Small models write none.
    pub has_ids: bool,
    /// Maximum number of tokens of the reply, where the request has one.
    pub max_tokens: Option<u64>,
}

impl ConstrainedReply<'_> {
    /// Returns the constraint for a server that reads this notation. Tools are names with the JSON Schemas of their parameters.
    pub fn constraint<'t>(
        &self,
        tools: impl IntoIterator<Item = (&'t str, &'t Value)>,
        notation: Notation,
    ) -> Result<Constraint, GrammarError> {
        let is_small = self.size == ModelSize::Small;
        let tools = tools.into_iter();
        let tools: Vec<(&str, &Value, Vec<&str>)> = tools
            .map(|(name, schema)| (name, schema, multiline(schema, is_small)))
            .collect();
        let tools: Vec<GrammarTool<'_>> = tools
            .iter()
            .map(|(name, schema, multiline)| GrammarTool {
                name,
                schema,
                multiline,
            })
            .collect();
        let spec = GrammarSpec {
            tools: &tools,
            form: self.form,
            markers: self.markers,
            choice: self.choice,
            is_single: self.is_single,
            limits: self.limits(),
        };
        spec.constraint(notation)
    }

    fn limits(&self) -> GrammarLimits {
        let limits = match self.size {
            ModelSize::Large => GrammarLimits::default(),
            ModelSize::Small => small_limits(self.max_tokens),
        };
        GrammarLimits {
            id: if self.has_ids { limits.id } else { 0 },
            ..limits
        }
    }
}

/// Returns the limits for a small model, whose strings end within the tokens that its reply may have: a token is a character at least,
/// and the rest of a call takes about fifty.
fn small_limits(max_tokens: Option<u64>) -> GrammarLimits {
    let limits = GrammarLimits::small();
    let room = max_tokens.map_or(u64::MAX, |most| most.saturating_sub(50).max(32));
    GrammarLimits {
        string: limits.string.min(u32::try_from(room).unwrap_or(u32::MAX)),
        ..limits
    }
}
