//! Values of a configuration file, each with its position.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use gadgetry_files::toml_text;
use serde_json::{Map, Number, Value as Json};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::error::Error;
use crate::options::Place;

/// Bytes of a configuration file.
pub(crate) const LIMIT: u64 = 1 << 20;

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A value of TOML.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A string.
    Text(String),
    /// An integer or a float, in decimal digits.
    Number(String),
    /// A boolean.
    Truth(bool),
    /// A date or a time.
    Date(String),
    /// An array.
    List(Vec<Item>),
    /// A table.
    Table(Vec<Entry>),
}

/// A key of a table, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The position of the key.
    pub(crate) place: Place,
    pub(crate) item: Item,
}

impl Item {
    /// Names the kind of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Number(_) => "a number",
            Value::Truth(_) => "a boolean",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The mistake that the value is of another type than `expected`.
    pub(crate) fn wrong_type(&self, key: &str, expected: &str) -> Error {
        self.place.error(format_args!(
            "{key} is {}; expected {expected}",
            self.kind()
        ))
    }

    /// The text that this must be.
    pub(crate) fn text(&self, key: &str) -> Result<&str, Error> {
        let Value::Text(text) = &self.value else {
            return Err(self.wrong_type(key, "a text"));
        };
        Ok(text)
    }

    /// The texts that this must be: a list, or a single one.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<(String, Place)>, Error> {
        if let Value::Text(text) = &self.value {
            return Ok(vec![(text.clone(), self.place.clone())]);
        }
        let Value::List(items) = &self.value else {
            return Err(self.wrong_type(key, "a text, or a list of texts"));
        };
        let texts = items.iter().map(|item| {
            let text = item.text(&format!("an item of {key}"))?;
            Ok((text.to_owned(), item.place.clone()))
        });
        texts.collect()
    }

    /// The entries of the table that this must be.
    pub(crate) fn table(&self, key: &str) -> Result<&[Entry], Error> {
        let Value::Table(entries) = &self.value else {
            return Err(self.wrong_type(key, "a table"));
        };
        Ok(entries)
    }

    /// The same value in JSON. Dates become text, and so do numbers that JSON lacks.
    pub(crate) fn json(&self) -> Json {
        match &self.value {
            Value::Text(text) | Value::Date(text) => Json::String(text.clone()),
            Value::Number(digits) => number(digits),
            Value::Truth(truth) => Json::Bool(*truth),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Table(entries) => {
                let entries = entries.iter().map(|it| (it.key.clone(), it.item.json()));
                Json::Object(entries.collect::<Map<_, _>>())
            }
        }
    }
}

fn number(digits: &str) -> Json {
    let integer = digits.parse::<i64>().ok().map(Number::from);
    let number = integer.or_else(|| Number::from_f64(digits.parse().ok()?));
    number.map_or_else(|| Json::String(digits.to_owned()), Json::Number)
}

/// Reads a text. `file` is its name in messages.
pub(crate) fn parse(text: &str, file: &Arc<str>) -> Result<Vec<Entry>, Error> {
    let reader = Reader {
        text,
        file,
        lines: text.match_indices('\n').map(|(at, _)| at + 1).collect(),
        last: Cell::new((0, 1)),
    };
    match toml_text::document(text) {
        Ok(document) => Ok(reader.table(document.get_ref())),
        Err(mistake) => Err(reader.place(mistake.at).error(mistake.problem)),
    }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a Arc<str>,
    /// Offsets at which each line but the first begins.
    lines: Vec<usize>,
    /// The last offset that was looked up, and its column. The next one is mostly further on the same line.
    last: Cell<(usize, usize)>,
}

impl Reader<'_> {
    fn place(&self, at: usize) -> Place {
        let at = self.text.floor_char_boundary(at);
        let before = self.lines.partition_point(|start| *start <= at);
        let start = before.checked_sub(1).map_or(0, |line| self.lines[line]);
        let (from, column) = match self.last.get() {
            (last, column) if (start..=at).contains(&last) => (last, column),
            _ => (start, 1),
        };
        let column = column + self.text[from..at].chars().count();
        self.last.set((at, column));
        Place {
            file: Arc::clone(self.file),
            line: before + 1,
            column,
        }
    }

    fn start(&self, span: &Range<usize>) -> Place {
        self.place(span.start)
    }

    fn table(&self, table: &DeTable<'_>) -> Vec<Entry> {
        let entries = table.iter().map(|(key, value)| Entry {
            key: key.get_ref().clone().into_owned(),
            place: self.start(&key.span()),
            item: self.item(value),
        });
        entries.collect()
    }

    fn item(&self, value: &Spanned<DeValue<'_>>) -> Item {
        let place = self.start(&value.span());
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(integer) => Value::Number(decimal(integer)),
            DeValue::Float(float) => Value::Number(float.as_str().to_owned()),
            DeValue::Boolean(truth) => Value::Truth(*truth),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(items) => Value::List(items.iter().map(|it| self.item(it)).collect()),
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Item { value, place }
    }
}

fn decimal(integer: &DeInteger<'_>) -> String {
    let value = i128::from_str_radix(integer.as_str(), integer.radix());
    value.map_or_else(|_| integer.to_string(), |value| value.to_string())
}
