//! The options of an agent.

mod conversation;
mod hooks;
mod sampling;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::message::{Content, Message, ToolChoice};
use gadgetry_proto::run::{Code, OnTextOnlyReply, Retry, RunConfig, Tools, UnmetDependencyPolicy};
use gadgetry_proto::schema::Unterminated;

use crate::agent::left_to_model::OutputLimit;
use crate::agent::synthetic::SyntheticCall;
use crate::agent::{Agent, AgentError, AgentRun};
use crate::approval::Approvals;
use crate::context::{CancellationToken, ExecutionContext};
use crate::control::{DynHook, Values};
use crate::gadget::{DynGadget, IntoGadget, IntoGadgets};
use crate::human::Human;
use crate::limiter::{RateLimiter, RateLimits};
#[cfg(feature = "skills")]
use crate::skill::Skills;
use gadgetry_providers::model::Model;

/// Builds an [`Agent`]. Every option except the model has a default.
///
/// | option | default |
/// |---|---|
/// | [`max_iterations`](Self::max_iterations) | 10 |
/// | [`output_limit_percent`](Self::output_limit_percent) | 15 % of the context window |
/// | [`retry`](Self::retry) | 3 retries, 1 to 30 seconds |
/// | [`compaction`](Self::compaction) | at 80 % of the context window, if that is known |
/// | [`gadget_search`](Self::gadget_search) | with more than 30 gadgets, or where they fill 40 % of the context window |
/// | [`stop_early`](Self::stop_early) | replies end at hopeless calls and endless repetition |
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
    pub(super) outputs: OutputStore,
    pub(super) synthetic: Vec<SyntheticCall>,
    /// `build` adds the values that come from the model and the services.
    pub(super) config: RunConfig,
    pub(super) code: Code,
    pub(super) output_limit: OutputLimit,
    /// The form of calls; the default depends on the size of the model.
    pub(super) form: Option<CallForm>,
    /// Number of worked turns; the default depends on the size of the model.
    pub(super) examples: Option<usize>,
    /// True if replies are constrained where the server of the model does that.
    pub(super) is_constrained: bool,
    pub(super) retry: Setting<Retry>,
    pub(super) limits: Setting<Limits>,
    pub(super) human: Option<Arc<dyn Human>>,
    pub(super) cancellation: Option<CancellationToken>,
    pub(super) grace: Option<Duration>,
    pub(super) approvals: Setting<Approvals>,
    pub(super) hooks: Vec<Arc<dyn DynHook>>,
    pub(super) values: Values,
    pub(super) name: Option<Arc<str>>,
    /// True if each run is one call, which its model only writes down.
    pub(super) is_single_call: bool,
    pub(super) parent: Option<ExecutionContext>,
    pub(super) max_depth: Option<u32>,
}

/// Option that a subagent inherits unless it is set.
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

impl Agent {
    /// Returns a builder without any options.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }
}

impl ExecutionContext {
    /// Builds the agent that `builder` describes, as a subagent of the run that has called this gadget: [`AgentBuilder::parent`]
    /// and [`AgentBuilder::build`].
    ///
    /// Its runs share the budget and the cancellation of that run, and their events are events of that run, too, with
    /// this call at the end of their [`path`](gadgetry_proto::event::Event::path). They end with the gadget's future.
    ///
    /// Fails in a context without a run, as in tests, and beyond the maximum depth.
    ///
    /// ```
    /// use gadgetry::{Agent, ExecutionContext, GadgetError};
    ///
    /// async fn research(topic: &str, context: &ExecutionContext) -> Result<String, GadgetError> {
    ///     let agent = context.spawn_agent(Agent::builder().system("You look things up."))?;
    ///     Ok(agent.ask(topic).text().await?)
    /// }
    /// ```
    pub fn spawn_agent(&self, builder: AgentBuilder) -> Result<Agent, AgentError> {
        builder.parent(self).build()
    }
}

