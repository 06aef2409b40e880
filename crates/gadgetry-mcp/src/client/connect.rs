//! Connecting to one server: its transport, the handshake, and its lists.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, PoisonError};

use gadgetry_validator::{PATTERNS, patterns_bytes};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient,
    RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use tokio::time::timeout;

use super::error::ConnectError;
use super::handler::Handler;
use super::lines::MESSAGE_LIMIT;
use super::process::{Launch, ServerProcess};
use super::words;
use crate::config::{Http, Protocol, ServerConfig, Stdio, Transport};
use crate::http_client::client_builder;
use crate::login;
use crate::variables::{expand, of_environment};

/// Pages of a list that are read, entries that are kept, and their bytes as JSON.
const PAGES: usize = 100;
const ENTRIES: usize = 2_000;
const BYTES: usize = 16 << 20;

/// Characters of a name in a note.
const NAME: usize = 128;
/// Values in the schemas of a tool, and of all tools of a server. Each costs time and memory before a run begins.
const VALUES_OF_TOOL: usize = 5_000;
const VALUES: usize = 50_000;

/// The fields of entries that are used; others are not kept.
const TOOL_FIELDS: &[&str] = &["name", "title", "description", "inputSchema"];
const RESOURCE_FIELDS: &[&str] = &["uri", "name", "title", "mimeType", "description"];

/// Servers whose revision is remembered.
const REMEMBERED: usize = 256;

/// A connection to a server that is ready.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) process: Option<ServerProcess>,
    pub(super) lists: Lists,
}

/// Lists of a server, as they were last read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lists {
    pub(super) tools: Vec<Value>,
    /// Tools that are past a limit, and why. The name is empty if it is about the rest of the list.
    pub(super) left_out: Vec<(String, String)>,
    pub(super) has_resources: bool,
}

impl Connection {
    /// Ends it, and waits until no process is left.
    pub(super) async fn end(self) {
        // Closes stdin of a program. An error means that its task has ended already.
        drop(self.service.cancel().await);
        if let Some(process) = self.process {
            process.end().await;
        }
    }
}

/// Connects to a server and reads its lists, within its startup timeout.
///
/// Cancel safety: dropping the future ends the processes in the background.
pub(super) async fn connect(
    config: &ServerConfig,
    handler: impl Fn() -> Handler,
) -> Result<Connection, ConnectError> {
    let key = config.command_line();
    let known = remembered(&key);
    let protocol = match config.protocol {
        Protocol::Auto => known.unwrap_or_default(),
        pinned @ (Protocol::V2025_11_25 | Protocol::V2026_07_28) => pinned,
    };
    let mut result = attempt(config, handler(), protocol).await;
    if protocol == Protocol::Auto
        && let Err(Refused { speaks, .. }) = &result
        && let Some(protocol) = *speaks
    {
        result = attempt(config, handler(), protocol).await;
    }
    let connection = result.map_err(|refused| refused.error)?;
    if config.protocol == Protocol::Auto {
        let peer = connection.service.peer_info();
        let is_old = peer.is_some_and(|peer| peer.protocol_version.has_initialize());
        remember(
            key,
            if is_old {
                Protocol::V2025_11_25
            } else {
                Protocol::V2026_07_28
            },
        );
    }
    Ok(connection)
}

/// The revisions that servers were found to speak, for the life of the process: to find out can take 10 seconds.
static SPOKEN: LazyLock<Mutex<BTreeMap<String, Protocol>>> = LazyLock::new(Mutex::default);

fn remembered(key: &str) -> Option<Protocol> {
    let spoken = SPOKEN.lock().unwrap_or_else(PoisonError::into_inner);
    // A server that was updated may speak a newer one, and says so at once.
    spoken
        .get(key)
        .copied()
        .filter(|it| *it == Protocol::V2025_11_25)
}

fn remember(key: String, protocol: Protocol) {
    let mut spoken = SPOKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if spoken.len() >= REMEMBERED && !spoken.contains_key(&key) {
        spoken.pop_first();
    }
    spoken.insert(key, protocol);
}

