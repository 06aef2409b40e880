//! Known facts about one model.

use std::fmt;

use gadgetry_proto::usage::{Price, Usage};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{ConstraintField, Mode, ModelInfo};
use crate::models::date::Date;

/// Known facts about one model. Absent means unknown, not zero.
///
/// ```
/// use gadgetry::models::{Feature, Features, ModelSpec};
/// use gadgetry::Price;
///
/// let spec = ModelSpec {
///     context_window: Some(128_000),
///     price: Some(Price::default().input(0.5).output(1.5)),
///     features: Features::from([Feature::Tools, Feature::Vision]),
///     ..ModelSpec::new("acme", "acme/large")
/// };
/// assert!(spec.info().reads_images);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSpec {
    /// The name that finds it, unique in a registry but for its case.
    pub id: String,
    /// Who serves it, like `openai` or `ollama`.
    pub provider: String,
    /// The API that serves it.
    #[serde(default, skip_serializing_if = "Mode::is_chat")]
    pub mode: Mode,
    /// Tokens that a request may hold. Some providers count the reply as a part of it, others do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that a reply may hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Price per token. In a registry it is never nothing, unless the model is local.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Price of requests in a batch, which are answered within hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_price: Option<Price>,
    /// Features of the model.
    #[serde(default, skip_serializing_if = "Features::is_empty")]
    pub features: Features,
    /// The first day on which it may be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecation_date: Option<Date>,
    /// True if the model runs on the user's machine, and so costs nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_local: bool,
}

impl ModelSpec {
    /// A model of which nothing else is known.
    pub fn new(provider: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            provider: provider.into(),
            ..Self::default()
        }
    }

    /// The metadata of a [`Model`](crate::model::Model).
    pub fn info(&self) -> ModelInfo {
        ModelInfo {
            parameters: None,
            constraint: ConstraintField::None,
            context_window: self.context_window,
            price: self.price.clone(),
            is_local: self.is_local,
            reads_images: self.features.contains(Feature::Vision),
            reads_audio: self.features.contains(Feature::Audio),
            mode: self.mode,
            reports_cost: false,
        }
    }

    /// Dollars for one model call; none if the price is unknown.
    pub fn estimate(&self, usage: &Usage) -> Option<f64> {
        self.price.as_ref().map(|price| price.cost(usage))
    }

    /// Returns whether the provider may have switched the model off by this day.
    pub fn is_deprecated(&self, on: Date) -> bool {
        self.deprecation_date.is_some_and(|date| date <= on)
    }

    /// A price of 0 counts as unknown, except for local models, which cost nothing.
    pub(super) fn settled(mut self) -> Self {
        if self.is_local {
            self.price.get_or_insert_default();
        } else {
            self.price = self.price.filter(Price::charges);
        }
        self.batch_price = self.batch_price.filter(Price::charges);
        self
    }
}

/// Token limits of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelLimits {
    /// Tokens that a request may hold.
    pub context_window: Option<u64>,
    /// Tokens that a reply may hold.
    pub max_output_tokens: Option<u64>,
}

/// Something that a model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// Gives its reply piece by piece.
    Streaming,
    /// Calls tools natively. Gadgets need it not.
    Tools,
    /// Accepts images as input.
    Vision,
    /// Accepts audio as input.
    Audio,
    /// Thinks before it answers.
    Reasoning,
    /// Answers with JSON of a given schema.
    StructuredOutput,
    /// Charges less for a beginning that it has seen before.
    PromptCaching,
}

impl Feature {
    /// Every feature, in the order of the variants.
    pub const ALL: [Self; 7] = [
        Self::Streaming,
        Self::Tools,
        Self::Vision,
        Self::Audio,
        Self::Reasoning,
        Self::StructuredOutput,
        Self::PromptCaching,
    ];

    /// The name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Tools => "tools",
            Self::Vision => "vision",
            Self::Audio => "audio",
            Self::Reasoning => "reasoning",
            Self::StructuredOutput => "structured-output",
            Self::PromptCaching => "prompt-caching",
        }
    }

    /// The feature with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of [`Feature`]s.
///
/// ```
/// use gadgetry::models::{Feature, Features};
/// let features = Features::from([Feature::Tools, Feature::Vision]);
/// assert!(features.contains(Feature::Vision));
/// assert_eq!(features.iter().count(), 2);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Features(u8);

impl Features {
    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set contains `feature`.
    pub fn contains(self, feature: Feature) -> bool {
        self.0 & bit(feature) != 0
    }

    /// Returns whether the set contains all of `others`.
    pub fn contains_all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Adds a feature to the set.
    pub fn insert(&mut self, feature: Feature) {
        self.0 |= bit(feature);
    }

    /// Iterates over the features of the set, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL
            .into_iter()
            .filter(move |it| self.contains(*it))
    }
}

fn bit(feature: Feature) -> u8 {
    1 << feature as u8
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        let mut set = Self::default();
        features.into_iter().for_each(|feature| set.insert(feature));
        set
    }
}

impl<const N: usize> From<[Feature; N]> for Features {
    fn from(features: [Feature; N]) -> Self {
        features.into_iter().collect()
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Feature::name))
    }
}

/// A newer table may name features that this version does not know; they are left out.
impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names: Vec<String> = Vec::deserialize(deserializer)?;
        Ok(names
            .iter()
            .filter_map(|it| Feature::from_name(it))
            .collect())
    }
}
