//! Built-in gadgets by name, servers of MCP by configuration.

use std::path::PathBuf;
use std::sync::Arc;

use gadgetry::DynGadget;
use gadgetry_builtins::Builtins;
use gadgetry_mcp::{ServerConfig, Servers};
use serde_json::{Map, Value};

use crate::Problem;

/// The built-in gadgets in a folder, or those of these names.
pub fn builtins(
    folder: PathBuf,
    names: Option<Vec<String>>,
) -> Result<Vec<Arc<dyn DynGadget>>, Problem> {
    let builtins = Builtins::in_dir(folder);
    let gadgets = builtins
        .map_err(|error| Problem::classified("ConfigError", &error))?
        .gadgets();
    let Some(names) = names else {
        return Ok(gadgets);
    };
    let find = |name: String| {
        let found = gadgets.iter().find(|gadget| gadget.spec().name == name);
        let all = || gadgets.iter().map(|gadget| gadget.spec().name.as_str());
        found.cloned().ok_or_else(|| {
            let all = all().collect::<Vec<_>>().join(", ");
            Problem::new(
                "ValueError",
                format!("there is no built-in gadget {name:?}: take {all}"),
            )
        })
    };
    names.into_iter().map(find).collect()
}

/// Reads the configurations of servers, by their names.
pub fn servers(configs: Map<String, Value>) -> Result<Vec<(String, ServerConfig)>, Problem> {
    let read = configs.into_iter().map(|(name, config)| {
        let config = serde_json::from_value(config);
        let config =
            config.map_err(|error| Problem::new("ValueError", format!("{name}: {error}")))?;
        Ok((name, config))
    });
    read.collect()
}

/// The tools of servers as gadgets, and what is wrong with others.
pub fn tools(servers: &Servers, reserved: &[String]) -> (Vec<Arc<dyn DynGadget>>, Vec<String>) {
    let reserved: Vec<&str> = reserved.iter().map(String::as_str).collect();
    let offer = servers.gadgets(&reserved);
    let failures = servers.failures().iter().map(ToString::to_string);
    let warnings = offer.warnings.iter().map(ToString::to_string);
    let problems = failures.chain(warnings).collect();
    (offer.gadgets.into_iter().collect(), problems)
}
