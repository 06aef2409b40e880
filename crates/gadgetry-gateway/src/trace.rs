//! Traces of requests, for a backend that the program chooses.

use gadgetry_proto::trace::TraceContext;
use gadgetry_proto::usage::Usage;

use crate::api::ClientApi;
use crate::exchange::Counts;

/// Follows the requests that are passed on to a model, for [`Gateway::trace`](crate::Gateway::trace). Methods must not wait.
///
/// ```
/// use gadgetry_gateway::trace::{RequestEnd, RequestTrace, RequestTracer, TracedRequest};
/// use gadgetry_proto::trace::TraceContext;
///
/// struct Printed;
///
/// impl RequestTracer for Printed {
///     fn begin(&self, request: &TracedRequest<'_>) -> Box<dyn RequestTrace> {
///         println!("{} begins", request.id);
///         Box::new(PrintedRequest(request.client.cloned()))
///     }
/// }
///
/// struct PrintedRequest(Option<TraceContext>);
///
/// impl RequestTrace for PrintedRequest {
///     fn context(&self) -> Option<TraceContext> {
///         self.0.clone()
///     }
///
///     fn end(self: Box<Self>, end: &RequestEnd<'_>) {
///         println!("{:?}", end.status);
///     }
/// }
/// ```
pub trait RequestTracer: Send + Sync {
    /// Begins the trace of a request, or its part of one.
    fn begin(&self, request: &TracedRequest<'_>) -> Box<dyn RequestTrace>;
}

/// The trace of one request. [`RequestTracer`] has an example.
pub trait RequestTrace: Send + Sync {
    /// Returns what the upstream receives in `traceparent`.
    fn context(&self) -> Option<TraceContext>;

    /// Ends it, also if the client has disconnected.
    fn end(self: Box<Self>, end: &RequestEnd<'_>);
}

/// A request that begins. [`RequestTracer`] has an example.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TracedRequest<'r> {
    /// Id in the headers of the answer.
    pub id: &'r str,
    /// API of the client.
    pub api: ClientApi,
    /// Model that the client has named.
    pub model: &'r str,
    /// Span of the client, from its `traceparent`.
    pub client: Option<&'r TraceContext>,
}

/// The end of a request. [`RequestTracer`] has an example.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RequestEnd<'r> {
    /// The status; 599 for a stream with an error in it, `None` for a client that has disconnected.
    pub status: Option<u16>,
    /// Name of the upstream that had the request last.
    pub upstream: Option<&'r str>,
    /// Calls and repairs.
    pub counts: Counts,
    /// Tokens of all model calls for the request.
    pub usage: Usage,
    /// Seconds to the first part of the answer.
    pub first_part: Option<f64>,
}
