//! Gadgets that are calls of a service of their own, so that they are spread over all workers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::gadget::InvalidParams;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::id::InvocationId;
use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};
use gadgetry::serde_json::Value;
use gadgetry::{
    CallPreview, CancellationToken, DynGadget, ExecutionContext, IntoGadget, Invocation, Need,
    Permission,
};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::error::{RestateError, WorkerError};
use crate::ingress::Ingress;
use crate::protocol::CANCELLED;

/// Maximum time after which a worker looks whether a call was cancelled.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Time before a caller repeats a request to Restate.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Gadgets that are spread over all workers of a Restate server.
///
/// A call of such a gadget is executed by any worker, not by the one that drives the run. It has a token that is cancelled
/// with the call, and the idempotency key of the call, but it belongs to no run: it cannot report progress, ask the user or
/// start subagents. Rules of [`approval`](gadgetry::approval) decide only about calls of runs, and any client of Restate's ingress can
/// call the service, so a gadget whose calls need approval cannot be spread ([`WorkerError::NeedsApproval`]).
///
/// ```no_run
/// use gadgetry::{Agent, gadget};
/// use gadgetry_restate::{Spread, Worker};
///
/// /// Renders a page, which takes a whole core.
/// #[gadget]
/// fn render(url: String) -> String {
///     format!("rendered {url}")
/// }
///
/// # fn build() -> Result<(), Box<dyn std::error::Error>> {
/// let mut spread = Spread::default();
/// let agent = Agent::builder().named("haiku")?.gadget(spread.gadget(Render)).build()?;
/// let worker = Worker::builder(agent).spread(spread).build()?;
/// # let _ = worker;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Spread {
    gadgets: HashMap<String, Arc<dyn DynGadget>>,
    ingress: Arc<OnceLock<Ingress>>,
}

impl Spread {
    /// Spreads a gadget. Give the result to the agent instead of the gadget.
    pub fn gadget(&mut self, gadget: impl IntoGadget) -> Arc<dyn DynGadget> {
        let gadget = gadget.into_gadget();
        let name = gadget.spec().name.clone();
        self.gadgets.insert(name, Arc::clone(&gadget));
        let mut spec = gadget.spec().clone();
        // A call that is repeated finds the one that is in progress. Its own policy counts where it is executed.
        spec.on_interrupt = OnInterrupt::Rerun;
        Arc::new(SpreadGadget {
            spec,
            gadget,
            ingress: Arc::clone(&self.ingress),
        })
    }

    /// Refuses gadgets whose calls need approval: the service executes what any client of the ingress sends.
    pub(crate) fn check(&self) -> Result<(), WorkerError> {
        let asking = self
            .gadgets
            .values()
            .filter(|gadget| gadget.permission() != Permission::Allow)
            .map(|gadget| &gadget.spec().name);
        // The same one each time, whatever the order of the map.
        match asking.min() {
            Some(name) => Err(WorkerError::NeedsApproval(name.clone())),
            None => Ok(()),
        }
    }

    /// Sends calls to this server from now on.
    pub(crate) fn connect(&self, ingress: Ingress) {
        // It fails for a worker that is built twice with the same gadgets: then they go to the first server.
        let _ = self.ingress.set(ingress);
    }
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.gadgets.keys()).finish()
    }
}

/// A gadget as its agent has it: calls go to Restate.
struct SpreadGadget {
    spec: GadgetSpec,
    gadget: Arc<dyn DynGadget>,
    ingress: Arc<OnceLock<Ingress>>,
}

impl DynGadget for SpreadGadget {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let Some(ingress) = self.ingress.get().cloned() else {
            return self.gadget.execute(parameters, context);
        };
        let call = Call {
            gadget: self.gadget.spec().name.clone(),
            key: context.idempotency_key(),
            invocation: context.invocation_id().clone(),
            parameters,
            dependencies: context.dependencies().clone(),
        };
        Box::pin(async move {
            let work = outcome(&ingress, &call, &context);
            work.await
                .unwrap_or_else(|error| Outcome::error(error.to_string()))
        })
    }

    fn check(&self, parameters: Value) -> Result<Value, InvalidParams> {
        self.gadget.check(parameters)
    }

    fn permission(&self) -> Permission {
        self.gadget.permission()
    }

    fn needs(&self) -> &[Need] {
        self.gadget.needs()
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        self.gadget.preview(parameters)
    }
}

/// Returns the outcome of a call by some worker. Waits for Restate if that is away.
async fn outcome(
    ingress: &Ingress,
    call: &Call,
    context: &ExecutionContext,
) -> Result<Outcome, RestateError> {
    let invocation = retried(|| ingress.send_gadget(&call.key, call)).await?;
    let result = retried(|| ingress.attach(&invocation));
    let mut result = std::pin::pin!(result);
    tokio::select! {
        outcome = &mut result => return outcome,
        () = context.cancellation().cancelled() => {}
    }
    // The worker gives the gadget its time to clean up.
    retried(|| ingress.cancel_gadget(&invocation)).await?;
    result.await
}

