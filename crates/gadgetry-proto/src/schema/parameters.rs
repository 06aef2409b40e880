//! The parameter tree: arguments, each a pointer and a text, become one JSON object in one pass.

mod malformed;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Map;
use serde_json::Value;
use serde_json::map::Entry;

use crate::call::Digits;
use crate::error::ParseError;
use crate::error::PointerConflict;
use crate::json::RESERVED;
use crate::json::depth;
use crate::limits::Limit;
use crate::limits::LimitExceeded;
use crate::limits::Limits;
use crate::schema::coerce;
use crate::schema::compiled::Container;
use crate::schema::compiled::Schema;
use crate::schema::compiled::View;
use crate::schema::digits::Shaped;
use crate::schema::json;
use crate::schema::json::Json;
use crate::schema::numbers::digits_lost;
use crate::schema::pointer;
use crate::schema::slips::Slips;

/// Builds the parameters from arguments: pairs of a pointer, as written, and a value text, already without the newline
/// that ends it.
///
/// The first mistake in the order of the arguments is the error.
///
/// ```
/// use gadgetry_proto::limits::Limits;
/// use gadgetry_proto::schema::parameters;
/// use serde_json::json;
///
/// let arguments = [("dish/0/name", "pie"), ("dish/0/qty", "2")];
/// let built = parameters(arguments, None, "!!!ARG:", &Limits::default());
/// assert_eq!(built, Ok(json!({ "dish": [{ "name": "pie", "qty": 2 }] })));
/// ```
pub fn parameters<'a>(
    arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
    schema: Option<&Schema>,
    arg_marker: &str,
    limits: &Limits,
) -> Result<Value, ParseError> {
    parameters_noting(arguments, schema, arg_marker, limits, &mut Notes::default())
}

/// What is noted of parameters when they are read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Values that were read although they have slips.
    pub(crate) slips: Vec<(String, Slips)>,
    /// Digits that numbers do not keep, if the schema asks for them.
    pub(crate) digits: Digits,
}

/// [`parameters`] that notes slips and digits.
pub(crate) fn parameters_noting<'a>(
    arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
    schema: Option<&Schema>,
    arg_marker: &str,
    limits: &Limits,
    notes: &mut Notes,
) -> Result<Value, ParseError> {
    let arguments = arguments.into_iter();
    let mut tree = Tree {
        root: Value::Object(Map::with_capacity(arguments.size_hint().0)),
        view: schema.map(Schema::root),
        keeps_digits: schema.is_some_and(Schema::keeps_digits),
        decoded: None,
        limits,
        notes,
    };
    for (written, text) in arguments {
        if tree.view.is_none() && is_plain(written) {
            exceeds(written.len(), limits.pointer, Limit::Pointer)?;
            exceeds(text.len(), limits.value, Limit::Value)?;
            tree.set_key(written, text)?;
            continue;
        }
        let pointer = written.trim();
        if pointer.is_empty() || pointer.contains(char::is_whitespace) {
            return Err(malformed::error(pointer, text, arg_marker));
        }
        if pointer.starts_with('/') {
            return Err(malformed::leading_slash(pointer, arg_marker));
        }
        exceeds(pointer.len(), limits.pointer, Limit::Pointer)?;
        exceeds(text.len(), limits.value, Limit::Value)?;
        if pointer.contains(RESERVED) {
            let pointer = pointer.to_owned();
            return Err(ParseError::ReservedName { pointer });
        }
        tree.set(pointer, text)?;
    }
    Ok(tree.root)
}

/// Reads a body that is one JSON object as parameters; `None` if it does not begin like one. Fails if it cannot be read,
/// or is nested deeper than `limits` allow.
pub fn json_parameters(
    body: &str,
    schema: Option<&Schema>,
    limits: &Limits,
) -> Result<Option<Value>, ParseError> {
    let read = shaped_json(body, schema, limits)?;
    Ok(read.map(|shaped| shaped.value))
}

/// [`json_parameters`] with the digits.
pub(crate) fn shaped_json(
    body: &str,
    schema: Option<&Schema>,
    limits: &Limits,
) -> Result<Option<Shaped>, ParseError> {
    json_parameters_noting(body, schema, limits, &mut Slips::default())
}

/// [`shaped_json`] that notes the slips of the body.
pub(crate) fn json_parameters_noting(
    body: &str,
    schema: Option<&Schema>,
    limits: &Limits,
    slips: &mut Slips,
) -> Result<Option<Shaped>, ParseError> {
    let body = body.trim();
    if !body.starts_with('{') {
        return Ok(None);
    }
    let json = json::read(body, slips).map_err(ParseError::JsonBody)?;
    shaped(json, schema, limits, slips).map(Some)
}

