//! One server: its connection, which is made again when it is lost, and calls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::ExecutionContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, InputRequest, InputResponses, JsonObject, ReadResourceRequest,
    ReadResourceRequestParams, RequestId, RequestMetaObject, ServerNotification, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::connect::{Connection, Lists, connect, json_of, lists, resources};
use super::elicit;
use super::error::{CallError, ConnectError};
use super::handler::Handler;
use super::in_flight::{InFlight, Registered};
use super::words;
use crate::config::{ServerConfig, Transport};

/// Maximum number of times that a server may ask for input within one call.
const ROUNDS: usize = 10;

/// Maximum time for the notification that a call is cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time that an error waits for a connection that another call makes again.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Policy for servers that end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Maximum number of restarts in a row, without a successful call in between.
    pub times: u32,
    /// The time before the second restart; it doubles each time. The first restart is immediate.
    pub delay: Duration,
    /// The longest such time.
    pub longest_delay: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            times: 5,
            delay: Duration::from_secs(1),
            longest_delay: Duration::from_secs(30),
        }
    }
}

impl RestartPolicy {
    fn wait_before(&self, restart: u32) -> Duration {
        match restart.checked_sub(2) {
            None => Duration::ZERO,
            Some(doublings) => {
                let factor = 2_u32.saturating_pow(doublings);
                self.delay.saturating_mul(factor).min(self.longest_delay)
            }
        }
    }
}

/// A server that was configured.
pub(super) struct Remote {
    pub(super) name: String,
    pub(super) config: ServerConfig,
    policy: RestartPolicy,
    calls: InFlight,
    link: tokio::sync::Mutex<Link>,
    /// Ends in a row.
    ends: AtomicU32,
    lists: Mutex<Lists>,
    /// The server reports that its lists have changed.
    reported: Arc<Notify>,
    /// Counts the lists that were read, for the owner.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Link {
    connection: Option<Connection>,
    is_closed: bool,
    not_before: Option<Instant>,
    last_words: String,
}

impl Remote {
    pub(super) fn new(
        name: String,
        config: ServerConfig,
        policy: RestartPolicy,
        changes: watch::Sender<u64>,
    ) -> Arc<Self> {
        let remote = Arc::new(Self {
            name,
            config,
            policy,
            changes,
            calls: InFlight::default(),
            link: tokio::sync::Mutex::default(),
            ends: AtomicU32::new(0),
            lists: Mutex::default(),
            reported: Arc::default(),
        });
        let reported = Arc::clone(&remote.reported);
        tokio::spawn(refresh(Arc::downgrade(&remote), reported));
        remote
    }

    pub(super) fn lists(&self) -> Lists {
        self.lists_mut().clone()
    }

    fn lists_mut(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision of the protocol, if there is a connection.
    pub(super) async fn protocol(&self) -> Option<String> {
        let link = self.link.lock().await;
        let connection = link.connection.as_ref()?;
        let info = connection.service.peer_info()?;
        Some(info.protocol_version.to_string())
    }

    /// Connects if there is no connection.
    ///
    /// Boxed, like [`Remote::close`]: the future of an `async fn` is compiled again in every crate that awaits it, and all of
    /// `rmcp` with it.
    pub(super) fn connected(&self) -> BoxFuture<'_, Result<Peer<RoleClient>, ConnectError>> {
        Box::pin(self.connect())
    }

    async fn connect(&self) -> Result<Peer<RoleClient>, ConnectError> {
        let mut link = self.link.lock().await;
        if link.is_closed {
            return Err(ConnectError::Closed);
        }
        if let Some(connection) = &link.connection
            && !connection.service.is_transport_closed()
        {
            return Ok(connection.service.peer().clone());
        }
        if let Some(mut lost) = link.connection.take() {
            if let Some(process) = &mut lost.process {
                link.last_words = process.last_words().await;
            }
            lost.end().await;
            let ends = self.ends.fetch_add(1, Ordering::Relaxed) + 1;
            link.not_before = Some(Instant::now() + self.policy.wait_before(ends));
        }
        let times = self.ends.load(Ordering::Relaxed);
        if times > self.policy.times {
            let stderr = link.last_words.clone();
            return Err(ConnectError::GaveUp { times, stderr });
        }
        if let Some(time) = link.not_before {
            sleep_until(time).await;
        }
        let handler = || Handler {
            server: self.name.clone(),
            calls: self.calls.clone(),
            changed: Arc::clone(&self.reported),
        };
        let connection = match connect(&self.config, handler).await {
            Ok(connection) => connection,
            Err(error) => {
                let ends = self.ends.fetch_add(1, Ordering::Relaxed) + 1;
                link.not_before = Some(Instant::now() + self.policy.wait_before(ends));
                return Err(error);
            }
        };
        self.set_lists(connection.lists.clone());
        let peer = connection.service.peer().clone();
        subscribe(&peer, &self.reported);
        link.connection = Some(connection);
        Ok(peer)
    }

