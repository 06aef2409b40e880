//! Models by name, scripts, the mock model.

use std::sync::Arc;

use gadgetry::ScriptedModel;
use gadgetry_bindings::fields::Fields;
use gadgetry_bindings::{Problem, mock, options};
use napi_derive::napi;
use serde_json::{Map, Value};

use crate::errors::{bad, raised};
use crate::host::{Dispatch, Host};

/// A model.
#[napi]
pub struct Model(pub(crate) Arc<dyn gadgetry::Model>);

#[napi]
impl Model {
    /// The model of a name such as `ollama:llama3.2`.
    #[napi(factory)]
    pub fn named(name: String, options: String) -> napi::Result<Self> {
        let found = Fields::parse(&options).and_then(|options| options::model(&name, options));
        found.map(Self).map_err(raised)
    }

    /// The model of a script: a reply a line.
    #[napi(factory)]
    pub fn script(script: String) -> napi::Result<Self> {
        let model = script.parse::<ScriptedModel>();
        let model = model.map_err(|error| raised(Problem::classified("ConfigError", &error)))?;
        Ok(Self(Arc::new(model)))
    }

    /// The model of a script in a file.
    #[napi(factory)]
    pub fn script_file(path: String) -> napi::Result<Self> {
        let model = ScriptedModel::from_path(path.as_ref());
        let model = model.map_err(|error| raised(Problem::classified("ConfigError", &error)))?;
        Ok(Self(Arc::new(model)))
    }

    /// The name.
    #[napi(getter)]
    pub fn name(&self) -> String {
        self.0.name().to_owned()
    }
}

/// A model that answers by rules, and records its requests.
#[napi]
pub struct MockModel(gadgetry_testing::MockModel);

#[napi]
impl MockModel {
    /// Makes it of rules, as JSON. The predicate of a rule is a number, with which `dispatch` is called.
    #[napi(constructor)]
    pub fn new(rules: String, options: String, dispatch: Dispatch<'_>) -> napi::Result<Self> {
        let host = Arc::new(Host::new(dispatch)?);
        let rules: Vec<Map<String, Value>> = serde_json::from_str(&rules).map_err(bad)?;
        let built = || -> Result<Self, Problem> {
            let mut builder = mock::builder(Fields::parse(&options)?)?;
            for rule in rules {
                let mut rule = Fields::new(rule);
                let predicate: Option<u32> = rule.take("predicate")?;
                let predicate = predicate.map(|number| predicate_of(number, &host));
                builder = mock::with_rule(builder, rule, predicate)?;
            }
            Ok(Self(builder.build()))
        };
        built().map_err(raised)
    }

    /// The model.
    #[napi]
    pub fn model(&self) -> Model {
        Model(Arc::new(self.0.clone()))
    }

    /// The requests until now, as JSON.
    #[napi]
    pub fn requests(&self) -> napi::Result<String> {
        serde_json::to_string(&self.0.requests()).map_err(bad)
    }

    /// The complaints, if something was not as the rules expect.
    #[napi]
    pub fn complaints(&self) -> Option<String> {
        self.0.check().err().map(|mismatch| mismatch.to_string())
    }
}

fn predicate_of(number: u32, host: &Arc<Host>) -> mock::Predicate {
    let host = Arc::clone(host);
    Box::new(move |request| {
        let request = serde_json::to_string(request).unwrap_or_default();
        let answer = host.wait("predicate", number, request);
        answer.is_some_and(|(kind, _)| kind == "yes")
    })
}
