//! The options that all models have in common.

use std::collections::BTreeMap;
use std::fmt;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::convo::TextForm;
use gadgetry_proto::message::{Constraint, Message, Request};
use gadgetry_proto::schema::GadgetSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::base_url::BaseUrl;
use crate::http::{Http, HttpConfig};
use crate::model::{ConstraintField, ModelInfo};
use crate::secret::ApiKey;

/// Options of every model, whichever API serves it.
///
/// The builders of models, the [`Resolver`](crate::Resolver) and the command line hold one of these. `None`
/// leaves a choice to the provider. Whether the model must call a tool is a field of each
/// [`Request`](gadgetry_proto::message::Request).
///
/// ```
/// use gadgetry::provider::{ModelOptions, OpenAi};
/// let options = ModelOptions { max_tokens: Some(1_000), ..ModelOptions::default() };
/// let model = OpenAi::builder("qwen3").options(options).base_url("http://127.0.0.1:8080/v1").build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelOptions {
    /// The name shown to users; by default the model's.
    pub name: Option<String>,
    /// The server; by default the provider's own.
    pub base_url: Option<BaseUrl>,
    /// The key. Local servers need none.
    #[serde(skip)]
    pub api_key: Option<ApiKey>,
    /// Options for sending requests.
    #[serde(skip)]
    pub http: HttpConfig,
    /// The client that sends requests, with its connections, in place of a new one with `http`: for a program that makes
    /// many models.
    #[serde(skip)]
    pub client: Option<Http>,
    /// Known facts about the model; by default those of the catalogue, at the provider's own address.
    #[serde(skip)]
    pub info: Option<ModelInfo>,
    /// The maximum number of tokens in a reply, reasoning included.
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The reasoning effort, in the provider's word: `low`, `medium`, `high`; `none` turns reasoning off.
    pub reasoning_effort: Option<String>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// True if replies stream. Otherwise the same deltas arrive together.
    pub streaming: bool,
    /// Gadgets offered as tools of the provider. Empty: calls and results are sent as text.
    pub tools: Vec<GadgetSpec>,
    /// The markers of blocks that are written for calls without raw text.
    pub markers: Markers,
    /// Positions at which markers count.
    pub anchoring: Anchoring,
    /// Key of a custom block → its XML tag, where they differ.
    pub xml_names: BTreeMap<String, String>,
    /// More fields of the request's body. They replace fields of the same name, and `null` removes one.
    pub fields: Map<String, Value>,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            name: None,
            base_url: None,
            api_key: None,
            http: HttpConfig::new(),
            client: None,
            info: None,
            max_tokens: None,
            temperature: None,
            reasoning_effort: None,
            stop: Vec::new(),
            streaming: true,
            tools: Vec::new(),
            markers: Markers::default(),
            anchoring: Anchoring::default(),
            xml_names: BTreeMap::new(),
            fields: Map::new(),
        }
    }
}

impl ModelOptions {
    /// The text form of a message: calls as blocks, custom blocks as tags.
    pub(super) fn text(&self, message: &Message) -> String {
        let form = TextForm {
            markers: &self.markers,
            anchoring: self.anchoring,
            xml_names: &self.xml_names,
        };
        form.of(message).into_owned()
    }

    /// Adds the constraint of a request to a body.
    pub(super) fn apply_constraint(&self, body: &mut Map<String, Value>, request: &Request) {
        let Some(constraint) = &request.constraint else {
            return;
        };
        let mut set = |field: &str, value: Value| _ = body.insert(field.to_owned(), value);
        let field = self
            .info
            .as_ref()
            .map_or(ConstraintField::None, |info| info.constraint);
        match (constraint, field) {
            (Constraint::Gbnf(text), ConstraintField::LlamaCpp) => set("grammar", json!(text)),
            (Constraint::Gbnf(text), ConstraintField::Vllm) => {
                set("structured_outputs", json!({ "grammar": text }));
            }
            (Constraint::Gbnf(text), ConstraintField::Sglang) => set("ebnf", json!(text)),
            (Constraint::StructuralTag(tag), field) if field.takes_structural_tags() => {
                set("response_format", (**tag).clone());
            }
            _ => {}
        }
    }

    /// Applies [`fields`](Self::fields) to a finished body.
    pub(super) fn apply_fields(&self, body: &mut Map<String, Value>) {
        for (field, value) in &self.fields {
            if value.is_null() {
                // The order of the other fields must not change: a provider's cache compares prefixes.
                body.shift_remove(field);
            } else {
                body.insert(field.clone(), value.clone());
            }
        }
    }
}

/// Values of additional fields may be secrets, so only their names are printed.
impl fmt::Debug for ModelOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.tools.iter().map(|tool| &tool.name);
        let fields = self.fields.keys();
        f.debug_struct("ModelOptions")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key)
            .field("http", &self.http)
            .field("info", &self.info)
            .field("max_tokens", &self.max_tokens)
            .field("temperature", &self.temperature)
            .field("reasoning_effort", &self.reasoning_effort)
            .field("stop", &self.stop)
            .field("streaming", &self.streaming)
            .field("tools", &tools.collect::<Vec<_>>())
            .field("fields", &fields.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
