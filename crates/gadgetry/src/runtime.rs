//! The executor of a run: clock, timers, tasks, and its steps.
//!
//! The [driver](crate::driver) leaves threads and clocks to a [`Runtime`], which is [`Tokio`] unless
//! [`Services::runtime`](crate::Services::runtime) is another one. Two kinds of programs bring their own:
//!
//! - **Tests and simulations** run on virtual time: they implement [`now`](Runtime::now),
//!   [`sleep_until`](Runtime::sleep_until) and [`spawn`](Runtime::spawn).
//! - **Programs that wrap steps**, to trace them, cache their results or execute them elsewhere, implement
//!   [`reply`](Runtime::reply), [`gadget`](Runtime::gadget) and [`question`](Runtime::question) as well. That is not enough for a
//!   run that survives its process: it needs a [journal](crate::journal), which has all of its inputs.
//!
//! ```
//! use std::collections::HashMap;
//! use std::sync::{Arc, Mutex};
//! use std::time::Instant;
//!
//! use futures_core::future::BoxFuture;
//! use gadgetry::driver::{Run, RunConfig};
//! use gadgetry::runtime::{Runtime, Step, Tokio};
//! use gadgetry::{Event, Outcome, ScriptedModel, Services, Toolbox, drive, gadget};
//!
//! /// Stores the outcomes of gadgets, by step.
//! #[derive(Default)]
//! struct Cache(Arc<Mutex<HashMap<String, Outcome>>>);
//!
//! impl Runtime for Cache {
//!     fn now(&self) -> Instant {
//!         Tokio.now()
//!     }
//!
//!     fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
//!         Tokio.sleep_until(at)
//!     }
//!
//!     fn spawn(&self, task: BoxFuture<'static, ()>) {
//!         Tokio.spawn(task);
//!     }
//!
//!     fn gadget(&self, step: &Step, work: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
//!         let (key, cache) = (step.to_string(), Arc::clone(&self.0));
//!         Box::pin(async move {
//!             let kept = cache.lock().unwrap().get(&key).cloned();
//!             if let Some(outcome) = kept {
//!                 return outcome; // `work` was never polled, so the gadget has not run
//!             }
//!             let outcome = work.await;
//!             cache.lock().unwrap().insert(key, outcome.clone());
//!             outcome
//!         })
//!     }
//! }
//!
//! /// Orders a pizza.
//! #[gadget]
//! fn order() -> &'static str {
//!     "ordered"
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model: ScriptedModel =
//!     concat!(r#"{"text": "!!!GADGET_START:Order\n!!!GADGET_END"}"#, "\n", r#"{"text": "Done."}"#).parse()?;
//! let mut toolbox = Toolbox::default();
//! toolbox.add(Order)?;
//! let plan = RunConfig::default().plan(Arc::clone(toolbox.registry()))?;
//! let cache = Cache::default();
//! let kept = Arc::clone(&cache.0);
//! let mut services = Services::new(Arc::new(model), toolbox);
//! services.runtime = Arc::new(cache);
//! let (_commands, receiver) = tokio::sync::mpsc::channel(1);
//! drive(Run::ask(&plan, "Hungry!"), &services, receiver, &mut |_: &Event| {}).await;
//! assert_eq!(kept.lock().unwrap()["/ gadget 0"].result.as_deref(), Ok("ordered"));
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Decision, Input, QuestionId};

/// An executor with a clock, and hooks for the steps of a run.
///
/// The methods with a default body return the work unchanged. See the [module](self) for an implementation.
pub trait Runtime: Send + Sync {
    /// Returns the current time. It never goes back.
    fn now(&self) -> Instant;

    /// Waits until the clock reaches `at`.
    ///
    /// Cancel safety: dropping the future stops the timer.
    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()>;

    /// Runs `task` in the background, until it is done.
    ///
    /// The driver ends its tasks itself: one that it no longer needs is woken, and completes when it is polled.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Carries out a model call: `inputs` sends the request when it is first polled, and yields
    /// [`Input::RateLimited`], [`Input::Delta`] and, at its end, [`Input::ModelClosed`].
    ///
    /// A cache that knows the reply yields the same inputs again and drops `inputs`.
    fn reply(&self, step: &Step, inputs: BoxStream<'static, Input>) -> BoxStream<'static, Input> {
        let _ = step;
        inputs
    }

    /// Carries out a gadget call: `work` executes it when it is first polled.
    fn gadget(
        &self,
        step: &Step,
        work: BoxFuture<'static, Outcome>,
    ) -> BoxFuture<'static, Outcome> {
        let _ = step;
        work
    }

    /// Carries out a question to the hook or the user: `work` yields the decision.
    fn question(
        &self,
        step: &Step,
        work: BoxFuture<'static, Decision>,
    ) -> BoxFuture<'static, Decision> {
        let _ = step;
        work
    }
}

/// Identifies a step of a run: the same in every execution of the same run.
///
/// It displays as a key, such as `/ gadget 0`, or `/5.0 reply 2` in a subagent.
///
/// ```
/// use gadgetry::context::CallId;
/// use gadgetry::runtime::{Step, StepKind};
///
/// let step = Step { run: "/5.0".into(), kind: StepKind::Gadget(CallId(3)) };
/// assert_eq!(step.to_string(), "/5.0 gadget 3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The run: `/`, or the path to a subagent, as `/5.0/2.1`: subagent 1 of call 2 of subagent 0 of call 5.
    pub run: Arc<str>,
    /// Kind of the step.
    pub kind: StepKind,
}

/// Kind of a [`Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepKind {
    /// A model call, by its number in this drive of the run, from 1; retries and summaries have their own numbers.
    Reply(u32),
    /// A gadget call.
    Gadget(CallId),
    /// A question to the hook or the user.
    Question(QuestionId),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.run;
        match self.kind {
            StepKind::Reply(number) => write!(f, "{run} reply {number}"),
            StepKind::Gadget(id) => write!(f, "{run} gadget {}", id.0),
            StepKind::Question(id) => write!(f, "{run} question {}", id.0),
        }
    }
}

/// Runs on the current tokio runtime, which needs time enabled. The default.
///
/// Every method panics outside of a tokio runtime, except [`Runtime::now`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

impl Runtime for Tokio {
    fn now(&self) -> Instant {
        // Tokio's clock and not the system's, so that tests can pause it.
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        drop(tokio::spawn(task));
    }
}
