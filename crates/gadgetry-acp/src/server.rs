//! The connection: reads messages of the client, and gives them to sessions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse,
    CancelNotification, ClientCapabilities, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, Error as Refusal, ErrorCode, ForkSessionRequest,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, McpCapabilities, McpServer, NewSessionRequest,
    PromptCapabilities, PromptRequest, RequestId, ResumeSessionRequest, SessionCapabilities,
    SessionCloseCapabilities, SessionConfigOptionValue, SessionDeleteCapabilities,
    SessionForkCapabilities, SessionInfo, SessionListCapabilities, SessionResumeCapabilities,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use gadgetry::CancellationToken;
use gadgetry::proto::schema::read_plain_json;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::{HostError, ServeError, refusal};
use crate::host::{About, Host, HostSession as _, SessionEntry, Setup, ToolServer, ToolTransport};
use crate::lines::{LINE, Line, next};
use crate::peer::{Peer, Responder, write};
use crate::session::{Command, Opening, Session};
use crate::time::iso_8601;

/// Sessions that are open at the same time.
const SESSIONS: usize = 64;
/// Requests that wait for a session, and requests in progress that are about none.
const WAITING: usize = 64;
/// Sessions of a page of a list.
const PAGE: usize = 50;
/// Maximum time for runs to end when the client has left.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time for a client that does not read to read the last messages, or an error about its own.
const SLOWNESS: Duration = Duration::from_mins(1);

/// Serves one client on a pair of streams, until it closes `input`, or until `stop`. Nothing else may write to `output`.
///
/// In the end, runs in progress are cancelled, and their gadgets ended.
///
/// Nothing that the client sends ends the service: a malformed message is answered with an error, or ignored if it needs no answer.
///
/// # Errors
///
/// [`ServeError::Read`] if `input` fails.
///
/// Cancel safety: dropping the future drops all sessions and their runs.
pub async fn serve<H: Host>(
    host: H,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (peer, messages) = Peer::new();
    let mut writer = JoinSet::new();
    writer.spawn(write(output, messages));
    let ended = CancellationToken::new();
    let mut server = Server {
        host: Arc::new(host),
        peer,
        sessions: Arc::default(),
        tasks: JoinSet::new(),
        ended: ended.clone(),
        client: None,
    };
    // Also if the future is dropped.
    let _ends = ended.clone().drop_guard();
    let mut input = BufReader::new(input);
    let served = tokio::select! {
        biased;
        () = stop => Ok(()),
        read = server.read(&mut input) => read.map_err(ServeError::Read),
        // The client does not read any more.
        _ = writer.join_next() => Ok(()),
    };
    ended.cancel();
    server.peer.close();
    let Server {
        mut tasks,
        sessions,
        peer,
        ..
    } = server;
    drop(sessions);
    let all = async { while tasks.join_next().await.is_some() {} };
    // The runs of sessions that have not ended by then are dropped.
    let _ = timeout(PATIENCE, all).await;
    tasks.shutdown().await;
    drop(peer);
    // The last answers; a client that does not read them does not delay the end for long.
    let _ = timeout(PATIENCE, writer.join_next()).await;
    served
}

type Sessions = Arc<Mutex<HashMap<String, mpsc::Sender<Command>>>>;

fn lock(sessions: &Sessions) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Command>>> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Server<H> {
    host: Arc<H>,
    peer: Peer,
    sessions: Sessions,
    /// Sessions, and requests that are about none.
    tasks: JoinSet<()>,
    ended: CancellationToken,
    /// What the client offers, after the handshake.
    client: Option<ClientCapabilities>,
}

impl<H: Host> Server<H> {
    /// Carries out messages until the end of the stream.
    async fn read(&mut self, input: &mut BufReader<impl AsyncRead + Unpin>) -> std::io::Result<()> {
        while let Some(line) = next(input, LINE).await? {
            // Tasks that have ended are forgotten.
            while self.tasks.try_join_next().is_some() {}
            let answered = match line {
                Line::TooLong => {
                    let error = format!("the message has more than {LINE} bytes");
                    self.refuse(RequestId::Null, refusal(ErrorCode::InvalidRequest, error))
                        .await
                }
                Line::Whole(line) if line.trim_ascii().is_empty() => true,
                Line::Whole(line) => match parsed(&line) {
                    Ok(message) => self.message(message).await,
                    Err(error) => self.malformed(&line, error).await,
                },
            };
            if !answered {
                break;
            }
        }
        Ok(())
    }

