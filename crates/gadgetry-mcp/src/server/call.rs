//! One call of a client.

use std::convert::Infallible;
use std::future::pending;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use axum::http::request::Parts;
use gadgetry::TraceContext;
use gadgetry::agent::{AgentRun, SingleCall, single_call};
use gadgetry::observer::Observer;
use gadgetry::proto::event::{Event, EventKind};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::approval::{Instead, OfClient, Way, reply};
use super::sessions::Client;
use super::{GadgetServer, content};

/// Progress reports that wait to be sent; more are left out.
const REPORTS: usize = 64;

/// Executes a call. `ended` is cancelled with the connection.
pub(super) async fn call(
    server: &GadgetServer,
    ended: &CancellationToken,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let GadgetServer { options, shared } = server;
    let Some(gadget) = options.toolbox.get(&request.name) else {
        let unknown = options.toolbox.registry().unknown_gadget(&request.name);
        return Err(ErrorData::invalid_params(unknown, None));
    };
    let client = sender(&context);
    let Some(_place) = shared.calls.place(client) else {
        return Ok(failed("too many calls are in flight; repeat it later").into());
    };
    let approver = OfClient::new(way(server, &request, &context), client);
    let approvals = options.approvals.clone().approver(approver.clone());
    let arguments = request.arguments.clone().unwrap_or_default();
    let parameters = Value::Object(arguments).to_string();
    // Dropping this future cancels it as well.
    let cancellation = ended.child_token();
    let _ends = cancellation.clone().drop_guard();
    let run = single_call(Arc::clone(gadget), &parameters, seed())
        .map_err(|error| error.to_string())
        .and_then(|agent| {
            let agent = agent
                .approvals(approvals)
                .hook(options.hooks.clone())
                .cancellation(cancellation.clone())
                .default_timeout(options.timeout);
            agent.ask("").map_err(|error| error.to_string())
        });
    let meta = &context.meta;
    let trace = TraceContext::from_headers(|name| meta.get(name).and_then(Value::as_str));
    let run = match run {
        Ok(run) => trace.into_iter().fold(run, AgentRun::with),
        Err(error) => return Ok(failed(&error).into()),
    };
    let (progress, reports) = mpsc::channel(REPORTS);
    let mut observer = Reporter {
        call: SingleCall::default(),
        progress: context.meta.get_progress_token().map(|_| progress),
    };
    let reporting = report(
        context.peer.clone(),
        context.meta.get_progress_token(),
        reports,
    );
    let executing = async {
        let finished = tokio::select! {
            biased;
            finished = run.observe(&mut observer) => finished,
            never = pass_on(&context.ct, &cancellation) => match never {},
        };
        // Ends the reports.
        observer.progress = None;
        let finished = finished.unwrap_or_else(gadgetry::RunError::into_finished);
        finished.summary.error.map(|error| error.message)
    };
    let (fault, ()) = tokio::join!(executing, reporting);
    match approver.instead(&shared.seals, &request) {
        Some(Instead::Required(required)) => return Ok(required.into()),
        Some(Instead::Unanswered(reason)) => {
            let name = &request.name;
            return Ok(failed(&format!("Denied: {name} needs approval, but {reason}")).into());
        }
        None => {}
    }
    Ok(content::result(observer.call, fault, options.output_limit).into())
}

/// Cancels the run when the client cancels the request. Never returns: the run ends by itself then.
async fn pass_on(request: &CancellationToken, run: &CancellationToken) -> Infallible {
    request.cancelled().await;
    run.cancel();
    pending().await
}

/// Returns the way in which the client's user can approve this call.
fn way(
    server: &GadgetServer,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Way {
    let client = context.client_capabilities();
    if client.is_none_or(|client| client.elicitation.is_none()) {
        return Way::None;
    }
    let is_new = context
        .protocol_version()
        .is_some_and(|it| !it.has_initialize());
    if !is_new {
        return Way::Request(context.peer.clone());
    }
    reply(&server.shared.seals, request, sender(context)).map_or(Way::Input, Way::Replied)
}

/// Returns the client that has sent a request; over stdio there is one.
fn sender(context: &RequestContext<RoleServer>) -> Client {
    let request = context.extensions.get::<Parts>();
    let client = request.and_then(|request| request.extensions.get::<Client>());
    client.copied().unwrap_or_default()
}

fn failed(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// A number that clients do not know.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Observes a call and passes on its progress.
struct Reporter {
    call: SingleCall,
    progress: Option<mpsc::Sender<String>>,
}

impl Observer for Reporter {
    fn event(&mut self, event: &Event) {
        if let (EventKind::GadgetProgress { message, .. }, Some(progress)) =
            (&event.kind, &self.progress)
        {
            // A client that reads too slowly misses some.
            let _ = progress.try_send(message.clone());
        }
        self.call.event(event);
    }
}

/// Sends progress to the client until the call has ended.
async fn report(
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    mut reports: mpsc::Receiver<String>,
) {
    let Some(token) = token else { return };
    let mut count = 0.0;
    while let Some(message) = reports.recv().await {
        count += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), count);
        // An error means that the connection has ended, which cancels the call.
        let _ = peer.notify_progress(progress.with_message(message)).await;
    }
}
