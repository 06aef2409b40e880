//! Options of `gadgetry acp`.

use clap::Args;

use super::{AgentOptions, ConfigArgs};

/// Options of `gadgetry acp`.
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) options: AgentOptions,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}
