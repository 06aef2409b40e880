//! The address of one server: a program that is started, or a URL.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use gadgetry::command::parse_duration;
use gadgetry::proto::visible::visible_line;
use gadgetry::{Classified, Fault};
use serde::{Deserialize, Serialize};

use crate::tokens::Tokens;

use crate::variables;

/// Maximum time of a call by default.
pub const CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// Maximum time until the tools of a server are listed, by default.
pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// A server in a configuration file, as the table `[mcp.servers.NAME]`.
///
/// | key | meaning |
/// |---|---|
/// | `command`, `args` | the program and its arguments, started without a shell |
/// | `env` | environment variables of the program, in addition to [`BASE_ENVIRONMENT`](crate::BASE_ENVIRONMENT) |
/// | `cwd` | the folder that the program runs in |
/// | `url` | the address of a server over streamable HTTP, instead of `command` |
/// | `headers` | headers of each request to it, such as `Authorization` |
/// | `oauth` | a table about its login: `client-id`, `client-secret`, `scopes`; see [`OAuth`] |
/// | `enabled` | `false`: the server is not started |
/// | `timeout` | how long a call may take, such as `30s`; 2 minutes by default |
/// | `startup-timeout` | how long the server may take until its tools are listed; 30 seconds by default |
/// | `protocol` | `auto`, which is the default, `2025-11-25` or `2026-07-28`; see [`Protocol`] |
///
/// In `command`, `args`, `env`, `cwd`, `url`, `headers`, `client-id` and `client-secret`, `${NAME}` is replaced by the environment variable of that name, and
/// `${NAME:-text}` by `text` if there is no such variable. Its `Debug` form hides what may be a secret.
///
/// ```
/// use gadgetry_mcp::ServerConfig;
///
/// let config: ServerConfig = toml::from_str(r#"
///     command = "npx"
///     args = ["-y", "@modelcontextprotocol/server-filesystem", "my files"]
///     timeout = "30s"
/// "#)?;
/// assert_eq!(config.command_line(), "npx -y @modelcontextprotocol/server-filesystem 'my files'");
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Table", into = "Table")]
#[non_exhaustive]
pub struct ServerConfig {
    /// A program or a URL.
    pub transport: Transport,
    /// Whether the server is connected to.
    pub enabled: bool,
    /// Maximum time of a call. The time in which the user answers a question of the server does not count.
    pub timeout: Duration,
    /// Maximum time until the tools are listed.
    pub startup_timeout: Duration,
    /// The revision of the protocol.
    pub protocol: Protocol,
}

/// The way to reach a server: a program or a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started, and reached through its stdin and stdout.
    Stdio(Stdio),
    /// A server that runs already, and is reached over streamable HTTP.
    Http(Http),
}

/// A server that is a program.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Stdio {
    /// A path, or a name that is looked for in `PATH`.
    pub command: String,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Environment variables, in addition to the [basic ones](crate::BASE_ENVIRONMENT).
    pub env: BTreeMap<String, String>,
    /// The folder that it runs in; that of this process by default.
    pub cwd: Option<PathBuf>,
}

/// A server with a URL.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Http {
    /// Address of the server, `http://` or `https://`.
    pub url: String,
    /// Headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Login of the user.
    pub oauth: OAuth,
    /// Tokens of the user's login; `None` to use none. Not a key of a file.
    pub tokens: Option<Tokens>,
}

