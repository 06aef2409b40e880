//! Providers and shortcuts: data, as of November 2026.

use Form::{AzureEndpoint, BaseUrl, OllamaHost};

use serde::Deserialize;

use crate::openai::{MaxTokensField, ReasoningField};
use crate::{anthropic, openai};

/// An API that serves models. In files it is `chat`, `responses`, `messages` or `completions`. A new one is a breaking change: who matches it must send
/// requests in its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// OpenAI's Chat Completions, which most servers speak.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// The legacy Completions, for models that only complete text.
    Completions,
}

/// Machine that a provider's models run on, and so who pays for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// On the provider's machines. A key is required.
    Remote,
    /// On the user's machine, free of charge. A key is optional.
    Local,
    /// Elsewhere, behind a gateway on the user's machine, at the price of the model. A key is optional.
    Gateway,
}

/// Notation of an address in a variable of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A base URL.
    BaseUrl,
    /// Notation of Ollama: `host`, `:port`, `http://host/path`.
    OllamaHost,
    /// The endpoint of an Azure resource, without a path.
    AzureEndpoint,
}

/// A provider: its names, its API, its keys and addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// Other names that are accepted before the colon.
    pub(super) aliases: &'static [&'static str],
    pub(super) api: Api,
    pub(super) home: Home,
    /// Empty where each user has an address of their own.
    pub(super) base_url: &'static str,
    /// The variables that may hold the key; the first that is set counts.
    pub(super) keys: &'static [&'static str],
    /// The variables that may hold another address.
    pub(super) addresses: &'static [(&'static str, Form)],
    /// Name in the catalogue of models; empty if the catalogue has none of its models.
    pub(super) catalog: &'static str,
    /// True if the catalogue lists some of its models without the provider's name as a prefix.
    pub(super) bare_ids: bool,
    pub(super) quirks: Quirks,
}

/// Differences of a server from the others that speak Chat Completions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quirks {
    /// The field for the token limit of a reply, unless the name of the model decides.
    pub(super) max_tokens: MaxTokensField,
    /// True if `stream_options` is accepted.
    pub(super) stream_options: bool,
    pub(super) reasoning: ReasoningField,
    /// The header for the key; `authorization: Bearer` if absent.
    pub(super) key_header: Option<&'static str>,
    /// True if the server reports what a request cost.
    pub(super) reports_cost: bool,
    /// True if a model with the name of one of OpenAI's is that one, with OpenAI's rules for it.
    pub(super) openai_models: bool,
}

const COMMON: Quirks = Quirks {
    max_tokens: MaxTokensField::MaxTokens,
    stream_options: true,
    reasoning: ReasoningField::Effort,
    key_header: None,
    reports_cost: false,
    openai_models: false,
};

/// The quirks of an address without a provider's name: most often a gateway.
pub(super) const UNNAMED: Quirks = Quirks {
    openai_models: true,
    ..COMMON
};

impl Provider {
    /// Returns whether the server runs on the user's machine, where a key is optional.
    pub(super) fn is_here(&self) -> bool {
        self.home != Home::Remote
    }

    /// Returns whether `name` is the name or an alias of this provider.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let mut names = self.aliases.iter().chain([&self.name]);
        names.any(|it| it.eq_ignore_ascii_case(name))
    }

    const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn catalog(self, catalog: &'static str) -> Self {
        Self { catalog, ..self }
    }

    const fn bare_ids(self) -> Self {
        let bare_ids = true;
        Self { bare_ids, ..self }
    }

    const fn quirks(self, quirks: Quirks) -> Self {
        Self { quirks, ..self }
    }
}

const fn remote(
    name: &'static str,
    base_url: &'static str,
    keys: &'static [&'static str],
    addresses: &'static [(&'static str, Form)],
) -> Provider {
    Provider {
        name,
        aliases: &[],
        api: Api::Chat,
        home: Home::Remote,
        base_url,
        keys,
        addresses,
        catalog: name,
        bare_ids: false,
        quirks: COMMON,
    }
}

const fn local(
    name: &'static str,
    base_url: &'static str,
    keys: &'static [&'static str],
    addresses: &'static [(&'static str, Form)],
) -> Provider {
    Provider {
        home: Home::Local,
        catalog: "",
        ..remote(name, base_url, keys, addresses)
    }
}

const NEW_TOKEN_FIELD: Quirks = Quirks {
    max_tokens: MaxTokensField::MaxCompletionTokens,
    ..COMMON
};

const OPENAI: Quirks = Quirks {
    openai_models: true,
    ..NEW_TOKEN_FIELD
};

const OPENROUTER: Quirks = Quirks {
    reasoning: ReasoningField::Nested,
    reports_cost: true,
    ..COMMON
};

const AZURE: Quirks = Quirks {
    key_header: Some("api-key"),
    ..OPENAI
};

const NO_STREAM_OPTIONS: Quirks = Quirks {
    stream_options: false,
    ..COMMON
};

