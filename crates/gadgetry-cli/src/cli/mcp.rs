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
    /// Lists the servers of the configuration, and whether they are used
    List(McpListArgs),
    /// Connects to a server, and prints its tools and resources
    ///
    /// Exit code 1: there is no connection; stderr says what to do.
    Test(McpTestArgs),
    /// Logs in to a server over HTTP, with OAuth
    ///
    /// Prints an address to open in a browser on this machine, and waits until the user has logged in there. Tokens are kept in the
    /// user's data directory, readable by the user only, and refreshed when they expire.
    Login(McpLoginArgs),
    /// Removes what `login` has kept
    Logout(McpLoginArgs),
    /// Shows a server of the configuration, and trusts it
    ///
    /// A program of a configuration file is not started before that, nor are requests sent to an address in the file of a
    /// project. After a change of the server it must be trusted again.
    Trust(McpTrustArgs),
    /// Adds the servers of Claude Code, Claude Desktop and Cursor to the user's configuration file
    ///
    /// Servers whose names the file has already are not changed.
    Import(McpImportArgs),
    /// Serves gadgets to MCP clients, over stdio or HTTP
    ///
    /// Over stdio, the client starts this command and talks to it on stdin and stdout. Calls that need approval are put to the
    /// client's user, or denied if the client cannot do that. `[approvals]` and `[skills]` of the configuration count as well.
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
    /// The name of a server in the configuration, a command line, or a URL
    #[arg(value_name = "NAME|COMMAND|URL")]
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry mcp login` and `logout`.
#[derive(Debug, Args)]
pub(crate) struct McpLoginArgs {
    /// The name of a server in the configuration, or a URL
    #[arg(value_name = "NAME|URL")]
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry mcp trust`.
#[derive(Debug, Args)]
pub(crate) struct McpTrustArgs {
    /// The name of a server in the configuration
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
    /// A list of servers [default: those in the home directory]
    #[arg(value_name = "FILE", conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,

    /// The program whose list it is [default: all of them]
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) from: Option<ImportSource>,

    /// Read the lists of this project as well: .mcp.json and .cursor/mcp.json in the working directory
    #[arg(long)]
    pub(crate) project: bool,

    /// Print what would be added, and write nothing
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
    /// Cursor
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

    /// Let --yes approve commands that run with all of your rights
    #[arg(long, group = "confined", help_heading = "Approvals")]
    pub(crate) dangerously_without_sandbox: bool,

    /// Serve over HTTP at this address; port 0 takes a free one. Any but this machine's own needs keys [default: stdio]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,

    /// File with the keys of clients, one in each line, with a name before it if there are two words
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) keys: Option<PathBuf>,

    /// Maximum time of a call whose gadget has none of its own [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration)]
    pub(crate) timeout: Option<Duration>,

    /// Maximum size of a result's text, in bytes; a longer one is cut [default: 400000]
    #[arg(long, value_name = "BYTES")]
    pub(crate) output_limit: Option<usize>,

    /// No line about the address on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}
