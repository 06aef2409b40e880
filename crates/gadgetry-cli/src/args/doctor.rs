//! Options of `gadgetry doctor`.

use std::time::Duration;

use clap::Args;

use super::{DataArgs, ServerArgs, ToolForm};

/// Options of `gadgetry doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Try this model: PROVIDER:NAME, a shortcut like `haiku`, or script:FILE
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How the model is to call the gadget: in blocks of text, or through the provider's own interface
    #[arg(long, value_name = "FORM", default_value = "text", requires = "model")]
    pub(crate) tools: ToolForm,

    /// How long a local server may take to answer
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration, default_value = "2s")]
    pub(crate) wait: Duration,

    /// One JSON object instead of words
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress on stderr, only errors
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}
