//! Calls that depend on others of the same reply, kept until the results of those arrive.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use gadgetry_proto::call::Digits;
use gadgetry_proto::message::{Content, Message, Role};
use serde_json::Value;

use super::call_ids::parts;
use crate::memory::{Memory, Owner, most_values, weight};

/// Maximum bytes of all calls.
const BYTES: usize = 16 << 20;

/// Maximum bytes of all calls of a request with results in place of `${id}`. A result may be used any number of times.
const FILLED: usize = 4 << 20;

/// Maximum number of JSON values in a result that is read as JSON.
const VALUES: usize = 200_000;

/// A call that waits for others of its reply.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldCall {
    /// The model's id of the call.
    pub id: String,
    /// The tool, as the client calls it.
    pub name: String,
    /// The model's ids of the calls that must be done first.
    pub dependencies: Vec<String>,
    /// Parameters, with `${id}` in them.
    pub input: Value,
    /// The parameters' numbers, with the digits that were written.
    pub digits: Digits,
}

impl HeldCall {
    /// Estimates its bytes.
    fn weight(&self) -> usize {
        let dependencies = self.dependencies.iter().map(|it| it.len() + 48);
        let texts = self.id.len() + self.name.len() + dependencies.sum::<usize>();
        texts + weight(&self.input) + self.digits.bytes()
    }

    /// Returns the parameters with results in place of `${id}`.
    ///
    /// Fails, with a text for the model, if a dependency has failed or has no result, or the rest of `allowance` is too small.
    pub(crate) fn filled(
        &self,
        results: &Results,
        allowance: &mut Allowance,
    ) -> Result<Value, String> {
        for dependency in &self.dependencies {
            match results.get(dependency) {
                Some(result) if !result.is_error => {}
                Some(_) => return Err(format!("the call {dependency} failed")),
                None => return Err(format!("the call {dependency} has no result")),
            }
        }
        allowance.take(weight(&self.input))?;
        let mut input = self.input.clone();
        self.fill(&mut input, results, allowance)?;
        Ok(input)
    }

    fn fill(
        &self,
        value: &mut Value,
        results: &Results,
        allowance: &mut Allowance,
    ) -> Result<(), String> {
        match value {
            Value::String(text) => {
                if let Some(found) = self.lookup(text, results, allowance)? {
                    *value = found;
                }
                Ok(())
            }
            Value::Array(items) => items
                .iter_mut()
                .try_for_each(|it| self.fill(it, results, allowance)),
            Value::Object(fields) => fields
                .values_mut()
                .try_for_each(|it| self.fill(it, results, allowance)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// Returns the value that replaces a text which is `${id}` or `${id/pointer}`; `None` for other texts.
    fn lookup(
        &self,
        text: &str,
        results: &Results,
        allowance: &mut Allowance,
    ) -> Result<Option<Value>, String> {
        let inner = text.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
        let Some(inner) = inner else {
            return Ok(None);
        };
        let named = self.dependencies.iter().filter_map(|id| {
            let pointer = inner.strip_prefix(id.as_str())?;
            (pointer.is_empty() || pointer.starts_with('/')).then_some((id, pointer))
        });
        // An id may contain `/`, so the longest one counts.
        let named = named.max_by_key(|(id, _)| id.len());
        let Some((id, result, pointer)) =
            named.and_then(|(id, pointer)| Some((id, results.get(id)?, pointer)))
        else {
            return Ok(None);
        };
        // The size is counted before the value is copied.
        if pointer.is_empty() {
            allowance.take(result.text.len())?;
            return Ok(Some(Value::String(result.text.clone())));
        }
        let json = result.json();
        let part = json.and_then(|(json, digits)| Some((json.pointer(pointer)?, json, digits)));
        let (part, json, digits) = part
            .ok_or_else(|| format!(
                "the result of {id} is not JSON with a value at {pointer}, or has more than {VALUES} values"
            ))?;
        allowance.take(weight(part))?;
        let is_whole = digits.is_empty() || {
            let plain = part.to_string();
            digits.part(json, pointer).is_some_and(|it| it == plain)
        };
        if !is_whole {
            return Err(format!(
                "the result of {id} has a number at {pointer} with more digits than a parameter takes from a result: use ${{{id}}} for all of it"
            ));
        }
        Ok(Some(part.clone()))
    }
}

/// The result of a call that others may wait for.
#[derive(Debug)]
struct CallResult {
    text: String,
    is_error: bool,
    /// The text as JSON with its digits, once it was needed; it is parsed once, however often it is used.
    json: OnceCell<Option<(Value, Digits)>>,
}

impl CallResult {
    fn json(&self) -> Option<&(Value, Digits)> {
        let read = || {
            let is_small = most_values(&self.text) <= VALUES;
            is_small.then(|| Digits::read(&self.text)).flatten()
        };
        self.json.get_or_init(read).as_ref()
    }
}

/// The results of calls by the model's ids of them.
#[derive(Debug, Default)]
pub(crate) struct Results(HashMap<String, CallResult>);

impl Results {
    /// Adds a result. If a call has two, the first counts.
    pub(crate) fn add(&mut self, id: &str, text: &str, is_error: bool) {
        if !self.0.contains_key(id) {
            let result = CallResult {
                text: text.to_owned(),
                is_error,
                json: OnceCell::new(),
            };
            self.0.insert(id.to_owned(), result);
        }
    }

    fn get(&self, id: &str) -> Option<&CallResult> {
        self.0.get(id)
    }
}

/// Bytes that a request may still write for calls that waited.
#[derive(Debug)]
pub(crate) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(FILLED)
    }
}

impl Allowance {
    /// Takes bytes. Fails, with a text for the model, if too few are left; after that, no bytes are left.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.map(|_| ()).ok_or_else(|| {
            format!(
                "with the results of the calls before, its parameters are too large: those of all waiting calls may have \
                 {FILLED} bytes. Call it with a part of the results"
            )
        })
    }

    /// Returns `true` if no bytes are left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == 0
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

    /// Returns the calls of an exchange of this owner.
    pub fn of(&self, owner: Owner, exchange: u128) -> Vec<HeldCall> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(owner, exchange).cloned().unwrap_or_default()
    }
}

