//! Values in blocks: texts that are read back as a value that the schema admits.

use serde_json::{Map, Value};

use super::avoid::{Length, not_beginning};
use super::class::Class;
use super::format;
use super::json;
use super::json::{COUNTED, JsonWriter};
use super::merge::{alternatives, types};
use super::number;
use super::pattern::{Alphabet, expression};
use super::rules::{Rules, one_of, quoted};
use super::values::listed;
use crate::schema::Types;

/// Writes rules for the values of a block.
pub(super) struct LineWriter<'a> {
    pub(super) json: JsonWriter<'a>,
    /// What no line may begin with.
    pub(super) forbidden: &'a [String],
}

impl LineWriter<'_> {
    /// The texts of a value; none if the schema admits none.
    pub(super) fn value(&mut self, schema: &Value, is_multiline: bool) -> Option<String> {
        let each = alternatives(self.json.root, schema);
        // Any line is a valid text there, whatever else it may be read as.
        if let Some(node) = each.iter().find(|node| is_free(node)) {
            let is_multiline = is_multiline || format::is_multiline(node);
            return Some(free(
                self.json.rules,
                self.forbidden,
                self.json.limits.string,
                is_multiline,
            ));
        }
        let before = self.json.begin_alternatives(&each);
        let mut all = Vec::new();
        for node in &each {
            self.alternative(node, is_multiline, &mut all);
        }
        self.json.is_alternative = before;
        one_of(all)
    }

    fn alternative(
        &mut self,
        node: &Map<String, Value>,
        is_multiline: bool,
        out: &mut Vec<String>,
    ) {
        if let Some(values) = listed(node) {
            let texts = values.into_iter().filter_map(|value| match value {
                Value::String(text) => self.carries(text).then(|| text.clone()),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => Some(value.to_string()),
            });
            out.extend(texts.map(|text| quoted(&text)));
            return;
        }
        let types = types(node);
        if types.meets(Types::STRING) {
            out.extend(self.string(node, is_multiline));
        }
        if types.meets(Types::FRACTION) {
            out.extend(number::number(
                self.json.rules,
                node,
                self.json.limits.digits,
                number::Places::Any,
            ));
        } else if types.meets(Types::INTEGER) {
            out.extend(number::integer(
                self.json.rules,
                node,
                self.json.limits.digits,
            ));
        }
        if types.meets(Types::BOOLEAN) {
            out.push(self.json.rules.named("boolean", "\"true\" | \"false\""));
        }
        if types.meets(Types::ARRAY) {
            out.extend(self.json.array(node));
        }
        if types.meets(Types::OBJECT) {
            out.extend(json::object(&mut self.json, node));
        }
        if types.meets(Types::NULL) {
            out.push("\"null\"".to_owned());
        }
    }

    /// Whether a text can be written as the lines of a value.
    fn carries(&self, text: &str) -> bool {
        !text.contains('\r')
            && text.split('\n').all(|line| {
                let line = line.trim_start_matches([' ', '\t', '\\']);
                !self
                    .forbidden
                    .iter()
                    .any(|it| line.starts_with(it.as_str()))
            })
    }

    fn string(&mut self, node: &Map<String, Value>, is_multiline: bool) -> Option<String> {
        let count = |key: &str| {
            node.get(key)
                .and_then(Value::as_u64)
                .map(|it| u32::try_from(it).unwrap_or(u32::MAX))
        };
        let least = count("minLength").unwrap_or(0).min(COUNTED);
        let most = count("maxLength");
        if most.is_some_and(|most| most < least) {
            return None;
        }
        let most = most.filter(|most| *most <= COUNTED);
        if let Some(pattern) = node.get("pattern").and_then(Value::as_str) {
            let mut excluded = vec![('\0', '\x1f'), ('\x7f', '\x7f')];
            let firsts = self.forbidden.iter().filter_map(|it| it.chars().next());
            excluded.extend(firsts.filter(|c| !c.is_alphanumeric()).map(|c| (c, c)));
            let head = head(
                self.json.rules,
                self.forbidden,
                Length {
                    least: 0,
                    most: None,
                },
            );
            let before = format!("{head}?");
            let literal = |c: char| (!c.is_control()).then(|| c.to_string());
            let alphabet = Alphabet {
                excluded: &excluded,
                literal: &literal,
                before: &before,
                after: "[^\\r\\n]*",
            };
            if let Some(expression) = expression(pattern, &alphabet, least, most) {
                return Some(expression);
            }
        } else if let Some(name) = node.get("format").and_then(Value::as_str)
            && least <= 1
            && let Some(name) = format::rule(self.json.rules, name)
        {
            return Some(name);
        }
        let default = self.json.limits.string;
        let most = most.or((default > 0).then_some(default.max(least)));
        if least == 0 && most.is_none() {
            let is_multiline = is_multiline || format::is_multiline(node);
            return Some(free(self.json.rules, self.forbidden, default, is_multiline));
        }
        if most == Some(0) {
            return Some("\"\"".to_owned());
        }
        let head = head(self.json.rules, self.forbidden, Length { least, most });
        Some(if least == 0 { format!("{head}?") } else { head })
    }
}

/// Whether any text satisfies a schema.
fn is_free(node: &Map<String, Value>) -> bool {
    let limits = ["enum", "pattern", "minLength", "maxLength"];
    let has_format = node
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|name| format::rule(&mut Rules::default(), name).is_some());
    types(node).meets(Types::STRING)
        && !has_format
        && !limits.iter().any(|key| node.contains_key(*key))
}

/// Any text of one line, or of several.
pub(super) fn free(
    rules: &mut Rules,
    forbidden: &[String],
    limit: u32,
    is_multiline: bool,
) -> String {
    if limit > 0 && !is_multiline {
        let most = Some(limit);
        let head = head(rules, forbidden, Length { least: 0, most });
        return format!("{head}?");
    }
    let line = line(rules, forbidden);
    if !is_multiline {
        return line;
    }
    rules.named("text", &format!("{line} (\"\\n\" {line})*"))
}

/// A line, without its end, that no reader takes for a marker.
pub(super) fn line(rules: &mut Rules, forbidden: &[String]) -> String {
    let head = head(
        rules,
        forbidden,
        Length {
            least: 0,
            most: None,
        },
    );
    rules.named("line", &format!("[ \\t\\\\]* {head}?"))
}

/// A line that is not empty and begins with no blank.
pub(super) fn head(rules: &mut Rules, forbidden: &[String], length: Length) -> String {
    let class = Class::not(&['\n', '\r']);
    let first = Class::not(&['\n', '\r', ' ', '\t', '\\']);
    not_beginning(rules, forbidden, &first, &class, length)
}
