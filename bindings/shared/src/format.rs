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
use serde_json::Value;

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
    let anchoring: Option<String> = options.take("anchoring")?;
    scanner(
        options.take("tags")?.unwrap_or_default(),
        options.take("reasoning")?.unwrap_or_default(),
        options.take("markers")?,
        anchoring.as_deref().unwrap_or("anywhere"),
    )
}

/// Compiles a schema.
pub fn schema(schema: Value) -> Result<Schema, Problem> {
    Schema::new(schema).map_err(|error| Problem::classified("SchemaError", &error))
}

/// Schemas of parameters, by the name of the gadget in any case.
#[derive(Debug, Default)]
pub struct Schemas(HashMap<String, Schema>);

impl Schemas {
    /// Compiles them.
    pub fn new(schemas: impl IntoIterator<Item = (String, Value)>) -> Result<Self, Problem> {
        let compiled = schemas
            .into_iter()
            .map(|(name, schema)| Ok((name.to_lowercase(), self::schema(schema)?)));
        compiled.collect::<Result<_, Problem>>().map(Self)
    }

    /// Returns the schema of a gadget.
    pub fn of(&self, gadget_name: &str) -> Option<&Schema> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&gadget_name.to_lowercase())
    }
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
    let id: Option<String> = options.take("id")?;
    let dependencies: Vec<String> = options.take("dependencies")?.unwrap_or_default();
    let markers: Option<MarkerTexts> = options.take("markers")?;
    let anchoring: Option<String> = options.take("anchoring")?;
    let schema = options.take("schema")?;
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
