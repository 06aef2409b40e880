//! Traces of requests, and their content, for a backend that the program chooses.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::trace::TraceContext;
use gadgetry_proto::usage::Usage;

use crate::api::ClientApi;
use crate::exchange::Counts;

/// Traces the requests that are passed on to a model, for [`Gateway::trace`](crate::Gateway::trace). Methods must not wait.
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
    /// Begins the trace of a request, or the gateway's part of it.
    fn begin(&self, request: &TracedRequest<'_>) -> Box<dyn RequestTrace>;
}

/// The trace of one request. [`RequestTracer`] has an example.
pub trait RequestTrace: Send + Sync {
    /// Returns the trace context that the upstream receives in `traceparent`.
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

/// Watches the content of requests, for [`Gateway::watch`](crate::Gateway::watch). Methods must not wait.
///
/// ```
/// use gadgetry_gateway::trace::{RequestEnd, RequestWatch, RequestWatcher, TracedRequest};
/// use gadgetry_proto::delta::Delta;
/// use gadgetry_proto::message::Request;
///
/// struct Counted;
///
/// impl RequestWatcher for Counted {
///     fn begin(&self, _: &TracedRequest<'_>) -> Box<dyn RequestWatch> {
///         Box::new(Count(0))
///     }
/// }
///
/// struct Count(usize);
///
/// impl RequestWatch for Count {
///     fn sent(&mut self, _: &Request) {}
///
///     fn received(&mut self, _: &Delta) {
///         self.0 += 1;
///     }
///
///     fn delivered(&mut self, _: &Delta) {}
///
///     fn end(self: Box<Self>, _: &RequestEnd<'_>) {
///         println!("{} deltas", self.0);
///     }
/// }
/// ```
pub trait RequestWatcher: Send + Sync {
    /// Begins to watch a request.
    fn begin(&self, request: &TracedRequest<'_>) -> Box<dyn RequestWatch>;
}

/// The content of one request. [`RequestWatcher`] has an example.
pub trait RequestWatch: Send {
    /// Watches a request to a model: the client's, with its tools as text, or one for corrections.
    fn sent(&mut self, request: &Request);

    /// Watches a part of the model's reply.
    fn received(&mut self, delta: &Delta);

    /// Watches a part of the answer that the client receives.
    fn delivered(&mut self, delta: &Delta);

    /// Ends it, also if the client has disconnected.
    fn end(self: Box<Self>, end: &RequestEnd<'_>);
}

/// The watch of a request, if there is one.
#[derive(Default)]
pub(crate) struct Watched(Option<Mutex<Option<Box<dyn RequestWatch>>>>);

impl Watched {
    pub(crate) fn new(watch: Box<dyn RequestWatch>) -> Self {
        Self(Some(Mutex::new(Some(watch))))
    }

    /// Passes the watch to `pass`, if there is one.
    pub(crate) fn with(&self, pass: impl FnOnce(&mut dyn RequestWatch)) {
        let Some(watch) = &self.0 else { return };
        if let Some(watch) = &mut *watch.lock().unwrap_or_else(PoisonError::into_inner) {
            pass(&mut **watch);
        }
    }

    pub(crate) fn end(&self, end: &RequestEnd<'_>) {
        let Some(watch) = &self.0 else { return };
        let watch = watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watch) = watch {
            watch.end(end);
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.0.is_some()).finish()
    }
}
