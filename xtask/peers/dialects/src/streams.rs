//! The streams: the forms of `corpus/dialects.json` with the texts of the tests, and long ones made of them.

use serde_json::{Value, json};

/// Characters of a piece, about those of a token.
const PIECE: usize = 4;
/// Tokens of their own in the vocabularies of the models: a server sends them whole.
const TOKENS: [&str; 30] = [
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|python_tag|>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<think>",
    "</think>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
    "｜DSML｜",
    "<|tool_call>",
    "<tool_call|>",
    "<|\"|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|call|>",
    "<|start|>",
];
/// Bytes of a long text.
const LONG: usize = 16 << 10;
/// Calls of a long reply.
const CALLS: usize = 32;

const TEXTS: [&str; 12] = [
    "plain",
    "Zoë, 東京 and 🎉",
    "a \"quoted\" and 'single' \\ backslash",
    "two\nlines",
    "</tool_call><tool_call>",
    "<|tool_call_end|><|call|>",
    "</function></invoke>[TOOL_CALLS]",
    "{\"name\": \"Calc\", \"arguments\": {}}",
    "`ticks` and ```\nfences",
    "}}]) <｜tool▁call▁end｜>",
    "<think>no</think>",
    "Calc(text=\"x\")",
];

const NUMBERS: [&str; 4] = ["1", "-9007199254740993", "18446744073709551615", "0.1"];

/// What is around the calls of a reply, and between two of them.
const AROUND: [[&str; 3]; 8] = [
    [
        "<|tool_calls_section_begin|>",
        "",
        "<|tool_calls_section_end|>",
    ],
    ["<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"],
    [
        "<｜DSML｜function_calls>\n",
        "\n",
        "\n</｜DSML｜function_calls>",
    ],
    ["<｜DSML｜tool_calls>\n", "\n", "\n</｜DSML｜tool_calls>"],
    ["<function_calls>\n", "\n", "\n</function_calls>"],
    ["[TOOL_CALLS] [", ", ", "]"],
    ["[Calc", ", ", "]"],
    ["", "", ""],
];

/// A reply, and what is in it.
pub(crate) struct Stream {
    /// As a server sends it.
    pub(crate) pieces: Vec<String>,
    /// Each character on its own.
    pub(crate) chars: Vec<String>,
    pub(crate) text: String,
    pub(crate) calls: Vec<Value>,
    pub(crate) is_long: bool,
}

/// A form.
pub(crate) struct Row {
    dialect: String,
    is_json: bool,
    form: String,
}

pub(crate) fn rows() -> Vec<Row> {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../../corpus/dialects.json")).expect("the rows");
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    let rows = rows.iter().map(|row| Row {
        is_json: row["encoding"] == "json",
        dialect: text(row, "dialect"),
        // With the blank that Mistral's template has, and without which tool-parser reads nothing.
        form: text(row, "form").replace("[TOOL_CALLS][", "[TOOL_CALLS] ["),
    });
    rows.collect()
}

impl Row {
    /// The dialect, and the beginning of the form.
    pub(crate) fn title(&self) -> String {
        let form = self.form.replace('\n', "⏎").replace('|', "\\|");
        let end = form
            .find("{text}")
            .map_or(form.len(), |at| form.floor_char_boundary(at.min(60)));
        format!("{}, `{}…`", self.dialect, &form[..end])
    }

