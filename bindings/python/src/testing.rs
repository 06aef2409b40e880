//! The mock model.

use std::sync::Arc;
use std::time::Duration;

use gadgetry::serde_json::Value;
use gadgetry::{ModelErrorKind, StopReason};
use gadgetry_testing::{Cut, Matcher, MockModelBuilder, Reply, Then, call, reply};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::gate::attach;
use crate::json;
use crate::models::{Model, per_million};

/// A model that answers by rules, and records its requests.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct MockModel(gadgetry_testing::MockModel);

#[pymethods]
impl MockModel {
    /// Makes it of rules, as dictionaries that the package checks.
    #[new]
    #[pyo3(signature = (rules, *, name, is_strict, price, context_window))]
    fn new(
        rules: Vec<Bound<'_, PyDict>>,
        name: String,
        is_strict: bool,
        price: Option<(f64, f64)>,
        context_window: Option<u64>,
    ) -> PyResult<Self> {
        let mut builder = gadgetry_testing::MockModel::builder().name(name).silent();
        if !is_strict {
            builder = builder.lenient();
        }
        if let Some(price) = price {
            builder = builder.price(per_million(price));
        }
        if let Some(tokens) = context_window {
            builder = builder.context_window(tokens);
        }
        for rule in rules {
            builder = with_rule(builder, &rule)?;
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

fn item<'py, T>(rule: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let value = rule.get_item(name)?.filter(|value| !value.is_none());
    value
        .map(|value| value.extract().map_err(Into::into))
        .transpose()
}

fn with_rule(builder: MockModelBuilder, rule: &Bound<'_, PyDict>) -> PyResult<MockModelBuilder> {
    let contains: Option<String> = item(rule, "contains")?;
    let anywhere: Option<String> = item(rule, "anywhere")?;
    let has_result: Option<String> = item(rule, "has_result")?;
    let iteration: Option<u32> = item(rule, "iteration")?;
    let predicate: Option<Py<PyAny>> = item(rule, "predicate")?;
    let matching = move |mut matcher: Matcher| {
        if let Some(text) = contains {
            matcher = matcher.last_message_contains(text);
        }
        if let Some(text) = anywhere {
            matcher = matcher.message_contains(text);
        }
        if let Some(id) = has_result {
            matcher = matcher.has_result(id);
        }
        if let Some(number) = iteration {
            matcher = matcher.iteration(number);
        }
        if let Some(predicate) = predicate {
            matcher = matcher.is("the predicate", move |request| {
                let admitted = attach(|py| -> PyResult<bool> {
                    let request = json::serialized(py, request)?;
                    predicate.call1(py, (request,))?.is_truthy(py)
                });
                matches!(admitted, Some(Ok(true)))
            });
        }
        matcher
    };
    let mut made = builder.when(matching);
    if let Some(times) = item(rule, "times")? {
        made = made.times(times);
    }
    if item(rule, "is_optional")? == Some(true) {
        made = made.optional();
    }
    if let Some(label) = item::<String>(rule, "label")? {
        made = made.label(label);
    }
    let replies: Vec<Bound<'_, PyDict>> = item(rule, "replies")?.unwrap_or_default();
    let replies = replies.iter().map(read_reply);
    let replies: Vec<Reply> = replies.collect::<PyResult<_>>()?;
    let then: Option<String> = item(rule, "then")?;
    let then = match then.as_deref() {
        Some("cycle") => Then::Cycle,
        Some("repeat") => Then::RepeatLast,
        _ => Then::Refuse,
    };
    Ok(made.replies_in_order_then(replies, then))
}

fn read_reply(from: &Bound<'_, PyDict>) -> PyResult<Reply> {
    let seconds = |name| -> PyResult<Option<Duration>> {
        let seconds: Option<f64> = item(from, name)?;
        let duration = seconds.map(Duration::try_from_secs_f64).transpose();
        duration.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
    };
    let mut made = reply();
    for part in item::<Vec<Bound<'_, PyDict>>>(from, "parts")?.unwrap_or_default() {
        if let Some(text) = item::<String>(&part, "text")? {
            made = made.text(text);
        } else if let Some(text) = item::<String>(&part, "reasoning")? {
            made = made.reasoning(text);
        } else if let Some(name) = item::<String>(&part, "call")? {
            let mut one = call(name);
            if let Some(arguments) = item::<Bound<'_, PyAny>>(&part, "arguments")? {
                let arguments = json::from_py(&arguments)?;
                if !matches!(arguments, Value::Object(_)) {
                    return Err(PyTypeError::new_err("the arguments of a call are a dict"));
                }
                one = one.args(arguments);
            }
            if let Some(id) = item::<String>(&part, "id")? {
                one = one.id(id);
            }
            for id in item::<Vec<String>>(&part, "after")?.unwrap_or_default() {
                one = one.after(id);
            }
            made = made.call(one);
        }
    }
    if let Some((input, output)) = item::<(u64, u64)>(from, "tokens")? {
        made = made.tokens(input, output);
    }
    if let Some(size) = item::<usize>(from, "chunk")? {
        made = made.chunks(Cut::Every(size));
    }
    if let Some(delay) = seconds("delay")? {
        made = made.delay(delay);
    }
    if let Some(delay) = seconds("chunk_delay")? {
        made = made.chunk_delay(delay);
    }
    if item(from, "is_cut_off")? == Some(true) {
        made = made.stop_reason(StopReason::MaxTokens);
    }
    if let Some(error) = item::<String>(from, "error")? {
        let kind: Option<Bound<'_, PyAny>> = item(from, "error_kind")?;
        let kind = kind.map(|kind| json::read::<ModelErrorKind>(&kind));
        made = made.fails_as(kind.transpose()?.unwrap_or_default(), error);
    }
    Ok(made)
}
