//! JSON as models write it.
//!
//! [`read`] takes JSON (RFC 8259), and slips that leave one reading only: raw line breaks and control characters in strings,
//! trailing commas, comments, single quotes, and the literals of Python. Everything else is an error with its position. No
//! crate reads all of these, keeps numbers as written and refuses repeated keys; that is why the reader is ours.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Map;
use serde_json::Number;
use serde_json::Value;

use crate::error::JsonError;
use crate::json::RESERVED;
use crate::schema::slips::Slips;

/// Levels of arrays and objects that are read.
const DEPTH: usize = crate::limits::JSON_DEPTH;
/// Values in one text. With more, memory would be many times the size of the text.
const NODES: usize = crate::limits::JSON_VALUES;
/// Characters of an unknown word that an error shows.
const SHOWN: usize = 20;

/// A JSON value that may borrow from its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// A number as written; a finite one if it has a fraction or an exponent.
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    /// No key is repeated.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// The message of `serde_json` without its ` at line 1 column 7`, for callers that know a better position.
pub fn json_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// Reads one JSON value and notes its slips.
pub(super) fn read<'a>(text: &'a str, slips: &mut Slips) -> Result<Json<'a>, JsonError> {
    let mut reader = JsonReader {
        text,
        at: 0,
        nodes: 0,
        slips: Slips::NONE,
    };
    match reader.whole() {
        Ok(json) => {
            slips.add(reader.slips);
            Ok(json)
        }
        Err(Fault { at, problem }) => {
            let before = &text[..at];
            let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
            Err(JsonError {
                line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
                column: 1 + line.chars().count(),
                problem: problem.into_owned(),
            })
        }
    }
}

/// Reads one JSON value that has no slips.
pub(super) fn read_strict(text: &str) -> Option<Json<'_>> {
    let mut slips = Slips::NONE;
    let json = read(text, &mut slips).ok()?;
    (slips == Slips::NONE).then_some(json)
}

/// Reads JSON for the writer of a call: a number that would lose digits becomes its text, and a repeated key is an error. Slips are errors, too.
///
/// ```
/// use gadgetry_proto::schema::read_json;
/// use serde_json::json;
///
/// assert_eq!(read_json("[18446744073709551616]"), Ok(json!(["18446744073709551616"])));
/// let error = read_json(r#"{"a": 1, "a": 2}"#).unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 10: the key is there twice");
/// ```
pub fn read_json(text: &str) -> Result<Value, JsonError> {
    let mut slips = Slips::NONE;
    let json = read(text, &mut slips)?;
    without(slips).map(|()| json.into_value())
}

/// Reads JSON of a program: each number is the nearest that a value holds. Repeated keys and slips are errors.
///
/// It does what `serde_json` does, in a fraction of its code. Packages where bytes count read their options with it.
///
/// ```
/// use gadgetry_proto::schema::read_plain_json;
/// use serde_json::json;
///
/// assert_eq!(read_plain_json("[1e2, 18446744073709551616]"), Ok(json!([100.0, 18446744073709551616.0])));
/// ```
pub fn read_plain_json(text: &str) -> Result<Value, JsonError> {
    let mut slips = Slips::NONE;
    let json = read(text, &mut slips)?;
    without(slips).map(|()| json.into_value_of(&plain_number))
}

/// Returns the error for JSON with slips.
fn without(slips: Slips) -> Result<(), JsonError> {
    if slips == Slips::NONE {
        return Ok(());
    }
    Err(JsonError {
        line: 1,
        column: 1,
        problem: format!("JSON does not admit {slips}"),
    })
}

/// Returns `true` if a text may have more values than are read, if it is JSON.
pub(crate) fn has_too_many_values(text: &str) -> bool {
    values(text) > NODES
}

/// The values that a text has at most, if it is JSON.
pub(crate) fn values(text: &str) -> usize {
    let begins = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
    1 + text.as_bytes().iter().filter(begins).count()
}

/// Returns `true` if a text is JSON, slips included.
pub(crate) fn is_json(text: &str) -> bool {
    read(text, &mut Slips::default()).is_ok()
}

/// A number of JSON. One that would be written with other digits stays text: an integer that no machine integer can represent,
/// `0.1000`, `1e5`.
pub(super) fn number(written: &str) -> Value {
    let is_integer = !written.contains(['.', 'e', 'E']);
    if is_integer && written != "-0" {
        let small = written.parse::<i64>().map(Value::from).ok();
        let large = || written.parse::<u64>().map(Value::from).ok();
        return small.or_else(large).unwrap_or_else(|| Value::from(written));
    }
    let float = written.parse().ok().and_then(Number::from_f64);
    let float = float.map(Value::Number);
    float
        .filter(|float| keeps_digits(float, written))
        .unwrap_or_else(|| Value::from(written))
}

