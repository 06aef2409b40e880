//! Settings from a file.
//!
//! ```toml
//! listen = "127.0.0.1:8787"
//!
//! [rules]                      # of all models
//! repairs = 2
//!
//! [[upstream]]
//! name = "local"
//! url = "http://127.0.0.1:8080/v1"
//!
//! [[upstream]]
//! name = "cloud"
//! model = "anthropic:claude-haiku-4-5"
//!
//! [[model]]
//! name = "claude-*"            # what clients ask for
//! upstreams = ["local", "cloud"]
//! model = "qwen3:8b"           # its name at the upstream
//! rules = { mode = "text", reasoning-tags = ["think"] }
//!
//! [[key]]
//! name = "laptop"
//! env = "GATEWAY_KEY"
//! requests-per-minute = 60
//! ```

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gadgetry_files as files;
use gadgetry_files::toml_text::{self, position};
use gadgetry_proto::error::{Classified, Fault};
use gadgetry_providers::resolve::Api;
use gadgetry_providers::{ApiKey, BaseUrl, HttpConfig, Resolver};
use serde::Deserialize;
use toml::Spanned;

use crate::exchange::{Exchange, ModelRules, RulesPatch};
use crate::settings::{ClientKey, Route, ServerLimits, Settings};
use crate::upstream::{Target, Upstream};

/// Maximum bytes of a file.
const LIMIT: u64 = 4 << 20;

/// The content of a file: settings, and the address to listen on.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// Address to listen on, if the file has one.
    pub listen: Option<SocketAddr>,
}

/// Error for a file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file has a mistake.
    #[error("{path}:{line}:{column}: {problem}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// One-based column, in characters.
        column: usize,
        /// Mistake in the file.
        problem: String,
    },
}

impl Classified for ConfigError {
    fn fault(&self) -> Fault {
        if matches!(self, Self::Read { .. }) {
            Fault::Environment
        } else {
            Fault::Program
        }
    }
}

/// Reads a file. Keys and addresses of providers come from `resolver`; `patch` takes precedence over the file's rules for all
/// models.
///
/// # Errors
///
/// At the first mistake, with its line and column.
pub fn load(path: &Path, resolver: &Resolver, patch: &RulesPatch) -> Result<Config, ConfigError> {
    let read = |error| ConfigError::Read {
        path: path.to_owned(),
        error,
    };
    let text = files::text(path, LIMIT).map_err(read)?;
    parse(&text, resolver, patch).map_err(|mistake| {
        let (line, column) = position(&text, mistake.at);
        ConfigError::Invalid {
            path: path.to_owned(),
            line,
            column,
            problem: mistake.problem,
        }
    })
}

