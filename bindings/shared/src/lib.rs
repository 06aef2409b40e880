//! Parts that the packages for other languages share.
//!
//! Each language has objects and callbacks of its own. What they are made of, and what comes back, is the same JSON everywhere, and is
//! read and written here.
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
pub mod foreign;
pub mod format;
pub mod gateway;
pub mod mock;
pub mod options;
pub mod outcome;
pub mod problem;
pub mod run;

pub use problem::Problem;
