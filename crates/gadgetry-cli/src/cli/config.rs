//! Options about configuration, and those of `config`, `init`, `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use gadgetry::approval::Rule;

use super::GadgetOptions;

/// Options that choose the configuration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigArgs {
    /// Configuration file to use instead of the user's
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Read no configuration files
    #[arg(long, conflicts_with_all = ["config", "profile"])]
    pub(crate) no_config: bool,

    /// Configuration profile to use
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

impl ConfigArgs {
    /// These options, or else those of `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            config: self.config.or(other.config),
            no_config: self.no_config || other.no_config,
            profile: self.profile.or(other.profile),
        }
    }
}

/// Options of `gadgetry config`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConfigVerbArgs {
    /// Another action than showing.
    #[command(subcommand)]
    pub(crate) verb: Option<ConfigVerbs>,

    /// Show the values with this profile
    #[arg(value_name = "PROFILE", conflicts_with = "no_config")]
    pub(crate) profile_name: Option<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Actions on the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerbs {
    /// Shows this project's file, ./gadgetry.toml, and trusts it
    ///
    /// An untrusted file is not used. If the file, or a gadget file or prompt that it names, changes, it must be
    /// trusted again.
    Trust(TrustArgs),
    /// Shows the rules that decide which calls run, in order, and what applies to calls without a rule
    Approvals(Box<ApprovalsArgs>),
}

/// Options of `gadgetry config approvals`.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// Rule of the command line, as for `gadgetry agent`; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) approval: Vec<Rule>,

    /// Include the rule that `--yes` adds
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) source: GadgetOptions,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry config trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Forget the decision about the file
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// Options of `gadgetry init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Write ./gadgetry.toml, for this project, instead of the user's file
    #[arg(long)]
    pub(crate) project: bool,

    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Options of `gadgetry completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Options of `gadgetry man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write the pages of all verbs to [default: the main page goes to stdout]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
