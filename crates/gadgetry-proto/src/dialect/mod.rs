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
//! | [`Dialect::Harmony`] | `<\|channel\|>commentary to=functions.Calc <\|constrain\|>json<\|message\|>{…}<\|call\|>` | the JSON |
//! | [`Dialect::Glm`] | `<tool_call>Calc<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>` | the closing tag |
//! | [`Dialect::Kimi`] | `<\|tool_call_begin\|>functions.Calc:0<\|tool_call_argument_begin\|>{…}<\|tool_call_end\|>` | its end marker |
//! | [`Dialect::DeepSeek`] | `<｜tool▁call▁begin｜>Calc<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, also with the word `function` and a fence; `<｜DSML｜invoke name="Calc">` | its end marker |
//! | [`Dialect::Gemma`] | a fence of `tool_code` with `Calc(a=1)`; `<start_function_call>call:Calc{a:1}<end_function_call>`; `<\|tool_call>call:Calc{a:1}<tool_call\|>` | the fence, or its end marker |
//! | [`Dialect::Lfm2`] | `<\|tool_call_start\|>[Calc(a=1)]<\|tool_call_end\|>` | its end marker |
//!
//! The forms are those of the models' templates, as these say: Harmony, the guide to `OpenAI`'s `harmony` format; GLM 4.5 to 4.7,
//! the documentation of vLLM's parsers `glm4_moe` and `glm47_moe`; Kimi K2, `docs/tool_call_guidance.md` of Kimi-K2-Instruct;
//! `DeepSeek`, the chat templates of V3-0324 and V3.1, and the folder `encoding` of V3.2 and V4; Gemma, `FunctionGemma formatting`
//! of Google's documentation, and for Gemma 4 vLLM's parser `gemma4`; LFM2, vLLM's parser `lfm2`. A configuration can define
//! further ones: [`CustomDialect`].
//!
//! Where one object can be a call, an object with a list of them can be, too: `{"tool_calls": [{"type": "function", "function":
//! {"name": "Calc", "arguments": "{…}"}}]}`, the form of `OpenAI`'s API.
//!
//! The forms that a wrapper marks beyond doubt count with any name; `Llama`, `FencedJson`, `Xml`, `Python` and the fence of `Gemma`
//! only with the name of a registered gadget, and those of Python and `Xml` only with its parameters. What is between the tags
//! or quotes of a value is data, whatever it contains. The text is read once, from front to back; after
//! [`Limits::near_misses`] forms that could not be read, no more are looked for.
//!
//! # Quotations
//!
//! A text that quotes a call is not a call. Where a quotation and a call look the same, this decides:
//!
//! | a form is a quotation | so a call is missed if a model |
//! |---|---|
//! | in backticks, a code fence, quotation marks, a block quote, a table, or at the beginning of a list's item | writes it there: the form of a fence itself excepted |
//! | in an element of data, such as `<tool_response>`, `<result>` or `<example>`, or after `RESULT (…):` | wraps it so |
//! | inside another form, whichever that is | nests calls |
//! | with prose before it, if the text after it continues in lower case, or on the same line as the prose | writes so |
//! | with prose before it that says so, like "for example" or "looks like" | says so of a real call |
//! | without a wrapper, if prose precedes *and* follows it | explains such a call on both sides |
//!
//! The first thing of a reply is a call, and so is the last one, unless one of the other rows holds: models stop after a call, and a
//! quotation has words around it. What this misses is answered with a note about the right form in a run, and is text in the
//! gateway. A text of others that a model repeats as the whole of its reply looks like a call of its own: [`Quotations`] finds those that
//! the conversation has.

mod custom;
mod envelope;
mod forms;
mod gate;
mod gemma;
mod heads;
mod known;
mod markup;
mod name;
mod openers;
mod python;
mod quotations;
mod quotes;
mod significant;
mod template;
mod wrappers;

use std::ops::Range;

use quotes::{Before, Surroundings};
use wrappers::unwrapped;

use crate::call::{Digits, Parameters};
use crate::error::ParseError;
use crate::limits::Limits;
use crate::schema::{
    Notes, RegisteredGadget, Registry, Schema, Shaped, parameters_noting, pointer,
};

pub use custom::{Arguments, CustomDialect, Dialects, DialectsError, WrongDialect};
pub use gate::{Gate, GateRules, Gated};
pub use known::{Dialect, UnknownDialect};
pub use quotations::{PROJECT_INSTRUCTIONS, Quotations};

