//! Values that options accept, in terms of TOML.

use std::env;
use std::path::Path;

use super::value::{Item, Value as Toml};
use crate::error::Error;
use crate::options::{Kind, MODEL, Value};

/// The value that an item gives to a key. `folder` is what relative paths are resolved from.
pub(super) fn read(kind: Kind, name: &str, item: &Item, folder: &Path) -> Result<Value, Error> {
    let texts = || {
        let texts = item.texts(name)?.into_iter().map(|(text, _)| text);
        Ok::<Vec<String>, Error>(texts.collect())
    };
    let many = |texts: Vec<String>| Value::Texts(texts.into_iter().map(Into::into).collect());
    Ok(match (kind, &item.value) {
        (Kind::Flag, Toml::Truth(is_on)) => Value::Switch(*is_on),
        (Kind::Text | Kind::NumberOrText | Kind::Object, Toml::Text(text)) => {
            Value::text(of_script(name, text, folder))
        }
        // The command line refuses it, too; joined, it would be the folder.
        (Kind::Path, Toml::Text(text)) if text.is_empty() => {
            let problem = format_args!("a value is required for {name} but none was supplied");
            return Err(item.place.error(problem));
        }
        (Kind::Path, Toml::Text(text)) => Value::text(path(text, folder)),
        (Kind::Number | Kind::NumberOrText, Toml::Number(digits)) => Value::text(digits),
        (Kind::Object, Toml::Table(_)) => Value::text(item.json().to_string()),
        (Kind::List, Toml::Text(_) | Toml::List(_)) => many(texts()?),
        (Kind::Paths, Toml::Text(_) | Toml::List(_)) => {
            many(texts()?.iter().map(|it| path(it, folder)).collect())
        }
        (Kind::Definitions, Toml::List(items)) => {
            let words = items.iter().map(|it| {
                if matches!(it.value, Toml::Table(_)) {
                    return Ok(it.json().to_string());
                }
                it.text(&format!("an item of {name}")).map(str::to_owned)
            });
            Value::text(words.collect::<Result<Vec<_>, _>>()?.join(","))
        }
        (Kind::Definitions, Toml::Text(text)) => Value::text(text),
        (Kind::Commas, Toml::Text(_) | Toml::List(_)) => Value::text(texts()?.join(",")),
        _ => return Err(item.wrong_type(name, expected(kind))),
    })
}

/// The value that a text of the environment gives to a key; `None` for keys that take lists.
pub(super) fn read_text(kind: Kind, text: &str) -> Result<Option<Value>, String> {
    match (kind, text) {
        (Kind::List | Kind::Paths, _) => Ok(None),
        (Kind::Flag, "true" | "1") => Ok(Some(Value::Switch(true))),
        (Kind::Flag, "false" | "0") => Ok(Some(Value::Switch(false))),
        (Kind::Flag, _) => Err(format!("expected true or false, not {text:?}")),
        _ => Ok(Some(Value::text(text))),
    }
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "true or false",
        Kind::Text => "a text",
        Kind::Path => "a text, the path of a file",
        Kind::Number => "a number",
        Kind::NumberOrText => "a number or a text",
        Kind::List | Kind::Paths | Kind::Commas => "a text, or a list of texts",
        Kind::Definitions => "a text, or a list of texts and tables",
        Kind::Object => "a table, or a text with a JSON object",
    }
}

/// The name of a model, in which the file of a script is resolved.
fn of_script(name: &str, text: &str, folder: &Path) -> String {
    match text.strip_prefix("script:") {
        Some(file) if name == MODEL && !file.is_empty() => {
            format!("script:{}", path(file, folder))
        }
        _ => text.to_owned(),
    }
}

/// A path of a file, relative to the file that names it.
pub(crate) fn path(text: &str, folder: &Path) -> String {
    let home = || env::home_dir().filter(|it| it.is_absolute());
    let below_home = text.strip_prefix("~/").zip(home());
    let path = match below_home {
        Some((rest, home)) => home.join(rest),
        None => folder.join(text),
    };
    path.into_os_string()
        .into_string()
        .unwrap_or_else(|_| text.to_owned())
}
