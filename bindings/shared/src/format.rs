//! Markers, forms, the parser's options, prompts, calls as text.

use std::collections::HashMap;

use gadgetry_proto::block::{Anchoring, Markers, Writer};
use gadgetry_proto::reply::{BlockParser, Format, ReplyEvent, Scanner};
use gadgetry_proto::schema::Schema;
#[cfg(feature = "runtime")]
use gadgetry_proto::{
    call_form::CallForm,
    prompt::{CallStyle, PromptTemplate},
    schema::{GadgetSpec, Registry},
};
use serde_json::{Map, Value};

use crate::Problem;
use crate::fields::Fields;

/// Start, end and argument marker.
pub type MarkerTexts = (String, String, String);

/// Reads the form of calls.
#[cfg(feature = "runtime")]
pub fn form(form: &str) -> Result<CallForm, Problem> {
    match form {
        "block" => Ok(CallForm::Block),
        "json" => Ok(CallForm::Json),
        other => Err(Problem::choice("form", other, "`block` or `json`")),
    }
}

/// Reads the markers: start, end, argument.
pub fn markers(markers: Option<MarkerTexts>) -> Result<Markers, Problem> {
    let Some((start, end, argument)) = markers else {
        return Ok(Markers::default());
    };
    Markers::new(start, end, argument).map_err(|error| Problem::classified("ConfigError", &error))
}

/// Reads where markers count.
pub fn anchoring(anchoring: &str) -> Result<Anchoring, Problem> {
    match anchoring {
        "anywhere" => Ok(Anchoring::Anywhere),
        "line_start" => Ok(Anchoring::LineStart),
        other => {
            let admitted = "`anywhere` or `line_start`";
            Err(Problem::choice("anchoring", other, admitted))
        }
    }
}

/// Makes a parser of replies.
pub fn scanner(
    tags: Vec<String>,
    reasoning: Vec<String>,
    markers: Option<MarkerTexts>,
    anchoring: &str,
) -> Result<Scanner, Problem> {
    let format = Format {
        markers: Some(self::markers(markers)?),
        anchoring: self::anchoring(anchoring)?,
        tags,
        reasoning,
        ..Format::default()
    };
    Scanner::new(&format).map_err(|error| Problem::classified("ConfigError", &error))
}

/// Makes a parser of replies of the options `tags`, `reasoning`, `markers` and `anchoring`.
pub fn scanner_of(options: &mut Fields) -> Result<Scanner, Problem> {
    let anchoring = options.text("anchoring")?;
    scanner(
        options.texts("tags")?.unwrap_or_default(),
        options.texts("reasoning")?.unwrap_or_default(),
        markers_of(options)?,
        anchoring.as_deref().unwrap_or("anywhere"),
    )
}

/// Takes the option `markers` out.
fn markers_of(options: &mut Fields) -> Result<Option<MarkerTexts>, Problem> {
    let Some(texts) = options.texts("markers")? else {
        return Ok(None);
    };
    let wrong = |_| Problem::wrong_type("markers: expected three strings");
    let [start, end, argument] = texts.try_into().map_err(wrong)?;
    Ok(Some((start, end, argument)))
}

/// A parser of replies, with the schemas of the gadgets that are called in them.
#[derive(Debug)]
pub struct Replies {
    scanner: Scanner,
    schemas: HashMap<String, Schema>,
    folded: fn(&str) -> String,
}

impl Replies {
    /// Compiles the schemas. Names are compared as `folded` returns them.
    pub fn new(
        scanner: Scanner,
        schemas: impl IntoIterator<Item = (String, Value)>,
        folded: fn(&str) -> String,
    ) -> Result<Self, Problem> {
        let compiled = schemas
            .into_iter()
            .map(|(name, schema)| Ok((folded(&name), self::schema(schema)?)));
        Ok(Self {
            scanner,
            schemas: compiled.collect::<Result<_, Problem>>()?,
            folded,
        })
    }

    /// Makes it of its options, as JSON.
    pub fn of(options: &str, folded: fn(&str) -> String) -> Result<Self, Problem> {
        let mut options = Fields::parse(options)?;
        let scanner = scanner_of(&mut options)?;
        let schemas = match options.value("schemas") {
            None => Map::new(),
            Some(Value::Object(schemas)) => schemas,
            Some(_) => return Err(Problem::wrong_type("schemas: expected an object")),
        };
        options.end("a parser")?;
        Self::new(scanner, schemas, folded)
    }

