//! A place of the parameters. Most need no walk: one node applies there, which neither refers to others nor combines them.

use std::rc::Rc;
use std::slice;

use serde_json::Value;

use crate::schema::compiled::expand::{Alternative, Node, find, is_plain};
use crate::schema::compiled::node::{item, types};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::walk::{Position, Walk};

/// The demands of a schema at one place of the parameters.
#[derive(Clone)]
pub(super) enum Place<'a> {
    /// One node that holds by itself, so that nothing has to be worked out.
    Plain(Node<'a>),
    /// Everything is admitted.
    Unrestricted,
    /// Nodes that a walk brought together.
    Walked(Rc<Position<'a>>),
}

impl<'a> Place<'a> {
    /// The root of the schema.
    pub(super) fn root(walk: &Walk<'a>) -> Self {
        let node = walk.schema().as_object();
        match node.filter(|node| is_plain(node)) {
            Some(node) => Self::Plain(node),
            None => Self::Walked(walk.root()),
        }
    }

    /// Returns the place of a property.
    pub(super) fn property(&self, walk: &Walk<'a>, key: &str) -> Self {
        let simple = match self {
            Self::Plain(node) if find(node, "patternProperties").is_none() => {
                let properties = find(node, "properties").and_then(Value::as_object);
                let named = properties.and_then(|all| find(all, key));
                let said = named.or_else(|| find(node, "additionalProperties"));
                Self::below(node, Types::OBJECT, said)
            }
            Self::Unrestricted => Some(Self::Unrestricted),
            Self::Plain(_) | Self::Walked(_) => None,
        };
        simple.unwrap_or_else(|| Self::Walked(walk.property(&self.position(walk), key)))
    }

    /// Returns the place of an array element.
    pub(super) fn item(&self, walk: &Walk<'a>, index: usize) -> Self {
        let simple = match self {
            Self::Plain(node) => Self::below(node, Types::ARRAY, item(node, index)),
            Self::Unrestricted => Some(Self::Unrestricted),
            Self::Walked(_) => None,
        };
        simple.unwrap_or_else(|| Self::Walked(walk.item(&self.position(walk), index)))
    }

    /// The place of a child of a plain one, of which the schema says this; `None` if it takes a walk.
    fn below(node: Node<'a>, parent: Types, said: Option<&'a Value>) -> Option<Self> {
        if !types(&[node]).meets(parent) {
            return Some(Self::Unrestricted);
        }
        match said {
            None | Some(Value::Bool(false)) => Some(Self::Unrestricted),
            Some(Value::Object(child)) if is_plain(child) => Some(Self::Plain(child)),
            Some(_) => None,
        }
    }

    /// The same place, as a walk has it.
    pub(super) fn position(&self, walk: &Walk<'a>) -> Rc<Position<'a>> {
        match self {
            Self::Plain(node) => walk.place(vec![vec![node]], false),
            Self::Unrestricted => walk.unrestricted(),
            Self::Walked(position) => Rc::clone(position),
        }
    }

    /// The forms that a value may have: each is the nodes that hold together.
    pub(super) fn alternatives(&self) -> impl Iterator<Item = &[Node<'a>]> {
        let (one, all): (Option<&[Node<'a>]>, &[Alternative<'a>]) = match self {
            Self::Plain(node) => (Some(slice::from_ref(node)), &[]),
            Self::Unrestricted => (None, &[]),
            Self::Walked(position) => (None, &position.forms.alternatives),
        };
        one.into_iter().chain(all.iter().map(Vec::as_slice))
    }

    /// Returns `true` if some alternative says nothing.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Unrestricted => true,
            Self::Walked(position) => position.forms.open,
        }
    }

    /// Every type that some alternative may admit.
    pub(super) fn types(&self) -> Types {
        match self {
            Self::Plain(node) => types(slice::from_ref(node)),
            Self::Unrestricted => Types::NONE,
            Self::Walked(position) => position.types(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::compiled::Schema;

    /// Schemas of one place, around that of a child.
    fn around(child: &Value) -> Vec<Value> {
        vec![
            json!({}),
            json!(true),
            json!(false),
            json!({ "type": "string", "enum": ["a", "b"] }),
            json!({ "properties": { "a": child } }),
            json!({ "type": "object", "properties": { "a": child }, "additionalProperties": false }),
            json!({ "type": ["object", "null"], "additionalProperties": child }),
            json!({ "type": "integer", "properties": { "a": child }, "items": child }),
            json!({ "properties": { "b": true }, "patternProperties": { "^a": child } }),
            json!({ "type": "array", "items": child }),
            json!({ "prefixItems": [child, { "type": "null" }], "items": false }),
            json!({ "anyOf": [child, { "type": "object", "properties": { "a": {} } }] }),
            json!({ "properties": { "a": child }, "allOf": [{ "items": child }] }),
            json!({ "$ref": "#/$defs/child", "properties": { "a": { "type": "null" } } }),
        ]
    }

    /// Checks that a place says what a walk says of it, and so do its children.
    fn check<'a>(walk: &Walk<'a>, place: &Place<'a>, walked: &Place<'a>, path: &str, depth: usize) {
        let said = |place: &Place<'_>| {
            let forms = place.alternatives().map(|form| {
                let nodes = form.iter().map(|node| std::ptr::from_ref(*node));
                nodes.collect::<Vec<_>>()
            });
            let forms: Vec<_> = forms.collect();
            (forms, place.is_open(), place.types())
        };
        assert_eq!(said(place), said(walked), "{path} of {}", walk.schema());
        if depth == 0 {
            return;
        }
        for key in ["a", "b", "c"] {
            let walked = Place::Walked(walk.property(&walked.position(walk), key));
            let path = format!("{path}/{key}");
            check(walk, &place.property(walk, key), &walked, &path, depth - 1);
        }
        for index in [0, 1, 2, 9] {
            let walked = Place::Walked(walk.item(&walked.position(walk), index));
            let path = format!("{path}/{index}");
            check(walk, &place.item(walk, index), &walked, &path, depth - 1);
        }
    }

    #[test]
    fn plain_places_say_what_a_walk_would() {
        for leaf in around(&json!({ "type": "integer" })) {
            for child in around(&leaf) {
                let schema = json!({
                    "properties": { "a": child, "b": { "items": child } },
                    "$defs": { "child": { "properties": { "a": leaf } } },
                });
                let schema = Schema::new(schema).unwrap();
                let walk = Walk::new(&schema.compiled.core);
                let root = Place::root(&walk);
                assert!(matches!(root, Place::Plain(_)));
                check(&walk, &root, &Place::Walked(walk.root()), "", 3);
            }
        }
    }
}
