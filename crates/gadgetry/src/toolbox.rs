//! The gadgets of a run: what the model is told about them, and what a call starts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gadgetry_proto::spec::{Registry, RegistryError};

use crate::gadget::{DynGadget, IntoGadget};

/// Gadgets by name. Names are unique, whatever their case.
///
/// ```
/// use gadgetry::proto::{call::Outcome, spec::GadgetSpec};
/// let spec = GadgetSpec { name: "Ping".to_owned(), ..GadgetSpec::default() };
/// let mut toolbox = gadgetry::Toolbox::default();
/// toolbox.add(gadgetry::from_fn(spec, |_, _| async { Outcome::ok("pong") }))?;
/// assert!(toolbox.get("ping").is_some());
/// # Ok::<(), gadgetry::proto::spec::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Toolbox {
    registry: Registry,
    gadgets: BTreeMap<String, Arc<dyn DynGadget>>,
}

impl Toolbox {
    /// Adds a gadget. Fails if its name is taken or no name, or if its schema is none.
    pub fn add(&mut self, gadget: impl IntoGadget) -> Result<(), RegistryError> {
        let gadget = gadget.into_gadget();
        let name = gadget.spec().name.clone();
        self.registry.add(gadget.spec().clone())?;
        self.gadgets.insert(name, gadget);
        Ok(())
    }

    /// The gadget that a block calls by this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn DynGadget>> {
        self.gadgets.get(self.registry.get(name)?.name())
    }

    /// What the model is told about them.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.gadgets.keys()).finish()
    }
}
