//! Views of a schema at one place, seen through references and combinations.

use std::rc::Rc;

use serde_json::Map;
use serde_json::Value;

use crate::schema::compiled::core::Core;
use crate::schema::compiled::expand::Node;
use crate::schema::compiled::expand::find;
use crate::schema::compiled::node::{listed, types};
use crate::schema::compiled::place::Place;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::walk::Walk;

/// The demands of a schema at one place of the parameters.
///
/// Views that come from one [`Schema::root`](crate::schema::Schema::root) share what they have worked out, and a budget of work. Where it is used up,
/// which no honest schema and value come near, a view admits everything; [`Schema::validate`](crate::schema::Schema::validate) still has the last word.
#[derive(Clone)]
pub struct View<'a> {
    pub(super) walk: Rc<Walk<'a>>,
    pub(super) place: Place<'a>,
}

/// A value that holds children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Array,
    Object,
}

impl<'a> View<'a> {
    pub(super) fn new(core: &'a Core) -> Self {
        let walk = Walk::new(core);
        let place = Place::root(&walk);
        Self { walk, place }
    }

    /// Returns the view of a property of this place.
    #[must_use]
    pub fn property(&self, key: &str) -> Self {
        self.at(self.place.property(&self.walk, key))
    }

    /// Returns the view of an array element of this place.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        self.at(self.place.item(&self.walk, index))
    }

    fn at(&self, place: Place<'a>) -> Self {
        Self {
            walk: Rc::clone(&self.walk),
            place,
        }
    }

    pub(super) fn alternatives(&self) -> impl Iterator<Item = &[Node<'a>]> {
        self.place.alternatives()
    }

    /// Returns `true` if some alternative says nothing about this place.
    pub(super) fn is_open(&self) -> bool {
        self.place.is_open()
    }

    /// Every type that the schema may admit here, by the letter.
    pub(crate) fn types(&self) -> Types {
        if self.is_open() {
            Types::ALL
        } else {
            self.place.types()
        }
    }

    /// The types that the author of the schema had in mind; `None` if the schema does not tell.
    pub(crate) fn intended(&self) -> Option<Types> {
        let mut all = None;
        for alternative in self.alternatives() {
            let declared = alternative.iter().filter_map(|node| Types::declared(node));
            let types = declared.reduce(|left, right| left & right).or_else(|| {
                let implied = alternative.iter().filter_map(|node| Types::implied(node));
                implied.reduce(|left, right| left & right)
            });
            all = Some(all.unwrap_or(Types::NONE) | types?);
        }
        all
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
        for alternative in self.alternatives() {
            options.extend(alternative.iter().find_map(|node| listed(node))?);
        }
        (!options.is_empty()).then_some(options)
    }

    /// Returns `true` if `enum` or `const` lists exactly this text.
    pub(crate) fn lists(&self, text: &str) -> bool {
        let nodes = self.alternatives().flatten();
        let mut options = nodes.filter_map(|node| listed(node)).flatten();
        options.any(|option| option.as_str() == Some(text))
    }

    /// Returns `true` if strings are admitted here, by the letter, other than those that `enum` or `const` lists.
    pub(crate) fn admits_text(&self) -> bool {
        self.is_open()
            || self.alternatives().any(|alternative| {
                types(alternative).meets(Types::STRING)
                    && !alternative.iter().any(|node| listed(node).is_some())
            })
    }

    /// The names of declared properties, in the order of the schema.
    pub(super) fn declared(&self) -> impl Iterator<Item = &'a String> {
        let nodes = self.alternatives().flatten();
        let properties = nodes.filter_map(|node| find(node, "properties")?.as_object());
        properties.flat_map(Map::keys)
    }
}
