//! Options about the project that an agent works in.

use clap::Args;

/// What an agent does not learn from its folder.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Project")]
pub(crate) struct ProjectOptions {
    /// Omit the folder, Git branch, system and date from the system prompt
    #[arg(long)]
    pub(crate) no_environment: bool,

    /// Do not read the project's AGENTS.md and CLAUDE.md
    ///
    /// They are read from the workspace up to the root of its Git repository; the nearest one counts most. They are
    /// only text: they set no option, rule or permission.
    #[arg(long)]
    pub(crate) no_instructions: bool,

    /// Do not look for skills, commands and subagents in .agents and .claude
    #[arg(long)]
    pub(crate) no_discovery: bool,
}
