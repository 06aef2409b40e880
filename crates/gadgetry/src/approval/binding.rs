//! What was approved is what runs.
//!
//! A decision is made before a call starts. Until its gadget acts, files, links and definitions may change, and so may the
//! parameters. So a decision is kept with the preview that it is about, the gadget compares that with what it would do
//! ([`ExecutionContext::check_approved`]), and the call is decided about again if they differ.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use gadgetry_proto::call::Outcome;
use gadgetry_proto::run::Start;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::rule::Named;
use super::{Approvals, Inner};
use crate::context::ExecutionContext;
use crate::control::BeforeGadget;
use crate::gadget::{Approved, CallPreview, DynGadget, Permission, Subject, attempt, closed};
use crate::toolbox::Toolbox;

/// Decisions that are kept for calls that have not started.
const KEPT: usize = 256;

/// Times that a call is decided about while what it acts on changes again and again.
const ATTEMPTS: usize = 16;

/// Decisions about calls that have not started.
#[derive(Default)]
pub(super) struct Decided(VecDeque<Record>);

struct Record {
    start: Start,
    approved: Arc<Approved>,
    end: CancellationToken,
}

impl Decided {
    /// Keeps the decision that a call runs; returns what is cancelled when the call has ended.
    pub(super) fn push(&mut self, start: &Start, approved: Approved) -> CancellationToken {
        let end = CancellationToken::new();
        self.0.push_back(Record {
            start: start.clone(),
            approved: Arc::new(approved),
            end: end.clone(),
        });
        while self.0.len() > KEPT
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.end.cancel();
        }
        end
    }

    /// Takes the decision about exactly this call.
    fn take(&mut self, start: &Start) -> Option<Record> {
        let is_same = |record: &Record| {
            let kept = &record.start;
            kept.id == start.id
                && kept.gadget_name == start.gadget_name
                && kept.invocation_id == start.invocation_id
                && kept.parameters == start.parameters
        };
        self.0.remove(self.0.iter().rposition(is_same)?)
    }
}

/// What is kept of a decision.
pub(super) fn approved(
    approvals: &Arc<Inner>,
    start: &Start,
    permission: Permission,
    preview: CallPreview,
    is_shown: bool,
) -> Approved {
    // Weak, because the approvals own the decision.
    let approvals: Weak<Inner> = Arc::downgrade(approvals);
    let (gadget, parameters) = (start.gadget_name.clone(), Arc::clone(&start.parameters));
    let origin = preview.origin.clone();
    let rules = move |subject: &Subject| {
        let Some(approvals) = approvals.upgrade() else {
            return Permission::Deny;
        };
        let gadget = Named {
            name: &gadget,
            origin: origin.as_ref(),
        };
        let rules = approvals.rules();
        let rule = rules.decide(gadget, &parameters, Some(subject));
        rule.map_or(permission, super::Rule::permission)
    };
    Approved {
        preview,
        is_shown,
        rules: Box::new(rules),
    }
}

/// A call that executes only as it was approved.
pub(crate) struct Binding {
    pub(super) approvals: Approvals,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) start: Start,
}

impl Binding {
    /// Executes the call as approved, and decides about it again for as long as something else would happen.
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
                match self.approvals.decide(&self.toolbox, &self.start).await {
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
