//! Logging in to servers over HTTP with OAuth, and the tokens that remain.
//!
//! [`Login::begin`] finds the server's authorization server (RFC 9728, RFC 8414), registers a client there unless the configuration
//! names one, and listens on 127.0.0.1. The caller opens [`Login::url`] in a browser, and [`Login::finish`] waits for the user.
//! The code is exchanged with PKCE, and the tokens are kept in [`Tokens`]. Connections with a
//! [`tokens`](crate::config::Http::tokens) folder use and refresh them.
//!
//! | what could go wrong | what happens |
//! |---|---|
//! | another page or program sends a code to the listener | it does not know the state, so it is ignored |
//! | the server names addresses inside the user's network | they are refused, unless they are the server's own |
//! | the server names addresses without TLS | they are refused, unless they are on this machine |
//! | the server changes its authorization server, or names none | the tokens are not sent; the user logs in again |
//! | an answer to a refresh quotes a token | errors contain no more of it than the OAuth error code |
//! | two programs refresh at the same time | one waits for the other, and uses its tokens |
//! | the server redirects a request with a token | redirects are not followed |

mod error;
mod http;
mod redirect;
#[cfg(test)]
mod tests;

use std::{fmt, io};

use futures_core::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
    AuthorizationRequest, AuthorizationSession, CredentialStore as _, OAuthClientConfig,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::config::{OAuth, ServerConfig, Transport};
use crate::tokens::Tokens;
use crate::variables::{expand, of_environment};

pub use error::LoginError;
pub(crate) use error::words_of;

use http::is_private;
use redirect::Redirect;

/// The name under which a client is registered.
const CLIENT: &str = "gadgetry";

/// A login that waits for the user, on the tokio runtime that it began on. Dropping it stops listening, and nothing is kept.
///
/// ```no_run
/// use gadgetry_mcp::{Login, ServerConfig, Tokens};
///
/// # async fn example() -> Result<(), gadgetry_mcp::LoginError> {
/// let tokens = Tokens::in_dir("/home/me/.local/share/gadgetry/mcp");
/// let server = ServerConfig::http("https://example.com/mcp");
/// let login = Login::begin(&server, &tokens).await?;
/// println!("Open {}", login.url());
/// login.finish().await?;
/// assert!(tokens.has(&server));
/// # Ok(())
/// # }
/// ```
pub struct Login {
    redirect: Redirect,
    session: AuthorizationSession,
    /// State that the browser must bring back.
    state: String,
    secret: Option<String>,
}

impl Login {
    /// Finds out how to log in to a server, and begins to listen for the browser.
    ///
    /// Cancel safety: dropping the future stops it; a client may have been registered.
    ///
    /// # Errors
    ///
    /// [`LoginError`] if the server has no URL, is not reached in its startup timeout, or does not offer OAuth.
    pub async fn begin(server: &ServerConfig, tokens: &Tokens) -> Result<Self, LoginError> {
        let url = url_of(server)?;
        let limit = server.startup_timeout;
        let begun = timeout(limit, begin(&url, oauth_of(server)?, tokens)).await;
        begun.map_err(|_| LoginError::Timeout(limit))?
    }

    /// The address that the user opens. It contains no secret that outlives this login.
    pub fn url(&self) -> &str {
        &self.session.auth_url
    }

    /// Waits until the user has logged in, without a time limit, and keeps the tokens.
    ///
    /// Cancel safety: dropping the future ends the login; tokens are kept as a whole or not at all.
    ///
    /// # Errors
    ///
    /// [`LoginError`] if the user or the server refuses, or the tokens cannot be kept.
    pub async fn finish(self) -> Result<(), LoginError> {
        finish(self).await
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// The futures of a login are boxed: that of an `async fn` is compiled again in every crate that awaits it, and all of `rmcp` with
/// it.
fn begin<'a>(
    url: &'a Url,
    oauth: OAuth,
    tokens: &'a Tokens,
) -> BoxFuture<'a, Result<Login, LoginError>> {
    Box::pin(async move {
        let secret = oauth.client_secret.clone();
        let problem = |error| LoginError::of(error, secret.as_deref());
        let redirect = Redirect::listen().await.map_err(LoginError::Listen)?;
        let mut manager = manager(url, tokens).await.map_err(problem)?;
        let found = published(&manager).await.map_err(problem)?;
        manager.set_metadata(with_secret_in_body(found));
        let mut request = AuthorizationRequest::new(redirect.url())
            .with_client_name(CLIENT)
            .with_initial_scope_selection()
            .with_scopes(oauth.scopes);
        if let Some(id) = oauth.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = oauth.client_secret {
            request = request.with_client_secret(secret);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| problem(error))?;
        // It is opened in a browser, so it must be nothing else than a page.
        let page = Url::parse(&session.auth_url).ok().filter(is_private);
        let page = page.ok_or(LoginError::Page)?;
        let state = page.query_pairs().find(|(name, _)| name == "state");
        let state = state.map(|(_, state)| state.into_owned());
        Ok(Login {
            redirect,
            session,
            state: state.ok_or(LoginError::Page)?,
            secret,
        })
    })
}

