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

/// What has to be sent before the program ends.
pub(crate) struct Telemetry(Option<Exporter>);

/// Sets whether spans have what models read and write.
pub(crate) fn content(wanted: bool) {
    CONTENT.store(wanted, Ordering::Relaxed);
}

/// Starts the exporter, on the runtime of the program.
pub(crate) fn start() -> Result<Telemetry, Error> {
    let exporter = Exporter::from_env("gadgetry").map_err(Error::input)?;
    if let Some(exporter) = &exporter {
        let spans = exporter.spans().content(CONTENT.load(Ordering::Relaxed));
        // The program starts one exporter.
        let _ = SPANS.set(Arc::new(spans));
    }
    Ok(Telemetry(exporter))
}

/// Returns the hook that makes spans of runs, if there is an exporter.
pub(crate) fn spans() -> Option<Arc<Spans<SdkTracer>>> {
    SPANS.get().cloned()
}

impl Telemetry {
    /// Sends what is left. A collector that takes nothing is reported, and changes nothing else.
    pub(crate) async fn finish(self, printer: &Printer) {
        if let Some(exporter) = self.0
            && let Err(error) = exporter.shutdown().await
        {
            printer.progress(&format!("{error}\n"));
        }
    }
}
