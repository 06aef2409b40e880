//! Options about which calls run.

use clap::Args;
use gadgetry::approval::Rule;

use crate::modes::Mode;

/// Options that decide which calls run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Approvals")]
pub(crate) struct ApprovalOptions {
    /// Rule about calls, such as `allow RunCommand(cargo test *)`; may be repeated, the first that matches decides
    ///
    /// `allow`, `ask` or `deny`, and the name of a gadget with `*` for any text, optionally with a pattern for the file, the
    /// command or the URL in parentheses. Without a rule, gadgets that write, run or fetch ask, and the others run.
    #[arg(long, value_name = "RULE")]
    pub(crate) approval: Vec<Rule>,

    /// Rules of `[approvals]` in files, after those that were typed
    #[arg(long, value_name = "RULE", hide = true)]
    pub(crate) configured_approval: Vec<Rule>,

    /// Mode of approval: `ask`, `accept-edits` (built-in gadgets write and edit files without asking), or `plan` (read only)
    ///
    /// In plan mode, gadgets that need approval are denied, whatever rules and --yes say.
    #[arg(
        long,
        value_name = "MODE",
        default_value = "ask",
        hide_possible_values = true
    )]
    pub(crate) approval_mode: Mode,

    /// Approve every call that no rule denies; needs --sandbox
    #[arg(long)]
    pub(crate) yes: bool,

    /// Allow --yes without a sandbox: commands run with all of your rights
    #[arg(long, group = "confined")]
    pub(crate) dangerously_without_sandbox: bool,

    /// Execute nothing; print each call and whether it would run
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}
