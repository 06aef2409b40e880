//! Options of `gadgetry serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gadgetry::proto::call_form::CallForm;
use gadgetry::proto::dialect::Dialects;
use gadgetry_gateway::exchange::{Constrain, MarkerStyle, ToolMode};

/// Options of `gadgetry serve`.
#[derive(Debug, Args)]
#[command(after_help = CLIENTS)]
pub(crate) struct ServeArgs {
    /// Destination of requests: a server's URL up to /v1, or a model as PROVIDER:NAME
    #[arg(long, value_name = "URL|MODEL", conflicts_with = "config")]
    pub(crate) upstream: Option<String>,

    /// API of the upstream, if it is a URL
    #[arg(long, value_name = "API", default_value = "chat")]
    pub(crate) upstream_api: UpstreamApi,

    /// Environment variable with the key of the upstream [default: the provider's own; none for a URL]
    #[arg(long, value_name = "VAR")]
    pub(crate) upstream_key_env: Option<String>,

    /// Address to listen on; port 0 takes a free one. Addresses other than this machine's own need keys [default:
    /// 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,

    /// File of client keys, one per line, each optionally after a name
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,

    /// TOML file with several upstreams, models, keys and limits; reloaded on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Form of tool calls: `text` blocks, `native` calls, or `auto` to probe each model [default: text]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeKind>,

    /// Markers of blocks: `nonce` for a secret per conversation, or `plain` for weak models [default: nonce]
    #[arg(long, value_name = "KIND")]
    pub(crate) markers: Option<GatewayMarkers>,

    /// Other forms of calls to accept in a model's text, separated by commas; `none` for none [default:
    /// hermes,qwen-coder,mistral,llama,anthropic,fenced-json]
    #[arg(long, value_name = "LIST")]
    pub(crate) dialects: Option<Dialects>,

    /// Maximum number of times a model may correct the calls of a reply [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) repairs: Option<u32>,

    /// Send dependent calls to the client once the results that they need arrive, without another request to the
    /// model
    #[arg(long)]
    pub(crate) run_dependencies: bool,

    /// Form of calls in a model's text: `block` or `json` [default: json if the server reports a small model,
    /// otherwise block]
    #[arg(long, value_name = "FORM")]
    pub(crate) form: Option<CallForm>,

    /// Worked turns before a conversation, at most 2 [default: 2 if the server reports a small model, otherwise 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(super::numbers::WORKED_TURNS))]
    pub(crate) examples: Option<u8>,

    /// Constrain replies to valid calls with a grammar, sent as this server reads it; `auto` recognises the server
    /// [default: auto]
    #[arg(long, value_name = "SERVER")]
    pub(crate) constrain: Option<GrammarForm>,

    /// With -v, also log prompts and replies, which are never logged otherwise
    #[arg(long)]
    pub(crate) log_prompts: bool,

    /// Do not print the address to stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const CLIENTS: &str = "\
Clients, with the gateway at 127.0.0.1:8787 (docs/guide/gateway.md has more):
  Claude Code      ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ANTHROPIC_AUTH_TOKEN=any ANTHROPIC_MODEL=NAME \\
                     claude --permission-mode acceptEdits
  Codex            codex -m NAME -c model_provider=gadgetry -c model_providers.gadgetry.name=gadgetry \\
                     -c model_providers.gadgetry.base_url=http://127.0.0.1:8787/v1
  OpenAI SDKs      OPENAI_BASE_URL=http://127.0.0.1:8787/v1 OPENAI_API_KEY=any
  Anthropic SDKs   ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ANTHROPIC_API_KEY=any
  AI SDK           createOpenAICompatible({ name: 'gadgetry', baseURL: 'http://127.0.0.1:8787/v1' })";

/// The API of an upstream.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UpstreamApi {
    /// Chat Completions
    Chat,
    /// OpenAI's Responses
    Responses,
    /// Anthropic's Messages
    Messages,
    /// The legacy Completions, for models that only complete text
    Completions,
}

/// Form of tool calls.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModeKind {
    /// By blocks in their text
    Text,
    /// Through the upstream's own interface
    Native,
    /// As a probe at the first request shows
    Auto,
}

/// The markers of blocks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GatewayMarkers {
    /// With a secret in them
    Nonce,
    /// Markers of the specification
    Plain,
}

/// Form in which a grammar is sent.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GrammarForm {
    /// As the server takes it, if it is recognised
    Auto,
    /// No grammar is sent
    Off,
    /// As the field `grammar`
    LlamaCpp,
    /// As the field `structured_outputs`
    Vllm,
    /// As the field `ebnf`
    Sglang,
}

impl From<ModeKind> for ToolMode {
    fn from(mode: ModeKind) -> Self {
        match mode {
            ModeKind::Text => Self::Text,
            ModeKind::Native => Self::Native,
            ModeKind::Auto => Self::Auto,
        }
    }
}

impl From<GatewayMarkers> for MarkerStyle {
    fn from(markers: GatewayMarkers) -> Self {
        match markers {
            GatewayMarkers::Nonce => Self::Nonce,
            GatewayMarkers::Plain => Self::Plain,
        }
    }
}

impl From<GrammarForm> for Constrain {
    fn from(form: GrammarForm) -> Self {
        match form {
            GrammarForm::Auto => Self::Auto,
            GrammarForm::Off => Self::Off,
            GrammarForm::LlamaCpp => Self::LlamaCpp,
            GrammarForm::Vllm => Self::Vllm,
            GrammarForm::Sglang => Self::Sglang,
        }
    }
}
