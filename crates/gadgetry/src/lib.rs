//! Tool calling for any text model: functions that a model calls by writing text, executed while it is still writing.
//!
//! ```
//! use gadgetry::{Agent, ScriptedModel, gadget};
//!
//! /// Adds two numbers.
//! #[gadget]
//! fn add(a: f64, b: f64) -> f64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Simulates a model: it calls `Add`, reads the result, and answers.
//! let model: ScriptedModel = concat!(
//!     r#"{"text": "!!!GADGET_START:Add\n!!!ARG:a\n2\n!!!ARG:b\n2\n!!!GADGET_END"}"#, "\n",
//!     r#"{"text": "2 + 2 is 4.", "expect": {"contains": ["Result (gadget_1): 4"]}}"#,
//! ).parse()?;
//!
//! let answer = Agent::builder()
//!     .model(model)
//!     .system("Be brief.")
//!     .gadget(Add)
//!     .max_iterations(10)
//!     .ask("What is 2 + 2?")?
//!     .text()
//!     .await?;
//! assert_eq!(answer, "2 + 2 is 4.");
//! # Ok(())
//! # }
//! ```
//!
//! For a real model, whose key is in the environment, replace `.model(model)` with `.named("haiku")?`:
//!
//! ```no_run
//! # async fn real() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = gadgetry::Agent::builder().named("haiku")?.build()?;
//! println!("{}", agent.ask("What is 2 + 2?").text().await?);
//! # Ok(())
//! # }
//! ```
//!
//! Start with [`Agent`]: [`Agent::builder`] has all options. Its parts can also be used alone. This crate is the runtime, which
//! does all of the waiting; the engine in the crate `gadgetry-proto` decides.
//!
//! # Modules, in the order in which they depend on each other
//!
//! A module names only modules above it in this list; a test fails otherwise.
//!
//! | module | what it does |
//! |---|---|
//! | `panics` | messages of panics |
//! | [`provider`] | real models over HTTP, with the feature `providers` (default) |
//! | [`scripted`] | [`ScriptedModel`]: a model that reads its replies from a file |
//! | [`runtime`] | [`Runtime`]: clock, timers, tasks, and the steps of a durable engine |
//! | [`limiter`] | [`RateLimiter`]: requests and tokens per minute and day, shared by runs |
//! | [`ask`] | model calls: rate limits, token counts, retries |
//! | [`scope`] | [`BudgetScope`]: depth, cancellation and budget, shared by a run and its subagents |
//! | `run_context` | [`RunContext`]: the run, as hooks, gadgets and users see it |
//! | [`human`] | [`Human`]: the user that a run can ask |
//! | `error` | [`GadgetError`] |
//! | [`context`] | [`ExecutionContext`]: the context of a running gadget |
//! | [`model_client`] | [`ModelClient`]: a model for a gadget's own calls |
//! | [`mod@gadget`] | [`macro@gadget`], [`Gadget`], [`from_fn`] and [`DynGadget`]: the ways to define a gadget |
//! | `__private` | items that the expansion of the macros uses |
//! | [`toolbox`] | [`Toolbox`]: the gadgets of a run |
//! | [`terminal`] | commands in terminals of editors and clients |
//! | [`command`] | [`CommandGadget`]: a gadget that is a program |
//! | [`skill`] | [`Skills`]: folders with instructions, which the model loads when it needs them |
//! | [`control`] | [`Hook`]: watches a run, and decides its open questions |
//! | [`approval`] | [`Approvals`](approval::Approvals): rules and a user that decide which calls run |
//! | [`observer`] | [`Observer`]: watches runs, the simple form |
//! | [`presets`] | observers: logging, timing, tokens, progress, errors, files |
//! | [`log`] | the log of a run, and its replay |
//! | [`journal`] | [`Journal`](journal::Journal): keeps the inputs of durable runs; the interface for durability engines |
//! | [`services`] | [`Services`]: model, gadgets, hooks and everything else that a run needs |
//! | [`driver`] | runs the engine of a run with services |
//! | [`agent`] | [`Agent`]: a model, gadgets and everything around them; start here |
//! | `guide` `readme` | documents whose code is compiled |
//!
//! Two modules and [`provider`] are re-exported from the crate `gadgetry-providers`: [`mod@model`] has [`Model`], which turns a
//! request into a stream of deltas; [`models`] has [`ModelRegistry`], with prices, context windows and features of known models.
//! [`mod@format`] has the parsers and the writer of replies, for programs without an agent.
//!
//! The types of parameters derive `Deserialize` and `JsonSchema`. A crate that depends on gadgetry alone derives them
//! from its re-exports, [`serde`] and [`schemars`]; [`Gadget`] shows how.
//!
//! Other libraries call a gadget a tool: [`#[tool]`](macro@tool) is `#[gadget]`, and [`AgentBuilder::tool`] is
//! [`AgentBuilder::gadget`].
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `providers` | yes | real models over HTTP: `provider::openai`, `provider::anthropic`, `provider::resolve`, [`model`](fn@model) |
//! | `commands` | yes | `command`: gadgets that are programs, and gadget files |
//! | `skills` | yes | `skill`: folders with instructions, which the model loads |
//! | `tokens` | no | `models::count_tokens`: exact counts for OpenAI's vocabularies, with 8 MB of data |
//!
//! All waiting is done in tokio, and needs a runtime with I/O and time enabled.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The engine. Any release may change it: the items that users need are also at the root of this crate, or in a module.
#[doc(hidden)]
pub use gadgetry_proto as proto;
pub use {schemars, serde, serde_json};

