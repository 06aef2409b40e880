//! Parses gadget files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gadgetry_proto::schema::{Example, GadgetSpec, OnInterrupt, Schema, Unterminated};
use serde::Deserialize;
use serde_json::{Value, json};
use toml::Spanned;

use super::error::{GadgetFileError, GadgetFileProblem as Problem};
use super::{CommandGadget, ResultForm, duration};
use crate::toolbox::check_examples;
use gadgetry_files as files;
use gadgetry_files::toml_text::{self, position};

/// Maximum bytes of a gadget file.
const LIMIT: u64 = 16 << 20;

/// Reads the gadgets of a TOML file, in their order.
///
/// Fails if the file cannot be read, if an entry is not a valid gadget, or if a program does not exist; the error has the
/// position in the file.
pub fn load(path: &Path) -> Result<Vec<CommandGadget>, GadgetFileError> {
    let read = |error| GadgetFileError::Read {
        path: path.to_owned(),
        error,
    };
    let text = files::text(path, LIMIT).map_err(read)?;
    // A later change of the working directory must not change which program a gadget is.
    let absolute = std::path::absolute(path).map_err(read)?;
    let folder = absolute.parent().unwrap_or(&absolute);
    parse(&text, folder).map_err(|mistake| {
        let (line, column) = position(&text, mistake.at);
        GadgetFileError::Invalid {
            path: path.to_owned(),
            line,
            column,
            problem: mistake.problem,
        }
    })
}

type Mistake = toml_text::Mistake<Problem>;

fn parse(text: &str, folder: &Path) -> Result<Vec<CommandGadget>, Mistake> {
    let file: File = toml_text::parse(text).map_err(|mistake| mistake.map(Problem::Toml))?;
    // By name in lower case: where it first was.
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut gadgets = Vec::new();
    for table in file.gadget {
        let (name, gadget) = gadget(table, folder)?;
        let key = name.get_ref().to_lowercase();
        if let Some(first) = names.get(&key) {
            let problem = Problem::DuplicateName {
                name: name.get_ref().clone(),
                first_line: position(text, *first).0,
            };
            return Err(Mistake::new(&name.span(), problem));
        }
        names.insert(key, name.span().start);
        gadgets.push(gadget);
    }
    Ok(gadgets)
}

/// One `[[gadget]]` and its name, which must differ from the others.
fn gadget(
    table: Spanned<Table>,
    folder: &Path,
) -> Result<(Spanned<String>, CommandGadget), Mistake> {
    let whole = table.span();
    let table = table.into_inner();
    let missing = |key, example| Mistake::new(&whole, Problem::MissingKey { key, example });
    let name = (table.name).ok_or_else(|| missing("name", "\"Fetch\""))?;
    let description = (table.description)
        .filter(|description| !description.trim().is_empty())
        .ok_or_else(|| missing("description", "\"Fetches the page at a URL\""))?;
    let command = (table.command).ok_or_else(|| missing("command", "[\"./fetch.sh\"]"))?;
    check_name(&name)?;
    let (program, arguments) = program(&command, folder)?;
    let places: Vec<_> = (table.examples.iter())
        .map(|example| example.params.span())
        .collect();
    let schema = schema(table.parameters, &whole)?;
    let spec = GadgetSpec {
        name: name.get_ref().clone(),
        description,
        parameters: schema.value().clone(),
        examples: (table.examples.into_iter())
            .map(example)
            .collect::<Result<_, _>>()?,
        timeout_ms: table.timeout.as_ref().map(timeout).transpose()?,
        max_concurrent: table.max_concurrent.as_ref().map(concurrency).transpose()?,
        exclusive: table.exclusive,
        unterminated: table.unterminated,
        on_interrupt: table.on_interrupt,
        ..GadgetSpec::default()
    };
    check_examples(&spec, &schema).map_err(|unfit| {
        let place = places.get(unfit.number - 1).unwrap_or(&whole);
        Mistake::new(place, Problem::Example(Box::new(unfit.into())))
    })?;
    let gadget = CommandGadget::new(spec, program, arguments)
        .env(table.env)
        .result(match table.result {
            WrittenForm::Text => ResultForm::Text,
            WrittenForm::Jsonl => ResultForm::JsonLines,
        });
    Ok((name, gadget))
}

fn check_name(name: &Spanned<String>) -> Result<(), Mistake> {
    let text = name.get_ref();
    if GadgetSpec::is_valid_name(text) {
        return Ok(());
    }
    let problem = Problem::InvalidName { name: text.clone() };
    Err(Mistake::new(&name.span(), problem))
}

