//! Tokens of logins: where they are, and what to do without them.

use gadgetry_mcp::config::Transport;
use gadgetry_mcp::{ConnectError, ServerConfig, ServerFailure, Tokens};

use crate::data_dir;
use crate::error::Error;

/// The folder in the user's data directory.
const FOLDER: &str = "mcp";

/// The user's tokens. They belong to addresses, so all sessions and projects share them.
pub(crate) fn tokens() -> Result<Tokens, Error> {
    let folder = data_dir::usual();
    let folder = folder.ok_or_else(|| Error::input("no home directory in the environment"))?;
    Ok(Tokens::in_dir(folder.join(FOLDER)))
}

/// A server, with the user's tokens if it has an address.
pub(crate) fn with_tokens((name, mut server): (String, ServerConfig)) -> (String, ServerConfig) {
    if let Transport::Http(http) = &mut server.transport {
        // Without a home directory nothing is kept.
        http.tokens = tokens().ok();
    }
    (name, server)
}

/// Explains why a server cannot be used, with the command that helps.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a login helps in these cases only"
)]
pub(crate) fn explained(failure: &ServerFailure) -> String {
    let server = &failure.server;
    match failure.error {
        ConnectError::Unauthorized | ConnectError::Login(_) => {
            let word = shell_words::quote(server);
            format!("{failure}; `gadgetry mcp login {word}` logs in")
        }
        _ => failure.to_string(),
    }
}
