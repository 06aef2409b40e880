//! Options of `gadgetry models`.

use clap::{Args, Subcommand};

use super::DataArgs;

/// Options of `gadgetry models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    /// Something else than a list.
    #[command(subcommand)]
    pub(crate) verb: Option<ModelsVerb>,

    /// Only models with this text in their names
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,

    /// Only models of this provider
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// Only models that can do this; may be repeated
    #[arg(long = "feature", value_name = "FEATURE", value_parser = features())]
    pub(crate) features: Vec<String>,

    /// Only models that run on the user's machine
    #[arg(long)]
    pub(crate) local: bool,

    /// Models that cannot be used here, too, and why not
    #[arg(long)]
    pub(crate) all: bool,

    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// What is done with the table of models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// Reads a newer table, and keeps it for later commands.
    ///
    /// It is LiteLLM's `model_prices_and_context_window.json`, or a table that gadgetry has written.
    Update(UpdateArgs),
}

/// Options of `gadgetry models update`.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// The table: a file, or an http(s) URL
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) from: String,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

fn features() -> clap::builder::PossibleValuesParser {
    gadgetry::models::Feature::ALL
        .map(gadgetry::models::Feature::name)
        .into()
}
