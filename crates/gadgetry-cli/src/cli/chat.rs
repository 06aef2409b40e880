//! Options of `gadgetry chat`.

use clap::{Args, ValueEnum};

use super::sessions::WorktreeArgs;
use super::{AgentOptions, ConfigArgs, SessionName};

/// The colours of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    /// Those that suit the terminal.
    Auto,
    /// For a light background.
    Light,
    /// For a dark background.
    Dark,
    /// No colours.
    None,
}

/// Options of `gadgetry chat`.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The first message. Put it after `--` if it starts with a hyphen
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Name of the session: up to 64 letters, digits, hyphens and underscores [default: a short generated one]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Session",
        conflicts_with = "continues"
    )]
    pub(crate) session: Option<SessionName>,

    /// Continue a session; without NAME, the latest one in this folder
    ///
    /// Options that are not given come from the session. An interrupted run is resumed first.
    #[arg(
        long = "continue",
        value_name = "NAME",
        help_heading = "Session",
        num_args = 0..=1
    )]
    pub(crate) continues: Option<Vec<SessionName>>,

    /// With --continue: resume the run even if its gadgets or prompts have changed since it began
    #[arg(long, help_heading = "Session", requires = "continues")]
    pub(crate) force: bool,

    /// Colours: `light` or `dark` to suit the background, `none`, or `auto` [default: auto]
    ///
    /// With `auto`, `NO_COLOR` means none. Otherwise the terminal is queried for its background (OSC 11); until it
    /// responds, `COLORFGBG` applies.
    #[arg(long, value_name = "THEME", hide_possible_values = true)]
    pub(crate) theme: Option<Theme>,

    #[command(flatten)]
    pub(crate) tree: WorktreeArgs,

    #[command(flatten)]
    pub(crate) options: AgentOptions,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}
