//! Several controllers as one.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::run::{Asks, Decision, QuestionKind};

use crate::control::DynController;

/// Several controllers. Each question goes to those that [answer](DynController::questions) it, in order, until one does not
/// proceed. The controllers after it are not asked, and do not see its decision.
///
/// ```
/// use gadgetry::control::{AfterGadget, BeforeGadget, Controllers, closures};
///
/// let controllers = Controllers::default()
///     .with(closures::before_gadget(|start| async move {
///         println!("{}", start.gadget_name);
///         BeforeGadget::Proceed
///     }))
///     .with(closures::after_gadget(|_| async { AfterGadget::Proceed }));
/// ```
#[derive(Clone, Default)]
pub struct Controllers(Vec<Arc<dyn DynController>>);

impl Controllers {
    /// Adds a controller, which is called last.
    #[must_use]
    pub fn with(mut self, controller: impl DynController + 'static) -> Self {
        self.push(Arc::new(controller));
        self
    }

    /// Adds a controller, which is called last.
    pub fn push(&mut self, controller: Arc<dyn DynController>) {
        self.0.push(controller);
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl DynController for Controllers {
    fn questions(&self) -> Asks {
        let questions = self.0.iter().map(|controller| controller.questions());
        questions.fold(Asks::default(), union)
    }

    fn decide<'a>(&'a self, question: &'a QuestionKind) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            for controller in &self.0 {
                if !wants(controller.questions(), question) {
                    continue;
                }
                let decision = controller.decide(question).await;
                if decision != Decision::Proceed {
                    return decision;
                }
            }
            Decision::Proceed
        })
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controllers").field(&self.0.len()).finish()
    }
}

fn union(one: Asks, other: Asks) -> Asks {
    Asks {
        before_model_call: one.before_model_call || other.before_model_call,
        after_model_call: one.after_model_call || other.after_model_call,
        model_error: one.model_error || other.model_error,
        before_gadget: one.before_gadget || other.before_gadget,
        after_gadget: one.after_gadget || other.after_gadget,
        dependency_skipped: one.dependency_skipped || other.dependency_skipped,
        human: one.human || other.human,
    }
}

fn wants(asks: Asks, question: &QuestionKind) -> bool {
    match question {
        QuestionKind::BeforeModelCall { .. } => asks.before_model_call,
        QuestionKind::AfterModelCall { .. } => asks.after_model_call,
        QuestionKind::ModelError { .. } => asks.model_error,
        QuestionKind::BeforeGadget { .. } => asks.before_gadget,
        QuestionKind::AfterGadget { .. } => asks.after_gadget,
        QuestionKind::DependencySkipped { .. } => asks.dependency_skipped,
        QuestionKind::Human { .. }
        | QuestionKind::Interrupted { .. }
        | QuestionKind::Input { .. } => asks.human,
    }
}