impl Default for AgentBuilder {
    fn default() -> Self {
        Self {
            model: None,
            models: Vec::new(),
            gadgets: Vec::new(),
            history: Vec::new(),
            outputs: OutputStore::default(),
            synthetic: Vec::new(),
            config: RunConfig {
                compaction: Some(Compaction::default()),
                ..RunConfig::default()
            },
            code: Code::default(),
            output_limit: OutputLimit::Percent(15.0),
            form: None,
            examples: None,
            is_constrained: true,
            retry: Setting::Default,
            limits: Setting::Default,
            human: None,
            cancellation: None,
            grace: None,
            approvals: Setting::Default,
            hooks: Vec::new(),
            values: Values::default(),
            name: None,
            is_single_call: false,
            parent: None,
            max_depth: None,
        }
    }
}

/// # From data
impl AgentBuilder {
    /// Begins with a stored configuration. It is used as it is: the defaults of a builder do not apply to it.
    ///
    /// `code` has the code that the configuration names. [`asks`](RunConfig::asks) follows from the hooks and the human of the
    /// builder; [`price`](RunConfig::price) and [`context_window`](RunConfig::context_window) are those of the model, unless
    /// `config` has them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use gadgetry::driver::{Code, RunConfig};
    /// use gadgetry::{AgentBuilder, ScriptedModel};
    /// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let config: RunConfig = gadgetry::serde_json::from_str(r#"{"system": "Be brief."}"#)?;
    /// let agent = AgentBuilder::from_config(config, Code::default()).model(model).build()?;
    /// assert_eq!(agent.ask("What is 2+2?").text().await?, "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_config(config: RunConfig, code: Code) -> Self {
        Self {
            retry: match config.retry.clone() {
                Some(retry) => Setting::On(retry),
                None => Setting::Off,
            },
            output_limit: OutputLimit::Configured,
            form: Some(config.form),
            examples: Some(config.examples),
            is_constrained: false,
            config,
            code,
            ..Self::default()
        }
    }
}

/// # Building and running
impl AgentBuilder {
    /// Builds the agent, which can run any number of times. Validates all options.
    pub fn build(self) -> Result<Agent, AgentError> {
        Agent::new(self)
    }

    /// Builds an agent that runs once, and calls its [`Agent::ask`].
    pub fn ask(self, prompt: impl Into<String>) -> Result<AgentRun<'static>, AgentError> {
        Ok(self.build()?.ask(prompt))
    }

    /// Builds an agent that runs once, and calls its [`Agent::ask_with`].
    pub fn ask_with(self, content: Vec<Content>) -> Result<AgentRun<'static>, AgentError> {
        Ok(self.build()?.ask_with(content))
    }
}

/// # Models
impl AgentBuilder {
    /// Sets the model: anything that implements [`Model`], also in an `Arc`. A subagent has its parent's by default.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Sets the model by its name, as [`gadgetry::model`](fn@crate::model) resolves it. Fails if no provider is known for the
    /// name, or its key is missing; the error says what to set.
    ///
    /// ```no_run
    /// let agent = gadgetry::Agent::builder().named("haiku")?.build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "providers")]
    pub fn named(mut self, name: &str) -> Result<Self, gadgetry_providers::resolve::ResolveError> {
        self.model = Some(gadgetry_providers::model(name)?);
        Ok(self)
    }

    /// Adds a model that gadgets can call by this name, through [`ExecutionContext::model`](crate::ExecutionContext::model).
    pub fn named_model(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        self.models.push((name.into(), Arc::new(model)));
        self
    }

    /// Sets the instructions of the application. The descriptions of gadgets and custom blocks follow them.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.config.system = Some(text.into());
        self
    }
}

/// # Gadgets
impl AgentBuilder {
    /// Adds a gadget, however it was defined.
    pub fn gadget(mut self, gadget: impl IntoGadget) -> Self {
        self.gadgets.push(gadget.into_gadget());
        self
    }

    /// Adds a tool: the same as [`gadget`](Self::gadget).
    pub fn tool(self, tool: impl IntoGadget) -> Self {
        self.gadget(tool)
    }

    /// Adds several gadgets: a tuple, as in `.gadgets((Add, Weather))`, or anything that can be iterated over.
    pub fn gadgets<Kind>(mut self, gadgets: impl IntoGadgets<Kind>) -> Self {
        self.gadgets.extend(gadgets.into_gadgets());
        self
    }

