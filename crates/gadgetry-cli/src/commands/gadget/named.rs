//! A gadget by its name.

use gadgetry::Toolbox;
use gadgetry::proto::schema::RegisteredGadget;

use crate::error::Error;

/// Returns the gadget of this name.
pub(super) fn named<'t>(toolbox: &'t Toolbox, name: &str) -> Result<&'t RegisteredGadget, Error> {
    let registry = toolbox.registry();
    let gadget = registry.get(name);
    gadget.ok_or_else(|| Error::input(own_words(&registry.unknown_gadget(name))))
}

/// Returns an error for a model without the word that every error on stderr begins with.
pub(super) fn own_words(error: &str) -> &str {
    error.strip_prefix("Error: ").unwrap_or(error)
}
