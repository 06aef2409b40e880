//! Sends spans to a collector: OTLP over HTTP, as the variables `OTEL_…` say.

use std::env;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gadgetry::proto::error::{Classified, Fault};
use http::{Request, Response};
use opentelemetry::Key;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use crate::delivery::{Counted, Delivery, Full};
use crate::spans::Spans;

/// Time for a connection to the collector.
const CONNECTING: Duration = Duration::from_secs(2);
/// Time for a request, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise.
const REQUEST: Duration = Duration::from_secs(10);
/// Time for the last spans when a program ends.
const ENDING: Duration = Duration::from_secs(3);
/// The same for a collector that has not answered yet, which may never answer.
const ENDING_SILENT: Duration = Duration::from_millis(500);

/// Bytes of an answer of the collector, which has nothing to say but what it did not take.
const LONGEST_ANSWER: usize = 1 << 20;

/// Sends spans to the collector that the environment names.
///
/// `OTEL_EXPORTER_OTLP_ENDPOINT`, or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, switches it on; `OTEL_SDK_DISABLED=true` and
/// `OTEL_TRACES_EXPORTER=none` switch it off. The other variables of OpenTelemetry for OTLP over HTTP, for resources, samplers and batches
/// hold as in every program: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`.
///
/// Spans are sent in batches, on the runtime in which the exporter was made. A collector that does not take them never stops or slows a
/// run: the spans are dropped, the log has one warning, and nothing is sent to it for a minute.
///
/// ```no_run
/// use gadgetry::Agent;
/// use gadgetry_otel::Exporter;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let exporter = Exporter::from_env("shop")?;
/// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let mut agent = Agent::builder().model(model);
/// if let Some(exporter) = &exporter {
///     agent = agent.hook(exporter.spans());
/// }
/// agent.ask("What is 2 + 2?")?.await?;
/// if let Some(exporter) = exporter {
///     exporter.shutdown().await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Exporter {
    provider: SdkTracerProvider,
    delivery: Arc<Delivery>,
    full: Full,
}

impl Exporter {
    /// Makes the exporter that the environment asks for; `None` if it asks for none. `service` is the name of the program, unless the
    /// environment has one.
    ///
    /// # Errors
    ///
    /// [`ExporterError::Environment`] if a variable cannot be used, as an invalid URL.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime, and the environment asks for an exporter.
    pub fn from_env(service: &str) -> Result<Option<Self>, ExporterError> {
        Self::wanted(service, Full::Drops)
    }

    /// Makes the exporter that the environment asks for, as [`from_env`](Self::from_env) does, for the spans of saved runs, which are made as
    /// quickly as a file is read. Where the queue is full, it drops no span but blocks the thread until there is room: replay in a thread
    /// that may block, such as that of [`tokio::task::spawn_blocking`].
    ///
    /// # Errors
    ///
    /// [`ExporterError::Environment`] if a variable cannot be used, as an invalid URL.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime, and the environment asks for an exporter.
    pub fn from_env_for_replay(service: &str) -> Result<Option<Self>, ExporterError> {
        Self::wanted(service, Full::Blocks)
    }

    fn wanted(service: &str, full: Full) -> Result<Option<Self>, ExporterError> {
        if is_wanted(|name| env::var(name).ok()) {
            Self::make(None, service, full).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Makes an exporter for the collector at `url`, whatever the environment says of that; its other variables hold. The URL has the whole
    /// path, as `http://127.0.0.1:4318/v1/traces`.
    ///
    /// # Errors
    ///
    /// [`ExporterError::Environment`] if the URL or a variable cannot be used.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime.
    pub fn to(url: &str, service: &str) -> Result<Self, ExporterError> {
        Self::make(Some(url), service, Full::Drops)
    }

    fn make(url: Option<&str>, service: &str, full: Full) -> Result<Self, ExporterError> {
        let (tls, _) = gadgetry_providers::tls::config();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECTING)
            .timeout(timeout(|name| env::var(name).ok()))
            // A header may hold a key, which no other server gets.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| ExporterError::Environment(error.to_string()))?;
        let once = RetryPolicy::default()
            .with_max_retries(1)
            .with_initial_delay(Duration::from_millis(100));
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(OnTokio(client, Handle::current()))
            .with_retry_policy(once);
        if let Some(url) = url {
            exporter = exporter.with_endpoint(url);
        }
        let exporter = exporter.build();
        let exporter = exporter.map_err(|error| ExporterError::Environment(error.to_string()))?;
        let delivery = Arc::new(Delivery::default());
        let processor = Counted::new(exporter, &delivery, full);
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource(service))
            .build();
        Ok(Self {
            provider,
            delivery,
            full,
        })
    }

