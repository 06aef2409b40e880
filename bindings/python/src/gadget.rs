//! Gadgets that are Python functions, and the context of a call.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use gadgetry::serde_json::Value;
use gadgetry::{
    CallPreview, DynGadget, ExecutionContext, GadgetSpec, Human, HumanQuestion, Invocation,
    Outcome, Permission,
};
use gadgetry_bindings::outcome::outcome;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::bridge::{Call, Locals, Waiter, Work, spawn};
use crate::gate::attach;
use crate::json;
use crate::run::locals_of;

/// The dependencies of a run, as a value of it.
pub(crate) struct Deps(pub(crate) Py<PyAny>);

/// A gadget that is a Python function.
pub(crate) struct Function {
    spec: GadgetSpec,
    invoke: Arc<Py<PyAny>>,
    is_async: bool,
    permission: Permission,
}

impl Function {
    /// Reads a `gadgetry.Gadget`.
    pub(crate) fn new(gadget: &Bound<'_, PyAny>) -> PyResult<Self> {
        let permission: String = gadget.getattr("permission")?.extract()?;
        let permission = permission.parse::<Permission>();
        Ok(Self {
            spec: json::read(&gadget.getattr("spec")?)?,
            invoke: Arc::new(gadget.getattr("_invoke")?.unbind()),
            is_async: gadget.getattr("is_async")?.extract()?,
            permission: permission.map_err(|error| PyValueError::new_err(error.to_string()))?,
        })
    }
}

impl DynGadget for Function {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn permission(&self) -> Permission {
        self.permission
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let _ = parameters;
        Box::pin(std::future::ready(Ok(CallPreview::default())))
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let (invoke, is_async) = (Arc::clone(&self.invoke), self.is_async);
        Box::pin(async move {
            let begun = attach(|py| -> PyResult<Call> {
                let locals = context.get::<Arc<Locals>>();
                let locals = locals.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                let parameters = json::to_py(py, &parameters)?;
                let deps = context.get::<Deps>().ok().map(|it| it.0.clone_ref(py));
                let call = CallContext {
                    context: context.clone(),
                    deps,
                };
                let arguments = (parameters, call).into_pyobject(py)?;
                Call::start(py, locals, is_async, &invoke, arguments)
            });
            let mut call = match begun {
                Some(Ok(call)) => call,
                Some(Err(error)) => return Outcome::error(error.to_string()),
                None => return Outcome::error("the program is ending"),
            };
            let answer = if is_async {
                // A coroutine can end by itself: it is cancelled, and has the grace period for its `finally`.
                tokio::select! {
                    answer = call.answer() => answer,
                    () = context.cancellation().cancelled() => {
                        call.cancel();
                        call.answer().await
                    }
                }
            } else {
                call.answer().await
            };
            outcome(answer)
        })
    }
}

/// The call that a gadget executes.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct CallContext {
    context: ExecutionContext,
    deps: Option<Py<PyAny>>,
}

#[pymethods]
impl CallContext {
    /// The context of a call without a run, for tests.
    #[staticmethod]
    fn for_test(gadget_name: String, deps: Option<Py<PyAny>>) -> Self {
        let invocation = Invocation {
            gadget_name,
            invocation_id: "test".into(),
            parameters: Value::default(),
            dependencies: std::collections::BTreeMap::default(),
        };
        let context = ExecutionContext::new(&invocation, gadgetry::CancellationToken::new());
        Self { context, deps }
    }

    #[getter]
    fn deps(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.deps.as_ref().map(|deps| deps.clone_ref(py))
    }

    #[getter]
    fn gadget_name(&self) -> &str {
        self.context.gadget_name()
    }

    #[getter]
    fn invocation_id(&self) -> &str {
        self.context.invocation_id().as_str()
    }

    #[getter]
    fn iteration(&self) -> u32 {
        self.context.iteration()
    }

    #[getter]
    fn depth(&self) -> u32 {
        self.context.depth()
    }

    #[getter]
    fn idempotency_key(&self) -> String {
        self.context.idempotency_key()
    }

    #[getter]
    fn run_id(&self) -> Option<&str> {
        self.context.run().map(|run| &*run.info().id)
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.context.run() {
            Some(run) => Ok(json::object(py, &run.info().metadata)?.into_any()),
            None => Ok(pyo3::types::PyDict::new(py).into_any()),
        }
    }

    #[getter]
    fn dependencies(&self) -> std::collections::BTreeMap<String, String> {
        let dependencies = self.context.dependencies().iter();
        dependencies
            .map(|(id, text)| (id.as_str().to_owned(), text.to_string()))
            .collect()
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.context.cancellation().is_cancelled()
    }

    #[getter]
    fn budget_left(&self) -> Option<f64> {
        self.context.budget_left()
    }

    #[getter]
    fn reported_cost(&self) -> f64 {
        self.context.reported_cost()
    }

    fn report_cost(&self, dollars: f64) -> PyResult<()> {
        let reported = self.context.report_cost(dollars);
        reported.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn progress(&self, message: String) {
        self.context.progress(message);
    }

    fn ask_human(&self, waiter: Waiter<'_>, question: String) -> PyResult<Work> {
        let context = self.context.clone();
        spawn(
            &waiter,
            async move { context.ask_human(question).await },
            |py, answer| {
                let answer = answer
                    .map_err(|error| crate::errors::classified("HumanUnavailable", &error))?;
                Ok(answer.into_pyobject(py)?.into_any().unbind())
            },
        )
    }
}

/// The user of an agent: a Python function.
pub(crate) struct User {
    function: Arc<Py<PyAny>>,
}

impl User {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Self {
            function: Arc::new(function),
        }
    }
}

impl Human for User {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let function = Arc::clone(&self.function);
        Box::pin(async move {
            let locals: Weak<Locals> = locals_of(&question.run.id)?;
            let begun = attach(|py| -> PyResult<Option<Call>> {
                let Some(locals) = locals.upgrade() else {
                    return Ok(None);
                };
                let gadget = question.gadget.clone();
                let arguments = (question.text, gadget).into_pyobject(py)?;
                Call::start(py, &locals, true, &function, arguments).map(Some)
            })?;
            let mut call = begun.ok()??;
            let (kind, text) = call.answer().await?;
            (kind == "result").then_some(text)
        })
    }
}
