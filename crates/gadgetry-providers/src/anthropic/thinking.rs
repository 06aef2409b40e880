//! Settings of thinking.

use serde_json::{Value, json};

use crate::error::ProviderError;
use crate::wire_model::mistake;

/// Thinking of a model before it answers.
///
/// Source: <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>. Claude 4.6 and later choose
/// themselves; 4.7 and later refuse budgets, 4.5 and earlier know nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// Up to this many tokens of the reply: at least 1,024, and less than `max_tokens`.
    Budget(u64),
    /// As much as it takes.
    Adaptive {
        /// Effort, in the provider's word.
        effort: Option<String>,
    },
}

impl Thinking {
    /// The fields of the request: `thinking` and `output_config`.
    pub(super) fn fields(&self) -> (Value, Option<Value>) {
        match self {
            Self::Budget(tokens) => (json!({"type": "enabled", "budget_tokens": tokens}), None),
            Self::Adaptive { effort } => {
                let effort = effort.as_ref().map(|word| json!({"effort": word}));
                (json!({"type": "adaptive"}), effort)
            }
        }
    }
}

/// Returns the thinking that an effort means for a model; `None` for the effort `none`.
pub(super) fn of(effort: &str, model: &str) -> Result<Option<Thinking>, ProviderError> {
    let (word, tokens) = match effort {
        "none" => return Ok(None),
        "minimal" => ("low", 1_024),
        "low" => ("low", 2_048),
        "medium" => ("medium", 8_192),
        "high" => ("high", 16_384),
        "xhigh" => ("xhigh", 24_576),
        "max" | "maximum" => ("max", 32_768),
        other => {
            return Err(mistake(format!(
                "invalid reasoning effort {other:?}; use none, minimal, low, medium, high, xhigh or max"
            )));
        }
    };
    let adaptive = version(model).is_some_and(|version| version >= (4, 6));
    Ok(Some(if adaptive {
        let effort = Some(word.to_owned());
        Thinking::Adaptive { effort }
    } else {
        Thinking::Budget(tokens)
    }))
}

/// Major and minor version of a Claude, from its name; `None` for other models.
pub(super) fn version(model: &str) -> Option<(u8, u8)> {
    let model = model.to_ascii_lowercase();
    let (_, words) = model.split_once("claude")?;
    let mut numbers = words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .skip_while(|word| word.parse::<u32>().is_err())
        // What does not fit is a date.
        .map_while(|word| word.parse::<u8>().ok());
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_in_names() {
        let cases = [
            ("claude-3-5-haiku-20241022", Some((3, 5))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-opus-4-1-20250805", Some((4, 1))),
            ("claude-haiku-4-5", Some((4, 5))),
            ("anthropic/claude-sonnet-4.6", Some((4, 6))),
            (
                "global.anthropic.claude-opus-4-8-20260601-v1:0",
                Some((4, 8)),
            ),
            ("claude-mythos-5", Some((5, 0))),
            ("claude-sonnet-4@20250514", Some((4, 0))),
            ("claude-2.1", Some((2, 1))),
            ("claude", None),
            ("kimi-k2-5", None),
        ];
        for (name, expected) in cases {
            assert_eq!(super::version(name), expected, "{name}");
        }
    }
}
