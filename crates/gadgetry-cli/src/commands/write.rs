//! `gadgetry write`: gadget calls as JSON Lines in, blocks of text out.

use std::collections::HashMap;

use gadgetry::proto::block::Writer;
use gadgetry::proto::schema::{Schema, read_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json_line::object;
use crate::blocks::Blocks;
use crate::cli::WriteArgs;
use crate::error::Error;
use crate::input::Input;
use crate::printer::Printer;

pub(super) fn run(args: &WriteArgs, printer: &Printer) -> Result<(), Error> {
    let blocks = Blocks::try_from(&args.blocks)?;
    let writer = Writer {
        markers: &blocks.markers,
        anchoring: blocks.anchoring,
    };
    let mut schemas = Known::default();
    let mut text = String::new();
    Input::open(&args.file)?.lines(printer, |number, line, printer| {
        text.clear();
        write(line, writer, &mut schemas, &mut text)
            .map_err(|problem| Error::at(format_args!("line {number}"), problem))?;
        if args.jsonl {
            printer.json(&Written { text: &text })
        } else {
            printer.text(&text);
            Ok(())
        }
    })
}

/// A line of the input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Call<'a> {
    gadget_name: String,
    #[serde(default)]
    invocation_id: Option<String>,
    #[serde(default)]
    dependencies: Option<Vec<String>>,
    #[serde(borrow)]
    parameters: &'a RawValue,
    #[serde(borrow, default)]
    schema: Option<&'a RawValue>,
}

/// A line of the output.
#[derive(Serialize)]
struct Written<'a> {
    text: &'a str,
}

/// Writes one block to `text`, which is empty. `Err` says what is wrong with the line.
fn write(
    line: &[u8],
    writer: Writer<'_>,
    schemas: &mut Known,
    text: &mut String,
) -> Result<(), String> {
    let call: Call<'_> = object(line, "the line")?;
    let schema = match call.schema {
        Some(schema) => schemas.get(schema.get())?,
        None => None,
    };
    let (name, id) = (&call.gadget_name, call.invocation_id.as_deref());
    let dependencies = call.dependencies.as_deref().unwrap_or_default();
    let parameters =
        read_json(call.parameters.get()).map_err(|error| format!("parameters: {error}"))?;
    writer
        .write(text, name, id, dependencies, &parameters, schema)
        .map_err(|error| error.to_string())
}

/// Schemas by their text, for most lines of one gadget have the same one.
#[derive(Default)]
struct Known(HashMap<String, Option<Schema>>);

impl Known {
    /// Schemas that are kept.
    const KEPT: usize = 256;

    fn get(&mut self, json: &str) -> Result<Option<&Schema>, String> {
        if !self.0.contains_key(json) {
            let value: Option<Value> =
                serde_json::from_str(json).map_err(|error| format!("schema: {error}"))?;
            let schema = value.map(Schema::new).transpose();
            let schema = schema.map_err(|error| format!("schema: {error}"))?;
            if self.0.len() == Self::KEPT {
                self.0.clear();
            }
            self.0.insert(json.to_owned(), schema);
        }
        Ok(self.0.get(json).and_then(Option::as_ref))
    }
}
