//! `gadgetry parse --batch`: JSON Lines of texts in, JSON Lines of their events out.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json_line::object;
use crate::blocks::Options;
use crate::cli::ParseArgs;
use crate::error::Error;
use crate::input::Input;
use crate::printer::Printer;
use crate::reader::Reader;

pub(super) fn run(args: &ParseArgs, printer: &Printer) -> Result<(), Error> {
    let mut readers = Readers::new(Options::try_from(args)?)?;
    let (mut bad, mut first) = (0, String::new());
    Input::open(&args.file)?.lines(printer, |number, line, printer| {
        let mut out = printer.out_json();
        if let Err(problem) = answer(line, &mut readers, &mut out) {
            let error = format!("line {number}: {problem}");
            refuse(line, &error, &mut out);
            if bad == 0 {
                first.clone_from(&error);
            }
            bad += 1;
        }
        Ok(())
    })?;
    match bad {
        0 => Ok(()),
        1 => Err(Error::Input(first)),
        _ => Err(Error::Input(format!("{bad} invalid lines; {first}"))),
    }
}

/// A line of the input. What is not needed as a value is kept as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    chunks: Vec<Chunk<'a>>,
    #[serde(borrow, default)]
    options: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Chunk<'a>(#[serde(borrow)] Cow<'a, str>);

/// Appends the events of one record. After an error, nothing was appended.
fn answer(line: &[u8], readers: &mut Readers, out: &mut Vec<u8>) -> Result<(), String> {
    let record: Record<'_> = object(line, "the line")?;
    let reader = readers.get(record.options.map_or("null", RawValue::get))?;
    out.extend_from_slice(b"{\"id\":");
    out.extend_from_slice(record.id.map_or("null", RawValue::get).as_bytes());
    out.extend_from_slice(b",\"events\":[");
    for Chunk(chunk) in &record.chunks {
        reader.push(chunk, out, b',');
    }
    reader.finish(out, b',');
    if out.ends_with(b",") {
        out.pop();
    }
    out.extend_from_slice(b"]}\n");
    Ok(())
}

/// Appends the output line for an invalid input line.
fn refuse(line: &[u8], error: &str, out: &mut Vec<u8>) {
    let any = serde_json::from_slice::<serde_json::Value>(line).unwrap_or_default();
    let id = any.get("id").unwrap_or(&serde_json::Value::Null);
    // Writing to a vector does not fail.
    let _ = serde_json::to_writer(&mut *out, &serde_json::json!({ "id": id, "error": error }));
    out.push(b'\n');
}

/// Readers by the text of their options, for most lines of a batch have the same ones.
struct Readers {
    defaults: Options,
    known: HashMap<String, Reader>,
}

impl Readers {
    /// Readers that are kept.
    const KEPT: usize = 256;

    fn new(defaults: Options) -> Result<Self, Error> {
        Reader::new(&defaults).map_err(Error::Input)?;
        Ok(Self {
            defaults,
            known: HashMap::new(),
        })
    }

    fn get(&mut self, json: &str) -> Result<&mut Reader, String> {
        if !self.known.contains_key(json) {
            let options = match json {
                "null" => Options::default(),
                json => object::<Options>(json.as_bytes(), "options")
                    .map_err(|problem| format!("options: {problem}"))?,
            };
            if self.known.len() == Self::KEPT {
                self.known.clear();
            }
            let reader = Reader::new(&options.or(&self.defaults))?;
            self.known.insert(json.to_owned(), reader);
        }
        self.known.get_mut(json).ok_or_else(String::new)
    }
}