    fn set_lists(&self, new: Lists) {
        let mut lists = self.lists_mut();
        if *lists != new {
            *lists = new;
            drop(lists);
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Forgets how often the server has ended, and connects if there is no connection.
    pub(super) async fn reconnect(&self) -> Result<(), ConnectError> {
        self.ends.store(0, Ordering::Relaxed);
        self.link.lock().await.not_before = None;
        self.connected().await.map(drop)
    }

    /// Ends the connection for good.
    pub(super) fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut link = self.link.lock().await;
            link.is_closed = true;
            if let Some(connection) = link.connection.take() {
                connection.end().await;
            }
        })
    }

    /// Calls a tool, if `check` has no error once there is a connection: the server may have been started again, with other tools. The
    /// result is what the server has sent.
    ///
    /// Cancel safety: dropping the future cancels the call at the server.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        context: &ExecutionContext,
        check: impl FnOnce() -> Result<(), String>,
    ) -> Result<Value, CallError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.ask(context, async |call, peer| {
            check().map_err(Sent::Unchecked)?;
            let mut params = params;
            for _ in 0..ROUNDS {
                let request = CallToolRequest::new(params.clone());
                let request = ClientRequest::CallToolRequest(request);
                let result = send(peer, call, request).await?;
                let ServerResult::InputRequiredResult(required) = result else {
                    return Ok(json_of(result)?);
                };
                params.input_responses = match required.input_requests {
                    Some(requests) => Some(self.inputs(requests).await),
                    None => None,
                };
                params.request_state = required.request_state;
            }
            Err(Sent::TooManyRounds)
        })
        .await
    }

    /// Reads a resource. The result is what the server has sent.
    pub(super) async fn read(
        &self,
        uri: &str,
        context: &ExecutionContext,
    ) -> Result<Value, CallError> {
        self.ask(context, async |call, peer| {
            let params = ReadResourceRequestParams::new(uri);
            let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
            Ok(json_of(send(peer, call, request).await?)?)
        })
        .await
    }

    /// Lists the resources.
    pub(super) async fn resources(
        &self,
        context: &ExecutionContext,
    ) -> Result<Vec<Value>, CallError> {
        self.ask(context, async |_, peer| Ok(resources(peer).await?))
            .await
    }

    /// Does `work` with a connection, within the timeout of the server and until the call is cancelled.
    async fn ask<T>(
        &self,
        context: &ExecutionContext,
        work: impl AsyncFnOnce(&Registered, &Peer<RoleClient>) -> Result<T, Sent>,
    ) -> Result<T, CallError> {
        let call = self.calls.register(context.clone());
        let whole = async {
            let peer = self.connected().await?;
            match work(&call, &peer).await {
                Ok(result) => {
                    self.ends.store(0, Ordering::Relaxed);
                    Ok(result)
                }
                Err(sent) => Err(self.explain(sent, &peer).await),
            }
        };
        tokio::select! {
            biased;
            done = call.within(self.config.timeout, whole) => {
                done.unwrap_or(Err(CallError::Timeout(self.config.timeout)))
            }
            () = context.cancellation().cancelled() => Err(CallError::Cancelled),
        }
    }

    /// Answers what a server of the newer revision wants to know before it continues.
    async fn inputs(&self, requests: rmcp::model::InputRequests) -> InputResponses {
        let mut responses = InputResponses::new();
        // One after the other, because a user answers one question at a time.
        for (id, request) in requests {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    let answer = elicit::ask(&self.calls, &self.name, request.params).await;
                    serde_json::to_value(answer).unwrap_or(Value::Null)
                }
                InputRequest::ListRoots(_) => json!({ "roots": [] }),
                // Sampling is not offered, so a server that follows the protocol does not request it.
                InputRequest::CreateMessage(_) | _ => json!({ "action": "decline" }),
            };
            responses.insert(id, response);
        }
        responses
    }

    async fn explain(&self, sent: Sent, peer: &Peer<RoleClient>) -> CallError {
        let error = match sent {
            Sent::TooManyRounds => return CallError::TooManyRounds(ROUNDS),
            Sent::Unchecked(why) => return CallError::Refused(why),
            Sent::Failed(error) => error,
        };
        if error.is_authorization_required() {
            return CallError::Unavailable(ConnectError::Unauthorized);
        }
        if let ServiceError::McpError(error) = error {
            return CallError::Refused(error.message.into_owned());
        }
        if peer.is_transport_closed() || matches!(error, ServiceError::TransportClosed) {
            return match self.config.transport {
                Transport::Stdio(_) => self.ended().await,
                Transport::Http(_) => CallError::Lost,
            };
        }
        if matches!(error, ServiceError::UnexpectedResponse) {
            return CallError::Unexpected;
        }
        CallError::Transport(words::of_request(&error))
    }

    /// The error of a call whose connection has ended, with the last lines of the server's stderr.
    async fn ended(&self) -> CallError {
        // Another call may be connecting again.
        let Ok(mut link) = timeout(LOCK_TIMEOUT, self.link.lock()).await else {
            let stderr = String::new();
            return CallError::Ended { stderr };
        };
        let link = &mut *link;
        if let Some(connection) = &mut link.connection
            && connection.service.is_transport_closed()
            && let Some(process) = &mut connection.process
        {
            link.last_words = process.last_words().await;
        }
        let stderr = link.last_words.clone();
        CallError::Ended { stderr }
    }
}

