//! Options of `gadgetry mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use gadgetry::approval::Rule;

use super::{ConfigArgs, GadgetOptions};

/// Options of `gadgetry mcp`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct McpArgs {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: McpVerb,
}

/// Verbs of `gadgetry mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    /// Lists the configured servers and whether they are used
    List(McpListArgs),
    /// Connects to a server and prints its tools and resources
    ///
    /// Exit code 1: the connection failed; stderr says what to do.
    Test(McpTestArgs),
    /// Logs in to an HTTP server with OAuth
    ///
    /// Prints an address to open in a browser on this machine, and waits until the user has logged in there. Tokens
    /// are kept in the user's data directory, readable only by the user, and refreshed when they expire.
    Login(McpLoginArgs),
    /// Removes what `login` stored
    Logout(McpLoginArgs),
    /// Shows a configured server and trusts it
    ///
    /// Until then, no program from a configuration file is started, and no request is sent to an address in a
    /// project's file. A server that changes must be trusted again.
    Trust(McpTrustArgs),
    /// Adds the servers of Claude Code, Claude Desktop and Cursor to the user's configuration file
    ///
    /// Servers whose names are already in the file are not changed.
    Import(McpImportArgs),
    /// Serves gadgets to MCP clients, over stdio or HTTP
    ///
    /// Over stdio, the client starts this command and talks to it on stdin and stdout. The client's user approves
    /// calls that need approval; if the client cannot prompt its user, they are denied. `[approvals]` and `[skills]`
    /// of the configuration also apply.
    Serve(Box<McpServeArgs>),
}

/// Options of `gadgetry mcp list`.
#[derive(Debug, Args)]
pub(crate) struct McpListArgs {
    /// Print one JSON object per line instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry mcp test`.
#[derive(Debug, Args)]
pub(crate) struct McpTestArgs {
    /// The name of a configured server, a command line, or a URL
    #[arg(value_name = "NAME|COMMAND|URL")]
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry mcp login` and `logout`.
#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    /// The name of a configured server, or a URL
    #[arg(value_name = "NAME|URL")]
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry mcp trust`.
#[derive(Debug, Args)]
pub(crate) struct McpTrustArgs {
    /// The name of a configured server
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Forget the decision about the server
    #[arg(long)]
    pub(crate) revoke: bool,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry mcp import`.
#[derive(Debug, Args)]
pub(crate) struct McpImportArgs {
    /// File with a list of servers [default: those in the home directory]
    #[arg(value_name = "FILE", conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,

    /// Import only this program's servers [default: those of all]
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) from: Option<ImportSource>,

    /// Also read the lists of this project: .mcp.json and .cursor/mcp.json in the working directory
    #[arg(long)]
    pub(crate) project: bool,

    /// Print what would be added; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// A program with a list of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportSource {
    /// Claude Code
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// The editor Cursor
    Cursor,
}

/// Options of `gadgetry mcp serve`.
#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    #[command(flatten)]
    pub(crate) source: GadgetOptions,

    /// Folder with skills, which clients find as prompts; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) skills: Vec<PathBuf>,

    /// Rule about calls, such as `allow ReadFile`; may be repeated, the first that matches decides
    #[arg(long, value_name = "RULE", help_heading = "Approvals")]
    pub(crate) approval: Vec<Rule>,

    /// Approve every call that no rule denies; needs --sandbox
    #[arg(long, requires = "confined", help_heading = "Approvals")]
    pub(crate) yes: bool,

    /// Allow --yes without a sandbox: commands run with all of your rights
    #[arg(long, group = "confined", help_heading = "Approvals")]
    pub(crate) dangerously_without_sandbox: bool,

    /// Serve over HTTP at this address; port 0 takes a free one. Addresses other than this machine's own need keys
    /// [default: stdio]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,

    /// File of client keys, one per line, each optionally after a name
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) keys: Option<PathBuf>,

    /// Maximum time of a call whose gadget sets none [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration)]
    pub(crate) timeout: Option<Duration>,

    /// Maximum size of a result's text, in bytes; longer text is cut [default: 400000]
    #[arg(long, value_name = "BYTES")]
    pub(crate) output_limit: Option<usize>,

    /// Do not print the address to stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}
