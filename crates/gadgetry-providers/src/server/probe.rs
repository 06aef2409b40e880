//! The requests of recognition.

use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};

use super::read::{self, Answers};
use super::{ServerFacts, ServerKind};
use crate::base_url::BaseUrl;
use crate::http::Http;
use crate::http::small::Small;
use crate::secret::ApiKey;

/// Timeout of each of two rounds of requests.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Models of Ollama that are looked up.
const SHOWN: usize = 64;

/// The base URL, and its paths.
#[derive(Clone, Copy)]
struct Probe<'p> {
    http: &'p Http,
    base: &'p Url,
    key: Option<&'p str>,
}

/// Recognises the server at a base URL. With a model, Ollama, which has a request for each model, gets that of this one only.
///
/// The key goes to the base URL's origin only, and the user must have named that: call this for no other address.
///
/// Cancel safety: dropping the future closes the connections.
pub async fn recognise(
    http: &Http,
    base_url: &BaseUrl,
    key: Option<&ApiKey>,
    model: Option<&str>,
) -> ServerFacts {
    let Ok(base) = Url::parse(base_url.expose().trim()) else {
        return ServerFacts::default();
    };
    if !matches!(base.scheme(), "http" | "https") {
        return ServerFacts::default();
    }
    let probe = Probe {
        http,
        base: &base,
        key: key.map(ApiKey::expose),
    };
    // In the order of the fields of `Answers`.
    let root = [
        "props",
        "version",
        "get_server_info",
        "server_info",
        "api/version",
        "api/v0/models",
        "info",
    ];
    let (listed, others) = join(
        probe.get("models", true),
        join_all(root.map(|path| probe.get(path, false))),
    )
    .await;
    let refuses_key = matches!(
        listed,
        Some((StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _))
    );
    let body = |answer: Option<(StatusCode, Value)>| {
        let (status, body) = answer?;
        status.is_success().then_some(body).filter(Value::is_object)
    };
    let mut others = others.into_iter().map(body);
    let mut next = || others.next().flatten();
    let answers = Answers {
        models: body(listed).unwrap_or_default(),
        props: next().unwrap_or_default(),
        version: next().unwrap_or_default(),
        server_infos: [next(), next()].into_iter().flatten().collect(),
        ollama_version: next().unwrap_or_default(),
        lm_studio_models: next().unwrap_or_default(),
        info: next().unwrap_or_default(),
    };
    let mut facts = read::facts(&answers);
    facts.refuses_key = refuses_key;
    if facts.kind == ServerKind::Ollama {
        probe.ask_ollama(&mut facts, model).await;
    }
    if facts.kind == ServerKind::Vllm {
        probe.ask_vllm(&mut facts, model).await;
    }
    facts
}

impl Probe<'_> {
    async fn get(&self, path: &str, is_in_api: bool) -> Option<(StatusCode, Value)> {
        self.send(Method::GET, path, is_in_api, None).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        is_in_api: bool,
        body: Option<Value>,
    ) -> Option<(StatusCode, Value)> {
        let question = Small {
            method,
            url: url(self.base, path, is_in_api),
            key: self.key,
            body,
            timeout: TIMEOUT,
        };
        self.http.small(question).await
    }

    /// Adds whether vLLM has a chat template for each model. It makes tokens of a message, and writes nothing.
    async fn ask_vllm(&self, facts: &mut ServerFacts, model: Option<&str>) {
        let tokens = |name: String| async move {
            let body = json!({ "model": name, "messages": [{ "role": "user", "content": "Hi" }] });
            let answer = self.send(Method::POST, "tokenize", false, Some(body)).await;
            (name, answer)
        };
        let names = wanted(facts, model);
        for (name, answer) in join_all(names.into_iter().map(tokens)).await {
            let (Some((status, body)), Some(facts)) =
                (answer, facts.models.iter_mut().find(|it| it.name == name))
            else {
                continue;
            };
            facts.has_chat_template = read::vllm_template(status.is_success(), &body);
        }
    }

    /// Adds what Ollama says about each model.
    async fn ask_ollama(&self, facts: &mut ServerFacts, model: Option<&str>) {
        let names = wanted(facts, model);
        let show = |name: String| async move {
            let body = json!({ "model": name });
            let answer = self.send(Method::POST, "api/show", false, Some(body)).await;
            (name, answer)
        };
        let (loaded, shown) = join(
            self.get("api/ps", false),
            join_all(names.into_iter().map(show)),
        )
        .await;
        let loaded = loaded.map(|(_, body)| body).unwrap_or_default();
        for (name, answer) in shown {
            let (Some((status, body)), Some(facts)) =
                (answer, facts.models.iter_mut().find(|it| it.name == name))
            else {
                continue;
            };
            if status.is_success() {
                read::ollama_model(facts, &body, &loaded);
            }
        }
    }
}

/// The models that are looked up: the named one, or those that there are.
fn wanted(facts: &ServerFacts, model: Option<&str>) -> Vec<String> {
    let wanted = model.and_then(|name| facts.model(name));
    let is_wanted = |name: &str| wanted.is_none_or(|it| it.name == name);
    let names = facts.models.iter().map(|it| it.name.clone());
    names.filter(|it| is_wanted(it)).take(SHOWN).collect()
}

/// A path next to the API's, or in it: `https://host/a/v1` has `https://host/a/props` and `https://host/a/v1/models`. User,
/// password and query are the base URL's.
fn url(base: &Url, path: &str, is_in_api: bool) -> Url {
    let mut url = base.clone();
    let own = base.path().trim_end_matches('/');
    let root = match own.strip_suffix("/v1") {
        Some(root) if !is_in_api => root,
        // Base URLs of Anthropic's API end before the version.
        None if is_in_api && own.is_empty() => "/v1",
        _ => own,
    };
    url.set_path(&format!("{root}/{path}"));
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_next_to_the_api() {
        for (base, props, models) in [
            ("http://h:1/v1", "http://h:1/props", "http://h:1/v1/models"),
            ("http://h/v1/", "http://h/props", "http://h/v1/models"),
            ("http://h", "http://h/props", "http://h/v1/models"),
            (
                "https://u:p@h/a/v1?key=k#x",
                "https://u:p@h/a/props?key=k",
                "https://u:p@h/a/v1/models?key=k",
            ),
            ("http://h/api", "http://h/api/props", "http://h/api/models"),
        ] {
            let base: Url = base.parse().expect("a URL");
            assert_eq!(url(&base, "props", false).as_str(), props);
            assert_eq!(url(&base, "models", true).as_str(), models);
        }
    }
}
