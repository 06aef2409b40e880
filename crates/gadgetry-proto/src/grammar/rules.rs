//! The text of a grammar: rules by name, terminals in quotes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::GrammarError;

/// Rules in the order in which they were added. Equal bodies share a rule.
#[derive(Debug, Default)]
pub(super) struct Rules {
    all: Vec<(String, String)>,
    by_body: BTreeMap<String, String>,
    bytes: usize,
}

impl Rules {
    /// Adds a rule, or finds one with the same body.
    pub(super) fn add(&mut self, hint: &str, body: &str) -> String {
        if let Some(name) = self.by_body.get(body) {
            return name.clone();
        }
        let name = self.reserve(hint);
        self.by_body.insert(body.to_owned(), name.clone());
        self.define(&name, body);
        name
    }

    /// Makes a name for a rule that refers to itself.
    pub(super) fn reserve(&mut self, hint: &str) -> String {
        let name = format!("{hint}-{}", self.all.len());
        self.all.push((name.clone(), String::new()));
        name
    }

    /// Defines a rule of [`reserve`](Self::reserve).
    pub(super) fn define(&mut self, name: &str, body: &str) {
        if let Some(rule) = self.all.iter_mut().find(|(own, _)| own == name) {
            body.clone_into(&mut rule.1);
            self.bytes += size(name, body);
        }
    }

    /// Adds a rule with this very name, once.
    pub(super) fn named(&mut self, name: &str, body: &str) -> String {
        if !self.all.iter().any(|(own, _)| own == name) {
            self.all.push((name.to_owned(), String::new()));
            self.define(name, body);
        }
        name.to_owned()
    }

    /// Number of rules.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Removes all rules but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for (name, body) in self.all.drain(len..) {
            if self.by_body.get(&body) == Some(&name) {
                self.by_body.remove(&body);
            }
            if !body.is_empty() {
                self.bytes -= size(&name, &body);
            }
        }
    }

    /// Bytes of all rules.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the grammar, its first rule `root`.
    pub(super) fn text(&self, root: &str, limit: usize) -> Result<String, GrammarError> {
        let mut out = format!("root ::= {root}\n");
        for (name, body) in &self.all {
            if !body.is_empty() {
                // Writing to a string does not fail.
                let _ = writeln!(out, "{name} ::= {body}");
            }
        }
        if out.len() > limit {
            return Err(GrammarError::TooLarge { limit });
        }
        Ok(out)
    }
}

/// Bytes of the line of a rule.
fn size(name: &str, body: &str) -> usize {
    name.len() + body.len() + 6
}

/// A text as a terminal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() && u32::from(c) < 0x100 => {
                let _ = write!(out, "\\x{:02X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// One of several expressions, in brackets if there are several.
pub(super) fn one_of(mut all: Vec<String>) -> Option<String> {
    let mut seen = Vec::new();
    all.retain(|one| {
        let is_new = !seen.contains(one);
        if is_new {
            seen.push(one.clone());
        }
        is_new
    });
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(format!("({})", all.join(" | "))),
    }
}

/// An expression this often; `None` is any number of times.
pub(super) fn repeat(one: &str, least: u32, most: Option<u32>) -> String {
    match (least, most) {
        (_, Some(0)) => String::new(),
        (1, Some(1)) => one.to_owned(),
        (0, Some(1)) => format!("{one}?"),
        (0, None) => format!("{one}*"),
        (1, None) => format!("{one}+"),
        (least, Some(most)) if least == most => format!("{one}{{{least}}}"),
        (least, Some(most)) => format!("{one}{{{least},{most}}}"),
        (least, None) => format!("{one}{{{least},}}"),
    }
}

/// Expressions one after another; empty ones are left out.
pub(super) fn sequence<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|part| !matches!(*part, "" | "\"\""))
        .collect();
    if parts.is_empty() {
        "\"\"".to_owned()
    } else {
        parts.join(" ")
    }
}
