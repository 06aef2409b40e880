//! The scope of a run of an agent: its own, or that of the gadget call that starts it.

use futures_core::future::BoxFuture;
use gadgetry_proto::run::{Command, Run};
use tokio::sync::mpsc;

use crate::agent::inner::Inner;
use crate::context::CancellationToken;
use crate::driver::{RunResult, Subagent, drive_recorded};
use crate::journal::Recording;
use crate::observer::Observer;
use crate::scope::BudgetScope;
use crate::services::Services;

/// Services of a top-level run, or of a subagent.
pub(super) enum AgentScope {
    TopLevel(Box<Services>),
    Subagent(Box<Subagent>),
}

impl AgentScope {
    /// Creates the scope of one more run of an agent.
    pub(super) fn of(inner: &Inner) -> Self {
        let mut services = inner.services.clone();
        let budget = inner.plan.config().budget;
        let Some(parent) = &inner.parent else {
            // A new scope for each run: the spending of one does not count for another.
            services.scope = BudgetScope {
                max_depth: services.scope.max_depth,
                budget,
                ..BudgetScope::default()
            };
            return Self::TopLevel(Box::new(services));
        };
        // Also if the budget is spent: then the run ends for that reason.
        let mut subagent = parent.subagent();
        let mut scope = subagent.services.scope.clone();
        scope.max_depth = services.scope.max_depth;
        services.scope = match budget {
            Some(dollars) => scope.narrowed(dollars),
            None => scope,
        };
        services.durable = subagent.durable();
        subagent.services = services;
        Self::Subagent(Box::new(subagent))
    }

    pub(super) fn services(&self) -> &Services {
        match self {
            Self::TopLevel(services) => services,
            Self::Subagent(subagent) => &subagent.services,
        }
    }

    pub(super) fn services_mut(&mut self) -> &mut Services {
        match self {
            Self::TopLevel(services) => services,
            Self::Subagent(subagent) => &mut subagent.services,
        }
    }

    /// Drives `run` to its end. Boxed, because the future of a driver is large and would be moved.
    pub(super) fn drive(
        self,
        run: Run,
        recording: Option<Recording>,
        commands: mpsc::Receiver<Command>,
        observer: &mut dyn Observer,
    ) -> BoxFuture<'_, RunResult> {
        Box::pin(async move {
            match self {
                Self::TopLevel(services) => {
                    drive_recorded(run, &services, recording, commands, observer).await
                }
                Self::Subagent(subagent) => {
                    subagent
                        .drive_recorded(run, recording, commands, observer)
                        .await
                }
            }
        })
    }
}

/// Waits for the end of `run`, whose token `token` is cancelled with `outer`.
pub(super) async fn cancelled_by(
    outer: Option<&CancellationToken>,
    token: &CancellationToken,
    mut run: BoxFuture<'_, RunResult>,
) -> RunResult {
    let Some(outer) = outer else {
        return run.await;
    };
    if let Some(ended) = outer.run_until_cancelled(&mut run).await {
        return ended;
    }
    token.cancel();
    run.await
}
