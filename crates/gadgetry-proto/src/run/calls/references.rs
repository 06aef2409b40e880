//! `${id}` in parameters: the result of a dependency replaces the whole value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::call::{Call, Digits, Parameters, find_text, reference};
use crate::id::InvocationId;
use crate::json::depth;
use crate::limits::{Limit, LimitExceeded, Limits};
use crate::run::calls::known::KnownResults;
use crate::run::plan::Plan;
use crate::schema::View;
use crate::schema::coerce;
use crate::schema::has_too_many_values;
use crate::visible::visible_line;

/// The id in the first reference to a call that `is_known` but is not among the dependencies.
pub(super) fn undeclared(
    call: &Call,
    is_known: impl Fn(&InvocationId) -> bool,
) -> Option<InvocationId> {
    let Parameters::Parsed(parameters) = &call.parameters else {
        return None;
    };
    find_text(parameters, &|text| {
        let inner = reference(text)?;
        let declared = call.dependencies.iter();
        let mut declared = declared.filter_map(|id| pointer_after(id, inner));
        if declared.next().is_some() {
            return None;
        }
        let ids = [inner, inner.split('/').next().unwrap_or(inner)];
        ids.into_iter().map(InvocationId::from).find(&is_known)
    })
}

/// The note about a reference that [`undeclared`] has found.
pub(super) fn undeclared_note(call: &Call, id: &InvocationId, plan: &Plan) -> String {
    let (name, own) = (&call.gadget_name, &call.invocation_id);
    if plan.config.tools.reads_blocks() {
        let start = plan.config.markers.start();
        format!(
            "${{{id}}} in the call {own} stayed text, because {id} is not among its dependencies; write \
             {start}{name}:{own}:{id}"
        )
    } else {
        format!(
            "${{{id}}} in the call {own} stayed text: a call through the provider's interface has no dependencies"
        )
    }
}

/// Returns the text after the id in a reference to it, its `/` included.
fn pointer_after<'t>(id: &InvocationId, inner: &'t str) -> Option<&'t str> {
    let pointer = inner.strip_prefix(id.as_str())?;
    (pointer.is_empty() || pointer.starts_with('/')).then_some(pointer)
}

/// Replaces references to declared dependencies in the parameters of one call.
///
/// A reference is a value whose whole text is `${id}`, or `${id/pointer}` for a part of a result that is JSON. With the
/// result `{"n": 7}` of `count`, `"${count/n}"` becomes `7`: the replacement is coerced as if the model had written it there.
pub(super) struct Resolver<'a> {
    dependencies: &'a [InvocationId],
    results: &'a KnownResults,
    /// Results that were read as JSON; `None` for those that are something else.
    parsed: BTreeMap<&'a InvocationId, Option<(Value, Digits)>>,
    limits: &'a Limits,
    /// Bytes of results that may still be put in.
    room: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        dependencies: &'a [InvocationId],
        results: &'a KnownResults,
        limits: &'a Limits,
        room: usize,
    ) -> Self {
        Self {
            dependencies,
            results,
            parsed: BTreeMap::new(),
            limits,
            room,
        }
    }

    /// Bytes of results that may still be put in.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Replaces them all. The error is for the model: why one has no value.
    pub(super) fn resolve(
        &mut self,
        parameters: &mut Value,
        schema: &View<'_>,
    ) -> Result<(), String> {
        self.walk(parameters, schema)?;
        let levels = self.limits.levels();
        if depth(parameters) > levels {
            return Err(exceeded(Limit::Depth, levels));
        }
        Ok(())
    }

    fn walk(&mut self, parameters: &mut Value, schema: &View<'_>) -> Result<(), String> {
        match parameters {
            Value::String(text) => {
                if let Some(found) = self.lookup(text) {
                    let found = found?;
                    self.room = self
                        .room
                        .checked_sub(found.len())
                        .ok_or_else(|| exceeded(Limit::References, self.limits.references))?;
                    *parameters = coerce(&found, Some(schema));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.walk(item, &schema.item(index))?;
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.walk(field, &schema.property(key))?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    /// The value of a reference; `None` if `text` is not one.
    fn lookup(&mut self, text: &str) -> Option<Result<Cow<'a, str>, String>> {
        let reference = reference(text)?;
        let (id, pointer) = self.split(reference)?;
        let nothing = |why: &str| {
            let error = format!("Error: {text} has no value: {why}");
            Some(Err(visible_line(&error).into_owned()))
        };
        let Some(result) = self.results.get(id) else {
            return nothing(&format!("\"{id}\" has no result"));
        };
        if pointer.is_empty() {
            return Some(Ok(Cow::Borrowed(result)));
        }
        if has_too_many_values(result) {
            return nothing(&format!("the result of \"{id}\" has too many values"));
        }
        let parsed = self
            .parsed
            .entry(id)
            .or_insert_with(|| Digits::read(result));
        let Some((json, digits)) = parsed else {
            return nothing(&format!("the result of \"{id}\" is not JSON"));
        };
        match json.pointer(pointer) {
            Some(Value::String(part)) => Some(Ok(Cow::Owned(part.clone()))),
            Some(_) => digits.part(json, pointer).map(|it| Ok(Cow::Owned(it))),
            None => nothing(&format!("the result of \"{id}\" has no {pointer}")),
        }
    }

    /// The dependency, and what follows it. An id may contain a `/` itself, so the longest one counts.
    fn split<'t>(&self, reference: &'t str) -> Option<(&'a InvocationId, &'t str)> {
        let candidates = self.dependencies.iter().filter_map(|id| {
            let pointer = pointer_after(id, reference)?;
            Some((id, pointer))
        });
        candidates.max_by_key(|(id, _)| id.as_str().len())
    }
}

fn exceeded(what: Limit, limit: usize) -> String {
    format!("Error: {}", LimitExceeded { what, limit })
}
