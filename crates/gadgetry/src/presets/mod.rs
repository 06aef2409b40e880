//! Ready-made observers.
//!
//! | preset | action | result |
//! |---|---|---|
//! | [`Logging`] | passes events to `tracing`, each at its level | |
//! | [`Timing`] | measures model calls, gadgets, the run | [`Timing::report`] |
//! | [`TokenTracking`] | counts tokens, including those of compaction and subagents | [`TokenTracking::report`] |
//! | [`ProgressTracking`] | calls a closure after each model call and gadget call | [`Progress`] |
//! | [`ErrorLogging`] | calls a closure for every failure | [`Failure`] |
//! | [`FileLogging`] | writes every request and reply to a separate file | [`FileLogging::finish`] |
//! | [`Monitoring`] | logging, timing, tokens, costs and errors in one | its reports |
//! | [`StripInvisible`] | an interceptor: removes invisible characters from results | |
//! | [`Silent`] | does nothing | |
//! | [`merge`] | calls several observers, in order | |
//!
//! A closure `|event: &Event| …` is an observer, too. [`Shared`] keeps access to an observer that was moved. None of these writes
//! to the terminal; all of them receive the events of subagents, which have a greater depth.
//!
//! ```
//! use std::sync::Arc;
//! use gadgetry::presets::{Logging, Shared, TokenTracking, merge};
//! use gadgetry::driver::{Registry, Run, RunConfig};
//! use gadgetry::{ScriptedModel, Services, Toolbox, drive};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model: ScriptedModel =
//!     r#"{"text": "Hello!", "usage": {"inputTokens": 9, "outputTokens": 3}}"#.parse()?;
//! let tokens = Shared::new(TokenTracking::default());
//! let mut observers = merge(vec![Box::new(Logging), Box::new(tokens.clone())]);
//!
//! let run = Run::ask(&RunConfig::default().plan(Registry::default())?, "Hi");
//! let services = Services::new(Arc::new(model), Toolbox::default());
//! let (_commands, receiver) = tokio::sync::mpsc::channel(1);
//! drive(run, &services, receiver, &mut observers).await;
//! assert_eq!(tokens.with(|tokens| tokens.report().all.input_tokens), 9);
//! # Ok(())
//! # }
//! ```
//!
//! # Which trait, event or method to use
//!
//! Implement [`Hook`](crate::Hook) to watch and to decide, with access to the run (it may wait); [`Observer`] to watch with `&mut
//! self`; and [`Interceptor`](gadgetry_proto::run::Interceptor) to rewrite (it may not wait). Events are those of
//! [`EventKind`](gadgetry_proto::event::EventKind). Every event has the id of its run, the time and, in a subagent, the path of
//! calls that lead to it, and so its depth.
//!
//! | to observe | use |
//! |---|---|
//! | the start of a run: its id, agent, model, parent, metadata | event `RunStart` |
//! | the start of a model call | event `ModelCallStart` |
//! | the request as sent | [`Observer::request`]; the cost up to then: [`CostTree`](gadgetry_proto::tree::CostTree) |
//! | a streaming reply | events `Text`, `Reasoning`, `CustomBlock…`; as the provider sent it: [`Observer::input`] with `Delta` |
//! | the end of a reply: reason, tokens, costs, error | event `ModelCallEnd` |
//! | the reply as a message | `Hook::after_model_call` that proceeds |
//! | a failed model call | event `ModelCallEnd` with `error`; then `ModelRetry`, the next `ModelCallStart` or `RunFinished` |
//! | the withdrawal of a partial reply, which another reply replaces | event `ReplyWithdrawn` |
//! | a retry: its number, those left, error, delay | event `ModelRetry` |
//! | a request delayed by a rate limit | event `RateLimited` |
//! | a call while it is written, argument by argument | events `GadgetCallStart`, `GadgetArgsPartial`, `GadgetCall` (with the parameters) |
//! | the start of a gadget | event `GadgetStart`, with the parameters that it receives |
//! | a gadget that starts again because the program ended while it was running | event `GadgetRestarted` |
//! | progress of a gadget | event `GadgetProgress` |
//! | the result of a gadget: result or error, time, costs, media, whether it ends the run | event `GadgetResult` |
//! | costs of a gadget that was answered before it ended | event `GadgetCost` |
//! | a skipped call: which dependency, why | event `GadgetSkipped` |
//! | compaction: strategy and size | event `Compaction`; its model call: `ModelCallStart` and `ModelCallEnd` with the purpose `Summary` |
//! | human input | events `HumanInputRequired`, `HumanInputReceived` |
//! | cancellation of the run | [`Observer::input`] with `Cancel`; event `RunFinished` with the reason `Cancelled` |
//! | loading of a skill | events of its gadget's call |
//! | the end of a reply with all its calls; the end of the run | events `IterationEnd`, `RunFinished` |
//! | all inputs of the run, for replay | [`Observer::input`]; see [`log`](crate::log) |
//!
//! | to change | use |
//! |---|---|
//! | pieces of a reply, text of a reply, parameters, results | the methods of `Interceptor`; pieces also with a [`DeltaTransform`](gadgetry_proto::transform::DeltaTransform) |
//! | a request, or the reply, in place of the model | `Hook::before_model_call` |
//! | the part of a reply that the conversation keeps, and the messages after it | `Hook::after_model_call` |
//! | the handling of a model error | `Hook::on_model_error` |
//! | the parameters of a call, its answer in place of the gadget, or whether it runs | `Hook::before_gadget` |
//! | the result of a gadget, or its error | `Hook::after_gadget`, `Hook::on_gadget_error` |
//! | the policy for a call with an unmet dependency | `Hook::on_dependency_skipped` |
//! | answers to questions of a gadget or the run | [`Human`](crate::Human) |

mod errors;
mod files;
mod invisible;
mod logging;
mod merge;
mod monitoring;
mod progress;
mod timing;
mod tokens;

use gadgetry_proto::event::{Ancestor, Event, FinishReason};

use crate::observer::Observer;

pub use errors::{ErrorLogging, Failure, FailureKind};
pub use files::{FileLogging, FileLoggingError};
pub use invisible::StripInvisible;
pub use logging::Logging;
pub use merge::{Merged, Shared, merge};
pub use monitoring::Monitoring;
pub use progress::{Progress, ProgressTracking};
pub use timing::{Durations, Timing, TimingReport};
pub use tokens::{TokenReport, TokenTracking};

/// Watches nothing.
///
/// ```
/// use gadgetry::Observer;
/// let mut observer: Box<dyn Observer> = Box::new(gadgetry::presets::Silent);
/// # let _ = &mut observer;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Event) {}
}

/// Formats the calls that lead to a subagent, as `a.0/b.1`: ids with the numbers of the subagents. Empty for the run itself.
fn path_words(path: &[Ancestor]) -> String {
    let steps = path
        .iter()
        .map(|step| format!("{}.{}", step.invocation_id, step.agent));
    steps.collect::<Vec<_>>().join("/")
}

/// Returns whether a run completed, or was stopped on purpose.
fn is_wanted(reason: FinishReason) -> bool {
    matches!(
        reason,
        FinishReason::Completed
            | FinishReason::TaskCompleted
            | FinishReason::Cancelled
            | FinishReason::Stopped
    )
}
