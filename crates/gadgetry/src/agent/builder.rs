//! The options of an agent.

use std::sync::{Arc, Mutex};

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::message::{Content, Message};
use gadgetry_proto::prompt::PromptTemplate;
use gadgetry_proto::run::{
    HintTiming, Interceptor, Retry, RunSpec, Standing, TextOnly, iteration_hint, parallel_hint,
};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::DeltaTransform;
use serde_json::Value;

use crate::agent::hooks::{GadgetErrors, OnGadgetError};
use crate::agent::run::SharedObserver;
use crate::agent::synthetic::SyntheticCall;
use crate::agent::{Agent, AgentError, AgentRun, Finished};
use crate::context::{CancellationToken, ExecutionContext};
use crate::control::{
    AfterGadget, AfterModelCall, BeforeGadget, BeforeModelCall, DynController, GadgetDone,
    ModelFailure, OnDependencySkipped, OnModelError, Reply, UnmetDependency, closures,
};
use crate::driver::Observer;
use crate::gadget::{DynGadget, IntoGadget};
use crate::human::Human;
use crate::limiter::{RateLimiter, RateLimits};
use crate::model::Model;
use crate::skill::Skills;

/// Makes an [`Agent`]. Every option has a default but the model.
///
/// | option | default |
/// |---|---|
/// | [`max_iterations`](Self::max_iterations) | 10 |
/// | [`output_limit_percent`](Self::output_limit_percent) | 15 % of the context window |
/// | [`retry`](Self::retry) | 3 retries, 1 to 30 seconds |
/// | [`compaction`](Self::compaction) | at 80 % of the context window, if that is known |
/// | gadgets | in parallel, without limits in number or time |
/// | a reply without calls | ends the run |
/// | budget, rate limits | none |
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use gadgetry::{Agent, ScriptedModel};
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let agent = Agent::builder().model(model).system("Be brief.").max_iterations(3);
/// assert_eq!(agent.ask("What is 2+2?")?.text().await?, "4");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "`build` or `ask` makes an agent of it"]
pub struct AgentBuilder {
    pub(super) model: Option<Arc<dyn Model>>,
    pub(super) models: Vec<(String, Arc<dyn Model>)>,
    pub(super) gadgets: Vec<Arc<dyn DynGadget>>,
    pub(super) history: Vec<Message>,
    pub(super) synthetic: Vec<SyntheticCall>,
    /// What goes into the run as it is; the rest of it is filled in by `build`.
    pub(super) spec: RunSpec,
    pub(super) output_limit: Option<f64>,
    pub(super) compaction: Option<Compaction>,
    pub(super) retry: Setting<Retry>,
    pub(super) limits: Setting<Limits>,
    pub(super) human: Option<Arc<dyn Human>>,
    pub(super) cancellation: Option<CancellationToken>,
    pub(super) controllers: Vec<Arc<dyn DynController>>,
    pub(super) observers: Vec<SharedObserver>,
    pub(super) parent: Option<ExecutionContext>,
    pub(super) max_depth: Option<u32>,
}

/// What a subagent has from its parent unless it is given.
#[derive(Clone)]
pub(super) enum Setting<T> {
    Default,
    Off,
    On(T),
}

#[derive(Clone)]
pub(super) enum Limits {
    Own(RateLimits),
    Shared(RateLimiter),
}

impl Default for AgentBuilder {
    fn default() -> Self {
        Self {
            model: None,
            models: Vec::new(),
            gadgets: Vec::new(),
            history: Vec::new(),
            synthetic: Vec::new(),
            spec: RunSpec::default(),
            output_limit: Some(15.0),
            compaction: Some(Compaction::default()),
            retry: Setting::Default,
            limits: Setting::Default,
            human: None,
            cancellation: None,
            controllers: Vec::new(),
            observers: Vec::new(),
            parent: None,
            max_depth: None,
        }
    }
}

/// # Ends
impl AgentBuilder {
    /// The agent, to be asked as often as you like. Finds every mistake in the options.
    pub fn build(self) -> Result<Agent, AgentError> {
        Agent::new(self)
    }

    /// [`Agent::ask`] of an agent that is asked once.
    pub fn ask(self, prompt: impl Into<String>) -> Result<AgentRun, AgentError> {
        Ok(self.build()?.ask(prompt))
    }

