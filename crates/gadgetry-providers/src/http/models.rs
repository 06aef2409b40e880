//! The models that a server lists.

use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use super::Http;
use super::small::Small;

/// The models of a server; `Some(None)` if it refuses the key, `None` if it is not a model server.
pub(crate) async fn of(
    http: &Http,
    base_url: &str,
    key: Option<&str>,
    timeout: Duration,
) -> Option<Option<Vec<String>>> {
    let mut url = Url::parse(base_url.trim()).ok()?;
    let path = format!("{}/models", url.path().trim_end_matches('/'));
    url.set_path(&path);
    let question = Small {
        method: Method::GET,
        url,
        key,
        body: None,
        timeout,
    };
    let (status, answer) = http.small(question).await?;
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Some(None);
    }
    if !status.is_success() {
        return None;
    }
    let models = match answer.get("data")? {
        Value::Array(models) => models.as_slice(),
        // Ollama without any model.
        Value::Null => &[],
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => return None,
    };
    let names = models.iter().filter_map(|model| model.get("id")?.as_str());
    Some(Some(names.map(str::to_owned).collect()))
}
