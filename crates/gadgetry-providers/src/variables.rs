//! The environment variables that hold keys of providers: those of the table of providers, of other providers, and of the
//! providers' own clients. Programs that a model may call are started without them.

/// The names of the variables, sorted.
pub const SECRET: &[&str] = &[
    "AIHUBMIX_API_KEY",
    "ALIYUN_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "API_ROUTE_API_KEY",
    "ATLASCLOUD_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "BAIDU_API_KEY",
    "BEDROCK_API_KEY",
    "BIGMODEL_API_KEY",
    "CEREBRAS_API_KEY",
    "CLOUDGPU_API_KEY",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_AI_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GITHUB_MODELS_TOKEN",
    "GITHUB_TOKEN",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HEABSY_API_KEY",
    "HF_TOKEN",
    "HUGGINGFACE_API_KEY",
    "JAN_API_KEY",
    "KIMI_API_KEY",
    "LITELLM_API_KEY",
    "LITELLM_MASTER_KEY",
    "LITELLM_PROXY_API_KEY",
    "LLAMACPP_API_KEY",
    "LLAMAFILE_API_KEY",
    "LLAMA_API_KEY",
    "LMSTUDIO_API_KEY",
    "LM_STUDIO_API_KEY",
    "MIMO_API_KEY",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NEBIUS_API_KEY",
    "NVIDIA_API_KEY",
    "NVIDIA_NIM_API_KEY",
    "OLLAMA_API_KEY",
    "OMLX_API_KEY",
    "OPENAI_ADMIN_KEY",
    "OPENAI_API_KEY",
    "OPENCODE_GO_API_KEY",
    "OPENROUTER_API_KEY",
    "OPEN_ROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "PPLX_API_KEY",
    "QWEN_CLOUD_API_KEY",
    "REQUESTY_API_KEY",
    "RUNCRATE_API_KEY",
    "SGLANG_API_KEY",
    "TGI_API_KEY",
    "TOGETHERAI_API_KEY",
    "TOGETHER_API_KEY",
    "VERTEX_API_KEY",
    "VLLM_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
];

/// Returns whether a variable of this name holds a secret: one of [`SECRET`], or one whose name says so (`…_KEY`, `…_TOKEN`, `…SECRET…`,
/// `…PASSWORD…`, `…CREDENTIAL…`), in upper or lower case.
///
/// ```
/// use gadgetry_providers::variables::is_secret;
/// assert!(is_secret("DB_PASSWORD"));
/// assert!(!is_secret("KEYBOARD"));
/// ```
pub fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let parts = ["SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE_KEY"];
    let ends = ["_KEY", "_TOKEN", "_PAT", "APIKEY", "_AUTH"];
    SECRET.contains(&upper.as_str())
        || parts.iter().any(|part| upper.contains(part))
        || ends.iter().any(|end| upper.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::{SECRET, is_secret};

    #[test]
    fn secrets_are_known_by_their_names() {
        let check = |name: &str, expected: bool| assert_eq!(is_secret(name), expected, "{name}");
        check("OPENAI_API_KEY", true);
        check("HF_TOKEN", true);
        check("aws_secret_access_key", true);
        check("DB_PASSWORD", true);
        check("GOOGLE_APPLICATION_CREDENTIALS", true);
        check("PATH", false);
        check("HOME", false);
        check("KEYBOARD", false);
        check("TOKENIZERS_PARALLELISM", false);
    }

    #[test]
    fn sorted_and_once_each() {
        assert!(SECRET.is_sorted_by(|one, next| one < next), "{SECRET:?}");
    }

    #[cfg(feature = "http")]
    #[test]
    fn every_key_of_the_table_is_one() {
        let all = crate::Resolver::key_variables();
        for variable in all.flat_map(|(_, variables)| variables) {
            assert!(SECRET.contains(variable), "{variable}");
        }
    }
}
