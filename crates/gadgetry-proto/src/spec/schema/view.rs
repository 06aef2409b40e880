//! What a schema says about one place: the schema seen through references and combinations.

use serde_json::Map;
use serde_json::Value;

use crate::spec::schema::Schema;
use crate::spec::schema::expand::ALTERNATIVES;
use crate::spec::schema::expand::Alternative;
use crate::spec::schema::expand::Node;
use crate::spec::schema::expand::alternatives;
use crate::spec::schema::expand::find;
use crate::spec::schema::types::Types;

/// What a schema says about one place of the parameters.
#[derive(Clone)]
pub struct View<'a> {
    schema: &'a Schema,
    alternatives: Vec<Alternative<'a>>,
    /// Some alternative says nothing about this place, so it admits everything there.
    open: bool,
}

/// What holds children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Array,
    Object,
}

impl<'a> View<'a> {
    pub(super) fn new(schema: &'a Schema, node: &'a Value) -> Self {
        Self::from_nodes(schema, &[node])
    }

    fn from_nodes(schema: &'a Schema, nodes: &[&'a Value]) -> Self {
        if nodes.is_empty() {
            return Self {
                schema,
                alternatives: Vec::new(),
                open: true,
            };
        }
        Self {
            schema,
            alternatives: alternatives(schema.normal(), nodes),
            open: false,
        }
    }

    /// What the schema says about a property of this place.
    #[must_use]
    pub fn property(&self, key: &str) -> Self {
        self.child(Types::OBJECT, |node| property(self.schema, node, key))
    }

    /// What the schema says about an array element of this place.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        self.child(Types::ARRAY, |node| item(node, index))
    }

    fn child(&self, parent: Types, step: impl Fn(Node<'a>) -> Child<'a>) -> Self {
        let mut view = Self {
            schema: self.schema,
            alternatives: Vec::new(),
            open: self.open,
        };
        for alternative in &self.alternatives {
            if !types(alternative).meets(parent) {
                continue;
            }
            if let Some(child) = self.below(alternative, &step) {
                view.open |= child.open;
                for new in child.alternatives {
                    if !view.alternatives.iter().any(|old| same_nodes(old, &new)) {
                        view.alternatives.push(new);
                    }
                }
            }
        }
        if view.alternatives.len() > ALTERNATIVES {
            view.alternatives.clear();
        }
        view.open |= view.alternatives.is_empty();
        view
    }

    /// What one alternative says about a child; `None` if it forbids it.
    fn below(
        &self,
        alternative: &[Node<'a>],
        step: impl Fn(Node<'a>) -> Child<'a>,
    ) -> Option<Self> {
        let mut nodes = Vec::new();
        for node in alternative {
            match step(node) {
                Child::Silent => {}
                Child::Forbidden => return None,
                Child::Said(said) => nodes.extend(said),
            }
        }
        Some(Self::from_nodes(self.schema, &nodes))
    }

    /// What one alternative says about a property; `None` if it forbids it.
    pub(super) fn property_of(&self, alternative: &[Node<'a>], key: &str) -> Option<Self> {
        self.below(alternative, |node| property(self.schema, node, key))
    }

    /// What one alternative says about an element; `None` if it forbids it.
    pub(super) fn item_of(&self, alternative: &[Node<'a>], index: usize) -> Option<Self> {
        self.below(alternative, |node| item(node, index))
    }

    pub(super) fn alternatives(&self) -> &[Alternative<'a>] {
        &self.alternatives
    }

    /// Whether some alternative says nothing about this place.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Every type that the schema may admit here, by the letter.
    pub(crate) fn types(&self) -> Types {
        if self.open {
            return Types::ALL;
        }
        let each = self.alternatives.iter();
        each.fold(Types::NONE, |all, alternative| all | types(alternative))
    }

    /// The types that the author of the schema had in mind; `None` if the schema does not tell.
    pub(crate) fn intended(&self) -> Option<Types> {
        let mut all = Types::NONE;
        for alternative in &self.alternatives {
            let declared = alternative.iter().filter_map(|node| Types::declared(node));
            let types = declared.reduce(|left, right| left & right).or_else(|| {
                let implied = alternative.iter().filter_map(|node| Types::implied(node));
                implied.reduce(|left, right| left & right)
            });
            all = all | types?;
        }
        (!self.alternatives.is_empty()).then_some(all)
    }

    /// Array or object, if the schema says which.
    pub(crate) fn container(&self) -> Option<Container> {
        let types = self.intended()?;
        match (types.meets(Types::ARRAY), types.meets(Types::OBJECT)) {
            (true, false) => Some(Container::Array),
            (false, true) => Some(Container::Object),
            (true, true) | (false, false) => None,
        }
    }

    /// The values of `enum` and `const`, if nothing else is admitted.
    pub(super) fn options(&self) -> Option<Vec<&'a Value>> {
        let mut options = Vec::new();
        for alternative in &self.alternatives {
            options.extend(alternative.iter().find_map(|node| listed(node))?);
        }
        (!options.is_empty()).then_some(options)
    }

    /// Whether `enum` or `const` lists exactly this text.
    pub(crate) fn lists(&self, text: &str) -> bool {
        let nodes = self.alternatives.iter().flatten();
        let mut options = nodes.filter_map(|node| listed(node)).flatten();
        options.any(|option| option.as_str() == Some(text))
    }

    /// The names of declared properties, in the order of the schema.
    pub(super) fn declared(&self) -> impl Iterator<Item = &'a String> {
        let nodes = self.alternatives.iter().flatten();
        let properties = nodes.filter_map(|node| find(node, "properties")?.as_object());
        properties.flat_map(Map::keys)
    }
}

fn listed(node: Node<'_>) -> Option<Vec<&Value>> {
    if let Some(constant) = find(node, "const") {
        return Some(vec![constant]);
    }
    let options = find(node, "enum")?.as_array()?;
    Some(options.iter().collect())
}

fn same_nodes(left: &[Node<'_>], right: &[Node<'_>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(l, r)| std::ptr::eq(*l, *r))
}

/// Every type that an alternative may admit.
pub(super) fn types(alternative: &[Node<'_>]) -> Types {
    let declared = alternative.iter().filter_map(|node| Types::declared(node));
    declared.fold(Types::ALL, |all, types| all & types)
}

/// What a node says about a child.
enum Child<'a> {
    Silent,
    Forbidden,
    Said(Vec<&'a Value>),
}

impl<'a> Child<'a> {
    fn from(nodes: Vec<&'a Value>) -> Self {
        if nodes.contains(&&Value::Bool(false)) {
            Self::Forbidden
        } else if nodes.is_empty() {
            Self::Silent
        } else {
            Self::Said(nodes)
        }
    }
}

fn property<'a>(schema: &Schema, node: Node<'a>, key: &str) -> Child<'a> {
    let object = |keyword: &str| find(node, keyword).and_then(Value::as_object);
    let mut said: Vec<&'a Value> = object("properties")
        .and_then(|p| find(p, key))
        .into_iter()
        .collect();
    let mut unsure = false;
    for (pattern, node) in object("patternProperties").into_iter().flatten() {
        match schema.pattern_matches(pattern, key) {
            Some(true) => said.push(node),
            Some(false) => {}
            None => unsure = true,
        }
    }
    if said.is_empty() && !unsure {
        said.extend(find(node, "additionalProperties"));
    }
    Child::from(said)
}

fn item(node: Node<'_>, index: usize) -> Child<'_> {
    let tuple = |keyword: &str| find(node, keyword).and_then(Value::as_array);
    let (head, rest) = match (tuple("prefixItems"), tuple("items")) {
        (Some(head), _) => (Some(head), "items"),
        (None, Some(head)) => (Some(head), "additionalItems"),
        (None, None) => (None, "items"),
    };
    let said = head
        .and_then(|head| head.get(index))
        .or_else(|| find(node, rest));
    Child::from(said.into_iter().collect())
}
