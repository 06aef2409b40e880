//! The seam to a model.

use futures_core::stream::BoxStream;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;

/// Something that answers a request with a reply, piece by piece.
///
/// A reply that is whole ends with [`Delta::MessageEnd`]. A stream that ends without it was cut off. Whatever goes
/// wrong, from a refused connection to an overloaded server, is a [`Delta::Error`]; the stream ends after it.
pub trait Model: Send + Sync {
    /// Starts one reply. The call returns at once; waiting happens in the stream.
    ///
    /// Cancel safety: dropping the stream cancels the reply. Nothing of it goes on in the background.
    fn stream(&self, request: Request) -> BoxStream<'static, Delta>;

    /// The name that a person would use for this model.
    fn name(&self) -> &str;
}
