//! One request on its way: upstream, exchange, client.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::Request;
use gadgetry_proto::usage::Usage;
use gadgetry_providers::ProviderError;
use gadgetry_providers::model::Model;
use gadgetry_providers::sse::Event;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use super::admission::Permit;
use super::answers::{failed, json_response, put_id};
use super::constraint;
use super::prompt_log::PromptLog;
use super::stream::streamed;
use super::{Gateway, now};
use crate::api::ReplyEncoder;
use crate::exchange::{
    ClientRequest, Exchange, Progress, Secrets, Setup, TOO_LARGE, ToolMode, Toolset,
};
use crate::memory::Owner;
use crate::settings::{Destination, Settings};
use crate::upstream::Upstream;
use crate::{Api, Failure};

/// How long the status of an answer may wait for the first part of the reply. Until then an error has its own status.
const FIRST_PART: Duration = Duration::from_secs(10);

/// Deltas that are taken together if they are there.
const BATCH: usize = 256;

/// A request that was read and admitted.
pub(super) struct Job {
    pub(super) api: Api,
    pub(super) request: Arc<ClientRequest>,
    pub(super) tools: Arc<Toolset>,
    pub(super) secrets: Secrets,
    pub(super) destination: Destination,
    /// The owner of what is kept for the next request, if anything is.
    pub(super) owner: Option<Owner>,
    /// The id of the exchange.
    pub(super) id: u128,
    /// The id in the headers of the answer.
    pub(super) request_id: String,
    pub(super) reply_bytes: usize,
    pub(super) client: String,
    pub(super) permit: Permit,
}

/// A reply while it is written. Dropping it cancels the upstream's.
pub(super) struct Reply {
    exchange: Exchange,
    model: Arc<dyn Model>,
    upstream: Arc<Upstream>,
    deltas: BoxStream<'static, Delta>,
    /// A whole reply that needs no upstream.
    ready: Vec<Delta>,
    pub(super) is_over: bool,
    owner: Option<Owner>,
    request_id: String,
    /// What the upstream says about its last error, for the log.
    fault: Option<String>,
    watch: Watch,
    log: PromptLog,
    /// It has a place among the requests in flight until it is dropped.
    permit: Option<Permit>,
}

/// Takes note of how a request ends, also if its client has disconnected.
struct Watch {
    gateway: Gateway,
    api: Api,
    model: String,
    client: String,
    began: Instant,
    status: Option<u16>,
    counts: crate::exchange::Counts,
    usage: Usage,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        let metrics = &self.gateway.0.metrics;
        metrics.ended(self.api, self.status, seconds);
        metrics.exchange(self.counts, self.usage);
        tracing::info!(
            api = self.api.name(),
            model = self.model,
            client = self.client,
            status = self
                .status
                .map_or_else(|| "disconnected".to_owned(), |it| it.to_string()),
            calls = self.counts.calls,
            repairs = self.counts.repairs,
            seconds,
            "request"
        );
    }
}

/// The answer to a request.
pub(super) async fn answer(
    gateway: Gateway,
    settings: Arc<Settings>,
    mut job: Job,
    began: Instant,
) -> Response {
    gateway.0.metrics.begun();
    let mut watch = Watch {
        gateway: gateway.clone(),
        api: job.api,
        model: job.request.model.clone(),
        client: job.client.clone(),
        began,
        status: None,
        counts: crate::exchange::Counts::default(),
        usage: Usage::default(),
    };
    let mut failure = Failure::UnknownModel(job.request.model.clone());
    let mut upstreams = job.destination.upstreams.clone();
    // Those that failed a moment ago come last.
    upstreams.sort_by_key(|upstream| upstream.is_out());
    let last = upstreams.len().saturating_sub(1);
    for (at, upstream) in upstreams.into_iter().enumerate() {
        let log = PromptLog::new(&job.request_id, settings.log_prompts);
        let mut reply = match begin(&gateway, &job, upstream, watch, log).await {
            Ok(reply) => reply,
            Err((error, kept)) => {
                failure = error;
                watch = kept;
                continue;
            }
        };
        // Not the id in its calls: who is shown the one must not know the other.
        let id = format!("{:032x}", gateway.id());
        let encoder = job.api.encoder(&job.request, &id, now());
        let answered = if job.request.is_streaming {
            let first = reply.first().await;
            first.map(|deltas| Answered::First(deltas, Box::new(encoder)))
        } else {
            reply.whole(encoder).await.map(Answered::Whole)
        };
        let error = match answered {
            Ok(answered) => {
                gateway.0.metrics.first_byte(began.elapsed().as_secs_f64());
                reply.permit = Some(job.permit);
                return match answered {
                    Answered::First(deltas, encoder) => {
                        streamed(reply, *encoder, deltas, settings.limits.keep_alive)
                    }
                    Answered::Whole(response) => response,
                };
            }
            Err(error) => error,
        };
        let may_retry = at < last && is_elsewhere_better(&error);
        failure = error;
        watch = reply.watch;
        if !may_retry {
            break;
        }
        job.id = gateway.id();
    }
    watch.status = Some(failure.status(job.api));
    let mut response = failed(job.api, &failure);
    put_id(response.headers_mut(), &job.request_id);
    response
}