pub mod agent;
pub mod approval;
pub mod ask;
#[cfg(feature = "commands")]
pub mod command;
pub mod context;
pub mod control;
pub mod driver;
mod error;
pub mod gadget;
#[cfg(doctest)]
mod guide;
pub mod human;
pub mod journal;
pub mod limiter;
pub mod log;
pub mod model_client;
pub mod observer;
mod panics;
pub mod presets;
pub mod provider;
#[cfg(doctest)]
mod readme;
mod run_context;
pub mod runtime;
pub mod scope;
pub mod scripted;
pub mod services;
#[cfg(feature = "skills")]
pub mod skill;
pub mod terminal;
pub mod toolbox;

/// Items that most programs need: `use gadgetry::prelude::*;`
///
/// ```
/// use gadgetry::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let run = Agent::builder().model(model).build()?.ask("What is 2+2?");
/// let finished = run.on_event(|event| match &event.kind {
///     EventKind::GadgetStart { gadget_name, .. } => println!("{gadget_name} starts"),
///     _ => {}
/// }).await?;
/// assert_eq!(finished.summary.reason, FinishReason::Completed);
/// # Ok(())
/// # }
/// ```
pub mod prelude {
    pub use crate::{
        Agent, AgentBuilder, Classified, Content, Conversation, Delta, Event, EventKind,
        ExecutionContext, FinishReason, Finished, Gadget, GadgetError, GadgetInfo, GadgetOutput,
        GadgetSpec, Model, ModelInfo, OnTextOnlyReply, Outcome, Price, RunError, ScriptedModel,
        ToolChoice, Tools, UnmetDependencyPolicy, Usage, from_fn, gadget, gadgets, typed,
    };
}

/// The format of replies without an agent: parsers, the writer, and their settings.
///
/// ```
/// use gadgetry::format::{BlockParser, ReplyEvent};
///
/// let mut parser = BlockParser::default();
/// let mut names = Vec::new();
/// let mut see = |event: ReplyEvent<'_>| {
///     if let ReplyEvent::Call(block) = event {
///         names.push(block.to_call(None).gadget_name);
///     }
/// };
/// parser.push("!!!GADGET_START:Clock\n!!!GADGET_END", &mut see);
/// parser.finish(&mut see);
/// assert_eq!(names, ["Clock"]);
/// ```
pub mod format {
    #[doc(no_inline)]
    pub use gadgetry_proto::{
        block::{Anchoring, Markers, Writer},
        call::Parameters,
        dialect,
        dialect::Dialect,
        limits::Limits,
        reply::{BlockParser, Format, Pipeline, ReplyEvent, ReplyStage, TagParser},
        tags::TagNameError,
    };
}

#[doc(hidden)]
pub mod __private;

