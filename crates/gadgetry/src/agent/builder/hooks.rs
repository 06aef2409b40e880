//! Observers and hooks of an agent.

use std::any::Any;
use std::sync::Arc;

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Interceptor, Start};

use crate::agent::AgentBuilder;
use crate::agent::builder::Setting;
use crate::approval::Approvals;
use crate::control::{
    AfterGadget, AfterModelCall, BeforeCompaction, BeforeGadget, BeforeModelCall, CompactionDue,
    DynHook, GadgetDone, ModelFailure, OnDependencySkipped, OnGadgetError, OnModelError, Reply,
    UnmetDependency, closures,
};
use crate::human::Human;
use crate::observer::{Observer, as_hook};

/// # Observers and hooks
impl AgentBuilder {
    /// Calls the closure for every event of all runs of the agent, those of subagents included; see
    /// [`Event::own_text`] for text. It is an [`observer`](Self::observer).
    pub fn on_event(self, handle: impl FnMut(&Event) + Send + 'static) -> Self {
        self.observer(handle)
    }

    /// Adds a hook, which watches all runs of the agent and decides about them. Hooks are called in the order in which they were
    /// added, those of the agent before those of a run ([`AgentRun::hook`](crate::AgentRun::hook)); what one rewrites is passed
    /// on to the next, and any other decision ends the chain. Observers and the closures below are hooks, too.
    ///
    /// Subagents have their own hooks. The hooks of their parent see their events, but decide nothing about them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use gadgetry::control::{BeforeModelCall, Hook, RunContext};
    /// use gadgetry::{Agent, Request, ScriptedModel};
    ///
    /// /// Refuses runs of users who are not known.
    /// struct KnownUsers;
    /// impl Hook for KnownUsers {
    ///     async fn before_model_call(&self, run: &RunContext, _: &Request) -> BeforeModelCall {
    ///         match run.info().metadata.get("user") {
    ///             Some(_) => BeforeModelCall::Proceed,
    ///             None => BeforeModelCall::Stop,
    ///         }
    ///     }
    /// }
    ///
    /// # let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = Agent::builder().model(model).hook(KnownUsers).build()?;
    /// assert_eq!(agent.ask("What is 2+2?").text().await?, "");
    /// assert_eq!(agent.ask("What is 2+2?").metadata("user", "ada").text().await?, "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn hook(mut self, hook: impl DynHook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Watches the events of all runs of the agent, before the consumer of the run does: the simple form of a [`hook`](Self::hook).
    /// [`Event::run`] names the run of an event.
    ///
    /// An observer that panics is switched off, which the log reports as an error, and the runs continue without it.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.hooks.push(as_hook(observer));
        self
    }

    /// Adds an interceptor, which rewrites what passes through a run, without waiting. Each interceptor sees the output of the
    /// one before it.
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.code.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Decides about each call by rules and a user, after all hooks, so that the rewritten call is the one that is approved and
    /// runs. Subagents have it as well, unless they have their own.
    ///
    /// An agent with gadgets whose [permission](crate::DynGadget::permission) is to ask or to deny needs this, or
    /// [`AgentBuilder::without_approvals`].
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Setting::On(approvals);
        self
    }

    /// Lets gadgets that need approval run without it, here and in subagents: every valid call of the model is executed, commands
    /// included. For sandboxes, and for agents whose hooks decide about each call.
    ///
    /// ```
    /// use gadgetry::{Agent, AgentError, ScriptedModel};
    /// # use gadgetry::serde_json::Value;
    /// # use gadgetry::{DynGadget, ExecutionContext, GadgetSpec, Outcome, Permission};
    /// # struct Pay(GadgetSpec);
    /// # impl DynGadget for Pay {
    /// #     fn spec(&self) -> &GadgetSpec { &self.0 }
    /// #     fn permission(&self) -> Permission { Permission::Ask }
    /// #     fn execute(&self, _: Value, _: ExecutionContext) -> futures_core::future::BoxFuture<'static, Outcome> {
    /// #         Box::pin(async { Outcome::ok("paid") })
    /// #     }
    /// # }
    /// # let pay = || std::sync::Arc::new(Pay(GadgetSpec::new("Pay", "Pays"))) as std::sync::Arc<dyn DynGadget>;
    /// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = Agent::builder().model(model).gadget(pay()); // its permission is to ask
    /// assert!(matches!(agent.clone().build(), Err(AgentError::NoApprovals { .. })));
    /// assert!(agent.without_approvals().build().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn without_approvals(mut self) -> Self {
        self.approvals = Setting::Off;
        self
    }

    /// Decides about each request before it goes to the model.
    pub fn before_model_call<F, R>(self, decide: F) -> Self
    where
        F: Fn(Request) -> R + Send + Sync + 'static,
        R: Future<Output = BeforeModelCall> + Send + 'static,
    {
        self.hook(closures::before_model_call(decide))
    }

    /// Decides about each compaction of the conversation before it begins.
    pub fn before_compaction<F, R>(self, decide: F) -> Self
    where
        F: Fn(CompactionDue) -> R + Send + Sync + 'static,
        R: Future<Output = BeforeCompaction> + Send + 'static,
    {
        self.hook(closures::before_compaction(decide))
    }

    /// Decides what is kept of each reply.
    pub fn after_model_call<F, R>(self, decide: F) -> Self
    where
        F: Fn(Reply) -> R + Send + Sync + 'static,
        R: Future<Output = AfterModelCall> + Send + 'static,
    {
        self.hook(closures::after_model_call(decide))
    }

    /// Decides what happens when the model has failed for good.
    pub fn on_model_error<F, R>(self, decide: F) -> Self
    where
        F: Fn(ModelFailure) -> R + Send + Sync + 'static,
        R: Future<Output = OnModelError> + Send + 'static,
    {
        self.hook(closures::on_model_error(decide))
    }

    /// Decides about each call before its gadget starts.
    pub fn before_gadget<F, R>(self, decide: F) -> Self
    where
        F: Fn(Start) -> R + Send + Sync + 'static,
        R: Future<Output = BeforeGadget> + Send + 'static,
    {
        self.hook(closures::before_gadget(decide))
    }

    /// Decides about each result.
    pub fn after_gadget<F, R>(self, decide: F) -> Self
    where
        F: Fn(GadgetDone) -> R + Send + Sync + 'static,
        R: Future<Output = AfterGadget> + Send + 'static,
    {
        self.hook(closures::after_gadget(decide))
    }

    /// Decides how the run continues when a gadget has failed.
    pub fn on_gadget_error<F, R>(self, decide: F) -> Self
    where
        F: Fn(GadgetDone) -> R + Send + Sync + 'static,
        R: Future<Output = OnGadgetError> + Send + 'static,
    {
        self.hook(closures::on_gadget_error(decide))
    }

    /// Decides about a call with an unmet dependency. By default
    /// [`AgentBuilder::on_unmet`] does.
    pub fn on_dependency_skipped<F, R>(self, decide: F) -> Self
    where
        F: Fn(UnmetDependency) -> R + Send + Sync + 'static,
        R: Future<Output = OnDependencySkipped> + Send + 'static,
    {
        self.hook(closures::on_dependency_skipped(decide))
    }

    /// Answers questions of gadgets and of [`OnTextOnlyReply::WaitForInput`](gadgetry_proto::run::OnTextOnlyReply); `None` means no answer.
    /// Subagents use it as well; questions arrive one at a time.
    pub fn on_human_input(mut self, human: impl Human + 'static) -> Self {
        self.human = Some(Arc::new(human));
        self
    }
}

