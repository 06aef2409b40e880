//! Models by name, scripts, and functions of Python.

use std::path::PathBuf;
use std::sync::Arc;

use gadgetry::provider::resolve::Resolver;
use gadgetry::{Price, ScriptedModel};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::json;

/// A model.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Model(pub(crate) Arc<dyn gadgetry::Model>);

#[pymethods]
impl Model {
    /// The model of a name such as `ollama:llama3.2`.
    #[staticmethod]
    #[pyo3(signature = (name, *, base_url = None, api_key = None, temperature = None, max_tokens = None, reasoning_effort = None, price = None, context_window = None, extra = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn named(
        py: Python<'_>,
        name: &str,
        base_url: Option<String>,
        api_key: Option<String>,
        temperature: Option<f64>,
        max_tokens: Option<u64>,
        reasoning_effort: Option<String>,
        price: Option<(f64, f64)>,
        context_window: Option<u64>,
        extra: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut resolver = Resolver::from_env();
        if let Some(url) = base_url {
            resolver = resolver.base_url(url);
        }
        if let Some(key) = api_key {
            resolver = resolver.api_key(key);
        }
        if let Some(temperature) = temperature {
            resolver = resolver.temperature(temperature);
        }
        if let Some(tokens) = max_tokens {
            resolver = resolver.max_tokens(tokens);
        }
        if let Some(effort) = reasoning_effort {
            resolver = resolver.reasoning_effort(effort);
        }
        for (field, value) in extra.into_iter().flatten() {
            resolver = resolver.option(field.extract::<String>()?, json::from_py(&value)?);
        }
        if price.is_some() || context_window.is_some() {
            let mut info = resolver
                .describe(name)
                .map_err(|error| errors::config(&error))?
                .unwrap_or_default();
            info.price = price.map(per_million).or(info.price);
            info.context_window = context_window.or(info.context_window);
            resolver = resolver.info(move |_| Some(info.clone()));
        }
        // The first one reads the certificates of the machine.
        let found = py.detach(|| resolver.resolve(name));
        found.map(Self).map_err(|error| errors::config(&error))
    }

    /// The model of a script: a reply a line.
    #[staticmethod]
    fn script(script: &str) -> PyResult<Self> {
        let model = script.parse::<ScriptedModel>();
        model
            .map(|model| Self(Arc::new(model)))
            .map_err(|error| errors::config(&error))
    }

    /// The model of a script in a file.
    #[staticmethod]
    fn script_file(path: PathBuf) -> PyResult<Self> {
        let model = ScriptedModel::from_path(&path);
        model
            .map(|model| Self(Arc::new(model)))
            .map_err(|error| errors::config(&error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
}

/// A price in US dollars for a million tokens of input and of output.
pub(crate) fn per_million((input, output): (f64, f64)) -> Price {
    let mut price = Price::default();
    (price.input, price.output) = (input, output);
    price
}