    /// Adds skills: the model gets a gadget that loads one when it needs it. Without skills it has no effect.
    ///
    /// Add all of them at once: a second gadget of the same name is an error.
    #[cfg(feature = "skills")]
    pub fn skills(self, skills: &Skills) -> Self {
        if skills.is_empty() {
            return self;
        }
        self.gadget(skills.gadget())
    }

    /// Runs gadgets one at a time, in the order of their calls. By default they run in parallel, as far as their dependencies
    /// allow.
    pub fn sequential(mut self) -> Self {
        self.config.schedule.sequential = true;
        self
    }

    /// Sets the maximum number of gadgets that run at the same time; 0 means no limit.
    pub fn max_concurrent(mut self, gadgets: u32) -> Self {
        self.config.schedule.max_concurrent = Some(gadgets);
        self
    }

    /// Sets the maximum number of calls per reply that are executed, the first ones; 0 means no limit.
    pub fn max_gadgets_per_reply(mut self, calls: u32) -> Self {
        self.config.schedule.max_per_reply = Some(calls);
        self
    }

    /// Sets the timeout of gadgets without one of their own. There is no default.
    ///
    /// A gadget whose time is up is cancelled, and its call is answered with an error. The next request waits until it has
    /// cleaned up, see [`grace`](Self::grace).
    pub fn default_timeout(mut self, timeout: Duration) -> Self {
        self.config.default_timeout_ms =
            Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets the policy for calls with unmet dependencies. By default they are skipped. [`AgentBuilder::on_dependency_skipped`]
    /// decides call by call.
    pub fn on_unmet(mut self, policy: UnmetDependencyPolicy) -> Self {
        self.config.on_unmet = policy;
        self
    }

    /// Sets the policy for a block that only the end of the reply completes, for gadgets without their own policy. By default it
    /// is executed if its parameters are valid.
    pub fn unterminated(mut self, policy: Unterminated) -> Self {
        self.config.unterminated = policy;
        self
    }

    /// Ends the run when a gadget fails, with [`FinishReason::GadgetError`](crate::proto::event::FinishReason). By default, the
    /// model reads the error and continues.
    pub fn stop_on_gadget_error(mut self) -> Self {
        self.config.stop_on_gadget_error = true;
        self
    }

    /// Limits the part of one result that the model reads to this percentage of its context window, at four characters per token;
    /// 15 percent by default. A longer result is stored, and the model reads how to view it. An unknown window counts as 128,000
    /// tokens.
    pub fn output_limit_percent(mut self, percent: f64) -> Self {
        self.output_limit = OutputLimit::Percent(percent);
        self
    }

    /// Shows the model whole results, however long they are.
    pub fn without_output_limit(mut self) -> Self {
        self.output_limit = OutputLimit::Configured;
        self.config.output_limit = None;
        self
    }
}

/// # Limits of a run
impl AgentBuilder {
    /// Sets the maximum number of model replies; 10 by default.
    pub fn max_iterations(mut self, replies: u32) -> Self {
        self.config.max_iterations = replies;
        self
    }

    /// Sets the maximum cost of the run in US dollars, including gadgets and subagents. It is checked before each request; work
    /// in progress completes, so the last reply may exceed it.
    ///
    /// The price of the model must be known. A price of 0 counts as known for a model that runs on this machine alone
    /// ([`ModelInfo::is_local`](crate::ModelInfo::is_local)). A subagent's own budget covers the subagent and its subagents; the
    /// budget of its parent also applies.
    pub fn budget(mut self, dollars: f64) -> Self {
        self.config.budget = Some(dollars);
        self
    }

    /// Sets how the model calls gadgets: by writing blocks (the default), through its provider's own interface if it has one, or
    /// either way. Gadgets, scheduler and events are the same; a native call declares no dependencies, so `${id}` in its
    /// parameters stays text.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.config.tools = tools;
        self
    }

