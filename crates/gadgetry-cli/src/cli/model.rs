//! Options of every verb that calls a model.

use std::path::PathBuf;

use clap::Args;
use gadgetry::provider::ModelOptions;

use super::ServerArgs;
use super::limits::RetryArgs;

/// The model and the options of its requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The model: PROVIDER:NAME, a shortcut such as `haiku`, or script:FILE for replies from a JSON Lines file
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// System prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,

    /// Reasoning effort: minimal, low, medium, high, or another value that the provider supports
    #[arg(long, value_name = "EFFORT")]
    pub(crate) reasoning: Option<String>,

    /// Tags whose content is reasoning and not part of the answer, separated by commas; `off` for none
    #[arg(long, value_name = "LIST", default_value = "think,thinking", value_parser = tags)]
    pub(crate) reasoning_tags: Tags,

    /// Read replies as beginning inside the first reasoning tag, which the model's prompt template opens
    #[arg(long)]
    pub(crate) reasoning_open: bool,

    /// Maximum tokens per reply, including reasoning
    #[arg(long, value_name = "N", value_parser = at_least_one_token)]
    pub(crate) max_tokens: Option<u64>,

    /// Sampling temperature, from 0 to 2
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,

    #[command(flatten)]
    pub(crate) retry: RetryArgs,

    /// Print only errors to stderr, no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

impl ModelArgs {
    /// The name of the model; empty until a session or a file says it.
    pub(crate) fn name(&self) -> &str {
        self.model.as_deref().unwrap_or_default()
    }

    /// The options for the model itself; those of its server are added when it is found.
    pub(crate) fn options(&self) -> ModelOptions {
        ModelOptions {
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            reasoning_effort: self.reasoning.clone(),
            ..ModelOptions::default()
        }
    }
}

/// Names of tags.
#[derive(Clone, Debug)]
pub(crate) struct Tags(pub(crate) Vec<String>);

/// The data directory.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Directory for sessions and the table of `gadgetry models update` [default: gadgetry in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "clap calls it, and the engine reports what is wrong with a name"
)]
pub(crate) fn tags(text: &str) -> Result<Tags, &'static str> {
    if text == "off" {
        return Ok(Tags(Vec::new()));
    }
    let names = text.split(',').map(|name| name.trim().to_owned());
    Ok(Tags(names.collect()))
}

pub(crate) fn at_least_one_token(text: &str) -> Result<u64, &'static str> {
    super::numbers::at_least_one(text).map(|number| number.get() as u64)
}

pub(crate) fn temperature(text: &str) -> Result<f64, &'static str> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| (0.0..=2.0).contains(number))
        .ok_or("expected a number from 0 to 2")
}
