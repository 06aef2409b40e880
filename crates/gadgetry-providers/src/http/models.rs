//! The models that a server lists.

use std::time::Duration;

use gadgetry_proto::error::ModelErrorKind;
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;

use super::Http;
use super::small::Small;
use crate::base_url::BaseUrl;
use crate::error::ProviderError;
use crate::secret::ApiKey;

impl Http {
    /// The names of the models that a server lists below its base URL, within 10 seconds.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, refuses the key, or lists none.
    ///
    /// Cancel safety: dropping the future closes the connection.
    pub async fn models(
        &self,
        base_url: &BaseUrl,
        key: Option<&ApiKey>,
    ) -> Result<Vec<String>, ProviderError> {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let key = key.map(ApiKey::expose);
        let listed = of(self, base_url.expose(), key, TIMEOUT).await;
        let missing = || ProviderError::new(ModelErrorKind::Other, "the server lists no models");
        let refused = || {
            let message = "the server refuses the key";
            ProviderError::new(ModelErrorKind::Authentication, message)
        };
        listed.ok_or_else(missing)?.ok_or_else(refused)
    }
}

/// Bytes of the name of a model at most.
const LONGEST_NAME: usize = 512;

/// Returns whether a text can be the name of a model, which users type and read.
fn is_name(text: &str) -> bool {
    // A server may name a model by the path of its file, so it may contain blanks.
    !text.trim().is_empty() && text.len() <= LONGEST_NAME && !text.contains(char::is_control)
}

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
    Some(Some(
        names.filter(|it| is_name(it)).map(str::to_owned).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_typed_and_read() {
        let check = |text: &str, expected: bool| assert_eq!(is_name(text), expected, "{text:?}");
        check("qwen3:8b", true);
        check("/home/me/My models/a.gguf", true);
        check(" ", false);
        check("a\u{1b}[2J", false);
        check("a\nb", false);
        check(&"a".repeat(LONGEST_NAME + 1), false);
    }
}
