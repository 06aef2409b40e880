//! Parts that the packages for other languages share.
//!
//! Each language has objects and callbacks of its own. What they are made of, and what comes back, is the same JSON everywhere, and is
//! read and written here. Without the feature `runtime` there is what needs the parser alone: [`problem`], [`fields`], [`mod@format`] without prompts.
//!
//! | module | what it does |
//! |---|---|
//! | [`problem`] | errors of the crates as a name, a text and fields |
//! | [`fields`] | options by name, out of a JSON object |
//! | [`format`] | markers, forms, the parser's options, prompts, calls as text |
//! | [`options`] | the options of agents, models and custom blocks |
//! | [`mock`] | the rules of the mock model |
//! | [`outcome`] | results of functions as outcomes of calls |
//! | [`run`] | events in batches, results, answers to approvals, records of a journal |
//! | [`foreign`] | built-in gadgets by name, servers of MCP by configuration |
//! | [`gateway`] | the gateway in this process |

pub mod fields;
#[cfg(feature = "runtime")]
pub mod foreign;
pub mod format;
#[cfg(feature = "runtime")]
pub mod gateway;
#[cfg(feature = "runtime")]
pub mod mock;
#[cfg(feature = "runtime")]
pub mod options;
#[cfg(feature = "runtime")]
pub mod outcome;
pub mod problem;
#[cfg(feature = "runtime")]
pub mod run;

pub use problem::Problem;
