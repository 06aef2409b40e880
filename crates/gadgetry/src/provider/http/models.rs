//! The models that a server lists.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

/// The models of a server; `Some(None)` if it refuses the key, `None` if it is not a model server.
pub(in crate::provider) async fn of(
    client: &reqwest::Client,
    base_url: &str,
    key: Option<&str>,
    timeout: Duration,
) -> Option<Option<Vec<String>>> {
    let url = format!("{}/models", base_url.trim_end_matches('/'));
    let mut request = client.get(url).timeout(timeout);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let answer = request.send().await.ok()?;
    if matches!(
        answer.status(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    ) {
        return Some(None);
    }
    let answer = answer.error_for_status().ok()?.bytes().await.ok()?;
    let answer: Value = serde_json::from_slice(&answer).ok()?;
    let models = match answer.get("data")? {
        Value::Array(models) => models.as_slice(),
        // Ollama without any model.
        Value::Null => &[],
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => return None,
    };
    let names = models.iter().filter_map(|model| model.get("id")?.as_str());
    Some(Some(names.map(str::to_owned).collect()))
}
