//! One walk over a schema: what is known of each place is worked out once, and all of it within a budget.

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use crate::schema::compiled::Schema;
use crate::schema::compiled::Types;
use crate::schema::compiled::expand::ALTERNATIVES;
use crate::schema::compiled::expand::Alternative;
use crate::schema::compiled::expand::Node;
use crate::schema::compiled::expand::alternatives;
use crate::schema::compiled::view::Child;
use crate::schema::compiled::view::item;
use crate::schema::compiled::view::names;
use crate::schema::compiled::view::property;
use crate::schema::compiled::view::tuple_length;
use crate::schema::compiled::view::types;

/// Steps of one walk, about 50 ns each. What is not worked out when they are used up counts as unrestricted.
const STEPS: usize = 1 << 20;

/// The places of a schema that one [`View`](crate::schema::View) and all that were derived from it have seen.
pub(super) struct Walk<'a> {
    pub(super) schema: &'a Schema,
    seen: RefCell<Seen<'a>>,
    steps: Cell<usize>,
}

/// Two places with the same nodes are one place. A recursive schema has few of them, whatever the depth of the value.
#[derive(Default)]
struct Seen<'a> {
    places: BTreeMap<(bool, Vec<Vec<usize>>), Rc<Place<'a>>>,
    children: BTreeMap<(usize, Step), Rc<Place<'a>>>,
    /// By places of one alternative; `None` if it forbids the child.
    parts: BTreeMap<(usize, Step), Option<Rc<Place<'a>>>>,
}

/// What the schema says about one place.
pub(super) struct Place<'a> {
    id: usize,
    pub(super) alternatives: Vec<Alternative<'a>>,
    /// Some alternative says nothing about this place, so it admits everything there.
    pub(super) open: bool,
    /// Each alternative by itself; empty if there are fewer than two.
    parts: Vec<Rc<Place<'a>>>,
    /// Every type that some alternative may admit.
    types: Types,
    /// Elements that the schema may tell apart.
    tuple: usize,
}

