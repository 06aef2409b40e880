//! OAuth with an authorization server made with the Python SDK, and with odd browsers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use gadgetry_mcp::config::{OAuth, Transport};
use gadgetry_mcp::{Login, LoginError, ServerConfig, Servers, Tokens};
use gadgetry_providers::tls;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::installed::HttpServer;
use crate::support::{LONG, call, connect};

/// A server that requires a login, and a folder for tokens.
struct Place {
    server: HttpServer,
    folder: TempDir,
}

impl Place {
    async fn new(lifetime: u32, more: &[&str]) -> Option<Self> {
        Some(Self {
            server: HttpServer::with_login(lifetime, more).await?,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    fn tokens(&self) -> Tokens {
        Tokens::in_dir(self.folder.path().join("tokens"))
    }

    fn config(&self) -> ServerConfig {
        self.config_with(OAuth::default())
    }

    fn config_with(&self, oauth: OAuth) -> ServerConfig {
        let mut config = ServerConfig::http(&self.server.url);
        if let Transport::Http(http) = &mut config.transport {
            http.tokens = Some(self.tokens());
            http.oauth = oauth;
        }
        config
    }

    /// The file with the tokens.
    fn file(&self) -> PathBuf {
        let mut files = fs::read_dir(self.folder.path().join("tokens")).unwrap();
        let is_json = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
        files
            .find_map(|it| Some(it.unwrap().path()).filter(is_json))
            .unwrap()
    }

    /// Logs in with a browser that follows redirects; returns what the page says.
    async fn log_in(&self, config: &ServerConfig) -> (Result<(), LoginError>, String) {
        let login = Login::begin(config, &self.tokens()).await.unwrap();
        let url = login.url().to_owned();
        let both = async { tokio::join!(login.finish(), get(&url)) };
        tokio::time::timeout(LONG, both).await.expect("it ends")
    }
}

/// What a browser shows of a page, after redirects.
async fn get(url: &str) -> String {
    let (tls, _) = tls::config();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    let client = client.no_proxy().build().unwrap();
    let response = client.get(url).send().await.unwrap();
    response.text().await.unwrap()
}

/// Why there is no connection.
async fn failure(config: ServerConfig) -> String {
    let servers = Servers::connect([("s".to_owned(), config)]).await;
    servers.failures()[0].error.to_string()
}

const LOG_IN: &str =
    "it requires authorization; log in to it, or set the header `Authorization` in `headers`";

#[tokio::test]
async fn tokens_are_kept_and_used() {
    let Some(place) = Place::new(3600, &[]).await else {
        return;
    };
    let (config, tokens) = (place.config(), place.tokens());
    assert!(!tokens.has(&config));
    assert_eq!(failure(config.clone()).await, LOG_IN);
    let (done, page) = place.log_in(&config).await;
    done.unwrap();
    assert_eq!(page, "You are logged in. You can close this page.\n");
    assert!(tokens.has(&config));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.file()), 0o600);
    assert_eq!(mode(place.folder.path().join("tokens")), 0o700);
    let text = fs::read_to_string(place.file()).unwrap();
    assert!(
        text.contains("access-") && text.contains(&place.server.url),
        "{text}"
    );
    let servers = connect(&[("s", config.clone())]).await;
    assert_eq!(
        call(&servers, "refreshed", json!({})).await.as_deref(),
        Ok("0")
    );
    servers.close().await;
    // The tokens of one server are not those of another one.
    let other = ServerConfig::http(format!("{}2", place.server.url));
    assert!(!tokens.has(&other));
    assert!(tokens.remove(&config).await.unwrap());
    assert!(!tokens.remove(&config).await.unwrap());
    assert_eq!(failure(config).await, LOG_IN);
}

#[tokio::test]
async fn expired_tokens_are_refreshed_and_kept() {
    let Some(place) = Place::new(0, &[]).await else {
        return;
    };
    let config = place.config();
    place.log_in(&config).await.0.unwrap();
    let first = fs::read_to_string(place.file()).unwrap();
    // Two programs: a refresh token is valid once, so the second one needs what the first one has kept.
    for _ in 0..2 {
        let servers = connect(&[("a", config.clone()), ("b", config.clone())]).await;
        let count = call(&servers, "a__refreshed", json!({})).await.unwrap();
        assert!(count.parse::<u32>().unwrap() > 0, "{count}");
        call(&servers, "b__refreshed", json!({})).await.unwrap();
        servers.close().await;
    }
    assert_ne!(fs::read_to_string(place.file()).unwrap(), first);
    // Tokens that are not valid any more.
    let servers = connect(&[("s", config.clone())]).await;
    drop(call(&servers, "forget", json!({})).await);
    servers.close().await;
    assert_eq!(failure(config).await, LOG_IN);
}

#[tokio::test]
async fn a_client_of_the_configuration() {
    let Some(place) = Place::new(0, &[]).await else {
        return;
    };
    let known = |secret: &str| OAuth {
        client_id: Some("known".to_owned()),
        client_secret: Some(secret.to_owned()),
        scopes: vec!["use".to_owned()],
    };
    let config = place.config_with(known("s3cret-of-client"));
    place.log_in(&config).await.0.unwrap();
    let text = fs::read_to_string(place.file()).unwrap();
    assert!(
        text.contains("\"known\"") && !text.contains("s3cret"),
        "{text}"
    );
    // The refresh needs the secret, too.
    let servers = connect(&[("s", config.clone())]).await;
    call(&servers, "refreshed", json!({})).await.unwrap();
    servers.close().await;
    assert!(!format!("{config:?}").contains("s3cret"), "{config:?}");
    let wrong = place.config_with(known("wrong-s3cret"));
    let (done, page) = place.log_in(&wrong).await;
    let error = done.unwrap_err().to_string();
    assert!(
        !error.contains("s3cret") && error.contains("token exchange failed"),
        "{error}"
    );
    assert!(page.starts_with("The login has failed"), "{page}");
}

#[tokio::test]
async fn a_refusal_is_reported() {
    let Some(place) = Place::new(0, &["deny"]).await else {
        return;
    };
    let (done, page) = place.log_in(&place.config()).await;
    let refused = "the login was refused: not\\u{1b}[2J today (access_denied)";
    assert_eq!(done.unwrap_err().to_string(), refused);
    assert!(page.starts_with("The login has failed"), "{page}");
    assert!(!place.tokens().has(&place.config()));
}

/// What a connection to the listener is answered.
async fn sent(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Other pages and programs reach the listener, too: they neither end the login nor bring a code.
#[tokio::test]
async fn only_the_browser_with_the_state_ends_a_login() {
    let Some(place) = Place::new(3600, &[]).await else {
        return;
    };
    let config = place.config();
    let login = Login::begin(&config, &place.tokens()).await.unwrap();
    let url = login.url().to_owned();
    assert!(!format!("{login:?}").contains("state"));
    let page = reqwest::Url::parse(&url).unwrap();
    let parameter = |name: &str| {
        let mut pairs = page.query_pairs();
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned()).unwrap()
    };
    assert_eq!(parameter("code_challenge_method"), "S256");
    assert_eq!(parameter("resource"), place.server.url);
    let redirect = reqwest::Url::parse(&parameter("redirect_uri")).unwrap();
    assert_eq!(redirect.host_str(), Some("127.0.0.1"));
    let address = format!("127.0.0.1:{}", redirect.port().unwrap());
    let finishing = tokio::spawn(login.finish());
    // A connection that is opened and not used, as browsers do.
    let _idle = TcpStream::connect(&address).await.unwrap();
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(100_000));
    for (request, expected) in [
        (
            "GET /callback?code=evil&state=wrong HTTP/1.1\r\n\r\n",
            "HTTP/1.1 404",
        ),
        (
            "GET /callback?error=access_denied HTTP/1.1\r\n\r\n",
            "HTTP/1.1 404",
        ),
        ("GET /favicon.ico HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
        (
            "GET http://evil.example/callback HTTP/1.1\r\n\r\n",
            "HTTP/1.1 404",
        ),
        ("POST /callback HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
        ("\u{0}\u{0}\r\n\r\n", "HTTP/1.1 400"),
        (&long, "HTTP/1.1 431"),
    ] {
        let answer = sent(&address, request).await;
        assert!(answer.starts_with(expected), "{expected}: {answer:?}");
    }
    assert!(!finishing.is_finished());
    assert!(get(&url).await.starts_with("You are logged in."));
    finishing.await.unwrap().unwrap();
    // Dropping a login frees its port.
    let login = Login::begin(&config, &place.tokens()).await.unwrap();
    let page = reqwest::Url::parse(login.url()).unwrap();
    let redirect = page.query_pairs().find(|(key, _)| key == "redirect_uri");
    let redirect = reqwest::Url::parse(&redirect.unwrap().1).unwrap();
    drop(login);
    let address = format!("127.0.0.1:{}", redirect.port().unwrap());
    // The task that listens is dropped when its runtime gets to it.
    let closed = async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), closed)
        .await
        .expect("a free port");
}