/// A number of JSON, as the nearest that a value holds; `-0` is a float, as no integer has that sign.
fn plain_number(written: &str) -> Value {
    let small = written.parse::<i64>().ok().filter(|_| written != "-0");
    let small = small.map(Value::from);
    let large = || written.parse::<u64>().map(Value::from).ok();
    let float = || written.parse().ok().and_then(Number::from_f64);
    let nearest = small.or_else(large);
    nearest.unwrap_or_else(|| float().map_or(Value::Null, Value::Number))
}

/// Returns `true` if a number is written with these digits.
pub(super) fn keeps_digits(number: &Value, written: &str) -> bool {
    let number = number.as_number();
    number.is_some_and(|number| number.to_string() == written)
}

impl Json<'_> {
    /// The value without a schema.
    pub(crate) fn into_value(self) -> Value {
        self.into_value_of(&number)
    }

    /// The value, whose numbers are read by `number`.
    fn into_value_of(self, number: &dyn Fn(&str) -> Value) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(written) => number(&written),
            Self::String(text) => Value::String(text.into_owned()),
            Self::Array(items) => {
                let items = items.into_iter();
                items.map(|item| item.into_value_of(number)).collect()
            }
            Self::Object(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.into_owned(), value.into_value_of(number)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(Cow::Owned(number.to_string())),
            Value::String(text) => Self::String(Cow::Borrowed(text)),
            Value::Array(items) => Self::Array(items.iter().map(Json::from).collect()),
            Value::Object(map) => {
                let fields = map.iter();
                let fields = fields.map(|(key, value)| (Cow::Borrowed(key.as_str()), value.into()));
                Self::Object(fields.collect())
            }
        }
    }
}

struct Fault {
    at: usize,
    problem: Cow<'static, str>,
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    nodes: usize,
    slips: Slips,
}