    /// Makes a hook for agents.
    pub fn spans(&self) -> Spans<SdkTracer> {
        Spans::new(self.tracer())
    }

    /// Makes a tracer, as for [`RequestSpans`](crate::RequestSpans).
    pub fn tracer(&self) -> SdkTracer {
        self.provider.tracer("gadgetry")
    }

    /// Sends what is left, for at most three seconds, and stops. A collector that has not answered by then gets half a second, unless
    /// the spans are those of saved runs.
    ///
    /// # Errors
    ///
    /// [`ExporterError::Undelivered`] if the collector did not take some of the spans since the start.
    ///
    /// Cancel safety: spans that are not sent yet are sent all the same, if the runtime lives on.
    pub async fn shutdown(self) -> Result<(), ExporterError> {
        let provider = self.provider;
        let is_patient = self.full == Full::Blocks || self.delivery.has_answered();
        let time = if is_patient { ENDING } else { ENDING_SILENT };
        let stopped = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(time));
        let stopped = stopped.await.unwrap_or(Ok(()));
        match (self.delivery.reason(), stopped) {
            (Some(reason), _) => Err(ExporterError::Undelivered(reason)),
            (None, Err(error)) => Err(ExporterError::Undelivered(error.to_string())),
            (None, Ok(())) => Ok(()),
        }
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

/// The resource of the environment, with the name of the service if the environment has none.
fn resource(service: &str) -> Resource {
    let found = Resource::builder().build();
    let named = found.get(&Key::from_static_str("service.name"));
    if named.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return found;
    }
    Resource::builder()
        .with_service_name(service.to_owned())
        .build()
}

/// Returns whether the variables ask for spans.
fn is_wanted(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).filter(|value| !value.trim().is_empty());
    let is = |name, word: &str| set(name).is_some_and(|it| it.eq_ignore_ascii_case(word));
    let endpoint =
        set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| set("OTEL_EXPORTER_OTLP_ENDPOINT"));
    endpoint.is_some() && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

/// The time for a request, which the variables have in milliseconds.
fn timeout(variable: impl Fn(&str) -> Option<String>) -> Duration {
    let names = [
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
    ];
    let mut set = names.into_iter().filter_map(variable);
    let milliseconds = set.find_map(|value| value.trim().parse().ok());
    milliseconds.map_or(REQUEST, Duration::from_millis)
}

/// An error of the [`Exporter`].
///
/// ```
/// use gadgetry_otel::ExporterError;
/// let error = ExporterError::Undelivered("connection refused".to_owned());
/// assert!(error.to_string().ends_with("connection refused"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExporterError {
    /// A variable `OTEL_…` cannot be used.
    #[error("OpenTelemetry: {0}; correct the variables OTEL_…")]
    Environment(String),
    /// The collector did not take some of the spans. The runs are not affected.
    #[error("OpenTelemetry: some spans were not delivered: {0}")]
    Undelivered(String),
}

impl Classified for ExporterError {
    fn fault(&self) -> Fault {
        match self {
            Self::Environment(_) => Fault::Program,
            Self::Undelivered(_) => Fault::Environment,
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Undelivered(_))
    }
}

/// Sends on our runtime: the library calls from a thread that has none, where reqwest would panic.
#[derive(Clone, Debug)]
struct OnTokio(reqwest::Client, Handle);

