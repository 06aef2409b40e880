//! Options about where gadgets come from.

use std::path::PathBuf;

use clap::Args;

/// Where gadgets come from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GadgetOptions {
    /// TOML file with gadgets that are programs, in place of the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(crate) gadgets: Option<PathBuf>,

    /// Built-in gadgets: `all`, `none`, or names separated by commas [default: all, or none with --gadgets]
    #[arg(long, value_name = "LIST")]
    pub(crate) builtins: Option<String>,

    /// Folder that the built-in gadgets work in and cannot leave [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Run commands of `RunCommand` in a sandbox: no network, no writing outside the workspace (Linux)
    #[arg(long, group = "confined")]
    pub(crate) sandbox: bool,
}
