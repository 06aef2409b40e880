//! Options of `gadgetry models`.

use clap::{Args, Subcommand};

use super::DataArgs;

/// Options of `gadgetry models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    /// Another action than listing.
    #[command(subcommand)]
    pub(crate) verb: Option<ModelsVerb>,

    /// List only models with TEXT in their names
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,

    /// List only models of this provider
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// List only models with this feature; may be repeated
    #[arg(long = "feature", value_name = "FEATURE", value_parser = features())]
    pub(crate) features: Vec<String>,

    /// List only models that run locally
    #[arg(long)]
    pub(crate) local: bool,

    /// List the whole catalogue with notes, including models that are gone, lack a key, or have no provider here
    #[arg(long)]
    pub(crate) all: bool,

    /// List the models of the server at this base URL instead, with what it reports about itself
    #[arg(long, value_name = "URL", conflicts_with_all = ["provider", "features", "local", "all"])]
    pub(crate) base_url: Option<String>,

    /// Environment variable with that server's API key
    #[arg(long, value_name = "VAR", requires = "base_url")]
    pub(crate) api_key_env: Option<String>,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Actions on the table of models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsVerb {
    /// Reads a newer table and stores it for later commands.
    ///
    /// The table is LiteLLM's `model_prices_and_context_window.json`, or one that gadgetry has written.
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
