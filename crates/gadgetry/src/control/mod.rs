//! Hooks of a run: they watch it, and decide before and after model calls and gadgets, and on errors.
//!
//! A [`Hook`] is one type with a method for each kind of decision. [`closures`] makes a hook of a single closure, and [`Hooks`]
//! combines several hooks.
//!
//! | when | method | may |
//! |---|---|---|
//! | anything happens | [`Hook::event`], [`Hook::input`], [`Hook::request`] | watch |
//! | a request is about to be sent | [`Hook::before_model_call`] | replace it, reply instead of the model, end the run |
//! | the conversation is about to be compacted | [`Hook::before_compaction`] | leave it as it is |
//! | a reply was read | [`Hook::after_model_call`] | change the part that the conversation keeps, add messages, end the run, or prevent its end |
//! | a model call failed and is not retried | [`Hook::on_model_error`] | reply instead |
//! | a gadget is about to start | [`Hook::before_gadget`] | change its parameters, answer instead, deny |
//! | a gadget is done | [`Hook::after_gadget`] | change its result, end the run |
//! | a gadget has failed | [`Hook::on_gadget_error`] | return a result instead, end the run |
//! | a dependency was not met | [`Hook::on_dependency_skipped`] | execute the call anyway, or answer for it |

pub mod closures;
mod decision;
mod dyn_hook;
mod hook;
mod several;
mod watch;

#[doc(no_inline)]
pub use gadgetry_proto::{
    event::{RunInfo, RunParent},
    run::{AboutCall, Asks, CompactionTrigger, Decision, QuestionKind, Start},
};

pub use crate::run_context::{MissingValue, Need, RunContext, Values};
pub use decision::{
    AfterGadget, AfterModelCall, BeforeCompaction, BeforeGadget, BeforeModelCall, CompactionDue,
    GadgetDone, ModelFailure, OnDependencySkipped, OnGadgetError, OnModelError, Reply,
    UnmetDependency,
};
pub use dyn_hook::{DynHook, Seen};
pub use hook::Hook;
pub use several::Hooks;
pub(crate) use watch::Watchers;
