//! `[mcp.servers.NAME]`: servers of a configuration file.

use std::fmt;

use gadgetry_mcp::ServerConfig;
use gadgetry_mcp::config::Transport;
use reqwest::Url;

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
    let problem = |problem: &dyn fmt::Display| {
        let problem = format_args!("mcp.servers.{name}: {problem}");
        server.item.place.error(problem)
    };
    let config = serde_json::from_value(server.item.json());
    let config = config.map_err(|error| problem(&error))?;
    check_address(&config).map_err(|error| problem(&error))?;
    Ok(Configured { server, config })
}

/// Checks the address of a server, unless variables are a part of it. `Err` is what is wrong.
pub(crate) fn check_address(config: &ServerConfig) -> Result<(), String> {
    let url = match &config.transport {
        Transport::Http(http) if !http.url.contains("${") => &http.url,
        Transport::Http(_) | Transport::Stdio(_) => return Ok(()),
    };
    let parsed = Url::parse(url).map_err(|error| format!("`url` is not an address: {error}"))?;
    match parsed.scheme() {
        "http" | "https" => Ok(()),
        other => Err(format!(
            "`url` begins with {other:?}; expected http:// or https://"
        )),
    }
}
