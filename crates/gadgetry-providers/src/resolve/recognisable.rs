//! A model of the user's own server, which is recognised when the first run needs it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::schema::GadgetSpec;
use tokio::time::Instant;

use crate::model::{Model, ModelInfo};

/// Time after which a server that said nothing is tried once more.
const SILENCE: Duration = Duration::from_mins(1);

/// Returns the model as its server describes it; `None` if the server says nothing.
type Recognise = dyn Fn() -> BoxFuture<'static, Option<Arc<dyn Model>>> + Send + Sync;

/// A model of the user's own server.
pub(super) struct Recognisable {
    /// Asks the server.
    recognise: Box<Recognise>,
    /// The model, as far as it is known without its server.
    plain: Arc<dyn Model>,
    recognised: OnceLock<Arc<dyn Model>>,
    /// When its server said nothing.
    silent: Mutex<Option<Instant>>,
}

impl Recognisable {
    pub(super) fn new(
        plain: Arc<dyn Model>,
        recognise: impl Fn() -> BoxFuture<'static, Option<Arc<dyn Model>>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            recognise: Box::new(recognise),
            plain,
            recognised: OnceLock::new(),
            silent: Mutex::new(None),
        }
    }

    /// Returns `true` if the server said nothing a moment ago. Another program may answer there later.
    fn is_silent(&self) -> bool {
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.is_some_and(|since| since.elapsed() < SILENCE)
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
            if self.is_silent() {
                return None;
            }
            let Some(model) = (self.recognise)().await else {
                let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
                *silent = Some(Instant::now());
                return None;
            };
            Some(Arc::clone(self.recognised.get_or_init(|| model)))
        })
    }
}