    /// Reads a piece, or what is held at the end of the reply. `see` gets each event, with the schema of a complete call.
    pub fn read(
        &mut self,
        piece: Option<&str>,
        see: &mut dyn FnMut(&ReplyEvent<'_>, Option<&Schema>),
    ) {
        let Self {
            scanner,
            schemas,
            folded,
        } = self;
        let mut see = |event: ReplyEvent<'_>| {
            let schema = match &event {
                ReplyEvent::Call(call) if !schemas.is_empty() => {
                    schemas.get(&folded(call.header().gadget_name()))
                }
                _ => None,
            };
            see(&event, schema);
        };
        match piece {
            Some(piece) => scanner.push(piece, &mut see),
            None => scanner.finish(&mut see),
        }
    }
}

/// Compiles a schema.
pub fn schema(schema: Value) -> Result<Schema, Problem> {
    Schema::new(schema).map_err(|error| Problem::classified("SchemaError", &error))
}

/// Reads a reply, and returns its events as JSON lines, as `gadgetry parse` writes them.
pub fn parse_json(mut scanner: Scanner, chunks: &[String]) -> String {
    let mut lines = Vec::new();
    let mut see = |event: ReplyEvent<'_>| {
        event.write_json(None, &mut lines);
        lines.push(b'\n');
    };
    for chunk in chunks {
        scanner.push(chunk, &mut see);
    }
    scanner.finish(&mut see);
    String::from_utf8(lines).unwrap_or_default()
}

/// Counts the events of a reply, without an object for any: what the parser costs in Rust alone.
pub fn count_events(chunks: &[String]) -> usize {
    let mut parser = BlockParser::default();
    let mut count = 0;
    let mut see = |event: ReplyEvent<'_>| {
        std::hint::black_box(&event);
        count += 1;
    };
    for chunk in chunks {
        parser.push(chunk, &mut see);
    }
    parser.finish(&mut see);
    count
}

/// A call that is to be written.
#[derive(Debug)]
pub struct WrittenCall<'a> {
    /// The gadget.
    pub name: &'a str,
    /// The parameters.
    pub parameters: &'a Value,
    /// The id; without one the parser gives it one.
    pub id: Option<&'a str>,
    /// Ids of calls that must be done first.
    pub dependencies: &'a [String],
}

/// Writes a call as a block that the parser reads as the same call.
pub fn write_call(
    call: &WrittenCall<'_>,
    markers: Option<MarkerTexts>,
    anchoring: &str,
    schema: Option<Value>,
) -> Result<String, Problem> {
    let schema = schema.map(self::schema).transpose()?;
    let writer = Writer {
        markers: &self::markers(markers)?,
        anchoring: self::anchoring(anchoring)?,
    };
    let mut block = String::new();
    let written = writer.write(
        &mut block,
        call.name,
        call.id,
        call.dependencies,
        call.parameters,
        schema.as_ref(),
    );
    written.map_err(|error| Problem::classified("ConfigError", &error))?;
    Ok(block)
}

/// [`write_call`], with the options `id`, `dependencies`, `markers`, `anchoring` and `schema`.
pub fn write_call_of(
    name: &str,
    parameters: &Value,
    mut options: Fields,
) -> Result<String, Problem> {
    let id = options.text("id")?;
    let dependencies = options.texts("dependencies")?.unwrap_or_default();
    let markers = markers_of(&mut options)?;
    let anchoring = options.text("anchoring")?;
    let schema = options.value("schema");
    options.end("a call")?;
    let call = WrittenCall {
        name,
        parameters,
        id: id.as_deref(),
        dependencies: &dependencies,
    };
    let anchoring = anchoring.as_deref().unwrap_or("anywhere");
    write_call(&call, markers, anchoring, schema)
}

/// [`instructions`], with the options `form`, `markers` and `anchoring`.
#[cfg(feature = "runtime")]
pub fn instructions_of(specs: Vec<GadgetSpec>, mut options: Fields) -> Result<String, Problem> {
    let form: Option<String> = options.take("form")?;
    let anchoring: Option<String> = options.take("anchoring")?;
    let markers = options.take("markers")?;
    options.end("a prompt")?;
    let form = form.as_deref().unwrap_or("block");
    let anchoring = anchoring.as_deref().unwrap_or("anywhere");
    instructions(specs, form, markers, anchoring)
}

/// The text for the system message that describes gadgets and how to call them.
#[cfg(feature = "runtime")]
pub fn instructions(
    specs: Vec<GadgetSpec>,
    form: &str,
    markers: Option<MarkerTexts>,
    anchoring: &str,
) -> Result<String, Problem> {
    let registry =
        Registry::new(specs).map_err(|error| Problem::classified("SchemaError", &error))?;
    let style = CallStyle {
        form: self::form(form)?,
        markers: &self::markers(markers)?,
        anchoring: self::anchoring(anchoring)?,
    };
    let text = PromptTemplate::default().render_registry(&registry, style);
    Ok(text.unwrap_or_default())
}
