//! Calls that depend on others of the same reply, kept until the results of those come back.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use gadgetry::proto::message::{Content, Message, Role};
use serde_json::Value;

use super::call_ids::parts;
use crate::memory::{Memory, Owner, weight};

/// Bytes of all calls.
const BYTES: usize = 16 << 20;

/// A call that waits for others of its reply.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldCall {
    /// The model's id of it.
    pub id: String,
    /// The tool, as the client calls it.
    pub name: String,
    /// The model's ids of the calls that must be done first.
    pub dependencies: Vec<String>,
    /// Its parameters, with `${id}` in them.
    pub input: Value,
}

impl HeldCall {
    /// An estimate of its bytes.
    fn weight(&self) -> usize {
        let dependencies = self.dependencies.iter().map(|it| it.len() + 48);
        let texts = self.id.len() + self.name.len() + dependencies.sum::<usize>();
        texts + weight(&self.input)
    }

    /// The parameters with results in place of `${id}`. `results` are ids, texts, and whether they are errors.
    ///
    /// Fails, with a text for the model, if a dependency has failed or has no result.
    pub(crate) fn filled(&self, results: &[(String, String, bool)]) -> Result<Value, String> {
        for dependency in &self.dependencies {
            let result = results.iter().find(|(id, ..)| id == dependency);
            match result {
                Some((_, _, false)) => {}
                Some((_, _, true)) => return Err(format!("the call {dependency} failed")),
                None => return Err(format!("the call {dependency} has no result")),
            }
        }
        let mut input = self.input.clone();
        self.fill(&mut input, results)?;
        Ok(input)
    }

