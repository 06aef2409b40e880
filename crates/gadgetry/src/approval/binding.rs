//! Binding of calls to approvals: only an approved call runs.
//!
//! A decision is made before a call starts. Until its gadget acts, files, links and definitions may change, and so may the
//! parameters. So a decision is kept with its preview, the gadget compares that preview with its actual effects
//! ([`ExecutionContext::check_approved`]), and the call needs a new decision if they differ.

use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::run::Start;
use serde_json::Value;

use super::Approvals;
use super::decided::Record;
use crate::context::ExecutionContext;
use crate::control::{BeforeGadget, RunContext};
use crate::gadget::{DynGadget, attempt, closed};
use crate::toolbox::Toolbox;

/// Maximum number of decisions about a call whose target keeps changing.
const ATTEMPTS: usize = 16;

/// A call that executes only in its approved form.
pub(crate) struct Binding {
    approvals: Approvals,
    run: RunContext,
    toolbox: Arc<Toolbox>,
    start: Start,
}

impl Approvals {
    /// Binds the execution of a call to the decision about it.
    pub(crate) fn bind(&self, run: RunContext, toolbox: Arc<Toolbox>, start: Start) -> Binding {
        Binding {
            approvals: self.clone(),
            run,
            toolbox,
            start,
        }
    }
}

impl Binding {
    /// Executes the call as approved; as long as its effects would differ, requests a new decision.
    ///
    /// Cancel safety: dropping the future drops the gadget's own, and withdraws a request to the user.
    pub(crate) async fn call(
        self,
        gadget: &dyn DynGadget,
        parameters: Value,
        context: ExecutionContext,
    ) -> Outcome {
        for _ in 0..ATTEMPTS {
            let Some(record) = self.take() else {
                let Self {
                    run,
                    toolbox,
                    start,
                    ..
                } = &self;
                match self.approvals.decide(run, toolbox, start).await {
                    BeforeGadget::Deny(reason) => {
                        return closed(Outcome::error(reason), &context);
                    }
                    BeforeGadget::Proceed
                    | BeforeGadget::Parameters(_)
                    | BeforeGadget::Result(_) => continue,
                }
            };
            let _ended = record.end.drop_guard();
            context.set_approved(record.approved);
            let outcome = attempt(gadget, parameters.clone(), &context).await;
            if !context.take_changed() {
                return closed(outcome, &context);
            }
        }
        let name = context.gadget_name();
        let error = format!("{name} was not executed: what it acts on changes again and again");
        closed(Outcome::error(error), &context)
    }

    fn take(&self) -> Option<Record> {
        self.approvals.0.decided().take(&self.start)
    }
}
