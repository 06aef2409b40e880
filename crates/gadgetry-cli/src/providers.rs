//! Who serves models, and what the environment says about them.

use std::env;

use gadgetry::provider::ApiKey;

/// How a provider is talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    /// Chat Completions.
    ChatCompletions,
    /// Anthropic's Messages.
    Messages,
}

/// Somebody who serves models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Provider {
    /// In front of the colon of a model's name.
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    /// The environment variable with its key; local servers have none.
    pub(crate) key: Option<&'static str>,
    /// The environment variable with another address than the usual one.
    pub(crate) url: &'static str,
    /// Its usual address.
    pub(crate) usual_url: &'static str,
}

/// All of them; hosted ones first.
pub(crate) const PROVIDERS: [Provider; 8] = [
    hosted(
        "openai",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "https://api.openai.com/v1",
    ),
    Provider {
        api: Api::Messages,
        ..hosted(
            "anthropic",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "https://api.anthropic.com",
        )
    },
    hosted(
        "openrouter",
        "OPENROUTER_API_KEY",
        "OPENROUTER_BASE_URL",
        "https://openrouter.ai/api/v1",
    ),
    hosted(
        "groq",
        "GROQ_API_KEY",
        "GROQ_BASE_URL",
        "https://api.groq.com/openai/v1",
    ),
    local("ollama", "OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1"),
    local("lmstudio", "LMSTUDIO_BASE_URL", "http://127.0.0.1:1234/v1"),
    local("llamacpp", "LLAMACPP_BASE_URL", "http://127.0.0.1:8080/v1"),
    local("vllm", "VLLM_BASE_URL", "http://127.0.0.1:8000/v1"),
];

const fn hosted(
    name: &'static str,
    key: &'static str,
    url: &'static str,
    usual_url: &'static str,
) -> Provider {
    Provider {
        name,
        api: Api::ChatCompletions,
        key: Some(key),
        url,
        usual_url,
    }
}

const fn local(name: &'static str, url: &'static str, usual_url: &'static str) -> Provider {
    Provider {
        name,
        api: Api::ChatCompletions,
        key: None,
        url,
        usual_url,
    }
}

impl Provider {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Whether it runs on the user's machine.
    pub(crate) fn is_local(&self) -> bool {
        self.key.is_none()
    }

    /// Its key, if the environment has one.
    pub(crate) fn api_key(&self) -> Option<ApiKey> {
        variable(self.key?).map(ApiKey::new)
    }

    /// Where it is: as the environment says, or else where it usually is.
    pub(crate) fn base_url(&self) -> String {
        variable(self.url).unwrap_or_else(|| self.usual_url.to_owned())
    }

    /// Whether the environment says where it is.
    pub(crate) fn has_url(&self) -> bool {
        variable(self.url).is_some()
    }
}

/// An environment variable that says something.
fn variable(name: &str) -> Option<String> {
    let value = env::var(name).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