/// A call in the form of a dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct DialectCall {
    /// The form of the call.
    pub dialect: Dialect,
    /// The name as written.
    pub gadget_name: String,
    /// The parameters, shaped by the gadget's schema but not validated, or what is wrong with them.
    pub parameters: Parameters,
    /// Numbers of the parameters as they were written, if [`RegisteredGadget::keep_digits`] was called.
    pub digits: Digits,
    /// Whether the form has its end. A call without it may have been cut off.
    pub is_whole: bool,
    /// The position in the text.
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
    find_in(text, registry, limits, &[], &TextContext::default())
}

/// Returns `true` if a text has a form of a call that is not quoted: also of an unknown gadget, and also a damaged one.
///
/// ```
/// use gadgetry_proto::dialect::looks_like_call;
/// use gadgetry_proto::limits::Limits;
/// use gadgetry_proto::schema::Registry;
///
/// let looks = |text| looks_like_call(text, &Registry::default(), &Limits::default());
/// assert!(looks("<tool_call>{\"name\": \"Calc\", \"arguments\": {}}</tool_call>"));
/// assert!(looks("<tool_call>{\"name\": \"Ca</tool_call>"));
/// assert!(!looks("Such a call begins with `<tool_call>`."));
/// ```
pub fn looks_like_call(text: &str, registry: &Registry, limits: &Limits) -> bool {
    let mut finder = Finder::of(text, registry, limits, &[]);
    !finder.run(&TextContext::default()).is_empty() || finder.is_damaged
}

/// The position of a text in a reply.
#[derive(Default)]
pub(crate) struct TextContext<'a> {
    /// The text before it; none by default.
    pub(crate) around: Option<&'a Surroundings>,
    /// The text that has arrived after it.
    pub(crate) behind: &'a str,
    /// Whether a form follows at once.
    pub(crate) before_form: bool,
}

/// The calls in a text at a place.
pub(crate) fn find_in(
    text: &str,
    registry: &Registry,
    limits: &Limits,
    custom: &[CustomDialect],
    place: &TextContext<'_>,
) -> Vec<DialectCall> {
    Finder::of(text, registry, limits, custom).run(place)
}

struct Finder<'a> {
    text: &'a str,
    registry: &'a Registry,
    limits: &'a Limits,
    custom: &'a [CustomDialect],
    calls: Vec<DialectCall>,
    /// Forms that were begun and could not be read.
    unread: usize,
    /// Whether one of them was not quoted.
    is_damaged: bool,
}

/// The outcome of reading a form.
enum Read {
    /// The form reaches up to here.
    To(usize),
    /// There is no such form here.
    No,
    /// The text looks like a form, but is not.
    Unread,
}

/// A form of which what follows decides whether it is a call.
struct Open {
    calls: Range<usize>,
    is_marked: bool,
    before: Before,
}

impl<'a> Finder<'a> {
    fn of(
        text: &'a str,
        registry: &'a Registry,
        limits: &'a Limits,
        custom: &'a [CustomDialect],
    ) -> Self {
        Self {
            text,
            registry,
            limits,
            custom,
            calls: Vec::new(),
            unread: 0,
            is_damaged: false,
        }
    }

    fn run(&mut self, place: &TextContext<'_>) -> Vec<DialectCall> {
        let mut around = place.around.cloned().unwrap_or_default();
        let (mut at, mut seen) = (0, 0);
        let mut at_line_start = around.is_line_blank();
        let mut open: Vec<Open> = Vec::new();
        let mut mentions: Vec<Range<usize>> = Vec::new();
        while at < self.text.len()
            && self.unread < self.limits.near_misses
            && self.calls.len() < self.limits.calls_per_reply
        {
            let start = if at_line_start {
                at + self.blanks(at)
            } else {
                at
            };
            let first = self.calls.len();
            let next = match self.form_at(start, at_line_start) {
                Read::To(end) => {
                    let gap = &self.text[seen..start];
                    settle(&mut open, &mut mentions, &unwrapped(gap), false, false);
                    around.push_gap(gap);
                    seen = start;
                    if around.is_quoted() {
                        self.calls.truncate(first);
                        self.unread += 1;
                        start + 1
                    } else {
                        seen = end.max(start + 1);
                        if first < self.calls.len() {
                            open.push(Open {
                                calls: first..self.calls.len(),
                                is_marked: self.is_marked(start, self.calls[first].dialect),
                                before: around.before(),
                            });
                        }
                        seen
                    }
                }
                Read::No => start,
                Read::Unread => {
                    self.unread += 1;
                    let mut around = around.clone();
                    around.push_gap(&self.text[seen..start]);
                    self.is_damaged |= !around.is_quoted();
                    start + 1
                }
            };
            let stays = next == start && self.text.as_bytes().get(start) != Some(&b'\n');
            let from = next + usize::from(stays);
            let Some(found) = self.next_candidate(from) else {
                break;
            };
            at_line_start = self.text.as_bytes()[found] == b'\n';
            at = found + usize::from(at_line_start);
        }
        let mut rest = unwrapped(&self.text[seen..]);
        rest.push_str(place.behind);
        settle(
            &mut open,
            &mut mentions,
            &rest,
            place.behind.is_empty(),
            place.before_form,
        );
        let mut is_call = vec![true; self.calls.len()];
        for range in mentions {
            is_call[range].fill(false);
        }
        let calls = std::mem::take(&mut self.calls).into_iter().zip(is_call);
        calls
            .filter_map(|(call, is_call)| is_call.then_some(call))
            .collect()
    }

