//! Recognises texts that may begin a call.

use std::borrow::Cow;

use crate::dialect::Dialect;
use crate::dialect::envelope::is_json;
use crate::dialect::forms::{Channel, OPENERS, OpenForm, Recognized};
use crate::dialect::gate::{Gate, GateRules};
use crate::dialect::name::name_at;
use crate::dialect::quotes::Surroundings;
use crate::dialect::template::{HARMONY, HARMONY_ENDS};
use crate::schema::RegisteredGadget;

const FENCE: &str = "```";

/// First keys of objects that can be calls.
const KEYS: [&str; 16] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "action",
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "type",
    "id",
    "role",
    "tool_calls",
    "tool_input",
];

/// Characters in which the first key of an object must be known.
const FIRST_KEY: usize = 128;
/// Bytes of an opener that prose does not end with.
const BEGUN: usize = 6;

impl Gate {
    /// Returns the offset of the first possible form.
    pub(super) fn suspect(&self, rules: &GateRules<'_>) -> Option<usize> {
        let custom = rules.dialects.custom();
        let has_names = rules.dialects.contains(Dialect::Python);
        let begins_word = |at: usize| !self.kept[..at].ends_with(char::is_alphanumeric);
        let suspects = self.kept.char_indices().filter(|(at, c)| {
            matches!(c, '<' | '[' | '{' | '`')
                || has_names && c.is_alphanumeric() && begins_word(*at)
                || custom.iter().any(|it| it.before.starts_with(*c))
        });
        let mut suspects = suspects.map(|(at, _)| at);
        suspects.find(|at| self.may_open(&self.kept[*at..], self.is_line_start(*at), rules))
    }

    /// Returns `true` if nothing precedes a place of the kept text on its line.
    pub(super) fn is_line_start(&self, at: usize) -> bool {
        let before = &self.kept[..at];
        let is_blank = |text: &str| text.chars().all(|c| c == ' ' || c == '\t');
        match before.rfind('\n') {
            Some(line) => is_blank(&before[line + 1..]),
            None => {
                is_blank(before) && self.around.as_ref().is_none_or(Surroundings::is_line_blank)
            }
        }
    }

    /// Returns `true` if text begins with an opener, or with the beginning of one.
    pub(super) fn may_open(&self, text: &str, at_line_start: bool, rules: &GateRules<'_>) -> bool {
        let opens = |opener: &str| text.starts_with(opener) || opener.starts_with(text);
        let has = |dialect: Dialect| rules.dialects.contains(dialect);
        if has(Dialect::Harmony) && HARMONY.iter().any(|it| opens(it)) {
            return true;
        }
        if self.channel != Channel::None && HARMONY_ENDS.iter().any(|it| opens(it)) {
            return true;
        }
        if self.channel == Channel::Reasoning {
            return false;
        }
        OPENERS.iter().any(|(opener, ..)| opens(opener))
            || rules.dialects.custom().iter().any(|it| opens(&it.before))
            || at_line_start
                && (text.starts_with('{') && has(Dialect::Llama)
                    || (has(Dialect::FencedJson) || has(Dialect::Gemma)) && opens(FENCE)
                    || has(Dialect::Xml) && names(text.strip_prefix('<'), '>', rules)
                    || has(Dialect::Python)
                        && names(Some(text.strip_prefix('[').unwrap_or(text)), '(', rules))
    }

    /// Recognises the form that begins the kept text at its base.
    pub(super) fn recognized(&self, at_line_start: bool, rules: &GateRules<'_>) -> Recognized {
        let text = &self.kept[self.base..];
        let has = |dialect: Dialect| rules.dialects.contains(dialect);
        let mut may_be = false;
        if self.channel != Channel::None {
            if let Some(token) = HARMONY_ENDS.iter().find(|it| text.starts_with(**it)) {
                return Recognized::Token(token.len());
            }
            may_be |= HARMONY_ENDS.iter().any(|it| it.starts_with(text));
        }
        if has(Dialect::Harmony) {
            if HARMONY.iter().any(|it| text.starts_with(it)) {
                return Recognized::Form(OpenForm::Header);
            }
            may_be |= HARMONY.iter().any(|it| it.starts_with(text));
        }
        if self.channel == Channel::Reasoning {
            return Recognized::text_if(!may_be);
        }
        if let Some(form) = rules
            .dialects
            .custom()
            .iter()
            .find(|it| text.starts_with(&it.before))
        {
            return Recognized::Form(self.until_text(form.after.clone().into()));
        }
        may_be |= rules
            .dialects
            .custom()
            .iter()
            .any(|it| it.before.starts_with(text));
        for (opener, end, _) in OPENERS {
            if text.starts_with(opener) {
                let form = if end.is_empty() {
                    OpenForm::Rest
                } else {
                    self.until_text(end.into())
                };
                return Recognized::Form(form);
            }
            may_be |= opener.starts_with(text);
        }
        if !at_line_start {
            return Recognized::text_if(!may_be);
        }
        if text.starts_with('{') && has(Dialect::Llama) {
            let object = OpenForm::Object {
                at: self.base,
                depth: 0,
                in_text: false,
            };
            return Recognized::of(first_key(text), object);
        }
        if let Some(head) = text.strip_prefix(FENCE) {
            return self.recognized_fence(head, rules);
        }
        if has(Dialect::Xml) && text.starts_with('<') {
            let name = name_at(&text[1..]);
            if text[1 + name.len()..].starts_with('>') && rules.registry.get(name).is_some() {
                return Recognized::Form(self.until_text(format!("</{name}>").into()));
            }
            may_be |= names(Some(&text[1..]), '>', rules);
        }
        if has(Dialect::Python) {
            let code = text.strip_prefix('[').unwrap_or(text);
            let name = name_at(code);
            if code[name.len()..].starts_with('(') && rules.registry.get(name).is_some() {
                return Recognized::Form(self.until_text("\n".into()));
            }
            may_be |= names(Some(code), '(', rules);
        }
        Recognized::text_if(!may_be && !FENCE.starts_with(text))
    }