#[tokio::test]
async fn files_that_are_damaged() {
    let Some(place) = Place::new(3600, &[]).await else {
        return;
    };
    let config = place.config();
    place.log_in(&config).await.0.unwrap();
    let text = fs::read_to_string(place.file()).unwrap();
    let other = text.replace("/mcp\"", "/other\"");
    for damaged in ["", "{}", &text[..text.len() / 2], &other] {
        fs::write(place.file(), damaged).unwrap();
        let error = failure(config.clone()).await;
        let expected = format!("{} is damaged; log in again", place.file().display());
        assert!(
            error.contains(&expected) && !error.contains("access-"),
            "{error}"
        );
    }
    // Logging in again replaces it.
    place.log_in(&config).await.0.unwrap();
    connect(&[("s", config)]).await.close().await;
}

#[tokio::test]
async fn servers_without_a_login() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::in_dir(folder.path());
    let begin = async |config: ServerConfig| {
        let begun = Login::begin(&config, &tokens).await;
        begun.unwrap_err().to_string()
    };
    for (config, expected) in [
        (ServerConfig::stdio("cat", [""; 0]), "it is a program"),
        (
            ServerConfig::http("http://example.com/mcp"),
            "tokens are only sent over https",
        ),
        (ServerConfig::http("nonsense"), "`url` must be an address"),
        (
            ServerConfig::http("https://${GADGETRY_TEST_UNSET}/"),
            "the environment variable GADGETRY_TEST_UNSET is not set",
        ),
    ] {
        let error = begin(config).await;
        assert!(error.starts_with(expected), "{error}");
    }
    if let Some(server) = HttpServer::python().await {
        let error = begin(ServerConfig::http(&server.url)).await;
        assert!(error.starts_with("it does not offer OAuth"), "{error}");
    }
}
