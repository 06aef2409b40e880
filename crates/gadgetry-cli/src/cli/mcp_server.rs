//! `--mcp SERVER`: a command line or a URL.

mod target;
#[cfg(feature = "mcp")]
mod typed;

pub(crate) use target::{is_url, name_and_target};
#[cfg(feature = "mcp")]
pub(crate) use typed::TypedServer;

/// Refuses a server in a build without MCP.
#[cfg(not(feature = "mcp"))]
#[derive(Clone, Debug)]
pub(crate) enum TypedServer {}

#[cfg(not(feature = "mcp"))]
impl TypedServer {
    pub(crate) fn name(&self) -> &str {
        match *self {}
    }
}

#[cfg(not(feature = "mcp"))]
impl std::str::FromStr for TypedServer {
    type Err = &'static str;

    fn from_str(_: &str) -> Result<Self, Self::Err> {
        Err("this build of gadgetry has no MCP (feature mcp)")
    }
}