impl<'a> JsonReader<'a> {
    fn whole(&mut self) -> Result<Json<'a>, Fault> {
        self.skip()?;
        let json = self.value(0)?;
        self.skip()?;
        if self.at < self.text.len() {
            return Err(self.unexpected("the end"));
        }
        Ok(json)
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        self.nodes += 1;
        if self.nodes > NODES {
            return Err(self.fault(format!("more than {NODES} values")));
        }
        match self.peek() {
            Some(b'[' | b'{') if depth == DEPTH => {
                Err(self.fault(format!("more than {DEPTH} levels of nesting")))
            }
            Some(b'[') => self.array(depth + 1),
            Some(b'{') => self.object(depth + 1),
            Some(b'"' | b'\'') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(|it| Json::Number(Cow::Borrowed(it))),
            Some(byte) if byte.is_ascii_alphabetic() => self.word(),
            Some(_) | None => Err(self.unexpected("a value")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip()?;
        while self.peek() != Some(b']') {
            items.push(self.value(depth)?);
            self.comma(b']', "`,` or `]`")?;
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        let mut fields = Vec::new();
        let mut starts = Vec::new();
        self.at += 1;
        self.skip()?;
        while self.peek() != Some(b'}') {
            if !matches!(self.peek(), Some(b'"' | b'\'')) {
                return Err(self.unexpected("a key in quotes"));
            }
            starts.push(self.at);
            let key = self.string()?;
            if key.starts_with(RESERVED) {
                return Err(self.fault("the key is reserved; write another one"));
            }
            self.skip()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.at += 1;
            self.skip()?;
            fields.push((key, self.value(depth)?));
            self.comma(b'}', "`,` or `}`")?;
        }
        self.at += 1;
        if let Some(index) = repeated(&fields) {
            self.at = starts[index];
            return Err(self.fault("the key is there twice"));
        }
        Ok(Json::Object(fields))
    }

    /// Reads what follows an element: a comma, or the end, which stays.
    fn comma(&mut self, close: u8, expected: &str) -> Result<(), Fault> {
        self.skip()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip()?;
                if self.peek() == Some(close) {
                    self.slips.add(Slips::TRAILING_COMMA);
                }
                Ok(())
            }
            Some(byte) if byte == close => Ok(()),
            Some(_) | None => Err(self.unexpected(expected)),
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let text = self.text;
        let start = self.at;
        let quote = text.as_bytes()[start];
        if quote == b'\'' {
            self.slips.add(Slips::SINGLE_QUOTES);
        }
        self.at += 1;
        let mut read = Cow::Borrowed("");
        loop {
            let from = self.at;
            let Some(run) = memchr::memchr2(quote, b'\\', &text.as_bytes()[from..]) else {
                self.at = start;
                return Err(self.fault("the string is not closed"));
            };
            let run = &text[from..from + run];
            if run.bytes().any(|byte| byte < b' ') {
                self.slips.add(Slips::RAW_CONTROLS);
            }
            if read.is_empty() {
                read = Cow::Borrowed(run);
            } else {
                read.to_mut().push_str(run);
            }
            self.at = from + run.len();
            if text.as_bytes()[self.at] == quote {
                self.at += 1;
                return Ok(read);
            }
            let escaped = self.escape()?;
            read.to_mut().push(escaped);
        }
    }

    /// An escape; `at` is on its backslash.
    fn escape(&mut self) -> Result<char, Fault> {
        let escaped = match self.text[self.at + 1..].chars().next() {
            Some('"') => '"',
            Some('\\') => '\\',
            Some('/') => '/',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('\'') => {
                self.slips.add(Slips::SINGLE_QUOTES);
                '\''
            }
            Some('u') => return self.unicode(),
            Some(other) if !other.is_control() => {
                let problem =
                    format!("`\\{other}` is not an escape; a backslash is written `\\\\`");
                return Err(self.fault(problem));
            }
            Some(_) | None => return Err(self.fault("a backslash is written `\\\\`")),
        };
        self.at += 2;
        Ok(escaped)
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let unit = |at: usize| {
            let digits = self.text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
            let digits = digits
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit())
                .then_some(digits)?;
            u16::from_str_radix(digits, 16).ok()
        };
        let Some(first) = unit(self.at) else {
            return Err(self.fault("`\\u` is followed by four hexadecimal digits"));
        };
        let second = if matches!(first, 0xD800..0xDC00) {
            unit(self.at + 6)
        } else {
            None
        };
        let units = std::iter::once(first).chain(second);
        match char::decode_utf16(units).next() {
            Some(Ok(decoded)) => {
                self.at += if decoded.len_utf16() == 2 { 12 } else { 6 };
                Ok(decoded)
            }
            Some(Err(_)) | None => Err(self.fault("half of a surrogate pair")),
        }
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let whole = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let written = &self.text[start..self.at];
        if self.at > whole && !written.parse::<f64>().is_ok_and(f64::is_finite) {
            self.at = start;
            return Err(self.fault("the number is too large"));
        }
        Ok(written)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let digits = self.text.as_bytes()[self.at..].iter();
        match digits.take_while(|byte| byte.is_ascii_digit()).count() {
            0 => Err(self.unexpected("a digit")),
            count => {
                self.at += count;
                Ok(())
            }
        }
    }

    fn word(&mut self) -> Result<Json<'a>, Fault> {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let json = match &rest[..length] {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            python @ ("None" | "True" | "False") => {
                self.slips.add(Slips::PYTHON);
                match python {
                    "None" => Json::Null,
                    literal => Json::Bool(literal == "True"),
                }
            }
            word => {
                let word: String = word.chars().take(SHOWN).collect();
                return Err(self.fault(format!("expected a value, got `{word}`")));
            }
        };
        self.at += length;
        Ok(json)
    }

    /// Skips whitespace and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            let rest = &self.text[self.at..];
            let inner = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at += rest.len() - inner.len();
            let comment = if inner.starts_with('#') || inner.starts_with("//") {
                inner.find('\n').unwrap_or(inner.len())
            } else if let Some(comment) = inner.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(self.fault("the comment is not closed"));
                };
                end + 4
            } else {
                return Ok(());
            };
            self.slips.add(Slips::COMMENT);
            self.at += comment;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let problem = match self.text[self.at..].chars().next() {
            Some(found) => format!("expected {expected}, got `{}`", found.escape_debug()),
            None => format!("expected {expected}, but the text ends"),
        };
        self.fault(problem)
    }

    fn fault(&self, problem: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            at: self.at,
            problem: problem.into(),
        }
    }
}

/// The index of a field whose key an earlier one has.
fn repeated(fields: &[(Cow<'_, str>, Json<'_>)]) -> Option<usize> {
    let mut seen = BTreeSet::new();
    fields.iter().position(|(key, _)| !seen.insert(&**key))
}

#[cfg(test)]
mod tests;