/// Whether another upstream may have a reply where one has failed.
fn is_elsewhere_better(failure: &Failure) -> bool {
    matches!(failure, Failure::Upstream { kind, .. } if !matches!(
        kind,
        ModelErrorKind::BadRequest | ModelErrorKind::ContextOverflow | ModelErrorKind::ContentFilter
    ))
}

/// Sends the request of a job to an upstream.
async fn begin(
    gateway: &Gateway,
    job: &Job,
    upstream: Arc<Upstream>,
    watch: Watch,
    mut log: PromptLog,
) -> Result<Reply, (Failure, Watch)> {
    let model = &job.destination.model;
    let settled = upstream.settled(&job.destination.rules, model).await;
    let rules = Arc::clone(&settled.rules);
    let is_native = match rules.mode {
        _ if !job.request.may_call() => false,
        ToolMode::Text => false,
        ToolMode::Native => true,
        ToolMode::Auto => gateway.is_native(&upstream, model).await,
    };
    let reads_blocks = job.request.may_call() && !is_native;
    let constraint = match reads_blocks
        .then(|| constraint::of(job, &rules))
        .transpose()
    {
        Ok(constraint) => constraint.flatten(),
        Err(refusal) => return Err((refusal.into(), watch)),
    };
    let setup = Setup {
        constraint,
        ..job.setup(gateway, &rules, is_native)
    };
    let mut exchange = match Exchange::new(setup) {
        Ok(exchange) => exchange,
        Err(error) => return Err((refused(error.to_string()), watch)),
    };
    let options = upstream.options(job.api, &job.request, &settled, reads_blocks);
    let made = upstream
        .model(model, options)
        .map(|model| match exchange.native_tools() {
            Some(tools) => model.with_tools(&tools).unwrap_or(model),
            None => model,
        });
    let model = match made {
        Ok(model) => model,
        Err(error) => {
            let words = upstream.addresses().hidden(&error.to_string());
            tracing::warn!(
                upstream = upstream.name(),
                "no request can be made: {words}"
            );
            return Err((unusable(error, &upstream), watch));
        }
    };
    let mut ready = Vec::new();
    let deltas = if exchange.run_dependencies(&mut ready) {
        stream::empty().boxed()
    } else {
        let request = exchange.request();
        log.sent(&request);
        model.stream(request)
    };
    Ok(Reply {
        exchange,
        model,
        upstream,
        deltas,
        ready,
        is_over: false,
        owner: job.owner,
        request_id: job.request_id.clone(),
        fault: None,
        watch,
        log,
        permit: None,
    })
}

/// Why no request can be made: because of the options of the client's, or else of the gateway's.
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

/// Lets the tasks run that are ready. Unlike `yield_now` of tokio it does not look for new events of the system, which is a
/// system call.
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

