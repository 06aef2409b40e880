//! A reply while it is written: an exchange with one upstream.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::{HeaderMap, HeaderValue};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::message::Request;
use gadgetry_providers::ProviderError;
use gadgetry_providers::model::Model;
use gadgetry_providers::sse::SseEvent;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use super::Gateway;
use super::job::Job;
use super::prompt_log::PromptLog;
use super::response::put_id;
use super::watch::RequestOutcome;
use crate::api::{ClientApi, Failure, ReplyEncoder};
use crate::exchange::{Exchange, ExchangeStep, Setup, TOO_LARGE, ToolMode};
use crate::upstream::Upstream;

/// Maximum time that the status of an answer waits for the first part of the reply. Until then an error has its own status.
const FIRST_PART: Duration = Duration::from_secs(10);

/// Maximum number of available deltas that are taken together.
const BATCH: usize = 256;

/// A reply while it is written. Dropping it cancels the upstream's reply.
pub(super) struct UpstreamReply {
    gateway: Gateway,
    job: Arc<Job>,
    upstream: Arc<Upstream>,
    model: Arc<dyn Model>,
    exchange: Exchange,
    deltas: BoxStream<'static, Delta>,
    /// A whole reply that needs no upstream.
    ready: Vec<Delta>,
    is_over: bool,
    outcome: RequestOutcome,
    /// Text of the upstream's last error, for the log.
    fault: Option<String>,
    log: PromptLog,
}

