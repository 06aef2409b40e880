//! Options of every verb that asks a model.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

/// Which model, and how it is asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The model: PROVIDER:NAME, a shortcut like `haiku`, or script:FILE for the replies in a JSON Lines file
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,

    /// Instructions for the model
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,

    /// Reasoning effort: minimal, low, medium or high, or another word that the provider knows
    #[arg(long, value_name = "EFFORT")]
    pub(crate) reasoning: Option<String>,

    /// The tags whose content is reasoning and no part of the answer, separated by commas; `off` for none
    #[arg(long, value_name = "LIST", default_value = "think,thinking", value_parser = tags)]
    pub(crate) reasoning_tags: Tags,

    /// Each reply begins inside the first reasoning tag: the model's prompt template has opened it
    #[arg(long)]
    pub(crate) reasoning_open: bool,

    /// Tokens that a reply may have, reasoning included
    #[arg(long, value_name = "N", value_parser = at_least_one_token)]
    pub(crate) max_tokens: Option<u64>,

    /// Sampling temperature, from 0 to 2
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,

    /// Send a request again at most N times after a failure that may pass [default: 3, or 0 for a script]
    #[arg(long, value_name = "N")]
    pub(crate) max_retries: Option<u32>,

    /// No progress on stderr, only errors
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Names of tags.
#[derive(Clone, Debug)]
pub(crate) struct Tags(pub(crate) Vec<String>);

/// Where this program keeps what it has learnt.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Where `gadgetry models update` keeps its table [default: gadgetry in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "clap calls it, and the engine says what is wrong with a name"
)]
fn tags(text: &str) -> Result<Tags, &'static str> {
    if text == "off" {
        return Ok(Tags(Vec::new()));
    }
    let names = text.split(',').map(|name| name.trim().to_owned());
    Ok(Tags(names.collect()))
}

fn at_least_one_token(text: &str) -> Result<u64, &'static str> {
    super::at_least_one(text).map(|number| number.get() as u64)
}

fn temperature(text: &str) -> Result<f64, &'static str> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| (0.0..=2.0).contains(number))
        .ok_or("write a number from 0 to 2")
}