    /// Sets whether the model must call a gadget, and which one. Applies to a model that calls through its provider's own
    /// interface ([`tools`](Self::tools)), and to one whose server constrains replies ([`constrained`](Self::constrained));
    /// others ignore it.
    ///
    /// A choice that forces a call applies, in each run, until a reply has called a gadget. After that the model decides, so that
    /// it can answer. [`before_model_call`](Self::before_model_call) can change it for one request:
    /// [`Request::tool_choice`](gadgetry_proto::message::Request::tool_choice).
    ///
    /// ```
    /// use gadgetry::provider::OpenAi;
    /// use gadgetry::{Agent, ToolChoice, Tools, gadget};
    ///
    /// /// Searches the documentation
    /// #[gadget]
    /// fn search(query: String) -> String {
    ///     format!("nothing about {query}")
    /// }
    ///
    /// let agent = Agent::builder()
    ///     .model(OpenAi::builder("qwen3").base_url("http://127.0.0.1:8080/v1").build()?)
    ///     .gadget(Search)
    ///     .tools(Tools::Native)
    ///     .tool_choice(ToolChoice::Gadget("Search".to_owned()))
    ///     .build()?;
    /// # let _ = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.config.tool_choice = choice;
        self
    }

    /// Sets the meaning of a reply without calls. By default, the run is done.
    pub fn text_only(mut self, policy: OnTextOnlyReply) -> Self {
        self.config.text_only = policy;
        self
    }

    /// Cancels all runs of the agent when `token` is cancelled, like [`AgentHandle::cancel`](crate::AgentHandle::cancel). A run
    /// ends when its gadgets have cleaned up, see [`grace`](Self::grace).
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// Sets the time that a gadget may take to clean up after a timeout or a cancellation, before its future is dropped; 2
    /// seconds by default. It applies to gadgets that can notice: those that have called
    /// [`ExecutionContext::cancellation`](crate::ExecutionContext::cancellation) or
    /// [`throw_if_cancelled`](crate::ExecutionContext::throw_if_cancelled), wait for human input, or have started a subagent.
    /// Others are dropped at once. Subagents have half of it for each level.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }
}

/// # Retries and rate limits
impl AgentBuilder {
    /// Sets the retries of failed model calls. A request is sent again only while nothing has acted on its reply.
    ///
    /// `seed: 0` picks a random seed per run, so that runs that failed together do not retry together.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = Setting::On(retry);
        self
    }

    /// Disables retries: a model call that fails is not repeated.
    pub fn without_retry(mut self) -> Self {
        self.retry = Setting::Off;
        self
    }

    /// Sets rate limits: requests wait until they are within them. All runs of the agent, and their subagents, count together.
    pub fn rate_limits(mut self, limits: RateLimits) -> Self {
        self.limits = Setting::On(Limits::Own(limits));
        self
    }

    /// Sets a rate limiter that other agents can use as well.
    pub fn rate_limiter(mut self, limiter: RateLimiter) -> Self {
        self.limits = Setting::On(Limits::Shared(limiter));
        self
    }

    /// Disables rate limits, even if this is the subagent of a run that has them.
    pub fn without_rate_limits(mut self) -> Self {
        self.limits = Setting::Off;
        self
    }
}

/// # Subagents
impl AgentBuilder {
    /// Makes it a subagent of the run that has called this gadget; [`ExecutionContext::spawn_agent`] is shorter.
    ///
    /// It inherits the model, the named models, the retries, the rate limits and the human input of that run, unless it has its
    /// own. It always shares the run's budget and cancellation, and its events are events of that run as well.
    pub fn parent(mut self, context: &ExecutionContext) -> Self {
        self.parent = Some(context.clone());
        self
    }

    /// Sets the maximum depth of subagents below this agent's runs: 1 allows subagents without subagents of their own; 5 by
    /// default. A subagent cannot allow more than its parent does.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = Some(depth);
        self
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gadgets = self.gadgets.iter().map(|gadget| &gadget.spec().name);
        f.debug_struct("AgentBuilder")
            .field(
                "model",
                &self.model.as_ref().map(|model| model.name().to_owned()),
            )
            .field("gadgets", &gadgets.collect::<Vec<_>>())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
