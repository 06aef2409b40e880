//! A worker: serves the runs of one agent to a Restate server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::Agent;
use reqwest::Method;
use restate_sdk::endpoint::{Endpoint, ServiceOptions};
use restate_sdk::service::IntoServiceDefinition as _;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::context::WorkerContext;
use crate::driver::drive;
use crate::error::{RestateError, WorkerError};
use crate::events::EventHubs;
use crate::gadget_service::{GadgetService, Spread};
use crate::inbox::InboxService;
use crate::ingress::{self, Ingress, random};
use crate::listener;
use crate::protocol::WorkerAddress;
use crate::workflow::RunService;

/// The port of Restate's admin interface.
const ADMIN_PORT: u16 = 9070;

/// Time for which Restate waits for a worker that it has asked to suspend a run.
const ABORT_AFTER: Duration = Duration::from_mins(10);

/// Number of times that Restate tries to reach a worker, about once a minute: for a week. Then the run is paused until it is
/// resumed by hand.
const ATTEMPTS: u64 = 7 * 24 * 60;

/// Time for which the result of a run is stored.
const RETENTION: Duration = Duration::from_hours(7 * 24);

/// The options of a [`Worker`].
#[derive(Clone, Debug)]
pub struct WorkerBuilder {
    agent: Agent,
    restate: String,
    admin: Option<String>,
    listen: SocketAddr,
    advertise: Option<String>,
    own_url: Option<String>,
    identity_key: Option<String>,
    suspend_after: Duration,
    is_forced: bool,
    spread: Spread,
}

impl WorkerBuilder {
    fn new(agent: Agent) -> Self {
        Self {
            agent,
            restate: "http://127.0.0.1:8080".to_owned(),
            admin: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 9080)),
            advertise: None,
            own_url: None,
            identity_key: None,
            suspend_after: Duration::from_mins(1),
            is_forced: false,
            spread: Spread::default(),
        }
    }

    /// Sets the URL of Restate's ingress, where runs are submitted. `http://127.0.0.1:8080` by default.
    #[must_use]
    pub fn restate(mut self, url: impl Into<String>) -> Self {
        self.restate = url.into();
        self
    }

    /// Sets the URL of Restate's admin interface, where the worker registers itself. By default port 9070 of the host of
    /// [`WorkerBuilder::restate`].
    #[must_use]
    pub fn admin(mut self, url: impl Into<String>) -> Self {
        self.admin = Some(url.into());
        self
    }

    /// Sets the address to listen on. `127.0.0.1:9080` by default; port 0 takes a free one.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Sets the URL under which Restate reaches this worker, or the load balancer of all workers. By default the address
    /// that it listens on.
    #[must_use]
    pub fn advertise(mut self, url: impl Into<String>) -> Self {
        self.advertise = Some(url.into());
        self
    }

    /// Sets the URL under which this very worker is reached, by those who follow events. By default the address that it
    /// listens on.
    #[must_use]
    pub fn own_url(mut self, url: impl Into<String>) -> Self {
        self.own_url = Some(url.into());
        self
    }

    /// Sets the public key of the Restate server, so that requests of others are refused.
    #[must_use]
    pub fn identity_key(mut self, key: impl Into<String>) -> Self {
        self.identity_key = Some(key.into());
        self
    }

    /// Sets how long a run that waits for an answer keeps its memory in the worker, a minute by default. Then Restate
    /// suspends it.
    #[must_use]
    pub fn suspend_after(mut self, time: Duration) -> Self {
        self.suspend_after = time;
        self
    }

    /// Sets the gadgets that are spread over all workers.
    #[must_use]
    pub fn spread(mut self, gadgets: Spread) -> Self {
        self.spread = gadgets;
        self
    }

    /// Also continues runs that were begun by an agent that differs. Without this, such a run is refused with a list of what
    /// differs, until a worker with its agent serves it.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.is_forced = true;
        self
    }

    /// Builds the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Url`] for an invalid URL, [`WorkerError::NeedsApproval`] for a spread gadget whose
    /// [permission](gadgetry::DynGadget::permission) is not [`Permission::Allow`](gadgetry::Permission::Allow).
    pub fn build(self) -> Result<Worker, WorkerError> {
        self.spread.check()?;
        let ingress = client("the URL of Restate", &self.restate)?;
        let admin = match &self.admin {
            Some(admin) => client("the admin URL of Restate", admin)?,
            None => ingress.with_port(ADMIN_PORT),
        };
        for url in [&self.advertise, &self.own_url].into_iter().flatten() {
            client("the URL of the worker", url)?;
        }
        Ok(Worker {
            options: self,
            ingress,
            admin,
        })
    }
}

fn client(what: &'static str, url: &str) -> Result<Ingress, WorkerError> {
    Ingress::new(url).map_err(|error| WorkerError::Url {
        what,
        url: url.to_owned(),
        problem: error.to_string(),
    })
}

