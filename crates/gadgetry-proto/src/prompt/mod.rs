//! The texts of the system message: the gadget catalog, how to write a block, and the listing of custom blocks; and the same
//! parameters as questions to a user.

mod catalog;
mod correction;
mod custom;
mod field;
mod flat;
mod form;
mod json_call;
mod label;
mod params;
pub mod search;
mod template;
mod worked;

pub use catalog::{CatalogEntry, CatalogExample, catalog};
pub use correction::correction;
pub use custom::{append_to_system, custom_block_listing};
pub use form::Form;
pub use json_call::json_call;
pub use params::parameter_list;
pub use search::{GadgetSearch, SearchWhen};
pub(crate) use template::with_entries;
pub use template::{CallStyle, PromptTemplate};
pub use worked::{MAX_EXAMPLES, WorkedTurns};
