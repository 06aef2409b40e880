//! Writes a gadget block: the inverse of reading one.
//!
//! Each leaf of the parameters becomes one argument. A leaf whose text would be read as something else is not written as
//! one: the nearest array or object around it that the schema admits as JSON, or else the whole
//! body is one JSON object. Before anything is written, the arguments are read back with the very functions that
//! read a reply.

mod error;

use std::fmt::Write as _;

use serde_json::Value;

use crate::block::markers::Anchoring;
use crate::block::markers::Markers;
use crate::json::depth;
use crate::limits::Limits;
use crate::schema::Container;
use crate::schema::Schema;
use crate::schema::View;
use crate::schema::coerce;
use crate::schema::container;
use crate::schema::parameters;
use crate::schema::pointer;

pub use error::WriteError;

/// Writes gadget blocks that are read back as the same call.
///
/// ```
/// use gadgetry_proto::block::{Anchoring, Markers, Writer};
/// use serde_json::json;
///
/// let markers = Markers::default();
/// let writer = Writer { markers: &markers, anchoring: Anchoring::LineStart };
/// let mut block = String::new();
/// writer.write(&mut block, "Cook", Some("k"), &["soup"], &json!({ "dish": ["pie"] }), None)?;
/// assert_eq!(block, "!!!GADGET_START:Cook:k:soup\n!!!ARG:dish/0\npie\n!!!GADGET_END\n");
/// # Ok::<(), gadgetry_proto::block::WriteError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The markers of the block.
    pub markers: &'a Markers,
    /// The places where the reader takes a marker for one.
    pub anchoring: Anchoring,
}

impl Writer<'_> {
    /// Appends one block and a newline to `out`, on a line of its own. After an error, `out` is as before.
    ///
    /// Parameters that the schema does not admit are written, too, but may be read back with other types.
    pub fn write(
        &self,
        out: &mut String,
        name: &str,
        id: Option<&str>,
        dependencies: &[impl AsRef<str>],
        parameters: &Value,
        schema: Option<&Schema>,
    ) -> Result<(), WriteError> {
        let header = self.header(name, id, dependencies)?;
        let body = self.body(parameters, schema)?;
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        let (start, end) = (self.markers.start(), self.markers.end());
        // Writing to a string does not fail.
        let _ = writeln!(out, "{start}{header}\n{body}{end}");
        Ok(())
    }

    fn header(
        &self,
        name: &str,
        id: Option<&str>,
        dependencies: &[impl AsRef<str>],
    ) -> Result<String, WriteError> {
        let bare = |part: &str| {
            !part.is_empty()
                && part.trim() == part
                && !part.contains(|c: char| c == ':' || c.is_control())
        };
        if !bare(name) {
            return Err(WriteError::Name(name.to_owned()));
        }
        let mut header = name.to_owned();
        if id.is_some() || !dependencies.is_empty() {
            header.push(':');
            header.push_str(id.unwrap_or_default());
        }
        let ids = id.into_iter().chain(dependencies.iter().map(AsRef::as_ref));
        if let Some(bad) = ids.into_iter().find(|id| !bare(id) || id.contains(',')) {
            return Err(WriteError::Id(bad.to_owned()));
        }
        for (index, dependency) in dependencies.iter().enumerate() {
            let before = &dependencies[..index];
            if before.iter().any(|it| it.as_ref() == dependency.as_ref()) {
                let dependency = dependency.as_ref().to_owned();
                return Err(WriteError::RepeatedDependency(dependency));
            }
            header.push(if index == 0 { ':' } else { ',' });
            header.push_str(dependency.as_ref());
        }
        if self.has_marker(&header) {
            return Err(WriteError::HeaderMarker);
        }
        let limit = Limits::default().header;
        if header.len() > limit {
            return Err(WriteError::LongHeader { limit });
        }
        Ok(header)
    }

    fn body(&self, value: &Value, schema: Option<&Schema>) -> Result<String, WriteError> {
        let Value::Object(map) = value else {
            return Err(WriteError::NotAnObject);
        };
        let limits = Limits::default();
        let mut leaves = Leaves {
            writer: self,
            arguments: Vec::new(),
        };
        let root = schema.map(Schema::root);
        let is_writable = map.iter().all(|(key, value)| {
            let place = root.as_ref().map(|root| root.property(key));
            leaves.tell(&pointer::encode(key), value, place.as_ref())
        });
        let marker = self.markers.arg();
        if is_writable {
            let arguments = leaves
                .arguments
                .iter()
                .map(|(p, text)| (p.as_str(), text.as_str()));
            if parameters(arguments, schema, marker, &limits).as_ref() == Ok(value) {
                let mut body = String::new();
                for (pointer, text) in &leaves.arguments {
                    let _ = writeln!(body, "{marker}{pointer}");
                    self.push_text(&mut body, text);
                    body.push('\n');
                }
                return Ok(body);
            }
        }
        let limit = limits.levels();
        if depth(value) > limit {
            return Err(WriteError::TooDeep { limit });
        }
        let mut body = self.json(value).ok_or(WriteError::Marker)?;
        body.push('\n');
        Ok(body)
    }

    /// Appends a value text; at line starts, what looks like a marker gets one more backslash.
    fn push_text(&self, body: &mut String, text: &str) {
        if self.anchoring == Anchoring::Anywhere {
            body.push_str(text);
            return;
        }
        for line in text.split_inclusive('\n') {
            let inner = line.trim_start_matches([' ', '\t']);
            let (blanks, _) = line.split_at(line.len() - inner.len());
            body.push_str(blanks);
            if self.starts_with_marker(inner.trim_start_matches('\\')) {
                body.push('\\');
            }
            body.push_str(inner);
        }
    }

    /// Returns `true` if a text is read back unchanged between two argument lines.
    fn carries(&self, text: &str) -> bool {
        let escapable = self.anchoring == Anchoring::LineStart
            && !self.each().iter().any(|marker| marker.starts_with('\\'));
        !text.ends_with('\r') && (escapable || !self.has_marker(text))
    }

    /// The value as JSON in one line without markers; `None` if a marker is part of the syntax itself.
    fn json(&self, value: &Value) -> Option<String> {
        let json = serde_json::to_string(value).unwrap_or_default();
        if !self.has_marker(&json) {
            return Some(json);
        }
        let mut text = String::with_capacity(json.len() + 8);
        let (mut in_string, mut escaped) = (false, false);
        for (at, c) in json.char_indices() {
            let ordinary = in_string && !escaped && c != '"' && c != '\\';
            if ordinary && self.starts_with_marker(&json[at..]) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            } else {
                text.push(c);
            }
            in_string ^= c == '"' && !escaped;
            escaped = in_string && c == '\\' && !escaped;
        }
        (!self.has_marker(&text)).then_some(text)
    }

    fn each(&self) -> [&str; 3] {
        [self.markers.start(), self.markers.end(), self.markers.arg()]
    }

    fn has_marker(&self, text: &str) -> bool {
        self.each().iter().any(|marker| text.contains(marker))
    }

    fn starts_with_marker(&self, text: &str) -> bool {
        self.each().iter().any(|marker| text.starts_with(marker))
    }
}

