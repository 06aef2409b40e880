//! Upper bound on the cost of validating a value, computed before validating.
//!
//! The validator cannot be interrupted, and schemas come from others: thirty subschemas, each of which refers twice to
//! the next, are two lines of a generator and 2^30 checks. So the checks are counted first, in a way that is never
//! longer than the budget. The count is an upper bound, as if no check ended another one early.
//!
//! For example, `{"a": 1}` takes five checks by `{"type": "object", "properties": {"a": {"type": "integer"}}}`: the root, its
//! `type`, the look-up of `a`, the subschema of `a`, and its `type`. An exact count would depend on the order in which
//! the validator checks keywords and stops; a bound needs the sums only.
//!
//! Within a recursion the validator remembers what it knows of each pair of a subschema and an object or array; the
//! count does the same. The search for what is wrong remembers nothing, so it is counted by itself.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
#[cfg(feature = "engine")]
use std::rc::Rc;

use serde_json::Map;
use serde_json::Value;

use crate::schema::compiled::core::Core;
use crate::schema::compiled::patterns::Patterns;
use crate::schema::compiled::targets::Targets;
use crate::schema::count;

/// Checks that any value may take, about 20 ns each.
const STEPS: u64 = 1 << 20;
/// Checks that a subschema may take by itself, without what is inside a value.
const ALONE: u64 = 1 << 16;
/// Checks that each node of a value may take beyond that.
const STEPS_PER_NODE: u64 = 100;
/// Checks inside checks. Each takes some of the stack.
const NESTED: usize = 400;
/// Checks after which a search for what is wrong is not begun, unless it takes no more than the verdict.
const SEARCH: u64 = 20_000;
/// Checks of a value that is not for us to know: by a schema outside this one.
const OUTSIDE: u64 = 64;

/// The problem of defaults that are not filled in to the end.
pub(super) const DEFAULTS: &str =
    "the defaults of the schema hold more defaults than can be filled in";
/// The problem of a value that is not checked.
pub(super) const TOO_MUCH: &str =
    "too much for its schema to be checked; write it with fewer levels, or less of it";

/// The cost of checking a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// The value can be checked, and what is wrong can be said.
    Low,
    /// The value can be checked.
    High,
    /// The value cannot be checked.
    TooHigh,
}

/// Returns the cost of checking `value`.
pub(super) fn of(core: &Core, value: &Value) -> Cost {
    let nodes = count(value) as u64;
    let checks = (core.size() as u64).saturating_mul(nodes);
    let patterns = core.patterns();
    let matching = if patterns.is_empty() {
        0
    } else {
        patterns.all_checks(bytes(value))
    };
    if !core.refers() && checks.saturating_add(matching) <= SEARCH {
        return Cost::Low;
    }
    let budget = STEPS.saturating_add(nodes.saturating_mul(STEPS_PER_NODE));
    let (root, targets) = (core.normal(), core.targets());
    let verdict = Count::new(root, targets, patterns, budget, true).checks(root, value);
    let Some(verdict) = verdict else {
        return Cost::TooHigh;
    };
    let budget = SEARCH.max(verdict.saturating_mul(2));
    match Count::new(root, targets, patterns, budget, false).checks(root, value) {
        Some(_) => Cost::Low,
        None => Cost::High,
    }
}

/// Returns the bytes of all texts and keys in a value.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| key.len() + bytes(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns `true` if no subschema takes too many checks by itself, whatever the value.
pub(super) fn is_finite(root: &Value, targets: &Targets) -> bool {
    let budget = ALONE.saturating_add(count(root) as u64 * 16);
    let patterns = Patterns::default();
    let mut count = Count::new(root, targets, &patterns, budget, false);
    each(root, &mut |node| count.checks(node, &Value::Null).is_some())
}

