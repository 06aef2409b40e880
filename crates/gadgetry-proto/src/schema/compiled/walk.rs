//! One walk over a schema: what is known of each place is worked out once, and all of it within a budget.
//!
//! A position is identified by the nodes of the schema that apply there, not by the path that leads to it. For example, in
//!
//! ```text
//! {"properties": {"value": {"type": "string"}, "next": {"$ref": "#"}}}
//! ```
//!
//! `next`, `next.next` and all further ones have the same nodes, so a chain of any length has three positions, and each
//! step to a child is a look-up. Where combinations multiply instead, the budget ends the walk: what is left
//! admits everything, which is safe, because the validator checks the value anyway.

use std::borrow::Borrow;
use std::borrow::Cow;
use std::cell::Cell;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::iter;
use std::rc::Rc;

use serde_json::Value;

use crate::schema::compiled::core::Core;
use crate::schema::compiled::expand::ALTERNATIVES;
use crate::schema::compiled::expand::Alternative;
use crate::schema::compiled::expand::alternatives;
use crate::schema::compiled::node::{item, names, property, tuple_length, types};
use crate::schema::compiled::types::Types;

/// Steps of one walk, about 50 ns each. What is not worked out when they are used up counts as unrestricted.
const STEPS: usize = 1 << 20;

/// The places of a schema that one [`View`](crate::schema::View) and all that were derived from it have seen.
pub(super) struct Walk<'a> {
    core: &'a Core,
    seen: RefCell<Seen<'a>>,
    steps: Cell<usize>,
}

/// Two places with the same nodes are one place. A recursive schema has few of them, whatever the depth of the value.
#[derive(Default)]
struct Seen<'a> {
    places: BTreeSet<PositionByForms<'a>>,
    children: BTreeMap<(usize, ChildKey<'a>), Rc<Position<'a>>>,
    /// Children of places with one alternative; `None` if it forbids the child.
    parts: BTreeMap<(usize, ChildKey<'a>), Option<Rc<Position<'a>>>>,
}

/// A place, found by what its schema says.
struct PositionByForms<'a>(Rc<Position<'a>>);

/// The demands of the schema at one place.
pub(super) struct Position<'a> {
    id: usize,
    pub(super) forms: Forms<'a>,
    /// Each alternative by itself; empty if there are fewer than two.
    parts: Vec<Rc<Position<'a>>>,
    /// Every type that some alternative may admit.
    types: Types,
    /// Elements that the schema may tell apart.
    tuple: usize,
}

/// The forms that a value may have. Nodes are compared by their address.
pub(super) struct Forms<'a> {
    pub(super) alternatives: Vec<Alternative<'a>>,
    /// Some alternative says nothing, so it admits everything.
    pub(super) open: bool,
}

/// A step from a place to a child of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ChildKey<'a> {
    /// Borrowed from the schema if it has this very key, which is not so where a pattern matches.
    Key(Cow<'a, str>),
    /// Any key that no alternative names.
    Other,
    Item(usize),
}

