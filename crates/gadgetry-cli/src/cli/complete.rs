//! Options of `gadgetry complete`.

use std::path::PathBuf;

use clap::Args;

use super::{ConfigArgs, ModelArgs};

/// Options of `gadgetry complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The prompt; `-` or nothing reads stdin. Put it after `--` if it starts with a hyphen
    #[arg(value_name = "PROMPT", default_value = "-", hide_default_value = true)]
    pub(crate) prompt: String,

    /// After a prompt: read stdin and send it before the prompt, separated by a blank line. Otherwise stdin is not read
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    pub(crate) context: Option<String>,

    /// Image for the model: a file or an http(s) URL; may be repeated
    #[arg(long = "image", value_name = "FILE|URL")]
    pub(crate) images: Vec<String>,

    /// Audio for the model: a WAV or MP3 file; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) audio: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}
