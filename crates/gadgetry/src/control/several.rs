//! Several controllers as one.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::run::{Asks, Decision, QuestionKind};
use gadgetry_proto::schema::Registry;

use crate::control::{DynController, RunContext};

/// Several controllers as one. Each question goes to those that [answer](DynController::questions) it, in order.
///
/// A controller that rewrites what the question is about (the request, the reply, the parameters) passes the rewritten form on
/// to those after it, so it cannot hide a call from them. Every other decision but to proceed ends the chain: a denial, a
/// result or a reply in place of the call, the end of the run.
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
pub struct Controllers {
    controllers: Vec<Arc<dyn DynController>>,
    /// Checks rewritten parameters before they are passed on.
    registry: Option<Arc<Registry>>,
}

impl Controllers {
    /// Adds a controller, which is called last.
    #[must_use]
    pub fn with(mut self, controller: impl DynController + 'static) -> Self {
        self.push(Arc::new(controller));
        self
    }

    /// Adds a controller, which is called last.
    pub fn push(&mut self, controller: Arc<dyn DynController>) {
        self.controllers.push(controller);
    }

    /// Returns whether there are no controllers.
    pub fn is_empty(&self) -> bool {
        self.controllers.is_empty()
    }
}

impl DynController for Controllers {
    fn questions(&self) -> Asks {
        let questions = self
            .controllers
            .iter()
            .map(|controller| controller.questions());
        questions.fold(Asks::default(), union)
    }

    fn decide<'a>(
        &'a self,
        run: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let mut rewritten: Option<(QuestionKind, Decision)> = None;
            for controller in &self.controllers {
                if !wants(controller.questions(), question) {
                    continue;
                }
                let current = rewritten
                    .as_ref()
                    .map_or(question, |(question, _)| question);
                let decision = match (controller.decide(run, current).await, &rewritten) {
                    (Decision::Proceed, _) => continue,
                    (decision, Some((_, before))) => together(before, decision),
                    (decision, None) => decision,
                };
                let next = match self.rewrite(current, &decision) {
                    Ok(Some(next)) => next,
                    Ok(None) => return decision,
                    Err(invalid) => return Decision::Deny(invalid),
                };
                rewritten = Some((next, decision));
            }
            rewritten.map_or(Decision::Proceed, |(_, decision)| decision)
        })
    }
}

impl Controllers {
    /// Passes rewritten parameters on as the gadgets of `registry` would take them: with defaults. Invalid ones
    /// deny the call.
    pub(crate) fn of_gadgets(mut self, registry: Arc<Registry>) -> Self {
        self.registry = Some(registry);
        self
    }

    /// The question after a decision that rewrites its subject; `None` if the decision ends the chain. Fails, with a text for
    /// the model, if the rewritten parameters are invalid.
    fn rewrite(
        &self,
        question: &QuestionKind,
        decision: &Decision,
    ) -> Result<Option<QuestionKind>, String> {
        let mut next = question.clone();
        match (&mut next, decision) {
            (QuestionKind::BeforeModelCall { request }, Decision::Request(other)) => {
                request.clone_from(other);
            }
            (QuestionKind::AfterModelCall { message, .. }, Decision::AfterReply { text, .. }) => {
                if let Some(text) = text {
                    *message = Some(with_text(message.take(), text));
                }
            }
            (QuestionKind::BeforeGadget { start }, Decision::Parameters(parameters)) => {
                let registry = self.registry.as_ref();
                let gadget = registry.and_then(|registry| registry.get(&start.gadget_name));
                let checked = gadget.map(|gadget| gadget.check(parameters.clone()));
                let checked = checked.unwrap_or_else(|| Ok(parameters.clone()));
                start.parameters = Arc::new(checked?);
            }
            _ => return Ok(None),
        }
        Ok(Some(next))
    }
}

/// A decision about a reply that an earlier one has changed: the messages of both, and the later text.
fn together(before: &Decision, decision: Decision) -> Decision {
    match (before, decision) {
        (
            Decision::AfterReply {
                text: earlier,
                append: first,
            },
            Decision::AfterReply { text, append },
        ) => Decision::AfterReply {
            text: text.or_else(|| earlier.clone()),
            append: first.iter().cloned().chain(append).collect(),
        },
        (_, decision) => decision,
    }
}

/// The reply with this text in place of its own.
fn with_text(message: Option<Message>, text: &str) -> Message {
    let mut rewritten = Message::text(Role::Assistant, text);
    let content = message.map(|message| message.content).unwrap_or_default();
    let others = content.into_iter();
    let others = others.filter(|content| !matches!(content, Content::Text { .. }));
    rewritten.content.extend(others);
    rewritten
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controllers")
            .field(&self.controllers.len())
            .finish()
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
