//! A request that was read and admitted.

use std::sync::Arc;

use gadgetry_proto::trace::TraceContext;

use crate::api::ClientApi;
use crate::exchange::PreparedRequest;
use crate::memory::Owner;
use crate::settings::Destination;
use crate::trace::Watched;

/// A request on its way to an upstream.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) api: ClientApi,
    pub(super) request: Arc<PreparedRequest>,
    pub(super) destination: Destination,
    /// Owner of the data that is derived from the request and reused by the next one.
    pub(super) owner: Owner,
    /// Fingerprint of the tools.
    pub(super) fingerprint: [u8; 32],
    /// Id in the headers of the answer, which is independent of the ids in its body.
    pub(super) id: String,
    /// Name of the client's key; empty without keys.
    pub(super) client: String,
    /// Trace that the request belongs to: the client's, or ours below it.
    pub(super) trace: Option<Arc<TraceContext>>,
    /// The watch of its content.
    pub(super) watched: Watched,
}