/// Reads the lists again whenever the server reports that they have changed.
async fn refresh(remote: Weak<Remote>, reported: Arc<Notify>) {
    loop {
        reported.notified().await;
        let Some(remote) = remote.upgrade() else {
            return;
        };
        let peer = {
            let link = remote.link.lock().await;
            if link.is_closed {
                return;
            }
            let connection = link.connection.as_ref();
            connection.map(|connection| connection.service.peer().clone())
        };
        let Some(peer) = peer else { continue };
        match timeout(remote.config.timeout, lists(&peer)).await {
            Ok(Ok(lists)) => remote.set_lists(lists),
            Ok(Err(error)) => {
                let words = words::of_request(&error);
                tracing::warn!("the lists of {:?}: {words}", remote.name);
            }
            Err(_) => tracing::warn!("the lists of {:?}: no answer in time", remote.name),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Ends the task that would read its lists.
        self.reported.notify_one();
    }
}

/// Subscribes to changes of the lists, which servers of the newer revision report on request only.
fn subscribe(peer: &Peer<RoleClient>, reported: &Arc<Notify>) {
    let Some(info) = peer.peer_info() else { return };
    let tools = info.capabilities.tools.as_ref();
    let reports = tools.and_then(|tools| tools.list_changed) == Some(true);
    if info.protocol_version.has_initialize() || !reports {
        return;
    }
    let (peer, reported) = (peer.clone(), Arc::clone(reported));
    tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = match peer.listen(filter).await {
            Ok(subscription) => subscription,
            Err(error) => {
                let words = words::of_request(&error);
                return tracing::debug!("no subscription to changes of tools: {words}");
            }
        };
        // It ends with the connection.
        while let Ok(Some(notification)) = subscription.next().await {
            if let ServerNotification::ToolListChangedNotification(_) = notification {
                reported.notify_one();
            }
        }
    });
}

/// Error of a request without a result.
enum Sent {
    Failed(ServiceError),
    TooManyRounds,
    /// It was not sent, for this reason.
    Unchecked(String),
}

impl From<ServiceError> for Sent {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

/// Sends a request and waits for its result. Dropping the future cancels it at the server.
async fn send(
    peer: &Peer<RoleClient>,
    call: &Registered,
    request: ClientRequest,
) -> Result<ServerResult, ServiceError> {
    let mut options = PeerRequestOptions::no_options();
    if let Some(trace) = call.trace() {
        let mut meta = RequestMetaObject::new();
        meta.set_traceparent(trace.traceparent());
        if let Some(state) = trace.tracestate() {
            meta.set_tracestate(state);
        }
        options = options.with_meta(meta);
    }
    let handle = peer.send_request_with_option(request, options).await?;
    call.set_token(handle.progress_token.clone());
    let mut pending = Pending(Some((peer.clone(), handle.id.clone())));
    let result = handle.await_response().await;
    pending.0 = None;
    result
}

/// A request that is cancelled at the server when it is dropped.
struct Pending(Option<(Peer<RoleClient>, RequestId)>);

impl Drop for Pending {
    fn drop(&mut self) {
        let Some((peer, id)) = self.0.take() else {
            return;
        };
        // Without a runtime the connection ends anyway.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        drop(runtime.spawn(async move {
            let reason = Some("the call is no longer wanted".to_owned());
            let params = CancelledNotificationParam::new(Some(id), reason);
            let cancelled = CancelledNotification::new(params).into();
            // A server that reads nothing does not read this either.
            let _ = timeout(CANCEL_TIMEOUT, peer.send_notification(cancelled)).await;
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::RestartPolicy;

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RestartPolicy::default();
        let waits = (1..=8).map(|restart| policy.wait_before(restart).as_secs());
        assert_eq!(waits.collect::<Vec<_>>(), [0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(policy.wait_before(u32::MAX), Duration::from_secs(30));
    }
}