async fn attempt(
    config: &ServerConfig,
    handler: Handler,
    protocol: Protocol,
) -> Result<Connection, Refused> {
    let mode = match protocol {
        Protocol::Auto => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        Protocol::V2025_11_25 => ClientLifecycleMode::Initialize,
        Protocol::V2026_07_28 => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    let mut process = None;
    let started = async {
        let service = match &config.transport {
            Transport::Stdio(stdio) => {
                let (running, output, input) = start(stdio)?;
                process = Some(running);
                // The replacements for longer messages are shorter.
                let transport =
                    AsyncRwTransport::new(output, input).with_max_line_length(MESSAGE_LIMIT + 1);
                handler.serve_with_lifecycle(transport, mode).await
            }
            Transport::Http(http) => {
                let settings = http_settings(http)?;
                if let Some(client) = authorized(config, http).await? {
                    let transport = StreamableHttpClientTransport::with_client(client, settings);
                    handler.serve_with_lifecycle(transport, mode).await
                } else {
                    let transport = StreamableHttpClientTransport::with_client(client()?, settings);
                    handler.serve_with_lifecycle(transport, mode).await
                }
            }
        };
        let service = service.map_err(|error| Failed::Handshake(Box::new(error)))?;
        let lists = lists(&service).await.map_err(Failed::Lists)?;
        Ok((service, lists))
    };
    let started = timeout(config.startup_timeout, started).await;
    let failed = match started {
        Ok(Ok((service, lists))) => {
            return Ok(Connection {
                service,
                process,
                lists,
            });
        }
        Ok(Err(failed)) => failed,
        Err(_) => Failed::Timeout,
    };
    let stderr = match process {
        None => String::new(),
        Some(mut process) => {
            if failed.is_end() {
                process.last_words().await;
            }
            let stderr = process.stderr();
            process.end().await;
            stderr
        }
    };
    Err(Refused {
        speaks: failed
            .spoken()
            .filter(|_| matches!(config.transport, Transport::Stdio(_))),
        error: failed.described(config, stderr),
    })
}

/// An attempt that failed.
struct Refused {
    error: ConnectError,
    /// The revision that the server seems to speak, if that is why.
    speaks: Option<Protocol>,
}

/// Error of an attempt.
enum Failed {
    Config(ConnectError),
    Handshake(Box<ClientInitializeError>),
    Lists(ServiceError),
    Timeout,
}

impl From<ConnectError> for Failed {
    fn from(error: ConnectError) -> Self {
        Self::Config(error)
    }
}

impl Failed {
    /// Returns whether the other side has closed the connection.
    fn is_end(&self) -> bool {
        match self {
            Self::Config(_) | Self::Timeout => false,
            Self::Handshake(error) => is_end(error),
            Self::Lists(error) => matches!(error, ServiceError::TransportClosed),
        }
    }

    /// The revision that the server speaks, judged by how it answered the question about it.
    fn spoken(&self) -> Option<Protocol> {
        use ClientInitializeError::{ConflictInitResponseId, UncorrelatedErrorResponse};

        match self {
            // The answer came after the time for it, when the server was already taken for one that gives none.
            Self::Handshake(error) if matches!(**error, ConflictInitResponseId(..)) => {
                Some(Protocol::V2026_07_28)
            }
            Self::Handshake(error) if matches!(**error, UncorrelatedErrorResponse { .. }) => {
                Some(Protocol::V2025_11_25)
            }
            // Some servers end when the first request is one that they do not know.
            Self::Config(_) | Self::Handshake(_) | Self::Lists(_) | Self::Timeout => {
                self.is_end().then_some(Protocol::V2025_11_25)
            }
        }
    }

    fn described(self, config: &ServerConfig, stderr: String) -> ConnectError {
        if self.is_end() {
            return ConnectError::Ended { stderr };
        }
        let (message, is_unauthorized) = match self {
            Self::Config(error) => return error,
            Self::Timeout => {
                let limit = config.startup_timeout;
                return ConnectError::Timeout { limit, stderr };
            }
            Self::Handshake(error) => (
                words::of_handshake(&error),
                error.is_authorization_required(),
            ),
            Self::Lists(error) => (
                format!("its tools cannot be listed: {}", words::of_request(&error)),
                error.is_authorization_required(),
            ),
        };
        if is_unauthorized {
            return ConnectError::Unauthorized;
        }
        ConnectError::Protocol { message, stderr }
    }
}

fn is_end(error: &ClientInitializeError) -> bool {
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return is_end(fallback);
    }
    // Writing to a program that has ended.
    let is_broken = |error: &(dyn std::error::Error + Send + Sync + 'static)| {
        let io = error.downcast_ref::<std::io::Error>();
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if let ClientInitializeError::TransportError { error, .. } = error {
        return is_broken(error.error.as_ref());
    }
    matches!(error, ClientInitializeError::ConnectionClosed(_))
}

fn start(
    stdio: &Stdio,
) -> Result<
    (
        ServerProcess,
        tokio::io::DuplexStream,
        tokio::process::ChildStdin,
    ),
    ConnectError,
> {
    let expanded = |text: &String| expand(text, &of_environment).map_err(ConnectError::Variable);
    let program = expanded(&stdio.command)?;
    let folder = match &stdio.cwd {
        Some(folder) => Some(expanded(&folder.to_string_lossy().into_owned())?.into()),
        None => None,
    };
    let variables = stdio.env.iter();
    let variables = variables.map(|(name, value)| Ok((name.clone(), expanded(value)?)));
    let launch = Launch {
        program: program.clone(),
        arguments: stdio.args.iter().map(expanded).collect::<Result<_, _>>()?,
        variables: variables.collect::<Result<_, ConnectError>>()?,
        folder,
    };
    ServerProcess::start(launch).map_err(|error| ConnectError::Start { program, error })
}

/// The client with the tokens of the user's login, if there are any. A header of the configuration takes precedence.
async fn authorized(
    config: &ServerConfig,
    http: &Http,
) -> Result<Option<AuthClient<reqwest::Client>>, ConnectError> {
    let mut headers = http.headers.keys();
    let has_own = headers.any(|name| name.eq_ignore_ascii_case("authorization"));
    let Some(tokens) = http.tokens.as_ref().filter(|_| !has_own) else {
        return Ok(None);
    };
    let manager = login::restored(config, tokens).await;
    let manager = manager.map_err(|error| ConnectError::Login(error.to_string()))?;
    let Some(manager) = manager else {
        return Ok(None);
    };
    Ok(Some(AuthClient::new(client()?, manager)))
}

fn http_settings(http: &Http) -> Result<StreamableHttpClientTransportConfig, ConnectError> {
    let expanded = |text: &str| expand(text, &of_environment).map_err(ConnectError::Variable);
    let url = expanded(&http.url)?;
    let parsed = reqwest::Url::parse(&url).map_err(|error| ConnectError::Url(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(ConnectError::Url(format!(
            "the scheme is {:?}",
            parsed.scheme()
        )));
    }
    let mut headers = HashMap::new();
    for (name, value) in &http.headers {
        let header = || ConnectError::Header(name.clone());
        let mut value = HeaderValue::from_str(&expanded(value)?).map_err(|_| header())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| header())?;
        headers.insert(name, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .max_sse_event_size(MESSAGE_LIMIT)
        .max_json_response_size(MESSAGE_LIMIT))
}

fn client() -> Result<reqwest::Client, ConnectError> {
    let client = client_builder().build();
    client.map_err(|error| ConnectError::Url(error.to_string()))
}

/// Reads the lists of a server.
pub(super) async fn lists(peer: &Peer<RoleClient>) -> Result<Lists, ServiceError> {
    let info = peer.peer_info();
    let capabilities = info.as_ref().map(|info| &info.capabilities);
    // Servers that say nothing are tried, because some forget to say it.
    let has = |declared: Option<bool>| declared.unwrap_or(true);
    let tools = if has(capabilities.map(|it| it.tools.is_some())) {
        pages(peer, "tools", TOOL_FIELDS, |params| {
            ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))
        })
        .await?
    } else {
        Entries::default()
    };
    Ok(Lists {
        tools: tools.kept,
        left_out: tools.left_out,
        has_resources: capabilities.is_some_and(|it| it.resources.is_some()),
    })
}

