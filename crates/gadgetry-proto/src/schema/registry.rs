//! The gadgets of a run, by name.

use std::collections::BTreeMap;

use crate::error::{Classified, Fault};
use crate::schema::closest::closest;
use crate::schema::compiled::Problem;
use crate::schema::compiled::Schema;
use crate::schema::compiled::SchemaError;
#[cfg(feature = "engine")]
use crate::schema::compiled::WrongDefault;
use crate::schema::gadget::GadgetSpec;
use crate::schema::gadget::RegisteredGadget;
use crate::visible::visible_line;

/// The gadgets that a model may call. Names differ in more than case.
///
/// ```
/// use gadgetry_proto::schema::{GadgetSpec, Registry};
///
/// let bell = GadgetSpec { name: "Bell".to_owned(), ..GadgetSpec::default() };
/// let registry = Registry::new([bell])?;
/// assert_eq!(registry.get("bell").map(|gadget| gadget.name()), Some("Bell"));
/// assert_eq!(registry.closest("bel"), ["Bell"]);
/// # Ok::<(), gadgetry_proto::schema::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    gadgets: Vec<RegisteredGadget>,
    /// Places in `gadgets` by lower-cased name, and by the name as given, which models write as a rule.
    places: BTreeMap<String, usize>,
}

impl Registry {
    /// Checks the names and compiles the schemas. Fails at the first gadget that [`Registry::add`] refuses.
    pub fn new(specs: impl IntoIterator<Item = GadgetSpec>) -> Result<Self, RegistryError> {
        let mut registry = Self::default();
        for spec in specs {
            registry.add(spec)?;
        }
        Ok(registry)
    }

    /// Compiles and appends a gadget.
    ///
    /// # Errors
    ///
    /// As [`Registry::compile`] and [`Registry::insert`].
    pub fn add(&mut self, spec: GadgetSpec) -> Result<(), RegistryError> {
        self.insert(Self::compile(spec)?)
    }

    /// Checks the name of a gadget and compiles its schema.
    ///
    /// # Errors
    ///
    /// If the name is empty, begins like a marker, or holds `:`, whitespace or a control character, if the parameters are
    /// not a JSON Schema, or if a default in it does not fit it.
    pub fn compile(spec: GadgetSpec) -> Result<RegisteredGadget, RegistryError> {
        let name = spec.name.clone();
        if name.is_empty() {
            return Err(RegistryError::EmptyName);
        }
        if !GadgetSpec::is_valid_name(&name) {
            return Err(RegistryError::BadName { name });
        }
        let schema = match Schema::new(spec.parameters.clone()) {
            Ok(schema) => schema,
            Err(error) => return Err(RegistryError::Schema { name, error }),
        };
        #[cfg(feature = "engine")]
        if let Some(WrongDefault { parameter, problem }) = schema.wrong_default() {
            return Err(RegistryError::Default {
                name,
                parameter,
                problem,
            });
        }
        Ok(RegisteredGadget::new(spec, schema))
    }

    /// Appends a gadget.
    ///
    /// # Errors
    ///
    /// If its name is taken, in whatever case.
    pub fn insert(&mut self, gadget: RegisteredGadget) -> Result<(), RegistryError> {
        let name = gadget.name().to_owned();
        let key = name.to_lowercase();
        if self.places.contains_key(&key) {
            return Err(RegistryError::Duplicate { name });
        }
        let place = self.gadgets.len();
        self.places.insert(key, place);
        self.places.insert(name, place);
        self.gadgets.push(gadget);
        Ok(())
    }

    /// The gadgets but those with these names.
    pub(crate) fn without(&self, names: &[String]) -> Self {
        let is_kept = |gadget: &&RegisteredGadget| !names.iter().any(|it| it == gadget.name());
        let mut kept = Self::default();
        for gadget in self.gadgets.iter().filter(is_kept) {
            // Names that differ here differ there.
            _ = kept.insert(gadget.clone());
        }
        kept
    }

    /// The gadget of that name, in whatever case.
    pub fn get(&self, name: &str) -> Option<&RegisteredGadget> {
        let place = self.places.get(name);
        let place = place.or_else(|| self.places.get(&name.to_lowercase()))?;
        self.gadgets.get(*place)
    }

