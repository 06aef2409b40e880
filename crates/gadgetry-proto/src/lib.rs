//! The engine of gadgetry: it parses what a model writes, decides everything, and waits for nothing.
//!
//! Text goes in, in any pieces; events, gadget starts and requests come out. There is no clock, randomness, environment,
//! file, network or global state in this crate: the same inputs give the same outputs on every machine, so a run can be
//! saved, loaded, replayed and tested without waiting.
//!
//! Programs with agents use the crate `gadgetry`, which drives this engine. The parser alone is here:
//!
//! ```
//! use gadgetry_proto::reply::{BlockParser, ReplyEvent};
//!
//! let mut parser = BlockParser::default();
//! let mut see = |event: ReplyEvent<'_>| match event {
//!     ReplyEvent::Text(text) => print!("{text}"),
//!     ReplyEvent::Call(block) => println!("calls {}: {:?}", block.header().gadget_name(), block.to_call(None).parameters),
//!     _ => {}
//! };
//! parser.push("Let me look.\n!!!GADGET_START:Read\n!!!ARG:path\nnotes", &mut see);
//! parser.push(".txt\n!!!GADGET_END", &mut see);
//! parser.finish(&mut see);
//! ```
//!
//! [`reply::TagParser`] reads custom tags, [`reply::Scanner`] both, and [`reply::Pipeline`] makes deltas of them;
//! [`block::Writer`] writes blocks, and [`dialect`] reads other forms of calls.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `engine` | yes | validation of parameters, prompts, grammars, conversations and runs. Without it there is the parser alone, which compiles 13 crates in place of 70: schemas then give the types of values, but validate nothing |
//! | `preserve_order` | with `engine` | JSON objects keep the order in which they were written, in the whole program (a feature of `serde_json`) |
//!
//! # Stability
//!
//! [`block`], [`tags`], [`reply`], [`dialect`] and what they name change with care. The modules of the feature `engine` are made for the
//! crates of gadgetry and change with any release.
//!
//! # Modules, in the order in which data flows
//!
//! A module names only modules above it in this list; `tests/module_order.rs` fails otherwise.
//!
//! | module | what it does |
//! |---|---|
//! | [`visible`] | characters that are not seen, written out |
//! | [`escapes`] | escapes of JSON, HTML and URLs, decoded |
//! | [`limits`] [`json`] [`error`] [`id`] [`time`] [`usage`] [`media`] [`call`] [`trace`] [`message`] [`piece`] [`delta`] [`event`] | the vocabulary: plain data |
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

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "engine"),
    allow(
        dead_code,
        unused_imports,
        reason = "the modules of the engine use more of the vocabulary"
    )
)]

/// Setters of a struct that may grow, one a field, for the crates of this project.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field.into();
            self
        }
    )*};
}

pub mod accumulate;
pub mod block;
pub mod call;
#[cfg(feature = "engine")]
pub mod call_form;
#[cfg(feature = "engine")]
pub mod convo;
pub mod delta;
pub mod dialect;
pub mod error;
pub mod escapes;
pub mod event;
#[cfg(feature = "engine")]
pub mod grammar;
pub mod id;
pub mod json;
pub mod limits;
pub mod media;
pub mod message;
pub mod piece;
#[cfg(feature = "engine")]
pub mod prompt;
pub mod reply;
#[cfg(feature = "engine")]
pub mod run;
#[cfg(feature = "engine")]
pub mod sched;
pub mod schema;
pub mod tags;
pub mod time;
pub mod trace;
pub mod transform;
#[cfg(feature = "engine")]
pub mod tree;
pub mod usage;
pub mod visible;
