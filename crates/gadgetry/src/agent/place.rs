//! Where a run stands: alone, or below the run whose gadget has started it.

use futures_core::future::BoxFuture;
use gadgetry_proto::run::{Command, Run};
use tokio::sync::mpsc;

use crate::agent::Inner;
use crate::context::{CancellationToken, Subagent};
use crate::driver::{Ended, Observer, drive};
use crate::family::Family;
use crate::services::Services;

/// Where a run is driven.
pub(super) enum Place {
    Alone(Box<Services>),
    Below(Box<Subagent>),
}

impl Place {
    /// A place for one more run.
    pub(super) fn of(inner: &Inner) -> Self {
        let mut services = inner.services.clone();
        let budget = inner.spec.budget;
        let Some(parent) = &inner.parent else {
            // Nothing that is spent by one run is known to another.
            services.family = Family {
                max_depth: services.family.max_depth,
                budget,
                ..Family::default()
            };
            return Self::Alone(Box::new(services));
        };
        // Also when nothing is left to spend: then the run says so by its end.
        match parent.subagent_place() {
            Ok(mut subagent) => {
                let mut family = subagent.services.family.clone();
                family.max_depth = services.family.max_depth;
                services.family = match budget {
                    Some(dollars) => family.narrowed(dollars),
                    None => family,
                };
                subagent.services = services;
                Self::Below(Box::new(subagent))
            }
            Err(error) => unreachable!("`build` has looked at the parent: {error}"),
        }
    }

    pub(super) fn services(&self) -> &Services {
        match self {
            Self::Alone(services) => services,
            Self::Below(subagent) => &subagent.services,
        }
    }

    pub(super) fn services_mut(&mut self) -> &mut Services {
        match self {
            Self::Alone(services) => services,
            Self::Below(subagent) => &mut subagent.services,
        }
    }

    /// On the heap: a driver is too large to be moved about.
    pub(super) fn drive(
        self,
        run: Run,
        commands: mpsc::Receiver<Command>,
        observer: &mut dyn Observer,
    ) -> BoxFuture<'_, Ended> {
        Box::pin(async move {
            match self {
                Self::Alone(services) => drive(run, &services, commands, observer).await,
                Self::Below(subagent) => subagent.drive(run, commands, observer).await,
            }
        })
    }
}

/// The end of `run`, which `token` cancels when `outer` is cancelled.
pub(super) async fn cancelled_by(
    outer: Option<&CancellationToken>,
    token: &CancellationToken,
    mut run: BoxFuture<'_, Ended>,
) -> Ended {
    let Some(outer) = outer else {
        return run.await;
    };
    if let Some(ended) = outer.run_until_cancelled(&mut run).await {
        return ended;
    }
    token.cancel();
    run.await
}
