//! Choice of the proxy for a request.

use gadgetry_proto::error::ModelErrorKind;
use reqwest::{NoProxy, Url};

use super::config::HttpConfig;
use crate::error::ProviderError;

/// A proxy, and which requests it is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proxy {
    scheme: Scheme,
    pub(super) url: Url,
    /// Hosts that are reached without it, as in `NO_PROXY`.
    except: String,
}

/// The scheme of the requests that a proxy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Https,
    Http,
    All,
}

/// Hosts on this machine.
const HERE: &str = "localhost,127.0.0.0/8,::1";

/// The proxies of `config`; `variable` reads the environment. The first one that fits a request counts.
pub(super) fn of(
    config: &HttpConfig,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Proxy>, ProviderError> {
    if let Some(url) = &config.proxy {
        return Ok(vec![Proxy {
            scheme: Scheme::All,
            url: parse("the proxy", url.expose())?,
            except: HERE.to_owned(),
        }]);
    }
    if !config.proxy_from_environment {
        return Ok(Vec::new());
    }
    let get = |name: &str| {
        let set = [name.to_owned(), name.to_ascii_lowercase()].into_iter();
        let mut set = set.filter_map(|name| Some((variable(&name)?, name)));
        set.find(|(value, _)| !value.trim().is_empty())
    };
    let except = match get("NO_PROXY") {
        Some((list, _)) => format!("{HERE},{list}"),
        None => HERE.to_owned(),
    };
    let schemes = [
        ("HTTPS_PROXY", Scheme::Https),
        ("HTTP_PROXY", Scheme::Http),
        ("ALL_PROXY", Scheme::All),
    ];
    let proxies = schemes.into_iter().filter_map(|(name, scheme)| {
        let (url, name) = get(name)?;
        let url = parse(&name, &url);
        let except = except.clone();
        Some(url.map(|url| Proxy {
            scheme,
            url,
            except,
        }))
    });
    proxies.collect()
}

impl Proxy {
    /// The rule for reqwest.
    pub(super) fn rule(&self) -> Result<reqwest::Proxy, ProviderError> {
        let url = self.url.clone();
        let rule = match self.scheme {
            Scheme::Https => reqwest::Proxy::https(url),
            Scheme::Http => reqwest::Proxy::http(url),
            Scheme::All => reqwest::Proxy::all(url),
        };
        let rule = rule.map_err(|error| mistake("the proxy", &error.without_url().to_string()))?;
        Ok(rule.no_proxy(NoProxy::from_string(&self.except)))
    }
}

fn parse(name: &str, text: &str) -> Result<Url, ProviderError> {
    let text = text.trim();
    // Many write host and port alone.
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    let url = url.map_err(|error| mistake(name, &error.to_string()))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        let why = format!("{} is not supported; use an HTTP proxy", url.scheme());
        Err(mistake(name, &why))
    }
}

/// The text may hold a password, so it is not shown.
fn mistake(name: &str, why: &str) -> ProviderError {
    let message = format!("the URL of {name} is invalid: {why}; it looks like http://host:3128");
    ProviderError::new(ModelErrorKind::BadRequest, message)
}

#[cfg(test)]
mod tests {
    use super::{HttpConfig, of};

    /// Returns the proxies of an environment, as scheme, URL and exceptions.
    fn found(variables: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let config = HttpConfig::new().proxy_from_environment(true);
        let variable = |name: &str| {
            let mut set = variables.iter();
            let (_, value) = set.find(|(set, _)| *set == name)?;
            Some((*value).to_owned())
        };
        let proxies = of(&config, variable).map_err(|error| error.to_string())?;
        let proxies = proxies.iter();
        Ok(proxies
            .map(|it| format!("{:?} {} except {}", it.scheme, it.url, it.except))
            .collect())
    }

    #[test]
    fn variables() {
        const HERE: &str = "except localhost,127.0.0.0/8,::1";
        type Row<'a> = (&'a [(&'a str, &'a str)], Result<Vec<String>, &'a str>);
        let table: [Row<'_>; 7] = [
            (&[], Ok(vec![])),
            (
                &[("HTTPS_PROXY", "http://p:1"), ("http_proxy", "q:2")],
                Ok(vec![
                    format!("Https http://p:1/ {HERE}"),
                    format!("Http http://q:2/ {HERE}"),
                ]),
            ),
            (
                &[
                    ("ALL_PROXY", "http://p:1"),
                    ("NO_PROXY", ".corp,10.0.0.0/8"),
                ],
                Ok(vec![format!("All http://p:1/ {HERE},.corp,10.0.0.0/8")]),
            ),
            (
                &[("HTTPS_PROXY", " "), ("https_proxy", "http://p:1")],
                Ok(vec![format!("Https http://p:1/ {HERE}")]),
            ),
            (
                &[("HTTPS_PROXY", "http://p:1"), ("https_proxy", "http://q:1")],
                Ok(vec![format!("Https http://p:1/ {HERE}")]),
            ),
            (
                &[("all_proxy", "socks5://u:secret@p:1")],
                Err(
                    "the URL of all_proxy is invalid: socks5 is not supported; use an HTTP proxy; it looks like \
                     http://host:3128",
                ),
            ),
            (
                &[("HTTPS_PROXY", "http://u:secret@:1")],
                Err(
                    "the URL of HTTPS_PROXY is invalid: empty host; it looks like http://host:3128",
                ),
            ),
        ];
        for (variables, expected) in table {
            let expected = expected.map_err(str::to_owned);
            assert_eq!(found(variables), expected, "{variables:?}");
        }
        let config = HttpConfig::new();
        assert_eq!(of(&config, |_| Some("http://p:1".into())), Ok(vec![]));
        assert!(!format!("{:?}", config.proxy("http://u:secret@p:1")).contains("secret"));
    }
}
