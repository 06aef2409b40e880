//! A gadget by its name.

use std::sync::Arc;

use gadgetry::Toolbox;
use gadgetry::proto::schema::RegisteredGadget;

use crate::cli::GadgetOptions;
use crate::config::Declared;
use crate::error::Error;
use crate::mcp;

use crate::printer::Printer;

/// Returns the gadgets among which one of this name is. Servers are connected to only if none of our own has it, and those of the
/// configuration only if none that were typed have it.
pub(super) async fn toolbox(
    options: &GadgetOptions,
    name: &str,
    declared: &Declared,
    printer: &Printer,
) -> Result<(Toolbox, Option<Arc<mcp::Connected>>), Error> {
    let own = options.toolbox(declared, None, &[])?;
    if own.registry().get(name).is_some() {
        return Ok((own, None));
    }
    #[cfg(feature = "mcp")]
    if !options.mcp.is_empty() {
        let typed = GadgetOptions {
            no_mcp: true,
            ..options.clone()
        };
        let servers = mcp::connect(&typed, declared, printer).await?;
        let toolbox = options.toolbox(declared, servers.as_deref(), &[])?;
        if toolbox.registry().get(name).is_some() {
            return Ok((toolbox, servers));
        }
    }
    let servers = mcp::connect(options, declared, printer).await?;
    Ok((options.toolbox(declared, servers.as_deref(), &[])?, servers))
}

/// Returns the gadget of this name.
pub(super) fn named<'t>(toolbox: &'t Toolbox, name: &str) -> Result<&'t RegisteredGadget, Error> {
    let registry = toolbox.registry();
    let gadget = registry.get(name);
    gadget.ok_or_else(|| Error::input(own_words(&registry.unknown_gadget(name))))
}

/// Returns an error for a model without the word that every error on stderr begins with.
pub(super) fn own_words(error: &str) -> &str {
    error.strip_prefix("Error: ").unwrap_or(error)
}