/// From a place to a child of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    /// Any key that no alternative names.
    Other,
    Item(usize),
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a Schema) -> Rc<Self> {
        Rc::new(Self {
            schema,
            seen: RefCell::default(),
            steps: Cell::new(STEPS),
        })
    }

    /// Takes steps off the budget; false if it is used up.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.steps.get().saturating_sub(steps);
        self.steps.set(left);
        left > 0
    }

    /// Adds to the budget: a larger value may take more.
    pub(super) fn allow(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.steps.get()
    }

    /// The root of the schema.
    pub(super) fn root(&self) -> Rc<Place<'a>> {
        let alternatives = self.expand(&[self.schema.normal()]);
        self.place(alternatives, false)
    }

    fn expand(&self, nodes: &[&'a Value]) -> Vec<Alternative<'a>> {
        let (alternatives, steps) = alternatives(self.schema.normal(), nodes);
        self.spend(steps);
        alternatives
    }

    /// A place that admits everything.
    fn unrestricted(&self) -> Rc<Place<'a>> {
        self.place(Vec::new(), true)
    }

    fn place(&self, alternatives: Vec<Alternative<'a>>, open: bool) -> Rc<Place<'a>> {
        let address = |node: &Node<'a>| std::ptr::from_ref(*node).addr();
        let key = alternatives
            .iter()
            .map(|nodes| nodes.iter().map(address).collect())
            .collect();
        let key = (open, key);
        if let Some(place) = self.seen.borrow().places.get(&key) {
            return Rc::clone(place);
        }
        let parts = if alternatives.len() < 2 {
            Vec::new()
        } else {
            let each = alternatives.iter();
            each.map(|nodes| self.place(vec![nodes.clone()], false))
                .collect()
        };
        let all = alternatives.iter();
        let types = all
            .clone()
            .fold(Types::NONE, |all, nodes| all | types(nodes));
        let tuple = all.flatten().map(|node| tuple_length(node)).max();
        let mut seen = self.seen.borrow_mut();
        let place = Rc::new(Place {
            id: seen.places.len(),
            alternatives,
            open,
            parts,
            types,
            tuple: tuple.unwrap_or_default(),
        });
        seen.places.insert(key, Rc::clone(&place));
        place
    }

    /// What the schema says about a property of a place.
    pub(super) fn property(&self, place: &Rc<Place<'a>>, key: &str) -> Rc<Place<'a>> {
        self.child(place, &place.key(key), Types::OBJECT)
    }

    /// What the schema says about an element of a place.
    pub(super) fn item(&self, place: &Rc<Place<'a>>, index: usize) -> Rc<Place<'a>> {
        self.child(place, &Step::Item(index.min(place.tuple)), Types::ARRAY)
    }

    /// What a place of one alternative says about a property; `None` if it forbids it.
    pub(super) fn property_of(&self, one: &Rc<Place<'a>>, key: &str) -> Option<Rc<Place<'a>>> {
        self.below(one, &one.key(key))
    }

    /// What a place of one alternative says about an element; `None` if it forbids it.
    pub(super) fn item_of(&self, one: &Rc<Place<'a>>, index: usize) -> Option<Rc<Place<'a>>> {
        self.below(one, &Step::Item(index.min(one.tuple)))
    }

    fn child(&self, place: &Rc<Place<'a>>, step: &Step, parent: Types) -> Rc<Place<'a>> {
        let key = (place.id, step.clone());
        if let Some(child) = self.seen.borrow().children.get(&key) {
            return Rc::clone(child);
        }
        if !self.spend(1) {
            return self.unrestricted();
        }
        let mut open = place.open;
        let mut all: Vec<Alternative<'a>> = Vec::new();
        for one in place.each() {
            if !one.types.meets(parent) {
                continue;
            }
            if let Some(child) = self.below(one, step) {
                open |= child.open;
                for new in &child.alternatives {
                    if !all.iter().any(|old| same_nodes(old, new)) {
                        all.push(new.clone());
                    }
                }
            }
        }
        if all.len() > ALTERNATIVES {
            all.clear();
        }
        open |= all.is_empty();
        let child = self.place(all, open);
        self.seen
            .borrow_mut()
            .children
            .insert(key, Rc::clone(&child));
        child
    }

    /// What one alternative says about a child; `None` if it forbids it.
    fn below(&self, one: &Rc<Place<'a>>, step: &Step) -> Option<Rc<Place<'a>>> {
        let key = (one.id, step.clone());
        if let Some(child) = self.seen.borrow().parts.get(&key) {
            return child.clone();
        }
        if !self.spend(1) {
            return Some(self.unrestricted());
        }
        let mut nodes = Vec::new();
        let mut forbidden = false;
        for node in one.alternatives.iter().flatten() {
            let child = match step {
                Step::Key(key) => property(self.schema, node, Some(key)),
                Step::Other => property(self.schema, node, None),
                Step::Item(index) => item(node, *index),
            };
            match child {
                Child::Silent => {}
                Child::Forbidden => forbidden = true,
                Child::Said(said) => nodes.extend(said),
            }
        }
        let child = if forbidden {
            None
        } else if nodes.is_empty() {
            Some(self.unrestricted())
        } else {
            Some(self.place(self.expand(&nodes), false))
        };
        self.seen.borrow_mut().parts.insert(key, child.clone());
        child
    }
}

impl<'a> Place<'a> {
    /// Its alternatives, each as a place of its own.
    pub(super) fn each<'p>(self: &'p Rc<Self>) -> &'p [Rc<Place<'a>>] {
        match self.alternatives.len() {
            0 => &[],
            1 => std::slice::from_ref(self),
            _ => &self.parts,
        }
    }

    fn key(&self, key: &str) -> Step {
        let mut nodes = self.alternatives.iter().flatten();
        if nodes.any(|node| names(node, key)) {
            Step::Key(key.to_owned())
        } else {
            Step::Other
        }
    }

    /// Every type that some alternative may admit.
    pub(super) fn types(&self) -> Types {
        self.types
    }
}

fn same_nodes(left: &Alternative<'_>, right: &Alternative<'_>) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(l, r)| std::ptr::eq(*l, *r))
}
