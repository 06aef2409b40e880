//! What must hold for any bytes. The fuzz targets in `fuzz/` and `tests/properties.rs` call the same functions:
//! each returns, or panics with what was violated.

use gadgetry_proto::block::{Anchoring, Markers, Writer};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{BlockParser, Format, ReplyEvent, Scanner, TagParser};
use gadgetry_proto::schema::{Schema, coerce};
use serde_json::{Value, json};

const TAGS: [&str; 3] = ["think", "done", "n"];

const ANCHORINGS: [Anchoring; 2] = [Anchoring::Anywhere, Anchoring::LineStart];

/// The block parser and the writer: cuts change nothing, and what is written is read back.
pub fn block(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for anchoring in ANCHORINGS {
        let parser = BlockParser::new(Markers::default(), anchoring, limits(data));
        let tell = |pieces: &[&str]| {
            let mut parser = parser.clone();
            let mut told = Told::default();
            for piece in pieces {
                parser.push(piece, &mut |event| told.hear(&event));
            }
            parser.finish(&mut |event| told.hear(&event));
            told.lines
        };
        assert_eq!(
            tell(&[&text]),
            tell(&pieces(&text, data)),
            "cut elsewhere: {text:?}"
        );
        read_back(
            &json!({ "text": text, "list": [text, "", 1] }),
            None,
            anchoring,
        );
    }
}

/// The tag parser.
pub fn tag(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parser = TagParser::new(&TAGS, limits(data)).expect("they are names");
    let tell = |pieces: &[&str]| {
        let mut parser = parser.clone();
        let mut told = Told::default();
        for piece in pieces {
            parser.push(piece, &mut |event| told.hear(&event));
        }
        parser.finish(&mut |event| told.hear(&event));
        told.lines
    };
    assert_eq!(
        tell(&[&text]),
        tell(&pieces(&text, data)),
        "cut elsewhere: {text:?}"
    );
}

/// The one scanner, with gadgets and tags at once, saved and restored after every piece.
pub fn reply(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for anchoring in ANCHORINGS {
        let format = Format {
            markers: Some(Markers::default()),
            anchoring,
            tags: TAGS.map(str::to_owned).to_vec(),
            limits: limits(data),
            ..Format::default()
        };
        let new = || Scanner::new(&format).expect("they are names");
        let mut whole = Told::default();
        let mut scanner = new();
        scanner.push(&text, &mut |event| whole.hear(&event));
        scanner.finish(&mut |event| whole.hear(&event));

        let mut cut = Told::default();
        let mut scanner = new();
        for piece in pieces(&text, data) {
            scanner.push(piece, &mut |event| cut.hear(&event));
            let state = serde_json::to_string(scanner.state()).expect("it is plain data");
            scanner = new();
            scanner.restore(serde_json::from_str(&state).expect("it was just written"));
        }
        scanner.finish(&mut |event| cut.hear(&event));
        assert_eq!(whole.lines, cut.lines, "cut elsewhere: {text:?}");

        // Whoever interrupts the text loses none of it.
        let mut scanner = new();
        for piece in pieces(&text, data) {
            scanner.push(piece, &mut |_| {});
            scanner.flush(&mut |_| {});
        }
        scanner.finish(&mut |_| {});
    }
}

/// Coercion of a text under a schema: the first line, if it is one, else one that the first byte picks. What the
/// schema admits is written so that it is read back.
pub fn coercion(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let first = usize::from(data.first().copied().unwrap_or_default());
    let (line, rest) = text.split_once('\n').unwrap_or(("", &text));
    let own = serde_json::from_str::<Value>(line).ok();
    let property = own.unwrap_or_else(|| schemas().swap_remove(first % schemas().len()));
    let plain = json!({ "x": coerce(rest, None) });
    read_back(&plain, None, ANCHORINGS[first % 2]);
    if let Ok(Value::Object(parameters)) = serde_json::from_str(rest) {
        read_back(&Value::Object(parameters), None, ANCHORINGS[first % 2]);
    }
    let Ok(schema) = Schema::new(json!({ "type": "object", "properties": { "x": property } }))
    else {
        return;
    };
    let value = coerce(rest, Some(&schema.root().property("x")));
    let parameters = json!({ "x": value });
    if schema.validate(&parameters).is_empty() {
        read_back(&parameters, Some(&schema), ANCHORINGS[first % 2]);
    }
}

