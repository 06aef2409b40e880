//! JSON values on one line, made from a schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::avoid::{not_holding, other_than};
use super::class::Class;
use super::format;
use super::merge::{alternatives, types};
use super::number;
use super::object::{additional, count, properties, room};
use super::pattern::{Alphabet, expression};
use super::rules::{Rules, one_of, quoted, repeat, sequence};
use super::spec::GrammarLimits;
use super::values::listed;
use crate::schema::Types;

/// Characters of a string that are counted: more take servers long to read.
pub(super) const COUNTED: u32 = 1_000;
/// Items that are counted.
const ITEMS: u32 = 100;
/// Schemas in schemas, after which any JSON is admitted.
const DEPTH: usize = 48;
/// Schemas that are looked at, for all tools together.
const STEPS: usize = 20_000;

/// The escape of a character in a string.
const ESCAPE: &str = "\"\\\\\" ([\\\"\\\\/bfnrt] | \"u\" [0-9A-CEFa-cef] [0-9A-Fa-f]{3})";

/// Writes rules for JSON.
pub(super) struct JsonWriter<'a> {
    pub(super) rules: &'a mut Rules,
    pub(super) limits: GrammarLimits,
    /// The text that no string may hold, because it ends the call.
    pub(super) end: &'a str,
    /// The schema that references point into.
    pub(super) root: &'a Value,
    /// Rules of schemas, by their text; those in work, too.
    known: BTreeMap<String, String>,
    /// Parameters whose text may have any length.
    pub(super) long: &'a [&'a str],
    /// Whether it is in an object that is one of several. There a decimal keeps its type only if its digits are those that the
    /// number is printed with.
    pub(super) is_alternative: bool,
    depth: usize,
    steps: &'a mut usize,
}

impl<'a> JsonWriter<'a> {
    pub(super) fn new(
        rules: &'a mut Rules,
        limits: GrammarLimits,
        end: &'a str,
        root: &'a Value,
        steps: &'a mut usize,
    ) -> Self {
        Self {
            rules,
            limits,
            end,
            root,
            known: BTreeMap::new(),
            long: &[],
            is_alternative: false,
            depth: 0,
            steps,
        }
    }

    /// The values of a property.
    pub(super) fn property(&mut self, name: &str, schema: &Value) -> Option<String> {
        if self.depth > 0 || !self.long.contains(&name) {
            return self.value(schema);
        }
        let limit = std::mem::take(&mut self.limits.string);
        let value = self.value(schema);
        self.limits.string = limit;
        value
    }

    /// The values that a schema admits; none if it admits none.
    pub(super) fn value(&mut self, schema: &Value) -> Option<String> {
        *self.steps += 1;
        let mut key = schema.to_string();
        if self.is_alternative {
            key.push('!');
        }
        if self.limits.string == 0 {
            key.push('*');
        }
        if let Some(name) = self.known.get(&key) {
            return (!name.is_empty()).then(|| name.clone());
        }
        let is_plain = schema.as_object().is_none_or(|node| {
            node.get("type")
                .is_some_and(|it| it.is_string() && it != "object" && it != "array")
        });
        if self.depth >= DEPTH || *self.steps > STEPS || self.rules.bytes() > self.limits.bytes {
            return Some(self.any(self.types_of(schema)));
        }
        let name = (!is_plain).then(|| self.rules.reserve("json"));
        if let Some(name) = &name {
            self.known.insert(key.clone(), name.clone());
        }
        self.depth += 1;
        let each = alternatives(self.root, schema);
        let all = self.each(&each);
        self.depth -= 1;
        let Some(body) = one_of(all) else {
            self.known.insert(key, String::new());
            return None;
        };
        match name {
            Some(name) => {
                self.rules.define(&name, &body);
                Some(name)
            }
            None => Some(body),
        }
    }

    /// The values of all alternatives.
    fn each(&mut self, each: &[Map<String, Value>]) -> Vec<String> {
        let before = self.begin_alternatives(each);
        let all = each
            .iter()
            .flat_map(|node| self.alternative(node))
            .collect();
        self.is_alternative = before;
        all
    }

    /// Notes that objects which follow may be one of several. Returns what was noted before.
    pub(super) fn begin_alternatives(&mut self, each: &[Map<String, Value>]) -> bool {
        let objects = each.iter().filter(|node| types(node).meets(Types::OBJECT));
        let is_one_of_several = objects.count() > 1;
        let before = self.is_alternative;
        self.is_alternative |= is_one_of_several;
        before
    }

    fn types_of(&self, schema: &Value) -> Types {
        let each = alternatives(self.root, schema);
        each.iter()
            .map(types)
            .fold(Types::NONE, |all, one| all | one)
    }

