//! `gadgetry gadget list`: names and descriptions.

use gadgetry::proto::schema::RegisteredGadget;

use crate::cli::GadgetFileArgs;
use crate::config::Declared;
use crate::error::Error;
use crate::lines::one_line;
use crate::mcp;
use crate::printer::Printer;

pub(crate) async fn run(
    args: &GadgetFileArgs,
    declared: &Declared,
    printer: &Printer,
) -> Result<(), Error> {
    let servers = mcp::connect(&args.source, declared, printer).await?;
    let toolbox = args.source.toolbox(declared, servers.as_deref(), &[])?;
    let width = |gadget: &RegisteredGadget| gadget.name().chars().count();
    let widest = toolbox.registry().iter().map(width).max();
    let widest = widest.unwrap_or_default();
    for gadget in toolbox.registry().iter() {
        let name = one_line(gadget.name());
        let description = one_line(&gadget.spec().description);
        printer.text(&format!("{name:widest$}  {description}\n"));
        printer.flush_if_full()?;
    }
    Ok(())
}