    /// [`Agent::ask_with`] of an agent that is asked once.
    pub fn ask_with(self, content: Vec<Content>) -> Result<AgentRun, AgentError> {
        Ok(self.build()?.ask_with(content))
    }
}

/// # Who answers
impl AgentBuilder {
    /// The model: anything that implements [`Model`], also in an `Arc`. A subagent has its parent's by default.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// One more model, which gadgets may ask for by this name through
    /// [`ExecutionContext::model`](crate::ExecutionContext::model).
    pub fn named_model(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        self.models.push((name.into(), Arc::new(model)));
        self
    }

    /// Instructions of the application. What the model has to know about gadgets and custom blocks follows them.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.spec.system = Some(text.into());
        self
    }
}

/// # What it can call
impl AgentBuilder {
    /// Adds a gadget, in whatever way it was defined.
    pub fn gadget(mut self, gadget: impl IntoGadget) -> Self {
        self.gadgets.push(gadget.into_gadget());
        self
    }

    /// Adds several gadgets of one type.
    pub fn gadgets<G: IntoGadget>(mut self, gadgets: impl IntoIterator<Item = G>) -> Self {
        let gadgets = gadgets.into_iter().map(IntoGadget::into_gadget);
        self.gadgets.extend(gadgets);
        self
    }

    /// Adds skills: the model gets a gadget that loads one when it needs it. Does nothing if there are none.
    ///
    /// Give all of them at once; a second gadget of the same name is a mistake.
    pub fn skills(self, skills: &Skills) -> Self {
        if skills.is_empty() {
            return self;
        }
        self.gadget(skills.gadget())
    }

    /// Gadgets run one at a time, in the order of their calls. By default they run in parallel, as far as their
    /// dependencies let them.
    pub fn sequential(mut self) -> Self {
        self.spec.schedule.sequential = true;
        self
    }

    /// So many gadgets may run at the same time; 0 is no limit.
    pub fn max_concurrent(mut self, gadgets: u32) -> Self {
        self.spec.schedule.max_concurrent = Some(gadgets);
        self
    }

    /// So many calls of one reply are executed, the first ones; 0 is no limit.
    pub fn max_gadgets_per_reply(mut self, calls: u32) -> Self {
        self.spec.schedule.max_per_reply = Some(calls);
        self
    }

    /// How long a gadget may take that has no timeout of its own. By default, as long as it likes.
    pub fn default_timeout(mut self, timeout: std::time::Duration) -> Self {
        self.spec.default_timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// The run ends when a gadget fails, with [`FinishReason::GadgetError`](crate::proto::event::FinishReason). By default
    /// the model is told, and goes on.
    pub fn stop_on_gadget_error(mut self) -> Self {
        self.spec.stop_on_gadget_error = true;
        self
    }

    /// The model is shown at most this part of its context window of one result, at four characters a token; 15
    /// percent by default. A longer one is kept aside, and the model is told how to look at it. The window of a model
    /// that does not say is taken for 128,000 tokens.
    pub fn output_limit_percent(mut self, percent: f64) -> Self {
        self.output_limit = Some(percent);
        self
    }

    /// The model is shown whole results, however long they are.
    pub fn without_output_limit(mut self) -> Self {
        self.output_limit = None;
        self
    }
}

/// # The conversation
impl AgentBuilder {
    /// Adds earlier messages, in front of what will be asked.
    pub fn history(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.history.extend(messages);
        self
    }

    /// Goes on where a run has ended: [`AgentBuilder::history`] with all that was said there.
    pub fn continue_from(self, finished: &Finished) -> Self {
        self.history(finished.history.iter().cloned())
    }

    /// Makes the model believe that it has called a gadget of this agent, and got this result: the best way to show it
    /// how. The calls stand behind the history, in the order in which they were added.
    pub fn synthetic_call(
        mut self,
        gadget_name: impl Into<String>,
        parameters: Value,
        result: impl Into<String>,
        invocation_id: impl Into<String>,
    ) -> Self {
        self.synthetic.push(SyntheticCall {
            gadget_name: gadget_name.into(),
            parameters,
            result: result.into(),
            id: invocation_id.into(),
        });
        self
    }