    fn alternative(&mut self, node: &Map<String, Value>) -> Vec<String> {
        if let Some(values) = listed(node) {
            return values
                .into_iter()
                .map(|value| quoted(&self.literal(value)))
                .collect();
        }
        let types = types(node);
        if types == Types::ALL {
            return vec![self.any(types)];
        }
        let mut all = Vec::new();
        if types.meets(Types::OBJECT) {
            all.extend(object(self, node));
        }
        if types.meets(Types::ARRAY) {
            all.extend(self.array(node));
        }
        if types.meets(Types::STRING) {
            all.extend(self.string(node));
        }
        if types.meets(Types::FRACTION) {
            let places = if self.is_alternative {
                number::Places::Printed
            } else {
                number::Places::Any
            };
            all.extend(number::number(self.rules, node, self.limits.digits, places));
        } else if types.meets(Types::INTEGER) {
            all.extend(number::integer(self.rules, node, self.limits.digits));
        }
        if types.meets(Types::BOOLEAN) {
            all.push(self.rules.named("boolean", "\"true\" | \"false\""));
        }
        if types.meets(Types::NULL) {
            all.push("\"null\"".to_owned());
        }
        all
    }

    /// A value as JSON without a text that ends the call.
    pub(super) fn literal(&self, value: &Value) -> String {
        let json = value.to_string();
        if self.end.is_empty() {
            return json;
        }
        json.replace(self.end, &self.end.replace('/', "\\/"))
    }

    /// Any JSON of these types.
    pub(super) fn any(&mut self, types: Types) -> String {
        let string = self.any_string();
        let most = self.limits.items.checked_sub(1);
        let more = repeat("(\",\" any)", 0, most);
        let number = number::number(
            self.rules,
            &Map::new(),
            self.limits.digits,
            number::Places::Any,
        )
        .unwrap_or_default();
        self.rules
            .named("any-array", &format!("\"[\" (any {more})? \"]\""));
        let field = format!("{string} \":\" any");
        self.rules.named(
            "any-object",
            &format!("\"{{\" ({field} (\",\" {field})*)? \"}}\""),
        );
        let boolean = self.rules.named("boolean", "\"true\" | \"false\"");
        let any = format!("any-object | any-array | {string} | {number} | {boolean} | \"null\"");
        self.rules.named("any", &any);
        if types == Types::ALL || types == Types::NONE {
            return "any".to_owned();
        }
        let all = [
            (Types::OBJECT, "any-object"),
            (Types::ARRAY, "any-array"),
            (Types::STRING, string.as_str()),
            (Types::NUMBER, number.as_str()),
            (Types::BOOLEAN, boolean.as_str()),
            (Types::NULL, "\"null\""),
        ];
        let all = all.iter().filter(|(own, _)| types.meets(*own));
        one_of(all.map(|(_, name)| (*name).to_owned()).collect())
            .unwrap_or_else(|| "any".to_owned())
    }

    pub(super) fn array(&mut self, node: &Map<String, Value>) -> Option<String> {
        let count = |key: &str| {
            node.get(key)
                .and_then(Value::as_u64)
                .map(|it| u32::try_from(it).unwrap_or(u32::MAX))
        };
        let least = count("minItems").unwrap_or(0).min(ITEMS);
        let default = self.limits.items;
        let mut most = count("maxItems")
            .filter(|most| *most <= ITEMS)
            .or((default > 0).then_some(default.max(least)));
        let prefix = node
            .get("prefixItems")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let rest = node.get("items").cloned().unwrap_or(Value::Bool(true));
        let mut first = Vec::new();
        for schema in &prefix {
            match self.value(schema) {
                Some(item) => first.push(item),
                None => break,
            }
        }
        let first_count = u32::try_from(first.len()).unwrap_or(u32::MAX);
        let item = if first.len() < prefix.len() {
            None
        } else {
            self.value(&rest)
        };
        if item.is_none() {
            most = Some(most.map_or(first_count, |most| most.min(first_count)));
        }
        if most.is_some_and(|most| most < least) {
            return None;
        }
        let more = |count: u32, most: Option<u32>| {
            let item = item.as_deref().unwrap_or_default();
            let least = least.saturating_sub(count);
            let most = most.map(|most| most.saturating_sub(count));
            repeat(&format!("(\",\" {item})"), least, most)
        };
        let inner = if first.is_empty() {
            match (&item, most) {
                (Some(item), most) if most != Some(0) => {
                    let items = format!("{item} {}", more(1, most));
                    if least == 0 {
                        format!("({items})?")
                    } else {
                        items
                    }
                }
                _ => String::new(),
            }
        } else {
            // From the last one to the first: each may be the end once there are enough.
            let mut inner = if item.is_some() {
                more(first_count, most)
            } else {
                String::new()
            };
            for (at, own) in first.iter().enumerate().rev() {
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                if most.is_some_and(|most| at >= most) {
                    inner = String::new();
                    continue;
                }
                let head = if at == 0 {
                    own.clone()
                } else {
                    format!("\",\" {own}")
                };
                inner = sequence([head.as_str(), inner.as_str()]);
                if at >= least {
                    inner = format!("({inner})?");
                }
            }
            inner
        };
        Some(sequence(["\"[\"", inner.as_str(), "\"]\""]))
    }

