//! Replacement without the feature `mcp`: messages that say so.

use std::convert::Infallible;
use std::sync::Arc;

use gadgetry::DynGadget;

use crate::cli::GadgetOptions;
use crate::config::Declared;
use crate::error::Error;
use crate::printer::Printer;

const ABSENT: &str = "this build of gadgetry has no MCP (feature mcp)";

/// Servers that are connected, which this build does not have.
pub(crate) struct Connected(Infallible);

impl Connected {
    pub(crate) fn ready(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn gadgets(&self, _: &[Arc<dyn DynGadget>]) -> Vec<Arc<dyn DynGadget>> {
        match self.0 {}
    }

    #[cfg(any(feature = "acp", feature = "chat"))]
    pub(crate) fn has_changed(&self) -> bool {
        match self.0 {}
    }
}

/// Waits for the work of the program.
pub(crate) async fn until_ended(
    work: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    work.await
}

/// Notes that the servers of the configuration are not used.
pub(crate) async fn connect(
    options: &GadgetOptions,
    _: &Declared,
    printer: &Printer,
) -> Result<Option<Arc<Connected>>, Error> {
    if !options.no_mcp && !options.configured_mcp.is_empty() {
        let names = options.configured_mcp.join(", ");
        printer.progress(&format!("MCP servers are not used ({names}): {ABSENT}\n"));
    }
    Ok(None)
}
