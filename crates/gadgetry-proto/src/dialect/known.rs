//! The dialects that are known by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};

/// A form of calling that is not ours. See the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Dialect {
    /// JSON in `<tool_call>`: Hermes, Qwen and others.
    Hermes,
    /// `<function=…>` and `<parameter=…>`: Qwen3-Coder.
    QwenCoder,
    /// `[TOOL_CALLS]`: Mistral.
    Mistral,
    /// A JSON object that is the call: Llama 3.
    Llama,
    /// `<invoke name="…">`: Anthropic.
    Anthropic,
    /// A JSON object in a code fence.
    FencedJson,
    /// The gadget's name as a tag.
    Xml,
    /// A function call of Python with keyword arguments.
    Python,
    /// A message to a function in `<|channel|>`: gpt-oss.
    Harmony,
    /// A name and tagged arguments in `<tool_call>`: GLM.
    Glm,
    /// `<|tool_call_begin|>`: Kimi K2.
    Kimi,
    /// `<｜tool▁call▁begin｜>` and `<｜DSML｜invoke …>`: `DeepSeek`.
    #[serde(rename = "deepseek")]
    DeepSeek,
    /// A fence of `tool_code`, `<start_function_call>` and `<|tool_call>`: Gemma.
    Gemma,
    /// A list of Python's calls in `<|tool_call_start|>`: LFM2.
    Lfm2,
    /// One that the configuration defines.
    #[serde(skip)]
    Custom,
}

impl Dialect {
    /// All that have a name.
    pub const ALL: [Self; 14] = [
        Self::Hermes,
        Self::QwenCoder,
        Self::Mistral,
        Self::Llama,
        Self::Anthropic,
        Self::FencedJson,
        Self::Xml,
        Self::Python,
        Self::Harmony,
        Self::Glm,
        Self::Kimi,
        Self::DeepSeek,
        Self::Gemma,
        Self::Lfm2,
    ];

    /// The name that [`FromStr`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hermes => "hermes",
            Self::QwenCoder => "qwen-coder",
            Self::Mistral => "mistral",
            Self::Llama => "llama",
            Self::Anthropic => "anthropic",
            Self::FencedJson => "fenced-json",
            Self::Xml => "xml",
            Self::Python => "python",
            Self::Harmony => "harmony",
            Self::Glm => "glm",
            Self::Kimi => "kimi",
            Self::DeepSeek => "deepseek",
            Self::Gemma => "gemma",
            Self::Lfm2 => "lfm2",
            Self::Custom => "custom",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown dialect {0:?}; available: hermes, qwen-coder, mistral, llama, anthropic, fenced-json, xml, python, harmony, glm, \
     kimi, deepseek, gemma and lfm2"
)]
pub struct UnknownDialect(pub String);

impl Classified for UnknownDialect {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let mut all = Self::ALL.into_iter();
        // Once they were stored in another case.
        let stored = |it: Dialect| {
            it == Self::QwenCoder && name == "qwenCoder"
                || it == Self::FencedJson && name == "fencedJson"
        };
        all.find(|dialect| dialect.name() == name || stored(*dialect))
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}
