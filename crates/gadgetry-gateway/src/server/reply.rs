//! One request on its way: upstream, exchange, client.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::model::Model;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::message::Request;
use gadgetry::proto::usage::Usage;
use gadgetry::provider::sse::Event;
use tokio::time::{Duration, Sleep, sleep, timeout};

use super::admission::Permit;
use super::endpoints::{failed, json_response};
use super::prompt_log::PromptLog;
use super::{Gateway, now};
use crate::api::ReplyEncoder;
use crate::exchange::{ClientRequest, Constrain, Exchange, Progress, Secrets, ToolMode, Toolset};
use crate::settings::{Destination, Settings};
use crate::upstream::{Upstream, constrain};
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
    pub(super) number: u64,
    pub(super) client: String,
    pub(super) permit: Permit,
}

/// A reply while it is written. Dropping it cancels the upstream's.
struct Reply {
    exchange: Exchange,
    model: Arc<dyn Model>,
    upstream: Arc<Upstream>,
    deltas: BoxStream<'static, Delta>,
    /// A whole reply that needs no upstream.
    ready: Vec<Delta>,
    is_over: bool,
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
        let log = PromptLog::new(job.number, settings.log_prompts);
        let mut reply = match begin(&gateway, &job, upstream, watch, log).await {
            Ok(reply) => reply,
            Err((error, kept)) => {
                failure = error;
                watch = kept;
                continue;
            }
        };
        let mut first = Vec::new();
        match reply.first(&mut first, job.request.is_streaming).await {
            Ok(()) => {
                gateway.0.metrics.first_byte(began.elapsed().as_secs_f64());
                reply.permit = Some(job.permit);
                let encoder = job
                    .api
                    .encoder(&job.request, &format!("{:016x}", job.number), now());
                return if job.request.is_streaming {
                    streamed(reply, encoder, first, settings.limits.keep_alive)
                } else {
                    whole(&reply, encoder, first)
                };
            }
            Err(error) => {
                let may_retry = at < last && is_elsewhere_better(&error);
                failure = error;
                watch = reply.watch;
                if !may_retry {
                    break;
                }
                job.number = gateway.next_exchange();
            }
        }
    }
    watch.status = Some(failure.status(job.api));
    failed(job.api, &failure)
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
    let rules = &job.destination.rules;
    let model = &job.destination.model;
    let is_native = match rules.mode {
        _ if !job.request.may_call() => false,
        ToolMode::Text => false,
        ToolMode::Native => true,
        ToolMode::Auto => gateway.is_native(&upstream, model).await,
    };
    let mut exchange = match Exchange::new(job.setup(gateway, is_native)) {
        Ok(exchange) => exchange,
        Err(error) => return Err((refused(error.to_string()), watch)),
    };
    let reads_blocks = job.request.may_call() && !is_native;
    let mut options = upstream.options(job.api, &job.request, rules, reads_blocks);
    if reads_blocks && rules.constrain != Constrain::Off {
        let grammar = crate::grammar::of(&job.tools, &job.secrets.markers);
        constrain(&mut options, rules.constrain, grammar);
    }
    let made = upstream
        .model(model, options)
        .map(|model| match exchange.native_tools() {
            Some(tools) => model.with_tools(&tools).unwrap_or(model),
            None => model,
        });
    let model = match made {
        Ok(model) => model,
        Err(error) => return Err((Delta::from(error).into(), watch)),
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
        watch,
        log,
        permit: None,
    })
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
    async fn next(&mut self, out: &mut Vec<Delta>) {
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
            match delta.map(|delta| self.exchange.push(delta, out)) {
                Some(Progress::More) => {}
                Some(Progress::Again(request)) => self.again(request),
                Some(Progress::Done) => self.is_over = true,
                None => self.cut(out),
            }
        }
        Poll::Ready(())
    }

    /// The stream has ended without its end. No model does that; it counts as a failure.
    fn cut(&mut self, out: &mut Vec<Delta>) {
        out.push(Delta::Error {
            error: "the upstream's reply was cut off".to_owned(),
            code: None,
            kind: ModelErrorKind::Truncated,
            retry_after_ms: None,
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
            Delta::Error { kind, error, .. } => {
                // A server may quote the prompt in its errors. Those of the connection are our own words.
                let words = match kind {
                    ModelErrorKind::Transport | ModelErrorKind::Truncated => error.as_str(),
                    _ if self.log.is_on() => error.as_str(),
                    _ => "the upstream has failed",
                };
                tracing::warn!(upstream = self.upstream.name(), ?kind, "{words}");
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

    /// Waits for the first part of the reply, or the whole one if it does not stream. An error that comes first is the
    /// answer.
    async fn first(&mut self, out: &mut Vec<Delta>, streams: bool) -> Result<(), Failure> {
        let is_part = |delta: &Delta| !matches!(delta, Delta::MessageStart { .. });
        let waits = async {
            while !self.is_over && (!streams || !out.iter().any(is_part)) {
                self.next(out).await;
            }
        };
        if streams {
            // What is slow to begin gets its status now, and comments while it is silent.
            let _ = timeout(FIRST_PART, waits).await;
        } else {
            waits.await;
        }
        let shown = out
            .iter()
            .take_while(|delta| !matches!(delta, Delta::Error { .. }));
        if streams && shown.filter(|delta| is_part(delta)).count() > 0 {
            return Ok(());
        }
        match out
            .iter()
            .position(|delta| matches!(delta, Delta::Error { .. }))
        {
            Some(at) => Err(out.swap_remove(at).into()),
            None => Ok(()),
        }
    }
}

/// The reply as one document.
fn whole(reply: &Reply, mut encoder: ReplyEncoder, deltas: Vec<Delta>) -> Response {
    let is_estimated = encode(reply, &mut encoder, deltas, &mut Vec::new());
    let document = encoder.document();
    reply.watch.gateway.0.items.remember(&document);
    let mut response = json_response(StatusCode::OK, &document);
    let headers = response.headers_mut();
    if is_estimated {
        headers.insert("x-gadgetry-usage", HeaderValue::from_static("estimated"));
    }
    about(reply, headers);
    response
}

/// Writes deltas of a reply. Whether its token counts are an estimate, which only its end says.
fn encode(
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

fn about(reply: &Reply, headers: &mut axum::http::HeaderMap) {
    if let Ok(name) = HeaderValue::from_str(reply.upstream.name()) {
        headers.insert("x-gadgetry-upstream", name);
    }
    let tokens = reply.exchange.injected_tokens();
    if tokens > 0 {
        headers.insert("x-gadgetry-injected-tokens", tokens.into());
    }
    let id = format!("req_{:016x}", reply.exchange.number());
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id.clone());
        headers.insert("request-id", id);
    }
}

/// A streamed reply while it is sent.
struct Stream {
    reply: Reply,
    encoder: ReplyEncoder,
    /// Deltas that were read and not sent.
    deltas: Vec<Delta>,
    frames: Vec<Event>,
    keep_alive: Duration,
    /// Fires when nothing was sent for that long. It is moved when it fires, and not with each part of the reply.
    silence: Pin<Box<Sleep>>,
    sent_at: Instant,
}

/// The reply as an event stream.
fn streamed(
    reply: Reply,
    encoder: ReplyEncoder,
    first: Vec<Delta>,
    keep_alive: Duration,
) -> Response {
    let mut headers = axum::http::HeaderMap::new();
    about(&reply, &mut headers);
    let stream = Stream {
        reply,
        encoder,
        deltas: first,
        frames: Vec::new(),
        keep_alive,
        silence: Box::pin(sleep(keep_alive)),
        sent_at: Instant::now(),
    };
    let body = stream::unfold(Box::new(stream), |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), stream))
    });
    let mut response = Response::new(Body::from_stream(body));
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that buffer would hold the stream back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    *response.headers_mut() = headers;
    response
}

