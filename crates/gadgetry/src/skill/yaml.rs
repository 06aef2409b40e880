//! The YAML of front matter: one mapping, whose entries have positions.
//!
//! It is built from the parser's events, so that a mistake has a line and a column, and nothing is expanded: aliases are refused.

use std::borrow::Cow;
use std::collections::BTreeSet;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use super::error::SkillProblem as Problem;

/// Maximum nesting depth of values.
const DEPTH: usize = 32;

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl From<Marker> for Place {
    fn from(marker: Marker) -> Self {
        Self {
            line: marker.line(),
            column: marker.col() + 1,
        }
    }
}

/// A problem at a place.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) at: Place,
    pub(super) problem: Problem,
}

impl Mistake {
    pub(super) fn new(at: impl Into<Place>, problem: Problem) -> Self {
        Self {
            at: at.into(),
            problem,
        }
    }
}

/// `key: value`.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Value,
    /// The text of a value that is a scalar, whatever type it has: `1.10`, which is not the number 1.1.
    pub(super) written: Option<String>,
    /// The position of the value.
    pub(super) at: Place,
}

/// Returns the entries of the mapping in `text`, in order. An empty text has no entries.
pub(super) fn mapping(text: &str) -> Result<Vec<Entry>, Mistake> {
    let mut events = Events(Parser::new_from_str(text));
    let mut entries = Vec::new();
    loop {
        match events.next()? {
            (Event::StreamEnd, _) => return Ok(entries),
            (Event::MappingStart(_, tag), span) => {
                no_tag(tag.as_ref(), span)?;
                entries = events.entries(0)?;
                break;
            }
            (Event::Scalar(text, ScalarStyle::Plain, _, None), _) if is_null(&text) => break,
            (Event::Scalar(..) | Event::SequenceStart(..) | Event::Alias(_), span) => {
                return Err(Mistake::new(span.start, Problem::NotAMapping));
            }
            _ => {}
        }
    }
    loop {
        match events.next()? {
            (Event::StreamEnd, _) => return Ok(entries),
            (Event::DocumentStart(_), span) => {
                let problem = Problem::Unsupported("a second document");
                return Err(Mistake::new(span.start, problem));
            }
            _ => {}
        }
    }
}

struct Events<'t>(Parser<'t, saphyr_parser::StrInput<'t>>);

impl<'t> Events<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Mistake> {
        let end = |error: ScanError| {
            let problem = Problem::Yaml(error.info().to_owned());
            Mistake::new(*error.marker(), problem)
        };
        match self.0.next_event() {
            Some(event) => event.map_err(end),
            None => Ok((Event::StreamEnd, Span::empty(Marker::new(0, 1, 0)))),
        }
    }

    /// The entries up to the end of a mapping that has begun.
    fn entries(&mut self, depth: usize) -> Result<Vec<Entry>, Mistake> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            let (key, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(entries),
                (Event::Scalar(key, _, _, tag), span) => {
                    no_tag(tag.as_ref(), span)?;
                    (key.into_owned(), span)
                }
                (_, span) => {
                    let problem = Problem::Unsupported("a key that is not a plain text");
                    return Err(Mistake::new(span.start, problem));
                }
            };
            if !keys.insert(key.clone()) {
                return Err(Mistake::new(span.start, Problem::DuplicateKey { key }));
            }
            let (event, span) = self.next()?;
            let written = if let Event::Scalar(text, ..) = &event {
                Some(text.clone().into_owned())
            } else {
                None
            };
            let value = self.value(event, span, depth + 1)?;
            entries.push(Entry {
                key,
                value,
                written,
                at: span.start.into(),
            });
        }
    }

    /// The value that begins with `event`.
    fn value(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Value, Mistake> {
        let unsupported = |what| Err(Mistake::new(span.start, Problem::Unsupported(what)));
        if depth > DEPTH {
            return unsupported("a value nested this deep");
        }
        match event {
            Event::Scalar(text, style, _, tag) => {
                no_tag(tag.as_ref(), span)?;
                Ok(scalar(text, style))
            }
            Event::SequenceStart(_, tag) => {
                no_tag(tag.as_ref(), span)?;
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                        (event, span) => items.push(self.value(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(_, tag) => {
                no_tag(tag.as_ref(), span)?;
                let entries = self.entries(depth)?.into_iter();
                let entries: Map<String, Value> =
                    entries.map(|entry| (entry.key, entry.value)).collect();
                Ok(Value::Object(entries))
            }
            Event::Alias(_) => unsupported("an alias (*)"),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => unsupported("a value without an end"),
        }
    }
}

fn no_tag(tag: Option<&Cow<'_, Tag>>, span: Span) -> Result<(), Mistake> {
    match tag {
        Some(_) => Err(Mistake::new(span.start, Problem::Unsupported("a tag (!)"))),
        None => Ok(()),
    }
}

/// Null, truth values and numbers as in JSON; all else is text. So `007`, `1_000` and `0x1F` stay as written.
fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.into_owned());
    }
    match text.as_ref() {
        null if is_null(null) => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number => match number.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(text.into_owned()),
        },
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}
