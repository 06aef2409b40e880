//! Coercion: reads the text of a value by its schema.
//!
//! Without a schema, `true` and `false` are booleans, a text that is exactly a JSON integer or decimal is a number if a number
//! keeps its digits, and everything else is text, as `0.1000` is. With one, the schema decides. Where it admits several types, the first reading that fits
//! counts, the most exact one first:
//!
//! 1. a text that `enum` or `const` lists;
//! 2. `null`, `true`, `false` and plain numbers, where those are admitted;
//! 3. JSON that is an array or an object, where that is admitted;
//! 4. the text itself, where strings are admitted;
//! 5. other spellings of a number: `1e5`, `+4`, `.5`, `0x1F`.
//!
//! An integer beyond 64 bits is never rounded: where text is not admitted, it is an error ([`DigitsLost`](crate::error::DigitsLost)). Decimals where only numbers
//! are admitted become the nearest float, as JSON numbers are.
//!
//! So `0042` under "string or number" stays text and `42` is a number, in whatever order the schema lists the types.
//! Where strings are admitted, a text of several lines is never a number or boolean. Where none is, except those that an
//! `enum` lists, whitespace and blank lines around the value mean nothing, and slips that leave one reading
//! only are read. A text that fits nothing stays text, and validation says what was expected.

use std::borrow::Cow;

use serde_json::Value;

use crate::schema::compiled::Schema;
use crate::schema::compiled::Types;
use crate::schema::compiled::View;
use crate::schema::json;
use crate::schema::json::Json;
use crate::schema::numbers::{nearest, number, plain_number};
use crate::schema::slips::Slips;

/// Strings of JSON in which further JSON is looked for, one inside another. Models write one where they encode twice.
const JSON_IN_JSON: u8 = 1;

/// Reads one value text at a place of the parameters.
///
/// ```
/// use gadgetry_proto::schema::{Schema, coerce};
/// use serde_json::json;
///
/// let schema = Schema::new(json!({ "properties": { "zip": { "type": "string" } } }))?;
/// assert_eq!(coerce("90210", Some(&schema.root().property("zip"))), json!("90210"));
/// assert_eq!(coerce("90210", None), json!(90210));
/// # Ok::<(), gadgetry_proto::schema::SchemaError>(())
/// ```
pub fn coerce(text: &str, place: Option<&View<'_>>) -> Value {
    coerce_noting(text, place, &mut Slips::default(), false)
}

