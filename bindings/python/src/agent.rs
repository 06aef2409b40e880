//! Agents for Python.

use std::sync::{Arc, PoisonError};

use gadgetry::proto::message::CustomContentBlock;
use gadgetry::proto::tags::CustomBlock;
use gadgetry::{AgentBuilder, AgentRun, DynGadget};
use gadgetry_bindings::{Problem, options};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::task::block_in_place;

use crate::bridge::{Locals, Waiter, Work, spawn, unwind};
use crate::errors;
use crate::foreign::NativeGadget;
use crate::gadget::{Deps, Function, User};
use crate::gate::attach;
use crate::journal::Journal;
use crate::json;
use crate::models::Model;
use crate::run::{Conversation, Output, Run};

/// A model with gadgets.
#[pyclass(frozen, module = "gadgetry._gadgetry")]
pub(crate) struct Agent(gadgetry::Agent);

#[pymethods]
impl Agent {
    #[new]
    fn new(
        model: &Model,
        gadgets: Vec<Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let mut builder = gadgetry::Agent::builder().model(Arc::clone(&model.0));
        for gadget in gadgets {
            let gadget: Arc<dyn DynGadget> = match gadget.cast::<NativeGadget>() {
                Ok(native) => Arc::clone(&native.get().0),
                Err(_) => Arc::new(Function::new(&gadget)?),
            };
            builder = builder.gadget(gadget);
        }
        let builder = configured(builder, options)?;
        let built = builder.build();
        let agent = built.map_err(|error| errors::raised(Problem::agent(&error)))?;
        Ok(Self(agent))
    }

    /// A run about `prompt`, in the running loop.
    fn ask(&self, prompt: String, options: &Bound<'_, PyDict>) -> PyResult<Run> {
        let py = options.py();
        let locals = Arc::new(Locals::current(py)?);
        let conversation: Option<PyRef<'_, Conversation>> = get(options, "conversation")?;
        let conversation = conversation.map(|it| it.0.clone()).unwrap_or_default();
        let mut run = self
            .0
            .ask_owned(conversation, prompt)
            .with(Arc::clone(&locals));
        if let Some(deps) = get::<Py<PyAny>>(options, "deps")? {
            run = run.with(Deps(deps));
        }
        if let Some(id) = get::<String>(options, "run_id")? {
            run = run.run_id(id);
        }
        if let Some(metadata) = get::<Bound<'_, PyDict>>(options, "metadata")? {
            for (key, value) in metadata {
                run = run.metadata(key.extract::<String>()?, json::from_py(&value)?);
            }
        }
        let output = Output::default();
        if let Some((schema, validate)) = get::<(Bound<'_, PyAny>, Py<PyAny>)>(options, "output")? {
            run = answering(run, &schema, validate, &output)?;
        }
        Ok(Run::new(run, locals, output))
    }

    /// Begins a durable run about `prompt`, or resumes it if the journal has it; without a prompt, it resumes one that has begun.
    fn durable(
        &self,
        waiter: Waiter<'_>,
        journal: &Journal,
        prompt: Option<String>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Work> {
        let locals = Arc::new(Locals::current(options.py())?);
        let mut durable = self.0.durable(&journal.0).with(Arc::clone(&locals));
        if let Some(conversation) = get::<PyRef<'_, Conversation>>(options, "conversation")? {
            durable = durable.after(conversation.0.clone());
        }
        if let Some(deps) = get::<Py<PyAny>>(options, "deps")? {
            durable = durable.with(Deps(deps));
        }
        if let Some(id) = get::<String>(options, "run_id")? {
            durable = durable.run_id(id);
        }
        if let Some(metadata) = get::<Bound<'_, PyDict>>(options, "metadata")? {
            for (key, value) in metadata {
                durable = durable.metadata(key.extract::<String>()?, json::from_py(&value)?);
            }
        }
        if get::<bool>(options, "force")? == Some(true) {
            durable = durable.force();
        }
        let work = async move {
            match prompt {
                Some(prompt) => durable.ask(prompt).await,
                None => durable.resume().await,
            }
        };
        spawn(&waiter, work, move |py, run| {
            let run = run.map_err(|error| errors::classified("JournalError", &error))?;
            Ok(Py::new(py, Run::new(run, locals, Output::default()))?.into_any())
        })
    }
}

/// A run whose answer has this schema, and is what `validate` makes of it.
fn answering(
    run: AgentRun<'static>,
    schema: &Bound<'_, PyAny>,
    validate: Py<PyAny>,
    output: &Output,
) -> PyResult<AgentRun<'static>> {
    let output = Arc::clone(output);
    let accept = move |answer: &gadgetry::serde_json::Value| {
        let validated = block_in_place(|| {
            attach(|py| -> PyResult<()> {
                let answer = json::to_py(py, answer)?;
                let value = validate.call1(py, (answer,))?;
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                output.get_or_insert(value);
                Ok(())
            })
        });
        match validated {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(attach(|py| error.value(py).to_string()).unwrap_or_default()),
            None => Err("the program is ending".to_owned()),
        }
    };
    run.answering(json::from_py(schema)?, accept)
        .map_err(|error| errors::raised(Problem::typed(error)))
}

/// An option that is there and not `None`.
fn get<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let value = value.extract::<T>();
    let value = value.map_err(|error| {
        let error: PyErr = error.into();
        PyTypeError::new_err(format!("{name}: {error}"))
    });
    value.map(Some)
}

/// Applies the options. Those with functions are taken out first.
fn configured(mut builder: AgentBuilder, options: &Bound<'_, PyDict>) -> PyResult<AgentBuilder> {
    let options = options.copy()?;
    for block in get::<Vec<Bound<'_, PyAny>>>(&options, "blocks")?.unwrap_or_default() {
        builder = builder.custom_block(custom_block(&block)?);
    }
    if let Some(human) = get::<Py<PyAny>>(&options, "human")? {
        builder = builder.on_human_input(User::new(human));
    }
    for name in ["blocks", "human"] {
        options.set_item(name, options.py().None())?;
    }
    options::agent(builder, json::fields(&options)?).map_err(errors::raised)
}

/// A `gadgetry.CustomBlock`.
fn custom_block(block: &Bound<'_, PyAny>) -> PyResult<CustomBlock> {
    let fields = PyDict::new(block.py());
    for name in ["key", "tag", "description", "instructions", "mode"] {
        fields.set_item(name, block.getattr(name)?)?;
    }
    let map = block.getattr("_map")?.unbind();
    let transform = move |block: &CustomContentBlock| {
        // The function may run an agent itself, which needs the queue of this thread.
        let mapped = block_in_place(|| {
            attach(|py| -> PyResult<Option<String>> {
                let block = json::serialized(py, block)?;
                map.call1(py, (block,))?.extract(py)
            })
        });
        match mapped {
            Some(Ok(text)) => text,
            Some(Err(error)) => unwind(error),
            None => None,
        }
    };
    let fields = json::fields(&fields)?;
    options::custom_block(fields, Some(Box::new(transform))).map_err(errors::raised)
}
