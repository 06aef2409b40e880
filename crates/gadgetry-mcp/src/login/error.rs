//! Errors of a login, and what to do about them.

use std::io;
use std::time::Duration;

use gadgetry::proto::visible::visible_line;
use gadgetry::{Classified, Fault};
use rmcp::transport::auth::AuthError;

/// Characters of a server's words.
const WORDS: usize = 400;

/// Characters of an OAuth error code.
const CODE: usize = 40;

/// In place of what could be a secret.
const HIDDEN: &str = "***";

/// Error of a login to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server is a program.
    #[error("it is a program and has no login; only servers with `url` have one")]
    Program,
    /// An environment variable of the configuration is not set.
    #[error("the environment variable {0} is not set; set it, or write `${{{0}:-default}}`")]
    Variable(String),
    /// The URL cannot be used.
    #[error("`url` must be an address such as \"https://example.com/mcp\": {0}")]
    Url(String),
    /// Tokens would be sent unencrypted.
    #[error("tokens are only sent over https, or to this machine; change `url`")]
    Insecure,
    /// The server does not say how to log in.
    #[error(
        "it does not offer OAuth; set the header `Authorization` in `headers` if it needs a key"
    )]
    Unsupported,
    /// The address to open is not one of a page.
    #[error("its authorization server names an address that is not an https page")]
    Page,
    /// The browser cannot reach this program.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listen(io::Error),
    /// The time is over.
    #[error("no answer about the login after {0:?}; increase `startup-timeout` if it needs longer")]
    Timeout(Duration),
    /// The server does not name the authorization server that has issued the tokens.
    #[error("its authorization server is not the one of the login; log in again")]
    Issuer,
    /// The user, or the authorization server, has refused.
    #[error("the login was refused: {0}")]
    Refused(String),
    /// The tokens cannot be read or kept.
    #[error("{0}")]
    Store(String),
    /// The server, or its authorization server, has answered something that cannot be used.
    #[error("{0}; to use a client of your own, set `client-id` in `oauth`")]
    Registration(String),
    /// The same about anything else.
    #[error("{0}")]
    Server(String),
}

impl Classified for LoginError {
    fn fault(&self) -> Fault {
        match self {
            Self::Program | Self::Variable(_) | Self::Url(_) | Self::Insecure => Fault::Program,
            Self::Listen(_) | Self::Store(_) => Fault::Environment,
            Self::Page | Self::Timeout(_) => Fault::Caller,
            Self::Unsupported
            | Self::Issuer
            | Self::Refused(_)
            | Self::Registration(_)
            | Self::Server(_) => Fault::Provider,
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }
}

impl LoginError {
    /// The error of a library, without the secret of the client.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others differ in the message only"
    )]
    pub(super) fn of(error: AuthError, secret: Option<&str>) -> Self {
        let words = shown(&words_of(&error), secret);
        match error {
            AuthError::NoAuthorizationSupport => Self::Unsupported,
            AuthError::CredentialStoreError(problem) => Self::Store(shown(&problem, secret)),
            AuthError::RegistrationFailed(_) => Self::Registration(words),
            _ => Self::Server(words),
        }
    }

    /// A refusal in the words of the authorization server.
    pub(super) fn refused(words: &str) -> Self {
        Self::Refused(shown(words, None))
    }
}

/// An error without the answer of a token endpoint, which may quote a token.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others quote no answer of a token endpoint"
)]
pub(crate) fn words_of(error: &AuthError) -> String {
    let (what, detail) = match error {
        AuthError::TokenExchangeFailed(detail) => ("OAuth token exchange failed", detail),
        AuthError::TokenRefreshFailed(detail) => ("OAuth token refresh failed", detail),
        AuthError::TokenRefreshRejected(detail) => ("OAuth refresh token was rejected", detail),
        other => return shown(&other.to_string(), None),
    };
    match code_of(detail) {
        Some(code) => format!("{what}: {code}"),
        None => what.to_owned(),
    }
}

/// The OAuth error code in the library's description of a refusal.
fn code_of(detail: &str) -> Option<&str> {
    let answer = detail.strip_prefix("Server returned error response: ")?;
    let code = answer.split([':', ' ']).next()?;
    let is_code = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = (1..=CODE).contains(&code.len()) && code.chars().all(is_code);
    is_valid.then_some(code)
}

/// One line of readable length.
fn shown(words: &str, secret: Option<&str>) -> String {
    let words = match secret.filter(|secret| !secret.is_empty()) {
        Some(secret) => words.replace(secret, HIDDEN),
        None => words.to_owned(),
    };
    let words: String = words.chars().take(WORDS).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    visible_line(&words.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{AuthError, words_of};

    #[test]
    fn no_answer_of_a_token_endpoint_is_quoted() {
        let refused = "Server returned error response: ";
        for (detail, expected) in [
            (format!("{refused}invalid_scope"), ": invalid_scope"),
            (format!("{refused}invalid_scope: s3cret"), ": invalid_scope"),
            (
                format!("{refused}server_error (see s3cret)"),
                ": server_error",
            ),
            (format!("{refused}s3cret-token: no"), ""),
            (format!("{refused}{}", "s3cret".repeat(10)), ""),
            (format!("{refused}: s3cret"), ""),
            ("invalid type: string \"s3cret\"".to_owned(), ""),
            ("s3cret".to_owned(), ""),
        ] {
            let refresh = AuthError::TokenRefreshFailed(detail.clone());
            let rejected = AuthError::TokenRefreshRejected(detail.clone());
            let exchange = AuthError::TokenExchangeFailed(detail);
            for (error, what) in [
                (refresh, "OAuth token refresh failed"),
                (rejected, "OAuth refresh token was rejected"),
                (exchange, "OAuth token exchange failed"),
            ] {
                assert_eq!(words_of(&error), format!("{what}{expected}"));
            }
        }
    }
}