/// Reads a JSON text, whose numbers stay as they are written until [`shape_parameters`] knows what they are.
pub(crate) fn read_whole(text: &str) -> Result<Json<'_>, ParseError> {
    json::read(text, &mut Slips::default()).map_err(ParseError::JsonBody)
}

/// Shapes what was read as parameters.
pub(crate) fn shape_parameters(
    json: Json<'_>,
    schema: Option<&Schema>,
    limits: &Limits,
) -> Result<Shaped, ParseError> {
    shaped(json, schema, limits, &mut Slips::default())
}

fn shaped(
    json: Json<'_>,
    schema: Option<&Schema>,
    limits: &Limits,
    slips: &mut Slips,
) -> Result<Shaped, ParseError> {
    let keeps_digits = schema.is_some_and(Schema::keeps_digits);
    let written = keeps_digits.then(|| json.clone());
    let value = coerce::shape(json, schema, slips, keeps_digits);
    exceeds(depth(&value), limits.levels(), Limit::Depth)?;
    let digits = written.map(|json| Digits::of_json(&json, &value));
    Ok(Shaped {
        value,
        digits: digits.unwrap_or_default(),
    })
}

/// Returns the type of a container whose first child has this segment.
pub(crate) fn container(place: Option<&View<'_>>, segment: &str) -> Container {
    place.and_then(View::container).unwrap_or_else(|| {
        if pointer::looks_like_index(segment) {
            Container::Array
        } else {
            Container::Object
        }
    })
}

/// Returns `true` if a pointer is one key of visible ASCII that needs no decoding and is not reserved, as nearly all are.
fn is_plain(written: &str) -> bool {
    let mut bytes = written.bytes();
    // Reserved names have a `$`.
    !written.is_empty()
        && bytes.all(|byte| matches!(byte, b'!'..=b'}') && byte != b'/' && byte != b'$')
}

fn exceeds(size: usize, limit: usize, what: Limit) -> Result<(), LimitExceeded> {
    if size > limit {
        return Err(LimitExceeded { what, limit });
    }
    Ok(())
}

struct Tree<'a> {
    root: Value,
    view: Option<View<'a>>,
    keeps_digits: bool,
    /// Pointers of containers that were written as one JSON text, if any was: nothing goes below them.
    decoded: Option<BTreeSet<String>>,
    limits: &'a Limits,
    notes: &'a mut Notes,
}

impl Tree<'_> {
    fn set(&mut self, written: &str, text: &str) -> Result<(), ParseError> {
        let segments = 1 + written.bytes().filter(|byte| *byte == b'/').count();
        exceeds(segments, self.limits.levels(), Limit::Depth)?;
        let path = canonical(written);
        let mut here = &mut self.root;
        let mut parent = self.view.as_ref();
        let mut view;
        let mut rest = path.as_ref();
        loop {
            let (segment, below) = match rest.split_once('/') {
                Some((segment, below)) => (segment, Some(below)),
                None => (rest, None),
            };
            let place;
            (place, view) = enter(here, segment, parent)?;
            let upto = path.len() - below.map_or(0, |below| below.len() + 1);
            match (place, below) {
                (ChildSlot::Free(slot), None) => {
                    let value = value(written, text, view.as_ref(), self.keeps_digits, self.notes)?;
                    if value.is_array() || value.is_object() {
                        let levels = segments + depth(&value);
                        exceeds(levels, self.limits.levels(), Limit::Depth)?;
                        let decoded = self.decoded.get_or_insert_default();
                        decoded.insert(path.into_owned());
                    }
                    slot.put(value);
                    return Ok(());
                }
                (ChildSlot::Taken(old), None) => {
                    let built = is_container(old) && !is_decoded(self.decoded.as_ref(), &path);
                    return Err(taken(written, built));
                }
                (ChildSlot::Free(slot), Some(below)) => {
                    let next = below.split('/').next().unwrap_or_default();
                    here = slot.put(match container(view.as_ref(), next) {
                        Container::Array => Value::Array(Vec::new()),
                        Container::Object => Value::Object(Map::new()),
                    });
                    rest = below;
                }
                (ChildSlot::Taken(old), Some(below)) => {
                    if !is_container(old) || is_decoded(self.decoded.as_ref(), &path[..upto]) {
                        return Err(ParseError::ConflictingPointer {
                            pointer: written.to_owned(),
                            conflict: PointerConflict::ParentIsValue,
                        });
                    }
                    here = old;
                    rest = below;
                }
            }
            parent = view.as_ref();
        }
    }

    /// The short way for the usual case: one plain key, no schema.
    fn set_key(&mut self, key: &str, text: &str) -> Result<(), ParseError> {
        let Value::Object(root) = &mut self.root else {
            return Ok(());
        };
        match root.insert(key.to_owned(), coerce::coerce(text, None)) {
            None => Ok(()),
            Some(old) => Err(taken(key, is_container(&old))),
        }
    }
}