    /// Returns the next place where a form may begin, or a line ends.
    fn next_candidate(&self, from: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(from..)?;
        let first = |it: &CustomDialect| it.before.as_bytes().first().copied().unwrap_or(b'<');
        let found = if self
            .custom
            .iter()
            .all(|it| matches!(first(it), b'<' | b'['))
        {
            memchr::memchr3(b'<', b'[', b'\n', rest)
        } else {
            let mut bytes = rest.iter();
            let is_first = |byte: &u8| self.custom.iter().any(|it| first(it) == *byte);
            bytes.position(|byte| matches!(byte, b'<' | b'[' | b'\n') || is_first(byte))
        };
        found.map(|found| from + found)
    }

    /// Returns `true` if a wrapper marks the form that begins here.
    fn is_marked(&self, at: usize, dialect: Dialect) -> bool {
        let first = self.text.as_bytes().get(at);
        let is_bare = matches!(first, Some(b'{' | b'`'));
        dialect == Dialect::Custom || !is_bare && !matches!(dialect, Dialect::Xml | Dialect::Python)
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
        if at > 0 && self.text.as_bytes()[at - 1] == b'`' && !rest.starts_with('`') {
            return Read::No;
        }
        let custom = self.custom;
        if let Some(form) = custom.iter().find(|form| rest.starts_with(&form.before)) {
            return self.custom(at, form);
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

    fn gadget(&self, name: &str) -> Option<&'a RegisteredGadget> {
        self.registry.get(name)
    }

    fn call(
        &mut self,
        dialect: Dialect,
        name: &str,
        parameters: Result<Shaped, ParseError>,
        range: Range<usize>,
        is_whole: bool,
    ) {
        // A form may be a list of any length.
        if self.calls.len() >= self.limits.calls_per_reply {
            return;
        }
        let (parameters, digits) = match parameters {
            Ok(shaped) => (Parameters::Parsed(shaped.value), shaped.digits),
            Err(error) => (Parameters::Malformed(error.to_string()), Digits::default()),
        };
        self.calls.push(DialectCall {
            dialect,
            gadget_name: name.to_owned(),
            parameters,
            digits,
            is_whole,
            range,
        });
    }

    /// Parameters of texts by name, read like the arguments of a block.
    fn texts(&self, name: &str, texts: &[(&str, &str)]) -> Result<Shaped, ParseError> {
        let schema: Option<&Schema> = self.gadget(name).map(RegisteredGadget::schema);
        let pointers: Vec<_> = texts
            .iter()
            .map(|(name, text)| (pointer::encode(name), *text))
            .collect();
        let arguments = pointers.iter().map(|(name, text)| (name.as_ref(), *text));
        let mut notes = Notes::default();
        let value = parameters_noting(arguments, schema, "", self.limits, &mut notes)?;
        let digits = notes.digits;
        Ok(Shaped { value, digits })
    }
}

/// Decides about forms, given the text after them.
fn settle(
    open: &mut Vec<Open>,
    mentions: &mut Vec<Range<usize>>,
    gap: &str,
    is_end: bool,
    before_form: bool,
) {
    let is_blank = gap.trim().is_empty();
    if is_blank && !is_end {
        // Another form follows: it decides about forms that nothing marks.
        open.retain(|it| !it.is_marked);
        if !before_form {
            return;
        }
    }
    for form in open.drain(..) {
        let is_call = form
            .before
            .is_call(form.is_marked, gap, is_end || before_form);
        if is_call != Some(true) {
            mentions.push(form.calls);
        }
    }
}

/// Returns `true` if the schema of a gadget names this parameter.
fn has_parameter(gadget: &RegisteredGadget, key: &str) -> bool {
    let properties = gadget.spec().parameters.get("properties");
    properties.is_some_and(|properties| properties.get(key).is_some())
}