    fn string(&mut self, node: &Map<String, Value>) -> Option<String> {
        let count = |key: &str| {
            node.get(key)
                .and_then(Value::as_u64)
                .map(|it| u32::try_from(it).unwrap_or(u32::MAX))
        };
        let least = count("minLength").unwrap_or(0).min(COUNTED);
        let most = count("maxLength");
        let most = most.filter(|most| *most <= COUNTED);
        if most.is_some_and(|most| most < least) {
            return None;
        }
        if let Some(pattern) = node.get("pattern").and_then(Value::as_str) {
            let excluded = self.excluded();
            let any = format!("{}*", self.character());
            let literal = |c: char| {
                let json = Value::from(c.to_string()).to_string();
                Some(json[1..json.len() - 1].to_owned())
            };
            let alphabet = Alphabet {
                excluded: &excluded,
                literal: &literal,
                before: &any,
                after: &any,
            };
            if let Some(expression) = expression(pattern, &alphabet, least, most) {
                return Some(format!("\"\\\"\" {expression} \"\\\"\""));
            }
        } else if let Some(name) = node.get("format").and_then(Value::as_str)
            && least <= 1
            && let Some(name) = format::rule(self.rules, name)
        {
            return Some(format!("\"\\\"\" {name} \"\\\"\""));
        }
        if least == 0 && most.is_none() {
            return Some(self.any_string());
        }
        let most = most.or((self.limits.string > 0).then_some(self.limits.string.max(least)));
        let character = self.character();
        let body = format!("\"\\\"\" {} \"\\\"\"", repeat(&character, least, most));
        // A rule of its own: llama.cpp multiplies what is counted within what is counted, and refuses more than 2,000.
        Some(self.rules.add("string", &body))
    }

    /// What no class of a pattern may admit.
    fn excluded(&self) -> Vec<(char, char)> {
        let mut all = vec![('"', '"'), ('\\', '\\'), ('\0', '\x1f')];
        all.extend(self.end.chars().next().map(|first| (first, first)));
        all
    }

    /// One character of a string where characters are counted.
    fn character(&mut self) -> String {
        let mut class = plain();
        if let Some(first) = self.end.chars().next() {
            class = class.without((first, first));
        }
        self.rules
            .named("character", &format!("{} | {ESCAPE}", class.text()))
    }

    /// A string of any length.
    pub(super) fn any_string(&mut self) -> String {
        let escape = self.rules.named("escape", ESCAPE);
        if self.limits.string > 0 {
            let character = self.character();
            let body = format!(
                "\"\\\"\" {} \"\\\"\"",
                repeat(&character, 0, Some(self.limits.string))
            );
            return self.rules.named("line-string", &body);
        }
        if self.end.is_empty() {
            let body = format!("\"\\\"\" ({} | {escape})* \"\\\"\"", plain().text());
            return self.rules.named("string", &body);
        }
        let inner = not_holding(self.rules, "inner", self.end, &plain(), &escape, "\"\\\"\"");
        self.rules.named("string", &format!("\"\\\"\" {inner}"))
    }
}

/// Characters that stand for themselves in a string.
fn plain() -> Class {
    Class {
        is_negated: true,
        ranges: vec![('"', '"'), ('\\', '\\'), ('\0', '\x1f')],
    }
}

/// What may surround the pattern of a key.
const KEY: &str = "[A-Za-z0-9_]*";

