//! The host of a run's gadgets.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::event::RunInfo;
use gadgetry_proto::id::{ApprovalId, CallId};
use gadgetry_proto::run::{Decision, Report};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::approval::{Answer, OpenApprovals};
use crate::ask::ModelCall;
use crate::context::{CancellationToken, ExecutionContext, Host, Invocation};
use crate::driver::outside::OutsideAnswers;
use crate::human::Human;
use crate::run_context::RunContext;
use crate::scope::{BudgetScope, Share};
use crate::services::Services;
use gadgetry_providers::model::{Model, Models};

/// Shared parts of all calls of a run: its services, its share of the budget, and the way back to the driver.
pub(super) struct RunHandle {
    pub(super) services: Services,
    pub(super) share: Share,
    /// The run, as hooks and approvers see it.
    pub(super) run: RunContext,
    reports: UnboundedSender<(CallId, Report)>,
    /// Answers from outside, if the run is durable.
    outside: Option<OutsideAnswers>,
}

impl RunHandle {
    pub(super) fn new(
        services: Services,
        info: Option<Arc<RunInfo>>,
        reports: UnboundedSender<(CallId, Report)>,
        is_durable: bool,
    ) -> Self {
        let share = Share::of(&services.scope);
        let info = info.unwrap_or_else(|| services.scope.info(services.model.name()).into());
        let run = RunContext::new(info)
            .reporting(reports.clone())
            .valued(services.values.clone())
            .sharing(services.scope.shared.clone());
        Self {
            services,
            share,
            run,
            reports,
            outside: is_durable.then(OutsideAnswers::default),
        }
    }

    /// Brings a decision from outside to an approval.
    pub(super) fn approve(&self, id: ApprovalId, decision: Decision) {
        let answer = match decision {
            Decision::Proceed => Answer::Once,
            Decision::Deny(reason) => Answer::No(Some(reason)),
            Decision::Request(_)
            | Decision::Reply(_)
            | Decision::AfterReply { .. }
            | Decision::Parameters(_)
            | Decision::Result(_)
            | Decision::Execute
            | Decision::Stop
            | Decision::StopAfter(_) => {
                tracing::warn!("approval {id} does not admit the answer from outside");
                return;
            }
        };
        self.open_approvals().answer_early(id, answer);
    }

    /// Closes an approval, before its end is reported.
    pub(super) fn close_approval(&self, id: ApprovalId) {
        self.open_approvals().close(id);
    }

    fn open_approvals(&self) -> Arc<OpenApprovals> {
        self.services.scope.shared.get()
    }

    /// Brings an answer from outside to the question of a gadget.
    pub(super) fn answer(&self, call: CallId, number: u32, answer: Option<String>) {
        if let Some(outside) = &self.outside {
            outside.answer(call, number, answer);
        }
    }
}

impl Host for RunHandle {
    fn report(&self, call: CallId, report: Report) {
        // It fails when the run is over. Then no one needs the report.
        let _ = self.reports.send((call, report));
    }

    fn scope(&self) -> &BudgetScope {
        &self.services.scope
    }

    fn run(&self) -> Option<&RunContext> {
        Some(&self.run)
    }

    fn spend(&self, dollars: f64) {
        self.share.spend(dollars);
    }

    fn model(&self) -> Option<&Arc<dyn Model>> {
        Some(&self.services.model)
    }

    fn models(&self) -> Models {
        self.services.models.clone()
    }

    fn model_call(&self, model: Arc<dyn Model>) -> ModelCall {
        let services = &self.services;
        ModelCall::new(model)
            .limiter(services.limiter.clone())
            .retry(services.retry.clone())
            .runtime(Arc::clone(&services.runtime))
    }

    fn human(&self) -> Option<&Arc<dyn Human>> {
        self.services.human.as_ref()
    }

    fn outside_answer(
        &self,
        call: CallId,
        number: u32,
    ) -> Option<BoxFuture<'static, Option<String>>> {
        let outside = self.outside.as_ref()?;
        Some(Box::pin(outside.wait(call, number)))
    }

    fn grace(&self) -> Duration {
        self.services.grace
    }
}

impl ExecutionContext {
    /// Creates the context of `invocation` as in the first reply of a run with `services`: it has their model, user and budget.
    /// Progress is discarded, and only `cancellation` cancels it. For tests, and for gadgets that are called outside a run.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use gadgetry::context::InvocationId;
    /// use gadgetry::{BudgetScope, CancellationToken, ExecutionContext, Invocation, ScriptedModel, Services, Toolbox};
    ///
    /// let invocation = Invocation {
    ///     gadget_name: "Test".to_owned(),
    ///     invocation_id: InvocationId::from("t"),
    ///     parameters: gadgetry::serde_json::json!({}),
    ///     dependencies: BTreeMap::new(),
    /// };
    /// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
    /// let mut services = Services::new(Arc::new(model), Toolbox::default());
    /// services.scope = BudgetScope::limited_to(0.5);
    /// let context = ExecutionContext::with_services(&invocation, CancellationToken::new(), services);
    /// context.report_cost(0.25)?;
    /// assert_eq!(context.budget_left(), Some(0.25));
    /// assert_eq!(context.model().map(|model| model.name().to_owned()).as_deref(), Some("script"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_services(
        invocation: &Invocation,
        cancellation: CancellationToken,
        services: Services,
    ) -> Self {
        let (reports, _) = unbounded_channel();
        let host = Arc::new(RunHandle::new(services, None, reports, false));
        Self::with_host(invocation, cancellation, host, CallId(0))
    }

    /// Returns the services of the call's run; `None` without a run, and within a [`Host`] of another kind.
    pub fn services(&self) -> Option<&Services> {
        let host: &dyn Any = &**self.host()?;
        let handle: &RunHandle = host.downcast_ref()?;
        Some(&handle.services)
    }
}