impl UpstreamReply {
    /// Sends the request of a job to an upstream.
    pub(super) async fn begin(
        gateway: &Gateway,
        job: &Arc<Job>,
        upstream: Arc<Upstream>,
        mut log: PromptLog,
    ) -> Result<Self, Failure> {
        let model = &job.destination.model;
        let client = &job.request.client;
        let settled = upstream.settled(&job.destination.rules, model).await;
        let is_native = match settled.rules.mode {
            _ if !client.may_call() => false,
            ToolMode::Text => false,
            ToolMode::Native => true,
            ToolMode::Auto => gateway.is_native(&upstream, model).await,
        };
        let reads_blocks = client.may_call() && !is_native;
        let constraint = if reads_blocks {
            gateway
                .0
                .constraints
                .of(job, &settled.rules, settled.size)?
        } else {
            None
        };
        let setup = Setup {
            request: Arc::clone(&job.request),
            id: gateway.id(),
            rules: Arc::clone(&settled.rules),
            is_native,
            constraint,
        };
        let mut exchange = Exchange::new(setup).map_err(|error| refused(error.to_string()))?;
        let options = upstream.options(job.api, client, &settled, reads_blocks);
        let model = match upstream.model(model, options) {
            Ok(model) => model,
            Err(error) => {
                let words = upstream.addresses().hidden(&error.to_string());
                tracing::warn!(
                    upstream = upstream.name(),
                    "no request can be made: {words}"
                );
                return Err(unusable(error, &upstream));
            }
        };
        let model = match exchange.native_tools() {
            Some(tools) => model.with_tools(&tools).unwrap_or(model),
            None => model,
        };
        let mut ready = Vec::new();
        let deltas = if exchange.run_dependencies(&mut ready) {
            stream::empty().boxed()
        } else {
            let mut request = exchange.request();
            log.sent(&request);
            job.watched.with(|it| it.sent(&request));
            request.trace.clone_from(&job.trace);
            model.stream(request)
        };
        Ok(Self {
            gateway: gateway.clone(),
            job: Arc::clone(job),
            upstream,
            model,
            exchange,
            deltas,
            ready,
            is_over: false,
            outcome: RequestOutcome::default(),
            fault: None,
            log,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the outcome so far.
    pub(super) fn outcome(&self) -> RequestOutcome {
        self.outcome
    }

    /// Waits for deltas of the upstream, and appends those for the client. Nothing is appended after the end.
    ///
    /// Cancel safety: nothing is lost.
    pub(super) async fn next(&mut self, out: &mut Vec<Delta>) {
        if self.is_over {
            return;
        }
        let before = out.len();
        self.advance(out).await;
        self.job
            .watched
            .with(|it| out[before..].iter().for_each(|delta| it.delivered(delta)));
    }

    async fn advance(&mut self, out: &mut Vec<Delta>) {
        if !self.ready.is_empty() {
            out.append(&mut self.ready);
            self.is_over = true;
            self.end(out);
            return;
        }
        let mut taken = 0;
        poll_fn(|cx| self.poll_batch(cx, &mut taken, out)).await;
        // The connection's task hands over one chunk of the body at a time, also if it has read several. With a turn of its own
        // before each of them, all become one write to the client:
        //
        //     read [a b c]   hands over a | takes a, yields | hands over b | takes b, yields | hands over c | ...
        //
        // The first turn that brings nothing ends it.
        while !self.is_over && taken < BATCH {
            let before = taken;
            yield_turn().await;
            poll_fn(|cx| {
                let _ = self.poll_batch(cx, &mut taken, out);
                Poll::Ready(())
            })
            .await;
            if taken == before {
                break;
            }
        }
        if self.is_over {
            self.end(out);
        }
    }

    /// Takes the available deltas, and counts them.
    fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        taken: &mut usize,
        out: &mut Vec<Delta>,
    ) -> Poll<()> {
        let before = *taken;
        while !self.is_over && *taken < BATCH {
            let Poll::Ready(delta) = self.deltas.as_mut().poll_next(cx) else {
                if *taken == before {
                    return Poll::Pending;
                }
                break;
            };
            *taken += 1;
            if let Some(delta) = &delta {
                self.log.received(delta);
                self.job.watched.with(|it| it.received(delta));
            }
            let delta = delta.map(|delta| self.without_address(delta));
            match delta.map(|delta| self.exchange.push(delta, out)) {
                Some(ExchangeStep::More) => {}
                Some(ExchangeStep::Again(request)) => self.again(request),
                Some(ExchangeStep::Done) => self.is_over = true,
                None => self.cut(out),
            }
        }
        Poll::Ready(())
    }

    /// Returns the delta; if it is an error, without the parts that only the gateway's owner may read.
    fn without_address(&mut self, delta: Delta) -> Delta {
        let Delta::Error(ModelError {
            message: error,
            kind,
            ..
        }) = &delta
        else {
            return delta;
        };
        // A server may quote the prompt in its errors. Those of the connection are our own words.
        let is_ours = matches!(kind, ModelErrorKind::Transport | ModelErrorKind::Truncated);
        if is_ours || self.log.is_on() {
            self.fault = Some(self.upstream.addresses().hidden(error));
        }
        self.upstream.addresses().public(delta)
    }

    /// Handles a stream that has ended without its last delta, which counts as a failure.
    fn cut(&mut self, out: &mut Vec<Delta>) {
        out.push(Delta::Error(ModelError::new(
            ModelErrorKind::Truncated,
            "the upstream's reply was cut off",
        )));
        self.is_over = true;
    }

    fn again(&mut self, mut request: Request) {
        self.log.sent(&request);
        self.job.watched.with(|it| it.sent(&request));
        request.trace.clone_from(&self.job.trace);
        self.deltas = self.model.stream(request);
    }

    /// Records the outcome of the reply, and ends the upstream's reply.
    fn end(&mut self, out: &[Delta]) {
        self.deltas = stream::empty().boxed();
        self.log.ended();
        self.outcome.counts = self.exchange.counts();
        let error = out.iter().find_map(|delta| match delta {
            Delta::Error(ModelError { kind, code, .. }) => {
                let words = self.fault.as_deref().unwrap_or("the upstream has failed");
                // Codes are of a fixed set for our own errors, and words of the upstream otherwise.
                let is_ours =
                    matches!(code.as_deref(), Some(ProviderError::NOT_AN_API | TOO_LARGE));
                let code = code.as_deref().filter(|_| is_ours);
                tracing::warn!(upstream = self.upstream.name(), ?kind, code, "{words}");
                Some(*kind)
            }
            Delta::MessageEnd { usage, .. } => {
                self.outcome.usage = usage.unwrap_or_default();
                None
            }
            _ => None,
        });
        self.outcome.status = Some(if error.is_some() { 599 } else { 200 });
        let is_unreachable = matches!(
            error,
            Some(
                ModelErrorKind::Transport | ModelErrorKind::Overloaded | ModelErrorKind::Truncated
            )
        );
        self.upstream.note(!is_unreachable);
        if error.is_some() {
            let metrics = &self.gateway.0.metrics;
            metrics.upstream_error(self.upstream.name());
        }
    }

    /// Waits for the first part of a streamed reply. If an error arrives first, it is the answer.
    pub(super) async fn first(&mut self) -> Result<Vec<Delta>, Failure> {
        let is_part = |delta: &Delta| !matches!(delta, Delta::MessageStart { .. });
        let mut out = Vec::new();
        let waits = async {
            while !self.is_over && !out.iter().any(is_part) {
                self.next(&mut out).await;
            }
        };
        // What is slow to begin gets its status now, and comments while it is silent.
        let _ = timeout(FIRST_PART, waits).await;
        let error = out.iter().position(is_error);
        match error {
            Some(at) if !out[..at].iter().any(is_part) => Err(out.swap_remove(at).into()),
            _ => Ok(out),
        }
    }

    /// Writes deltas of the reply. Returns `true` with its end if its token counts are an estimate.
    pub(super) fn encode(
        &self,
        encoder: &mut ReplyEncoder,
        deltas: impl IntoIterator<Item = Delta>,
        frames: &mut Vec<SseEvent>,
    ) -> bool {
        let mut is_estimated = false;
        for delta in deltas {
            if let Delta::MessageEnd { usage, .. } = &delta {
                is_estimated = usage.is_some_and(|usage| usage.estimated);
                if let Some(sequence) = self.exchange.stop_sequence() {
                    encoder.set_stop_sequence(sequence);
                }
            }
            encoder.delta(delta, frames);
        }
        is_estimated
    }

    /// Adds headers about the reply.
    pub(super) fn describe(&self, headers: &mut HeaderMap) {
        if let Ok(name) = HeaderValue::from_str(self.upstream.name()) {
            headers.insert("x-gadgetry-upstream", name);
        }
        let tokens = self.exchange.injected_tokens();
        if tokens > 0 {
            headers.insert("x-gadgetry-injected-tokens", tokens.into());
        }
        if self.is_over && self.exchange.counts().is_unparsed() {
            headers.insert("x-gadgetry-unparsed", HeaderValue::from_static("1"));
        }
        put_id(headers, &self.job.id);
    }

    /// Keeps the items of a response for its owner, if that is admitted.
    pub(super) fn remember(&self, document: impl FnOnce() -> Value) {
        let owner = self.job.request.owner;
        if let Some(owner) = owner.filter(|_| self.job.api == ClientApi::Responses) {
            self.gateway.0.items.remember(owner, &document());
        }
    }
}

pub(super) fn is_error(delta: &Delta) -> bool {
    matches!(delta, Delta::Error(_))
}

/// Returns the failure of a request that cannot be built, because of the client's options or else the gateway's.
fn unusable(error: ProviderError, upstream: &Upstream) -> Failure {
    if error.kind == ModelErrorKind::BadRequest {
        upstream.addresses().public(error.into()).into()
    } else {
        refused(
            "the upstream is not set up: who runs the gateway finds the reason in its log"
                .to_owned(),
        )
    }
}

fn refused(message: String) -> Failure {
    Failure::Upstream {
        message,
        code: None,
        kind: ModelErrorKind::Other,
        retry_after_ms: None,
    }
}

/// Lets ready tasks run. Unlike tokio's `yield_now`, it does not poll for new system events, which needs a system call.
async fn yield_turn() {
    // hyper polls a body that is pending a second time before it returns to the scheduler.
    let mut polls_left = 2;
    poll_fn(|cx| {
        if polls_left == 0 {
            return Poll::Ready(());
        }
        polls_left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
