//! Traces for a collector of OpenTelemetry, if the environment names one: of agents, and of requests to the gateway.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gadgetry::TraceContext;
use gadgetry_gateway::Gateway;
use gadgetry_gateway::trace::{self, RequestTrace, RequestTracer, TracedRequest};
use gadgetry_otel::{Exporter, RequestEnd, RequestSpans, SdkSpan, SdkTracer, Spans};

use crate::error::Error;
use crate::printer::Printer;

/// The hook of all agents of the program.
static SPANS: OnceLock<Arc<Spans<SdkTracer>>> = OnceLock::new();

/// The tracer of the gateway.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Whether spans have what models read and write.
static CONTENT: AtomicBool = AtomicBool::new(false);

/// Sets whether spans have what models read and write.
pub(crate) fn content(wanted: bool) {
    CONTENT.store(wanted, Ordering::Relaxed);
}

/// Returns the hook that makes spans of runs, if there is an exporter.
pub(crate) fn spans() -> Option<Arc<Spans<SdkTracer>>> {
    SPANS.get().cloned()
}

/// Traces the requests to a gateway, if there is an exporter.
pub(crate) fn trace(gateway: &Gateway) {
    if let Some(tracer) = TRACER.get() {
        gateway.trace(Requests(tracer.clone()));
    }
}

/// Makes spans of requests to a gateway.
struct Requests(SdkTracer);

impl RequestTracer for Requests {
    fn begin(&self, request: &TracedRequest<'_>) -> Box<dyn RequestTrace> {
        let route = request.api.route();
        let spans = RequestSpans::begin(&self.0, route, request.model, request.client);
        Box::new(OneRequest(spans))
    }
}

struct OneRequest(RequestSpans<SdkSpan>);

impl RequestTrace for OneRequest {
    fn context(&self) -> Option<TraceContext> {
        self.0.context()
    }

    fn end(self: Box<Self>, end: &trace::RequestEnd<'_>) {
        self.0.end(&RequestEnd {
            status: end.status,
            upstream: end.upstream,
            usage: end.usage,
            calls: end.counts.calls.into(),
            repairs: end.counts.repairs.into(),
            first_part: end.first_part,
        });
    }
}

/// Does the work of the program with an exporter, if the environment asks for one, and sends what is left at its end. A collector that
/// takes nothing is reported, and changes nothing else.
pub(crate) async fn traced(
    work: impl Future<Output = Result<(), Error>>,
    printer: &Printer,
) -> Result<(), Error> {
    let exporter = Exporter::from_env("gadgetry").map_err(Error::input)?;
    if let Some(exporter) = &exporter {
        let spans = exporter.spans();
        let spans = spans.content(CONTENT.load(Ordering::Relaxed));
        // The program does one work.
        let _ = SPANS.set(Arc::new(spans));
        let _ = TRACER.set(exporter.tracer());
    }
    let done = work.await;
    if let Some(exporter) = exporter
        && let Err(error) = exporter.shutdown().await
    {
        printer.progress(&format!("{error}\n"));
    }
    done
}