/// Arguments, one for each leaf that can be written as text.
struct Leaves<'a> {
    writer: &'a Writer<'a>,
    arguments: Vec<(String, String)>,
}

impl Leaves<'_> {
    /// Writes a value as arguments at and below a pointer; `false`, and no arguments, if that cannot be done.
    fn tell(&mut self, pointer: &str, value: &Value, place: Option<&View<'_>>) -> bool {
        if !self.writable(pointer) {
            return false;
        }
        let before = self.arguments.len();
        if self.tell_children(pointer, value, place) {
            return true;
        }
        self.arguments.truncate(before);
        let json = || self.writer.json(value);
        let text = value.as_str().map(str::to_owned).or_else(json);
        let fits = |text: &String| self.writer.carries(text) && coerce(text, place) == *value;
        // A place without a type takes a string in quotes, too.
        let Some(text) = text.filter(fits).or_else(|| json().filter(fits)) else {
            return false;
        };
        self.arguments.push((pointer.to_owned(), text));
        true
    }

    /// Writes a non-empty array or object by its children.
    fn tell_children(&mut self, pointer: &str, value: &Value, place: Option<&View<'_>>) -> bool {
        match value {
            Value::Array(items) => {
                !items.is_empty()
                    && container(place, "0") == Container::Array
                    && items.iter().enumerate().all(|(index, item)| {
                        let place = place.map(|place| place.item(index));
                        self.tell(&format!("{pointer}/{index}"), item, place.as_ref())
                    })
            }
            Value::Object(map) => {
                let first = map.keys().next();
                first.is_some_and(|key| container(place, key) == Container::Object)
                    && map.iter().all(|(key, value)| {
                        let place = place.map(|place| place.property(key));
                        let pointer = format!("{pointer}/{}", pointer::encode(key));
                        self.tell(&pointer, value, place.as_ref())
                    })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    /// Returns `true` if a pointer can be written in an argument line. One with an empty key is legal, but easily misread.
    fn writable(&self, pointer: &str) -> bool {
        let limits = Limits::default();
        !pointer.contains(|c: char| c.is_whitespace() || c.is_control())
            && pointer.split('/').all(|segment| !segment.is_empty())
            && pointer.len() <= limits.pointer
            && pointer.split('/').count() <= limits.levels()
            && !self.writer.has_marker(pointer)
    }
}

#[cfg(test)]
#[cfg(feature = "engine")]
mod tests;
