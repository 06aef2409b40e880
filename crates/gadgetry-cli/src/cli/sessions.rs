//! Options of sessions: those of `gadgetry agent`, and `gadgetry sessions`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use gadgetry::command::parse_duration;

use super::{DataArgs, SessionName};

/// Options that choose the session of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Name of the session: up to 64 letters, digits, hyphens and underscores [default: a short generated one]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["no_session", "continues"])]
    pub(crate) session: Option<SessionName>,

    /// Do not keep the run as a session
    #[arg(long, conflicts_with = "continues")]
    pub(crate) no_session: bool,

    /// Continue a session, with [NAME] [PROMPT] as arguments; without NAME, the latest one in this folder
    ///
    /// An interrupted run is resumed, with the prompt added to it. After a run that has ended, the prompt begins
    /// another one; without a prompt, the answer is printed again. Options that are not given come from the session.
    #[arg(long = "continue")]
    pub(crate) continues: bool,

    /// With --continue: resume the run even if its gadgets or prompts have changed since it began
    #[arg(long, requires = "continues")]
    pub(crate) force: bool,
}

/// The option for a worktree.
#[derive(Debug, Args)]
pub(crate) struct WorktreeArgs {
    /// Work in a Git worktree: branch NAME in the repository's .gadgetry/worktrees/NAME, created if missing
    ///
    /// The worktree is the agent's workspace, and remains until `git worktree remove`.
    #[arg(long, value_name = "NAME", conflicts_with = "workspace")]
    pub(crate) worktree: Option<SessionName>,
}

/// Options of `gadgetry sessions`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct SessionsArgs {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: SessionsVerb,
}

impl SessionsArgs {
    /// The data directory; that of `resume` is the agent's.
    pub(super) fn data_mut(&mut self) -> Option<&mut DataArgs> {
        Some(match &mut self.verb {
            SessionsVerb::List(args) => &mut args.data,
            SessionsVerb::Show(args) => &mut args.data,
            SessionsVerb::Answer(args) => &mut args.data,
            SessionsVerb::Export(args) => &mut args.data,
            SessionsVerb::Rm(args) => &mut args.data,
            SessionsVerb::Vacuum(data) => data,
            SessionsVerb::Resume(_) => return None,
        })
    }
}

/// Verbs of `gadgetry sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsVerb {
    /// Lists the sessions, latest first
    List(ListArgs),
    /// Prints the prompts and answers of a session, with its status, cost and open questions
    Show(ShowArgs),
    /// Resumes a session, like `gadgetry agent --continue NAME`
    ///
    /// Model, gadgets and options come from the session; options given here override them. Keys are read from the
    /// environment. If the last run has ended, its answer is printed again.
    Resume(ResumeArgs),
    /// Answers a question that a session is waiting on
    ///
    /// The answer is kept until the session is resumed.
    Answer(SessionAnswerArgs),
    /// Writes the log of a session's run, for `gadgetry replay`
    ///
    /// Exit code 1: the stored run is damaged; its readable part is written.
    Export(ExportArgs),
    /// Removes sessions
    Rm(RemoveArgs),
    /// Frees the disk space of removed sessions
    Vacuum(DataArgs),
}

/// Options of `gadgetry sessions list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Options of `gadgetry sessions show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the session
    #[arg(value_name = "NAME")]
    pub(crate) name: SessionName,

    /// Print the events of the last run, or of --run, as JSON Lines instead
    #[arg(long)]
    pub(crate) events: bool,

    /// Show only run N; each prompt has one, numbered from 1
    #[arg(long, value_name = "N", value_parser = run_number)]
    pub(crate) run: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Options of `gadgetry sessions resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Name of the session
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Another prompt, and options of `gadgetry agent`
    #[arg(
        value_name = "OPTIONS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) options: Vec<OsString>,
}

/// Options of `gadgetry sessions answer`.
#[derive(Debug, Args)]
pub(crate) struct SessionAnswerArgs {
    /// Name of the session
    #[arg(value_name = "NAME")]
    pub(crate) name: SessionName,

    /// Question to answer, as `gadgetry sessions show` prints it
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,

    /// The answer; `yes` runs an interrupted gadget again
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Options of `gadgetry sessions export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Name of the session
    #[arg(value_name = "NAME")]
    pub(crate) name: SessionName,

    /// File to write, readable only by its owner [default: stdout]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Write run N; each prompt has one, numbered from 1 [default: the last one]
    #[arg(long, value_name = "N", value_parser = run_number)]
    pub(crate) run: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Options of `gadgetry sessions rm`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Names of the sessions
    #[arg(value_name = "NAME", required_unless_present = "older_than")]
    pub(crate) names: Vec<SessionName>,

    /// Remove all sessions unused for this time, such as 30d or 12h, except those in progress
    #[arg(long, value_name = "DURATION", value_parser = age, conflicts_with = "names")]
    pub(crate) older_than: Option<Duration>,

    #[command(flatten)]
    pub(crate) data: DataArgs,
}

fn run_number(text: &str) -> Result<NonZeroU32, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1")
}

/// A duration, also in days.
fn age(text: &str) -> Result<Duration, &'static str> {
    const HOURS: u32 = 24;
    let duration = match text.strip_suffix('d') {
        Some(days) => parse_duration(&format!("{days}h")).and_then(|it| it.checked_mul(HOURS)),
        None => parse_duration(text),
    };
    duration.ok_or("expected a number and a unit, such as 30d, 12h or 90m")
}
