//! Connection options of a model's server.

use std::time::Duration;

use clap::Args;
use gadgetry::command::parse_duration;

/// Connection options of a model's server, with extra headers and fields.
#[derive(Clone, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ServerArgs {
    /// Base URL of the API, up to /v1 [default: from the environment, or the provider's own]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// Environment variable with the API key [default: the provider's own]
    #[arg(long, value_name = "VAR")]
    pub(crate) api_key_env: Option<String>,

    /// Extra request header, written NAME: VALUE; may be repeated
    #[arg(long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,

    /// Extra fields for the request body, as a JSON object; null removes a field
    #[arg(long, value_name = "JSON")]
    pub(crate) extra_body: Option<String>,

    /// Ignore the proxy settings of the environment
    #[arg(long)]
    pub(crate) no_proxy: bool,

    /// Connection timeout [default: 15s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) connect_timeout: Option<Duration>,

    /// Maximum time without data from the server, before and during a reply [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) model_timeout: Option<Duration>,
}

/// Headers and fields may hold keys.
impl std::fmt::Debug for ServerArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerArgs").finish_non_exhaustive()
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, &'static str> {
    parse_duration(text).ok_or("expected a number and a unit, such as 500ms, 90s, 1.5m or 1h")
}
