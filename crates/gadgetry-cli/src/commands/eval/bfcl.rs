//! Cases of the Berkeley Function Calling Leaderboard, from its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gadgetry::proto::message::{Message, Role};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry_files as files;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::cases::{Case, expected_calls};
use crate::cli::Class;
use crate::error::Error;
use crate::input::unreadable;

/// Bytes of a file with cases. Those of the leaderboard have less than 1 MiB.
const LIMIT: u64 = 8 << 20;

/// Values in the schemas of the tools of a case, and in what is right.
const VALUES: usize = 5_000;

/// The categories, by their names in the files.
const CATEGORIES: [(&str, Class); 4] = [
    ("simple_python", Class::One),
    ("multiple", Class::Choice),
    ("parallel", Class::Several),
    ("irrelevance", Class::NoCall),
];

#[derive(Deserialize)]
struct Question {
    id: String,
    /// Turns of the question; the first one counts.
    #[serde(rename = "question")]
    turns: Vec<Vec<Turn>>,
    function: Vec<Function>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Value,
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    ground_truth: Vec<Map<String, Value>>,
}

/// The cases of the categories whose files are in the folder.
pub(super) fn cases(folder: &Path) -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for (category, class) in CATEGORIES {
        let Some(path) = file_of(folder, category)? else {
            continue;
        };
        let questions: Vec<Question> = read(&path)?;
        let answers: Vec<Answer> = if class == Class::NoCall {
            Vec::new()
        } else {
            let name = path.file_name().unwrap_or_default();
            read(&folder.join("possible_answer").join(name))?
        };
        let mut answers: BTreeMap<String, Answer> =
            answers.into_iter().map(|it| (it.id.clone(), it)).collect();
        for question in questions {
            let answer = answers.remove(&question.id);
            if answer.is_none() && class != Class::NoCall {
                let problem = format!("there is no possible answer for {}", question.id);
                return Err(Error::at(path.display(), problem));
            }
            let calls = answer.map(|it| it.ground_truth).unwrap_or_default();
            let schemas = question.function.iter().map(|it| values(&it.parameters));
            let answers = calls.iter().flat_map(Map::values).map(values);
            let count = question.function.len() + calls.len();
            if schemas.chain(answers).fold(count, usize::saturating_add) > VALUES {
                let problem = format!("{} has more than {VALUES} values", question.id);
                return Err(Error::at(path.display(), problem));
            }
            cases.push(case(question, class, calls));
        }
    }
    if cases.is_empty() {
        let names = CATEGORIES.map(|(name, _)| format!("BFCL_v4_{name}.json"));
        return Err(Error::at(
            folder.display(),
            format_args!("no cases; expected files such as {}", names.join(", ")),
        ));
    }
    Ok(cases)
}

/// `BFCL_v4_simple_python.json`, in any version of the leaderboard.
fn file_of(folder: &Path, category: &str) -> Result<Option<PathBuf>, Error> {
    let end = format!("_{category}.json");
    let wrong = |error| unreadable(folder.display(), &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let version = name
            .strip_prefix("BFCL_v")
            .and_then(|it| it.strip_suffix(&end));
        if version.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit())) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found.pop())
}

/// One JSON object a line.
fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, Error> {
    let text = files::text(path, LIMIT).map_err(|error| unreadable(path.display(), &error))?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let lines = lines.map(|(at, line)| {
        let wrong = |error| Error::at(format_args!("{}:{}", path.display(), at + 1), error);
        serde_json::from_str(line).map_err(wrong)
    });
    lines.collect()
}

fn case(question: Question, class: Class, calls: Vec<Map<String, Value>>) -> Case {
    let turns = question.turns.into_iter().next().unwrap_or_default();
    let messages = turns.into_iter().map(|turn| {
        let role = match turn.role.as_str() {
            "system" => Role::System,
            "assistant" => Role::Assistant,
            _ => Role::User,
        };
        Message::text(role, turn.content)
    });
    let tools = question.function.into_iter().map(|function| GadgetSpec {
        name: plain_name(&function.name),
        description: function.description,
        parameters: schema(function.parameters),
        ..GadgetSpec::default()
    });
    let mut right = expected_calls(calls);
    for call in &mut right {
        call.name = plain_name(&call.name);
    }
    Case {
        id: question.id,
        class,
        messages: messages.collect(),
        tools: tools.collect(),
        right,
    }
}

/// Counts the values in a value, itself included.
fn values(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    1 + inner
}

/// Names of native tools admit no dots.
fn plain_name(name: &str) -> String {
    name.replace('.', "_")
}

/// The schema in the words of JSON Schema.
fn schema(written: Value) -> Value {
    let Value::Object(written) = written else {
        return written;
    };
    let mut out = Map::new();
    for (key, value) in written {
        let value = match (key.as_str(), value) {
            ("type", Value::String(kind)) => match kind.as_str() {
                "dict" => "object".into(),
                "float" => "number".into(),
                "tuple" => "array".into(),
                "any" => continue,
                _ => kind.into(),
            },
            ("properties", Value::Object(all)) => {
                let all = all.into_iter().map(|(name, it)| (name, schema(it)));
                Value::Object(all.collect())
            }
            ("enum" | "required" | "description", value) => value,
            ("items" | "additionalProperties", value) => schema(value),
            _ => continue,
        };
        out.insert(key, value);
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cases_of_the_leaderboard() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, line: &Value| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, format!("{line}\n")).expect("a file");
        };
        let question = json!({
            "id": "simple_python_0", "question": [[{ "role": "user", "content": "How far?" }]],
            "function": [{ "name": "way.length", "description": "Measures", "parameters": {
                "type": "dict", "required": ["to"],
                "properties": { "to": { "type": "string" }, "by": { "type": "float", "default": 1.0 } },
            } }],
        });
        write("BFCL_v4_simple_python.json", &question);
        let missing = cases(folder.path()).expect_err("there are no answers");
        assert!(missing.to_string().contains("possible_answer"), "{missing}");
        let answer = json!({
            "id": "simple_python_0", "ground_truth": [{ "way.length": { "to": ["Rome"], "by": [2.0, ""] } }],
        });
        write("possible_answer/BFCL_v4_simple_python.json", &answer);
        write(
            "BFCL_v4_irrelevance.json",
            &json!({
                "id": "irrelevance_0", "question": [[{ "role": "user", "content": "Hi." }]], "function": [],
            }),
        );
        // Another category of a similar name.
        write("BFCL_v4_live_irrelevance.json", &json!({}));
        let found = cases(folder.path()).expect("cases");
        let of: Vec<(&str, Class)> = found.iter().map(|it| (&*it.id, it.class)).collect();
        let expected = [
            ("simple_python_0", Class::One),
            ("irrelevance_0", Class::NoCall),
        ];
        assert_eq!(of, expected);
        let first = &found[0];
        assert_eq!(first.tools[0].name, "way_length");
        let schema = json!({
            "type": "object", "required": ["to"],
            "properties": { "to": { "type": "string" }, "by": { "type": "number" } },
        });
        assert_eq!(first.tools[0].parameters, schema);
        assert_eq!(first.right[0].name, "way_length");
        assert_eq!(first.right[0].values["by"], [json!(2.0), json!("")]);

        let none = tempfile::tempdir().expect("a folder");
        let error = cases(none.path()).expect_err("it is empty");
        assert!(
            error.to_string().contains("BFCL_v4_parallel.json"),
            "{error}"
        );
    }
}