    /// Sends an error. Returns whether the client reads.
    async fn refuse(&self, id: RequestId, error: Refusal) -> bool {
        let sent = timeout(SLOWNESS, self.peer.respond(&id, Err(error))).await;
        matches!(sent, Ok(Ok(())))
    }

    /// Refuses a line that is not the JSON of a message. An answer is one that says no: a field that is there twice has two values, and
    /// its request must not wait forever.
    async fn malformed(&self, line: &[u8], error: String) -> bool {
        let lenient: Option<Value> = serde_json::from_slice(line).ok();
        let message = lenient.as_ref().and_then(Value::as_object);
        let id = message.and_then(|it| it.get("id"));
        let is_answer = message.is_some_and(|it| !it.contains_key("method"));
        if let Some(id) = id.filter(|_| is_answer) {
            self.peer.answered(id, Err(Value::from(error)));
            return true;
        }
        let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
        let error = refusal(ErrorCode::ParseError, error);
        self.refuse(id.unwrap_or(RequestId::Null), error).await
    }

    async fn message(&mut self, message: Value) -> bool {
        let Value::Object(mut message) = message else {
            let error = refusal(ErrorCode::InvalidRequest, "a message is a JSON object");
            return self.refuse(RequestId::Null, error).await;
        };
        let id = message.remove("id");
        let Some(method) = message.remove("method") else {
            match (id, message.remove("result"), message.remove("error")) {
                (Some(id), Some(result), None) => self.peer.answered(&id, Ok(result)),
                (Some(id), _, Some(error)) => self.peer.answered(&id, Err(error)),
                _ => {
                    let error = refusal(ErrorCode::InvalidRequest, "the message has no method");
                    return self.refuse(RequestId::Null, error).await;
                }
            }
            return true;
        };
        let params = message.remove("params").unwrap_or_else(|| json!({}));
        let Some(id) = id else {
            self.notification(method.as_str().unwrap_or_default(), params);
            return true;
        };
        let Ok(id) = serde_json::from_value::<RequestId>(id) else {
            let error = refusal(ErrorCode::InvalidRequest, "an id is a string or an integer");
            return self.refuse(RequestId::Null, error).await;
        };
        let Some(method) = method.as_str() else {
            let error = refusal(ErrorCode::InvalidRequest, "a method is a string");
            return self.refuse(id, error).await;
        };
        match self.request(method, params, &id) {
            Ok(Some(result)) => {
                let sent = timeout(SLOWNESS, self.peer.respond(&id, Ok(result))).await;
                matches!(sent, Ok(Ok(())))
            }
            Ok(None) => true,
            Err(error) => self.refuse(id, error).await,
        }
    }