fn value(
    pointer: &str,
    text: &str,
    place: Option<&View<'_>>,
    keeps_digits: bool,
    notes: &mut Notes,
) -> Result<Value, ParseError> {
    let mut slips = Slips::NONE;
    let value = coerce::coerce_noting(text, place, &mut slips, keeps_digits);
    if let Some(view) = place
        && value.is_string()
        && let Some(error) = coerce::broken_json(text, view)
    {
        let pointer = pointer.to_owned();
        return Err(ParseError::JsonValue { pointer, error });
    }
    if let Some(view) = place
        && value.is_string()
        && let Some(error) = view.intended().and_then(|it| digits_lost(text, it))
    {
        let pointer = pointer.to_owned();
        return Err(ParseError::DigitsLost { pointer, error });
    }
    if slips != Slips::NONE {
        notes.slips.push((pointer.to_owned(), slips));
    }
    // Known when the parser alone is compiled, which stays small so.
    if cfg!(feature = "engine") && keeps_digits {
        notes.digits.add(pointer, text, &value);
    }
    Ok(value)
}

fn is_decoded(decoded: Option<&BTreeSet<String>>, path: &str) -> bool {
    decoded.is_some_and(|decoded| decoded.contains(path))
}

/// The place of a child in its container.
enum ChildSlot<'a> {
    Taken(&'a mut Value),
    Free(FreeSlot<'a>),
}

enum FreeSlot<'a> {
    Key(serde_json::map::VacantEntry<'a>),
    End(&'a mut Vec<Value>),
}

impl<'a> FreeSlot<'a> {
    fn put(self, value: Value) -> &'a mut Value {
        match self {
            Self::Key(entry) => entry.insert(value),
            Self::End(items) => {
                let end = items.len();
                items.push(value);
                &mut items[end]
            }
        }
    }
}

fn enter<'a, 'v>(
    here: &'a mut Value,
    segment: &str,
    parent: Option<&View<'v>>,
) -> Result<(ChildSlot<'a>, Option<View<'v>>), ParseError> {
    if let Value::Array(items) = here {
        if !pointer::is_index(segment) {
            return Err(ParseError::InvalidArrayIndex {
                segment: pointer::decode(segment).into_owned(),
            });
        }
        let expected = items.len();
        let index = match segment.parse::<usize>() {
            Ok(index) if index <= expected => index,
            Ok(_) | Err(_) => {
                return Err(ParseError::ArrayIndexGap {
                    expected,
                    got: segment.to_owned(),
                });
            }
        };
        let place = if index < expected {
            ChildSlot::Taken(&mut items[index])
        } else {
            ChildSlot::Free(FreeSlot::End(items))
        };
        return Ok((place, parent.map(|parent| parent.item(index))));
    }
    let key = pointer::decode(segment);
    let view = parent.map(|parent| parent.property(&key));
    let place = match here {
        Value::Object(map) => match map.entry(key) {
            Entry::Occupied(old) => ChildSlot::Taken(old.into_mut()),
            Entry::Vacant(slot) => ChildSlot::Free(FreeSlot::Key(slot)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            ChildSlot::Taken(here)
        }
    };
    Ok((place, view))
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn taken(written: &str, built: bool) -> ParseError {
    let pointer = written.to_owned();
    if built {
        let conflict = PointerConflict::HasChildren;
        ParseError::ConflictingPointer { pointer, conflict }
    } else {
        ParseError::DuplicatePointer { pointer }
    }
}

/// The pointer with every `~` spelt the one right way.
fn canonical(written: &str) -> Cow<'_, str> {
    if !written.contains('~') {
        return Cow::Borrowed(written);
    }
    let segments: Vec<String> = pointer::segments(written)
        .map(|key| pointer::encode(&key).into_owned())
        .collect();
    Cow::Owned(segments.join("/"))
}

#[cfg(test)]
mod tests;