impl<'a> Walk<'a> {
    pub(super) fn new(core: &'a Core) -> Rc<Self> {
        Rc::new(Self {
            core,
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

    pub(super) fn schema(&self) -> &'a Value {
        self.core.normal()
    }

    /// The root of the schema.
    pub(super) fn root(&self) -> Rc<Position<'a>> {
        let alternatives = self.expand(&[self.schema()]);
        self.place(alternatives, false)
    }

    fn expand(&self, nodes: &[&'a Value]) -> Vec<Alternative<'a>> {
        let (alternatives, steps) = alternatives(self.schema(), nodes);
        self.spend(steps);
        alternatives
    }

    /// A place that admits everything.
    pub(super) fn unrestricted(&self) -> Rc<Position<'a>> {
        self.place(Vec::new(), true)
    }

    /// The place with these forms.
    pub(super) fn place(&self, alternatives: Vec<Alternative<'a>>, open: bool) -> Rc<Position<'a>> {
        let forms = Forms { alternatives, open };
        if let Some(PositionByForms(place)) = self.seen.borrow().places.get(&forms) {
            return Rc::clone(place);
        }
        let alternatives = &forms.alternatives;
        let parts = if alternatives.len() < 2 {
            Vec::new()
        } else {
            let each = alternatives.iter();
            each.map(|nodes| self.place(vec![nodes.clone()], false))
                .collect()
        };
        let types = alternatives
            .iter()
            .fold(Types::NONE, |all, nodes| all | types(nodes));
        let nodes = alternatives.iter().flatten();
        let tuple = nodes.map(|node| tuple_length(node)).max();
        let mut seen = self.seen.borrow_mut();
        let place = Rc::new(Position {
            id: seen.places.len(),
            forms,
            parts,
            types,
            tuple: tuple.unwrap_or_default(),
        });
        seen.places.insert(PositionByForms(Rc::clone(&place)));
        place
    }

    /// Returns the place of a property.
    pub(super) fn property(&self, place: &Rc<Position<'a>>, key: &str) -> Rc<Position<'a>> {
        self.child(place, place.key(key), Types::OBJECT)
    }

    /// Returns the place of an array element.
    pub(super) fn item(&self, place: &Rc<Position<'a>>, index: usize) -> Rc<Position<'a>> {
        self.child(place, ChildKey::Item(index.min(place.tuple)), Types::ARRAY)
    }

    /// Returns the place of a property below a place of one alternative; `None` if it forbids the property.
    pub(super) fn property_of(
        &self,
        one: &Rc<Position<'a>>,
        key: &str,
    ) -> Option<Rc<Position<'a>>> {
        self.below(one, one.key(key))
    }

    /// Returns the place of an element below a place of one alternative; `None` if it forbids the element.
    pub(super) fn item_of(&self, one: &Rc<Position<'a>>, index: usize) -> Option<Rc<Position<'a>>> {
        self.below(one, ChildKey::Item(index.min(one.tuple)))
    }

    fn child(
        &self,
        place: &Rc<Position<'a>>,
        step: ChildKey<'a>,
        parent: Types,
    ) -> Rc<Position<'a>> {
        // Most schemas have one form at each place. Then there is nothing to unite, nor to remember twice.
        if let [one] = place.each()
            && !place.forms.open
            && one.types.meets(parent)
            && let Some(child) = self.below(one, step.clone())
            && child.forms.alternatives.len() == 1
        {
            return child;
        }
        let key = (place.id, step);
        if let Some(child) = self.seen.borrow().children.get(&key) {
            return Rc::clone(child);
        }
        if !self.spend(1) {
            return self.unrestricted();
        }
        let mut open = place.forms.open;
        let mut all: Vec<Alternative<'a>> = Vec::new();
        for one in place.each() {
            if !one.types.meets(parent) {
                continue;
            }
            if let Some(child) = self.below(one, key.1.clone()) {
                open |= child.forms.open;
                for new in &child.forms.alternatives {
                    if !all.iter().any(|old| order([old], [new]).is_eq()) {
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

    /// Returns the place of a child below one alternative; `None` if it forbids the child.
    fn below(&self, one: &Rc<Position<'a>>, step: ChildKey<'a>) -> Option<Rc<Position<'a>>> {
        let key = (one.id, step);
        if let Some(child) = self.seen.borrow().parts.get(&key) {
            return child.clone();
        }
        if !self.spend(1) {
            return Some(self.unrestricted());
        }
        let mut said = Vec::new();
        for node in one.forms.alternatives.iter().flatten() {
            match &key.1 {
                ChildKey::Key(key) => property(self.core, node, Some(key), &mut said),
                ChildKey::Other => property(self.core, node, None, &mut said),
                ChildKey::Item(index) => said.extend(item(node, *index)),
            }
        }
        let child = if said.contains(&&Value::Bool(false)) {
            None
        } else if said.is_empty() {
            Some(self.unrestricted())
        } else {
            Some(self.place(self.expand(&said), false))
        };
        self.seen.borrow_mut().parts.insert(key, child.clone());
        child
    }
}

impl<'a> Position<'a> {
    /// Returns the alternatives, each as a place of its own.
    pub(super) fn each<'p>(self: &'p Rc<Self>) -> &'p [Rc<Position<'a>>] {
        match self.forms.alternatives.len() {
            0 => &[],
            1 => std::slice::from_ref(self),
            _ => &self.parts,
        }
    }

    fn key(&self, key: &str) -> ChildKey<'a> {
        let mut nodes = self.forms.alternatives.iter().flatten();
        let named = nodes.find_map(|node| names(node, key));
        named.map_or(ChildKey::Other, ChildKey::Key)
    }

    /// Every type that some alternative may admit.
    pub(super) fn types(&self) -> Types {
        self.types
    }
}

impl<'a> Borrow<Forms<'a>> for PositionByForms<'a> {
    fn borrow(&self) -> &Forms<'a> {
        &self.0.forms
    }
}

impl Ord for PositionByForms<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.forms.cmp(&other.0.forms)
    }
}

impl PartialOrd for PositionByForms<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PositionByForms<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PositionByForms<'_> {}

impl Ord for Forms<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let open = self.open.cmp(&other.open);
        open.then_with(|| order(&self.alternatives, &other.alternatives))
    }
}

impl PartialOrd for Forms<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Forms<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Forms<'_> {}

/// Any order of alternatives that is the same as long as the schema lives: the lengths of the lists and the addresses of
/// their nodes.
fn order<'s, 'a: 's>(
    left: impl IntoIterator<Item = &'s Alternative<'a>>,
    right: impl IntoIterator<Item = &'s Alternative<'a>>,
) -> Ordering {
    let numbers = |nodes: &'s Alternative<'a>| {
        let addresses = nodes.iter().map(|node| std::ptr::from_ref(*node).addr());
        iter::once(nodes.len()).chain(addresses)
    };
    let left = left.into_iter().flat_map(numbers);
    left.cmp(right.into_iter().flat_map(numbers))
}
