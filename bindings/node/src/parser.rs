//! The parser of replies; prompts and calls as text.
//!
//! A chunk may cost a microsecond, so events are texts that begin with a letter, and the package makes objects of them:
//!
//! | letter | event | the rest |
//! |---|---|---|
//! | `t` | text | the text |
//! | `a`, `A` | more of an argument of the open call, or its end | length of the pointer, `:`, pointer, text |
//! | `{` | any other | the JSON of the event, with this letter |

use gadgetry::format::ReplyEvent;
use gadgetry::proto::schema::Schema;
use gadgetry_bindings::fields::Fields;
use gadgetry_bindings::format::{self, Replies};
use napi::bindgen_prelude::{Either, Null};
use napi_derive::napi;
use serde_json::Value;

use crate::errors::{bad, raised};

/// No event, one, or several.
type Events = Either<Null, Either<String, Vec<String>>>;

/// Reads a reply piece by piece.
#[napi]
pub struct Parser(Replies);

#[napi]
impl Parser {
    /// Makes it of its options, as JSON.
    #[napi(constructor)]
    pub fn new(options: String) -> napi::Result<Self> {
        let made = Replies::of(&options, str::to_lowercase);
        made.map(Self).map_err(raised)
    }

    /// Reads a piece.
    #[napi]
    pub fn feed(&mut self, chunk: String) -> Events {
        self.read(Some(&chunk))
    }

    /// Reads what is held, at the end of the reply.
    #[napi]
    pub fn finish(&mut self) -> Events {
        self.read(None)
    }

    fn read(&mut self, piece: Option<&str>) -> Events {
        let mut events = Encoded::default();
        let see = &mut |event: &ReplyEvent<'_>, schema: Option<&Schema>| events.add(event, schema);
        self.0.read(piece, see);
        events.end()
    }
}

#[derive(Default)]
struct Encoded {
    first: Option<String>,
    more: Vec<String>,
}

impl Encoded {
    fn add(&mut self, event: &ReplyEvent<'_>, schema: Option<&Schema>) {
        let text = encoded(event, schema);
        match &self.first {
            None => self.first = Some(text),
            Some(_) => self.more.push(text),
        }
    }

    fn end(mut self) -> Events {
        match self.first {
            None => Either::A(Null),
            Some(first) if self.more.is_empty() => Either::B(Either::A(first)),
            Some(first) => {
                self.more.insert(0, first);
                Either::B(Either::B(self.more))
            }
        }
    }
}

fn encoded(event: &ReplyEvent<'_>, schema: Option<&Schema>) -> String {
    match event {
        ReplyEvent::Text(text) => {
            let mut encoded = String::with_capacity(text.len() + 1);
            encoded.push('t');
            encoded.push_str(text);
            encoded
        }
        ReplyEvent::Argument {
            pointer,
            delta,
            complete,
            ..
        } => {
            let letter = if *complete { 'A' } else { 'a' };
            // JavaScript counts in units of UTF-16.
            let length = pointer.encode_utf16().count();
            format!("{letter}{length}:{pointer}{delta}")
        }
        other => {
            let mut json = Vec::new();
            other.write_json(schema, &mut json);
            String::from_utf8(json).unwrap_or_default()
        }
    }
}

/// The events of a reply as JSON lines, as `gadgetry parse` writes them: what the objects of the parser are compared with.
#[napi]
pub fn parse_json(chunks: Vec<String>, options: String) -> napi::Result<String> {
    let mut options = Fields::parse(&options).map_err(raised)?;
    let scanner = format::scanner_of(&mut options).map_err(raised)?;
    Ok(format::parse_json(scanner, &chunks))
}

/// Counts the events of a reply, without an object for any: what the parser costs in Rust alone.
#[napi]
pub fn count_events(chunks: Vec<String>) -> u32 {
    u32::try_from(format::count_events(&chunks)).unwrap_or(u32::MAX)
}

/// Writes a call as a block that the parser reads as the same call.
#[napi]
pub fn write_call(name: String, parameters: String, options: String) -> napi::Result<String> {
    let parameters: Value = serde_json::from_str(&parameters).map_err(bad)?;
    let options = Fields::parse(&options).map_err(raised)?;
    format::write_call_of(&name, &parameters, options).map_err(raised)
}

/// The text for the system message that describes gadgets and how to call them.
#[napi]
pub fn instructions(specs: String, options: String) -> napi::Result<String> {
    let specs = serde_json::from_str(&specs).map_err(bad)?;
    let options = Fields::parse(&options).map_err(raised)?;
    format::instructions_of(specs, options).map_err(raised)
}
