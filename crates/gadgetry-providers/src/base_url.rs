//! Base URLs, which may hold passwords and keys.

use std::fmt;

use reqwest::Url;
use serde::{Deserialize, Serialize, Serializer};

use super::addresses::is_loopback;

/// A base URL as it was written.
///
/// User name, password and query may be secrets, so printing and serialising leave them out.
///
/// ```
/// use gadgetry::provider::BaseUrl;
/// let url = BaseUrl::new("https://me:secret@gate.example/v1?key=secret");
/// assert_eq!(url.shown(), "https://gate.example/v1");
/// assert_eq!(format!("{url:?}"), "https://gate.example");
/// ```
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The URL of a server's API, such as `https://host/v1`. It is checked when a model is built.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The URL with its secrets, to send requests there and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Scheme, host, port and path.
    pub fn shown(&self) -> String {
        let Ok(mut url) = Url::parse(self.0.trim()) else {
            return "(not a URL)".to_owned();
        };
        // Both fail for URLs without a host only, which have neither user nor password.
        _ = url.set_username("");
        _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Returns whether the server is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        Url::parse(self.0.trim()).is_ok_and(|url| is_loopback(&url))
    }

    /// Returns whether the URL is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for BaseUrl {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl From<String> for BaseUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

/// Scheme, host and port. Some gateways have keys in the path.
impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = Url::parse(self.0.trim()).map(|url| origin(&url));
        f.write_str(url.as_deref().unwrap_or("(not a URL)"))
    }
}

impl Serialize for BaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}

/// Scheme, host and port of a URL.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
