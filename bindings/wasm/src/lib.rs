//! The WebAssembly module of the npm package `gadgetry-wasm`: a thin shell around the parser.
//!
//! It takes and gives texts, most of them JSON. What a program sees is the package in `lib/`, which is written by hand and typed. Nothing
//! here is public.

use gadgetry_bindings::Problem;
use gadgetry_bindings::fields::Fields;
use gadgetry_bindings::format::{self, Replies};
use gadgetry_proto::reply::ReplyEvent;
use gadgetry_proto::schema::{Schema, read_plain_json};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};

#[wasm_bindgen]
extern "C" {
    /// A string of JavaScript.
    type JsString;

    #[wasm_bindgen(method, js_name = toLowerCase)]
    fn to_lower_case(this: &JsString) -> String;
}

/// A name in lower case, without the tables for it in this module.
fn folded(name: &str) -> String {
    let name: JsString = JsValue::from_str(name).unchecked_into();
    name.to_lower_case()
}

/// Reads a reply piece by piece.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Parser(Replies);

#[wasm_bindgen]
impl Parser {
    /// Makes it of its options, as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, JsValue> {
        let made = Replies::of(options, folded).map(Self);
        made.map_err(|it| raised(&it))
    }

    /// Reads a piece. Returns the events as a JSON array.
    pub fn feed(&mut self, chunk: &str) -> String {
        self.read(Some(chunk))
    }

    /// Reads what is held, at the end of the reply.
    pub fn finish(&mut self) -> String {
        self.read(None)
    }

    fn read(&mut self, piece: Option<&str>) -> String {
        let mut events = Encoded::default();
        let see = &mut |event: &ReplyEvent<'_>, schema: Option<&Schema>| events.add(event, schema);
        self.0.read(piece, see);
        events.end()
    }
}

/// Events as JSON, each after a comma.
#[derive(Default)]
struct Encoded(Vec<u8>);

impl Encoded {
    fn add(&mut self, event: &ReplyEvent<'_>, schema: Option<&Schema>) {
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
        let parameters =
            read_plain_json(parameters).map_err(|error| Problem::wrong_type(error.to_string()))?;
        format::write_call_of(name, &parameters, Fields::parse(options)?)
    };
    written().map_err(|it| raised(&it))
}

/// The problem as the text that `lib/` makes an exception of.
fn raised(problem: &Problem) -> JsValue {
    let json = serde_json::to_string(&problem.to_json());
    JsValue::from_str(&json.unwrap_or_default())
}