/// Reads the resources of a server.
pub(super) async fn resources(peer: &Peer<RoleClient>) -> Result<Vec<Value>, ServiceError> {
    pages(peer, "resources", RESOURCE_FIELDS, |params| {
        ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
    })
    .await
    .map(|entries| entries.kept)
}

/// Reads the pages of a list, up to the limits. Entries are JSON, so that one that is malformed does not cost the others.
async fn pages(
    peer: &Peer<RoleClient>,
    key: &str,
    fields: &[&str],
    request: impl Fn(PaginatedRequestParams) -> ClientRequest,
) -> Result<Entries, ServiceError> {
    let mut entries = Entries::default();
    let mut cursor = None;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let mut result = json_of(peer.send_request(request(params)).await?)?;
        let Some(Value::Array(page)) = result.get_mut(key).map(Value::take) else {
            return Err(ServiceError::UnexpectedResponse);
        };
        let is_full = !page.into_iter().all(|entry| entries.add(entry, fields));
        let next = result.get("nextCursor").and_then(Value::as_str);
        let next = next.filter(|next| !next.is_empty()).map(str::to_owned);
        if is_full {
            entries.cut_off(key);
        }
        // A server that repeats itself has no more.
        if is_full || next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    Ok(entries)
}

/// The entries of a list that are kept.
#[derive(Default)]
struct Entries {
    kept: Vec<Value>,
    bytes: usize,
    /// In the schemas of those that are kept.
    values: usize,
    /// Size of the patterns in them, compiled.
    patterns: usize,
    left_out: Vec<(String, String)>,
}

