//! Tests of the tokens of an earlier login.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri};
use futures_util::FutureExt as _;
use gadgetry_http::{ConnectionLimits, accept};
use rmcp::transport::auth::StoredCredentials;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{restored, words_of};
use crate::config::ServerConfig;
use crate::tokens::Tokens;

const REFRESH_TOKEN: &str = "refresh-s3cret";

/// A server that publishes `metadata`, in which `{own}` is its own address, and refuses refreshes.
async fn serve(metadata: Option<Value>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = format!("http://{}", listener.local_addr().unwrap());
    let metadata = metadata.map(|it| it.to_string().replace("{own}", &own));
    let bodies: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&bodies);
    let answer = move |uri: Uri, body: Bytes| {
        let path = uri.path();
        let is_metadata = path.starts_with("/.well-known/oauth-authorization-server");
        let answer = match &metadata {
            Some(metadata) if is_metadata => (StatusCode::OK, metadata.clone()),
            _ if path == "/token" => {
                let refusal =
                    json!({ "error": "invalid_scope", "error_description": REFRESH_TOKEN });
                (StatusCode::BAD_REQUEST, refusal.to_string())
            }
            _ => (StatusCode::NOT_FOUND, String::new()),
        };
        let body = String::from_utf8_lossy(&body).into_owned();
        seen.lock().unwrap().push(body);
        async move { answer }
    };
    let router = Router::new().fallback(answer);
    let limits = ConnectionLimits {
        connections: 8,
        header_timeout: Duration::from_mins(1),
    };
    tokio::spawn(async move { accept(listener, router, limits, pending()).await });
    (own, bodies)
}

fn metadata(issuer: Option<&str>, token_endpoint: &str) -> Value {
    let mut metadata = json!({
        "authorization_endpoint": "{own}/authorize",
        "token_endpoint": token_endpoint,
        "code_challenge_methods_supported": ["S256"],
    });
    if let Some(issuer) = issuer {
        metadata["issuer"] = json!(issuer);
    }
    metadata
}

/// The tokens of an earlier login, which have expired.
fn kept(issuer: Option<&str>) -> StoredCredentials {
    let kept = json!({
        "client_id": "client",
        "token_response": {
            "access_token": "access-s3cret",
            "token_type": "bearer",
            "expires_in": 1,
            "refresh_token": REFRESH_TOKEN,
        },
        "token_received_at": 1,
        "issuer": issuer,
    });
    serde_json::from_value(kept).unwrap()
}

/// Restores a login at `issuer` and refreshes its tokens. Returns the error, and whether the refresh token was sent.
async fn refreshed(found: Option<Value>, issuer: Option<&str>) -> (String, bool) {
    let (own, bodies) = serve(found).await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::in_dir(folder.path());
    let server = ServerConfig::http(format!("{own}/mcp"));
    let url = super::url_of(&server).unwrap();
    let issuer = issuer.map(|issuer| issuer.replace("{own}", &own));
    let file = tokens.of(&url);
    file.write(kept(issuer.as_deref())).unwrap();
    let error = match restored(&server, &tokens).await {
        Err(error) => error.to_string(),
        Ok(manager) => {
            let refreshed = manager.unwrap().get_access_token().await;
            words_of(&refreshed.unwrap_err())
        }
    };
    let bodies = bodies.lock().unwrap();
    (
        error,
        bodies.iter().any(|body| body.contains(REFRESH_TOKEN)),
    )
}

#[tokio::test]
async fn only_the_authorization_server_of_the_login_receives_tokens() {
    let same = Some("{own}/mcp");
    let token = "{own}/token";
    let changed = "its authorization server is not the one of the login; log in again";
    for (found, issuer, expected, is_sent) in [
        (
            Some(metadata(same, token)),
            same,
            "OAuth token refresh failed: invalid_scope",
            true,
        ),
        (None, same, "it does not offer OAuth", false),
        (None, None, "it does not offer OAuth", false),
        (
            Some(metadata(None, token)),
            same,
            "Authorization server response missing required issuer",
            false,
        ),
        (
            Some(metadata(same, token)),
            Some("https://other.example"),
            changed,
            false,
        ),
        // Neither over https nor on this machine.
        (
            Some(metadata(same, "http://1.1.1.1/token")),
            same,
            "OAuth token refresh failed",
            false,
        ),
    ] {
        let (error, sent) = refreshed(found.clone(), issuer).await;
        assert!(error.starts_with(expected), "{found:?}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
        assert_eq!(sent, is_sent, "{found:?}: {error}");
    }
}

#[tokio::test]
async fn a_refresh_in_flight_does_not_keep_removed_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::in_dir(folder.path());
    let server = ServerConfig::http("https://example.com/mcp");
    let file = tokens.of(&super::url_of(&server).unwrap());
    file.write(kept(None)).unwrap();
    let refreshing = file.lock().await.unwrap();
    let mut removing = Box::pin(tokens.remove(&server));
    assert!((&mut removing).now_or_never().is_none());
    file.write(kept(None)).unwrap();
    drop(refreshing);
    assert!(removing.await.unwrap());
    assert!(!tokens.has(&server));
}