/// Login to a server with OAuth. Without a client id, a client is registered at the authorization server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OAuth {
    /// A client that is registered there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Secret of the client, if it has one; `${NAME}` keeps it out of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// Scopes that are requested; those that the server proposes, if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// The revision of the protocol that a server is addressed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// The newest one that the server supports.
    ///
    /// A server of an older revision that ignores the question costs 10 seconds once for the life of the process; naming
    /// its revision avoids that.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// 2025-11-25, and the older ones that the server may prefer.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// Revision 2026-07-28 only.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl ServerConfig {
    gadgetry::proto::setters! {
        /// Connects to the server, or leaves it out.
        enabled: bool;
        /// Sets the maximum time of a call.
        timeout: Duration;
        /// Sets the maximum time until the tools are listed.
        startup_timeout: Duration;
        /// Sets the revision of the protocol.
        protocol: Protocol;
    }

    /// A server with the defaults.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            enabled: true,
            timeout: CALL_TIMEOUT,
            startup_timeout: STARTUP_TIMEOUT,
            protocol: Protocol::default(),
        }
    }

    /// A program with its arguments.
    pub fn stdio(
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self::new(Transport::Stdio(Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            ..Stdio::default()
        }))
    }

    /// A server with a URL.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(Transport::Http(Http {
            url: url.into(),
            ..Http::default()
        }))
    }

    /// Formats what will be started, or the URL, on one line for display.
    ///
    /// Arguments are quoted as a shell would need it, and invisible characters are written out. Variables are not replaced,
    /// so no secret of the environment is shown.
    pub fn command_line(&self) -> String {
        let words = match &self.transport {
            Transport::Stdio(stdio) => {
                let words = std::iter::once(&stdio.command).chain(&stdio.args);
                words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
            Transport::Http(http) => http.url.clone(),
        };
        visible_line(&words).into_owned()
    }

    /// The names of the environment variables that the configuration reads, as `${NAME}`.
    ///
    /// Their values reach the server, so that a user who did not write the configuration wants to know them.
    ///
    /// ```
    /// use gadgetry_mcp::ServerConfig;
    ///
    /// let config = ServerConfig::stdio("server", ["--key=${API_KEY}", "${HOME}"]);
    /// assert_eq!(Vec::from_iter(config.variables()), ["API_KEY", "HOME"]);
    /// ```
    pub fn variables(&self) -> BTreeSet<String> {
        let texts: Vec<Cow<'_, str>> = match &self.transport {
            Transport::Stdio(stdio) => {
                let texts = [&stdio.command].into_iter().chain(&stdio.args);
                let texts = texts.chain(stdio.env.values());
                let texts = texts.map(|text| Cow::Borrowed(text.as_str()));
                let cwd = stdio.cwd.as_ref().map(|it| it.to_string_lossy());
                texts.chain(cwd).collect()
            }
            Transport::Http(http) => {
                let texts = [&http.url].into_iter().chain(http.headers.values());
                let texts = texts.chain(&http.oauth.client_id);
                let texts = texts.chain(&http.oauth.client_secret);
                texts.map(|text| Cow::Borrowed(text.as_str())).collect()
            }
        };
        let names = texts.iter().flat_map(|text| variables::names(text));
        names.collect()
    }
}

fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("url", &self.url)
            .field("headers", &self.headers.keys())
            .field("oauth", &self.oauth)
            .field("tokens", &self.tokens)
            .finish()
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A table of a file, before it is known whether it has a program or a URL.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    startup_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<Protocol>,
    // Tables last, as TOML needs it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth: Option<OAuth>,
}

impl TryFrom<Table> for ServerConfig {
    type Error = ConfigError;

    fn try_from(table: Table) -> Result<Self, ConfigError> {
        let transport = match (table.command, table.url) {
            (Some(_), Some(_)) => return Err(ConfigError::Both),
            (None, None) => return Err(ConfigError::Neither),
            (Some(command), None) => {
                if command.trim().is_empty() {
                    return Err(ConfigError::NoProgram);
                }
                if !table.headers.is_empty() {
                    return Err(ConfigError::OnlyWithUrl("headers"));
                }
                if table.oauth.is_some() {
                    return Err(ConfigError::OnlyWithUrl("oauth"));
                }
                Transport::Stdio(Stdio {
                    command,
                    args: table.args,
                    env: table.env,
                    cwd: table.cwd,
                })
            }
            (None, Some(url)) => {
                for (key, is_set) in [
                    ("args", !table.args.is_empty()),
                    ("env", !table.env.is_empty()),
                    ("cwd", table.cwd.is_some()),
                ] {
                    if is_set {
                        return Err(ConfigError::OnlyWithCommand(key));
                    }
                }
                Transport::Http(Http {
                    url,
                    headers: table.headers,
                    oauth: table.oauth.unwrap_or_default(),
                    tokens: None,
                })
            }
        };
        let duration = |key, text: Option<String>, default| {
            let Some(text) = text else { return Ok(default) };
            parse_duration(&text).ok_or(ConfigError::Duration { key, text })
        };
        Ok(Self {
            timeout: duration("timeout", table.timeout, CALL_TIMEOUT)?,
            startup_timeout: duration("startup-timeout", table.startup_timeout, STARTUP_TIMEOUT)?,
            enabled: table.enabled.unwrap_or(true),
            protocol: table.protocol.unwrap_or_default(),
            transport,
        })
    }
}