    /// A message that stands at the end of every request, and is not kept.
    pub fn trailing(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.trailing_with(move |_| Some(text.clone()))
    }

    /// A message that stands at the end of a request, made for that request; `None` for none.
    ///
    /// The closure must be a function of what it is given, or a replay of the run differs.
    pub fn trailing_with(
        mut self,
        make: impl Fn(&Standing) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.spec.trailing.push(Arc::new(make));
        self
    }

    /// Tells the model how many replies it has left, from some time on.
    pub fn iteration_hint(mut self, timing: HintTiming) -> Self {
        self.spec.trailing.push(iteration_hint(timing));
        self
    }

    /// Tells the model that several calls fit into one reply, after each reply with at least one but fewer than `few`.
    pub fn parallel_hint(mut self, few: u32) -> Self {
        self.spec.trailing.push(parallel_hint(few));
        self
    }

    /// How the conversation is made shorter when the context window fills up.
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.compaction = Some(compaction);
        self
    }

    /// The conversation is never made shorter.
    pub fn without_compaction(mut self) -> Self {
        self.compaction = None;
        self
    }
}

/// # The format
impl AgentBuilder {
    /// The markers of gadget blocks; [`Markers::nonce`] makes some that nobody can guess.
    pub fn markers(mut self, markers: Markers) -> Self {
        self.spec.markers = markers;
        self
    }

    /// Where markers count. By default anywhere in a line.
    pub fn anchoring(mut self, anchoring: Anchoring) -> Self {
        self.spec.anchoring = anchoring;
        self
    }

    /// The words around the list of gadgets in the system message.
    pub fn prompt_template(mut self, template: PromptTemplate) -> Self {
        self.spec.prompt = template;
        self
    }

    /// Takes a tag out of the text of replies.
    pub fn custom_block(mut self, block: CustomBlock) -> Self {
        self.spec.custom_blocks.push(block);
        self
    }

    /// Rewrites the deltas of each reply, behind the custom blocks; `make` makes a fresh one for each reply. Several
    /// stand one behind the other.
    pub fn transform<T: DeltaTransform + 'static>(
        mut self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        let make = move || -> Box<dyn DeltaTransform> { Box::new(make()) };
        self.spec.transforms.push(Arc::new(make));
        self
    }
}

/// # When it ends
impl AgentBuilder {
    /// The model may give so many replies; 10 by default.
    pub fn max_iterations(mut self, replies: u32) -> Self {
        self.spec.max_iterations = replies;
        self
    }

    /// The run may cost so many US dollars, with its gadgets and subagents. It is looked at before each request; what
    /// is under way then is finished, so the last reply may go beyond it.
    ///
    /// The price of the model must be known. A price of 0 counts as known for a model that runs on this machine alone
    /// ([`ModelInfo::is_local`](crate::ModelInfo::is_local)). A subagent's own budget is for it and its subagents; the
    /// budget of its parent is kept besides.
    pub fn budget(mut self, dollars: f64) -> Self {
        self.spec.budget = Some(dollars);
        self
    }

    /// What a reply without calls means. By default, the run is done.
    pub fn text_only(mut self, policy: TextOnly) -> Self {
        self.spec.text_only = policy;
        self
    }

    /// Cancels the run when `token` is cancelled, like [`AgentHandle::cancel`](crate::AgentHandle::cancel). All runs of
    /// the agent hear of it.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }
}

/// # What the provider allows
impl AgentBuilder {
    /// What is done when a model call fails. A request is sent again only while nothing of its reply was handed on.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Setting::On(retry);
        self
    }

    /// A model call that fails is not tried again.
    pub fn without_retry(mut self) -> Self {
        self.retry = Setting::Off;
        self
    }

    /// Requests wait until they are within these limits. All runs of the agent, and their subagents, count together.
    pub fn rate_limits(mut self, limits: RateLimits) -> Self {
        self.limits = Setting::On(Limits::Own(limits));
        self
    }

    /// Requests wait for a limiter that other agents use as well.
    pub fn rate_limiter(mut self, limiter: RateLimiter) -> Self {
        self.limits = Setting::On(Limits::Shared(limiter));
        self
    }

    /// Requests do not wait, even if this is the subagent of a run whose requests do.
    pub fn without_rate_limits(mut self) -> Self {
        self.limits = Setting::Off;
        self
    }
}