    /// The gadgets in the order of registration.
    pub fn iter(&self) -> std::slice::Iter<'_, RegisteredGadget> {
        self.gadgets.iter()
    }

    /// Returns the number of gadgets.
    pub fn len(&self) -> usize {
        self.gadgets.len()
    }

    /// Returns `true` if there are no gadgets.
    pub fn is_empty(&self) -> bool {
        self.gadgets.is_empty()
    }

    /// The names that `name` is probably a slip of, the closest first.
    pub fn closest(&self, name: &str) -> Vec<&str> {
        closest(name, self.iter().map(RegisteredGadget::name))
    }

    /// The answer to a call of a gadget that does not exist.
    pub fn unknown_gadget(&self, name: &str) -> String {
        let written = visible_line(name);
        let bare = name.trim_matches(|c| matches!(c, '*' | '`' | '_' | '~' | '"' | '\''));
        let hint = match self.closest(name).first() {
            _ if written.is_empty() => " The call has no name.".to_owned(),
            // Models dress what they find important.
            _ if bare != name && self.get(bare).is_some() => {
                format!(" Write the lines of a block without Markdown or quotes: '{bare}'.")
            }
            Some(near) => format!(" Did you mean '{near}'?"),
            None => String::new(),
        };
        let names: Vec<&str> = self.iter().map(RegisteredGadget::name).collect();
        let available = if names.is_empty() {
            "No gadgets are currently registered.".to_owned()
        } else {
            format!("Available gadgets: {}", names.join(", "))
        };
        format!("Error: Gadget '{written}' not found.{hint}\n\n{available}")
    }
}

impl<'a> IntoIterator for &'a Registry {
    type Item = &'a RegisteredGadget;
    type IntoIter = std::slice::Iter<'a, RegisteredGadget>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Error for gadgets that cannot be registered; always a mistake of the gadget's author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A name is empty.
    #[error("a gadget has no name")]
    EmptyName,
    /// A name cannot stand in the header of a block.
    #[error(
        "the gadget name {name:?} begins like a marker, or contains `:`, whitespace or a control character"
    )]
    BadName {
        /// The invalid name.
        name: String,
    },
    /// Two gadgets have one name.
    #[error("Gadget '{name}' is already registered")]
    Duplicate {
        /// The name of the second one.
        name: String,
    },
    /// A schema is of no use.
    #[error("the parameters of gadget '{name}': {error}")]
    Schema {
        /// The name of the gadget.
        name: String,
        /// The error of its schema.
        error: SchemaError,
    },
    /// The default of a parameter would be refused in a call.
    #[error("gadget '{name}': the default of parameter '{parameter}' does not fit: {problem}")]
    Default {
        /// The name of the gadget.
        name: String,
        /// The parameter, as a dotted path.
        parameter: String,
        /// The problem of the default.
        problem: Problem,
    },
}

impl Classified for RegistryError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(names: &[&str]) -> Registry {
        let specs = names.iter().map(|name| GadgetSpec {
            name: (*name).to_owned(),
            ..GadgetSpec::default()
        });
        Registry::new(specs).unwrap()
    }

    #[test]
    fn unknown_names() {
        let check = |names: &[&str], name: &str, text: &str| {
            assert_eq!(registry(names).unknown_gadget(name), text);
        };
        check(
            &["Bell", "Zestlemon"],
            "Gong",
            "Error: Gadget 'Gong' not found.\n\nAvailable gadgets: Bell, Zestlemon",
        );
        check(
            &["zestlemon", "Bell"],
            "Bels",
            "Error: Gadget 'Bels' not found. Did you mean 'Bell'?\n\nAvailable gadgets: zestlemon, Bell",
        );
        check(
            &["ReadFile"],
            "read_file",
            "Error: Gadget 'read_file' not found. Did you mean 'ReadFile'?\n\nAvailable gadgets: ReadFile",
        );
        check(
            &["Y"],
            "",
            "Error: Gadget '' not found. The call has no name.\n\nAvailable gadgets: Y",
        );
        check(
            &["Y"],
            "x",
            "Error: Gadget 'x' not found.\n\nAvailable gadgets: Y",
        );
        check(
            &[],
            "x",
            "Error: Gadget 'x' not found.\n\nNo gadgets are currently registered.",
        );
    }

    #[test]
    fn names() {
        let check = |names: &[&str], error: &str| {
            let specs = names.iter().map(|name| GadgetSpec {
                name: (*name).to_owned(),
                ..GadgetSpec::default()
            });
            assert_eq!(Registry::new(specs).unwrap_err().to_string(), error);
        };
        check(&["Bell", "bELL"], "Gadget 'bELL' is already registered");
        check(&[""], "a gadget has no name");
        check(
            &["a:b"],
            "the gadget name \"a:b\" begins like a marker, or contains `:`, whitespace or a control character",
        );
        check(
            &["a b"],
            "the gadget name \"a b\" begins like a marker, or contains `:`, whitespace or a control character",
        );
        let registry = registry(&["math.add", "get-user"]);
        assert_eq!(registry.get("MATH.ADD").unwrap().name(), "math.add");
        assert_eq!(
            registry
                .iter()
                .map(RegisteredGadget::name)
                .collect::<Vec<_>>(),
            ["math.add", "get-user"]
        );
    }
}
