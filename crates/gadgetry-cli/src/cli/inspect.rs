//! Options of `gadgetry inspect`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::DataArgs;

/// Options of `gadgetry inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Sessions, logs of `gadgetry agent --save FILE`, or events of `--events jsonl` [default: all sessions]
    #[arg(value_name = "SESSION|FILE")]
    pub(crate) runs: Vec<OsString>,

    /// Write the page and the runs to one HTML file instead, without keys
    ///
    /// The file opens in a browser without a server, and loads nothing. Long texts are shortened so that it fits in a
    /// megabyte. Keys are removed: the values of variables that hold keys, and text that looks like a key. Review the
    /// file before you share it.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write a trace of the last run for ui.perfetto.dev instead, without keys
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,

    /// Local port of the page [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}
