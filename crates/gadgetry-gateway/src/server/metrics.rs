//! Counts for Prometheus.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry_proto::usage::Usage;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use super::job::Job;
use crate::api::ClientApi;
use crate::exchange::Counts;
use crate::settings::Settings;
use crate::upstream::Upstream;

/// Maximum number of model names that are labels. Clients choose them, so there is a limit; the others are [`OTHER`].
const MODELS: usize = 200;
const OTHER: &str = "other";

/// The labels of a request that has ended.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    #[prometheus(flatten)]
    of: ModelLabels,
    status: u16,
}

/// The labels of measurements at a model. Without an upstream, a request was refused before one to it, and the model has no name either.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModelLabels {
    api: &'static str,
    model: Arc<str>,
    upstream: String,
    client: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct UpstreamLabels {
    upstream: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ApiLabels {
    api: &'static str,
}

type Count = Counter<u64, AtomicU64>;
type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// All metrics of a gateway.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    models: Mutex<HashSet<Arc<str>>>,
    requests: Family<RequestLabels, Count>,
    in_flight: Gauge<i64, AtomicI64>,
    disconnects: Family<ApiLabels, Count>,
    upstream_errors: Family<UpstreamLabels, Count>,
    upstream_up: Family<UpstreamLabels, Gauge<i64, AtomicI64>>,
    calls: Family<ModelLabels, Count>,
    invalid_calls: Family<ModelLabels, Count>,
    unparsed: Family<ModelLabels, Count>,
    repairs: Family<ModelLabels, Count>,
    held_calls: Family<ModelLabels, Count>,
    input_tokens: Family<ModelLabels, Count>,
    cached_tokens: Family<ModelLabels, Count>,
    output_tokens: Family<ModelLabels, Count>,
    overhead: Histograms<ApiLabels>,
    first_byte: Histograms<ModelLabels>,
    duration: Histograms<ModelLabels>,
}

/// Bounds of the times of models.
const SECONDS: [f64; 12] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 1800.0,
];

/// Bounds of the times of the gateway.
const OVERHEAD: [f64; 10] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0,
];

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("gadgetry");
        let all = &mut registry;
        Self {
            requests: add(all, "requests", "Requests that have ended"),
            in_flight: add(all, "requests_in_flight", "Requests in flight"),
            disconnects: add(
                all,
                "client_disconnects",
                "Requests whose client has gone before the reply was complete",
            ),
            upstream_errors: add(all, "upstream_errors", "Failed requests to an upstream"),
            upstream_up: add(
                all,
                "upstream_up",
                "1 for an upstream in use, 0 for one that has failed several times in a row a moment ago",
            ),
            calls: add(all, "calls", "Tool calls sent to clients"),
            invalid_calls: add(
                all,
                "invalid_calls",
                "Tool calls of models that were not sent",
            ),
            unparsed: add(
                all,
                "unparsed_replies",
                "Replies with what looks like a call, of which no call was sent",
            ),
            repairs: add(
                all,
                "repairs",
                "Requests in which a model corrected its calls",
            ),
            held_calls: add(all, "held_calls", "Tool calls that wait for others"),
            input_tokens: add(all, "input_tokens", "Tokens of requests to upstreams"),
            cached_tokens: add(
                all,
                "cached_input_tokens",
                "Tokens of requests that upstreams read from a cache",
            ),
            output_tokens: add(all, "output_tokens", "Tokens of replies of upstreams"),
            overhead: with(
                all,
                "overhead_seconds",
                "Time from a request to that of the upstream",
                || Histogram::new(OVERHEAD),
            ),
            first_byte: with(
                all,
                "first_byte_seconds",
                "Time to the first part of a reply",
                || Histogram::new(SECONDS),
            ),
            duration: with(all, "request_seconds", "Time to the end of a reply", || {
                Histogram::new(SECONDS)
            }),
            registry,
            models: Mutex::default(),
        }
    }
}

fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn with<L>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    histogram: fn() -> Histogram,
) -> Histograms<L>
where
    L: Clone + std::hash::Hash + Eq,
    Histograms<L>: Metric,
{
    let family = Family::new_with_constructor(histogram);
    registry.register(name, help, family.clone());
    family
}

impl Metrics {
    pub(super) fn begun(&self) {
        self.in_flight.inc();
    }

    /// Records the first request to an upstream.
    pub(super) fn asked(&self, job: &Job, seconds: f64) {
        let api = job.api.name();
        let overhead = self.overhead.get_or_create(&ApiLabels { api });
        overhead.observe(seconds);
    }

    pub(super) fn first_byte(&self, job: &Job, upstream: &Upstream, seconds: f64) {
        let labels = self.labels(job, Some(upstream));
        self.first_byte.get_or_create(&labels).observe(seconds);
    }