type Mistake = toml_text::Mistake<String>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ConfigFile {
    listen: Option<Spanned<String>>,
    #[serde(default)]
    log_prompts: bool,
    #[serde(default)]
    rules: Option<Spanned<RulesPatch>>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default)]
    upstream: Vec<Spanned<UpstreamTable>>,
    #[serde(default)]
    model: Vec<Spanned<ModelTable>>,
    #[serde(default)]
    key: Vec<Spanned<KeyTable>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct LimitsTable {
    body_bytes: Option<usize>,
    reply_bytes: Option<usize>,
    body_seconds: Option<u64>,
    header_seconds: Option<u64>,
    requests: Option<usize>,
    connections: Option<usize>,
    drain_seconds: Option<u64>,
    keep_alive_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct UpstreamTable {
    name: String,
    url: Option<String>,
    model: Option<Spanned<String>>,
    #[serde(default)]
    api: Option<Api>,
    key_env: Option<Spanned<String>>,
    idle_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ModelTable {
    name: String,
    #[serde(default)]
    upstreams: Vec<Spanned<String>>,
    model: Option<String>,
    rules: Option<Spanned<RulesPatch>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KeyTable {
    name: String,
    env: Option<Spanned<String>>,
    sha256: Option<Spanned<String>>,
    concurrent_requests: Option<usize>,
    requests_per_minute: Option<u32>,
}

fn parse(text: &str, resolver: &Resolver, patch: &RulesPatch) -> Result<Config, Mistake> {
    let file: ConfigFile = toml_text::parse(text)?;
    let listen = file.listen.map(|it| {
        let parsed = it.get_ref().parse();
        parsed.map_err(|_| {
            Mistake::new(
                &it.span(),
                format!(
                    "{:?} is not an address such as 127.0.0.1:8787",
                    it.get_ref()
                ),
            )
        })
    });
    let rules = patch.over(&checked(file.rules.as_ref(), patch)?);
    let mut upstreams: Vec<Arc<Upstream>> = Vec::new();
    for table in &file.upstream {
        let made = upstream(table, resolver)?;
        if upstreams.iter().any(|it| it.name() == made.name()) {
            return Err(Mistake::new(
                &table.span(),
                format!("two upstreams are named {:?}", made.name()),
            ));
        }
        upstreams.push(Arc::new(made));
    }
    if upstreams.is_empty() {
        return Err(Mistake {
            at: 0,
            problem: "there is no [[upstream]]; add one with a url or a model".to_owned(),
        });
    }
    let mut routes = Vec::new();
    for table in &file.model {
        routes.push(route(table, &upstreams, &rules)?);
    }
    let keys = file.key.iter().map(|table| key(table, resolver));
    Ok(Config {
        settings: Settings {
            upstreams,
            routes,
            rules,
            models: BTreeMap::new(),
            keys: keys.collect::<Result<_, _>>()?,
            limits: limits(&file.limits),
            log_prompts: file.log_prompts,
        },
        listen: listen.transpose()?,
    })
}

/// Returns a table of rules, checked together with the rules that it does not set.
fn checked(
    patch: Option<&Spanned<RulesPatch>>,
    weaker: &RulesPatch,
) -> Result<RulesPatch, Mistake> {
    let Some(patch) = patch else {
        return Ok(RulesPatch::default());
    };
    let rules = patch.get_ref();
    match Exchange::check(&rules.over(weaker).applied_to(&ModelRules::default())) {
        Ok(()) => Ok(rules.clone()),
        Err(error) => Err(Mistake::new(&patch.span(), error.to_string())),
    }
}

fn upstream(table: &Spanned<UpstreamTable>, resolver: &Resolver) -> Result<Upstream, Mistake> {
    let span = table.span();
    let table = table.get_ref();
    let key = table.key_env.as_ref().map(|variable| {
        let found = resolver.variable(variable.get_ref()).map(ApiKey::new);
        found.ok_or_else(|| {
            Mistake::new(
                &variable.span(),
                format!("the variable {} is not set", variable.get_ref()),
            )
        })
    });
    let key = key.transpose()?;
    let target = match (&table.url, &table.model) {
        (Some(url), None) => Target::Server {
            url: BaseUrl::new(url),
            api: table.api.unwrap_or(Api::Chat),
            key,
        },
        (None, Some(model)) => Target::Model {
            name: model.get_ref().clone(),
            key,
            resolver: Box::new(resolver.clone()),
        },
        _ => {
            return Err(Mistake::new(
                &span,
                "an upstream has either a url or a model",
            ));
        }
    };
    let mut http = HttpConfig::new().proxy_from_environment(true);
    if let Some(seconds) = table.idle_seconds {
        http = http.idle_timeout(Duration::from_secs(seconds));
    }
    let at = table.model.as_ref().map_or(span, Spanned::span);
    Upstream::new(&table.name, target, http).map_err(|error| Mistake::new(&at, error.to_string()))
}

fn route(
    table: &Spanned<ModelTable>,
    upstreams: &[Arc<Upstream>],
    weaker: &RulesPatch,
) -> Result<Route, Mistake> {
    let table = table.get_ref();
    let mut own = Vec::new();
    for name in &table.upstreams {
        let found = upstreams.iter().find(|it| it.name() == name.get_ref());
        let missing = || {
            Mistake::new(
                &name.span(),
                format!("there is no upstream named {:?}", name.get_ref()),
            )
        };
        own.push(Arc::clone(found.ok_or_else(missing)?));
    }
    if own.is_empty() {
        own = upstreams.to_vec();
    }
    Ok(Route {
        name: table.name.clone(),
        upstreams: own,
        model: table.model.clone(),
        rules: checked(table.rules.as_ref(), weaker)?,
    })
}

fn key(table: &Spanned<KeyTable>, resolver: &Resolver) -> Result<ClientKey, Mistake> {
    let span = table.span();
    let table = table.get_ref();
    let mut key = match (&table.env, &table.sha256) {
        (Some(variable), None) => {
            let found = resolver.variable(variable.get_ref());
            let missing = || {
                Mistake::new(
                    &variable.span(),
                    format!("the variable {} is not set", variable.get_ref()),
                )
            };
            ClientKey::new(&table.name, found.ok_or_else(missing)?)
        }
        (None, Some(hash)) => {
            let bytes = bytes(hash.get_ref());
            let wrong = || Mistake::new(&hash.span(), "sha256 is not 64 hexadecimal digits");
            ClientKey::hashed(&table.name, bytes.ok_or_else(wrong)?)
        }
        _ => {
            return Err(Mistake::new(
                &span,
                "a key has either env, the name of a variable, or sha256",
            ));
        }
    };
    key.max_concurrent = table.concurrent_requests;
    key.per_minute = table.requests_per_minute;
    Ok(key)
}

/// Parses the bytes of a hash from hexadecimal digits.
fn bytes(hash: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = hash.as_bytes();
    if digits.len() != 64 || !hash.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

fn limits(written: &LimitsTable) -> ServerLimits {
    let default = ServerLimits::default();
    let seconds = |written: Option<u64>, default| written.map_or(default, Duration::from_secs);
    ServerLimits {
        body_bytes: written.body_bytes.unwrap_or(default.body_bytes),
        reply_bytes: written.reply_bytes.unwrap_or(default.reply_bytes),
        body_timeout: seconds(written.body_seconds, default.body_timeout),
        header_timeout: seconds(written.header_seconds, default.header_timeout),
        requests: written.requests.unwrap_or(default.requests),
        connections: written.connections.unwrap_or(default.connections),
        drain: seconds(written.drain_seconds, default.drain),
        keep_alive: seconds(written.keep_alive_seconds, default.keep_alive),
    }
}

/// Reads keys from a file, as [`read_keys`] does.
///
/// # Errors
///
/// If the file cannot be read, or a line has more than two words.
pub fn load_keys(path: &Path) -> Result<Vec<ClientKey>, ConfigError> {
    let keys = read_keys(path)?.into_iter();
    Ok(keys.map(|(name, key)| ClientKey::new(name, &key)).collect())
}

/// Reads names and keys from a file: one key per line, after its name if there are two words. `#` begins a comment.
///
/// # Errors
///
/// If the file cannot be read, or a line has more than two words.
pub fn read_keys(path: &Path) -> Result<Vec<(String, String)>, ConfigError> {
    let text = files::text(path, LIMIT).map_err(|error| ConfigError::Read {
        path: path.to_owned(),
        error,
    })?;
    let mut keys = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [key] => keys.push((format!("key-{}", number + 1), (*key).to_owned())),
            [name, key] => keys.push(((*name).to_owned(), (*key).to_owned())),
            _ => {
                return Err(ConfigError::Invalid {
                    path: path.to_owned(),
                    line: number + 1,
                    column: 1,
                    problem: "a line has one key, or a name and a key".to_owned(),
                });
            }
        }
    }
    Ok(keys)
}