impl From<ServerConfig> for Table {
    fn from(config: ServerConfig) -> Self {
        let written = |duration: Duration, default| {
            let ms = duration.as_millis();
            let text = if ms.is_multiple_of(1000) {
                format!("{}s", ms / 1000)
            } else {
                format!("{ms}ms")
            };
            (duration != default).then_some(text)
        };
        let table = Self {
            timeout: written(config.timeout, CALL_TIMEOUT),
            startup_timeout: written(config.startup_timeout, STARTUP_TIMEOUT),
            enabled: (!config.enabled).then_some(false),
            protocol: (config.protocol != Protocol::Auto).then_some(config.protocol),
            ..Self::default()
        };
        match config.transport {
            Transport::Stdio(stdio) => Self {
                command: Some(stdio.command),
                args: stdio.args,
                env: stdio.env,
                cwd: stdio.cwd,
                ..table
            },
            Transport::Http(http) => Self {
                url: Some(http.url),
                headers: http.headers,
                oauth: Some(http.oauth).filter(|it| *it != OAuth::default()),
                ..table
            },
        }
    }
}

/// Error in the table of a server: a mistake in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A program and a URL.
    #[error("a server has either `command` or `url`; remove one of them")]
    Both,
    /// Neither a program nor a URL.
    #[error("a server needs `command` (a program) or `url` (a server over HTTP)")]
    Neither,
    /// The program has no name.
    #[error("`command` is empty; write the name or the path of a program")]
    NoProgram,
    /// A key that programs do not have.
    #[error("`{0}` belongs to a server with a `url`; this one has a `command`")]
    OnlyWithUrl(&'static str),
    /// A key that URLs do not have.
    #[error("`{0}` belongs to a server with a `command`; this one has a `url`")]
    OnlyWithCommand(&'static str),
    /// A value that is not a duration.
    #[error("`{key}` is a duration such as \"500ms\", \"30s\" or \"2m\", got {text:?}")]
    Duration {
        /// The key.
        key: &'static str,
        /// Value in the file.
        text: String,
    },
}

impl Classified for ConfigError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

#[cfg(test)]
mod tests {
    use super::ServerConfig;

    #[test]
    fn tables() {
        let check = |table: &str, expected: Result<&str, &str>| {
            let found = toml::from_str::<ServerConfig>(table);
            match expected {
                Ok(line) => assert_eq!(found.unwrap().command_line(), line, "{table}"),
                Err(part) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains(part), "{error}");
                }
            }
        };
        check("command = 'x'", Ok("x"));
        check(
            "command = \"a b\"\nargs = ['', \"it's\", '--a=b', \"\\u001b\"]",
            Ok("'a b' '' 'it'\\''s' --a=b '\\u{1b}'"),
        );
        check(
            "url = 'https://example.com/mcp'\nheaders = { A = 'b' }",
            Ok("https://example.com/mcp"),
        );
        check("", Err("a server needs `command`"));
        check("command = ' '", Err("`command` is empty"));
        check("command = 'x'\nurl = 'y'", Err("remove one of them"));
        check(
            "command = 'x'\nheaders = { A = 'b' }",
            Err("`headers` belongs to a server with a `url`"),
        );
        check(
            "url = 'x'\nenv = { A = 'b' }",
            Err("`env` belongs to a server with a `command`"),
        );
        check(
            "command = 'x'\ntimeout = 'soon'",
            Err("`timeout` is a duration such as"),
        );
        check(
            "command = 'x'\ntimeOut = '1s'",
            Err("unknown field `timeOut`"),
        );
        check(
            "command = 'x'\nprotocol = '1999'",
            Err("unknown variant `1999`"),
        );
        check("command = 'x'\nargs = 'y'", Err("expected a sequence"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let table = "command = 'x'\nenv = { TOKEN = 's3cret' }";
        let config: ServerConfig = toml::from_str(table).unwrap();
        let shown = format!("{config:?}");
        assert!(
            shown.contains("TOKEN") && !shown.contains("s3cret"),
            "{shown}"
        );
    }
}
