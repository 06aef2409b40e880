//! The end of a request, for metrics and the log.

use std::sync::Arc;
use std::time::Instant;

use gadgetry_proto::usage::Usage;

use super::Gateway;
use super::admission::Permit;
use super::job::Job;
use crate::exchange::Counts;
use crate::trace::{RequestEnd, RequestTrace};
use crate::upstream::Upstream;

/// The result of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestOutcome {
    /// The status; 599 for a stream with an error in it, `None` for a client that has disconnected.
    pub(super) status: Option<u16>,
    pub(super) counts: Counts,
    pub(super) usage: Usage,
}

/// Records the outcome of a request when dropped, even if the client has disconnected. Until then, the request counts as in
/// flight.
pub(super) struct Watch {
    gateway: Gateway,
    job: Arc<Job>,
    began: Instant,
    /// The last upstream that had a request.
    upstream: Option<Arc<Upstream>>,
    pub(super) outcome: RequestOutcome,
    trace: Option<Box<dyn RequestTrace>>,
    /// Seconds to the first part of the answer.
    first_part: Option<f64>,
    _permit: Permit,
}

impl Watch {
    pub(super) fn new(
        gateway: Gateway,
        job: Arc<Job>,
        began: Instant,
        permit: Permit,
        trace: Option<Box<dyn RequestTrace>>,
    ) -> Self {
        gateway.0.metrics.begun();
        Self {
            gateway,
            job,
            began,
            upstream: None,
            outcome: RequestOutcome::default(),
            trace,
            first_part: None,
            _permit: permit,
        }
    }

    /// Records a request to an upstream. The time before the first one is the gateway's own.
    pub(super) fn asked(&mut self, upstream: Arc<Upstream>) {
        if self.upstream.replace(upstream).is_none() {
            let metrics = &self.gateway.0.metrics;
            metrics.asked(&self.job, self.began.elapsed().as_secs_f64());
        }
    }

    /// Records the time until the client receives a part of the answer.
    pub(super) fn first_byte(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.first_part = Some(seconds);
        if let Some(upstream) = &self.upstream {
            let metrics = &self.gateway.0.metrics;
            metrics.first_byte(&self.job, upstream, seconds);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64();
        let RequestOutcome {
            status,
            counts,
            usage,
        } = self.outcome;
        let metrics = &self.gateway.0.metrics;
        let upstream = self.upstream.as_deref();
        metrics.ended(&self.job, upstream, status, seconds);
        if let Some(upstream) = upstream {
            metrics.exchange(&self.job, upstream, counts, usage);
        }
        let end = RequestEnd {
            status,
            upstream: upstream.map(Upstream::name),
            counts,
            usage,
            first_part: self.first_part,
        };
        self.job.watched.end(&end);
        if let Some(trace) = self.trace.take() {
            trace.end(&end);
        }
        tracing::info!(
            id = self.job.id,
            api = self.job.api.name(),
            model = self.job.request.client.model,
            client = self.job.client,
            status = status.map_or_else(|| "disconnected".to_owned(), |it| it.to_string()),
            upstream = upstream.map(Upstream::name),
            calls = counts.calls,
            repairs = counts.repairs,
            unparsed = counts.is_unparsed(),
            input_tokens = usage.input_tokens,
            cached_input_tokens = usage.cached_input_tokens,
            output_tokens = usage.output_tokens,
            seconds,
            "request"
        );
    }
}
