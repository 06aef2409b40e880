//! Observers for what people often want to know of a run.
//!
//! | preset | what it does | what it gives |
//! |---|---|---|
//! | [`Logging`] | passes events to `tracing`, each at its level | |
//! | [`Timing`] | measures model calls, gadgets, the run | [`Timing::report`] |
//! | [`TokenTracking`] | counts tokens, those of compaction and subagents, too | [`TokenTracking::report`] |
//! | [`ProgressTracking`] | calls a closure whenever something has cost | [`Progress`] |
//! | [`ErrorLogging`] | calls a closure whenever something has failed | [`Failure`] |
//! | [`FileLogging`] | writes every request and reply to a file of its own | [`FileLogging::finish`] |
//! | [`Monitoring`] | logging, timing, tokens, costs and errors in one | its reports |
//! | [`StripInvisible`] | an interceptor: takes invisible characters out of results | |
//! | [`Silent`] | nothing | |
//! | [`merge`] | all of several, in order | |
//!
//! A closure `|event: &Event| …` is an observer, too. [`Shared`] keeps a hand on one that was given away. None of them
//! writes to the terminal; all of them see what subagents do, and tell it apart by its depth.
//!
//! ```
//! use std::sync::Arc;
//! use gadgetry::presets::{Logging, Shared, TokenTracking, merge};
//! use gadgetry::proto::run::{Run, RunConfig};
//! use gadgetry::proto::spec::Registry;
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
//! # Where to hook in
//!
//! To watch is to be an [`Observer`]; to decide is to be a [`Controller`](crate::Controller), which may
//! wait; to rewrite is to be an [`Interceptor`](gadgetry_proto::run::Interceptor), which may not. Events are those of
//! [`EventKind`](gadgetry_proto::event::EventKind). Every event has the time and, from a subagent, the path of calls that
//! lead to it, and so its depth.
//!
//! | to see | there is |
//! |---|---|
//! | a model call begins | event `ModelCallStart` |
//! | the request as it goes out | [`Observer::request`]; what has been spent until then: [`CostTree`](gadgetry_proto::tree::CostTree) |
//! | a reply streams | events `Text`, `Reasoning`, `CustomBlock…`; as the provider sent it: [`Observer::input`] with `Delta` |
//! | a reply has ended: why, tokens, costs, error | event `ModelCallEnd` |
//! | the reply as a message | `Controller::after_model_call` that proceeds |
//! | a model call has failed | event `ModelCallEnd` with `error`; whether the run goes on: a `ModelRetry` or a next `ModelCallStart` follows, or `RunFinished` |
//! | what a reply has shown is withdrawn, and another reply takes its place | event `ReplyWithdrawn` |
//! | a retry: its number, those left, error, delay | event `ModelRetry` |
//! | a request is held back | event `RateLimited` |
//! | a call is written, argument by argument | events `GadgetCallStart`, `GadgetArgsPartial`, `GadgetCall` (with the parameters) |
//! | a gadget starts | event `GadgetStart`, with the parameters as they go to it |
//! | a gadget tells how far it is | event `GadgetProgress` |
//! | a gadget is done: result or error, time, costs, media, whether it ends the run | event `GadgetResult` |
//! | a gadget was answered before it had ended, and has cost | event `GadgetCost` |
//! | a call is skipped: which dependency, why | event `GadgetSkipped` |
//! | compaction: what, how much | event `Compaction`; its model call: `ModelCallStart` and `ModelCallEnd` with the purpose `Summary` |
//! | a person is asked | events `HumanInputRequired`, `HumanInputReceived` |
//! | the run is cancelled | [`Observer::input`] with `Cancel`; event `RunFinished` with the reason `Cancelled` |
//! | a skill is loaded | events of its gadget's call |
//! | a reply and all its calls are done; the run is done | events `IterationEnd`, `RunFinished` |
//! | everything that happens to the run, to play it again | [`Observer::input`]; see [`log`](crate::log) |
//!
//! | to change | there is |
//! |---|---|
//! | pieces of a reply, text of a reply, parameters, results | the methods of `Interceptor`; pieces also with a [`DeltaTransform`](gadgetry_proto::transform::DeltaTransform) |
//! | a request, or to reply in the model's place | `Controller::before_model_call` |
//! | what the conversation keeps of a reply, and what follows it | `Controller::after_model_call` |
//! | what becomes of a model error | `Controller::on_model_error` |
//! | parameters, or to answer in a gadget's place, or to refuse | `Controller::before_gadget` |
//! | the result of a gadget, or its error | `Controller::after_gadget` |
//! | what becomes of a call whose dependency was not met | `Controller::on_dependency_skipped` |
//! | what a gadget or the run asks a person | [`Human`](crate::Human) |

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

/// The calls that lead to a subagent, as `a.0/b.1`: ids with the numbers of the subagents. Empty for the run itself.
fn path_words(path: &[Ancestor]) -> String {
    let steps = path
        .iter()
        .map(|step| format!("{}.{}", step.invocation_id, step.agent));
    steps.collect::<Vec<_>>().join("/")
}

/// Whether a run ended because it was done, or because somebody wanted it to.
fn is_wanted(reason: FinishReason) -> bool {
    matches!(
        reason,
        FinishReason::Completed
            | FinishReason::TaskCompleted
            | FinishReason::Cancelled
            | FinishReason::Stopped
    )
}
