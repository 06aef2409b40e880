//! The gadgets of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::schema::{GadgetSpec, Problem, Registry, RegistryError, Schema};

use crate::gadget::{DynGadget, IntoGadget};

/// Gadgets by name. Names are unique ignoring case.
///
/// ```
/// use gadgetry::{GadgetSpec, Outcome};
/// let spec = GadgetSpec { name: "Ping".to_owned(), ..GadgetSpec::default() };
/// let mut toolbox = gadgetry::Toolbox::default();
/// toolbox.add(gadgetry::from_fn(spec, |_, _| async { Outcome::ok("pong") }))?;
/// assert!(toolbox.get("ping").is_some());
/// # Ok::<(), gadgetry::toolbox::ToolboxError>(())
/// ```
#[derive(Clone, Default)]
pub struct Toolbox {
    registry: Arc<Registry>,
    gadgets: BTreeMap<String, Arc<dyn DynGadget>>,
}

impl Toolbox {
    /// Adds a gadget, however it was defined. On an error the toolbox is unchanged.
    pub fn add(&mut self, gadget: impl IntoGadget) -> Result<(), ToolboxError> {
        let gadget = gadget.into_gadget();
        let spec = gadget.spec();
        if spec.max_concurrent == Some(0) {
            let gadget = spec.name.clone();
            return Err(ToolboxError::NoConcurrency { gadget });
        }
        let registered = Registry::compile(spec.clone())?;
        check_examples(spec, registered.schema())?;
        Arc::make_mut(&mut self.registry).insert(registered)?;
        let name = spec.name.clone();
        self.gadgets.insert(name, gadget);
        Ok(())
    }

    /// Returns the gadget that a block calls by this name, ignoring case.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn DynGadget>> {
        self.gadgets.get(self.registry.get(name)?.name())
    }

    /// Returns the specifications, as the model reads them.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.gadgets.keys()).finish()
    }
}

/// Error for an example that does not match the parameters of its gadget.
pub(crate) struct UnfitExample {
    gadget: String,
    /// One-based number of the example.
    pub(crate) number: usize,
    problems: Vec<Problem>,
}

impl From<UnfitExample> for ToolboxError {
    fn from(unfit: UnfitExample) -> Self {
        Self::Example {
            gadget: unfit.gadget,
            number: unfit.number,
            problems: unfit.problems,
        }
    }
}

/// Checks that the examples are valid calls.
pub(crate) fn check_examples(spec: &GadgetSpec, schema: &Schema) -> Result<(), UnfitExample> {
    for (index, example) in spec.examples.iter().enumerate() {
        if let Err(problems) = schema.check(example.params.clone()) {
            return Err(UnfitExample {
                gadget: spec.name.clone(),
                number: index + 1,
                problems,
            });
        }
    }
    Ok(())
}

fn joined(problems: &[Problem]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}

/// Error for a gadget that cannot be added: mistakes in its definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// The name is taken or invalid, or the schema is invalid.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// No call could ever start.
    #[error("gadget '{gadget}' may run 0 calls at once; allow 1 or more, or omit the limit")]
    NoConcurrency {
        /// The gadget.
        gadget: String,
    },
    /// An example is not a valid call.
    #[error(
        "example {number} of gadget '{gadget}' does not fit its parameters: {}",
        joined(problems)
    )]
    Example {
        /// The gadget.
        gadget: String,
        /// One-based number of the example.
        number: usize,
        /// Mistakes in the parameters.
        problems: Vec<Problem>,
    },
}

impl Classified for ToolboxError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
