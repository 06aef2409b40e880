//! One attack as it is written in the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::victim::KEY;

/// An attack: what is sent to the program, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Row {
    /// What is tried.
    pub(crate) name: String,
    /// Who tries it: the name of the file.
    #[serde(skip)]
    pub(crate) attacker: String,
    /// The API that the server speaks.
    #[serde(default)]
    pub(crate) wire: Wire,
    /// The whole command line; without it `agent` with a prompt, a model at the server, the gadgets and a log.
    pub(crate) command: Option<Vec<String>>,
    /// More arguments of `agent`.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// What stdin holds.
    #[serde(default)]
    pub(crate) stdin: String,
    /// What the user types at each prompt of the terminal, one after the other; then `n`.
    #[serde(default)]
    pub(crate) types: Vec<String>,
    /// Whether stdout and stderr are a terminal.
    #[serde(default)]
    pub(crate) terminal: bool,
    /// Files in the folder of the program, besides the usual ones.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Symbolic links in that folder: name and target.
    #[serde(default)]
    pub(crate) links: BTreeMap<String, String>,
    /// What the server answers, in order; the last one again and again.
    #[serde(default)]
    pub(crate) replies: Vec<Reply>,
    /// What it answers to GET requests, by path; 404 to all others.
    #[serde(default)]
    pub(crate) gets: BTreeMap<String, Reply>,
    /// The calls that run, as `Name {parameters}`.
    #[serde(default)]
    pub(crate) runs: Vec<String>,
    /// The exit code; without it 0, 1, and 3 (a call was denied) are right.
    pub(crate) exit: Option<i32>,
    /// Texts on stdout or stderr.
    #[serde(default)]
    pub(crate) says: Vec<String>,
    /// Texts that neither stdout, stderr, the log nor a request body may hold.
    #[serde(default)]
    pub(crate) hides: Vec<String>,
    /// Texts that no request may hold.
    #[serde(default)]
    pub(crate) unsent: Vec<String>,
    /// Texts that some request holds.
    #[serde(default)]
    pub(crate) sends: Vec<String>,
    /// Files that must be as they were.
    #[serde(default)]
    pub(crate) untouched: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Wire {
    /// Chat Completions.
    #[default]
    Chat,
    /// The legacy Completions.
    Completions,
    /// Messages.
    Messages,
}

/// One answer of the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Reply {
    #[serde(default = "ok")]
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Visible text, in deltas of one text each.
    #[serde(default)]
    pub(crate) text: Vec<String>,
    /// Calls through the API's own interface.
    #[serde(default)]
    pub(crate) calls: Vec<Call>,
    /// Frames of the API as they are, after text and calls.
    #[serde(default)]
    pub(crate) frames: Vec<Value>,
    /// Why the reply ended, whatever JSON; absent: the server does not say.
    #[serde(default, deserialize_with = "present")]
    pub(crate) finish: Option<Value>,
    /// Whether the stream has its last frame, `[DONE]` or `message_stop`.
    #[serde(default = "yes")]
    pub(crate) done: bool,
    /// The body as it is, in place of all that.
    pub(crate) body: Option<String>,
    /// The text of the request's last message, as a model that repeats what it reads would write it.
    #[serde(default)]
    pub(crate) echo: bool,
    /// A text that is sent as a delta until the program has had enough, or a comment of the event stream.
    pub(crate) endless: Option<Endless>,
    /// How the connection ends.
    #[serde(default)]
    pub(crate) end: End,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Call {
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) index: Option<u64>,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: String,
    /// Whether the Messages API ends the block of the call.
    #[serde(default = "yes")]
    pub(crate) closed: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Endless {
    /// Text deltas.
    Text(String),
    /// Reasoning deltas.
    Reasoning(String),
    /// Comments of the event stream.
    Comment(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum End {
    #[default]
    Close,
    /// The connection breaks off.
    Reset,
    /// Nothing more comes.
    Silence,
}

fn ok() -> u16 {
    200
}

fn yes() -> bool {
    true
}

/// Tells `null` from an absent field.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Row {
    pub(crate) fn title(&self) -> String {
        format!("{} / {:?} ({:?})", self.attacker, self.name, self.wire)
    }
}

/// All rows of all files, `each` expanded.
pub(crate) fn load(folder: &Path) -> Vec<Row> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        // Its rows have a form of their own.
        .filter(|path| path.file_stem().is_some_and(|it| it != "gateway"))
        .collect();
    files.sort();
    let mut rows = Vec::new();
    for path in files {
        let attacker = path.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&path).expect("a file");
        let written: Vec<Value> = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for row in written {
            for mut row in expand(row) {
                fill_but_name(&mut row);
                let parsed = serde_json::from_value(row.clone());
                let mut parsed: Row =
                    parsed.unwrap_or_else(|error| panic!("{attacker}: {error}: {row}"));
                parsed.attacker = attacker.clone().into_owned();
                rows.push(parsed);
            }
        }
    }
    rows
}