impl Reply {
    /// Waits for deltas of the upstream, and appends those for the client. Nothing is appended after the end.
    ///
    /// Cancel safety: nothing is lost.
    pub(super) async fn next(&mut self, out: &mut Vec<Delta>) {
        if self.is_over {
            return;
        }
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

    /// Takes the deltas that are there, and counts them.
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
            }
            let delta = delta.map(|delta| self.without_address(delta));
            match delta.map(|delta| self.exchange.push(delta, out)) {
                Some(Progress::More) => {}
                Some(Progress::Again(request)) => self.again(request),
                Some(Progress::Done) => self.is_over = true,
                None => self.cut(out),
            }
        }
        Poll::Ready(())
    }

    /// The delta; if it is an error, without what only the gateway's owner may read.
    fn without_address(&mut self, delta: Delta) -> Delta {
        let Delta::Error { error, kind, .. } = &delta else {
            return delta;
        };
        // A server may quote the prompt in its errors. Those of the connection are our own words.
        let is_ours = matches!(kind, ModelErrorKind::Transport | ModelErrorKind::Truncated);
        if is_ours || self.log.is_on() {
            self.fault = Some(self.upstream.addresses().hidden(error));
        }
        self.upstream.addresses().public(delta)
    }

    /// The stream has ended without its end. No model does that; it counts as a failure.
    fn cut(&mut self, out: &mut Vec<Delta>) {
        out.push(Delta::Error {
            error: "the upstream's reply was cut off".to_owned(),
            code: None,
            kind: ModelErrorKind::Truncated,
            retry_after_ms: None,
            overflow: None,
        });
        self.is_over = true;
    }

    fn again(&mut self, request: Request) {
        self.log.sent(&request);
        self.deltas = self.model.stream(request);
    }

    /// Takes note of how the reply has ended, and ends the upstream's.
    fn end(&mut self, out: &[Delta]) {
        self.deltas = stream::empty().boxed();
        self.log.ended();
        self.watch.counts = self.exchange.counts();
        let error = out.iter().find_map(|delta| match delta {
            Delta::Error { kind, code, .. } => {
                let words = self.fault.as_deref().unwrap_or("the upstream has failed");
                // Codes are of a fixed set for our own errors, and words of the upstream otherwise.
                let is_ours =
                    matches!(code.as_deref(), Some(ProviderError::NOT_AN_API | TOO_LARGE));
                let code = code.as_deref().filter(|_| is_ours);
                tracing::warn!(upstream = self.upstream.name(), ?kind, code, "{words}");
                Some(*kind)
            }
            Delta::MessageEnd { usage, .. } => {
                self.watch.usage = usage.unwrap_or_default();
                None
            }
            _ => None,
        });
        self.watch.status = Some(if error.is_some() { 599 } else { 200 });
        let is_unreachable = matches!(
            error,
            Some(
                ModelErrorKind::Transport | ModelErrorKind::Overloaded | ModelErrorKind::Truncated
            )
        );
        self.upstream.note(!is_unreachable);
        if error.is_some() {
            self.watch
                .gateway
                .0
                .metrics
                .upstream_error(self.upstream.name());
        }
    }

    /// Waits for the first part of a reply that streams. An error that comes first is the answer.
    async fn first(&mut self) -> Result<Vec<Delta>, Failure> {
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

    /// The reply as one document. It is written while it comes, so that it is there once. Any error is the answer.
    async fn whole(&mut self, mut encoder: ReplyEncoder) -> Result<Response, Failure> {
        let mut is_estimated = false;
        let (mut deltas, mut frames) = (Vec::new(), Vec::new());
        while !self.is_over {
            self.next(&mut deltas).await;
            if let Some(at) = deltas.iter().position(is_error) {
                return Err(deltas.swap_remove(at).into());
            }
            is_estimated |= encode(self, &mut encoder, deltas.drain(..), &mut frames);
            frames.clear();
        }
        let document = encoder.document();
        self.remember(|| document.clone());
        let mut response = json_response(StatusCode::OK, &document);
        let headers = response.headers_mut();
        if is_estimated {
            headers.insert("x-gadgetry-usage", HeaderValue::from_static("estimated"));
        }
        about(self, headers);
        Ok(response)
    }

    /// Keeps the items of a response for its owner, if they are to be kept.
    pub(super) fn remember(&self, document: impl FnOnce() -> Value) {
        if let Some(owner) = self.owner.filter(|_| self.watch.api == Api::Responses) {
            self.watch.gateway.0.items.remember(owner, &document());
        }
    }
}

fn is_error(delta: &Delta) -> bool {
    matches!(delta, Delta::Error { .. })
}

/// What a client is answered.
enum Answered {
    /// The first deltas of a stream, and what writes it.
    First(Vec<Delta>, Box<ReplyEncoder>),
    /// All of it.
    Whole(Response),
}

/// Writes deltas of a reply. Whether its token counts are an estimate, which only its end says.
pub(super) fn encode(
    reply: &Reply,
    encoder: &mut ReplyEncoder,
    deltas: impl IntoIterator<Item = Delta>,
    frames: &mut Vec<Event>,
) -> bool {
    let mut is_estimated = false;
    for delta in deltas {
        if let Delta::MessageEnd { usage, .. } = &delta {
            is_estimated = usage.is_some_and(|usage| usage.estimated);
            if let Some(sequence) = reply.exchange.stop_sequence() {
                encoder.set_stop_sequence(sequence);
            }
        }
        encoder.delta(delta, frames);
    }
    is_estimated
}

pub(super) fn about(reply: &Reply, headers: &mut axum::http::HeaderMap) {
    if let Ok(name) = HeaderValue::from_str(reply.upstream.name()) {
        headers.insert("x-gadgetry-upstream", name);
    }
    let tokens = reply.exchange.injected_tokens();
    if tokens > 0 {
        headers.insert("x-gadgetry-injected-tokens", tokens.into());
    }
    put_id(headers, &reply.request_id);
}
