//! The services that a run is driven with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gadgetry_proto::run::{Asks, Retry};

use crate::approval::Approvals;
use crate::control::{DynHook as _, Hooks, Values};
use crate::gadget::{DynGadget, Permission};
use crate::human::Human;
use crate::journal::DurableRun;
use crate::limiter::Limiter;
use crate::runtime::{Runtime, Tokio};
use crate::scope::BudgetScope;
use crate::toolbox::Toolbox;
use gadgetry_providers::model::{Model, Models};

/// Everything outside the engine that a run needs. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry::{ScriptedModel, Services, Toolbox};
///
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let services = Services::new(Arc::new(model), Toolbox::default());
/// assert_eq!(services.model.name(), "script");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Services {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The gadgets.
    pub toolbox: Arc<Toolbox>,
    /// The hooks: they watch the run, and decide its questions, except those to the user.
    pub hooks: Hooks,
    /// The values of the run for its gadgets and hooks.
    pub values: Values,
    /// Decides about each call by rules and a user; the last of the hooks of the run, and of its subagents.
    pub approvals: Option<Approvals>,
    /// True if gadgets that need approval run without approvals.
    pub without_approvals: bool,
    /// The user that the run and its gadgets can ask.
    pub human: Option<Arc<dyn Human>>,
    /// The rate limiter of all requests.
    pub limiter: Option<Arc<dyn Limiter>>,
    /// Further models that gadgets can call by name.
    pub models: Models,
    /// Retries of model calls inside gadgets, and in subagents without a setting of their own. The run itself obeys
    /// [`RunConfig::retry`](gadgetry_proto::run::RunConfig::retry).
    pub retry: Option<Retry>,
    /// Time that a cancelled gadget may take to clean up before its future is dropped: 2 seconds by default, in subagents half of
    /// that for each level. A gadget that has never taken its token gets no time, because it cannot notice the cancellation.
    pub grace: Duration,
    /// The depth, cancellation and budget that the run shares with its subagents.
    pub scope: BudgetScope,
    /// The clock, timers and tasks; [`Tokio`] by default.
    pub runtime: Arc<dyn Runtime>,
    /// Location of the run in a journal, if it is durable: [`Agent::durable`](crate::Agent::durable) sets it. Its subagents are
    /// kept there, too.
    pub durable: Option<DurableRun>,
}

impl Services {
    /// Creates services with a model and gadgets, without hooks and a user.
    pub fn new(model: Arc<dyn Model>, toolbox: impl Into<Arc<Toolbox>>) -> Self {
        Self {
            model,
            toolbox: toolbox.into(),
            hooks: Hooks::default(),
            values: Values::default(),
            approvals: None,
            without_approvals: false,
            human: None,
            limiter: None,
            models: Models::default(),
            retry: None,
            grace: Duration::from_secs(2),
            scope: BudgetScope::default(),
            runtime: Arc::new(Tokio),
            durable: None,
        }
    }

    /// Passes the gadgets to the hooks: for the check of rewritten parameters, and for the approvals, which are the last hook.
    pub(crate) fn hook_up(&mut self) {
        self.hooks.set_gadgets(Arc::clone(self.toolbox.registry()));
        if let Some(approvals) = &self.approvals {
            let toolbox = Arc::clone(&self.toolbox);
            self.hooks.set_last(approvals.clone().hook(toolbox));
        }
    }

    /// Returns the reason why `gadget` must not be executed, whatever a hook decides; `None` if it may be. Its permission may
    /// have changed since the agent was built.
    pub(crate) fn denial(&self, gadget: &dyn DynGadget) -> Option<String> {
        let is_decided = self.approvals.is_some() || self.without_approvals;
        (!is_decided && gadget.permission() != Permission::Allow).then(|| {
            let name = &gadget.spec().name;
            format!("Denied: {name} needs approval, but this agent has no approvals")
        })
    }

    /// Returns the questions that a run must ask for these services: the value for
    /// [`RunConfig::asks`](gadgetry_proto::run::RunConfig::asks).
    pub fn asks(&self) -> Asks {
        Asks {
            human: self.human.is_some(),
            ..self.hooks.questions()
        }
    }

    /// Returns the questions of a durable run: without a [`Human`], the user answers through the journal.
    pub(crate) fn durable_asks(&self) -> Asks {
        Asks {
            human: true,
            ..self.asks()
        }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("model", &self.model.name())
            .field("toolbox", &self.toolbox)
            .field("models", &self.models)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
