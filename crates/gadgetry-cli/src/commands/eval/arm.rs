//! The forms of calls that are measured: what a model reads in each of them, and how its reply is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use gadgetry::ModelInfo;
use gadgetry::proto::accumulate::AccumulatedReply;
use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::call::Parameters;
use gadgetry::proto::call_form::CallForm;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::dialect::{Dialect, find};
use gadgetry::proto::grammar::ConstrainedReply;
use gadgetry::proto::limits::Limits;
use gadgetry::proto::message::{Constraint, Content, Message, Role, ToolChoice};
use gadgetry::proto::prompt::{CallStyle, CatalogEntry, MAX_EXAMPLES, PromptTemplate, WorkedTurns};
use gadgetry::proto::reply::{Format, Reader, StopEarly, Verdict};
use gadgetry::proto::run::RunConfig;
use gadgetry::proto::schema::{RegisteredGadget, Registry, coerce_json, json_parameters};
use serde_json::Value;

use super::cases::Case;
use super::score::Made;
use crate::cli::Arm;
use crate::config::{Constrain, ModelMarkers, ModelSettings, ModelTools};
use crate::error::Error;

/// Positions at which markers count: the grammar admits no others.
const ANCHORING: Anchoring = Anchoring::LineStart;

impl Arm {
    /// All of them, from cheap to strong.
    pub(crate) const ALL: [Self; 6] = [
        Self::Text,
        Self::TextExamples,
        Self::JsonExamples,
        Self::Constrained,
        Self::ConstrainedJson,
        Self::Native,
    ];

    /// Returns the name of the arm.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::TextExamples => "text+examples",
            Self::JsonExamples => "json+examples",
            Self::Constrained => "constrained",
            Self::ConstrainedJson => "constrained-json",
            Self::Native => "native",
        }
    }

    fn form(self) -> CallForm {
        match self {
            Self::JsonExamples | Self::ConstrainedJson => CallForm::Json,
            Self::Text | Self::TextExamples | Self::Constrained | Self::Native => CallForm::Block,
        }
    }

    fn examples(self) -> usize {
        match self {
            Self::Text | Self::Native => 0,
            Self::TextExamples | Self::JsonExamples | Self::Constrained | Self::ConstrainedJson => {
                MAX_EXAMPLES
            }
        }
    }

    /// Returns whether it needs a server that takes grammars.
    pub(crate) fn is_constrained(self) -> bool {
        matches!(self, Self::Constrained | Self::ConstrainedJson)
    }

    pub(crate) fn is_native(self) -> bool {
        self == Self::Native
    }

    /// The settings of a model that is best used so.
    pub(crate) fn settings(self, markers: ModelMarkers) -> ModelSettings {
        if self.is_native() {
            return ModelSettings {
                tools: Some(ModelTools::Native),
                ..ModelSettings::default()
            };
        }
        let constrain = if self.is_constrained() {
            Constrain::Auto
        } else {
            Constrain::Off
        };
        ModelSettings {
            form: Some(self.form()),
            examples: Some(self.examples()),
            constrain: Some(constrain),
            markers: (self.form() == CallForm::Block).then_some(markers),
            tools: Some(ModelTools::Text),
        }
    }

    /// Returns the messages that the model reads.
    pub(super) fn messages(self, case: &Case, markers: &Markers) -> Vec<Message> {
        if self.is_native() {
            return case.messages.clone();
        }
        let style = CallStyle {
            form: self.form(),
            markers,
            anchoring: ANCHORING,
        };
        let entries = case.tools.iter().map(|tool| CatalogEntry {
            name: &tool.name,
            description: &tool.description,
            schema: &tool.parameters,
            examples: &[],
        });
        let entries: Vec<CatalogEntry<'_>> = entries.collect();
        let template = PromptTemplate::default();
        let template = if self.examples() > 0 {
            WorkedTurns::brief(&template, self.form())
        } else {
            template
        };
        let mut messages = Vec::new();
        if let Some(text) = template.render(&entries, style) {
            messages.push(Message::text(Role::System, text));
        }
        messages.extend(case.messages.iter().cloned());
        WorkedTurns::new(self.examples(), &entries, style).shown(&messages)
    }

    /// Returns the constraint on replies of this model: that of an agent with these settings.
    pub(super) fn constraint(
        self,
        case: &Case,
        markers: &Markers,
        info: &ModelInfo,
    ) -> Result<Option<Constraint>, Error> {
        let notation = info.constraint.notation();
        let Some(notation) = notation.filter(|_| self.is_constrained()) else {
            return Ok(None);
        };
        let reply = ConstrainedReply {
            size: info.size(self.examples()),
            form: self.form(),
            markers,
            choice: &ToolChoice::Auto,
            is_single: false,
            has_ids: true,
            max_tokens: None,
        };
        let tools = case.tools.iter();
        let tools = tools.map(|tool| (tool.name.as_str(), &tool.parameters));
        let constraint = reply.constraint(tools, notation).map_err(Error::input)?;
        Ok(Some(constraint))
    }

    /// A reader of its replies.
    pub(super) fn reader(self, case: &Case, markers: &Markers) -> Result<ArmReader, Error> {
        let registry = Registry::new(case.tools.clone()).map_err(Error::input)?;
        let registry = Arc::new(registry);
        let has_blocks = !self.is_native() && self.form() == CallForm::Block;
        let format = Format {
            markers: has_blocks.then(|| markers.clone()),
            anchoring: ANCHORING,
            reasoning: RunConfig::default().reasoning_tags,
            ..Format::default()
        };
        let reader = Reader::new(format, Vec::new(), Arc::clone(&registry));
        let reader = reader.map_err(Error::input)?;
        Ok(ArmReader {
            arm: self,
            reader: reader.stop_early(StopEarly::default()),
            registry,
            made: Vec::new(),
        })
    }
}