/// An object as JSON; none if no object satisfies the schema.
pub(super) fn object(writer: &mut JsonWriter<'_>, node: &Map<String, Value>) -> Option<String> {
    let mut fields = Vec::new();
    for property in properties(node) {
        match writer.property(&property.name, &property.schema) {
            Some(value) => {
                let key = quoted(&format!("{}:", writer.literal(&Value::from(property.name))));
                fields.push((format!("{key} {value}"), property.is_required));
            }
            None if property.is_required => return None,
            None => {}
        }
    }
    let (more, least, most) = entries(writer, node);
    let body = match more {
        None => fields_in_order(writer, &fields, None),
        Some(entry) if fields.is_empty() => {
            let rest = repeat(
                &format!("(\",\" {entry})"),
                least.saturating_sub(1),
                most.map(|most| most.saturating_sub(1)),
            );
            let all = format!("{entry} {rest}");
            if most == Some(0) {
                String::new()
            } else if least == 0 {
                format!("({all})?")
            } else {
                all
            }
        }
        Some(entry) => fields_in_order(writer, &fields, Some((&entry, most))),
    };
    let body = sequence(["\"{\"", body.as_str(), "\"}\""]);
    Some(writer.rules.add("object", &body))
}

/// A property that is not described, and how many there may be.
fn entries(
    writer: &mut JsonWriter<'_>,
    node: &Map<String, Value>,
) -> (Option<String>, u32, Option<u32>) {
    let least = count(node, "minProperties").unwrap_or(0).min(50);
    let most = room(node).filter(|most| *most <= 50);
    let names: Vec<String> = node
        .get("properties")
        .and_then(Value::as_object)
        .map(|names| names.keys().cloned().collect())
        .unwrap_or_default();
    let by_pattern = node.get("patternProperties").and_then(Value::as_object);
    if let Some((pattern, schema)) = by_pattern.and_then(|it| it.iter().next())
        && names.is_empty()
    {
        let excluded = [('"', '"'), ('\\', '\\'), ('\0', '\x1f'), ('<', '<')];
        let literal =
            |c: char| (!matches!(c, '"' | '\\' | '<') && !c.is_control()).then(|| c.to_string());
        let alphabet = Alphabet {
            excluded: &excluded,
            literal: &literal,
            before: KEY,
            after: KEY,
        };
        let key = expression(pattern, &alphabet, 0, None);
        let entry = key.and_then(|key| {
            let value = writer.value(schema)?;
            Some(format!("\"\\\"\" {key} \"\\\":\" {value}"))
        });
        return (entry, least, most);
    }
    let Some(schema) = additional(node) else {
        return (None, least, most);
    };
    let Some(value) = writer.value(&schema) else {
        return (None, least, most);
    };
    let key = match node.get("propertyNames").and_then(Value::as_object) {
        Some(names) => {
            let mut names = names.clone();
            names.entry("type").or_insert_with(|| "string".into());
            writer.value(&Value::Object(names))
        }
        None if names.is_empty() => Some(writer.any_string()),
        None => {
            let other = other_than(writer.rules, &names, &key_class());
            Some(format!("\"\\\"\" {other} \"\\\"\""))
        }
    };
    (key.map(|key| format!("{key} \":\" {value}")), least, most)
}

/// Characters of a key that is not described.
fn key_class() -> Class {
    Class {
        is_negated: true,
        ranges: vec![('"', '"'), ('\\', '\\'), ('<', '<'), ('\0', '\x1f')],
    }
}

/// Fields in order, with commas between them. Where the first ones may be absent, a rule for each says what may come next:
///
/// ```text
/// fields-0 ::= "a" rest-1 | fields-1          rest-1 ::= ("," "b")? rest-2
/// ```
fn fields_in_order(
    writer: &mut JsonWriter<'_>,
    fields: &[(String, bool)],
    more: Option<(&str, Option<u32>)>,
) -> String {
    let more = more.filter(|(_, most)| *most != Some(0));
    let more = more.map(|(entry, most)| {
        let next = format!("(\",\" {entry})");
        let tail = repeat(&next, 0, most.map(|most| most - 1));
        (repeat(&next, 0, most), format!("({entry} {tail})?"))
    });
    let (mut rest, mut first) = more.unwrap_or_default();
    let count = fields.len();
    for (at, (field, is_required)) in fields.iter().enumerate().rev() {
        let own = sequence([field.as_str(), rest.as_str()]);
        let is_needed = fields[..at].iter().all(|(_, is_required)| !is_required);
        if is_needed {
            first = if *is_required {
                own
            } else if first.is_empty() {
                format!("({own})?")
            } else {
                let first_name = writer.rules.add("fields", &first);
                format!("({own} | {first_name})")
            };
        }
        let optional = if *is_required { "" } else { "?" };
        let next = format!("(\",\" {field}){optional}");
        rest = sequence([next.as_str(), rest.as_str()]);
        if at > 0 && (at % 4 == 0 || is_needed && count > 3) {
            rest = writer.rules.add("rest", &rest);
        }
    }
    first
}