/// # Identity and values
impl AgentBuilder {
    /// Names the agent, for events, hooks, logs and spans.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a value that the gadgets and hooks of all runs find by its type, with
    /// [`ExecutionContext::get`](crate::ExecutionContext::get): a pool of connections, a client. It replaces one of the same type.
    /// [`AgentRun::with`](crate::AgentRun::with) adds one for a single run. Subagents inherit the values of the run that starts them.
    ///
    /// ```
    /// use gadgetry::{Agent, ExecutionContext, GadgetError, ScriptedModel, gadget};
    ///
    /// struct Db(Vec<&'static str>);
    ///
    /// /// Lists the orders.
    /// #[gadget]
    /// fn orders(context: &ExecutionContext) -> Result<String, GadgetError> {
    ///     Ok(context.get::<Db>()?.0.join(", "))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: ScriptedModel = concat!(
    /// #     r#"{"text": "!!!GADGET_START:Orders\n!!!GADGET_END"}"#, "\n",
    /// #     r#"{"text": "Two.", "expect": {"contains": ["tea, cake"]}}"#,
    /// # ).parse()?;
    /// let agent = Agent::builder().model(model).gadget(Orders).with(Db(vec!["tea", "cake"])).build()?;
    /// assert_eq!(agent.ask("How many orders?").text().await?, "Two.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with(mut self, value: impl Any + Send + Sync) -> Self {
        self.values.insert(value);
        self
    }
}