    fn fill(&self, value: &mut Value, results: &[(String, String, bool)]) -> Result<(), String> {
        match value {
            Value::String(text) => {
                if let Some(found) = self.lookup(text, results) {
                    *value = found?;
                }
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|it| self.fill(it, results)),
            Value::Object(fields) => fields
                .values_mut()
                .try_for_each(|it| self.fill(it, results)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// What replaces a text that is `${id}` or `${id/pointer}`; `None` for other texts.
    fn lookup(
        &self,
        text: &str,
        results: &[(String, String, bool)],
    ) -> Option<Result<Value, String>> {
        let inner = text.strip_prefix("${")?.strip_suffix('}')?;
        let named = self.dependencies.iter().filter_map(|id| {
            let pointer = inner.strip_prefix(id.as_str())?;
            (pointer.is_empty() || pointer.starts_with('/')).then_some((id, pointer))
        });
        // An id may contain `/`, so the longest one counts.
        let (id, pointer) = named.max_by_key(|(id, _)| id.len())?;
        let (_, result, _) = results.iter().find(|(other, ..)| other == id)?;
        if pointer.is_empty() {
            return Some(Ok(Value::String(result.clone())));
        }
        let part = serde_json::from_str::<Value>(result)
            .ok()
            .and_then(|json| json.pointer(pointer).cloned());
        let missing = || format!("the result of {id} is not JSON with a value at {pointer}");
        Some(part.ok_or_else(missing))
    }
}

/// The calls that wait for others, by their owner and the id of their exchange. The oldest are forgotten first.
#[derive(Debug)]
pub struct HeldCalls(Mutex<Memory<u128, Vec<HeldCall>>>);

impl Default for HeldCalls {
    fn default() -> Self {
        Self(Mutex::new(Memory::new(BYTES)))
    }
}

impl HeldCalls {
    /// Keeps the calls of an exchange for its owner. Calls of more than a mebibyte are not kept.
    pub fn keep(&self, owner: Owner, exchange: u128, calls: Vec<HeldCall>) {
        if calls.is_empty() {
            return;
        }
        let bytes = calls.iter().map(HeldCall::weight).sum();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.keep(owner, exchange, calls, bytes);
    }

    /// The calls of an exchange of this owner.
    pub fn of(&self, owner: Owner, exchange: u128) -> Vec<HeldCall> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(owner, exchange).cloned().unwrap_or_default()
    }
}

/// Calls that waited for results which the last message of a conversation has, with the exchange that they are of and their
/// parameters.
pub(super) fn ready(
    messages: &[Message],
    of: impl Fn(u128) -> Vec<HeldCall>,
) -> Vec<(u128, HeldCall, Value)> {
    // What the user has said in addition is for the model.
    let is_results = |message: &Message| {
        let mut content = message.content.iter();
        message.role == Role::User
            && content.all(|part| matches!(part, Content::GadgetResult { .. }))
    };
    if !messages.last().is_some_and(is_results) {
        return Vec::new();
    }
    let replies = messages
        .iter()
        .filter(|message| message.role == Role::Assistant);
    let called = |message: &Message| {
        let ids = message.content.iter().filter_map(|part| match part {
            Content::ToolUse { tool_use_id, .. } => parts(tool_use_id),
            _ => None,
        });
        ids.map(|(exchange, id)| (exchange, id.to_owned()))
            .collect::<Vec<_>>()
    };
    let calls: Vec<(u128, String)> = replies.flat_map(called).collect();
    let Some((exchange, _)) = calls.last() else {
        return Vec::new();
    };
    let sent: HashSet<&str> = calls
        .iter()
        .filter(|(of, _)| of == exchange)
        .map(|(_, id)| id.as_str())
        .collect();
    let mut results = Vec::new();
    for part in messages.iter().flat_map(|message| &message.content) {
        if let Content::GadgetResult {
            invocation_id,
            text,
            is_error,
            ..
        } = part
            && let Some((of, id)) = parts(invocation_id.as_str())
            && of == *exchange
        {
            results.push((id.to_owned(), text.clone(), *is_error));
        }
    }
    let waiting = of(*exchange).into_iter();
    let waiting = waiting.filter(|call| !sent.contains(call.id.as_str()));
    waiting
        .filter_map(|call| {
            let input = call.filled(&results).ok()?;
            Some((*exchange, call, input))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{HeldCall, HeldCalls, Owner};

    fn call(input: Value) -> HeldCall {
        HeldCall {
            id: "b".to_owned(),
            name: "Merge".to_owned(),
            dependencies: vec!["a".to_owned(), "a/x".to_owned()],
            input,
        }
    }

    #[test]
    fn results_replace_references() {
        let check =
            |input: Value, results: [(&str, &str, bool); 2], expected: Result<Value, &str>| {
                let results = results.map(|(id, text, bad)| (id.to_owned(), text.to_owned(), bad));
                let filled = call(input.clone()).filled(&results);
                assert_eq!(filled, expected.map_err(str::to_owned), "{input}");
            };
        let fine = [("a", r#"{"n": 7}"#, false), ("a/x", "text", false)];
        check(
            json!({"v": "${a/n}", "w": ["${a}"]}),
            fine,
            Ok(json!({"v": 7, "w": [r#"{"n": 7}"#]})),
        );
        check(
            json!({"v": "${b} ${a}"}),
            fine,
            Ok(json!({"v": "${b} ${a}"})),
        );
        check(json!({"v": "${a/x}"}), fine, Ok(json!({"v": "text"})));
        check(
            json!({"v": "${a/m}"}),
            fine,
            Err("the result of a is not JSON with a value at /m"),
        );
        let failed = [("a", "no", true), ("a/x", "text", false)];
        check(json!({}), failed, Err("the call a failed"));
        let missing = [("c", "", false), ("a/x", "text", false)];
        check(json!({}), missing, Err("the call a has no result"));
    }

    #[test]
    fn calls_have_one_owner_and_a_limit() {
        let held = HeldCalls::default();
        let (one, other) = (Owner::of("key", b"1"), Owner::of("key", b"2"));
        held.keep(other, 0, vec![call(json!({}))]);
        for exchange in 0..50_000 {
            held.keep(one, exchange, vec![call(json!({}))]);
        }
        assert!(held.of(one, 0).is_empty(), "the oldest are forgotten");
        assert_eq!(held.of(one, 49_999).len(), 1);
        assert!(held.of(other, 49_999).is_empty());
        assert_eq!(held.of(other, 0).len(), 1, "not those of others");
    }
}
