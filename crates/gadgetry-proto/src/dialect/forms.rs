//! Forms of calls that a gate keeps back, and the texts that begin and end them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::dialect::known::Dialect;
use crate::dialect::template;

/// Openers of marked forms, what ends them, and the dialects that they may begin; without an end, the reply ends them.
pub(super) const OPENERS: [Opener; 21] = [
    (
        "<tool_call>",
        "</tool_call>",
        &[Dialect::Hermes, Dialect::QwenCoder, Dialect::Glm],
    ),
    ("<function=", "</function>", &[Dialect::QwenCoder]),
    (
        "<function_calls>",
        "</function_calls>",
        &[Dialect::Anthropic],
    ),
    ("<invoke ", "</invoke>", &[Dialect::Anthropic]),
    (
        "<ant\u{6d}l:function_calls>",
        "</ant\u{6d}l:function_calls>",
        &[Dialect::Anthropic],
    ),
    (
        "<ant\u{6d}l:invoke ",
        "</ant\u{6d}l:invoke>",
        &[Dialect::Anthropic],
    ),
    ("<|python_tag|>", "", &[Dialect::Llama]),
    ("[TOOL_CALLS]", "", &[Dialect::Mistral]),
    (
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        &[Dialect::Kimi],
    ),
    (template::KIMI, template::KIMI_END, &[Dialect::Kimi]),
    (
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        &[Dialect::DeepSeek],
    ),
    (
        template::DEEPSEEK,
        template::DEEPSEEK_END,
        &[Dialect::DeepSeek],
    ),
    (
        "<｜DSML｜function_calls>",
        "</｜DSML｜function_calls>",
        &[Dialect::DeepSeek],
    ),
    (
        "<｜DSML｜tool_calls>",
        "</｜DSML｜tool_calls>",
        &[Dialect::DeepSeek],
    ),
    (
        "<｜DSML｜ calls>",
        "</｜DSML｜ calls>",
        &[Dialect::DeepSeek],
    ),
    (
        "<｜DSML｜invoke ",
        "</｜DSML｜invoke>",
        &[Dialect::DeepSeek],
    ),
    (
        "<|DSML|tool_calls>",
        "</|DSML|tool_calls>",
        &[Dialect::DeepSeek],
    ),
    (
        "<|DSML|function_calls>",
        "</|DSML|function_calls>",
        &[Dialect::DeepSeek],
    ),
    (template::LFM2, template::LFM2_END, &[Dialect::Lfm2]),
    (
        "<start_function_call>",
        "<end_function_call>",
        &[Dialect::Gemma],
    ),
    ("<|tool_call>", "<tool_call|>", &[Dialect::Gemma]),
];
pub(super) type Opener = (&'static str, &'static str, &'static [Dialect]);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Channel {
    /// The reply has had no channel so far.
    #[default]
    None,
    Reasoning,
    Visible,
}

/// A form that has begun. Positions are those of the kept text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum OpenForm {
    /// Not known yet: more text is needed to see which one it is, if any.
    Unknown { at_line_start: bool },
    /// A form that ends with this text, which does not begin before `from`.
    Until {
        end: Cow<'static, str>,
        from: usize,
        attempts: u32,
    },
    /// A form that ends with the reply.
    Rest,
    /// The header of a message of Harmony.
    Header,
    /// A JSON object, read up to a position at this depth.
    Object {
        at: usize,
        depth: usize,
        in_text: bool,
    },
    /// A form that has ended here; what follows decides.
    Ended { end: usize },
}

/// The decision about text that may begin a form.
pub(super) enum Recognized {
    /// The text begins this form.
    Form(OpenForm),
    /// A token of Harmony without content.
    Token(usize),
    /// The text begins no form.
    Text,
    /// More text is needed.
    NotYet,
}

impl Recognized {
    pub(super) fn text_if(is_text: bool) -> Self {
        if is_text { Self::Text } else { Self::NotYet }
    }

    /// A form whose first key decides, if that is known.
    pub(super) fn of(is_call: Option<bool>, form: OpenForm) -> Self {
        match is_call {
            Some(true) => Self::Form(form),
            Some(false) => Self::Text,
            None => Self::NotYet,
        }
    }
}
