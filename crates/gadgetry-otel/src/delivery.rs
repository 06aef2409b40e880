//! The way of spans to the collector: what it took, and what it did not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::Context;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{self, BatchSpanProcessor, Span, SpanData, SpanProcessor};

/// Time in which nothing is sent to a collector that did not take spans.
const PAUSE: Duration = Duration::from_mins(1);

/// Spans that may wait where none is to be dropped: a quarter of the queue of the library.
const WAITING: usize = 512;

/// Knowledge about the collector.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    known: Mutex<Known>,
    /// Spans that have ended.
    ended: AtomicUsize,
    /// Spans of all batches, taken or not.
    sent: AtomicUsize,
}

#[derive(Debug, Default)]
struct Known {
    /// The first failure.
    reason: Option<String>,
    /// When the last one was.
    failed: Option<Instant>,
    /// Whether the collector has taken a batch.
    has_answered: bool,
}

impl Delivery {
    /// Returns the reason that some of the spans were not delivered, once all have ended.
    pub(crate) fn reason(&self) -> Option<String> {
        let reason = self.known().reason.clone();
        reason.or_else(|| {
            let dropped = self.waiting();
            let words = "did not fit into the queue; set OTEL_BSP_MAX_QUEUE_SIZE to more";
            (dropped > 0).then(|| format!("{dropped} {words}"))
        })
    }

    /// Spans that have ended, and that no batch has had.
    fn waiting(&self) -> usize {
        let sent = self.sent.load(Ordering::Acquire);
        self.ended.load(Ordering::Acquire).saturating_sub(sent)
    }

    /// Returns whether the collector has taken spans.
    pub(crate) fn has_answered(&self) -> bool {
        self.known().has_answered
    }

    fn is_paused(&self) -> bool {
        self.known().failed.is_some_and(|at| at.elapsed() < PAUSE)
    }

    /// Notes the result of a batch.
    fn note(&self, result: &OTelSdkResult) {
        if let Err(error) = result {
            return self.failed(error.to_string());
        }
        let mut known = self.known();
        (known.failed, known.has_answered) = (None, true);
    }

    /// Notes that spans were not delivered.
    fn failed(&self, error: String) {
        let mut known = self.known();
        known.failed = Some(Instant::now());
        if known.reason.is_none() {
            tracing::warn!(error, "spans are not delivered to the collector");
            known.reason = Some(error);
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exporter of the library, which reports failures nowhere that users look, and tries a dead collector again for each batch.
#[derive(Debug)]
struct Watched(SpanExporter, Arc<Delivery>);

impl trace::SpanExporter for Watched {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.1.sent.fetch_add(batch.len(), Ordering::AcqRel);
        if self.1.is_paused() {
            return Err(OTelSdkError::InternalFailure(
                "the collector is not there".to_owned(),
            ));
        }
        let result = self.0.export(batch).await;
        self.1.note(&result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

/// A full queue of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Loses what ends, so that no run waits.
    Drops,
    /// Blocks the thread in which spans end, until there is room.
    Blocks,
}

/// The batches of the library, which says nowhere that users look how many spans it dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    batches: BatchSpanProcessor,
    delivery: Arc<Delivery>,
    full: Full,
}

impl Counted {
    pub(crate) fn new(exporter: SpanExporter, delivery: &Arc<Delivery>, full: Full) -> Self {
        let watched = Watched(exporter, Arc::clone(delivery));
        Self {
            batches: BatchSpanProcessor::builder(watched).build(),
            delivery: Arc::clone(delivery),
            full,
        }
    }
}

impl SpanProcessor for Counted {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.full == Full::Blocks && self.delivery.waiting() >= WAITING {
            // A failure is noted where the batch is sent.
            let _ = self.batches.force_flush();
        }
        self.delivery.ended.fetch_add(1, Ordering::AcqRel);
        self.batches.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        let ended = self.batches.shutdown_with_timeout(timeout);
        if matches!(ended, Err(OTelSdkError::Timeout(_))) {
            let problem = format!("the collector did not answer within {timeout:?}");
            self.delivery.failed(problem);
        }
        ended
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}
