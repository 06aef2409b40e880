//! Tool calls through a provider's own interface as gadget calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::call::{Call, Parameters, TerminatedBy};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::Span;
use gadgetry_proto::message::Request;
use gadgetry_proto::prompt::PromptTemplate;
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::TransformFactory;
use serde_json::{Map, Value};

use crate::model::{Model, ModelInfo};

/// A model whose own tool calls are gadget calls: the same gadgets, the same scheduler and the same events as with
/// blocks of text.
///
/// The model in it has to offer the gadgets as tools, as [`OpenAiBuilder::tools`](crate::provider::OpenAiBuilder::tools)
/// does, or [`Resolver::tools`](crate::provider::Resolver::tools). A run of it needs no words about blocks:
/// [`prompt`]. Calls have no dependencies, and a call is told when it is complete, not piece by piece. A call
/// that is cut off is none.
///
/// ```
/// use gadgetry::ScriptedModel;
/// use gadgetry::provider::NativeTools;
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let model = NativeTools::new(model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NativeTools<M> {
    model: M,
}

impl<M: Model> NativeTools<M> {
    /// Around a model that offers gadgets as tools.
    pub fn new(model: M) -> Self {
        Self { model }
    }
}

/// No words about gadgets: the provider's interface tells the model of them.
pub fn prompt() -> PromptTemplate {
    let nothing = || Some(String::new());
    PromptTemplate {
        intro: nothing(),
        catalog: nothing(),
        format: nothing(),
        rules: nothing(),
        escape: nothing(),
    }
}

impl<M: Model> Model for NativeTools<M> {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let mut calls = Calls::default();
        let deltas = self.model.stream(request);
        let deltas = deltas.map(move |delta| stream::iter(calls.take(delta)));
        deltas.flatten().boxed()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn custom_blocks(&self) -> Vec<CustomBlock> {
        self.model.custom_blocks()
    }

    fn transforms(&self) -> Vec<TransformFactory> {
        self.model.transforms()
    }
}

/// The calls of a reply that have begun, by id: name, and JSON text so far.
#[derive(Debug, Default)]
struct Calls(BTreeMap<String, (String, String)>);

impl Calls {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "what is no tool call stays what it is"
    )]
    fn take(&mut self, delta: Delta) -> Vec<Delta> {
        match delta {
            Delta::ToolCallStart { id, name } => {
                self.0.insert(id, (name, String::new()));
                Vec::new()
            }
            Delta::ToolCallDelta { id, delta } => {
                if let Some((_, json)) = self.0.get_mut(&id) {
                    json.push_str(&delta);
                }
                Vec::new()
            }
            Delta::ToolCallEnd { id, input } => match self.0.remove(&id) {
                Some((name, json)) => call(id, name, input, json),
                None => Vec::new(),
            },
            Delta::ToolCall { id, name, input } => call(id, name, Some(input), String::new()),
            other => vec![other],
        }
    }
}

/// A complete call. `json` counts if there is no `input`.
fn call(id: String, name: String, input: Option<Value>, json: String) -> Vec<Delta> {
    let read = match input {
        Some(input) => Ok(input),
        // A tool without parameters may be called with nothing at all.
        None if json.trim().is_empty() => Ok(Value::Object(Map::new())),
        None => serde_json::from_str(&json).map_err(|error| error.to_string()),
    };
    let parameters = match read {
        Ok(input @ Value::Object(_)) => Parameters::Parsed(input),
        Ok(_) => Parameters::Malformed("The arguments are no JSON object".to_owned()),
        Err(error) => Parameters::Malformed(format!("The arguments are no JSON: {error}")),
    };
    let parameters_raw = match &parameters {
        Parameters::Parsed(input) if json.is_empty() => input.to_string(),
        Parameters::Parsed(_) | Parameters::Malformed(_) => json,
    };
    let call = Call {
        gadget_name: name.clone(),
        invocation_id: id.into(),
        dependencies: Vec::new(),
        parameters_raw,
        parameters,
        terminated_by: TerminatedBy::EndMarker,
        span: Span::default(),
    };
    let start = Delta::GadgetCallStart {
        gadget_name: name,
        invocation_id: call.invocation_id.clone(),
        dependencies: Vec::new(),
    };
    vec![start, Delta::GadgetCall(Arc::new(call))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of the call that these deltas make, as JSON or `!`.
    fn check(deltas: Vec<Delta>, expected: &str) {
        let mut calls = Calls::default();
        let made: Vec<Delta> = deltas.into_iter().flat_map(|it| calls.take(it)).collect();
        let [.., Delta::GadgetCall(call)] = made.as_slice() else {
            assert_eq!((made.len(), expected), (0, ""));
            return;
        };
        assert_eq!(made.len(), 2);
        assert_eq!(
            (call.gadget_name.as_str(), call.invocation_id.as_str()),
            ("Add", "c1")
        );
        let got = match &call.parameters {
            Parameters::Parsed(input) => input.to_string(),
            Parameters::Malformed(_) => "!".to_owned(),
        };
        assert_eq!(got, expected);
    }

    fn pieces(json: &[&str], input: Option<Value>) -> Vec<Delta> {
        let id = || "c1".to_owned();
        let mut deltas = vec![Delta::ToolCallStart {
            id: id(),
            name: "Add".to_owned(),
        }];
        deltas.extend(json.iter().map(|delta| Delta::ToolCallDelta {
            id: id(),
            delta: (*delta).to_owned(),
        }));
        deltas.push(Delta::ToolCallEnd { id: id(), input });
        deltas
    }

    #[test]
    fn a_tool_call_is_a_gadget_call_once_it_is_complete() {
        check(pieces(&["{\"a\"", ":1}"], None), r#"{"a":1}"#);
        check(pieces(&[], None), "{}");
        check(
            pieces(&[], Some(serde_json::json!({ "a": 2 }))),
            r#"{"a":2}"#,
        );
        check(pieces(&["[1]"], None), "!");
        check(pieces(&["{\"a\":"], None), "!");
        let mut cut = pieces(&["{\"a\":"], None);
        cut.pop();
        check(cut, "");
    }
}