/// Returns `true` if `is` holds for every part of a schema that may be a subschema.
fn each<'s>(node: &'s Value, is: &mut impl FnMut(&'s Value) -> bool) -> bool {
    match node {
        Value::Object(map) => {
            let data = ["const", "default", "enum", "examples"];
            is(node)
                && map
                    .iter()
                    .filter(|(key, _)| !data.contains(&key.as_str()))
                    .all(|(_, node)| each(node, is))
        }
        Value::Array(items) => items.iter().all(|node| each(node, is)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

struct Count<'s> {
    root: &'s Value,
    targets: &'s Targets,
    patterns: &'s Patterns,
    budget: u64,
    /// Whether what is known of a recursion is remembered.
    remembers: bool,
    total: u64,
    nested: usize,
    /// Costs by target of a reference and by value.
    known: BTreeMap<(usize, usize), CountedCost>,
    /// Targets that are being counted, and how often.
    open: BTreeMap<usize, usize>,
    /// Targets that refer to themselves by some way.
    recursive: BTreeSet<usize>,
    /// References that are being followed.
    depth: usize,
    /// The outermost of them that was met again for the same value.
    met: usize,
    /// All checks that were counted one by one.
    work: u64,
    /// Keys as values. They stay here, so that no other value has their addresses.
    #[cfg(feature = "engine")]
    keys: Vec<Rc<Value>>,
}

#[derive(Clone, Copy)]
enum CountedCost {
    /// A cost that is being counted, at this depth.
    Open(usize),
    Cost(u64),
}

/// The count is above the budget.
struct Above;

impl<'s> Count<'s> {
    fn new(
        root: &'s Value,
        targets: &'s Targets,
        patterns: &'s Patterns,
        budget: u64,
        remembers: bool,
    ) -> Self {
        Self {
            root,
            targets,
            patterns,
            budget,
            remembers,
            total: 0,
            nested: 0,
            known: BTreeMap::new(),
            open: BTreeMap::new(),
            recursive: BTreeSet::new(),
            depth: 0,
            met: usize::MAX,
            work: 0,
            #[cfg(feature = "engine")]
            keys: Vec::new(),
        }
    }

    /// The checks, or `None` if they are more than the budget.
    fn checks(&mut self, node: &'s Value, value: &Value) -> Option<u64> {
        self.total = 0;
        self.target(node, value).ok()?;
        Some(self.total)
    }

    fn add(&mut self, checks: u64) -> Result<(), Above> {
        self.total = self.total.saturating_add(checks);
        if self.total > self.budget {
            Err(Above)
        } else {
            Ok(())
        }
    }

    /// Counts the checks of a subschema that a reference leads to.
    fn target(&mut self, node: &'s Value, value: &Value) -> Result<(), Above> {
        let target = std::ptr::from_ref(node).addr();
        let key = (target, std::ptr::from_ref(value).addr());
        match self.known.get(&key) {
            Some(CountedCost::Open(depth)) => {
                self.met = self.met.min(*depth);
                self.recursive.insert(target);
                return self.add(1);
            }
            Some(CountedCost::Cost(cost)) => {
                let container = value.is_array() || value.is_object();
                let remembered = self.remembers && container && self.recursive.contains(&target);
                return self.add(if remembered { 1 } else { *cost });
            }
            None => {}
        }
        let open = self.open.entry(target).or_default();
        *open += 1;
        if *open > 1 {
            self.recursive.insert(target);
        }
        self.known.insert(key, CountedCost::Open(self.depth));
        self.depth += 1;
        let before = self.total;
        self.node(node, value)?;
        self.depth -= 1;
        if self.met < self.depth {
            // It was cut short by a circle that begins further out. From elsewhere it takes something else.
            self.known.remove(&key);
        } else {
            self.met = usize::MAX;
            let cost = CountedCost::Cost(self.total - before);
            self.known.insert(key, cost);
        }
        if let Some(open) = self.open.get_mut(&target) {
            *open -= 1;
        }
        Ok(())
    }

    fn node(&mut self, node: &'s Value, value: &Value) -> Result<(), Above> {
        self.add(1)?;
        self.work += 1;
        if self.work > self.budget.saturating_mul(4) {
            return Err(Above);
        }
        let Value::Object(keywords) = node else {
            return Ok(());
        };
        if self.nested == NESTED {
            return Err(Above);
        }
        self.nested += 1;
        let before = self.total;
        for (keyword, says) in keywords {
            self.keyword(keyword, says, value)?;
        }
        self.nested -= 1;
        // To know what is left, the others are checked once more.
        let unevaluated = ["unevaluatedProperties", "unevaluatedItems"];
        if unevaluated.iter().any(|it| keywords.contains_key(*it)) {
            self.add(self.total - before)?;
        }
        Ok(())
    }

    fn keyword(&mut self, keyword: &str, says: &'s Value, value: &Value) -> Result<(), Above> {
        match (keyword, says) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                let targets = self.targets.of(self.root, reference);
                if targets.is_empty() {
                    self.add((count(value) as u64).saturating_mul(OUTSIDE))?;
                }
                for target in targets {
                    self.target(target, value)?;
                }
                Ok(())
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(nodes)) => {
                nodes.iter().try_for_each(|node| self.node(node, value))
            }
            ("not" | "if" | "then" | "else", node) => self.node(node, value),
            ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                named.values().try_for_each(|node| self.node(node, value))
            }
            ("enum", Value::Array(options)) => self.add(options.len() as u64),
            ("pattern", Value::String(pattern)) => {
                self.add(1)?;
                self.matching(pattern, value.as_str().map_or(0, str::len))
            }
            _ => match value {
                Value::Object(map) => self.of_object(keyword, says, map),
                Value::Array(items) => self.of_array(keyword, says, items),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.add(1),
            },
        }
    }

    fn of_object(
        &mut self,
        keyword: &str,
        says: &'s Value,
        map: &Map<String, Value>,
    ) -> Result<(), Above> {
        match (keyword, says) {
            ("properties", Value::Object(named)) => {
                self.add(named.len().min(map.len()) as u64)?;
                if map.len() < named.len() {
                    for (key, value) in map {
                        if let Some(node) = named.get(key) {
                            self.node(node, value)?;
                        }
                    }
                    return Ok(());
                }
                for (key, node) in named {
                    if let Some(value) = map.get(key) {
                        self.node(node, value)?;
                    }
                }
                Ok(())
            }
            ("patternProperties", Value::Object(patterns)) => {
                let keys = map.keys().map(String::len).sum();
                for (pattern, node) in patterns {
                    self.matching(pattern, keys)?;
                    map.values().try_for_each(|value| self.node(node, value))?;
                }
                Ok(())
            }
            ("additionalProperties" | "unevaluatedProperties", node) => {
                map.values().try_for_each(|value| self.node(node, value))
            }
            // Without validators, no pattern is matched.
            #[cfg(not(feature = "engine"))]
            ("propertyNames", node) => map.keys().try_for_each(|_| self.node(node, &Value::Null)),
            #[cfg(feature = "engine")]
            ("propertyNames", node) => {
                // As if all were as long as the longest.
                let Some(longest) = map.keys().max_by_key(|key| key.len()) else {
                    return Ok(());
                };
                self.add(longest.len() as u64 / 64)?;
                let key = Rc::new(Value::from(longest.as_str()));
                self.keys.push(Rc::clone(&key));
                map.keys().try_for_each(|_| self.node(node, &key))
            }
            _ => self.add(1),
        }
    }

    fn matching(&mut self, pattern: &str, bytes: usize) -> Result<(), Above> {
        self.add(self.patterns.checks(pattern, bytes))
    }

    fn of_array(&mut self, keyword: &str, says: &'s Value, items: &[Value]) -> Result<(), Above> {
        match (keyword, says) {
            ("items" | "prefixItems", Value::Array(nodes)) => {
                let mut pairs = nodes.iter().zip(items);
                pairs.try_for_each(|(node, item)| self.node(node, item))
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", node) => {
                items.iter().try_for_each(|item| self.node(node, item))
            }
            ("uniqueItems", _) => self.add(items.len() as u64),
            _ => self.add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_example_of_the_module_takes_five_checks() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let targets = Targets::new(&schema);
        let patterns = Patterns::default();
        let mut count = Count::new(&schema, &targets, &patterns, 100, true);
        assert_eq!(count.checks(&schema, &json!({ "a": 1 })), Some(5));
    }
}
