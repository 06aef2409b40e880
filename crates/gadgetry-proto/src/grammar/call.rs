//! Calls and replies.

use serde_json::{Map, Value};

use super::avoid::{Length, beginnings, not_holding, other_than};
use super::class::Class;
use super::error::GrammarError;
use super::json::JsonWriter;
use super::line::{LineWriter, head, line};
use super::merge::{alternatives, types};
use super::object::{Property, additional, properties};
use super::rules::{Rules, one_of, quoted, repeat, sequence};
use super::spec::{GrammarSpec, GrammarTool};
use super::{json, object};
use crate::call_form::CallForm;
use crate::json::depth;
use crate::limits::Limits;
use crate::schema::{Types, normalized, pointer};

/// What begins a call of the JSON form.
pub(super) const JSON_START: &str = "<tool_call>";
/// Text that ends a call of the JSON form.
pub(super) const JSON_END: &str = "</tool_call>";

/// Makes the rules of one grammar.
pub(super) struct Writer<'a> {
    pub(super) spec: &'a GrammarSpec<'a>,
    pub(super) rules: Rules,
    forbidden: Vec<String>,
    steps: usize,
}

/// The grammar of whole replies.
pub(super) fn gbnf(spec: &GrammarSpec<'_>) -> Result<String, GrammarError> {
    let tools = spec.callable()?;
    let mut writer = Writer::new(spec);
    let mut calls = Calls::new(spec);
    for tool in &tools {
        let before = writer.rules.len();
        if !calls.add(writer.call(tool))? {
            writer.rules.truncate(before);
        }
    }
    let calls = calls.all()?;
    let root = writer.root(&calls);
    writer.rules.text(&root, spec.limits.bytes)
}

/// What was made of each tool that can be called.
pub(super) struct Calls<T> {
    made: Vec<T>,
    left_out: Option<GrammarError>,
    is_forced: bool,
}

impl<T> Calls<T> {
    pub(super) fn new(spec: &GrammarSpec<'_>) -> Self {
        Self {
            made: Vec::new(),
            left_out: None,
            is_forced: spec.choice.is_forced(),
        }
    }