/// The schemas of the tools of a case, by name.
pub(super) fn schemas(case: &Case) -> BTreeMap<String, Value> {
    let tools = case.tools.iter();
    tools
        .map(|tool| (tool.name.clone(), tool.parameters.clone()))
        .collect()
}

/// Reads one reply.
pub(super) struct ArmReader {
    arm: Arm,
    reader: Reader,
    registry: Arc<Registry>,
    made: Vec<Made>,
}

impl ArmReader {
    /// Takes a part of the reply. Returns whether more of it is to be read.
    pub(super) fn push(&mut self, delta: Delta) -> bool {
        let mut out = Vec::new();
        self.reader.push(delta, &mut out);
        self.take(&out);
        self.reader.stopped().is_none()
    }

    fn take(&mut self, out: &[Delta]) {
        for delta in out {
            if let Delta::GadgetCall(call) = delta {
                let parameters = match (self.reader.check(call), &call.parameters) {
                    (Verdict::Valid(parameters), _) => Ok(parameters),
                    (Verdict::Invalid(error), _) => Err(error),
                    // It refers to the result of another call, which no case needs.
                    (Verdict::NeedsResults, Parameters::Parsed(parameters)) => {
                        Ok(parameters.clone())
                    }
                    (Verdict::NeedsResults, Parameters::Malformed(error)) => Err(error.clone()),
                };
                self.made.push(Made {
                    name: call.gadget_name.clone(),
                    parameters,
                });
            }
        }
    }

    /// The calls of the reply, and the rest of it.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other parts hold no calls"
    )]
    pub(super) fn finish(mut self) -> (Vec<Made>, AccumulatedReply) {
        let mut out = Vec::new();
        let output = self.reader.finish(&mut out);
        self.take(&out);
        for part in &output.message.content {
            match part {
                Content::ToolUse { name, input, .. } if self.arm.is_native() => {
                    let parameters = self.native(name, input);
                    self.made.push(Made {
                        name: name.clone(),
                        parameters,
                    });
                }
                Content::Text { text } if self.arm.form() == CallForm::Json => {
                    for call in find(text, &self.registry, &Limits::default()) {
                        if call.dialect != Dialect::Hermes {
                            continue;
                        }
                        let parameters = match call.parameters {
                            _ if !call.is_whole => Err("the reply ended inside it".to_owned()),
                            Parameters::Malformed(error) => Err(error),
                            Parameters::Parsed(parameters) => {
                                self.checked(&call.gadget_name, parameters)
                            }
                        };
                        self.made.push(Made {
                            name: call.gadget_name,
                            parameters,
                        });
                    }
                }
                _ => {}
            }
        }
        (self.made, output)
    }

    fn native(&self, name: &str, input: &Value) -> Result<Value, String> {
        let schema = self.registry.get(name).map(RegisteredGadget::schema);
        let parameters = match input {
            Value::Object(_) => coerce_json(input.clone(), schema),
            Value::String(text) => json_parameters(text, schema, &Limits::default())
                .map_err(|error| error.to_string())?
                .ok_or("the input is not a JSON object")?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err("the input is not a JSON object".to_owned());
            }
        };
        self.checked(name, parameters)
    }

    fn checked(&self, name: &str, parameters: Value) -> Result<Value, String> {
        let gadget = self.registry.get(name);
        let gadget = gadget.ok_or_else(|| self.registry.unknown_gadget(name))?;
        gadget.check(parameters)
    }
}
