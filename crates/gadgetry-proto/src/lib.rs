//! The engine of gadgetry: it decides everything and waits for nothing.
//!
//! Text that a model writes goes in, in any pieces; events, gadget starts and requests come out. There is no clock,
//! randomness, environment, file, network or global state in this crate: the same inputs give the same outputs on
//! every machine, so a run can be saved, loaded, replayed and tested without waiting.
//!
//! # Modules, in the order in which data flows
//!
//! A module names only modules above it in this list; `tests/module_order.rs` fails otherwise.
//!
//! | module | what it does |
//! |---|---|
//! | [`visible`] | characters that are not seen, written out |
//! | [`limits`] [`json`] [`error`] [`id`] [`time`] [`usage`] [`media`] [`call`] [`message`] [`piece`] [`delta`] [`event`] | the vocabulary: plain data |
//! | [`tree`] | what a run has cost, folded from its events |
//! | [`schema`] | gadget specifications, the parameter tree, coercion and validation |
//! | [`transform`] | delta transforms and their composition |
//! | [`accumulate`] | deltas into one message |
//! | [`block`] | markers, the body of a gadget block, the writer |
//! | [`tags`] | tags, attributes, custom-block definitions |
//! | [`reply`] | the one scanner over a reply, and the reader: scanner, transforms, message, checks of calls |
//! | [`dialect`] | calls in the forms that models were trained on |
//! | [`call_form`] | the form of calls that a prompt demands of a model |
//! | [`grammar`] | what a reply may be, for servers that constrain it |
//! | [`sched`] | which call may start now |
//! | [`prompt`] | the texts of the system message |
//! | [`convo`] | history, result envelopes, output limits |
//! | [`run`] | the agent loop as a state machine |

pub mod accumulate;
pub mod block;
pub mod call;
pub mod call_form;
pub mod convo;
pub mod delta;
pub mod dialect;
pub mod error;
pub mod event;
pub mod grammar;
pub mod id;
pub mod json;
pub mod limits;
pub mod media;
pub mod message;
pub mod piece;
pub mod prompt;
pub mod reply;
pub mod run;
pub mod sched;
pub mod schema;
pub mod tags;
pub mod time;
pub mod transform;
pub mod tree;
pub mod usage;
pub mod visible;