    fn notification(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                if let Ok(cancel) = read::<CancelNotification>(params) {
                    let session = lock(&self.sessions).get(&*cancel.session_id.0).cloned();
                    if let Some(session) = session {
                        // The session is busy with other requests; the user cancels again.
                        let _ = session.try_send(Command::Cancel);
                    }
                }
            }
            "$/cancel_request" => {
                let id = serde_json::from_value::<RequestId>(params["requestId"].clone());
                if let Ok(id) = id {
                    for session in lock(&self.sessions).values() {
                        let _ = session.try_send(Command::CancelRequest(id.clone()));
                    }
                }
            }
            _ => tracing::debug!("the client sends a notification {method:?}, which is ignored"),
        }
    }

    /// Carries out a request. `None`: a task answers it.
    fn request(
        &mut self,
        method: &str,
        params: Value,
        id: &RequestId,
    ) -> Result<Option<Value>, Refusal> {
        if method == "initialize" {
            return self.initialize(&read(params)?).map(Some);
        }
        if !METHODS.contains(&method) {
            let message = format!("there is no method {method}");
            return Err(refusal(ErrorCode::MethodNotFound, message));
        }
        if self.client.is_none() {
            let message = "the first request is `initialize`";
            return Err(refusal(ErrorCode::InvalidRequest, message));
        }
        match method {
            "authenticate" => {
                let login = read::<AuthenticateRequest>(params)?.method_id.0;
                let host = Arc::clone(&self.host);
                self.task(id, async move |responder: Responder| {
                    let done = host.log_in(&login).await;
                    let done = done.map(|()| AuthenticateResponse::new());
                    responder.respond(done).await;
                })?;
            }
            "session/list" => {
                let request = read::<ListSessionsRequest>(params)?;
                // The cursor is the number of sessions before the page.
                let start = request.cursor.as_deref().map_or(Ok(0), str::parse);
                let start = start.ok().filter(|it| *it < usize::MAX - PAGE);
                let start =
                    start.ok_or_else(|| refusal(ErrorCode::InvalidParams, "invalid cursor"))?;
                let host = Arc::clone(&self.host);
                self.task(id, async move |responder: Responder| {
                    let listed = host.list(request.cwd.as_deref(), start, PAGE + 1).await;
                    responder.respond(listed.map(|it| page_of(it, start))).await;
                })?;
            }
            "session/new" => {
                let it = read::<NewSessionRequest>(params)?;
                self.open(None, it.cwd, it.mcp_servers, Opening::New, id)?;
            }
            "session/load" => {
                let it = read::<LoadSessionRequest>(params)?;
                let session = it.session_id.0.to_string();
                self.open(Some(session), it.cwd, it.mcp_servers, Opening::Load, id)?;
            }
            "session/resume" => {
                let it = read::<ResumeSessionRequest>(params)?;
                let session = it.session_id.0.to_string();
                self.open(Some(session), it.cwd, it.mcp_servers, Opening::Resume, id)?;
            }
            "session/fork" => {
                let it = read::<ForkSessionRequest>(params)?;
                let session = it.session_id.0.to_string();
                self.open(Some(session), it.cwd, it.mcp_servers, Opening::Fork, id)?;
            }
            "session/delete" => {
                let session = read::<DeleteSessionRequest>(params)?
                    .session_id
                    .0
                    .to_string();
                if lock(&self.sessions).contains_key(&session) {
                    return Err(refusal(
                        ErrorCode::InvalidRequest,
                        "the session is open; close it first",
                    ));
                }
                let host = Arc::clone(&self.host);
                self.task(id, async move |responder: Responder| {
                    let done = host.delete(&session).await;
                    responder
                        .respond(done.map(|()| DeleteSessionResponse::new()))
                        .await;
                })?;
            }
            "session/close" => {
                let it = read::<CloseSessionRequest>(params)?;
                self.to_session(&it.session_id.0, id, Command::Close)?;
            }
            "session/prompt" => {
                let it = read::<PromptRequest>(params)?;
                let command = |responder| Command::Prompt(it.prompt, responder);
                self.to_session(&it.session_id.0, id, command)?;
            }
            "session/set_mode" => {
                let it = read::<SetSessionModeRequest>(params)?;
                let mode = it.mode_id.0.to_string();
                let command = |responder| Command::SetMode(mode, responder);
                self.to_session(&it.session_id.0, id, command)?;
            }
            _ => {
                let it = read::<SetSessionConfigOptionRequest>(params)?;
                let SessionConfigOptionValue::ValueId { value } = it.value else {
                    let message = "the value of an option is the id of one of its choices";
                    return Err(refusal(ErrorCode::InvalidParams, message));
                };
                let (option, value) = (it.config_id.0.to_string(), value.0.to_string());
                let command = |responder| Command::SetOption(option, value, responder);
                self.to_session(&it.session_id.0, id, command)?;
            }
        }
        Ok(None)
    }

    fn initialize(&mut self, request: &InitializeRequest) -> Result<Value, Refusal> {
        self.client = Some(request.client_capabilities.clone());
        let response = serde_json::to_value(initialized(&self.host.about()));
        response.map_err(|error| refusal(ErrorCode::InternalError, error.to_string()))
    }

    /// Starts work that answers a request.
    fn task<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        id: &RequestId,
        work: impl FnOnce(Responder) -> F,
    ) -> Result<(), Refusal> {
        if self.tasks.len() >= SESSIONS + WAITING {
            return Err(too_many());
        }
        let work = work(Responder::new(self.peer.clone(), id.clone()));
        let ended = self.ended.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = work => {}
            }
        });
        Ok(())
    }

    /// Gives a session a request.
    fn to_session(
        &self,
        session: &str,
        id: &RequestId,
        command: impl FnOnce(Responder) -> Command,
    ) -> Result<(), Refusal> {
        let unknown = || Refusal::from(HostError::UnknownSession(session.to_owned()));
        let sender = lock(&self.sessions).get(session).cloned();
        let sender = sender.ok_or_else(unknown)?;
        let place = sender.try_reserve().map_err(|error| match error {
            TrySendError::Full(()) => too_many(),
            TrySendError::Closed(()) => unknown(),
        })?;
        place.send(command(Responder::new(self.peer.clone(), id.clone())));
        Ok(())
    }

    /// Opens a session: one that is kept if it is `known`, else a new one.
    fn open(
        &mut self,
        known: Option<String>,
        folder: PathBuf,
        servers: Vec<McpServer>,
        opening: Opening,
        id: &RequestId,
    ) -> Result<(), Refusal> {
        let is_fork = matches!(opening, Opening::Fork);
        if let Some(known) = &known
            && !is_fork
            && lock(&self.sessions).contains_key(known)
        {
            return match opening {
                Opening::Load => self.to_session(known, id, Command::Replay),
                Opening::New | Opening::Fork | Opening::Resume => {
                    self.to_session(known, id, Command::Attach)
                }
            };
        }
        if known.is_some() && !self.host.about().keeps_sessions {
            let message = "this agent keeps no sessions";
            return Err(refusal(ErrorCode::MethodNotFound, message));
        }
        if is_fork && !self.host.about().forks_sessions {
            let message = "this agent does not fork sessions";
            return Err(refusal(ErrorCode::MethodNotFound, message));
        }
        check_folder(&folder)?;
        let servers = servers.into_iter().map(server).collect::<Result<_, _>>()?;
        if lock(&self.sessions).len() >= SESSIONS || self.tasks.len() >= SESSIONS + WAITING {
            return Err(too_many());
        }
        let (sender, commands) = mpsc::channel(WAITING);
        // Requests that come while it is opened wait.
        let listed = known
            .clone()
            .filter(|_| !is_fork)
            .map(|known| Listed::new(&self.sessions, known, sender.clone()));
        let offered = self.client.clone().unwrap_or_default();
        let client = Client::new(self.peer.clone(), offered);
        let setup = Setup::new(folder.clone(), servers, client.clone());
        let responder = Responder::new(self.peer.clone(), id.clone());
        let (host, sessions) = (Arc::clone(&self.host), Arc::clone(&self.sessions));
        let ended = self.ended.clone();
        self.tasks.spawn(async move {
            let opened = async {
                match &known {
                    Some(known) if is_fork => host.fork(known, setup).await,
                    Some(known) => host.open(known, setup).await,
                    None => host.create(setup).await,
                }
            };
            let opened = tokio::select! {
                () = ended.cancelled() => return,
                opened = opened => opened,
            };
            match opened {
                Ok(session) => {
                    let listed = listed
                        .unwrap_or_else(|| Listed::new(&sessions, session.id().to_owned(), sender));
                    let session = Session::new(session, client, folder);
                    let served = session.serve(opening, responder, commands, ended);
                    let closing = served.await;
                    // The next request may delete or load it.
                    drop(listed);
                    if let Some(responder) = closing {
                        let response = Ok::<_, Refusal>(CloseSessionResponse::new());
                        responder.respond(response).await;
                    }
                }
                Err(error) => {
                    drop(listed);
                    responder.respond(Err::<(), _>(error)).await;
                }
            }
        });
        Ok(())
    }
}

