//! What a run is driven with, and where it stands among the runs that share it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::run::{Asks, Retry};
use gadgetry_proto::usage::Usage;

use crate::control::DynController;
use crate::family::Family;
use crate::human::Human;
use crate::model::Model;
use crate::toolbox::Toolbox;

/// What a run is driven with. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry::{ScriptedModel, Services, Toolbox};
///
/// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
/// let services = Services::new(Arc::new(model), Toolbox::default());
/// assert_eq!(services.model.name(), "script");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Services {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// The gadgets.
    pub toolbox: Arc<Toolbox>,
    /// Who decides what the run asks, but for what a person is asked.
    pub controller: Option<Arc<dyn DynController>>,
    /// The person that the run and its gadgets may ask.
    pub human: Option<Arc<dyn Human>>,
    /// What holds requests back.
    pub limiter: Option<Arc<dyn Limiter>>,
    /// Further models that gadgets may use.
    pub models: Models,
    /// What subagents do about failed model calls, unless they are told otherwise. The run itself does what
    /// [`RunSpec::retry`](gadgetry_proto::run::RunSpec::retry) says.
    pub retry: Option<Retry>,
    /// How long a cancelled gadget may take to tidy up before its future is dropped: 2 seconds by default, in subagents
    /// half of that for each level. A gadget that has never taken its token gets no time, since it cannot notice.
    pub grace: Duration,
    /// Where the run stands among those that share its cancellation and its budget.
    pub family: Family,
}

impl Services {
    /// A model and its gadgets, and nobody to ask.
    pub fn new(model: Arc<dyn Model>, toolbox: impl Into<Arc<Toolbox>>) -> Self {
        Self {
            model,
            toolbox: toolbox.into(),
            controller: None,
            human: None,
            limiter: None,
            models: Models::default(),
            retry: None,
            grace: Duration::from_secs(2),
            family: Family::default(),
        }
    }

    /// What a run has to ask so that everybody here is asked: for [`RunSpec::asks`](gadgetry_proto::run::RunSpec::asks).
    pub fn asks(&self) -> Asks {
        Asks {
            human: self.human.is_some(),
            ..self
                .controller
                .as_ref()
                .map_or_else(Asks::default, |controller| controller.questions())
        }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("model", &self.model.name())
            .field("toolbox", &self.toolbox)
            .field("models", &self.models)
            .field("family", &self.family)
            .finish_non_exhaustive()
    }
}

/// Models by the name under which a gadget may ask for them.
#[derive(Clone, Default)]
pub struct Models(Arc<BTreeMap<String, Arc<dyn Model>>>);

impl Models {
    /// The model of this name, in exactly this case.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn Model>)> {
        self.0.iter().map(|(name, model)| (name.as_str(), model))
    }
}

impl<N: Into<String>> FromIterator<(N, Arc<dyn Model>)> for Models {
    fn from_iter<I: IntoIterator<Item = (N, Arc<dyn Model>)>>(models: I) -> Self {
        let models = models.into_iter();
        Self(Arc::new(models.map(|(name, m)| (name.into(), m)).collect()))
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Holds requests back, so that they stay within what a provider allows. Runs and gadgets may share one.
pub trait Limiter: Send + Sync {
    /// Waits until a request of about so many tokens may go out. Gives how long that took; zero if it did not wait.
    ///
    /// Cancel safety: a request whose future is dropped was not admitted.
    fn admit(&self, tokens: u64) -> BoxFuture<'_, Duration>;

    /// The reply to a request that was admitted with so many `tokens` is over, or nobody reads it any more; this is
    /// what it has used. All 0 means that nothing is known.
    fn record(&self, tokens: u64, usage: Usage);
}
