//! Selection of models of a registry.

use crate::model::Mode;
use crate::models::date::Date;
use crate::models::spec::{Features, ModelSpec};

/// Selection of models. The default selects all of them.
///
/// ```
/// use gadgetry::models::{Feature, ModelFilter, ModelRegistry};
/// let filter = ModelFilter {
///     provider: Some("anthropic".into()),
///     features: [Feature::Vision].into(),
///     ..ModelFilter::default()
/// };
/// assert!(ModelRegistry::builtin().list(&filter).count() > 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ModelFilter {
    /// Provider of the models, however its name is written.
    pub provider: Option<String>,
    /// With this text in the id, whatever its case.
    pub text: Option<String>,
    /// Asked through this interface.
    pub mode: Option<Mode>,
    /// With all of these.
    pub features: Features,
    /// With at least this many tokens in a request. Models with an unknown window are excluded.
    pub min_context_window: Option<u64>,
    /// Local or not.
    pub is_local: Option<bool>,
    /// With a price that is known.
    pub priced: bool,
    /// Not deprecated on this day.
    pub current_on: Option<Date>,
}

impl ModelFilter {
    /// Returns whether this model is selected.
    pub fn matches(&self, spec: &ModelSpec) -> bool {
        let provider = |name: &String| spec.provider == super::names::provider(name);
        let text = |text: &String| {
            let id = spec.id.to_lowercase();
            id.contains(&text.to_lowercase())
        };
        let holds = |least| spec.context_window.is_some_and(|tokens| tokens >= least);
        self.provider.as_ref().is_none_or(provider)
            && self.text.as_ref().is_none_or(text)
            && self.mode.is_none_or(|mode| spec.mode == mode)
            && spec.features.contains_all(self.features)
            && self.min_context_window.is_none_or(holds)
            && self.is_local.is_none_or(|local| spec.is_local == local)
            && (!self.priced || spec.price.is_some())
            && self.current_on.is_none_or(|day| !spec.is_deprecated(day))
    }
}
