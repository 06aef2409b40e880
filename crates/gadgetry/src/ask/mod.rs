//! Model calls: rate limits, token counts, retries and panics.
//!
//! The loop of an agent, [`ModelClient`](crate::ModelClient) inside gadgets, and the command line send their requests
//! with [`ModelCall`]. The loop leaves [`retry`](ModelCall::retry) off: its engine decides about retries, by the same
//! [`Retry`], because a run can be saved and replayed.

mod attempt;
mod retries;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures_core::stream::BoxStream;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelError;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Retry;
use gadgetry_proto::usage::Usage;

use crate::limiter::Limiter;
use crate::runtime::{Runtime, Tokio};
use gadgetry_providers::model::Model;

pub(crate) use attempt::{Attempt, Attempted};

/// Item of the stream of a [`ModelCall`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Received {
    /// Piece of the reply.
    Delta(Delta),
    /// The rate limit delayed the request by this long. It is sent now.
    RateLimited(Duration),
    /// The reply failed; the request will be sent again. Everything received so far is void, except for its usage.
    Retry {
        /// The time until the retry.
        delay: Duration,
        /// The failure.
        error: ModelError,
    },
}

type Sender = dyn Fn(&dyn Model, Request) -> BoxStream<'static, Delta> + Send + Sync;
type Check = dyn Fn() -> Result<(), String> + Send + Sync;
type OnUsage = dyn Fn(Usage) + Send + Sync;

/// A request to a model, with rate limits, retries and usage.
///
/// ```
/// use std::sync::Arc;
/// use futures_util::StreamExt as _;
/// use gadgetry::ask::{ModelCall, Received};
/// use gadgetry::{Request, Retry, ScriptedModel};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let mut reply = ModelCall::new(Arc::new(model)).retry(Some(Retry::default())).send(Request::default());
/// while let Some(received) = reply.next().await {
///     if let Received::Retry { delay, error } = received {
///         eprintln!("{error}; retrying in {delay:?}");
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ModelCall {
    model: Arc<dyn Model>,
    sender: Option<Arc<Sender>>,
    check: Option<Arc<Check>>,
    on_usage: Option<Arc<OnUsage>>,
    limiter: Option<Arc<dyn Limiter>>,
    retry: Option<Retry>,
    runtime: Arc<dyn Runtime>,
}

impl ModelCall {
    /// Calls `model` without rate limits and retries, on tokio.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            sender: None,
            check: None,
            on_usage: None,
            limiter: None,
            retry: None,
            runtime: Arc::new(Tokio),
        }
    }

    /// Sends each attempt with `sender` instead of [`Model::stream`], for example to filter the deltas.
    #[must_use]
    pub fn sender(
        mut self,
        sender: impl Fn(&dyn Model, Request) -> BoxStream<'static, Delta> + Send + Sync + 'static,
    ) -> Self {
        self.sender = Some(Arc::new(sender));
        self
    }

    /// Runs `check` before the rate limit and again right before the request is sent. Its error ends the reply.
    #[must_use]
    pub fn check(mut self, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// Reports the tokens of each attempt, at its end or when the stream is dropped.
    #[must_use]
    pub(crate) fn on_usage(mut self, on_usage: impl Fn(Usage) + Send + Sync + 'static) -> Self {
        self.on_usage = Some(Arc::new(on_usage));
        self
    }

    /// Sets the rate limiter, which each attempt waits for and reports its tokens to.
    #[must_use]
    pub fn limiter(mut self, limiter: Option<Arc<dyn Limiter>>) -> Self {
        self.limiter = limiter;
        self
    }

    /// Sets the retries; `None` disables them. `seed: 0` picks a random seed.
    ///
    /// A reply is retried while it contains no text and no tool call; reasoning may have been received. It fails with a
    /// [retryable](gadgetry_proto::error::ModelErrorKind::is_retryable) error, by ending without [`Delta::MessageEnd`], or, with
    /// [`Retry::on_empty`], by being empty. The last failure is passed on unchanged.
    #[must_use]
    pub fn retry(mut self, retry: Option<Retry>) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the runtime whose clock the delays of retries use.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtime = runtime;
        self
    }
}

impl fmt::Debug for ModelCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCall")
            .field("model", &self.model.name())
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// Returns a unique name, for a run without one.
pub(crate) fn random_id() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Returns a seed that no other run has: the keys of hash maps are random.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
