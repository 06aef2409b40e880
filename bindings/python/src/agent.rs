//! Agents.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use gadgetry::approval::{Approvals, Rules};
use gadgetry::proto::tags::{BlockMode, CustomBlock};
use gadgetry::{AgentBuilder, AgentRun, Delta, DynGadget, OnTextOnlyReply, Retry, Tools};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bridge::{Locals, Waiter, Work, spawn, unwind};
use crate::errors;
use crate::foreign::NativeGadget;
use crate::gadget::{Deps, Function, User};
use crate::gate::attach;
use crate::journal::Journal;
use crate::json;
use crate::models::Model;
use crate::parser::{anchoring, choice, form, markers};
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
        let agent = builder.build().map_err(|error| errors::agent(&error))?;
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
        let validated = attach(|py| -> PyResult<()> {
            let answer = json::to_py(py, answer)?;
            let value = validate.call1(py, (answer,))?;
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.get_or_insert(value);
            Ok(())
        });
        match validated {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(attach(|py| error.value(py).to_string()).unwrap_or_default()),
            None => Err("the program is ending".to_owned()),
        }
    };
    let py = schema.py();
    run.answering(json::from_py(schema)?, accept)
        .map_err(|error| errors::typed(py, error))
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

/// Applies the options; an absent one leaves the default of the crate.
fn configured(mut builder: AgentBuilder, options: &Bound<'_, PyDict>) -> PyResult<AgentBuilder> {
    let py = options.py();
    macro_rules! plain {
        ($($name:ident: $type:ty),* $(,)?) => {
            $(if let Some(value) = get::<$type>(options, stringify!($name))? {
                builder = builder.$name(value);
            })*
        };
    }
    plain! {
        name: String,
        system: String,
        max_iterations: u32,
        budget: f64,
        temperature: f64,
        max_tokens: u64,
        stop: Vec<String>,
        max_concurrent: u32,
        max_gadgets_per_reply: u32,
        max_depth: u32,
        reasoning_tags: Vec<String>,
        examples: usize,
        trailing: String,
    }
    let duration = |name| -> PyResult<Option<Duration>> {
        let seconds: Option<f64> = get(options, name)?;
        let duration = seconds.map(Duration::try_from_secs_f64).transpose();
        duration.map_err(|error| PyTypeError::new_err(format!("{name}: {error}")))
    };
    if let Some(timeout) = duration("timeout")? {
        builder = builder.default_timeout(timeout);
    }
    if let Some(grace) = duration("grace")? {
        builder = builder.grace(grace);
    }
    let is_set = |name| Ok::<_, PyErr>(get::<bool>(options, name)?.unwrap_or(false));
    if is_set("sequential")? {
        builder = builder.sequential();
    }
    if is_set("stop_on_gadget_error")? {
        builder = builder.stop_on_gadget_error();
    }
    if get::<bool>(options, "compaction")? == Some(false) {
        builder = builder.without_compaction();
    }
    if let Some(retries) = get::<u32>(options, "retries")? {
        builder = if retries == 0 {
            builder.without_retry()
        } else {
            builder.retry(Retry {
                retries,
                ..Retry::default()
            })
        };
    }
    if let Some(tools) = get::<String>(options, "tools")? {
        builder = builder.tools(match tools.as_str() {
            "text" => Tools::Text,
            "native" => Tools::Native,
            "both" => Tools::Both,
            other => return Err(choice(py, "tools", other, "`text`, `native` or `both`")),
        });
    }
    if let Some(word) = get::<String>(options, "form")? {
        builder = builder.form(form(py, &word)?);
    }
    if let Some(own) = get::<(String, String, String)>(options, "markers")? {
        builder = builder.markers(markers(Some(own))?);
    }
    if let Some(word) = get::<String>(options, "anchoring")? {
        builder = builder.anchoring(anchoring(py, &word)?);
    }
    if let Some(reminder) = get::<String>(options, "remind")? {
        builder = builder.text_only(OnTextOnlyReply::Remind(reminder));
    }
    for block in get::<Vec<Bound<'_, PyAny>>>(options, "blocks")?.unwrap_or_default() {
        builder = builder.custom_block(custom_block(&block)?);
    }
    if let Some(human) = get::<Py<PyAny>>(options, "human")? {
        builder = builder.on_human_input(User::new(human));
    }
    approving(builder, options)
}

/// A `gadgetry.CustomBlock`.
fn custom_block(block: &Bound<'_, PyAny>) -> PyResult<CustomBlock> {
    let text = |name: &str| block.getattr(name)?.extract::<Option<String>>();
    let mut made = CustomBlock::new(block.getattr("key")?.extract::<String>()?);
    if let Some(tag) = text("tag")? {
        made = made.tag(tag);
    }
    if let Some(description) = text("description")? {
        made = made.description(description);
    }
    if let Some(instructions) = text("instructions")? {
        made = made.instructions(instructions);
    }
    let mode: String = block.getattr("mode")?.extract()?;
    made = match mode.as_str() {
        "keep" => made,
        "suppress" => made.suppress(),
        "reasoning" => {
            let (mut config, code) = made.into_parts();
            config.mode = BlockMode::Reasoning;
            CustomBlock::from_parts(config, code)
                .ok_or_else(|| PyTypeError::new_err("a block of reasoning maps nothing"))?
        }
        "map" => {
            let map = block.getattr("_map")?.unbind();
            made.map(move |block| {
                let mapped = attach(|py| -> PyResult<Option<Vec<Delta>>> {
                    let block = json::serialized(py, block)?;
                    let text: Option<String> = map.call1(py, (block,))?.extract(py)?;
                    Ok(text.map(|text| vec![Delta::text(text)]))
                });
                match mapped {
                    Some(Ok(deltas)) => deltas,
                    Some(Err(error)) => unwind(error),
                    None => None,
                }
            })
        }
        other => return Err(PyTypeError::new_err(format!("mode: {other}"))),
    };
    Ok(made)
}

/// Which calls need the user. Approvals are always left open: the package answers them, or whoever has their ids.
fn approving(builder: AgentBuilder, options: &Bound<'_, PyDict>) -> PyResult<AgentBuilder> {
    let Some(mode) = get::<String>(options, "approvals")? else {
        return Ok(builder);
    };
    if mode == "off" {
        return Ok(builder.without_approvals());
    }
    let rules: Vec<String> = get(options, "rules")?.unwrap_or_default();
    let rules = Rules::parse(rules).map_err(|error| errors::config(&error))?;
    let mut approvals = Approvals::new(rules);
    if mode == "ask" {
        approvals = approvals.in_stream();
    }
    if let Some(reason) = get::<String>(options, "unattended")? {
        approvals = approvals.unattended(reason);
    }
    Ok(builder.approvals(approvals))
}
