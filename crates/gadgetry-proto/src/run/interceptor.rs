//! Pure rewrites of what passes through a run.

use serde_json::Value;

use crate::delta::Delta;
use crate::run::start::AboutCall;

/// Rewrites what passes through a run, without waiting: the same input must always give the same output, or a replay
/// differs. All interceptors of a run see what the one before has made of it.
///
/// ```
/// use gadgetry_proto::run::Interceptor;
///
/// struct NoKeys;
/// impl Interceptor for NoKeys {
///     fn result(&self, _: &gadgetry_proto::run::AboutCall, text: String) -> String {
///         text.replace("sk-secret", "[key]")
///     }
/// }
/// ```
pub trait Interceptor: Send + Sync {
    /// A piece of the stream as the model sent it; `None` drops it. Before any parsing.
    fn delta(&self, delta: Delta) -> Option<Delta> {
        Some(delta)
    }

    /// A piece of visible text after all transforms; `None` drops it.
    fn text(&self, text: String) -> Option<String> {
        Some(text)
    }

    /// The text of a whole reply as the conversation will keep it, blocks included. Its calls are what they are.
    fn reply(&self, text: String) -> String {
        text
    }

    /// The parameters of a call before they are validated once more and the gadget starts.
    fn parameters(&self, call: &AboutCall, parameters: Value) -> Value {
        let _ = call;
        parameters
    }

    /// Changes the text of a result or an error that the model reads, after output limiting.
    fn result(&self, call: &AboutCall, text: String) -> String {
        let _ = call;
        text
    }
}
