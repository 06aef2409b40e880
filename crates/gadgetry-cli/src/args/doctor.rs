//! Options of `gadgetry doctor`.

use clap::Args;

use super::DataArgs;

/// Options of `gadgetry doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Try this model: PROVIDER:NAME, a shortcut like `haiku`, or script:FILE
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Where the provider's server is, up to /v1 [default: what the environment says, or the provider's own]
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// One JSON object instead of words
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress on stderr, only errors
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}
