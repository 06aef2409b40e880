//! Recognition of the server at a base URL, and of its abilities.
//!
//! | server | recognised by | context window |
//! |---|---|---|
//! | llama.cpp | `/props` | `default_generation_settings.n_ctx`, which is that of one slot; else `meta.n_ctx` of `/v1/models` |
//! | vLLM | `/version`, and `owned_by` in `/v1/models` | `max_model_len` |
//! | `SGLang` | `/get_server_info` or `/server_info` | `context_length`, else `max_model_len` |
//! | Ollama | `/api/version` | of a loaded model `/api/ps`; else `num_ctx` of its parameters, else `*.context_length`, in `/api/show` |
//! | LM Studio | `/api/v0/models` | `loaded_context_length`, else `max_context_length` |
//! | TGI | `/info` | `max_total_tokens` |
//! | others | | `context_window` or `context_length` of `/v1/models`, as gadgetry's gateway and others have it |
//!
//! A model without a chat template only completes text. It is recognised
//!
//! - at llama.cpp, where `/props` has no `chat_template`, or the one that llama.cpp has for models without any, `ChatML`'s, while
//!   the model's end token is another one;
//! - at vLLM, where `/tokenize` refuses messages for that reason;
//! - at Ollama, where the template in `/api/show` is the prompt alone, `{{ .Prompt }}`.
//!
//! A server that says nothing is [`ServerKind::Unknown`], and what it does not say stays unknown: recognition has no
//! errors, so that no run fails because of it. It sends a dozen small requests, all to the origin of the base URL, within
//! four seconds; redirects are not followed.
//!
//! [`recognise`] probes whatever it is given. [`Resolver::recognise`](super::Resolver::recognise) leaves out the addresses of
//! providers, which need no probe.

mod probe;
mod read;

use std::fmt;

use serde::Serialize;

use crate::model::{Mode, ModelInfo};

pub use crate::model::ConstraintField;
pub use probe::recognise;

/// A program that serves models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ServerKind {
    /// An unknown program.
    #[default]
    Unknown,
    /// llama.cpp's server, and what is made from it.
    LlamaCpp,
    /// The server of vLLM.
    Vllm,
    /// `SGLang`.
    Sglang,
    /// The server of Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// Hugging Face's Text Generation Inference.
    Tgi,
}

impl ServerKind {
    /// The name as its makers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::Tgi => "TGI",
        }
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Known facts about a server. Absent means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerFacts {
    /// The program.
    pub kind: ServerKind,
    /// Version, in the server's own words: text of the server, which may hold anything.
    pub version: Option<String>,
    /// Field of requests that carries a grammar.
    pub constraint: ConstraintField,
    /// The models that it lists.
    pub models: Vec<ModelFacts>,
    /// True if the server refuses requests with this key, or without one.
    pub refuses_key: bool,
}

/// Facts that a server reports about one of its models. Absent means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The name in requests: text of the server.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// Tokens of a whole conversation.
    pub context_window: Option<u64>,
    /// Number of its parameters.
    pub parameters: Option<u64>,
    /// `Some(true)` if the chat template writes tools. If not, a server that is sent some drops them.
    pub template_has_tools: Option<bool>,
    /// `Some(true)` if the model has a chat template. Without one it only completes text, through the legacy Completions API.
    pub has_chat_template: Option<bool>,
}

impl ServerFacts {
    /// The model of a name. A server with one model serves it whatever the name is.
    pub fn model(&self, name: &str) -> Option<&ModelFacts> {
        let is_it = |it: &&ModelFacts| it.name == name || it.aliases.iter().any(|it| it == name);
        // `llama3` means `llama3:latest` there.
        let latest = (self.kind == ServerKind::Ollama).then(|| format!("{name}:latest"));
        let is_latest = |it: &&ModelFacts| latest.as_ref().is_some_and(|name| it.name == *name);
        self.models
            .iter()
            .find(is_it)
            .or_else(|| self.models.iter().find(is_latest))
            .or(match (self.kind, self.models.as_slice()) {
                (ServerKind::LlamaCpp | ServerKind::Tgi, [only]) => Some(only),
                _ => None,
            })
    }

    /// The context window of a model, by its name.
    pub fn window(&self, model: &str) -> Option<u64> {
        self.model(model)?.context_window
    }

    /// Returns whether the server says that a model has no chat template, so that it only completes text.
    pub fn completes_only(&self, model: &str) -> bool {
        self.model(model)
            .is_some_and(|facts| facts.has_chat_template == Some(false))
    }

    /// Adds what the server says about a model to what is known about it. The catalogue has what a model was made for, the server what it
    /// has room for, so its word counts more.
    pub fn complete(&self, model: &str, info: &mut Option<ModelInfo>) {
        let facts = self.model(model);
        let window = facts.and_then(|facts| facts.context_window);
        let parameters = facts.and_then(|facts| facts.parameters);
        let completes_only = self.completes_only(model);
        let is_silent = window.is_none() && parameters.is_none() && !completes_only;
        if is_silent && !self.constraint.is_known() {
            return;
        }
        let info = info.get_or_insert_default();
        info.context_window = window.or(info.context_window);
        info.parameters = parameters.or(info.parameters);
        info.constraint = self.constraint;
        if completes_only {
            info.mode = Mode::Completion;
        }
    }

    /// Kind and version, and how replies can be constrained: `llama.cpp b11549, takes grammars`. The version is text of the
    /// server.
    pub fn words(&self) -> String {
        let version = self.version.as_ref();
        let version = version.map_or_else(String::new, |version| format!(" {version}"));
        let constraint = match (
            self.constraint.is_known(),
            self.constraint.takes_structural_tags(),
        ) {
            (true, true) => ", takes grammars and structural tags",
            (true, false) => ", takes grammars",
            (false, _) => ", takes no grammars",
        };
        if self.kind == ServerKind::Unknown {
            return self.kind.name().to_owned();
        }
        format!("{}{version}{constraint}", self.kind)
    }
}
