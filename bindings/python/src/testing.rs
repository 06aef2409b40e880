//! The mock model.

use std::sync::Arc;

use gadgetry_bindings::mock;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::gate::attach;
use crate::json;
use crate::models::Model;

/// A model that answers by rules, and records its requests.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct MockModel(gadgetry_testing::MockModel);

#[pymethods]
impl MockModel {
    /// Makes it of rules, as dictionaries that the package checks.
    #[new]
    fn new(rules: Vec<Bound<'_, PyDict>>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut builder = mock::builder(json::fields(options)?).map_err(errors::raised)?;
        for rule in rules {
            let predicate = rule.get_item("predicate")?;
            let predicate = predicate.filter(|it| !it.is_none()).map(predicate_of);
            let rule = rule.copy()?;
            rule.set_item("predicate", rule.py().None())?;
            builder = mock::with_rule(builder, json::fields(&rule)?, predicate)
                .map_err(errors::raised)?;
        }
        Ok(Self(builder.build()))
    }

    fn model(&self) -> Model {
        Model(Arc::new(self.0.clone()))
    }

    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::serialized(py, &self.0.requests())
    }

    /// The complaints, if something was not as the rules expect.
    fn complaints(&self) -> Option<String> {
        self.0.check().err().map(|mismatch| mismatch.to_string())
    }
}

fn predicate_of(predicate: Bound<'_, PyAny>) -> mock::Predicate {
    let predicate = predicate.unbind();
    Box::new(move |request| {
        let admitted = attach(|py| -> PyResult<bool> {
            let request = json::serialized(py, request)?;
            predicate.call1(py, (request,))?.is_truthy(py)
        });
        matches!(admitted, Some(Ok(true)))
    })
}
