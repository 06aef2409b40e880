//! One HTTP request: its URL, headers and body.

use std::fmt;

use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::trace::TraceContext;
use reqwest::Url;
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use serde_json::Value;

use crate::base_url::origin;
use crate::error::ProviderError;
use crate::secret::ApiKey;

/// A POST with a JSON body, and the keys that it carries.
#[derive(Clone)]
pub struct HttpRequest {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) keys: Vec<ApiKey>,
}

impl HttpRequest {
    /// A request to `path` below `base`, such as `chat/completions` below `http://127.0.0.1:8080/v1`.
    ///
    /// The query of the base is kept; a base that already ends with the path is used as it is.
    ///
    /// # Errors
    ///
    /// If the base is not an absolute HTTP URL.
    pub fn post(base: &str, path: &str, body: &Value) -> Result<Self, ProviderError> {
        Ok(Self {
            url: join(base, path)?,
            headers: HeaderMap::from_iter([
                (CONTENT_TYPE, HeaderValue::from_static("application/json")),
                (ACCEPT_ENCODING, HeaderValue::from_static("identity")),
                (
                    USER_AGENT,
                    HeaderValue::from_static(concat!("gadgetry/", env!("CARGO_PKG_VERSION"))),
                ),
            ]),
            body: body.to_string().into_bytes(),
            keys: Vec::new(),
        })
    }

    /// Sets a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ProviderError> {
        let (name, value) = header(name, value)?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sets the headers `traceparent` and `tracestate`.
    pub(super) fn trace(self, trace: &TraceContext) -> Result<Self, ProviderError> {
        let request = self.header("traceparent", &trace.traceparent())?;
        match trace.tracestate() {
            Some(state) => request.header("tracestate", state),
            None => Ok(request),
        }
    }

    /// Sets a header that carries a key.
    pub fn secret(mut self, name: &str, key: &ApiKey) -> Result<Self, ProviderError> {
        let (name, mut value) = header(name, key.expose())?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        self.keys.push(key.clone());
        Ok(self)
    }

    /// Sets `authorization: Bearer …`. It is an error if the URL holds a user name or password, which need that header too.
    pub fn bearer(mut self, key: &ApiKey) -> Result<Self, ProviderError> {
        if !self.url.username().is_empty() || self.url.password().is_some() {
            let message = "the base URL holds a user name or password, and there is a key: both need the header \
                           authorization. Remove one of them, or send the key in another header";
            return Err(ProviderError::new(ModelErrorKind::BadRequest, message));
        }
        let (_, mut value) = header("authorization", &format!("Bearer {}", key.expose()))?;
        value.set_sensitive(true);
        self.headers.insert(AUTHORIZATION, value);
        self.keys.push(key.clone());
        Ok(self)
    }

    /// The URL, for tests and messages.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The body, which is JSON.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The value of a header that is not secret.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name).filter(|it| !it.is_sensitive())?;
        value.to_str().ok()
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("to", &origin(&self.url))
            .field("headers", &self.headers)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A header's name and value, checked.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ProviderError> {
    let invalid = |what: &str| {
        let message = format!("the {what} of the header {name:?} contains an invalid character");
        ProviderError::new(ModelErrorKind::BadRequest, message)
    };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("name"))?;
    let value = HeaderValue::from_str(value).map_err(|_| invalid("value"))?;
    Ok((parsed, value))
}

/// `path` below `base`.
fn join(base: &str, path: &str) -> Result<Url, ProviderError> {
    let invalid = |why: &str| {
        // The URL may hold a password, so it is not shown.
        let message = format!("invalid base URL: {why}; expected a form like https://host/v1");
        ProviderError::new(ModelErrorKind::BadRequest, message)
    };
    let mut url = Url::parse(base.trim()).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("the scheme is not http or https"));
    }
    url.set_fragment(None);
    let own = url.path().trim_end_matches('/');
    let is_whole = own
        .strip_suffix(path)
        .is_some_and(|rest| rest.ends_with('/'));
    let joined = if is_whole {
        own.to_owned()
    } else {
        format!("{own}/{path}")
    };
    url.set_path(&joined);
    Ok(url)
}