/// [`coerce`] that notes the slips of the text.
pub(super) fn coerce_noting(
    text: &str,
    place: Option<&View<'_>>,
    slips: &mut Slips,
    digits_are_kept: bool,
) -> Value {
    let read = match place {
        None => plain(text),
        Some(view) => Coercion::of_text(slips, digits_are_kept).typed(text, view),
    };
    read.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Reads the scalars of parameters that were written as JSON. A string where none is admitted is read as the text of an
/// argument would be; an integer or boolean where only strings are admitted becomes its text; one scalar where only an
/// array is admitted becomes its element. Everything else keeps its type.
///
/// ```
/// use gadgetry_proto::schema::{Schema, coerce_json};
/// use serde_json::json;
///
/// let schema = Schema::new(json!({ "properties": {
///     "count": { "type": "integer" },
///     "tags": { "type": "array", "items": { "type": "string" } },
/// } }))?;
/// let read = coerce_json(json!({ "count": "3", "tags": "new" }), Some(&schema));
/// assert_eq!(read, json!({ "count": 3, "tags": ["new"] }));
/// # Ok::<(), gadgetry_proto::schema::SchemaError>(())
/// ```
pub fn coerce_json(value: Value, schema: Option<&Schema>) -> Value {
    let Some(schema) = schema else {
        return value;
    };
    let mut slips = Slips::NONE;
    let mut coercion = Coercion {
        // How a fraction was written is not known any more: `1.10` may be a version.
        numbers_as_written: false,
        ..Coercion::of_text(&mut slips, false)
    };
    coercion.shape(Json::from(&value), Some(&schema.root()))
}

/// The value of a JSON text under a schema.
pub(super) fn shape(
    json: Json<'_>,
    schema: Option<&Schema>,
    slips: &mut Slips,
    digits_are_kept: bool,
) -> Value {
    match schema {
        None => json.into_value(),
        Some(schema) => Coercion::of_text(slips, digits_are_kept).shape(json, Some(&schema.root())),
    }
}

/// Returns the mistake in a text that is not JSON, at a place where only an array or object is admitted; `None` if it was not meant as JSON.
pub(super) fn broken_json(text: &str, view: &View<'_>) -> Option<crate::error::JsonError> {
    let word = text.trim();
    let types = view.intended()?;
    let meant = begins_container(word).is_some_and(|container| types.meets(container));
    if !meant || view.admits_text() {
        return None;
    }
    json::read(word, &mut Slips::default()).err()
}

/// The reading without a schema; `None` if it is the text itself.
fn plain(text: &str) -> Option<Value> {
    let (first, last) = (text.as_bytes().first()?, text.as_bytes().last()?);
    if first.is_ascii_alphabetic() && !matches!(first, b't' | b'f') {
        return None;
    }
    // Nearly all values have no whitespace around them, and two bytes show that.
    if first.is_ascii_graphic() && last.is_ascii_graphic() {
        return plain_word(text);
    }
    let word = text.trim();
    if word.len() != text.len() && text.contains('\n') {
        return None;
    }
    plain_word(word)
}

fn plain_word(word: &str) -> Option<Value> {
    match word.as_bytes().first()? {
        b't' | b'f' => boolean(word),
        b'-' | b'0'..=b'9' => {
            plain_number(word).filter(|it| !it.is_f64() || json::keeps_digits(it, word))
        }
        _ => None,
    }
}

/// The state of reading one value.
struct Coercion<'s> {
    slips: &'s mut Slips,
    /// Whether a number of JSON has the text that was written.
    numbers_as_written: bool,
    /// Strings of JSON around the value.
    strings: u8,
    /// Whether slips are read.
    lenient: bool,
    /// Whether [`Digits`](crate::call::Digits) keep what a number does not.
    digits_are_kept: bool,
}

impl<'s> Coercion<'s> {
    fn of_text(slips: &'s mut Slips, digits_are_kept: bool) -> Self {
        Self {
            slips,
            numbers_as_written: true,
            strings: 0,
            lenient: true,
            digits_are_kept,
        }
    }

    /// The reading of a text under a schema; `None` if it is the text itself.
    fn typed(&mut self, text: &str, view: &View<'_>) -> Option<Value> {
        if view.lists(text) {
            return None;
        }
        let word = text.trim();
        let Some(types) = view.intended() else {
            let is_quoted = word.starts_with('"') && !text.contains('\n');
            return plain(text).or_else(|| if is_quoted { strict_string(word) } else { None });
        };
        if view.admits_text() {
            return self.text_or_value(text, types, view);
        }
        if view.lists(word) {
            return Some(Value::from(word));
        }
        let read = exact(word, types, view)
            .or_else(|| self.container(word, types, view))
            .or_else(|| other_spelling(word, types, self.digits_are_kept));
        if read.is_some() || !self.lenient {
            return read;
        }
        self.unquoted(word, types, view)
            .or_else(|| self.one_element(word, view))
    }

    /// The reading where the text itself may be meant.
    fn text_or_value(&mut self, text: &str, types: Types, view: &View<'_>) -> Option<Value> {
        let word = text.trim();
        let one_line = !text.contains('\n');
        let digits = |value: &Value| !value.is_f64() || json::keeps_digits(value, word);
        if one_line && let Some(value) = exact(word, types, view).filter(digits) {
            return Some(value);
        }
        let text_intended = types.meets(Types::STRING);
        let lenient = std::mem::replace(&mut self.lenient, false);
        let json = self
            .container(word, types, view)
            .filter(|json| !text_intended || view.fits(json));
        self.lenient = lenient;
        if json.is_some() || text_intended || !one_line {
            return json;
        }
        // The author of the schema did not mean text, so a reading of the right type is better even if it does not fit:
        // the message about it is clearer.
        other_spelling(word, types, self.digits_are_kept)
    }