/// # Who watches and decides
impl AgentBuilder {
    /// Somebody who watches the events of all runs of the agent. Several see them in the order in which they were
    /// added, before the consumer of the run does.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(Mutex::new(observer)));
        self
    }

    /// Rewrites what passes through a run, without waiting. Each interceptor sees what the one before has made.
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.spec.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Decides what a run leaves open. With several, in the order in which they were added, the first that does not
    /// simply proceed has decided. The closures below are controllers, too.
    pub fn controller(mut self, controller: impl DynController + 'static) -> Self {
        self.controllers.push(Arc::new(controller));
        self
    }

    /// Decides about each request before it goes to the model.
    pub fn before_model_call<F, R>(self, decide: F) -> Self
    where
        F: Fn(gadgetry_proto::message::Request) -> R + Send + Sync + 'static,
        R: Future<Output = BeforeModelCall> + Send + 'static,
    {
        self.controller(closures::before_model_call(decide))
    }

    /// Decides what is kept of each reply.
    pub fn after_model_call<F, R>(self, decide: F) -> Self
    where
        F: Fn(Reply) -> R + Send + Sync + 'static,
        R: Future<Output = AfterModelCall> + Send + 'static,
    {
        self.controller(closures::after_model_call(decide))
    }

    /// Decides what happens when the model has failed for good.
    pub fn on_model_error<F, R>(self, decide: F) -> Self
    where
        F: Fn(ModelFailure) -> R + Send + Sync + 'static,
        R: Future<Output = OnModelError> + Send + 'static,
    {
        self.controller(closures::on_model_error(decide))
    }

    /// Decides about each call before its gadget starts.
    pub fn before_gadget<F, R>(self, decide: F) -> Self
    where
        F: Fn(gadgetry_proto::run::Start) -> R + Send + Sync + 'static,
        R: Future<Output = BeforeGadget> + Send + 'static,
    {
        self.controller(closures::before_gadget(decide))
    }

    /// Decides what becomes of each result.
    pub fn after_gadget<F, R>(self, decide: F) -> Self
    where
        F: Fn(GadgetDone) -> R + Send + Sync + 'static,
        R: Future<Output = AfterGadget> + Send + 'static,
    {
        self.controller(closures::after_gadget(decide))
    }

    /// Decides what becomes of the run when a gadget has failed.
    pub fn on_gadget_error<F, R>(self, decide: F) -> Self
    where
        F: Fn(GadgetDone) -> R + Send + Sync + 'static,
        R: Future<Output = OnGadgetError> + Send + 'static,
    {
        self.controller(GadgetErrors(decide))
    }

    /// Decides what becomes of a call whose dependency was not met. By default it is skipped.
    pub fn on_dependency_skipped<F, R>(self, decide: F) -> Self
    where
        F: Fn(UnmetDependency) -> R + Send + Sync + 'static,
        R: Future<Output = OnDependencySkipped> + Send + 'static,
    {
        self.controller(closures::on_dependency_skipped(decide))
    }

    /// The person whom gadgets and [`TextOnly::WaitForInput`] ask; `None` is no answer. Subagents ask the same person,
    /// and one question at a time is asked.
    pub fn on_human_input(mut self, human: impl Human + 'static) -> Self {
        self.human = Some(Arc::new(human));
        self
    }
}

/// # Subagents
impl AgentBuilder {
    /// Makes it a subagent of the run that has called this gadget; [`ExecutionContext::spawn_agent`] is shorter.
    ///
    /// It has the model, the named models, the retries, the rate limits and the person of that run, unless it is given
    /// its own; it always shares its budget and its cancellation, and its events are events of that run as well.
    pub fn parent(mut self, context: &ExecutionContext) -> Self {
        self.parent = Some(context.clone());
        self
    }

    /// How deep subagents may be below this agent's runs: 1 allows subagents without subagents of their own; 5 by
    /// default. A subagent cannot allow more than its parent does.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = Some(depth);
        self
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gadgets = self.gadgets.iter().map(|gadget| &gadget.spec().name);
        f.debug_struct("AgentBuilder")
            .field(
                "model",
                &self.model.as_ref().map(|model| model.name().to_owned()),
            )
            .field("gadgets", &gadgets.collect::<Vec<_>>())
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
