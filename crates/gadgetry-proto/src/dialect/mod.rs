//! Calls in the forms that models were trained on, found in the text of a whole reply.
//!
//! A model that knows another form of calling may use it instead of gadget blocks. [`find`] recognises these forms:
//!
//! | dialect | form | ends with |
//! |---|---|---|
//! | [`Dialect::Hermes`] | `<tool_call>{"name": "Calc", "arguments": {…}}</tool_call>` | the closing tag |
//! | [`Dialect::QwenCoder`] | `<function=Calc><parameter=a>1</parameter></function>` | the closing tag |
//! | [`Dialect::Mistral`] | `[TOOL_CALLS][{"name": "Calc", "arguments": {…}}]`, `[TOOL_CALLS]Calc[ARGS]{…}` | the JSON |
//! | [`Dialect::Llama`] | `{"name": "Calc", "parameters": {…}}` at the start of a line, or after `<\|python_tag\|>` | the JSON |
//! | [`Dialect::Anthropic`] | `<invoke name="Calc"><parameter name="a">1</parameter></invoke>` | the closing tag |
//! | [`Dialect::FencedJson`] | a code fence with `{"name": "Calc", "arguments": {…}}` | the closing fence |
//! | [`Dialect::Xml`] | `<Calc><a>1</a></Calc>` at the start of a line | the closing tag |
//! | [`Dialect::Python`] | `Calc(a=1)`, alone on a line | the line |
//!
//! Where one object can be a call, an object with a list of them can be, too: `{"tool_calls": [{"type": "function", "function":
//! {"name": "Calc", "arguments": "{…}"}}]}`, the form of `OpenAI`'s API.
//!
//! The forms that a wrapper marks beyond doubt count with any name; `Llama`, `FencedJson`, `Xml` and `Python` only with the name
//! of a registered gadget, and the last two only with its parameters. A form with a backtick directly before it is a
//! mention. The text is read once, from front to back; after [`Limits::near_misses`] forms that could not be read, no
//! more are looked for.

mod envelope;
mod markup;
mod python;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::Next;
use crate::call::Parameters;
use crate::error::ParseError;
use crate::limits::Limits;
use crate::schema::{RegisteredGadget, Registry, Schema, parameters, pointer};

/// A form of calling that is not ours. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Dialect {
    /// JSON in `<tool_call>`: Hermes, Qwen and others.
    Hermes,
    /// `<function=…>` and `<parameter=…>`: Qwen3-Coder.
    QwenCoder,
    /// `[TOOL_CALLS]`: Mistral.
    Mistral,
    /// A JSON object that is the call: Llama 3.
    Llama,
    /// `<invoke name="…">`: Anthropic.
    Anthropic,
    /// A JSON object in a code fence.
    FencedJson,
    /// The gadget's name as a tag.
    Xml,
    /// A function call of Python with keyword arguments.
    Python,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Hermes,
        Self::QwenCoder,
        Self::Mistral,
        Self::Llama,
        Self::Anthropic,
        Self::FencedJson,
        Self::Xml,
        Self::Python,
    ];

    /// The name that [`FromStr`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hermes => "hermes",
            Self::QwenCoder => "qwen-coder",
            Self::Mistral => "mistral",
            Self::Llama => "llama",
            Self::Anthropic => "anthropic",
            Self::FencedJson => "fenced-json",
            Self::Xml => "xml",
            Self::Python => "python",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown dialect {0:?}; available: hermes, qwen-coder, mistral, llama, anthropic, fenced-json, xml and python"
)]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// A call in the form of a dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct DialectCall {
    /// The form.
    pub dialect: Dialect,
    /// The name as written.
    pub gadget_name: String,
    /// The parameters, shaped by the gadget's schema but not validated, or what is wrong with them.
    pub parameters: Parameters,
    /// Whether the form has its end. A call without it may have been cut off.
    pub is_whole: bool,
    /// Its position in the text.
    pub range: Range<usize>,
}

/// The calls in a text, in order. Nothing else in it is changed or judged.
///
/// ```
/// use gadgetry_proto::call::Parameters;
/// use gadgetry_proto::dialect::{Dialect, find};
/// use gadgetry_proto::limits::Limits;
/// use gadgetry_proto::schema::{GadgetSpec, Registry};
/// use serde_json::json;
///
/// let calc = GadgetSpec { name: "Calc".to_owned(), ..GadgetSpec::default() };
/// let registry = Registry::new([calc])?;
/// let reply = "Let me see.\n<tool_call>\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}\n</tool_call>";
/// let calls = find(reply, &registry, &Limits::default());
/// assert_eq!(calls[0].dialect, Dialect::Hermes);
/// assert_eq!(calls[0].parameters, Parameters::Parsed(json!({ "a": 1 })));
/// # Ok::<(), gadgetry_proto::schema::RegistryError>(())
/// ```
pub fn find(text: &str, registry: &Registry, limits: &Limits) -> Vec<DialectCall> {
    let mut finder = Finder {
        text,
        registry,
        limits,
        calls: Vec::new(),
        ends: [Next::default(); ENDS.len()],
        unread: 0,
    };
    finder.run();
    finder.calls
}

