//! The names of attributes, from the conventions for generative AI (`open-telemetry/semantic-conventions-genai`, v0.1.0), and our own
//! for what those lack. All are here, because the conventions still change.

use opentelemetry::Key;

macro_rules! names {
    ($($(#[$docs:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$docs])* pub const $name: Key = Key::from_static_str($value);)*

        /// The names of the conventions that this crate uses.
        pub const CONVENTIONAL: &[&str] = &[$($value),*];
    };
}

names! {
    /// The kind of the operation: `invoke_agent`, `chat` or `execute_tool`.
    OPERATION = "gen_ai.operation.name";
    /// The provider, in the words of the conventions: a server with the API of OpenAI is `openai`.
    PROVIDER = "gen_ai.provider.name";
    /// The model of the request.
    REQUEST_MODEL = "gen_ai.request.model";
    /// Always `true`: replies are read while they stream.
    REQUEST_STREAM = "gen_ai.request.stream";
    /// The name of the agent.
    AGENT_NAME = "gen_ai.agent.name";
    /// The conversation that the run belongs to.
    CONVERSATION = "gen_ai.conversation.id";
    /// The reasons the model stopped; a list with one text.
    FINISH_REASONS = "gen_ai.response.finish_reasons";
    /// Seconds from the request to the first piece of the reply.
    TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk";
    /// Tokens of the request, cached ones included.
    INPUT_TOKENS = "gen_ai.usage.input_tokens";
    /// Tokens of the reply.
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    /// Tokens of the request that were read from a cache.
    CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens";
    /// Tokens of the request that were written to a cache.
    CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens";
    /// Tokens of the reply that were reasoning.
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens";
    /// The name of the gadget.
    TOOL_NAME = "gen_ai.tool.name";
    /// The id of the call, as the model wrote it.
    TOOL_CALL_ID = "gen_ai.tool.call.id";
    /// Always `function`.
    TOOL_TYPE = "gen_ai.tool.type";
    /// Content: the parameters of a call, as JSON.
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments";
    /// Content: the result of a call, or its error.
    TOOL_RESULT = "gen_ai.tool.call.result";
    /// Content: the messages of a request, as JSON.
    INPUT_MESSAGES = "gen_ai.input.messages";
    /// Content: the reply, as JSON.
    OUTPUT_MESSAGES = "gen_ai.output.messages";
    /// Content: the system messages of a request, as JSON.
    SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions";
}

/// The kind of an error, from a short list. A general name of OpenTelemetry.
pub const ERROR_TYPE: Key = Key::from_static_str("error.type");

/// The method of an HTTP request. A general name of OpenTelemetry.
pub const HTTP_METHOD: Key = Key::from_static_str("http.request.method");
/// The path of an HTTP request. A general name of OpenTelemetry.
pub const HTTP_ROUTE: Key = Key::from_static_str("http.route");
/// The status of an HTTP response. A general name of OpenTelemetry.
pub const HTTP_STATUS: Key = Key::from_static_str("http.response.status_code");

/// The name of the server to which a gateway has sent a request.
pub const UPSTREAM: Key = Key::from_static_str("gadgetry.upstream");
/// The number of tool calls in the answer of a gateway.
pub const CALLS: Key = Key::from_static_str("gadgetry.calls");
/// The number of requests in which a model corrected its calls.
pub const REPAIRS: Key = Key::from_static_str("gadgetry.repairs");
/// The id of the run.
pub const RUN: Key = Key::from_static_str("gadgetry.run.id");
/// The reason the run ended, as in its last event.
pub const FINISH_REASON: Key = Key::from_static_str("gadgetry.finish_reason");
/// The number of replies of the run, or that of a reply in it.
pub const ITERATION: Key = Key::from_static_str("gadgetry.iteration");
/// US dollars: of a run with all of its parts, of a reply, or of a gadget without its subagents.
pub const COST: Key = Key::from_static_str("gadgetry.cost_usd");
/// The number of a call in its run.
pub const CALL: Key = Key::from_static_str("gadgetry.call");
/// The dependency because of which a call was not executed, or the name of a limit.
pub const SKIPPED_BECAUSE: Key = Key::from_static_str("gadgetry.skipped_because");
/// Purpose of a model call, if not a reply.
pub const PURPOSE: Key = Key::from_static_str("gadgetry.purpose");
/// `true` for spans that were made from a saved log.
pub const REPLAY: Key = Key::from_static_str("gadgetry.replay");
/// A delay in seconds.
pub const DELAY: Key = Key::from_static_str("gadgetry.delay");
/// `true` if token counts are estimates.
pub const ESTIMATED: Key = Key::from_static_str("gadgetry.usage.estimated");

/// The provider and the model of a run's model, as the conventions name them.
///
/// ```
/// use gadgetry_otel::names::provider_and_model;
/// assert_eq!(provider_and_model("anthropic:claude-haiku-4-5"), ("anthropic", "claude-haiku-4-5"));
/// assert_eq!(provider_and_model("ollama:llama3.2"), ("openai", "llama3.2"));
/// assert_eq!(provider_and_model("qwen3:4b"), ("openai", "qwen3:4b"));
/// ```
pub fn provider_and_model(name: &str) -> (&'static str, &str) {
    let Some((prefix, model)) = name.split_once(':') else {
        return (OPENAI, name);
    };
    let provider = match prefix {
        "anthropic" => "anthropic",
        "azure" => "azure.ai.openai",
        "cohere" => "cohere",
        "deepseek" => "deepseek",
        "gemini" => "gcp.gemini",
        "groq" => "groq",
        "mistral" => "mistral_ai",
        "moonshot" => "moonshot_ai",
        "perplexity" => "perplexity",
        "xai" => "x_ai",
        "script" => "gadgetry",
        "cerebras" | "fireworks" | "github" | "huggingface" | "jan" | "litellm" | "llamacpp"
        | "llamafile" | "lmstudio" | "minimax" | "nvidia" | "ollama" | "openai" | "openrouter"
        | "sglang" | "tgi" | "together" | "vllm" | "zai" => OPENAI,
        _ => return (OPENAI, name),
    };
    (provider, model)
}

/// By rule, also the name of every other server that has the API of OpenAI.
const OPENAI: &str = "openai";
