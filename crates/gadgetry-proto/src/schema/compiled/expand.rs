//! Brings a subschema into one form: a list of alternatives, each a list of nodes that hold together.
//!
//! What cannot be seen through (a remote or circular reference, too many combinations, `not`, `if`) is left out, so an
//! alternative admits at least what the schema admits, never less.

use serde_json::Map;
use serde_json::Value;

use crate::schema::pointer;

/// References and combinations followed at one place.
const STEPS: usize = 256;
/// Alternatives at one place.
pub(super) const ALTERNATIVES: usize = 64;

/// An object of a schema, with its keywords.
pub(super) type Node<'a> = &'a Map<String, Value>;

/// Returns `true` if a node neither refers to others nor combines them, so that it is its only alternative.
pub(super) fn is_plain(node: Node<'_>) -> bool {
    let beyond = ["$ref", "allOf", "anyOf", "oneOf"];
    !node.keys().any(|key| beyond.contains(&key.as_str()))
}

/// More keywords than most nodes have.
const FEW: usize = 16;

/// The value of a key, as `get` has it. Most maps have so few keys that looking at each is quicker than to hash.
pub(crate) fn find<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    entry(map, key).map(|(_, value)| value)
}

/// [`find`], with the key as the map has it.
pub(super) fn entry<'a>(map: &'a Map<String, Value>, key: &str) -> Option<(&'a String, &'a Value)> {
    if map.len() > FEW {
        return map.get_key_value(key);
    }
    map.iter().find(|(known, _)| *known == key)
}

/// Nodes that hold together.
pub(super) type Alternative<'a> = Vec<Node<'a>>;

/// The alternatives of subschemas that hold together, and how much work that was.
pub(super) fn alternatives<'a>(
    root: &'a Value,
    nodes: &[&'a Value],
) -> (Vec<Alternative<'a>>, usize) {
    let mut expansion = Expansion {
        root,
        steps: STEPS,
        work: 0,
    };
    let alternatives = expansion.all(nodes);
    (alternatives, expansion.work)
}

struct Expansion<'a> {
    root: &'a Value,
    steps: usize,
    work: usize,
}

impl<'a> Expansion<'a> {
    fn all(&mut self, nodes: &[&'a Value]) -> Vec<Alternative<'a>> {
        let Some((first, rest)) = nodes.split_first() else {
            return vec![Vec::new()];
        };
        let mut alternatives = self.one(first);
        for node in rest {
            let more = self.one(node);
            alternatives = self.product(alternatives, &more);
        }
        alternatives
    }

    fn one(&mut self, node: &'a Value) -> Vec<Alternative<'a>> {
        let node = match node {
            Value::Bool(false) => return Vec::new(),
            Value::Object(node) => node,
            Value::Null
            | Value::Bool(true)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                return vec![Vec::new()];
            }
        };
        let mut alternatives = vec![vec![node]];
        self.work += 1;
        if self.steps == 0 {
            return alternatives;
        }
        self.steps -= 1;
        if let Some(target) = find(node, "$ref")
            .and_then(Value::as_str)
            .and_then(|to| self.target(to))
        {
            let more = self.one(target);
            alternatives = self.product(alternatives, &more);
        }
        if let Some(Value::Array(all)) = find(node, "allOf") {
            for node in all {
                let more = self.one(node);
                alternatives = self.product(alternatives, &more);
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(any)) = find(node, keyword) {
                let any: Vec<_> = any.iter().flat_map(|node| self.one(node)).collect();
                alternatives = self.product(alternatives, &any);
            }
        }
        alternatives
    }

    /// The target of a local reference.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        let path = reference.strip_prefix('#')?;
        let mut here = self.root;
        for segment in path.split('/').skip(1) {
            let key = pointer::decode(segment);
            here = match here {
                Value::Object(map) => map.get(key.as_ref())?,
                Value::Array(list) => list.get(key.parse::<usize>().ok()?)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
        }
        (path.is_empty() || path.starts_with('/')).then_some(here)
    }

    /// Both sides hold. If that makes too many alternatives, the right side is left out.
    fn product(
        &mut self,
        left: Vec<Alternative<'a>>,
        right: &[Alternative<'a>],
    ) -> Vec<Alternative<'a>> {
        if left.len().saturating_mul(right.len()) > ALTERNATIVES {
            return left;
        }
        if let [only] = right
            && only.is_empty()
        {
            return left;
        }
        let both: Vec<Alternative<'a>> = left
            .iter()
            .flat_map(|l| right.iter().map(|r| l.iter().chain(r).copied().collect()))
            .collect();
        self.work += both.iter().map(Vec::len).sum::<usize>();
        both
    }
}
