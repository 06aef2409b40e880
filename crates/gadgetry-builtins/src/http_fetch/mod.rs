//! `HttpFetch`.

mod page;
mod tables;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::proto::schema::{OnInterrupt, Unterminated};
use gadgetry::{
    CallPreview, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission, Subject,
};
use gadgetry_providers::addresses::PublicAddresses;
use gadgetry_providers::tls;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

/// Redirects that are followed.
const REDIRECTS: usize = 5;

/// Time for a page with its redirects.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a page.
const BODY_LIMIT: usize = 5 << 20;

/// Bytes of a URL.
const URL_LIMIT: usize = 8 << 10;

/// Fetches a page.
#[derive(Debug)]
pub(crate) struct HttpFetch {
    client: Client,
    addresses: PublicAddresses,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HttpFetchParams {
    /// with http:// or https://
    url: String,
    /// HTML as it is
    #[serde(default)]
    raw: bool,
}

impl HttpFetch {
    /// `allowed` addresses are used although they are not public.
    pub(crate) fn new(allowed: Vec<IpAddr>) -> Result<Self, reqwest::Error> {
        let addresses = PublicAddresses::and(allowed);
        let (config, _) = tls::config();
        let client = Client::builder()
            .tls_backend_preconfigured(config)
            // A proxy would resolve the name itself, so the address could not be checked.
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(addresses.clone()))
            .timeout(TIMEOUT)
            .user_agent(concat!("gadgetry/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, addresses })
    }

    async fn fetch(
        &self,
        params: &HttpFetchParams,
        context: &ExecutionContext,
    ) -> Result<String, GadgetError> {
        let mut url = checked(&params.url, &self.addresses)?;
        context.check_approved(&CallPreview::of(Subject::Url(url.to_string())))?;
        for _ in 0..=REDIRECTS {
            let request = self.client.get(url.clone());
            let request = request.header(
                ACCEPT,
                "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
            );
            let response = request.send().await.map_err(|error| failed(&url, &error))?;
            if !response.status().is_redirection() {
                return answer(&url, response, params.raw).await;
            }
            let next = response
                .headers()
                .get(LOCATION)
                .and_then(|to| to.to_str().ok());
            let next = next.ok_or_else(|| {
                GadgetError::new(format_args!("{url} redirects without a location"))
            })?;
            let next = url.join(next).map_err(|error| {
                GadgetError::new(format_args!("{url} redirects to an invalid URL: {error}"))
            })?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(GadgetError::new(format_args!(
                    "{url} redirects to {next}, which is not encrypted"
                )));
            }
            let next = checked(next.as_str(), &self.addresses)?;
            if !may_follow(&url, &next, context) {
                return Err(GadgetError::new(format_args!(
                    "{url} redirects to {next}, which is not approved; to read that page, call HttpFetch with its address"
                )));
            }
            url = next;
        }
        Err(GadgetError::new(format_args!(
            "more than {REDIRECTS} redirects; the last one is to {url}"
        )))
    }
}

impl Gadget for HttpFetch {
    type Params = HttpFetchParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("HttpFetch", "Fetches a page. HTML becomes plain text.")
            .unterminated(Unterminated::Confirm)
            .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: HttpFetchParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        self.fetch(&params, &context).await
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: HttpFetchParams) -> Result<CallPreview, GadgetError> {
        let url = checked(&params.url, &self.addresses)?;
        Ok(CallPreview::of(Subject::Url(url.to_string())))
    }
}

/// Returns whether a redirect leads to what rules allow, or, of an address that the user has approved, to the same host.
fn may_follow(from: &Url, to: &Url, context: &ExecutionContext) -> bool {
    let subject = Subject::Url(to.to_string());
    let is_default = |url: &Url| url.port().is_none();
    let is_same_host = from.host() == to.host()
        && (from.port_or_known_default() == to.port_or_known_default()
            || is_default(from) && is_default(to));
    match context.permission_for(&subject) {
        Permission::Allow => true,
        Permission::Ask => is_same_host && context.may_include(&subject),
        Permission::Deny => false,
    }
}

/// A URL that may be fetched, as far as it says itself; names are checked when they are resolved.
fn checked(text: &str, addresses: &PublicAddresses) -> Result<Url, GadgetError> {
    if text.len() > URL_LIMIT {
        return Err(GadgetError::new(format_args!(
            "the URL has more than {URL_LIMIT} bytes"
        )));
    }
    let mut url = Url::parse(text.trim())
        .map_err(|error| GadgetError::new(format_args!("invalid URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(GadgetError::new(format_args!(
            "{}: only http and https URLs are fetched",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL contains a user name or a password; leave them out".into());
    }
    url.set_fragment(None);
    if !url.has_host() {
        return Err("the URL has no host".into());
    }
    addresses.check(&url).map_err(GadgetError::new)?;
    Ok(url)
}

async fn answer(url: &Url, response: Response, raw: bool) -> Result<String, GadgetError> {
    let status = response.status().as_u16();
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("")
        .to_owned();
    let essence = kind
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    if !page::is_text(&essence) {
        return Err(GadgetError::new(format_args!(
            "{url} is not text (status {status}, type {essence})"
        )));
    }
    let (bytes, cut) = body(url, response).await?;
    let text = page::text(bytes, &kind, &essence, raw).await?;
    let cut = if cut { " (cut off after 5 MiB)" } else { "" };
    let head = format!("url={url} status={status} type={essence}{cut}\n\n");
    if status >= 400 {
        return Err(GadgetError::new(head + &page::short(text)));
    }
    Ok(head + &text)
}

/// The body, and whether there was more.
async fn body(url: &Url, mut response: Response) -> Result<(Vec<u8>, bool), GadgetError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failed(url, &error))?
    {
        let room = BODY_LIMIT - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

/// The reason at the bottom, which says most.
fn failed(url: &Url, error: &reqwest::Error) -> GadgetError {
    if error.is_timeout() {
        return GadgetError::new(format_args!(
            "{url}: no complete answer within {} s",
            TIMEOUT.as_secs()
        ));
    }
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        words = error.to_string();
        source = error.source();
    }
    GadgetError::new(format_args!("{url}: {words}"))
}
