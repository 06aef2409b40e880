//! Options about where gadgets come from.

use std::path::PathBuf;

use clap::Args;

use super::TypedServer;

/// Options for the source of gadgets.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GadgetOptions {
    /// TOML file that defines programs as gadgets, replacing the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(crate) gadgets: Option<PathBuf>,

    /// Built-in gadgets: `all`, `none`, or names separated by commas [default: all, or none with --gadgets]
    #[arg(long, value_name = "LIST")]
    pub(crate) builtins: Option<String>,

    /// Folder that the built-in gadgets work in and cannot leave [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Run commands of `RunCommand` in a sandbox: no network, no writes outside the workspace (Linux)
    #[arg(long, group = "confined")]
    pub(crate) sandbox: bool,

    /// MCP server whose tools become gadgets: a command line or a URL, optionally as NAME=SERVER; may be repeated
    #[arg(long, value_name = "SERVER")]
    pub(crate) mcp: Vec<TypedServer>,

    /// Do not use the configured MCP servers
    #[arg(long)]
    pub(crate) no_mcp: bool,

    /// Name of a server in `[mcp.servers]` that is used. What it is comes from the configuration, so no session keeps its keys
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) configured_mcp: Vec<String>,
}

impl GadgetOptions {
    /// The names of the servers that were typed.
    pub(crate) fn mcp_names(&self) -> impl Iterator<Item = &str> {
        self.mcp.iter().map(TypedServer::name)
    }
}
