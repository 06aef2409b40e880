//! Options and timeouts of requests.

use std::fmt;
use std::time::Duration;

use reqwest::Url;

use crate::addresses::is_loopback;
use crate::base_url::BaseUrl;
use crate::frames::FrameLimits;
use crate::secret::ApiKey;

/// Parts of the names of headers with secrets.
const SECRET_NAMES: [&str; 8] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "signature",
    "token",
];

/// Returns `true` if a header of this name holds a secret, in upper or lower case: `x-api-key`, `Cookie`.
///
/// ```
/// use gadgetry_providers::http::is_secret_header;
/// assert!(is_secret_header("X-Auth-Token") && !is_secret_header("x-title"));
/// ```
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Options for sending requests. The defaults suit a model that thinks for minutes before its first word.
///
/// ```
/// use std::time::Duration;
/// use gadgetry::provider::HttpConfig;
/// let config = HttpConfig::new()
///     .idle_timeout(Duration::from_secs(30))
///     .header("x-title", "my program");
/// ```
#[derive(Clone, PartialEq)]
pub struct HttpConfig {
    pub(super) connect_timeout: Duration,
    pub(super) header_timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) progress_timeout: Option<Duration>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) secret_headers: Vec<(String, ApiKey)>,
    pub(super) proxy: Option<BaseUrl>,
    pub(super) proxy_from_environment: bool,
    pub(super) frames: FrameLimits,
}

impl HttpConfig {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            connect_timeout: Duration::from_secs(15),
            header_timeout: None,
            idle_timeout: None,
            progress_timeout: None,
            headers: Vec::new(),
            secret_headers: Vec::new(),
            proxy: None,
            proxy_from_environment: false,
            frames: FrameLimits::default(),
        }
    }

    /// Sets the timeout for a connection, TLS included. 15 seconds by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the timeout for the headers of the answer, connecting included.
    ///
    /// By default 5 minutes, and 30 for a server on this machine, which may load its model first.
    #[must_use]
    pub fn header_timeout(mut self, timeout: Duration) -> Self {
        self.header_timeout = Some(timeout);
        self
    }

    /// Sets how long the answer may be silent. Keep-alive comments break the silence.
    ///
    /// By default 5 minutes, and 30 for a server on this machine. A complete reply whose stream does not end is ended after
    /// 5 seconds.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Sets how long an answer may last without a part of the reply. Comments and empty events do not count: some gateways
    /// send them for as long as the provider hangs.
    ///
    /// By default 15 minutes, 90 for a server on this machine, and never less than the idle timeout.
    #[must_use]
    pub fn progress_timeout(mut self, timeout: Duration) -> Self {
        self.progress_timeout = Some(timeout);
        self
    }

    /// Adds a header to each request. It replaces a header of the same name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a header with a secret value, which is never printed.
    #[must_use]
    pub fn secret_header(mut self, name: impl Into<String>, value: impl Into<ApiKey>) -> Self {
        self.secret_headers.push((name.into(), value.into()));
        self
    }

    /// Sets the HTTP proxy, such as `http://proxy.example:3128`, with user name and password in the URL if it needs them.
    ///
    /// It has precedence over the environment. Requests to this machine are never sent through it.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(BaseUrl::new(url));
        self
    }

    /// Sets whether `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` count, in upper or lower case. Off by default.
    ///
    /// Requests to this machine are never sent through a proxy.
    #[must_use]
    pub fn proxy_from_environment(mut self, yes: bool) -> Self {
        self.proxy_from_environment = yes;
        self
    }

    /// Sets whether each frame is also emitted as [`Delta::Raw`](gadgetry_proto::delta::Delta::Raw), before its meaning. Off by default.
    #[must_use]
    pub fn raw_frames(mut self, yes: bool) -> Self {
        self.frames.raw = yes;
        self
    }

    /// Sets the maximum number of bytes in a frame, or in an answer that is not a stream. 16 MiB by default.
    #[must_use]
    pub fn size_limit(mut self, bytes: usize) -> Self {
        self.frames.size = bytes;
        self
    }
}

/// The timeouts of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    pub(super) header: Duration,
    pub(super) idle: Duration,
    pub(super) progress: Duration,
}

impl HttpConfig {
    /// The timeouts of a request to `url`.
    pub(super) fn timeouts(&self, url: &Url) -> Timeouts {
        let usual = Duration::from_mins(if is_loopback(url) { 30 } else { 5 });
        let idle = self.idle_timeout.unwrap_or(usual);
        Timeouts {
            header: self.header_timeout.unwrap_or(usual),
            idle,
            progress: self.progress_timeout.unwrap_or(idle.max(3 * usual)),
        }
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.headers.iter().map(|(name, _)| name);
        let secret = self.secret_headers.iter().map(|(name, _)| name);
        f.debug_struct("HttpConfig")
            .field("connect_timeout", &self.connect_timeout)
            .field("header_timeout", &self.header_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("progress_timeout", &self.progress_timeout)
            .field("headers", &plain.chain(secret).collect::<Vec<_>>())
            .field("proxy", &self.proxy)
            .field("proxy_from_environment", &self.proxy_from_environment)
            .field("frames", &self.frames)
            .finish()
    }
}
