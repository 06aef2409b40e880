//! Options of `gadgetry eval`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{DataArgs, ServerArgs};

/// Options of `gadgetry eval`.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Models to measure, one after the other [default: the `model` of the configuration]
    #[arg(value_name = "MODEL")]
    pub(crate) model: Vec<String>,

    /// Measure only these forms of calls, separated by commas or repeated [default: all that the server supports]
    #[arg(long = "form", value_name = "FORM", value_delimiter = ',')]
    pub(crate) forms: Vec<Arm>,

    /// Use only this class of cases; may be repeated
    #[arg(long = "class", value_name = "CLASS", value_delimiter = ',')]
    pub(crate) classes: Vec<Class>,

    /// Maximum number of cases, spread over the classes
    #[arg(long, value_name = "N")]
    pub(crate) cases: Option<NonZeroUsize>,

    /// Use the cases of the Berkeley Function Calling Leaderboard in this folder instead of the built-in ones
    #[arg(
        long,
        value_name = "FOLDER",
        long_help = "Use the cases of the Berkeley Function Calling Leaderboard in this folder instead of the built-in ones: \
            `BFCL_v4_simple_python.json`, `multiple`, `parallel` and `irrelevance`, as far as they are there, with \
            `possible_answer/`"
    )]
    pub(crate) bfcl: Option<PathBuf>,

    /// Markers of blocks
    #[arg(long, value_name = "KIND", default_value = "random")]
    pub(crate) markers: EvalMarkers,

    /// Maximum number of tokens in a reply
    #[arg(long, value_name = "N", default_value = "512")]
    pub(crate) max_tokens: u64,

    /// Maximum time for one reply
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration, default_value = "60s")]
    pub(crate) patience: Duration,

    /// Number of concurrent requests
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) parallel: NonZeroUsize,

    /// Write the best settings of each model to the user's configuration file
    #[arg(long)]
    pub(crate) save: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only errors to stderr, no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// The markers of blocks that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalMarkers {
    /// New ones, as `agent` has them by default.
    Random,
    /// Markers of the specification.
    Plain,
}

/// A form of calls, with what helps a model to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub(crate) enum Arm {
    /// Blocks of text, as they are by default
    #[value(name = "text")]
    #[serde(rename = "text")]
    Text,
    /// Blocks of text after worked turns
    #[value(name = "text+examples")]
    #[serde(rename = "text+examples")]
    TextExamples,
    /// JSON calls after worked turns
    #[value(name = "json+examples")]
    #[serde(rename = "json+examples")]
    JsonExamples,
    /// Blocks after worked turns, under a grammar
    #[value(name = "constrained")]
    #[serde(rename = "constrained")]
    Constrained,
    /// JSON calls after worked turns, under a grammar
    #[value(name = "constrained-json")]
    #[serde(rename = "constrained-json")]
    ConstrainedJson,
    /// Native tool calls
    #[value(name = "native")]
    #[serde(rename = "native")]
    Native,
}

/// Kinds of cases.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    /// One tool, one call of it.
    One,
    /// One of several tools.
    Choice,
    /// Several calls.
    Several,
    /// Values with lists and objects.
    Nested,
    /// No call is needed.
    NoCall,
}

impl Class {
    /// All of them, in the order of tables.
    pub(crate) const ALL: [Self; 5] = [
        Self::One,
        Self::Choice,
        Self::Several,
        Self::Nested,
        Self::NoCall,
    ];

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Choice => "choice",
            Self::Several => "several",
            Self::Nested => "nested",
            Self::NoCall => "no-call",
        }
    }
}