/// Returns the calls that waited for results in the last message of a conversation, with their parameters, and their exchange.
pub(super) fn ready(
    messages: &[Message],
    of: impl Fn(u128) -> Vec<HeldCall>,
) -> Option<(u128, Vec<(HeldCall, Value)>)> {
    // What the user has said in addition is for the model.
    let is_results = |message: &Message| {
        let mut content = message.content.iter();
        message.role == Role::User
            && content.all(|part| matches!(part, Content::GadgetResult { .. }))
    };
    if !messages.last().is_some_and(is_results) {
        return None;
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
    let (exchange, _) = calls.last()?;
    let sent: HashSet<&str> = calls
        .iter()
        .filter(|(of, _)| of == exchange)
        .map(|(_, id)| id.as_str())
        .collect();
    let mut results = Results::default();
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
            results.add(id, text, *is_error);
        }
    }
    let mut allowance = Allowance::default();
    let waiting = of(*exchange).into_iter();
    let waiting = waiting.filter(|call| !sent.contains(call.id.as_str()));
    let filled = waiting.filter_map(|call| {
        let input = call.filled(&results, &mut allowance).ok()?;
        Some((call, input))
    });
    Some((*exchange, filled.collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Allowance, Digits, FILLED, HeldCall, HeldCalls, Owner, Results, VALUES};

    fn call(input: Value) -> HeldCall {
        HeldCall {
            id: "b".to_owned(),
            name: "Merge".to_owned(),
            dependencies: vec!["a".to_owned(), "a/x".to_owned()],
            input,
            digits: Digits::default(),
        }
    }

    fn filled(
        input: &Value,
        results: &[(&str, &str, bool)],
        allowance: &mut Allowance,
    ) -> Result<Value, String> {
        let mut all = Results::default();
        for (id, text, is_error) in results {
            all.add(id, text, *is_error);
        }
        call(input.clone()).filled(&all, allowance)
    }

    #[test]
    fn results_replace_references() {
        let check =
            |input: Value, results: [(&str, &str, bool); 2], expected: Result<Value, &str>| {
                let filled = filled(&input, &results, &mut Allowance::default());
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
            Err("the result of a is not JSON with a value at /m, or has more than 200000 values"),
        );
        let failed = [("a", "no", true), ("a/x", "text", false)];
        check(json!({}), failed, Err("the call a failed"));
        let missing = [("c", "", false), ("a/x", "text", false)];
        check(json!({}), missing, Err("the call a has no result"));
    }

    /// A result of 200 KB that is named a thousand times was 200 MB.
    #[test]
    fn parameters_with_results_have_a_limit() {
        let check = |text: &str, reference: &str, count: usize, calls: usize, is_fine: bool| {
            let input = json!({"v": vec![reference; count]});
            let results = [("a", text, false), ("a/x", text, false)];
            let mut allowance = Allowance::default();
            let filled = (0..calls).map(|_| filled(&input, &results, &mut allowance));
            let last = filled.last().expect("a call");
            let problem = "with the results of the calls before, its parameters are too large";
            match last {
                Ok(_) => assert!(is_fine, "{reference} {count} {calls}"),
                Err(said) => {
                    assert!(
                        !is_fine && said.starts_with(problem),
                        "{reference} {count}: {said}"
                    );
                    assert!(allowance.is_empty(), "nothing is left for other calls");
                }
            }
        };
        let text = "x".repeat(200_000);
        let json = json!({"n": text}).to_string();
        check(&text, "${a}", 10, 1, true);
        check(&text, "${a}", 1_000, 1, false);
        check(&json, "${a/n}", 10, 1, true);
        check(&json, "${a/n}", 1_000, 1, false);
        check(&json, "${a/x}", 1_000, 1, false);
        check(&text, "${a}", 10, 3, false);
        check(&"x".repeat(FILLED - 1_000), "${a}", 1, 1, true);
        check(&"x".repeat(FILLED), "${a}", 1, 1, false);
        check("", "${a}", 50_000, 1, false);
        let many = format!("[{}1]", "1,".repeat(VALUES));
        let results = [("a", &*many, false), ("a/x", "", false)];
        let filled = filled(&json!("${a/0}"), &results, &mut Allowance::default());
        let problem = "the result of a is not JSON with a value at /0, or has more than 200000";
        assert_eq!(filled, Err(format!("{problem} values")));
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