/// What ends a form. The last one has the prefix that some models write before the names of tags.
const ENDS: [&str; 4] = [
    "</tool_call>",
    "</function>",
    "</invoke>",
    "</ant\u{6d}l:invoke>",
];

struct Finder<'a> {
    text: &'a str,
    registry: &'a Registry,
    limits: &'a Limits,
    calls: Vec<DialectCall>,
    /// The next position of each of [`ENDS`], so that a text without one is searched for it once.
    ends: [Next; ENDS.len()],
    /// Forms that were begun and could not be read.
    unread: usize,
}

/// How reading a form ended.
enum Read {
    /// It reaches up to here.
    To(usize),
    /// There is no such form here.
    No,
    /// It looks like one, but is not.
    Unread,
}

impl<'a> Finder<'a> {
    fn run(&mut self) {
        let mut at = 0;
        let mut at_line_start = true;
        while at < self.text.len()
            && self.unread < self.limits.near_misses
            && self.calls.len() < self.limits.calls_per_reply
        {
            let place = if at_line_start {
                at + self.blanks(at)
            } else {
                at
            };
            let next = match self.form_at(place, at_line_start) {
                Read::To(end) => end.max(place + 1),
                Read::No => place,
                Read::Unread => {
                    self.unread += 1;
                    place + 1
                }
            };
            let stays = next == place && self.text.as_bytes().get(place) != Some(&b'\n');
            let from = next + usize::from(stays);
            let rest = self.text.as_bytes().get(from..).unwrap_or_default();
            let Some(found) = memchr::memchr3(b'<', b'[', b'\n', rest) else {
                return;
            };
            let found = from + found;
            at_line_start = self.text.as_bytes()[found] == b'\n';
            at = found + usize::from(at_line_start);
        }
    }

    fn blanks(&self, at: usize) -> usize {
        let rest = &self.text.as_bytes()[at..];
        rest.iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count()
    }

    fn form_at(&mut self, at: usize, at_line_start: bool) -> Read {
        let Some(rest) = self.text.get(at..) else {
            return Read::No;
        };
        if rest.starts_with(['<', '[']) && at > 0 && self.text.as_bytes()[at - 1] == b'`' {
            return Read::No;
        }
        let marked = match rest.as_bytes().first() {
            Some(b'<') => self.markup(at),
            Some(b'[') => self.mistral(at),
            _ => Read::No,
        };
        if !at_line_start || !matches!(marked, Read::No) {
            return marked;
        }
        match rest.as_bytes().first() {
            Some(b'{') => self.llama(at, at),
            Some(b'`') => self.fence(at),
            Some(b'<') => self.xml(at),
            Some(_) => self.python(at),
            None => Read::No,
        }
    }

    /// Where the form that began before `from` ends, and what follows its end; the end of the text if it has none.
    fn end(&mut self, which: usize, from: usize) -> (usize, usize, bool) {
        let text = self.text;
        let needle = ENDS[which];
        let found = self.ends[which].from(from, || {
            let rest = text.as_bytes().get(from..)?;
            memchr::memmem::find(rest, needle.as_bytes()).map(|at| from + at)
        });
        match found {
            Some(at) => (at, at + needle.len(), true),
            None => (text.len(), text.len(), false),
        }
    }

    fn gadget(&self, name: &str) -> Option<&'a RegisteredGadget> {
        self.registry.get(name)
    }

    fn call(
        &mut self,
        dialect: Dialect,
        name: &str,
        parameters: Result<Value, ParseError>,
        range: Range<usize>,
        is_whole: bool,
    ) {
        let parameters = match parameters {
            Ok(parameters) => Parameters::Parsed(parameters),
            Err(error) => Parameters::Malformed(error.to_string()),
        };
        self.calls.push(DialectCall {
            dialect,
            gadget_name: name.to_owned(),
            parameters,
            is_whole,
            range,
        });
    }

    /// Parameters of texts by name, read like the arguments of a block.
    fn texts(&self, name: &str, texts: &[(&str, &str)]) -> Result<Value, ParseError> {
        let schema: Option<&Schema> = self.gadget(name).map(RegisteredGadget::schema);
        let pointers: Vec<_> = texts
            .iter()
            .map(|(name, text)| (pointer::encode(name), *text))
            .collect();
        let arguments = pointers.iter().map(|(name, text)| (name.as_ref(), *text));
        parameters(arguments, schema, "", self.limits)
    }
}

/// Whether the schema of a gadget names this parameter.
fn has_parameter(gadget: &RegisteredGadget, key: &str) -> bool {
    let properties = gadget.spec().parameters.get("properties");
    properties.is_some_and(|properties| properties.get(key).is_some())
}

/// A name of a gadget at the beginning of `text`: everything up to what cannot be in one.
fn name_at(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    &text[..end.unwrap_or(text.len())]
}
