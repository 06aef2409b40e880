//! Options of how the server of a model is reached.

use std::time::Duration;

use clap::Args;
use gadgetry::command::parse_duration;

/// How the server of a model is reached, and what else it is sent.
#[derive(Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ServerArgs {
    /// Where the provider's server is, up to /v1 [default: what the environment says, or the provider's own]
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// The environment variable that holds the key [default: the provider's own]
    #[arg(long, value_name = "VAR", requires = "model")]
    pub(crate) api_key_env: Option<String>,

    /// One more header for each request, written NAME: VALUE; may be repeated
    #[arg(long = "header", value_name = "HEADER", requires = "model")]
    pub(crate) headers: Vec<String>,

    /// More fields for the body of each request, as a JSON object; null removes a field
    #[arg(long, value_name = "JSON", requires = "model")]
    pub(crate) extra_body: Option<String>,

    /// Connect directly, without the proxy that the environment names
    #[arg(long)]
    pub(crate) no_proxy: bool,

    /// How long a connection may take [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) connect_timeout: Option<Duration>,

    /// How long the server may be silent, before its reply and within it [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) model_timeout: Option<Duration>,
}

/// Headers and fields may hold keys.
impl std::fmt::Debug for ServerArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerArgs").finish_non_exhaustive()
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("write a number and a unit, like 500ms, 90s, 1.5m or 1h")
}
