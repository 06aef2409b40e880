//! Agents for JavaScript.

use std::sync::{Arc, PoisonError};

use gadgetry::proto::message::CustomContentBlock;
use gadgetry::{AgentRun, DynGadget, GadgetSpec};
use gadgetry_bindings::Problem;
use gadgetry_bindings::fields::Fields;
use gadgetry_bindings::options::{self, Transform};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use serde_json::{Map, Value};

use crate::errors::{contained, raised};
use crate::gadget::{Function, NativeGadget};
use crate::host::{Dispatch, Host, POLLED, User};
use crate::journal::Journal;
use crate::models::Model;
use crate::run::{Conversation, Output, Run};

/// A model with gadgets.
#[napi]
pub struct Agent(gadgetry::Agent);

#[napi]
impl Agent {
    /// Makes it of its options, as JSON. Those of functions are numbers, with which `dispatch` of a run is called: `gadgets` are
    /// specifications, or positions in `native`.
    #[napi(constructor)]
    pub fn new(model: &Model, native: Vec<&NativeGadget>, options: String) -> napi::Result<Self> {
        Self::of(model, &native, &options).map_err(raised)
    }

    fn of(model: &Model, native: &[&NativeGadget], options: &str) -> Result<Self, Problem> {
        let mut options = Fields::parse(options)?;
        let mut builder = gadgetry::Agent::builder().model(Arc::clone(&model.0));
        let gadgets: Vec<Map<String, Value>> = options.take("gadgets")?.unwrap_or_default();
        for (number, gadget) in (0..).zip(gadgets) {
            let mut gadget = Fields::new(gadget);
            let made: Arc<dyn DynGadget> = match gadget.take::<usize>("native")? {
                Some(at) => native
                    .get(at)
                    .map(|it| Arc::clone(&it.0))
                    .ok_or_else(|| Problem::wrong_type("no such gadget"))?,
                None => Arc::new(Function {
                    spec: gadget.need::<GadgetSpec>("spec")?,
                    permission: gadget
                        .need::<String>("permission")?
                        .parse()
                        .map_err(|error| Problem::wrong_type(format!("permission: {error}")))?,
                    number,
                }),
            };
            builder = builder.gadget(made);
        }
        let blocks: Vec<Map<String, Value>> = options.take("blocks")?.unwrap_or_default();
        for (number, block) in (0..).zip(blocks) {
            let block = options::custom_block(Fields::new(block), Some(transform(number)))?;
            builder = builder.custom_block(block);
        }
        if options.is_set("human")? {
            builder = builder.on_human_input(User);
        }
        let built = options::agent(builder, options)?.build();
        built.map(Self).map_err(|error| Problem::agent(&error))
    }

    /// A run about `prompt`.
    #[napi]
    pub fn ask(
        &self,
        prompt: String,
        options: String,
        conversation: Option<&Conversation>,
        dispatch: Dispatch<'_>,
    ) -> napi::Result<Run> {
        let host = Arc::new(Host::new(dispatch)?);
        let conversation = conversation.map(|it| it.0.clone()).unwrap_or_default();
        let mut run = self
            .0
            .ask_owned(conversation, prompt)
            .with(Arc::clone(&host));
        let output = Output::default();
        let begun = || -> Result<AgentRun<'static>, Problem> {
            let mut options = Fields::parse(&options)?;
            if let Some(id) = options.take::<String>("run_id")? {
                run = run.run_id(id);
            }
            let metadata: Option<Map<String, Value>> = options.take("metadata")?;
            for (key, value) in metadata.into_iter().flatten() {
                run = run.metadata(key, value);
            }
            if let Some(schema) = options.take::<Value>("output")? {
                run = answering(run, schema, &host, &output)?;
            }
            options.end("a run")?;
            Ok(run)
        };
        let run = begun().map_err(raised)?;
        Ok(Run::new(run, host, output))
    }

    /// Begins a durable run about `prompt`, or resumes it if the journal has it; without a prompt, it resumes one that has begun.
    #[napi]
    pub fn durable<'env>(
        &self,
        env: &'env Env,
        journal: &Journal,
        prompt: Option<String>,
        options: String,
        conversation: Option<&Conversation>,
        dispatch: Dispatch<'_>,
    ) -> napi::Result<PromiseRaw<'env, Run>> {
        let host = Arc::new(Host::new(dispatch)?);
        let mut durable = self.0.durable(&journal.0).with(Arc::clone(&host));
        if let Some(conversation) = conversation {
            durable = durable.after(conversation.0.clone());
        }
        let mut options = Fields::parse(&options).map_err(raised)?;
        if let Some(id) = options.take::<String>("run_id").map_err(raised)? {
            durable = durable.run_id(id);
        }
        let metadata: Option<Map<String, Value>> = options.take("metadata").map_err(raised)?;
        for (key, value) in metadata.into_iter().flatten() {
            durable = durable.metadata(key, value);
        }
        if options.is_set("force").map_err(raised)? {
            durable = durable.force();
        }
        options.end("a durable run").map_err(raised)?;
        env.spawn_future(contained(async move {
            let run = match prompt {
                Some(prompt) => durable.ask(prompt).await,
                None => durable.resume().await,
            };
            let run = run.map_err(|error| raised(Problem::classified("JournalError", &error)))?;
            Ok(Run::new(run, host, Output::default()))
        }))
    }
}

/// A run whose answer has this schema, and is what the function `validate` makes of it: its answer is `result` with the JSON of the value, or
/// `error` with what the model reads.
fn answering(
    run: AgentRun<'static>,
    schema: Value,
    host: &Arc<Host>,
    output: &Output,
) -> Result<AgentRun<'static>, Problem> {
    let (host, output) = (Arc::clone(host), Arc::clone(output));
    let accept = move |answer: &Value| {
        let Some((kind, text)) = host.wait("validate", 0, answer.to_string()) else {
            return Err("the program is ending".to_owned());
        };
        if kind != "result" {
            return Err(text);
        }
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.get_or_insert_with(|| answer.clone());
        Ok(())
    };
    run.answering(schema, accept).map_err(Problem::typed)
}

/// The function of a custom block, in the run that is polled.
fn transform(number: u32) -> Transform {
    Box::new(move |block: &CustomContentBlock| {
        let host = POLLED.try_with(Arc::clone).ok()?;
        let block = serde_json::to_string(block).unwrap_or_default();
        let (kind, text) = host.wait("transform", number, block)?;
        (kind == "result").then_some(text)
    })
}
