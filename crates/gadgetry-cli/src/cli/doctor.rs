//! Options of `gadgetry doctor`.

use std::time::Duration;

use clap::Args;

use super::{DataArgs, ServerArgs, ToolForm};

/// Options of `gadgetry doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Model to test: PROVIDER:NAME, a shortcut such as `haiku`, or script:FILE
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Try only text forms, or only native tool calls [default: both]
    #[arg(long, value_name = "FORM", requires = "model")]
    pub(crate) tools: Option<ToolForm>,

    /// Maximum time to wait for a local server
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration, default_value = "2s")]
    pub(crate) wait: Duration,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only errors to stderr, no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}
