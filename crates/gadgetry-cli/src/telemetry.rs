//! Traces for a collector of OpenTelemetry, if the environment names one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gadgetry_otel::{Exporter, SdkTracer, Spans};

use crate::error::Error;
use crate::printer::Printer;

/// The hook of all agents of the program.
static SPANS: OnceLock<Arc<Spans<SdkTracer>>> = OnceLock::new();

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
    }
    let done = work.await;
    if let Some(exporter) = exporter
        && let Err(error) = exporter.shutdown().await
    {
        printer.progress(&format!("{error}\n"));
    }
    done
}