/// A process that drives runs of an agent for a Restate server.
///
/// Any number of workers may serve the same server. Restate gives each run to one of them, and to another one if that
/// dies.
///
/// ```no_run
/// use gadgetry::Agent;
/// use gadgetry_restate::Worker;
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder().named("haiku")?.build()?;
/// Worker::builder(agent)
///     .restate("http://127.0.0.1:8080")
///     .build()?
///     .serve()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Worker {
    options: WorkerBuilder,
    ingress: Ingress,
    admin: Ingress,
}

impl Worker {
    /// The options of a worker that drives runs of `agent`.
    pub fn builder(agent: Agent) -> WorkerBuilder {
        WorkerBuilder::new(agent)
    }

    /// Listens, registers itself with Restate, and serves until it is stopped.
    ///
    /// # Errors
    ///
    /// If it cannot listen, or Restate does not take it.
    ///
    /// Cancel safety: dropping the future ends the worker, as if it were killed: its runs are continued by others.
    pub async fn serve(self) -> Result<(), WorkerError> {
        let serving = self.start().await?;
        serving.ended().await;
        Ok(())
    }

    /// Listens, registers itself with Restate, and serves until the [`ServingWorker`] is dropped.
    ///
    /// # Errors
    ///
    /// As [`Worker::serve`].
    pub async fn start(self) -> Result<ServingWorker, WorkerError> {
        let options = self.options;
        let failed = |error| WorkerError::Listen {
            address: options.listen.to_string(),
            error,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let listens = (!address.ip().is_unspecified()).then(|| format!("http://{address}"));
        let advertise = options.advertise.clone().or_else(|| listens.clone());
        let advertise = advertise.ok_or(WorkerError::NoAddress)?;
        let own = options
            .own_url
            .or(listens)
            .unwrap_or_else(|| advertise.clone());
        let token: Arc<str> = random().into();
        let hubs = EventHubs::default();
        let (agent, is_forced) = (options.agent, options.is_forced);
        let context = Arc::new(WorkerContext {
            ingress: self.ingress.clone(),
            hubs: Arc::clone(&hubs),
            drive: Box::new(move |job| Box::pin(drive(agent.clone(), is_forced, job))),
            suspend_after: options.suspend_after,
            address: WorkerAddress {
                url: own,
                token: token.to_string(),
            },
        });
        options.spread.connect(self.ingress.clone());
        let key = options.identity_key.as_deref();
        let endpoint = endpoint(context, self.ingress, options.spread, key)?;
        let stop = CancellationToken::new();
        let serving = listener::serve(listener, endpoint, hubs, token, stop.clone());
        let worker = ServingWorker {
            address,
            stop: stop.drop_guard(),
            serving: tokio::spawn(serving),
        };
        register(&self.admin, &advertise)
            .await
            .map_err(|error| WorkerError::Register {
                admin: self.admin.url().to_string(),
                worker: advertise,
                error,
            })?;
        Ok(worker)
    }
}

fn endpoint(
    context: Arc<WorkerContext>,
    ingress: Ingress,
    spread: Spread,
    identity_key: Option<&str>,
) -> Result<Endpoint, WorkerError> {
    let options = || {
        ServiceOptions::new()
            .abort_timeout(ABORT_AFTER)
            .retry_policy_initial_interval(Duration::from_millis(100))
            .retry_policy_exponentiation_factor(2.0)
            .retry_policy_max_interval(Duration::from_mins(1))
            .retry_policy_max_attempts(ATTEMPTS)
            .retry_policy_pause_on_max_attempts()
    };
    let runs = options()
        .inactivity_timeout(context.suspend_after)
        .journal_retention(RETENTION);
    let runs = RunService(context).into_service_definition().options(runs);
    let inboxes = InboxService(ingress)
        .into_service_definition()
        .options(options());
    let gadgets = options()
        .inactivity_timeout(ABORT_AFTER)
        .idempotency_retention(RETENTION);
    let gadgets = GadgetService(spread)
        .into_service_definition()
        .options(gadgets);
    let mut builder = Endpoint::builder().bind(runs).bind(inboxes).bind(gadgets);
    if let Some(key) = identity_key {
        builder = builder
            .identity_key(key)
            .map_err(|error| WorkerError::IdentityKey(error.to_string()))?;
    }
    Ok(builder.build())
}

/// Registers the worker with Restate. A worker that is known already changes nothing.
async fn register(admin: &Ingress, worker: &str) -> Result<(), RestateError> {
    let request = admin.request(Method::POST, &["deployments"]);
    let request = ingress::json(request, &json!({"uri": worker, "force": false}))?;
    match ingress::send(request).await {
        Ok(_) | Err(RestateError::Refused { code: 409, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A worker that serves until this is dropped. Its runs are then continued by others.
#[derive(Debug)]
pub struct ServingWorker {
    address: SocketAddr,
    stop: tokio_util::sync::DropGuard,
    serving: JoinHandle<()>,
}

impl ServingWorker {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops serving: its connections are closed, and its runs are continued by others.
    pub async fn stop(self) {
        drop(self.stop);
        // An error means that it has panicked, which ends it.
        let _ = self.serving.await;
    }

    /// Waits until it no longer serves, which is never, unless it is dropped.
    pub async fn ended(self) {
        let _stop = self.stop;
        // An error means that it has panicked, which ends it.
        let _ = self.serving.await;
    }
}