impl Stream {
    /// The next bytes; `None` after the last ones.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let deltas = self.deltas.drain(..);
            let is_estimated = encode(&self.reply, &mut self.encoder, deltas, &mut self.frames);
            if !self.frames.is_empty() {
                let size = self.frames.iter().map(|frame| frame.data.len() + 64).sum();
                let mut text = String::with_capacity(size);
                if is_estimated {
                    text.push_str(": usage is estimated\n\n");
                }
                for frame in self.frames.drain(..) {
                    frame.encode(&mut text);
                }
                self.sent_at = Instant::now();
                return Some(text.into());
            }
            if self.reply.is_over {
                let items = &self.reply.watch.gateway.0.items;
                if self.reply.watch.api == Api::Responses {
                    items.remember(&self.encoder.document());
                }
                return None;
            }
            tokio::select! {
                biased;
                () = self.reply.next(&mut self.deltas) => {}
                () = &mut self.silence => {
                    let silent = self.sent_at.elapsed();
                    let left = self.keep_alive.saturating_sub(silent);
                    let next = if left.is_zero() { self.keep_alive } else { left };
                    self.silence.as_mut().reset(tokio::time::Instant::now() + next);
                    if left.is_zero() {
                        self.sent_at = Instant::now();
                        return Some(Bytes::from_static(b": keep-alive\n\n"));
                    }
                }
            }
        }
    }
}
