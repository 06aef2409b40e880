//! Counts for Prometheus.

use std::sync::atomic::{AtomicI64, AtomicU64};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::api::ClientApi;
use crate::exchange::Counts;

/// The labels of a request that has ended.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    api: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct UpstreamLabels {
    upstream: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ApiLabels {
    api: &'static str,
}

/// All metrics of a gateway.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter<u64, AtomicU64>>,
    in_flight: Gauge<i64, AtomicI64>,
    disconnects: Family<ApiLabels, Counter<u64, AtomicU64>>,
    upstream_errors: Family<UpstreamLabels, Counter<u64, AtomicU64>>,
    calls: Counter<u64, AtomicU64>,
    invalid_calls: Counter<u64, AtomicU64>,
    repairs: Counter<u64, AtomicU64>,
    held_calls: Counter<u64, AtomicU64>,
    input_tokens: Counter<u64, AtomicU64>,
    output_tokens: Counter<u64, AtomicU64>,
    first_byte: Histogram,
    duration: Histogram,
}

const SECONDS: [f64; 12] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0,
];

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("gadgetry"),
            requests: Family::default(),
            in_flight: Gauge::default(),
            disconnects: Family::default(),
            upstream_errors: Family::default(),
            calls: Counter::default(),
            invalid_calls: Counter::default(),
            repairs: Counter::default(),
            held_calls: Counter::default(),
            input_tokens: Counter::default(),
            output_tokens: Counter::default(),
            first_byte: Histogram::new(SECONDS),
            duration: Histogram::new(SECONDS),
        };
        let all = &mut metrics.registry;
        all.register(
            "requests",
            "Requests that have ended",
            metrics.requests.clone(),
        );
        all.register(
            "requests_in_flight",
            "Requests in flight",
            metrics.in_flight.clone(),
        );
        all.register(
            "client_disconnects",
            "Requests whose client has gone before the reply was complete",
            metrics.disconnects.clone(),
        );
        all.register(
            "upstream_errors",
            "Failed requests to an upstream",
            metrics.upstream_errors.clone(),
        );
        all.register("calls", "Tool calls sent to clients", metrics.calls.clone());
        all.register(
            "invalid_calls",
            "Tool calls of models that were not sent",
            metrics.invalid_calls.clone(),
        );
        all.register(
            "repairs",
            "Requests in which a model corrected its calls",
            metrics.repairs.clone(),
        );
        all.register(
            "held_calls",
            "Tool calls that wait for others",
            metrics.held_calls.clone(),
        );
        all.register(
            "input_tokens",
            "Tokens of requests to upstreams",
            metrics.input_tokens.clone(),
        );
        all.register(
            "output_tokens",
            "Tokens of replies of upstreams",
            metrics.output_tokens.clone(),
        );
        all.register(
            "first_byte_seconds",
            "Time to the first part of a reply",
            metrics.first_byte.clone(),
        );
        all.register(
            "request_seconds",
            "Time to the end of a reply",
            metrics.duration.clone(),
        );
        metrics
    }
}

impl Metrics {
    pub(super) fn begun(&self) {
        self.in_flight.inc();
    }

    pub(super) fn ended(&self, api: ClientApi, status: Option<u16>, seconds: f64) {
        self.in_flight.dec();
        self.duration.observe(seconds);
        let api = api.name();
        match status {
            Some(status) => self
                .requests
                .get_or_create(&RequestLabels { api, status })
                .inc(),
            None => self.disconnects.get_or_create(&ApiLabels { api }).inc(),
        };
    }

    pub(super) fn first_byte(&self, seconds: f64) {
        self.first_byte.observe(seconds);
    }

    pub(super) fn upstream_error(&self, upstream: &str) {
        let upstream = upstream.to_owned();
        self.upstream_errors
            .get_or_create(&UpstreamLabels { upstream })
            .inc();
    }

    pub(super) fn exchange(&self, counts: Counts, usage: gadgetry_proto::usage::Usage) {
        self.calls.inc_by(counts.calls.into());
        self.invalid_calls.inc_by(counts.invalid.into());
        self.repairs.inc_by(counts.repairs.into());
        self.held_calls.inc_by(counts.held.into());
        self.input_tokens.inc_by(usage.input_tokens);
        self.output_tokens.inc_by(usage.output_tokens);
    }

    /// The text that Prometheus reads.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
