//! `gadgetry gadget validate`: whether the gadgets of a file can be used.

use serde_json::Value;

use crate::cli::GadgetFileArgs;
use crate::config::Declared;
use crate::error::Error;
use crate::lines::{counted, one_line};
use crate::mcp;
use crate::printer::Printer;

pub(crate) async fn run(
    args: &GadgetFileArgs,
    declared: &Declared,
    printer: &Printer,
) -> Result<(), Error> {
    let servers = mcp::connect(&args.source, declared, printer).await?;
    let toolbox = args.source.toolbox(declared, servers.as_deref(), &[])?;
    for gadget in toolbox.registry().iter() {
        let spec = gadget.spec();
        let properties = spec.parameters.get("properties").and_then(Value::as_object);
        let parameters = counted(properties.map_or(0, serde_json::Map::len), "parameter");
        let examples = counted(spec.examples.len(), "example");
        let name = one_line(gadget.name());
        printer.text(&format!("{name}: ok, {parameters}, {examples}\n"));
        printer.flush_if_full()?;
    }
    Ok(())
}