/// `{"each": {"word": ["a", "b"]}, "name": "ends with {word}"}` is two rows. A text that is only `{word}` becomes the
/// value itself; several keys are combined.
pub(crate) fn expand(mut row: Value) -> Vec<Value> {
    let each = row.as_object_mut().and_then(|row| row.remove("each"));
    let mut rows = vec![row];
    for (key, values) in each
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let values = values.as_array().expect("a list of values");
        rows = rows
            .iter()
            .flat_map(|row| values.iter().map(|value| substitute(row, key, value)))
            .collect();
    }
    rows
}

fn substitute(value: &Value, key: &str, with: &Value) -> Value {
    let place = format!("{{{key}}}");
    match value {
        Value::String(text) if *text == place => with.clone(),
        Value::String(text) => {
            let with = with
                .as_str()
                .map_or_else(|| with.to_string(), str::to_owned);
            Value::String(text.replace(&place, &with))
        }
        Value::Array(items) => items
            .iter()
            .map(|item| substitute(item, key, with))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| {
                (
                    name.replace(&place, with.as_str().unwrap_or_default()),
                    substitute(field, key, with),
                )
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// [`fill`]s a row; its name stays short.
pub(crate) fn fill_but_name(row: &mut Value) {
    let name = row["name"].take();
    fill(row);
    row["name"] = name;
}

/// `{KEY}` is the program's key, `{PAD:n}` are n characters, `{OPEN:n}` and `{CLOSE:n}` n braces, and `{REPEAT:n:text}` is a text without
/// `}` n times. What only the run knows, `{BASE}`, stays.
fn fill(value: &mut Value) {
    match value {
        Value::String(text) => {
            *text = text.replace("{KEY}", KEY);
            for (place, part) in [("{PAD:", "x"), ("{OPEN:", "{"), ("{CLOSE:", "}")] {
                while let Some((before, rest)) = text.split_once(place) {
                    let (length, after) = rest.split_once('}').expect("a length");
                    let length = length.parse().expect("a length");
                    *text = format!("{before}{}{after}", part.repeat(length));
                }
            }
            while let Some((before, rest)) = text.split_once("{REPEAT:") {
                let (repeated, after) = rest.split_once('}').expect("an end");
                let (times, part) = repeated.split_once(':').expect("a text");
                let times = times.parse().expect("a number");
                *text = format!("{before}{}{after}", part.repeat(times));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fill),
        Value::Object(fields) => fields.values_mut().for_each(fill),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn rows_expand() {
    let row = serde_json::json!({ "each": { "a": [1, "x"], "b": ["y"] }, "name": "{a}{b}", "finish": "{a}" });
    let expected =
        serde_json::json!([{ "name": "1y", "finish": 1 }, { "name": "xy", "finish": "x" }]);
    assert_eq!(Value::from(expand(row)), expected);
}
