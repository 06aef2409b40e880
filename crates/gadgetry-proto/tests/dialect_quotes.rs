//! Texts that quote calls, of which none is one, and replies that call, of which all are.
//!
//! The texts come from a seeded table: each of the 2,000 is a template around a form, with other words and values.

use gadgetry_proto::call::Parameters;
use gadgetry_proto::dialect::{Dialect, Dialects, find};
use gadgetry_proto::limits::Limits;

use crate::dialect_gate::{registry, through};

/// A call of `Calc` with `1` for `a`, in each form. The values are replaced.
pub(crate) const FORMS: [(Dialect, &str); 20] = [
    (
        Dialect::Hermes,
        "<tool_call>\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}\n</tool_call>",
    ),
    (
        Dialect::Hermes,
        "<tool_call>{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}</tool_call>",
    ),
    (
        Dialect::QwenCoder,
        "<tool_call>\n<function=Calc>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        Dialect::QwenCoder,
        "<function=Calc><parameter=a>1</parameter></function>",
    ),
    (
        Dialect::Mistral,
        "[TOOL_CALLS][{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}]",
    ),
    (Dialect::Mistral, "[TOOL_CALLS]Calc[ARGS]{\"a\": 1}"),
    (
        Dialect::Llama,
        "{\"name\": \"Calc\", \"parameters\": {\"a\": 1}}",
    ),
    (
        Dialect::Llama,
        "<|python_tag|>{\"name\": \"Calc\", \"parameters\": {\"a\": 1}}",
    ),
    (
        Dialect::Anthropic,
        "<function_calls>\n<invoke name=\"Calc\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n</function_calls>",
    ),
    (
        Dialect::FencedJson,
        "```json\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}\n```",
    ),
    (Dialect::Xml, "<Calc>\n<a>1</a>\n</Calc>"),
    (Dialect::Python, "Calc(a=1)"),
    (
        Dialect::Harmony,
        "<|channel|>commentary to=functions.Calc <|constrain|>json<|message|>{\"a\": 1}<|call|>",
    ),
    (
        Dialect::Glm,
        "<tool_call>Calc\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    ),
    (
        Dialect::Kimi,
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.Calc:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>\
         <|tool_calls_section_end|>",
    ),
    (
        Dialect::DeepSeek,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Calc<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        Dialect::DeepSeek,
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"Calc\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n\
         </｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (Dialect::Gemma, "```tool_code\nCalc(a=1)\n```"),
    (Dialect::Gemma, "<|tool_call>call:Calc{a:1}<tool_call|>"),
    (
        Dialect::Lfm2,
        "<|tool_call_start|>[Calc(a=1)]<|tool_call_end|>",
    ),
];

/// How a text quotes a form. `{form}` is the form, `{line}` the form on one line, `{escaped}` the same inside a JSON string,
/// `{quoted}` with `> ` before each line, `{half}` its first half, `{words}` words of prose.
const QUOTES: [&str; 40] = [
    "{words} `{line}` {words}",
    "{words} ``{line}`` {words}",
    "{words}\n\n```\n{form}\n```\n\n{words}",
    "{words}\n\n```xml\n{form}\n```\n",
    "{words}\n~~~text\n{form}\n~~~\n{words}",
    "{words}\n\n````markdown\n{form}\n````\n{words}",
    "{words} \"{line}\" {words}",
    "{words} '{line}' {words}",
    "{words} “{line}” {words}",
    "{words} «{line}» {words}",
    "{words} (\"{line}\")",
    "{words}\n{quoted}\n{words}",
    "{words}\n\n{quoted}",
    "> {words}\n{quoted}",
    "{words} {line} is how it looks.",
    "A model that writes {line} calls a tool.",
    "{words}\n{form}\nis what such a model writes.",
    "{words}\n\n{form}\n\nand then it waits for the result.",
    "For example:\n\n{form}\n\nThe server answers with the result.",
    "{words} For instance, a call looks like this:\n{form}\n",
    "Do not write\n{form}\nin your answer.",
    "- {line}\n- {words}",
    "{words}\n\n- {words}\n- {line}: {words}",
    "1. {line}\n2. {words}",
    "| form | model |\n|---|---|\n| {line} | {words} |",
    "# The form\n\n{words}\n\n    `{line}`\n\n{words}",
    "{\"role\": \"assistant\", \"content\": \"{escaped}\"}",
    "{words}\n{\"text\": \"{escaped}\"}\n{words}",
    "```json\n{\"messages\": [\"{escaped}\"]}\n```",
    "<tool_response>\n{form}\n</tool_response>\n{words}",
    "<result>{line}</result>",
    "<<<RESULT read abc>>>\n{words}\n{form}\n<<<END abc>>>\n{words}",
    "RESULT (read): {line}",
    "RESULT (read):\n{form}\n\n{words}",
    "<example>\n{form}\n</example>\n\n{words}",
    "<document title=\"x\">\n{words}\n{form}\n</document>",
    "<function=Nope><parameter=text>{form}</parameter></function>",
    "<tool_call>{\"name\": \"Nope\", \"arguments\": {\"text\": \"{escaped}\"}}</tool_call>",
    "{words} {half}",
    "{words}\n{half}\n\n{words}",
];

/// How a reply calls. Nothing follows a form that no wrapper marks, or nothing precedes it.
const CALLS: [&str; 14] = [
    "{form}",
    "{form}\n",
    "\n{form}",
    "Let me see.\n{form}",
    "I'll look that up:\n\n{form}\n",
    "First, the sum.\n\n{form}\n\n",
    "It's 6 o'clock, so I add `a` to that.\n{form}",
    "The \"sum\" is next.\n\n{form}",
    "```rust\nfn main() {}\n```\nNow the sum.\n{form}",
    "> A quotation.\n\nAnd the sum:\n{form}",
    "- One.\n- Two.\n\nNow:\n\n{form}",
    "<b>Bold</b> and a < b.\n{form}",
    "“Quoted”, and the sum.\n{form}",
    "{form}\nThat is the sum.",
];

const WORDS: [&str; 12] = [
    "This page describes how models call tools.",
    "Hermes models were trained on this form.",
    "The template of the model writes it",
    "You asked how a call is written.",
    "Parsers disagree about the form",
    "It's a detail of the tokenizer, isn't it?",
    "The user wrote",
    "In the log there is",
    "Older models write",
    "See the documentation of the server.",
    "The reply contained",
    "Each model has a form of its own:",
];

/// A small generator, so that the texts are the same on all machines.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

fn filled(template: &str, form: &str, random: &mut Random) -> String {
    let value = random.below(90) + 10;
    let form = form.replace('1', &value.to_string());
    let escaped = serde_json::to_string(&form).expect("a text");
    let half = form.floor_char_boundary(form.len() / 2);
    let mut text = template
        .replace("{form}", &form)
        .replace("{line}", &form.replace('\n', " "))
        .replace("{escaped}", &escaped[1..escaped.len() - 1])
        .replace("{quoted}", &format!("> {}", form.replace('\n', "\n> ")))
        .replace("{half}", &form[..half]);
    while text.contains("{words}") {
        text = text.replacen("{words}", WORDS[random.below(WORDS.len())], 1);
    }
    text
}

fn in_pieces<'t>(text: &'t str, random: &mut Random) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.ceil_char_boundary((random.below(12) + 1).min(rest.len()));
        let (piece, behind) = rest.split_at(length);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

#[test]
fn quoted_calls_are_not_calls() {
    let registry = registry();
    let mut random = Random(7);
    let all = Dialects::all();
    let (mut texts, mut wrong) = (0, Vec::new());
    while texts < 2_000 {
        for template in QUOTES {
            let (dialect, form) = FORMS[random.below(FORMS.len())];
            let text = filled(template, form, &mut random);
            // A half of a fence or of Python is not begun by a marker.
            let calls = find(&text, &registry, &Limits::default());
            let shown = through(in_pieces(&text, &mut random).into_iter(), &all);
            let executed = calls
                .iter()
                .filter(|call| call.is_whole && call.gadget_name == "Calc")
                .count();
            if executed > 0 || shown.replace(&text, "").contains("«{") {
                wrong.push(format!("{dialect} {template:?}\n  {text:?}\n  {shown:?}"));
            }
            texts += 1;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {texts}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
}

/// The guard against quotations must not cost calls.
#[test]
fn every_true_call_is_found() {
    let registry = registry();
    let mut random = Random(3);
    let all = Dialects::all();
    let mut wrong = Vec::new();
    for (dialect, form) in FORMS {
        for template in CALLS {
            for _ in 0..4 {
                let text = filled(template, form, &mut random);
                let calls = find(&text, &registry, &Limits::default());
                let shown = through(in_pieces(&text, &mut random).into_iter(), &all);
                let [call] = &calls[..] else {
                    wrong.push(format!("{dialect} {text:?}: {calls:?}"));
                    continue;
                };
                let Parameters::Parsed(parameters) = &call.parameters else {
                    wrong.push(format!("{dialect} {text:?}: {calls:?}"));
                    continue;
                };
                let is_shown = shown.matches('«').count() - shown.matches("«Quoted").count() == 1
                    || template.contains('“');
                if call.dialect != dialect
                    || !shown.contains(&format!("«{parameters}»"))
                    || !is_shown
                {
                    wrong.push(format!("{dialect} {text:?}: {call:?} {shown:?}"));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
}
