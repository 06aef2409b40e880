//! The WebAssembly module of the npm package `gadgetry-wasm`: a thin shell around the parser.
//!
//! It takes and gives texts, most of them JSON. What a program sees is the package in `lib/`, which is written by hand and typed. Nothing
//! here is public.

use gadgetry_bindings::Problem;
use gadgetry_bindings::fields::Fields;
use gadgetry_bindings::format::{self, Schemas};
use gadgetry_proto::reply::{ReplyEvent, Scanner};
use serde_json::{Map, Value};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Reads a reply piece by piece.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Parser {
    scanner: Scanner,
    schemas: Schemas,
}

#[wasm_bindgen]
impl Parser {
    /// Makes it of its options, as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, JsValue> {
        Self::of(options).map_err(|it| raised(&it))
    }

    fn of(options: &str) -> Result<Self, Problem> {
        let mut options = Fields::parse(options)?;
        let schemas: Option<Map<String, Value>> = options.take("schemas")?;
        let made = Self {
            scanner: format::scanner_of(&mut options)?,
            schemas: Schemas::new(schemas.into_iter().flatten())?,
        };
        options.end("a parser")?;
        Ok(made)
    }

    /// Reads a piece. Returns the events as a JSON array.
    pub fn feed(&mut self, chunk: &str) -> String {
        let mut events = Encoded::default();
        let schemas = &self.schemas;
        self.scanner
            .push(chunk, &mut |event| events.add(&event, schemas));
        events.end()
    }

    /// Reads what is held, at the end of the reply.
    pub fn finish(&mut self) -> String {
        let mut events = Encoded::default();
        let schemas = &self.schemas;
        self.scanner
            .finish(&mut |event| events.add(&event, schemas));
        events.end()
    }
}

/// Events as JSON, each after a comma.
#[derive(Default)]
struct Encoded(Vec<u8>);

impl Encoded {
    fn add(&mut self, event: &ReplyEvent<'_>, schemas: &Schemas) {
        let schema = match event {
            ReplyEvent::Call(call) => schemas.of(call.header().gadget_name()),
            _ => None,
        };
        self.0.push(b',');
        event.write_json(schema, &mut self.0);
    }

    fn end(self) -> String {
        let events = String::from_utf8(self.0).unwrap_or_default();
        format!("[{}]", events.get(1..).unwrap_or_default())
    }
}

/// Writes a call as a block that the parser reads as the same call. Parameters and options are JSON.
#[wasm_bindgen]
pub fn write_call(name: &str, parameters: &str, options: &str) -> Result<String, JsValue> {
    let written = || {
        let parameters = serde_json::from_str(parameters);
        let parameters: Value =
            parameters.map_err(|error| Problem::wrong_type(error.to_string()))?;
        format::write_call_of(name, &parameters, Fields::parse(options)?)
    };
    written().map_err(|it| raised(&it))
}

/// The problem as the text that `lib/` makes an exception of.
fn raised(problem: &Problem) -> JsValue {
    JsValue::from_str(&problem.to_json().to_string())
}
