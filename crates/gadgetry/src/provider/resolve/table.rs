//! Providers and shortcuts: data, as of November 2026.

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

/// Where a provider is, and what it wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    pub(super) api: Api,
    pub(super) base_url: &'static str,
    /// The variables that may hold the key, the first that is set counts; none for what runs on this machine.
    pub(super) keys: &'static [&'static str],
    /// The variables that may hold another base URL.
    pub(super) base_urls: &'static [&'static str],
}

impl Provider {
    pub(super) fn is_local(&self) -> bool {
        self.keys.is_empty()
    }
}

/// In the order in which they are listed, those on this machine last.
pub(super) const PROVIDERS: &[Provider] = &[
    Provider {
        name: "openai",
        api: Api::OpenAi,
        base_url: crate::provider::openai::BASE_URL,
        keys: &["OPENAI_API_KEY"],
        base_urls: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    },
    Provider {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: crate::provider::anthropic::BASE_URL,
        keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        base_urls: &["ANTHROPIC_BASE_URL"],
    },
    Provider {
        name: "openrouter",
        api: Api::OpenAi,
        base_url: "https://openrouter.ai/api/v1",
        keys: &["OPENROUTER_API_KEY"],
        base_urls: &["OPENROUTER_BASE_URL"],
    },
    Provider {
        name: "groq",
        api: Api::OpenAi,
        base_url: "https://api.groq.com/openai/v1",
        keys: &["GROQ_API_KEY"],
        base_urls: &["GROQ_BASE_URL"],
    },
    // Google's own interface is spoken through the feature `genai`; this is the one like OpenAI's.
    Provider {
        name: "gemini",
        api: Api::OpenAi,
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_urls: &["GEMINI_BASE_URL"],
    },
    Provider {
        name: "ollama",
        api: Api::OpenAi,
        base_url: "http://127.0.0.1:11434/v1",
        keys: &[],
        base_urls: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
    },
    Provider {
        name: "lmstudio",
        api: Api::OpenAi,
        base_url: "http://127.0.0.1:1234/v1",
        keys: &[],
        base_urls: &["LMSTUDIO_BASE_URL"],
    },
    Provider {
        name: "llamacpp",
        api: Api::OpenAi,
        base_url: "http://127.0.0.1:8080/v1",
        keys: &[],
        base_urls: &["LLAMACPP_BASE_URL"],
    },
    Provider {
        name: "vllm",
        api: Api::OpenAi,
        base_url: "http://127.0.0.1:8000/v1",
        keys: &[],
        base_urls: &["VLLM_BASE_URL"],
    },
];

/// Short names, and what they stand for.
pub(super) const SHORTCUTS: &[(&str, &str)] = &[
    ("haiku", "anthropic:claude-haiku-5-5"),
    ("sonnet", "anthropic:claude-sonnet-5-5"),
    ("opus", "anthropic:claude-opus-5-5"),
    ("flash", "gemini:gemini-flash-latest"),
    ("flash-lite", "gemini:gemini-flash-lite-latest"),
    ("pro", "gemini:gemini-pro-latest"),
    ("gpt4o", "openai:gpt-4o"),
    ("gpt4o-mini", "openai:gpt-4o-mini"),
    ("gpt5", "openai:gpt-5.6"),
    ("gpt5-mini", "openai:gpt-5.4-mini"),
    ("gpt5-nano", "openai:gpt-5.4-nano"),
    ("gpt5-codex", "openai:gpt-5.3-codex"),
    ("or:haiku", "openrouter:anthropic/claude-haiku-4.5"),
    ("or:sonnet", "openrouter:anthropic/claude-sonnet-4.6"),
    ("or:opus", "openrouter:anthropic/claude-opus-4.6"),
    ("or:flash", "openrouter:google/gemini-2.5-flash"),
    ("or:llama", "openrouter:meta-llama/llama-3.3-70b-instruct"),
    ("or:deepseek", "openrouter:deepseek/deepseek-chat"),
];

/// Beginnings of names that tell the provider.
pub(super) const FAMILIES: &[(&str, &str)] = &[
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
];