const fn reasons_by(reasoning: ReasoningField) -> Quirks {
    Quirks {
        reasoning,
        ..COMMON
    }
}

/// In the order in which they are listed, those on the user's machine last.
// One line each, so that the table can be compared with the providers' documentation.
#[rustfmt::skip]
pub(super) const PROVIDERS: &[Provider] = &[
    remote("openai", openai::BASE_URL, &["OPENAI_API_KEY"], &[("OPENAI_BASE_URL", BaseUrl), ("OPENAI_API_BASE", BaseUrl)])
        .bare_ids().quirks(OPENAI),
    Provider {
        api: Api::Messages,
        ..remote("anthropic", anthropic::BASE_URL, &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"], &[("ANTHROPIC_BASE_URL", BaseUrl)])
            .aliases(&["claude"]).bare_ids()
    },
    remote("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], &[("OPENROUTER_BASE_URL", BaseUrl)])
        .catalog("").quirks(OPENROUTER),
    remote("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], &[("GROQ_BASE_URL", BaseUrl)]),
    remote("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", &["GEMINI_API_KEY", "GOOGLE_API_KEY"], &[("GEMINI_BASE_URL", BaseUrl)])
        .aliases(&["google"]).bare_ids(),
    remote("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"], &[("DEEPSEEK_BASE_URL", BaseUrl)])
        .bare_ids().quirks(reasons_by(ReasoningField::SwitchAndEffort)),
    // It answers `stream_options` with 422, and sends the token counts anyway.
    remote("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], &[("MISTRAL_BASE_URL", BaseUrl)]).quirks(NO_STREAM_OPTIONS),
    remote("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], &[("XAI_BASE_URL", BaseUrl)]).aliases(&["grok"]),
    remote("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"], &[("TOGETHER_BASE_URL", BaseUrl)])
        .aliases(&["together_ai"]).catalog("together_ai"),
    remote("fireworks", "https://api.fireworks.ai/inference/v1", &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"], &[("FIREWORKS_BASE_URL", BaseUrl)])
        .aliases(&["fireworks_ai"]).catalog("fireworks_ai"),
    remote("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"], &[("CEREBRAS_BASE_URL", BaseUrl)]).quirks(NEW_TOKEN_FIELD),
    remote("moonshot", "https://api.moonshot.ai/v1", &["MOONSHOT_API_KEY"], &[("MOONSHOT_BASE_URL", BaseUrl)])
        .aliases(&["kimi"]).quirks(reasons_by(ReasoningField::Switch)),
    remote("zai", "https://api.z.ai/api/paas/v4", &["ZAI_API_KEY"], &[("ZAI_BASE_URL", BaseUrl)])
        .aliases(&["z.ai", "glm"]).quirks(reasons_by(ReasoningField::Switch)),
    remote("minimax", "https://api.minimax.io/v1", &["MINIMAX_API_KEY"], &[("MINIMAX_BASE_URL", BaseUrl)]),
    remote("perplexity", "https://api.perplexity.ai", &["PERPLEXITY_API_KEY", "PPLX_API_KEY"], &[("PERPLEXITY_BASE_URL", BaseUrl)]),
    remote("nvidia", "https://integrate.api.nvidia.com/v1", &["NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"], &[("NVIDIA_BASE_URL", BaseUrl)])
        .aliases(&["nvidia_nim", "nim"]).catalog(""),
    remote("huggingface", "https://router.huggingface.co/v1", &["HF_TOKEN", "HUGGINGFACE_API_KEY"], &[("HUGGINGFACE_BASE_URL", BaseUrl)])
        .aliases(&["hf"]).catalog(""),
    remote("github", "https://models.github.ai/inference", &["GITHUB_MODELS_TOKEN", "GITHUB_TOKEN"], &[("GITHUB_MODELS_BASE_URL", BaseUrl)])
        .aliases(&["github_models"]).catalog(""),
    remote("cohere", "https://api.cohere.ai/compatibility/v1", &["COHERE_API_KEY", "CO_API_KEY"], &[("COHERE_BASE_URL", BaseUrl)])
        .bare_ids().quirks(NO_STREAM_OPTIONS),
    remote("azure", "", &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"], &[
        ("AZURE_OPENAI_BASE_URL", BaseUrl), ("AZURE_OPENAI_ENDPOINT", AzureEndpoint), ("AZURE_API_BASE", AzureEndpoint),
    ]).aliases(&["azure_openai"]).quirks(AZURE),
    local("ollama", "http://127.0.0.1:11434/v1", &["OLLAMA_API_KEY"], &[("OLLAMA_BASE_URL", BaseUrl), ("OLLAMA_HOST", OllamaHost)])
        .catalog("ollama"),
    local("lmstudio", "http://127.0.0.1:1234/v1", &["LMSTUDIO_API_KEY", "LM_STUDIO_API_KEY"], &[("LMSTUDIO_BASE_URL", BaseUrl)])
        .aliases(&["lm-studio", "lm_studio"]),
    local("llamacpp", "http://127.0.0.1:8080/v1", &["LLAMACPP_API_KEY", "LLAMA_API_KEY"], &[("LLAMACPP_BASE_URL", BaseUrl)])
        .aliases(&["llama.cpp", "llama-cpp", "llama_cpp"]),
    local("vllm", "http://127.0.0.1:8000/v1", &["VLLM_API_KEY"], &[("VLLM_BASE_URL", BaseUrl)]).aliases(&["hosted_vllm"]),
    local("sglang", "http://127.0.0.1:30000/v1", &["SGLANG_API_KEY"], &[("SGLANG_BASE_URL", BaseUrl)]),
    local("tgi", "http://127.0.0.1:8080/v1", &["TGI_API_KEY"], &[("TGI_BASE_URL", BaseUrl)]).aliases(&["text-generation-inference"]),
    local("jan", "http://127.0.0.1:1337/v1", &["JAN_API_KEY"], &[("JAN_BASE_URL", BaseUrl)]),
    local("llamafile", "http://127.0.0.1:8080/v1", &["LLAMAFILE_API_KEY"], &[("LLAMAFILE_BASE_URL", BaseUrl)]),
    Provider {
        home: Home::Gateway,
        ..local("litellm", "http://127.0.0.1:4000/v1", &["LITELLM_API_KEY", "LITELLM_PROXY_API_KEY"], &[
            ("LITELLM_BASE_URL", BaseUrl), ("LITELLM_PROXY_API_BASE", BaseUrl),
        ]).aliases(&["litellm_proxy"]).quirks(UNNAMED)
    },
];

/// The variables that hold the version of Azure's interface. A date means deployments with addresses of their own.
pub(super) const AZURE_VERSIONS: &[&str] = &[
    "AZURE_OPENAI_API_VERSION",
    "OPENAI_API_VERSION",
    "AZURE_API_VERSION",
];

/// Providers that need another client, and which one.
pub(super) const REPLACEMENTS: &[(&[&str], &str)] = &[
    (
        &["bedrock", "bedrock_api", "bedrock_converse", "aws"],
        "use a LiteLLM proxy (litellm:MODEL), or Bedrock's interface like OpenAI's with --base-url and --api-key-env AWS_BEARER_TOKEN_BEDROCK",
    ),
    (
        &["vertex", "vertex_ai", "vertexai"],
        "use a LiteLLM proxy (litellm:MODEL), or gemini:MODEL with a key of Google AI Studio",
    ),
    (
        &[
            "sagemaker",
            "watsonx",
            "oci",
            "snowflake",
            "databricks",
            "replicate",
        ],
        "use a LiteLLM proxy (litellm:MODEL), or --base-url if it has an interface like OpenAI's",
    ),
];

/// Short names, and the full names that they abbreviate.
pub(super) const SHORTCUTS: &[(&str, &str)] = &[
    ("haiku", "anthropic:claude-haiku-5-5"),
    ("sonnet", "anthropic:claude-sonnet-5-5"),
    ("opus", "anthropic:claude-opus-5-5"),
    ("flash", "gemini:gemini-flash-latest"),
    ("flash-lite", "gemini:gemini-flash-lite-latest"),
    ("pro", "gemini:gemini-pro-latest"),
    ("gpt5", "openai:gpt-5.6"),
    ("gpt5-mini", "openai:gpt-5.4-mini"),
    ("gpt5-nano", "openai:gpt-5.4-nano"),
    ("gpt4o", "openai:gpt-4o"),
    ("gpt4o-mini", "openai:gpt-4o-mini"),
    ("or:haiku", "openrouter:anthropic/claude-haiku-4.5"),
    ("or:sonnet", "openrouter:anthropic/claude-sonnet-4.6"),
    ("or:opus", "openrouter:anthropic/claude-opus-4.6"),
    ("or:flash", "openrouter:google/gemini-2.5-flash"),
    ("or:llama", "openrouter:meta-llama/llama-3.3-70b-instruct"),
    ("or:deepseek", "openrouter:deepseek/deepseek-chat"),
];

/// Prefixes of names that identify the provider.
pub(super) const FAMILIES: &[(&str, &str)] = &[
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("codex-", "openai"),
    ("ft:", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
];

/// A rule of OpenAI for its own models, by name prefix and version.
pub(super) struct Rule {
    /// Prefixes of names that it holds for.
    pub(super) names: &'static [&'static str],
    /// The first version of `gpt-MAJOR.MINOR` that it holds for.
    pub(super) gpt_from: (u32, u32),
    /// Parts of names that it does not hold for.
    pub(super) but: &'static [&'static str],
}

/// Models that refuse `max_tokens`.
pub(super) const NEW_TOKEN_LIMIT: Rule = Rule {
    names: &["o1", "o3", "o4"],
    gpt_from: (5, 0),
    but: &[],
};

/// These reason by default, and take tools through Chat Completions only without reasoning.
pub(super) const NO_THINKING_WITH_TOOLS: Rule = Rule {
    names: &[],
    gpt_from: (5, 4),
    but: &["-chat"],
};