#[doc(inline)]
pub use agent::{
    Agent, AgentBuilder, AgentError, AgentHandle, AgentRun, Conversation, Finished, FinishedCall,
    NotInjected, RunError, Typed, TypedError, Unfinished,
};
#[cfg(feature = "commands")]
#[doc(inline)]
pub use command::{CommandGadget, ResultForm};
#[doc(inline)]
pub use context::{CancellationToken, ExecutionContext, Invocation};
#[doc(inline)]
pub use control::{DynHook, Hook, Hooks, OnGadgetError};
#[doc(inline)]
pub use driver::{RunResult, drive};
#[doc(inline)]
pub use gadget::{
    CallPreview, CommandLine, DynGadget, Gadget, GadgetError, GadgetInfo, GadgetOutput, IntoGadget,
    IntoGadgets, IntoOutcome, NoParams, Origin, Permission, Subject, from_fn, typed,
    validate_gadget_params,
};
/// Makes a gadget of a function, for gadgets without state.
///
/// ```
/// use gadgetry::schemars::JsonSchema;
/// use gadgetry::serde::Deserialize;
/// use gadgetry::serde_json::json;
/// use gadgetry::{ExecutionContext, GadgetError, Toolbox, gadget};
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "gadgetry::serde", rename_all = "lowercase")]
/// #[schemars(crate = "gadgetry::schemars")]
/// enum Units {
///     Celsius,
///     Fahrenheit,
/// }
///
/// /// Get weather for a city.
/// #[gadget(
///     timeout = "10s",
///     max_concurrent = 2,
///     example(params = {"city": "Paris"}, output = "Paris: 21°C, 3 days", comment = "In degrees Celsius")
/// )]
/// async fn weather(
///     /// City name, like "Paris"
///     #[schemars(length(min = 1))]
///     city: String,
///     /// Which units, Celsius if left out
///     units: Option<Units>,
///     /// How many days ahead
///     #[gadget(default = 3)]
///     days: u32,
///     context: ExecutionContext,
/// ) -> Result<String, GadgetError> {
///     context.report_cost(0.001)?;
///     let (temperature, unit) = match units.unwrap_or(Units::Celsius) {
///         Units::Celsius => (21, 'C'),
///         Units::Fahrenheit => (70, 'F'),
///     };
///     Ok(format!("{city}: {temperature}°{unit}, {days} days"))
/// }
///
/// let mut toolbox = Toolbox::default();
/// toolbox.add(Weather)?;
///
/// let spec = toolbox.get("weather").expect("just added").spec();
/// assert_eq!(spec.description, "Get weather for a city.");
/// assert_eq!(spec.parameters["required"], json!(["city"]));
/// assert_eq!(spec.parameters["properties"]["days"]["default"], 3);
/// # Ok::<(), gadgetry::toolbox::ToolboxError>(())
/// ```
pub use gadgetry_macros::gadget;
/// [`#[gadget]`](macro@gadget) under the name that most other libraries use.
#[doc(no_inline)]
pub use gadgetry_macros::gadget as tool;
/// Makes gadgets of the methods of a type, which share one value of it.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use gadgetry::{Agent, GadgetError, gadgets};
///
/// #[derive(Default)]
/// struct Phonebook {
///     entries: Mutex<Vec<(String, String)>>,
/// }
///
/// #[gadgets]
/// impl Phonebook {
///     /// Adds a telephone number
///     fn add(&self, name: String, number: String) {
///         self.entries.lock().unwrap().push((name, number));
///     }
///
///     /// Finds a telephone number
///     #[gadget(timeout = "10s")]
///     async fn find(&self, name: String) -> Result<String, GadgetError> {
///         let entries = self.entries.lock().unwrap();
///         let entry = entries.iter().find(|(other, _)| *other == name);
///         Ok(entry.ok_or("there is no such entry")?.1.clone())
///     }
/// }
///
/// let book = Arc::new(Phonebook::default());
/// let agent = Agent::builder().gadgets(book.gadgets());
/// # let _ = agent;
/// assert!(book.entries.lock().unwrap().is_empty());
/// ```
pub use gadgetry_macros::gadgets;
pub use gadgetry_proto::media::{Media, MediaData, MediaKind};
pub use gadgetry_proto::schema::Example;
#[doc(no_inline)]
pub use gadgetry_proto::{
    call::Outcome,
    call_form::CallForm,
    convo::{char_limit, prompt_text},
    delta::{Delta, StopReason},
    error::{Classified, Fault, ModelError, ModelErrorKind},
    event::{CallAnswer, Event, EventKind, FinishReason},
    message::{Content, Message, Request, Role, ToolChoice},
    prompt::{GadgetSearch, SearchWhen},
    run::{AboutCall, Interceptor, OnTextOnlyReply, Retry, Tools, UnmetDependencyPolicy},
    schema::{GadgetSpec, OnInterrupt},
    tags::CustomBlock,
    trace::TraceContext,
    transform::DeltaTransform,
    tree::{CostTree, NodeId},
    usage::{Price, Usage},
};
#[doc(inline)]
pub use gadgetry_providers::{
    model,
    model::{ConstraintField, Model, ModelInfo, Models},
    models,
    models::{ModelRegistry, ModelSpec},
};
#[doc(inline)]
pub use human::{Human, HumanQuestion};
#[doc(inline)]
pub use limiter::{Limiter, Permit, RateLimiter, RateLimits, RateLimitsError};
#[doc(inline)]
pub use model_client::ModelClient;
#[doc(inline)]
pub use observer::Observer;
#[doc(inline)]
pub use run_context::{MissingValue, Need, RunContext, Values};
#[doc(inline)]
pub use runtime::Runtime;
#[doc(inline)]
pub use scope::BudgetScope;
#[doc(inline)]
pub use scripted::ScriptedModel;
#[doc(inline)]
pub use services::Services;
#[cfg(feature = "skills")]
#[doc(inline)]
pub use skill::{Skill, Skills};
#[doc(inline)]
pub use toolbox::Toolbox;
