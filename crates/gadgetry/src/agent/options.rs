//! Options of a single run, in addition to those of its agent.

use std::any::Any;
use std::sync::Arc;
use std::time::SystemTime;

use gadgetry_proto::event::RunInfo;
use serde_json::{Map, Value};

use crate::agent::AgentRun;
use crate::agent::identity::unix_ms;
use crate::agent::prepared::{Origin, Prepared};
use crate::control::{Asks, DynHook, Values};
use crate::services::Services;

/// # Options of the run
///
/// They apply if they are set before the run is consumed. A run that is changed later is cancelled, and an error is logged.
impl AgentRun<'_> {
    /// Adds a value that the gadgets and hooks of the run find by its type, with
    /// [`ExecutionContext::get`](crate::ExecutionContext::get): the current user, a transaction. It replaces one of the same
    /// type, including that of [`AgentBuilder::with`](crate::AgentBuilder::with). Subagents inherit it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// struct User(&'static str);
    /// let agent = gadgetry::Agent::builder().model(model).build()?;
    /// let answer = agent.ask("What is 2+2?").with(User("ada")).text().await?;
    /// # assert_eq!(answer, "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with(self, value: impl Any + Send + Sync) -> Self {
        self.change(|prepared, _| prepared.services().values.insert(value))
    }

    /// Adds data about the run to [`RunInfo::metadata`]: for events, hooks, approvals, questions to the user.
    pub fn metadata(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.change(|prepared, origin| {
            prepared.refuse_if_kept("metadata");
            origin.info().metadata.insert(key.into(), value.into());
        })
    }

    /// Sets the id of the run, which is random otherwise; see [`RunInfo::id`]. No other run may have it, because [idempotency
    /// keys](crate::ExecutionContext::idempotency_key) contain it.
    pub fn run_id(self, id: impl Into<Arc<str>>) -> Self {
        self.change(|prepared, origin| {
            prepared.refuse_if_kept("an id");
            prepared.rename(origin, id.into());
        })
    }

    /// Sets the time at which the run began, which is otherwise that of its creation; see [`RunInfo::start_ms`].
    pub fn start_time(self, time: SystemTime) -> Self {
        self.change(|prepared, origin| {
            prepared.refuse_if_kept("a start");
            origin.info().start_ms = unix_ms(time);
        })
    }

    /// Adds a hook after those of the agent.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// use gadgetry::control::{BeforeModelCall, closures};
    /// let agent = gadgetry::Agent::builder().model(model).build()?;
    /// let cached = closures::before_model_call(async |_| BeforeModelCall::Reply("Four.".to_owned()));
    /// assert_eq!(agent.ask("What is 2+2?").hook(cached).text().await?, "Four.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn hook(self, hook: impl DynHook + 'static) -> Self {
        self.change(|prepared, origin| {
            if hook.questions() != Asks::default() {
                prepared.refuse_if_kept("a hook that decides");
            }
            prepared.add_hook(origin, Arc::new(hook));
        })
    }

    /// Returns the identity of the run.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.origin.info
    }

    /// Takes over what a journal knows of the run.
    pub(super) fn settle(&mut self) {
        if let Some(prepared) = self.prepared() {
            self.origin = Arc::clone(&prepared.origin);
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Prepared, &mut Origin)) -> Self {
        let mut origin = Arc::clone(&self.origin);
        let Some(prepared) = self.prepared() else {
            tracing::error!("an option was set after the run had begun: the run is cancelled");
            self.handle.cancel();
            return self;
        };
        change(prepared, Arc::make_mut(&mut origin));
        prepared.origin = Arc::clone(&origin);
        prepared.is_changed = true;
        self.origin = origin;
        self
    }
}

/// The options of a durable run that are not kept in its journal.
#[derive(Clone, Default)]
pub(super) struct Extras {
    pub(super) hooks: Vec<Arc<dyn DynHook>>,
    pub(super) values: Values,
    pub(super) metadata: Map<String, Value>,
}

impl Extras {
    /// Adds them to a run with the id `id`, before it is opened.
    pub(super) fn add_to(self, prepared: &mut Prepared, id: &str) {
        let mut origin = (*prepared.origin).clone();
        prepared.rename(&mut origin, id.into());
        origin.info().metadata.extend(self.metadata);
        for hook in self.hooks {
            prepared.add_hook(&mut origin, hook);
        }
        let services = prepared.services();
        services.values = self.values.within(&services.values);
        origin.options.asks = Some(services.durable_asks());
        prepared.origin = Arc::new(origin);
    }
}

impl Origin {
    fn info(&mut self) -> &mut RunInfo {
        Arc::make_mut(&mut self.info)
    }
}

impl Prepared {
    fn services(&mut self) -> &mut Services {
        self.scope.services_mut()
    }

    /// Notes a mistake of the caller if the journal has the run already.
    fn refuse_if_kept(&mut self, what: &str) {
        if self.taken.is_some() {
            self.mistake = Some(format!(
                "{what} of a durable run is set before it begins: between `durable(…)` and `ask(…)` or `resume()`"
            ));
        }
    }

    /// The mistake of a run without a value that one of its gadgets needs.
    pub(super) fn missing_value(&self) -> Option<String> {
        let Services {
            toolbox, values, ..
        } = self.scope.services();
        let gadgets = toolbox.registry().iter();
        let mut gadgets = gadgets.filter_map(|gadget| toolbox.get(gadget.name()));
        gadgets.find_map(|gadget| {
            let missing = gadget.needs().iter().find(|need| !values.has(**need))?;
            let (name, need) = (&gadget.spec().name, missing.type_name());
            Some(format!(
                "the gadget {name} needs a value of type `{need}`, which the run does not have: add one to the run or its agent with \
                 `.with(…)`"
            ))
        })
    }

    fn rename(&mut self, origin: &mut Origin, id: Arc<str>) {
        let scope = &mut self.services().scope;
        if scope.depth > 0 {
            self.mistake = Some("the id of a subagent follows from that of its parent".to_owned());
            return;
        }
        scope.run_id = Some(Arc::clone(&id));
        origin.info().id = id;
    }

    fn add_hook(&mut self, origin: &mut Origin, hook: Arc<dyn DynHook>) {
        let services = self.services();
        services.hooks.push(hook);
        let is_durable = origin.options.asks.is_some_and(|asks| asks.human);
        origin.options.asks = Some(if is_durable {
            services.durable_asks()
        } else {
            services.asks()
        });
    }
}
