//! The configuration, and its servers by name.

use gadgetry::proto::schema::closest;

use crate::cli::ConfigArgs;
use crate::config::{Asking, Config, Keys, McpServer};
use crate::error::Error;
use crate::printer::Printer;

/// Reads the configuration.
pub(super) fn config(
    chosen: &ConfigArgs,
    asking: Asking,
    printer: &Printer,
) -> Result<Config, Error> {
    Config::load(chosen, &Keys::new(), asking, printer)
}

/// Returns the server of this name.
pub(super) fn named<'c>(config: &'c Config, name: &str) -> Result<&'c McpServer, Error> {
    config.declared.servers.get(name).ok_or_else(|| {
        let names = config.declared.servers.keys().map(String::as_str);
        let near = closest(name, names);
        let hint = near.first().map(|near| format!("; did you mean {near}?"));
        let hint = hint.unwrap_or_default();
        Error::input(format_args!(
            "the configuration has no MCP server {name}{hint}"
        ))
    })
}
