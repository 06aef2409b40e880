//! Decisions about calls, by rules of the command line and by the user at the terminal.

mod names;
mod question;
mod terminal;

use std::sync::Arc;

#[cfg(feature = "chat")]
use gadgetry::approval::Approver;
use gadgetry::approval::{Approvals, Rule, Rules};
use gadgetry::control::{BeforeGadget, Hook, RunContext, Start};
use gadgetry::proto::schema::RegisteredGadget;
use gadgetry::{Agent, AgentBuilder, DynGadget, Permission, Toolbox};

use crate::cli::{ApprovalOptions, GadgetOptions};
use crate::config::Declared;
use crate::error::Error;
use crate::mcp::Connected;
use crate::modes::Mode;
use crate::printer::is_at_terminal;

use terminal::ByTerminal;

pub(crate) use names::Names;
#[cfg(feature = "chat")]
pub(crate) use question::{Approval, Choice, Verdict};
pub(crate) use terminal::TerminalApprover;

/// Reason for denying calls that need approval if no user is there.
pub(crate) const UNATTENDED: &str =
    "no user is at a terminal; run it in a terminal, or add --approval 'allow …'";

/// Policy that decides about the calls of an agent.
pub(crate) enum Approving {
    /// Every call runs: no gadget needs approval, and there are no rules.
    Free,
    ByRules(Approvals),
    /// No call runs.
    DryRun(Approvals, Arc<Toolbox>),
}

impl Approving {
    /// Decides as the options say. `approver` is the user, if there may be one, and `edits` are the built-in gadgets that edit files.
    pub(crate) fn new(
        options: &ApprovalOptions,
        edits: &[&str],
        gadgets: &[Arc<dyn DynGadget>],
        approver: Option<Arc<TerminalApprover>>,
    ) -> Result<Self, Error> {
        let rules = rules_in_mode(options, edits)?;
        if options.dry_run {
            let mut toolbox = Toolbox::default();
            for gadget in gadgets {
                // A mistake in it is reported when the agent is built.
                let _ = toolbox.add(Arc::clone(gadget));
            }
            let approvals = Approvals::new(rules).unattended("nothing is executed");
            return Ok(Self::DryRun(approvals, Arc::new(toolbox)));
        }
        let is_free = |gadget: &Arc<dyn DynGadget>| gadget.permission() == Permission::Allow;
        if rules.iter().next().is_none() && gadgets.iter().all(is_free) {
            return Ok(Self::Free);
        }
        let approvals = by_rules(rules);
        Ok(Self::ByRules(match approver.filter(|_| is_at_terminal()) {
            Some(approver) => approvals.approver(ByTerminal(approver)),
            None => approvals,
        }))
    }

    pub(crate) fn add_to(self, agent: AgentBuilder) -> AgentBuilder {
        match self {
            Self::Free => agent,
            Self::ByRules(approvals) => agent.approvals(approvals),
            // The hook decides about every call, and nothing is executed.
            Self::DryRun(approvals, toolbox) => {
                let dry_run = DryRun { approvals, toolbox };
                agent.without_approvals().hook(dry_run)
            }
        }
    }
}

/// Approvals by these rules. [`check_names`] says more of a misspelt name than the library could: where it is written, and which
/// servers may have it.
pub(crate) fn by_rules(rules: Rules) -> Approvals {
    Approvals::new(rules).unattended(UNATTENDED).any_names()
}

/// Checks the names in rules, and returns a line about each rule that names no gadget of the agent.
pub(crate) fn check_names(
    options: &ApprovalOptions,
    source: &GadgetOptions,
    declared: &Declared,
    agent: &Agent,
    servers: Option<&Connected>,
) -> Result<Vec<String>, Error> {
    let registry = agent.plan().registry();
    let gadgets = registry.iter().map(RegisteredGadget::name).collect();
    let names = Names {
        gadgets,
        source,
        declared,
        servers,
    };
    names.check_hooks()?;
    names.check(options)
}

/// The rules that the options mean.
pub(crate) fn rules(options: &ApprovalOptions) -> Result<Rules, Error> {
    let given = options.approval.iter().chain(&options.configured_approval);
    let mut rules: Rules = given.cloned().collect();
    if options.yes && !options.dry_run {
        rules.push(Rule::new(Permission::Allow, "*").map_err(Error::input)?);
    }
    Ok(rules)
}

/// The same, and after them what the mode of the options allows, for a run whose mode does not change.
pub(crate) fn rules_in_mode(options: &ApprovalOptions, edits: &[&str]) -> Result<Rules, Error> {
    let mut rules = rules(options)?;
    if options.approval_mode == Mode::AcceptEdits {
        for edit in edits {
            rules.push(Rule::new(Permission::Allow, edit).map_err(Error::input)?);
        }
    }
    Ok(rules)
}

/// Answers a call that would run, so that its dependents are listed as well, and denies any other.
struct DryRun {
    approvals: Approvals,
    toolbox: Arc<Toolbox>,
}

impl Hook for DryRun {
    async fn before_gadget(&self, run: &RunContext, start: &Start) -> BeforeGadget {
        match self.approvals.decide(run, &self.toolbox, start).await {
            BeforeGadget::Proceed | BeforeGadget::Parameters(_) | BeforeGadget::Result(_) => {
                BeforeGadget::Result("Dry run: it would run, and was not executed".to_owned())
            }
            BeforeGadget::Deny(reason) => {
                let reason = reason.strip_prefix("Denied: ").unwrap_or(&reason);
                BeforeGadget::Deny(format!("Dry run: {reason}"))
            }
        }
    }
}

/// The user at the terminal as who approves, if there is one.
#[cfg(feature = "chat")]
pub(crate) fn by_terminal(approver: Arc<TerminalApprover>) -> Option<Arc<dyn Approver>> {
    is_at_terminal().then(|| Arc::new(ByTerminal(approver)) as Arc<dyn Approver>)
}
