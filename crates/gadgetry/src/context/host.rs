//! Access of a running gadget to the run around its call.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{AnsweredQuestion, Report};
use gadgetry_proto::trace::TraceContext;

use crate::ask::ModelCall;
use crate::human::Human;
use crate::run_context::RunContext;
use crate::scope::BudgetScope;
use gadgetry_providers::model::{Model, Models};

/// The run around a gadget call.
///
/// The driver implements it for runs. Programs that execute gadgets without a run, such as a server for other clients, implement
/// it to receive progress and to provide a model or a user:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use gadgetry::context::{CallId, Host, Report};
/// use gadgetry::{BudgetScope, CancellationToken, ExecutionContext, Invocation};
///
/// /// Collects the progress of gadgets.
/// #[derive(Default)]
/// struct Progress {
///     messages: Mutex<Vec<String>>,
///     scope: BudgetScope,
/// }
///
/// impl Host for Progress {
///     fn report(&self, _call: CallId, report: Report) {
///         if let Report::Progress(message) = report {
///             self.messages.lock().unwrap().push(message);
///         }
///     }
///
///     fn scope(&self) -> &BudgetScope {
///         &self.scope
///     }
/// }
///
/// let invocation = Invocation {
///     gadget_name: "Copy".to_owned(),
///     invocation_id: "c".into(),
///     parameters: gadgetry::serde_json::json!({}),
///     dependencies: Default::default(),
/// };
/// let host = Arc::new(Progress::default());
/// let context = ExecutionContext::with_host(&invocation, CancellationToken::new(), host.clone(), CallId(0));
/// context.progress("halfway");
/// assert_eq!(*host.messages.lock().unwrap(), ["halfway"]);
/// ```
pub trait Host: Any + Send + Sync {
    /// Receives a report of a running call: progress, a cost, a question to the user, an event of a subagent.
    fn report(&self, call: CallId, report: Report);

    /// Returns the depth, cancellation and budget of the run.
    fn scope(&self) -> &BudgetScope;

    /// Returns the run, if it is known; by default it is not.
    fn run(&self) -> Option<&RunContext> {
        None
    }

    /// Enters US dollars that a running call has spent, before it ends.
    fn spend(&self, dollars: f64) {
        let _ = dollars;
    }

    /// Returns the model of the run, if it has one.
    fn model(&self) -> Option<&Arc<dyn Model>> {
        None
    }

    /// Returns further models that gadgets may call by name.
    fn models(&self) -> Models {
        Models::default()
    }

    /// Prepares a call of `model`, with the rate limits and retries of the run.
    fn model_call(&self, model: Arc<dyn Model>) -> ModelCall {
        ModelCall::new(model)
    }

    /// Returns the user, if one is available.
    fn human(&self) -> Option<&Arc<dyn Human>> {
        None
    }

    /// Waits for an answer from outside the process to a question of a running call; `None` if no answer can arrive. `number`
    /// counts the questions of the call from 0.
    fn outside_answer(
        &self,
        call: CallId,
        number: u32,
    ) -> Option<BoxFuture<'static, Option<String>>> {
        let _ = (call, number);
        None
    }

    /// Returns the time that a cancelled gadget may take to clean up.
    fn grace(&self) -> Duration {
        Duration::ZERO
    }
}

/// The position of a call in its run.
pub(crate) struct CallSlot {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) call: CallId,
    /// The number of the reply that contains the call, from 1.
    pub(crate) iteration: u32,
    /// Number of subagents that the call has started.
    pub(crate) agents: AtomicU32,
    /// Number of questions that the call has asked the user.
    pub(crate) questions: AtomicU32,
    /// Questions of an interrupted execution of the call, with the answers.
    pub(crate) answered: Vec<AnsweredQuestion>,
    /// Known costs of the subagents of interrupted executions, by their numbers.
    pub(crate) subagent_costs: BTreeMap<u32, f64>,
    pub(crate) trace: Option<TraceContext>,
}

impl CallSlot {
    pub(crate) fn new(host: Arc<dyn Host>, call: CallId, iteration: u32) -> Self {
        Self {
            host,
            call,
            iteration,
            agents: AtomicU32::default(),
            questions: AtomicU32::default(),
            answered: Vec::new(),
            subagent_costs: BTreeMap::new(),
            trace: None,
        }
    }
}