/// Repeats a request until there is an answer.
async fn retried<T, F>(request: impl Fn() -> F) -> Result<T, RestateError>
where
    F: Future<Output = Result<T, RestateError>>,
{
    loop {
        match request().await {
            Err(error @ RestateError::Unreachable { .. }) => {
                tracing::debug!("waiting for Restate: {error}");
                sleep(RETRY_AFTER).await;
            }
            answer => return answer,
        }
    }
}

/// A call of a gadget.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    gadget: String,
    key: String,
    invocation: InvocationId,
    parameters: Value,
    #[serde(default)]
    dependencies: BTreeMap<InvocationId, Arc<str>>,
}

/// The service that executes calls.
pub(crate) struct GadgetService(pub(crate) Spread);

#[restate_sdk::service(name = "GadgetryGadgets", client_visibility = "pub(crate)")]
impl GadgetService {
    /// Executes a call.
    #[handler]
    async fn call(
        &self,
        ctx: Context<'_>,
        call: Json<Call>,
    ) -> Result<Json<Outcome>, HandlerError> {
        let Json(call) = call;
        let name = call.gadget.clone();
        let gadget = self.0.gadgets.get(&name).map(Arc::clone);
        let work = Arc::new(Execution::new(call, gadget));
        // Kept before the gadget starts: an execution that finds it kept comes after another one.
        let beginning = Arc::clone(&work);
        let begun = ctx.run(move || async move {
            beginning.begin();
            Ok(())
        });
        let mut next = begun.name("begin").await.map(|()| None);
        loop {
            match next {
                Ok(Some(outcome)) => return Ok(Json(outcome)),
                Ok(None) => {}
                Err(error) if error.code() == CANCELLED => work.cancel(),
                Err(error) => return Err(error.into()),
            }
            let working = Arc::clone(&work);
            let done = ctx.run(move || async move { Ok(Json(working.wait().await)) });
            next = done.name(name.clone()).await.map(Json::into_inner);
        }
    }

    /// Cancels a call.
    #[handler]
    async fn cancel(&self, ctx: Context<'_>, invocation: Json<String>) -> Result<(), HandlerError> {
        ctx.invocation_handle(invocation.into_inner()).cancel();
        // The cancellation is stored once this step is.
        ctx.run(|| async { Ok(()) }).name("cancelled").await?;
        Ok(())
    }
}

/// One execution of a call.
struct Execution {
    call: Call,
    gadget: Option<Arc<dyn DynGadget>>,
    token: CancellationToken,
    state: Mutex<ExecutionState>,
}

#[derive(Default)]
struct ExecutionState {
    /// Whether this execution is the first one.
    is_first: bool,
    task: Option<JoinHandle<Outcome>>,
}

impl Execution {
    fn new(call: Call, gadget: Option<Arc<dyn DynGadget>>) -> Self {
        Self {
            call,
            gadget,
            token: CancellationToken::new(),
            state: Mutex::default(),
        }
    }

    fn begin(&self) {
        self.state().is_first = true;
    }

    fn cancel(&self) {
        self.token.cancel();
    }

    /// Waits for the outcome, for a while; the first call starts the gadget.
    async fn wait(&self) -> Option<Outcome> {
        let started = self.state().task.take();
        let mut task = match started {
            Some(task) => task,
            None => match self.start() {
                Ok(task) => task,
                Err(why) => return Some(Outcome::error(why)),
            },
        };
        tokio::select! {
            biased;
            outcome = &mut task => {
                Some(outcome.unwrap_or_else(|error| Outcome::error(error.to_string())))
            }
            () = sleep(HEARTBEAT) => {
                self.state().task = Some(task);
                None
            }
        }
    }

    fn start(&self) -> Result<JoinHandle<Outcome>, String> {
        let Some(gadget) = self.gadget.clone() else {
            return Err(format!("Gadget '{}' is not available", self.call.gadget));
        };
        if !self.state().is_first && gadget.spec().on_interrupt != OnInterrupt::Rerun {
            return Err("interrupted: the worker ended while this gadget was running. Whether it took effect is \
                 unknown"
                .to_owned());
        }
        let invocation = Invocation {
            gadget_name: self.call.gadget.clone(),
            invocation_id: self.call.invocation.clone(),
            parameters: self.call.parameters.clone(),
            dependencies: self.call.dependencies.clone(),
        };
        let token = self.token.clone();
        let context = ExecutionContext::with_key(&invocation, token, self.call.key.clone());
        Ok(tokio::spawn(async move {
            invocation.execute(&*gadget, context).await
        }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ExecutionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if let Some(task) = self.state().task.take() {
            task.abort();
        }
    }
}
