//! What options accept, in terms of TOML.

use std::any::TypeId;
use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction};
use gadgetry::proto::dialect::Dialects;

use super::value::{Item, Value};
use crate::args::{OutputLimit, Tags};
use crate::error::Error;

/// What an option accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Flag,
    Text,
    Path,
    Number,
    NumberOrText,
    /// May be repeated.
    List,
    /// The same, with files.
    Paths,
    /// Separated by commas.
    Commas,
    /// The same, with tables among the texts.
    Definitions,
    /// A JSON object.
    Object,
}

impl Form {
    /// That of the values of an option.
    pub(super) fn of(argument: &Arg) -> Self {
        let id = argument.get_value_parser().type_id();
        let is_one_of = |types: &[TypeId]| types.iter().any(|it| id == *it);
        let numbers = [
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<f64>(),
            TypeId::of::<NonZeroUsize>(),
        ];
        let is_path = id == TypeId::of::<PathBuf>();
        let is_repeated = matches!(argument.get_action(), ArgAction::Append);
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            Self::Flag
        } else if is_repeated && is_path {
            Self::Paths
        } else if is_repeated {
            Self::List
        } else if is_path {
            Self::Path
        } else if is_one_of(&numbers) {
            Self::Number
        } else if id == TypeId::of::<Tags>() {
            Self::Commas
        } else if id == TypeId::of::<Dialects>() {
            Self::Definitions
        } else if id == TypeId::of::<OutputLimit>() {
            Self::NumberOrText
        } else if argument.get_long() == Some("extra-body") {
            Self::Object
        } else {
            Self::Text
        }
    }

    /// What an item sets a key to. `folder` is what relative paths are resolved from.
    pub(super) fn read(self, name: &str, item: &Item, folder: &Path) -> Result<Given, Error> {
        let one = |text: &str| Ok(Given::Values(vec![text.to_owned()]));
        let texts = || {
            let texts = item.texts(name)?.into_iter().map(|(text, _)| text);
            Ok::<_, Error>(texts.collect::<Vec<_>>())
        };
        match (self, &item.value) {
            (Self::Flag, Value::Truth(true)) => Ok(Given::On),
            (Self::Flag, Value::Truth(false)) => Ok(Given::Off),
            (Self::Text | Self::NumberOrText | Self::Object, Value::Text(text)) => {
                one(&of_script(name, text, folder))
            }
            (Self::Path, Value::Text(text)) => one(&path(text, folder)),
            (Self::Number | Self::NumberOrText, Value::Number(digits)) => one(digits),
            (Self::Object, Value::Table(_)) => one(&item.json().to_string()),
            (Self::List, Value::Text(_) | Value::List(_)) => Ok(Given::Values(texts()?)),
            (Self::Paths, Value::Text(_) | Value::List(_)) => {
                let paths = texts()?.into_iter().map(|it| path(&it, folder));
                Ok(Given::Values(paths.collect()))
            }
            (Self::Definitions, Value::List(items)) => {
                let words = items.iter().map(|it| {
                    if matches!(it.value, Value::Table(_)) {
                        return Ok(it.json().to_string());
                    }
                    it.text(&format!("an item of {name}")).map(str::to_owned)
                });
                one(&words.collect::<Result<Vec<_>, _>>()?.join(","))
            }
            (Self::Definitions, Value::Text(text)) => one(text),
            (Self::Commas, Value::Text(_) | Value::List(_)) => one(&texts()?.join(",")),
            _ => Err(item.wrong_type(name, self.expected())),
        }
    }

    /// What a text of the environment sets a key to; `None` for keys that take lists.
    pub(super) fn read_text(self, text: &str) -> Result<Option<Given>, String> {
        match (self, text) {
            (Self::List | Self::Paths, _) => Ok(None),
            (Self::Flag, "true" | "1") => Ok(Some(Given::On)),
            (Self::Flag, "false" | "0") => Ok(Some(Given::Off)),
            (Self::Flag, _) => Err(format!("expected true or false, not {text:?}")),
            _ => Ok(Some(Given::Values(vec![text.to_owned()]))),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Text => "a text",
            Self::Path => "a text, the path of a file",
            Self::Number => "a number",
            Self::NumberOrText => "a number or a text",
            Self::List | Self::Paths | Self::Commas => "a text, or a list of texts",
            Self::Definitions => "a text, or a list of texts and tables",
            Self::Object => "a table, or a text with a JSON object",
        }
    }
}

/// What a key is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A flag that is on.
    On,
    /// A flag that is off.
    Off,
    /// The values of an option.
    Values(Vec<String>),
}

/// The words of the command line that set an option.
pub(crate) fn words_of(name: &str, given: &Given) -> Vec<String> {
    match given {
        Given::On => vec![format!("--{name}")],
        Given::Off => Vec::new(),
        Given::Values(values) => {
            let words = values.iter().map(|value| format!("--{name}={value}"));
            words.collect()
        }
    }
}

/// The name of a model, in which the file of a script is resolved.
fn of_script(name: &str, text: &str, folder: &Path) -> String {
    match text.strip_prefix("script:") {
        Some(file) if name == "model" && !file.is_empty() => {
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