fn schemas() -> Vec<Value> {
    vec![
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": "integer" }),
        json!({ "type": ["number", "null"] }),
        json!({ "type": "boolean" }),
        json!({ "enum": ["1", 1, true, null] }),
        json!({ "type": "array", "items": { "type": "integer" } }),
        json!({ "type": "object", "additionalProperties": { "type": ["boolean", "string"] } }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "string" } }] }),
    ]
}

/// Parameters, written as a block, are read as the same.
fn read_back(parameters: &Value, schema: Option<&Schema>, anchoring: Anchoring) {
    let markers = Markers::default();
    let mut text = String::new();
    let dependencies: [&str; 0] = [];
    let writer = Writer {
        markers: &markers,
        anchoring,
    };
    if writer
        .write(&mut text, "G", Some("g"), &dependencies, parameters, schema)
        .is_err()
    {
        return;
    }
    let mut parser = BlockParser::new(markers.clone(), anchoring, Limits::default());
    let mut read = Vec::new();
    let mut see = |event: ReplyEvent<'_>| match event {
        ReplyEvent::Call(block) => read.push(block.parameters(schema)),
        ReplyEvent::Text(text) => panic!("{text:?} is outside the block"),
        ReplyEvent::CallStart(_) | ReplyEvent::Argument { .. } | ReplyEvent::Diagnostic(_) => {}
        ReplyEvent::TagStart { .. }
        | ReplyEvent::TagDelta { .. }
        | ReplyEvent::TagEnd { .. }
        | ReplyEvent::Tag { .. } => panic!("there are no tags"),
    };
    parser.push(&text, &mut see);
    parser.finish(&mut see);
    assert_eq!(read, [Ok(parameters.clone())], "written as {text:?}");
}

/// Mostly the default ones.
fn limits(data: &[u8]) -> Limits {
    let small = data.last().copied().map_or(64, usize::from);
    if small >= 32 {
        return Limits::default();
    }
    Limits {
        header: small,
        pointer: small,
        block: small * 4,
        attributes: small,
        tag_content: small,
        indent: small / 8,
        whitespace: small / 4,
        ..Limits::default()
    }
}

/// The text in pieces whose lengths the data says.
fn pieces<'a>(text: &'a str, data: &[u8]) -> Vec<&'a str> {
    let mut lengths = data.iter().rev().map(|byte| usize::from(byte % 7)).cycle();
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = 1 + lengths.next().unwrap_or_default();
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(length.min(rest.len())));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// What was told, a line each, with adjacent deltas joined.
#[derive(Default)]
struct Told {
    lines: Vec<String>,
    /// What the last line is made of deltas of.
    open: String,
}

impl Told {
    fn hear(&mut self, event: &ReplyEvent<'_>) {
        match event {
            ReplyEvent::Text(text) => self.join("text ".to_owned(), text),
            ReplyEvent::Argument {
                header,
                pointer,
                delta,
                complete,
                begins: _,
            } => {
                self.join(
                    format!("argument {} {pointer} ", header.invocation_id()),
                    delta,
                );
                if *complete {
                    self.line("complete".to_owned());
                }
            }
            ReplyEvent::TagDelta { block, delta, .. } => {
                self.join(format!("content {block:?} "), delta);
            }
            ReplyEvent::Call(block) => {
                let arguments: Vec<_> = block.arguments().collect();
                let call = block.to_call(None);
                self.line(format!("{call:?} {arguments:?}"));
            }
            ReplyEvent::CallStart(_)
            | ReplyEvent::TagStart { .. }
            | ReplyEvent::TagEnd { .. }
            | ReplyEvent::Tag { .. }
            | ReplyEvent::Diagnostic(_) => self.line(format!("{event:?}")),
        }
    }

    fn join(&mut self, what: String, delta: &str) {
        match self.lines.last_mut() {
            Some(line) if self.open == what => line.push_str(delta),
            _ => {
                self.lines.push(format!("{what}{delta}"));
                self.open = what;
            }
        }
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
        self.open.clear();
    }
}