/// Requests, apart from the first.
const METHODS: [&str; 11] = [
    "authenticate",
    "session/close",
    "session/delete",
    "session/fork",
    "session/list",
    "session/load",
    "session/new",
    "session/prompt",
    "session/resume",
    "session/set_config_option",
    "session/set_mode",
];

/// A session that requests find, until it is dropped.
struct Listed(Sessions, String);

impl Listed {
    fn new(sessions: &Sessions, id: String, sender: mpsc::Sender<Command>) -> Self {
        lock(sessions).insert(id.clone(), sender);
        Self(Arc::clone(sessions), id)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&self.0).remove(&self.1);
    }
}

/// Reads a line as JSON in which no field is there twice.
fn parsed(line: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    read_plain_json(text).map_err(|error| error.to_string())
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params)
        .map_err(|error| refusal(ErrorCode::InvalidParams, error.to_string()))
}

fn too_many() -> Refusal {
    refusal(ErrorCode::InvalidRequest, "too many requests or sessions")
}

/// The answer to the first request, whatever version the client wants: it leaves if it does not speak ours.
fn initialized(about: &About) -> InitializeResponse {
    let kept = about.keeps_sessions;
    let sessions = SessionCapabilities::new()
        .list(kept.then(SessionListCapabilities::new))
        .delete(about.deletes_sessions.then(SessionDeleteCapabilities::new))
        .fork(about.forks_sessions.then(SessionForkCapabilities::new))
        .resume(kept.then(SessionResumeCapabilities::new))
        .close(SessionCloseCapabilities::new());
    let prompts = PromptCapabilities::new()
        .image(about.takes_images)
        .embedded_context(true);
    let capabilities = AgentCapabilities::new()
        .load_session(kept)
        .prompt_capabilities(prompts)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let logins = about.logins.iter().map(|login| {
        let method = AuthMethodAgent::new(login.id.clone(), login.name.clone());
        AuthMethod::Agent(method.description(login.description.clone()))
    });
    let info = Implementation::new(about.name.clone(), about.version.clone());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(logins.collect())
        .agent_info(info.title(about.title.clone()))
}

