//! `[mcp.servers.NAME]`: servers of a configuration file.

use gadgetry_mcp::ServerConfig;

use crate::config::McpServer;
use crate::error::Error;

/// Tables whose values may be keys, so that serde's words about them are not shown.
const SECRET: [&str; 2] = ["env", "headers"];

/// A server of a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Configured<'s> {
    pub(crate) server: &'s McpServer,
    pub(crate) config: ServerConfig,
}

/// Reads the table of a server.
pub(crate) fn configured(server: &McpServer) -> Result<Configured<'_>, Error> {
    let name = &server.name;
    for entry in server.item.table(name)? {
        if SECRET.contains(&entry.key.as_str()) {
            let table = format!("mcp.servers.{name}.{}", entry.key);
            for value in entry.item.table(&table)? {
                value.item.text(&format!("{table}.{}", value.key))?;
            }
        }
    }
    let config = serde_json::from_value(server.item.json());
    let config = config.map_err(|problem| {
        let problem = format_args!("mcp.servers.{name}: {problem}");
        server.item.place.error(problem)
    })?;
    Ok(Configured { server, config })
}
