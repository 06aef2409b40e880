//! A model of the user's own server, which is recognised when the first run needs it.

use std::sync::{Arc, OnceLock};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::schema::GadgetSpec;

use super::Resolver;
use crate::model::{Model, ModelInfo};

/// A model of the user's own server.
pub(super) struct Recognisable {
    resolver: Resolver,
    name: String,
    /// The model, as far as it is known without its server.
    plain: Arc<dyn Model>,
    recognised: OnceLock<Arc<dyn Model>>,
}

impl Recognisable {
    pub(super) fn new(resolver: &Resolver, name: &str, plain: Arc<dyn Model>) -> Self {
        Self {
            resolver: resolver.clone(),
            name: name.to_owned(),
            plain,
            recognised: OnceLock::new(),
        }
    }

    /// Returns the model, as far as it is known by now.
    fn model(&self) -> &Arc<dyn Model> {
        self.recognised.get().unwrap_or(&self.plain)
    }
}

impl Model for Recognisable {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        self.model().stream(request)
    }

    fn name(&self) -> &str {
        self.plain.name()
    }

    fn info(&self) -> ModelInfo {
        self.model().info()
    }

    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Arc<dyn Model>> {
        self.model().with_tools(gadgets)
    }

    fn recognised(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(async {
            if let Some(model) = self.recognised.get() {
                return Some(Arc::clone(model));
            }
            // One that does not answer may do so at the next run.
            let model = self.resolver.recognised(&self.name).await?;
            Some(Arc::clone(self.recognised.get_or_init(|| model)))
        })
    }
}
