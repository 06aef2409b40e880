//! Several hooks as one.

use std::fmt;
use std::mem;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::run::{Asks, Decision, QuestionKind};
use gadgetry_proto::schema::Registry;
use gadgetry_proto::trace::TraceContext;

use crate::control::{DynHook, RunContext, Seen};

/// Several hooks as one. Each question goes to those that [decide](DynHook::questions) it, in order.
///
/// If a hook rewrites the subject of the question (the request, the reply, the parameters, the result), the later hooks receive
/// the rewritten form, so it cannot hide anything from them. Every other decision except to proceed ends the chain: a denial, a
/// result or a reply in place of the call, the end of the run.
///
/// ```
/// use gadgetry::control::{AfterGadget, BeforeGadget, Hooks, closures};
///
/// let hooks = Hooks::default()
///     .with(closures::before_gadget(|start| async move {
///         println!("{}", start.gadget_name);
///         BeforeGadget::Proceed
///     }))
///     .with(closures::after_gadget(|_| async { AfterGadget::Proceed }));
/// ```
#[derive(Clone, Default)]
pub struct Hooks {
    all: Vec<Arc<dyn DynHook>>,
    /// Decides after all others.
    last: Option<Arc<dyn DynHook>>,
    /// Checks rewritten parameters before they are passed on.
    registry: Option<Arc<Registry>>,
    /// Whether they only decide, because a parent passes the events on to them.
    is_blind: bool,
}

impl Hooks {
    /// Adds a hook, which is called last.
    #[must_use]
    pub fn with(mut self, hook: impl DynHook + 'static) -> Self {
        self.push(Arc::new(hook));
        self
    }

    /// Adds a hook, which is called last.
    pub fn push(&mut self, hook: Arc<dyn DynHook>) {
        self.all.push(hook);
    }

    /// Returns whether there are no hooks.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.last.is_none()
    }

    /// Sets the hook that decides after all others, also after those that are added later.
    pub(crate) fn set_last(&mut self, hook: Arc<dyn DynHook>) {
        self.last = Some(hook);
    }

    /// Passes rewritten parameters on as the gadgets of `registry` receive them, with defaults. Invalid ones deny the call.
    pub(crate) fn set_gadgets(&mut self, registry: Arc<Registry>) {
        self.registry = Some(registry);
    }

    /// Returns these hooks for a subagent: they decide, and see its events through its parent.
    pub(crate) fn of_subagent(&self) -> Self {
        Self {
            is_blind: true,
            ..self.clone()
        }
    }

    /// Returns the hooks that watch, in the order in which they are called.
    pub(crate) fn watching(&self) -> impl Iterator<Item = &Arc<dyn DynHook>> {
        self.iter().filter(|_| !self.is_blind)
    }

    /// Returns the hooks in the order in which they are called.
    fn iter(&self) -> impl Iterator<Item = &Arc<dyn DynHook>> {
        self.all.iter().chain(&self.last)
    }
}

impl DynHook for Hooks {
    fn questions(&self) -> Asks {
        let questions = self.iter().map(|hook| hook.questions());
        questions.fold(Asks::default(), union)
    }

    fn decide<'a>(
        &'a self,
        run: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let mut rewritten: Option<QuestionKind> = None;
            let mut so_far = Decision::Proceed;
            for hook in self.iter() {
                if !wants(hook.questions(), question) {
                    continue;
                }
                let current = rewritten.as_ref().unwrap_or(question);
                let decision = hook.decide(run, current).await;
                if decision == Decision::Proceed {
                    continue;
                }
                let decision = together(mem::replace(&mut so_far, Decision::Proceed), decision);
                match self.rewrite(current, &decision) {
                    Ok(Some(next)) => rewritten = Some(next),
                    Ok(None) => return decision,
                    Err(invalid) => return Decision::Deny(invalid),
                }
                so_far = decision;
            }
            so_far
        })
    }

    fn watch(&self, run: &RunContext, seen: Seen<'_>) {
        for hook in self.watching() {
            hook.watch(run, seen);
        }
    }

    fn trace_context(&self, run: &RunContext, call: Option<CallId>) -> Option<TraceContext> {
        self.watching()
            .find_map(|hook| hook.trace_context(run, call))
    }
}

impl Hooks {
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
            (QuestionKind::AfterGadget { result, .. }, Decision::Result(text)) => {
                *result = Ok(text.clone());
            }
            _ => return Ok(None),
        }
        Ok(Some(next))
    }
}

/// A decision about what an earlier one has rewritten: the messages of both, the later text, and a stop after the rewrite.
fn together(before: Decision, decision: Decision) -> Decision {
    match (before, decision) {
        (
            Decision::AfterReply {
                text: earlier,
                append: mut first,
                next: before,
            },
            Decision::AfterReply { text, append, next },
        ) => {
            first.extend(append);
            let both = before.into_iter().chain(next);
            let next = both.reduce(|before, next| format!("{before}\n\n{next}"));
            Decision::AfterReply {
                text: text.or(earlier),
                append: first,
                next,
            }
        }
        (before @ (Decision::AfterReply { .. } | Decision::Result(_)), Decision::Stop) => {
            Decision::StopAfter(Box::new(before))
        }
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

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hooks").field(&self.iter().count()).finish()
    }
}

fn union(one: Asks, other: Asks) -> Asks {
    Asks {
        before_compaction: one.before_compaction || other.before_compaction,
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
        QuestionKind::BeforeCompaction { .. } => asks.before_compaction,
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