impl Entries {
    /// Keeps `fields` of an entry. Returns whether there was space for it.
    fn add(&mut self, entry: Value, fields: &[&str]) -> bool {
        let entry = if let Value::Object(mut entry) = entry {
            entry.retain(|name, _| fields.contains(&name.as_str()));
            Value::Object(entry)
        } else {
            // Malformed, which is reported later.
            Value::Null
        };
        let schema = entry.get("inputSchema");
        let values = schema.map_or(0, |schema| values(schema, VALUES_OF_TOOL + 1));
        // Not looked at in a schema that is left out anyway.
        let schema = schema.filter(|_| values <= VALUES_OF_TOOL);
        let patterns = schema.map_or(0, patterns_bytes);
        let reason = if values > VALUES_OF_TOOL {
            format!("its schema has more than {VALUES_OF_TOOL} values")
        } else if values > VALUES - self.values {
            format!("the schemas of the server's tools have more than {VALUES} values")
        } else if self.patterns + patterns > PATTERNS {
            "the patterns in the schemas of the server's tools are too large".to_owned()
        } else {
            String::new()
        };
        if !reason.is_empty() {
            let name = entry.get("name").and_then(Value::as_str);
            let name: String = name.unwrap_or_default().chars().take(NAME).collect();
            if self.left_out.len() < ENTRIES {
                self.left_out.push((name, reason));
            }
            return true;
        }
        let bytes = entry.to_string().len();
        if self.kept.len() >= ENTRIES || bytes > BYTES - self.bytes {
            return false;
        }
        self.bytes += bytes;
        self.values += values;
        self.patterns += patterns;
        self.kept.push(entry);
        true
    }