    /// An array or object of JSON.
    fn container(&mut self, word: &str, types: Types, view: &View<'_>) -> Option<Value> {
        let wanted = begins_container(word)?;
        let strings = if self.lenient { JSON_IN_JSON } else { 0 };
        if !types.meets(wanted) || self.strings > strings {
            return None;
        }
        let json = if self.lenient {
            json::read(word, self.slips).ok()?
        } else {
            json::read_strict(word)?
        };
        if self.strings > 0 {
            self.slips.add(Slips::QUOTED);
        }
        Some(self.shape(json, Some(view)))
    }

    /// The content of superfluous quotes, and the literals of Python.
    fn unquoted(&mut self, word: &str, types: Types, view: &View<'_>) -> Option<Value> {
        let python = match word {
            "None" if types.meets(Types::NULL) => Some(Value::Null),
            "True" | "False" if types.meets(Types::BOOLEAN) => Some(Value::Bool(word == "True")),
            _ => None,
        };
        if python.is_some() {
            self.slips.add(Slips::PYTHON);
            return python;
        }
        let inner = string(word)?;
        let inner = inner.as_ref();
        let read = if view.lists(inner) {
            Some(Value::from(inner))
        } else {
            exact(inner, types, view)
        };
        if read.is_some() {
            self.slips.add(Slips::QUOTED);
        }
        read
    }

    /// One scalar as the element of an array, where nothing else is admitted.
    fn one_element(&mut self, word: &str, view: &View<'_>) -> Option<Value> {
        if view.types() & !Types::NULL != Types::ARRAY {
            return None;
        }
        let quoted = string(word);
        let inner = quoted.as_deref().unwrap_or(word);
        if quoted.is_none() && is_ambiguous_list(word) {
            return None;
        }
        let item = view.item(0);
        let value = if quoted.is_some() && item.admits_text() {
            Value::from(inner)
        } else if item.types() & !Types::NULL == Types::ARRAY {
            return None;
        } else {
            let read = self.typed(inner, &item);
            read.unwrap_or_else(|| Value::from(inner))
        };
        self.element(value, view)
    }

    /// An array with one element, if it fits.
    fn element(&mut self, value: Value, view: &View<'_>) -> Option<Value> {
        let array = Value::Array(vec![value]);
        if view.types() & !Types::NULL != Types::ARRAY || !view.fits(&array) {
            return None;
        }
        self.slips.add(Slips::ONE_ELEMENT);
        Some(array)
    }

    /// JSON as a value of the schema.
    fn shape(&mut self, json: Json<'_>, view: Option<&View<'_>>) -> Value {
        let Some(view) = view else {
            return json.into_value();
        };
        match json {
            Json::String(text) => {
                let read = if view.admits_text() {
                    None
                } else {
                    self.strings += 1;
                    let read = self.typed(&text, view);
                    self.strings -= 1;
                    read
                };
                read.unwrap_or_else(|| Value::String(text.into_owned()))
            }
            Json::Array(items) => {
                let items = items.into_iter().enumerate();
                items
                    .map(|(index, item)| self.shape(item, Some(&view.item(index))))
                    .collect()
            }
            Json::Object(fields) => {
                let fields = fields.into_iter().map(|(key, value)| {
                    let value = self.shape(value, Some(&view.property(&key)));
                    (key.into_owned(), value)
                });
                Value::Object(fields.collect())
            }
            Json::Number(written) => self.number(&written, view),
            Json::Bool(value) => self.scalar(
                if value { "true" } else { "false" },
                Value::Bool(value),
                view,
            ),
            Json::Null => Value::Null,
        }
    }