    /// The parsers that read the form: ours, tool-parser's, dynamo-parsers', dynamo-parsers-v2's.
    pub(crate) fn parsers(&self) -> [Option<&'static str>; 4] {
        let begins = |text: &str| self.form.starts_with(text);
        let [peer, whole, streamed] = match self.dialect.as_str() {
            "hermes" => [Some("qwen"), Some("hermes"), None],
            "qwen-coder" => [Some("qwen_coder"), Some("qwen3_coder"), Some("qwen3_coder")],
            // Theirs do not read a name before `[ARGS]`.
            "mistral" if !self.form.contains("[ARGS]") => [Some("mistral"), Some("mistral"), None],
            "llama" => [Some("llama"), Some("llama3_json"), None],
            // A call without brackets is read by ours only.
            "python" if begins("[") => [Some("pythonic"), Some("pythonic"), None],
            // Of `harmony`, theirs need a vocabulary that they download.
            "glm" if self.form.contains('\n') => [Some("glm45_moe"), Some("glm47"), Some("glm47")],
            "glm" => [Some("glm47_moe"), Some("glm47"), Some("glm47")],
            "kimi" => [Some("kimik2"), Some("kimi_k2"), Some("kimi_k2")],
            "deepseek" if self.form.contains("```") => {
                [Some("deepseek"), Some("deepseek_v3"), None]
            }
            "deepseek" if begins("<｜DSML｜function") => {
                [Some("deepseek32"), Some("deepseek_v3_2"), None]
            }
            "deepseek" if begins("<｜DSML｜") => [
                Some("deepseek_v4"),
                Some("deepseek_v4"),
                Some("deepseek_v4"),
            ],
            "deepseek" => [Some("deepseek31"), Some("deepseek_v3_1"), None],
            "gemma" if begins("<|tool_call>") => [Some("gemma4"), Some("gemma4"), Some("gemma4")],
            _ => [None; 3],
        };
        [Some("all"), peer, whole, streamed]
    }

    pub(crate) fn streams(&self) -> Vec<Stream> {
        let mut all = Vec::new();
        for (index, text) in TEXTS.iter().enumerate() {
            for prose in ["", "One.\n"] {
                all.push(self.stream(prose, &[(text, NUMBERS[index % NUMBERS.len()])], false));
            }
        }
        all.push(self.stream("One.\n", &[("a", "1"), ("b", "2")], false));
        let long = "A line of text, which is \"quoted\" here and there.\n".repeat(LONG / 50);
        let long = long.trim();
        all.push(self.stream("One.\n", &[(long, "1")], true));
        all.push(self.stream(
            &format!("{}\n\n", long.replace('"', "")),
            &[("a", "1")],
            true,
        ));
        all.push(self.stream("One.\n", &[("some text", "1"); CALLS], true));
        all
    }

    fn stream(&self, prose: &str, calls: &[(&str, &str)], is_long: bool) -> Stream {
        let around = AROUND
            .into_iter()
            .find(|[before, ..]| self.form.starts_with(before));
        let [before, between, after] = around.expect("the last one fits all");
        let keeps = if before == "[Calc" { 1 } else { before.len() };
        let form = &self.form[keeps..self.form.len() - after.len()];
        let written: Vec<String> = calls
            .iter()
            .map(|(text, number)| {
                let text = if self.is_json {
                    Value::from(*text).to_string()
                } else {
                    (*text).to_owned()
                };
                form.replacen("{n}", number, 1).replacen("{text}", &text, 1)
            })
            .collect();
        let between = match (before, self.dialect.as_str()) {
            ("", "hermes" | "qwen-coder" | "glm") => "\n",
            ("", "llama") => ";",
            _ => between,
        };
        let reply = format!(
            "{prose}{}{}{after}",
            &self.form[..keeps],
            written.join(between)
        );
        let values = calls.iter().map(|(text, number)| {
            let number: Value = serde_json::from_str(number).expect("a number");
            json!({"text": text, "n": number})
        });
        Stream {
            chars: reply.chars().map(String::from).collect(),
            pieces: pieces(&reply),
            text: prose.to_owned(),
            calls: values.collect(),
            is_long,
        }
    }
}

/// Each token in one piece, and what is between them in small ones.
fn pieces(reply: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut piece = String::new();
    let mut rest = reply;
    while let Some(next) = rest.chars().next() {
        let token = TOKENS.iter().find(|it| rest.starts_with(**it));
        if token.is_some() || piece.chars().count() == PIECE {
            all.push(std::mem::take(&mut piece));
        }
        if let Some(token) = token {
            all.push((*token).to_owned());
        } else {
            piece.push(next);
        }
        rest = &rest[token.map_or(next.len_utf8(), |it| it.len())..];
    }
    all.push(piece);
    all.retain(|piece| !piece.is_empty());
    all
}