    /// Adds a tool, and returns whether it can be called. One that cannot leaves the others as they are.
    pub(super) fn add(&mut self, call: Result<T, GrammarError>) -> Result<bool, GrammarError> {
        match call {
            Ok(call) => self.made.push(call),
            Err(error @ (GrammarError::Name(_) | GrammarError::Unsatisfiable(_))) => {
                self.left_out.get_or_insert(error);
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Returns all that can be called. Fails if a call is demanded and no gadget exists.
    pub(super) fn all(self) -> Result<Vec<T>, GrammarError> {
        match self.left_out {
            Some(error) if self.is_forced && self.made.is_empty() => Err(error),
            Some(_) | None => Ok(self.made),
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(spec: &'a GrammarSpec<'a>) -> Self {
        Self {
            spec,
            rules: Rules::default(),
            forbidden: match spec.form {
                CallForm::Block => beginnings(spec.markers),
                CallForm::Json => Vec::new(),
            },
            steps: 0,
        }
    }

    fn root(&mut self, calls: &[String]) -> String {
        if calls.is_empty() {
            let prose = self.prose();
            return format!("{prose} (\"\\n\" {prose})*");
        }
        self.rules.named("call", &calls.join(" | "));
        let is_single = self.spec.is_single;
        if self.spec.choice.is_forced() {
            let thought = self.thought();
            let more = if is_single { "" } else { "(\"\\n\" call)*" };
            return sequence([thought.as_str(), "call", more, "\"\\n\"?"]);
        }
        let prose = self.prose();
        if is_single {
            return format!("({prose} \"\\n\")* (call \"\\n\"? | {prose})");
        }
        format!("({prose} | call) (\"\\n\" ({prose} | call))*")
    }

    /// A line of prose, in which no call begins.
    fn prose(&mut self) -> String {
        match self.spec.form {
            CallForm::Block => line(&mut self.rules, &self.forbidden),
            CallForm::Json => {
                let class = Class::not(&['\n', '\r']);
                let rest = not_holding(&mut self.rules, "prose", JSON_START, &class, "", "");
                // A line that begins like an object may be read as a call in another form, with all that follows.
                let first = Class::not(&['\n', '\r', ' ', '\t', '{', '<']).text();
                let line = format!("[ \\t]* ({first} {rest} | \"<\" prose-at1)?");
                self.rules.named("line", &line)
            }
        }
    }

    /// The line before a demanded call.
    fn thought(&mut self) -> String {
        let most = self.spec.limits.thought;
        if most == 0 {
            return String::new();
        }
        let length = Length {
            least: 1,
            most: Some(most),
        };
        let line = match self.spec.form {
            CallForm::Block => head(&mut self.rules, &self.forbidden, length),
            CallForm::Json => repeat("[^<\\r\\n]", 1, Some(most)),
        };
        format!("({line} \"\\n\")?")
    }

    /// The rule of the calls of a tool.
    fn call(&mut self, tool: &GrammarTool<'_>) -> Result<String, GrammarError> {
        let body = self.between(tool)?;
        let (start, end) = self.ends(tool)?;
        let body = sequence([
            quoted(&start).as_str(),
            body.as_str(),
            quoted(&end).as_str(),
        ]);
        Ok(self.rules.add("tool", &body))
    }

    /// What a call of a tool begins and ends with.
    pub(super) fn ends(&self, tool: &GrammarTool<'_>) -> Result<(String, String), GrammarError> {
        let markers = self.spec.markers;
        match self.spec.form {
            CallForm::Block => {
                let name = tool.name;
                let is_bare = !name.is_empty()
                    && name.trim() == name
                    && !name.contains(|c: char| c == ':' || c.is_control());
                if !is_bare {
                    return Err(GrammarError::Name(name.to_owned()));
                }
                Ok((
                    format!("{}{name}", markers.start()),
                    markers.end().to_owned(),
                ))
            }
            CallForm::Json => {
                let name = Value::from(tool.name);
                let start = format!("{JSON_START}\n{{\"name\":{name},\"arguments\":");
                Ok((start, format!("}}\n{JSON_END}")))
            }
        }
    }

    /// What is between the beginning and the end of a call.
    pub(super) fn between(&mut self, tool: &GrammarTool<'_>) -> Result<String, GrammarError> {
        if depth(tool.schema) > Limits::default().levels().max(128) {
            return Err(GrammarError::TooLarge {
                limit: self.spec.limits.bytes,
            });
        }
        let schema = normalized(tool.schema.clone());
        let unsatisfiable = || GrammarError::Unsatisfiable(tool.name.to_owned());
        let each = alternatives(&schema, &schema);
        let each: Vec<_> = each
            .iter()
            .filter(|node| types(node).meets(Types::OBJECT))
            .collect();
        let end = match self.spec.form {
            CallForm::Block => "",
            CallForm::Json => JSON_END,
        };
        let is_alternative = each.len() > 1;
        let mut all = Vec::new();
        for node in each {
            let mut json = JsonWriter::new(
                &mut self.rules,
                self.spec.limits,
                end,
                &schema,
                &mut self.steps,
            );
            json.is_alternative = is_alternative;
            json.long = tool.multiline;
            match self.spec.form {
                CallForm::Json => {
                    all.extend(json::object(&mut json, node));
                }
                CallForm::Block => {
                    let forbidden = &self.forbidden;
                    let mut lines = LineWriter { json, forbidden };
                    all.extend(arguments(&mut lines, node, tool, self.spec));
                }
            }
        }
        if self.rules.bytes() > self.spec.limits.bytes {
            return Err(GrammarError::TooLarge {
                limit: self.spec.limits.bytes,
            });
        }
        let body = one_of(all).ok_or_else(unsatisfiable)?;
        if self.spec.form == CallForm::Json {
            return Ok(body);
        }
        let id = match self.spec.limits.id {
            0 => String::new(),
            most => {
                let id = self
                    .rules
                    .named("id", &repeat("[A-Za-z0-9_]", 1, Some(most)));
                format!("(\":\" {id})?")
            }
        };
        Ok(sequence([id.as_str(), "\"\\n\"", body.as_str()]))
    }
}

/// The arguments of a block; none if no parameters satisfy the schema.
fn arguments(
    lines: &mut LineWriter<'_>,
    node: &Map<String, Value>,
    tool: &GrammarTool<'_>,
    spec: &GrammarSpec<'_>,
) -> Option<String> {
    let arg = spec.markers.arg();
    let all = properties(node);
    if all.iter().any(|property| !is_pointer(&property.name, spec)) {
        // The whole body is one JSON object.
        let object = json::object(&mut lines.json, node)?;
        return Some(format!("{object} \"\\n\""));
    }
    let mut parts = Vec::new();
    for Property {
        name,
        schema,
        is_required,
    } in &all
    {
        let is_multiline = tool.multiline.contains(&name.as_str());
        let Some(value) = lines.value(schema, is_multiline) else {
            if *is_required {
                return None;
            }
            continue;
        };
        let head = quoted(&format!("{arg}{}\n", pointer::encode(name)));
        let part = format!("{head} {value} \"\\n\"");
        parts.push(if *is_required {
            part
        } else {
            format!("({part})?")
        });
    }
    if let Some(schema) = additional(node)
        && let Some(value) = lines.value(&schema, false)
    {
        let names: Vec<String> = all.into_iter().map(|property| property.name).collect();
        let class = Class::of(&[('A', 'Z'), ('a', 'z'), ('0', '9'), ('_', '_')]);
        let key = other_than(lines.json.rules, &names, &class);
        let one = format!("({} {key} \"\\n\" {value} \"\\n\")", quoted(arg));
        parts.push(repeat(
            &one,
            0,
            object::room(node).filter(|most| *most <= 50),
        ));
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        return Some("\"\"".to_owned());
    }
    Some(parts.join(" "))
}

/// Whether a name can be written as a pointer.
fn is_pointer(name: &str, spec: &GrammarSpec<'_>) -> bool {
    let markers = [spec.markers.start(), spec.markers.end(), spec.markers.arg()];
    !name.is_empty()
        && !name.contains(|c: char| c.is_whitespace() || c.is_control())
        && name.len() <= Limits::default().pointer
        && !markers.iter().any(|marker| name.contains(marker))
}