    fn number(&mut self, written: &str, view: &View<'_>) -> Value {
        let mut value = json::number(written);
        // Where this text is admitted as well, the digits that were written are worth more than the type.
        let types = view.types();
        let is_text = types.meets(Types::STRING)
            && types.meets(Types::NUMBER)
            && view.fits(&Value::from(written));
        let is_decimal = written.contains(['.', 'e', 'E']);
        let is_near = is_decimal || (self.digits_are_kept && types.meets(Types::NUMBER));
        if value.is_string() && !is_text && is_near {
            value = nearest(written, types, self.digits_are_kept).unwrap_or(value);
        }
        // A float that comes for an integer may have been another one: only few digits were surely written.
        if value.is_f64() && nearest(written, types, self.digits_are_kept).is_none() {
            value = written.into();
        }
        if value.is_f64() && !self.numbers_as_written {
            return value;
        }
        self.scalar(written, value, view)
    }

    /// A number or boolean: as it is, as text, or as the only element of an array.
    fn scalar(&mut self, written: &str, value: Value, view: &View<'_>) -> Value {
        let types = view.types();
        if !self.lenient || types.meets(Types::of(&value)) {
            return value;
        }
        let only_text = types & !Types::NULL == Types::STRING;
        if only_text && view.fits(&Value::from(written)) {
            self.slips.add(Slips::NOT_TEXT);
            return Value::from(written);
        }
        let item = view.item(0);
        if types & !Types::NULL != Types::ARRAY || item.types() & !Types::NULL == Types::ARRAY {
            return value;
        }
        let element = self.scalar(written, value.clone(), &item);
        self.element(element, view).unwrap_or(value)
    }
}

/// `null`, `true`, `false` or a plain number that fits.
fn exact(word: &str, types: Types, view: &View<'_>) -> Option<Value> {
    let value = match word {
        "null" => types.meets(Types::NULL).then_some(Value::Null),
        "true" | "false" => types.meets(Types::BOOLEAN).then(|| boolean(word)).flatten(),
        _ if types.meets(Types::NUMBER) => {
            plain_number(word).filter(|number| types.meets(Types::FRACTION) || !number.is_f64())
        }
        _ => None,
    };
    value.filter(|value| view.fits(value))
}

/// A number in another spelling, or a word that is a value of the wrong type.
fn other_spelling(word: &str, types: Types, digits_are_kept: bool) -> Option<Value> {
    let value = if types.meets(Types::NUMBER) {
        number(word, types, digits_are_kept)
    } else {
        None
    };
    value.or_else(|| match word {
        "null" if types.meets(Types::NULL) => Some(Value::Null),
        "true" | "false" if types.meets(Types::BOOLEAN) => boolean(word),
        _ => None,
    })
}

fn boolean(word: &str) -> Option<Value> {
    match word {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn strict_string(word: &str) -> Option<Value> {
    let Json::String(text) = json::read_strict(word)? else {
        return None;
    };
    Some(Value::String(text.into_owned()))
}

/// The content of a quoted word.
fn string(word: &str) -> Option<Cow<'_, str>> {
    if !word.starts_with(['"', '\'']) {
        return None;
    }
    let Json::String(text) = json::read(word, &mut Slips::default()).ok()? else {
        return None;
    };
    Some(text)
}

/// Returns `true` if a text may be meant as several elements, as none, or as JSON that is not.
fn is_ambiguous_list(word: &str) -> bool {
    let bullet = word.starts_with(['-', '*', '+', '•'])
        && word.chars().nth(1).is_some_and(char::is_whitespace);
    // A result takes the place of `${id}`, and may be an array itself.
    word.is_empty()
        || bullet
        || word.starts_with("${")
        || word.starts_with(['[', '{', '(', '"', '\'', '`'])
        || word.contains(['\n', ',', ';', '|'])
        || matches!(word, "null" | "None" | "none" | "undefined")
}

fn begins_container(word: &str) -> Option<Types> {
    match word.as_bytes().first()? {
        b'[' => Some(Types::ARRAY),
        b'{' => Some(Types::OBJECT),
        _ => None,
    }
}

#[cfg(test)]
#[cfg(feature = "engine")]
mod tests;
