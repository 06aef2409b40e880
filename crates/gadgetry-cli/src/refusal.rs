//! Adds a hint about the key to authentication errors.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::message::Request;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::tags::CustomBlock;
use gadgetry::proto::transform::TransformFactory;
use gadgetry::provider::Resolver;
use gadgetry::provider::resolve::Place;
use gadgetry::{Model, ModelInfo};

/// `model`, with the name of the environment variable in its errors about keys.
pub(crate) struct WithKeyHint {
    model: Arc<dyn Model>,
    words: Arc<str>,
}

impl WithKeyHint {
    /// `variable` is the one that the user named for the key.
    pub(crate) fn new(
        model: Arc<dyn Model>,
        resolver: &Resolver,
        place: &Place,
        variable: Option<&str>,
    ) -> Self {
        let words = match variable {
            Some(variable) => format!("the key comes from {variable}"),
            None => words(resolver, place),
        };
        let words = words.into();
        Self { model, words }
    }
}

/// Describes the key.
fn words(resolver: &Resolver, place: &Place) -> String {
    let configured = resolver.configured();
    let mut places = configured.iter();
    let found = places.find(|it| Some(it.provider) == place.provider);
    if let Some(variable) = found.and_then(|it| it.key) {
        return format!("the key comes from {variable}");
    }
    let mut wanting = Resolver::key_variables();
    match wanting.find(|(provider, _)| Some(*provider) == place.provider) {
        Some((_, variables)) => format!("no key was sent: set {}", variables.join(" or ")),
        None => "no key was sent: set its environment variable with --api-key-env".to_owned(),
    }
}

impl Model for WithKeyHint {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let words = Arc::clone(&self.words);
        let with_hint = move |mut delta| {
            if let Delta::Error(error) = &mut delta
                && error.kind == ModelErrorKind::Authentication
            {
                error.message.push_str("; ");
                error.message.push_str(&words);
            }
            delta
        };
        self.model.stream(request).map(with_hint).boxed()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn custom_blocks(&self) -> Vec<CustomBlock> {
        self.model.custom_blocks()
    }

    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Arc<dyn Model>> {
        let model = self.model.with_tools(gadgets)?;
        let words = Arc::clone(&self.words);
        Some(Arc::new(Self { model, words }))
    }

    fn transforms(&self) -> Vec<TransformFactory> {
        self.model.transforms()
    }
}
