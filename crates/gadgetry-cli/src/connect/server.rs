//! Interpretation of the options about a server.

use gadgetry::provider::http::is_secret_header;
use gadgetry::provider::{BaseUrl, HttpConfig, ModelOptions};
use serde_json::{Map, Value};

use crate::cli::ServerArgs;
use crate::error::Error;

/// `options` with what the command line says about the server.
pub(super) fn apply(args: &ServerArgs, options: ModelOptions) -> Result<ModelOptions, Error> {
    Ok(ModelOptions {
        base_url: args.base_url.as_deref().map(BaseUrl::new),
        http: http(args)?,
        fields: fields(args)?,
        ..options
    })
}

/// Returns the configuration of requests.
fn http(args: &ServerArgs) -> Result<HttpConfig, Error> {
    let mut config = HttpConfig::new().proxy_from_environment(!args.no_proxy);
    if let Some(timeout) = args.connect_timeout {
        config = config.connect_timeout(timeout);
    }
    if let Some(timeout) = args.model_timeout {
        config = config.header_timeout(timeout).idle_timeout(timeout);
    }
    for header in &args.headers {
        // The value may be a key, so no error shows it.
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| Error::input("a --header is written NAME: VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        config = if is_secret(name, value) {
            config.secret_header(name, value)
        } else {
            config.header(name, value)
        };
    }
    Ok(config)
}

/// Returns whether a header is to be kept out of everything that is printed or saved.
fn is_secret(name: &str, value: &str) -> bool {
    const LONG: usize = 20;
    let is_word = value.len() >= LONG && !value.contains(char::is_whitespace);
    is_secret_header(name) || is_word
}

/// More fields for the body of each request.
fn fields(args: &ServerArgs) -> Result<Map<String, Value>, Error> {
    let Some(text) = &args.extra_body else {
        return Ok(Map::new());
    };
    serde_json::from_str(text)
        .map_err(|error| Error::input(format_args!("--extra-body is not a JSON object: {error}")))
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn headers_that_are_not_shown() {
        let cases = [
            ("authorization", "x", true),
            ("api-key", "x", true),
            ("X-Auth-Token", "x", true),
            ("cookie", "x", true),
            ("x-tenant", "0123456789abcdef0123", true),
            ("x-title", "my program", false),
            ("anthropic-beta", "a-b-2026", false),
        ];
        for (name, value, expected) in cases {
            assert_eq!(is_secret(name, value), expected, "{name}: {value}");
        }
    }
}
