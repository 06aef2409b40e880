//! The texts of the system message: the gadget catalog, how to write a block, and the listing of custom blocks; and the same
//! parameters as questions to a user.

mod catalog;
mod correction;
mod custom;
mod field;
mod flat;
mod form;
mod label;
mod params;
pub mod search;
mod template;

pub use catalog::{CatalogEntry, CatalogExample, catalog};
pub use correction::correction;
pub use custom::{append_to_system, custom_block_listing};
pub use form::Form;
pub use params::parameter_list;
pub use search::{GadgetSearch, SearchWhen};
pub use template::PromptTemplate;