    fn recognized_fence(&self, head: &str, rules: &GateRules<'_>) -> Recognized {
        let Some((language, body)) = head.split_once('\n') else {
            return Recognized::text_if(head.len() > FIRST_KEY || head.contains('`'));
        };
        if language.trim() == "tool_code" && rules.dialects.contains(Dialect::Gemma) {
            return Recognized::Form(self.until_text("\n```".into()));
        }
        let body = body.trim_start();
        let object = body.strip_prefix('[').map_or(body, str::trim_start);
        if !is_json(language)
            || !rules.dialects.contains(Dialect::FencedJson)
            || !(object.is_empty() || object.starts_with('{'))
        {
            return Recognized::Text;
        }
        if object.is_empty() {
            return Recognized::text_if(head.len() > FIRST_KEY);
        }
        Recognized::of(first_key(object), self.until_text("\n```".into()))
    }

    fn until_text(&self, end: Cow<'static, str>) -> OpenForm {
        OpenForm::Until {
            end,
            from: self.base,
            attempts: 0,
        }
    }

    /// Returns `true` if a text that ends the reply is the beginning of a call, of which not even the name is there.
    pub(super) fn is_begun(&self, text: &str, rules: &GateRules<'_>) -> bool {
        let around = self.around.clone().unwrap_or_default();
        if around.is_quoted() {
            return false;
        }
        let has = |dialects: &[Dialect]| dialects.iter().any(|it| rules.dialects.contains(*it));
        let openers = OPENERS.iter().filter(|(.., dialects)| has(dialects));
        let names = || rules.registry.iter().map(RegisteredGadget::name);
        // What no prose and no markup has.
        let is_special = ["<|", "<｜", "<start_function"]
            .iter()
            .any(|it| text.starts_with(it));
        for (opener, ..) in openers {
            if let Some(content) = text.strip_prefix(opener) {
                let content = content.trim();
                let is_name = |name: &str| name.starts_with(content) || content.starts_with(name);
                return is_special
                    || content.starts_with(['{', '[', '<'])
                    || content.is_empty() && around.is_line_blank()
                    || !content.is_empty() && names().any(is_name);
            }
            let is_part = text.len() >= BEGUN && opener.starts_with(text);
            if is_part && (is_special || around.is_line_blank()) {
                return true;
            }
        }
        let custom = rules.dialects.custom();
        custom.iter().any(|it| text.starts_with(&it.before))
            || rules.dialects.contains(Dialect::Harmony)
                && HARMONY
                    .iter()
                    .any(|it| text.starts_with(it) || text.len() >= BEGUN && it.starts_with(text))
    }
}

/// Returns `true` if text begins with the name of a gadget and `end`, or may once more of it is there.
fn names(text: Option<&str>, end: char, rules: &GateRules<'_>) -> bool {
    let Some(text) = text else { return false };
    let name = name_at(text);
    match text[name.len()..].chars().next() {
        Some(next) => next == end && rules.registry.get(name).is_some(),
        None => rules.registry.iter().any(|it| {
            let known = it.name().as_bytes();
            let begun = name.as_bytes();
            known.len() >= begun.len() && known[..begun.len()].eq_ignore_ascii_case(begun)
        }),
    }
}

/// Returns `true` if the first key of an object can be that of a call; `None` if it is not there yet.
fn first_key(object: &str) -> Option<bool> {
    let body = object[1..].trim_start();
    if body.is_empty() {
        return (object.len() > FIRST_KEY).then_some(false);
    }
    let Some(key) = body.strip_prefix('"') else {
        return Some(false);
    };
    match key.split_once('"') {
        Some((key, _)) => Some(KEYS.contains(&key)),
        None => (key.len() > FIRST_KEY).then_some(false),
    }
}