/// The program and its arguments. With a slash it is a path relative to `folder`; otherwise it is searched in `PATH`.
fn program(
    command: &Spanned<Vec<String>>,
    folder: &Path,
) -> Result<(PathBuf, Vec<String>), Mistake> {
    match command.get_ref().split_first() {
        Some((program, arguments)) if !program.is_empty() => {
            let path = if program.contains('/') {
                // Taken apart and joined again without the `.` of `./program`.
                folder.join(program).components().collect()
            } else {
                PathBuf::from(program)
            };
            if !can_be_run(&path) {
                let problem = Problem::UnknownProgram {
                    program: program.clone(),
                };
                return Err(Mistake::new(&command.span(), problem));
            }
            if reads_its_script(&path, arguments) {
                let shell = program.clone();
                return Err(Mistake::new(&command.span(), Problem::BareShell { shell }));
            }
            Ok((path, arguments.to_vec()))
        }
        _ => Err(Mistake::new(&command.span(), Problem::EmptyCommand)),
    }
}

/// Returns whether this is a shell whose script is its stdin, where the parameters are.
fn reads_its_script(program: &Path, arguments: &[String]) -> bool {
    const SHELLS: [&str; 8] = ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"];
    let name = program.file_stem().and_then(|name| name.to_str());
    // An option can be a cluster: `-ec`. What follows the options is the script, or the name of its file.
    let mut options = arguments
        .iter()
        .take_while(|argument| argument.starts_with(['-', '+']));
    let has_script = options.any(|option| !option.starts_with("--") && option.contains('c'))
        || arguments.iter().any(|it| !it.starts_with(['-', '+']));
    name.is_some_and(|name| SHELLS.contains(&name)) && !has_script
}

/// Returns whether a program of this name exists now. If it is gone when it is called, that is an error.
fn can_be_run(program: &Path) -> bool {
    if program.components().count() > 1 || program.is_absolute() {
        return is_executable(program);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_executable(&folder.join(program)))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns `true`: programs have suffixes that depend on the system, so the system decides.
#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    true
}

/// Returns the schema. A table of properties alone, which is an easy mistake, would be a schema that admits everything; so the
/// type is required.
fn schema(written: Option<Spanned<toml::Table>>, whole: &Range<usize>) -> Result<Schema, Mistake> {
    let (schema, span) = match written {
        None => (json!({ "type": "object", "properties": {} }), whole.clone()),
        Some(written) => {
            let span = written.span();
            let table = toml::Value::Table(written.into_inner());
            (to_json(table, &span)?, span)
        }
    };
    if schema["type"] != "object" {
        return Err(Mistake::new(&span, Problem::NotAnObjectSchema));
    }
    Schema::new(schema).map_err(|error| Mistake::new(&span, Problem::Schema(error)))
}

fn example(written: WrittenExample) -> Result<Example, Mistake> {
    let span = written.params.span();
    Ok(Example {
        params: to_json(toml::Value::Table(written.params.into_inner()), &span)?,
        output: written.output,
        comment: written.comment,
    })
}

fn timeout(text: &Spanned<String>) -> Result<u64, Mistake> {
    let duration = duration::parse(text.get_ref());
    let milliseconds = duration.and_then(|it| u64::try_from(it.as_millis()).ok());
    // Less than a millisecond is not nothing.
    milliseconds.map(|it| it.max(1)).ok_or_else(|| {
        let (span, text) = (text.span(), text.get_ref().clone());
        Mistake::new(&span, Problem::InvalidDuration { text })
    })
}

fn concurrency(limit: &Spanned<u32>) -> Result<u32, Mistake> {
    match *limit.get_ref() {
        0 => Err(Mistake::new(&limit.span(), Problem::NoConcurrency)),
        limit => Ok(limit),
    }
}

/// Converts a value to JSON; dates become text. `span` is its position.
fn to_json(value: toml::Value, span: &Range<usize>) -> Result<Value, Mistake> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => {
            let finite = serde_json::Number::from_f64(number).ok_or_else(|| {
                let value = number.to_string();
                Mistake::new(span, Problem::NotJson { value })
            });
            Value::Number(finite?)
        }
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(items) => {
            let items = items.into_iter().map(|item| to_json(item, span));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let entries = table.into_iter();
            let entries = entries.map(|(key, value)| Ok((key, to_json(value, span)?)));
            Value::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    gadget: Vec<Spanned<Table>>,
}

/// A `[[gadget]]` as written. Required keys are optional here, so that the error for a missing one is ours.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Table {
    name: Option<Spanned<String>>,
    description: Option<String>,
    command: Option<Spanned<Vec<String>>>,
    timeout: Option<Spanned<String>>,
    max_concurrent: Option<Spanned<u32>>,
    #[serde(default)]
    exclusive: bool,
    unterminated: Option<Unterminated>,
    #[serde(default, alias = "on_interrupt")]
    on_interrupt: OnInterrupt,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    result: WrittenForm,
    parameters: Option<Spanned<toml::Table>>,
    #[serde(default)]
    examples: Vec<WrittenExample>,
}

/// `result` as written.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenForm {
    #[default]
    Text,
    Jsonl,
}

/// A `[[gadget.examples]]` as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExample {
    params: Spanned<toml::Table>,
    output: Option<String>,
    comment: Option<String>,
}