fn finish(login: Login) -> BoxFuture<'static, Result<(), LoginError>> {
    Box::pin(async move {
        let answer = login.redirect.answer(login.state).await?;
        let done = if let Some(refusal) = answer.refusal() {
            Err(refusal)
        } else {
            let exchanged = login.session.handle_callback_url(answer.url()).await;
            let secret = login.secret.as_deref();
            exchanged
                .map(drop)
                .map_err(|error| LoginError::of(error, secret))
        };
        answer.reply(done.is_ok()).await;
        done
    })
}

/// Returns the authorization for requests to a server that the user has logged in to; `None` if there are no tokens for it.
pub(crate) async fn restored(
    server: &ServerConfig,
    tokens: &Tokens,
) -> Result<Option<AuthorizationManager>, LoginError> {
    if !tokens.has(server) {
        return Ok(None);
    }
    let (url, oauth) = (url_of(server)?, oauth_of(server)?);
    let secret = oauth.client_secret.clone();
    let problem = |error| LoginError::of(error, secret.as_deref());
    let kept = tokens.of(&url).load().await.map_err(problem)?;
    let Some(kept) = kept else { return Ok(None) };
    let mut manager = manager(&url, tokens).await.map_err(problem)?;
    let found = published(&manager).await.map_err(problem)?;
    if kept.issuer.is_some() && kept.issuer != found.issuer {
        return Err(LoginError::Issuer);
    }
    manager.set_metadata(with_secret_in_body(found));
    if !manager.initialize_from_store().await.map_err(problem)? {
        return Ok(None);
    }
    if let (Some(id), Some(secret)) = (oauth.client_id, oauth.client_secret) {
        let client = OAuthClientConfig::new(id, url.as_str()).with_client_secret(secret);
        manager.configure_client(client).map_err(problem)?;
    }
    Ok(Some(manager))
}

async fn manager(url: &Url, tokens: &Tokens) -> Result<AuthorizationManager, AuthError> {
    let client = http::client(url).await?;
    let manager = AuthorizationManager::new_with_oauth_http_client(url.clone(), client);
    let mut manager = manager.await?;
    manager.set_credential_store(tokens.of(url));
    Ok(manager)
}

/// The metadata of the authorization server. Endpoints that are only guessed from the server's address are not used: another
/// server could have taken its place, and would receive the tokens.
async fn published(manager: &AuthorizationManager) -> Result<AuthorizationMetadata, AuthError> {
    let found = manager.resolve_metadata().await?;
    if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
        return Err(AuthError::NoAuthorizationSupport);
    }
    Ok(found.metadata)
}

/// Authorization servers made with the Python SDK admit a secret in the header only together with an id in the body, so the body
/// is preferred where it is admitted.
fn with_secret_in_body(mut metadata: AuthorizationMetadata) -> AuthorizationMetadata {
    let fields = &mut metadata.additional_fields;
    let methods = fields.get_mut("token_endpoint_auth_methods_supported");
    if let Some(methods) = methods.and_then(Value::as_array_mut)
        && methods.iter().any(|it| it == "client_secret_post")
    {
        methods.retain(|it| it != "client_secret_basic");
    }
    metadata
}

/// The address of a server, with its variables.
impl Tokens {
    /// Returns whether the user has logged in to a server. The tokens may have expired since.
    pub fn has(&self, server: &ServerConfig) -> bool {
        url_of(server).is_ok_and(|url| self.of(&url).exists())
    }

    /// Removes the tokens of a server, and returns whether there were any. They are not revoked at the authorization server.
    ///
    /// Waits while a connection refreshes these tokens, for 40 seconds at most. Needs a tokio runtime with time enabled.
    ///
    /// Cancel safety: dropping the future stops waiting; the tokens are removed or kept.
    ///
    /// # Errors
    ///
    /// The file cannot be removed, or the refresh does not end in time.
    pub async fn remove(&self, server: &ServerConfig) -> io::Result<bool> {
        let url = url_of(server).map_err(io::Error::other)?;
        self.of(&url).remove().await
    }
}

fn url_of(server: &ServerConfig) -> Result<Url, LoginError> {
    let Transport::Http(http) = &server.transport else {
        return Err(LoginError::Program);
    };
    let url = expand(&http.url, &of_environment).map_err(LoginError::Variable)?;
    let url = Url::parse(&url).map_err(|error| LoginError::Url(error.to_string()))?;
    if is_private(&url) {
        Ok(url)
    } else {
        Err(LoginError::Insecure)
    }
}

fn oauth_of(server: &ServerConfig) -> Result<OAuth, LoginError> {
    let Transport::Http(http) = &server.transport else {
        return Err(LoginError::Program);
    };
    let expanded = |text: &Option<String>| {
        let text = text.as_ref().map(|text| expand(text, &of_environment));
        text.transpose().map_err(LoginError::Variable)
    };
    Ok(OAuth {
        client_id: expanded(&http.oauth.client_id)?,
        client_secret: expanded(&http.oauth.client_secret)?,
        scopes: http.oauth.scopes.clone(),
    })
}
