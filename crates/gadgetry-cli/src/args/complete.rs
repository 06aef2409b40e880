//! Options of `gadgetry complete`.

use std::path::PathBuf;

use clap::Args;

use super::ModelArgs;

/// Options of `gadgetry complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// What the user says, behind what is piped into stdin; `-` or nothing: stdin alone
    #[arg(value_name = "PROMPT", default_value = "-", hide_default_value = true)]
    pub(crate) prompt: String,

    /// Show the model this picture: a file, or an http(s) URL; may be repeated
    #[arg(long = "image", value_name = "FILE|URL")]
    pub(crate) images: Vec<String>,

    /// Let the model hear this WAV or MP3 file; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) audio: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