    /// There was no space for the rest.
    fn cut_off(&mut self, key: &str) {
        let mebibytes = BYTES >> 20;
        let reason = format!(
            "the server has more than {ENTRIES} {key}, or more than {mebibytes} MiB of them; the others are left out"
        );
        tracing::warn!("{reason}");
        self.left_out.push((String::new(), reason));
    }
}

/// The number of values in a value, itself included, up to `limit`.
fn values(value: &Value, limit: usize) -> usize {
    let mut open = vec![value];
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        if count + open.len() >= limit {
            return limit;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().take(limit)),
            Value::Object(fields) => open.extend(fields.values().take(limit)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    count
}

/// The result as it was sent.
pub(super) fn json_of(result: ServerResult) -> Result<Value, ServiceError> {
    serde_json::to_value(result).map_err(|_| ServiceError::UnexpectedResponse)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BYTES, ENTRIES, Entries, TOOL_FIELDS, VALUES, VALUES_OF_TOOL, values};

    #[test]
    fn lists_are_limited() {
        let check = |entry: Value, times: usize, expected: usize| {
            let mut entries = Entries::default();
            for _ in 0..times {
                entries.add(entry.clone(), TOOL_FIELDS);
            }
            assert_eq!(entries.kept.len(), expected);
            assert!(entries.bytes <= BYTES);
        };
        let large = "x".repeat(1 << 20);
        check(json!({ "name": "a" }), ENTRIES + 1, ENTRIES);
        check(json!("not a tool"), ENTRIES + 1, ENTRIES);
        check(json!({ "name": "a", "description": large }), 20, 15);
        check(
            json!({ "name": "a", "_meta": large, "other": large }),
            20,
            20,
        );
        check(json!({ "description": "x".repeat(BYTES) }), 1, 0);
    }

    #[test]
    fn schemas_are_limited() {
        let tool = |name: &str, properties: usize| {
            let properties = (0..properties).map(|n| (format!("p{n}"), json!({})));
            let properties: serde_json::Map<_, _> = properties.collect();
            json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
        };
        let mut entries = Entries::default();
        // Of a schema, three values are not its properties.
        for (name, properties, is_kept) in [
            ("small", 1, true),
            ("wide", VALUES_OF_TOOL - 2, false),
            ("full", VALUES_OF_TOOL - 3, true),
            ("absurd", 100_000, false),
        ] {
            let before = entries.kept.len();
            assert!(entries.add(tool(name, properties), TOOL_FIELDS), "{name}");
            assert_eq!(entries.kept.len() > before, is_kept, "{name}");
        }
        let left: Vec<&str> = entries.left_out.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(left, ["wide", "absurd"]);
        let arrays = json!([[[[1, 2], [3]], { "a": [4] }], []]);
        assert_eq!((values(&arrays, 100), values(&arrays, 5)), (12, 5));
        // The sum is limited as well, and costs only what is past it.
        for number in 0..20 {
            entries.add(tool(&format!("t{number}"), VALUES_OF_TOOL - 3), TOOL_FIELDS);
        }
        assert!(entries.values <= VALUES && entries.kept.len() == 2 + 8);
        // Patterns of a few characters that are megabytes, once they are compiled.
        let check = |pattern: &str, count: usize, is_kept: bool| {
            let all: serde_json::Map<_, _> = (0..count)
                .map(|at| {
                    (
                        format!("p{at}"),
                        json!({"pattern": format!("{pattern}{at}")}),
                    )
                })
                .collect();
            let entry = json!({"name": "t", "inputSchema": {"properties": all}});
            let mut entries = Entries::default();
            assert!(entries.add(entry, TOOL_FIELDS));
            assert_eq!(entries.kept.len() == 1, is_kept, "{pattern}");
            assert_eq!(entries.left_out.is_empty(), is_kept, "{pattern}");
        };
        check("[a-z]+", 100, true);
        check(r"(\w{255}){255}", 1, false);
        check(r"(\w{100}){10}", 100, false);
        assert!(entries.add(tool("small2", 1), TOOL_FIELDS) && entries.kept.len() == 11);
    }
}