    /// Records the end of a request. `upstream` is the last one that had a request; `status` is `None` if the client has
    /// disconnected.
    pub(super) fn ended(
        &self,
        job: &Job,
        upstream: Option<&Upstream>,
        status: Option<u16>,
        seconds: f64,
    ) {
        self.in_flight.dec();
        let of = self.labels(job, upstream);
        if upstream.is_some() {
            self.duration.get_or_create(&of).observe(seconds);
        }
        let Some(status) = status else {
            let api = of.api;
            self.disconnects.get_or_create(&ApiLabels { api }).inc();
            return;
        };
        self.requests
            .get_or_create(&RequestLabels { of, status })
            .inc();
    }

    /// Records a request that was refused before it was admitted: of which model and client is not known.
    pub(super) fn refused(&self, api: ClientApi, status: u16) {
        let of = ModelLabels {
            api: api.name(),
            ..ModelLabels::default()
        };
        self.requests
            .get_or_create(&RequestLabels { of, status })
            .inc();
    }

    pub(super) fn upstream_error(&self, upstream: &str) {
        let upstream = upstream.to_owned();
        self.upstream_errors
            .get_or_create(&UpstreamLabels { upstream })
            .inc();
    }

    /// Records the counts of an exchange with an upstream.
    pub(super) fn exchange(&self, job: &Job, upstream: &Upstream, counts: Counts, usage: Usage) {
        let labels = self.labels(job, Some(upstream));
        let add = |family: &Family<ModelLabels, Count>, count: u64| {
            if count > 0 {
                family.get_or_create(&labels).inc_by(count);
            }
        };
        add(&self.calls, counts.calls.into());
        add(&self.invalid_calls, counts.invalid.into());
        add(&self.unparsed, counts.is_unparsed().into());
        add(&self.repairs, counts.repairs.into());
        add(&self.held_calls, counts.held.into());
        add(&self.input_tokens, usage.input_tokens);
        add(&self.cached_tokens, usage.cached_input_tokens);
        add(&self.output_tokens, usage.output_tokens);
    }

    /// Returns the text for Prometheus.
    pub(super) fn text(&self, settings: &Settings) -> String {
        for upstream in settings.all_upstreams() {
            let labels = UpstreamLabels {
                upstream: upstream.name().to_owned(),
            };
            let is_up = i64::from(!upstream.is_out());
            self.upstream_up.get_or_create(&labels).set(is_up);
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    fn labels(&self, job: &Job, upstream: Option<&Upstream>) -> ModelLabels {
        let model = upstream.map(|_| self.model(&job.request.client.model));
        ModelLabels {
            api: job.api.name(),
            model: model.unwrap_or_default(),
            upstream: upstream.map_or_else(String::new, |it| it.name().to_owned()),
            client: job.client.clone(),
        }
    }

    /// Returns the label of a model.
    fn model(&self, name: &str) -> Arc<str> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = models.get(name) {
            return Arc::clone(known);
        }
        let name = if models.len() < MODELS { name } else { OTHER };
        let name: Arc<str> = name.into();
        models.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// The names of all metrics. A family is written once it has a member.
    fn names() -> BTreeSet<String> {
        let metrics = Metrics::default();
        let labels = ModelLabels {
            api: "chat",
            model: "m".into(),
            upstream: "u".to_owned(),
            client: String::new(),
        };
        for family in [
            &metrics.calls,
            &metrics.invalid_calls,
            &metrics.unparsed,
            &metrics.repairs,
            &metrics.held_calls,
            &metrics.input_tokens,
            &metrics.cached_tokens,
            &metrics.output_tokens,
        ] {
            family.get_or_create(&labels).inc();
        }
        for family in [&metrics.first_byte, &metrics.duration] {
            family.get_or_create(&labels).observe(1.0);
        }
        let api = ApiLabels { api: "chat" };
        metrics.overhead.get_or_create(&api).observe(1.0);
        metrics.disconnects.get_or_create(&api).inc();
        let upstream = UpstreamLabels {
            upstream: "u".to_owned(),
        };
        metrics.upstream_errors.get_or_create(&upstream).inc();
        metrics.upstream_up.get_or_create(&upstream).set(1);
        let request = RequestLabels {
            of: labels,
            status: 200,
        };
        metrics.requests.get_or_create(&request).inc();
        let text = metrics.text(&Settings::default());
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let names = types.filter_map(|line| line.split(' ').next());
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_dashboard_shows_all_metrics_and_no_other() {
        let dashboard = include_str!("../../../../docs/grafana.json");
        let dashboard: Value = serde_json::from_str(dashboard).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let targets = panels
            .iter()
            .flat_map(|it| it["targets"].as_array().unwrap());
        let mut shown = BTreeSet::new();
        for target in targets {
            let words = target["expr"].as_str().unwrap();
            let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for word in words.filter(|word| word.starts_with("gadgetry_")) {
                let end = ["_bucket", "_total"].into_iter();
                let name = end.fold(word, |word, end| word.strip_suffix(end).unwrap_or(word));
                shown.insert(name.to_owned());
            }
        }
        assert_eq!(shown, names());
    }
}