fn check_folder(folder: &Path) -> Result<(), Refusal> {
    let problem = if !folder.is_absolute() {
        "is not an absolute path"
    } else if !folder.is_dir() {
        "is not a folder"
    } else {
        return Ok(());
    };
    let message = format!("cwd {problem}: {}", folder.display());
    Err(refusal(ErrorCode::InvalidParams, message))
}

fn server(server: McpServer) -> Result<ToolServer, Refusal> {
    match server {
        McpServer::Stdio(it) => {
            let variables = it.env.into_iter().map(|it| (it.name, it.value));
            let transport = ToolTransport::Stdio {
                program: it.command,
                arguments: it.args,
                variables: variables.collect(),
            };
            Ok(ToolServer::new(it.name, transport))
        }
        McpServer::Http(it) => {
            let headers = it.headers.into_iter().map(|it| (it.name, it.value));
            let transport = ToolTransport::Http {
                url: it.url,
                headers: headers.collect(),
            };
            Ok(ToolServer::new(it.name, transport))
        }
        McpServer::Sse(_) | _ => {
            let message = "MCP servers are reached over stdio or HTTP";
            Err(refusal(ErrorCode::InvalidParams, message))
        }
    }
}

/// A page of a list, which begins at the session of number `start`. There may be one more than a page has.
fn page_of(entries: Vec<SessionEntry>, start: usize) -> ListSessionsResponse {
    let is_last = entries.len() <= PAGE;
    let sessions = entries.into_iter().take(PAGE).map(|entry| {
        SessionInfo::new(entry.id, entry.folder)
            .title(entry.title)
            .updated_at(entry.updated.map(iso_8601))
    });
    let response = ListSessionsResponse::new(sessions.collect());
    response.next_cursor((!is_last).then(|| (start + PAGE).to_string()))
}