#[async_trait]
impl HttpClient for OnTokio {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.0.clone();
        let sent = self.1.spawn(async move {
            let mut response = client.execute(request.try_into()?).await?;
            let mut answer = Response::builder().status(response.status());
            if let Some(headers) = answer.headers_mut() {
                headers.clone_from(response.headers());
            }
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > LONGEST_ANSWER {
                    return Err("the answer of the collector is too long".into());
                }
            }
            Ok(answer.body(body.into())?)
        });
        sent.await?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::extract::State;
    use axum::routing::post;
    use opentelemetry::trace::{Span as _, Tracer as _};
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use prost::Message as _;
    use tokio::net::TcpListener;
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn the_environment_decides() {
        const END: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        let check = |variables: &[(&str, &str)], wanted| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(is_wanted(variable), wanted, "{variables:?}");
        };
        check(&[], false);
        check(&[END], true);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], false);
        check(
            &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/v1/traces")],
            true,
        );
        check(&[END, ("OTEL_SDK_DISABLED", "TRUE")], false);
        check(&[END, ("OTEL_SDK_DISABLED", "false")], true);
        check(&[END, ("OTEL_TRACES_EXPORTER", "none")], false);
        check(&[END, ("OTEL_TRACES_EXPORTER", "otlp")], true);
    }

    #[test]
    fn the_first_number_is_the_timeout() {
        let check = |value: &'static str, expected| {
            let variable =
                |name: &str| (name == "OTEL_EXPORTER_OTLP_TIMEOUT").then(|| value.to_owned());
            assert_eq!(timeout(variable), expected, "{value:?}");
        };
        check("500", Duration::from_millis(500));
        check("soon", REQUEST);
        check("-1", REQUEST);
    }

    /// Spans that end at once: more than fit into the queue.
    const SPANS: usize = 5_000;

    /// Answers once it is allowed to, and counts the spans that it received.
    #[derive(Clone)]
    struct Collector {
        opened: Arc<Semaphore>,
        received: Arc<AtomicUsize>,
    }

    async fn take(State(it): State<Collector>, body: Bytes) {
        let permit = it.opened.acquire().await.expect("it is never closed");
        let request = ExportTraceServiceRequest::decode(body).expect("spans");
        let resources = request.resource_spans.iter();
        let spans = resources
            .flat_map(|it| &it.scope_spans)
            .map(|it| it.spans.len());
        it.received.fetch_add(spans.sum(), Ordering::AcqRel);
        drop(permit);
    }

    /// Ends spans in a row, before the collector answers or while it does, and returns how many have arrived.
    async fn ended(full: Full) -> (usize, Result<(), ExporterError>) {
        let collector = Collector {
            opened: Arc::new(Semaphore::new(0)),
            received: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new()
            .route("/v1/traces", post(take))
            .with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let url = format!("http://{address}/v1/traces");
        let exporter = Exporter::make(Some(&url), "shop", full).expect("a URL");
        if full == Full::Blocks {
            collector.opened.add_permits(1);
        }
        let tracer = exporter.tracer();
        let end = move || (0..SPANS).for_each(|_| tracer.start("one").end());
        tokio::task::spawn_blocking(end).await.expect("spans");
        if full == Full::Drops {
            collector.opened.add_permits(1);
        }
        let result = exporter.shutdown().await;
        (collector.received.load(Ordering::Acquire), result)
    }

    #[tokio::test]
    async fn spans_of_a_saved_run_all_arrive() {
        let (arrived, result) = ended(Full::Blocks).await;
        assert_eq!((arrived, result), (SPANS, Ok(())));
    }

    #[tokio::test]
    async fn spans_that_do_not_fit_are_counted() {
        let (arrived, result) = ended(Full::Drops).await;
        assert!(arrived < SPANS, "{arrived}");
        let dropped = SPANS - arrived;
        let reason =
            format!("{dropped} did not fit into the queue; set OTEL_BSP_MAX_QUEUE_SIZE to more");
        assert_eq!(result, Err(ExporterError::Undelivered(reason)));
    }
}
