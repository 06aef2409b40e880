//! What a reply may be, for servers that constrain what a model writes.
//!
//! A [`GrammarSpec`] becomes text in the notation of llama.cpp (GBNF), which xgrammar and llguidance read as well, or a structural
//! tag of xgrammar. Every sentence of it is read as calls that pass the check of their schemas:
//!
//! | choice | a reply is |
//! |---|---|
//! | [`ToolChoice::Required`](crate::message::ToolChoice::Required), [`ToolChoice::Gadget`](crate::message::ToolChoice::Gadget) | calls from the first character on, after a line of thought if the limits allow one |
//! | [`ToolChoice::Auto`](crate::message::ToolChoice::Auto) | lines of prose and calls |
//! | [`ToolChoice::None`](crate::message::ToolChoice::None) | lines of prose, none of which begins like a marker |
//!
//! Parameters are in the order of the schema, required ones exactly once, optional ones at most once. Arrays and objects are JSON on
//! one line. What a grammar cannot express is admitted: that items differ, `not`, conditions, dependencies of properties, the keys of
//! a map that repeat, patterns with look-around.
//!
//! A tool whose name or schema admits no call is left out, so that the others can be called; a call that is demanded of it alone is an error.
//!
//! Markers count at the start of a line ([`Anchoring::LineStart`](crate::block::Anchoring::LineStart)).

mod avoid;
mod call;
mod class;
mod error;
mod format;
mod json;
mod line;
mod merge;
mod multiline;
mod number;
mod object;
mod pattern;
mod reply;
mod rules;
mod spec;
mod tag;
mod values;

use std::sync::Arc;

use serde_json::Value;

use crate::message::{Constraint, Notation};

pub use error::GrammarError;
pub use reply::{ConstrainedReply, ModelSize};
pub use spec::{GrammarLimits, GrammarSpec, GrammarTool};

impl GrammarSpec<'_> {
    /// Returns the grammar in GBNF.
    pub fn gbnf(&self) -> Result<String, GrammarError> {
        call::gbnf(self)
    }

    /// Returns the grammar as a structural tag of xgrammar, which vLLM and `SGLang` take: prose is free, and each call begins with the
    /// text that triggers it.
    pub fn structural_tag(&self) -> Result<Value, GrammarError> {
        tag::structural_tag(self)
    }

    /// Returns what a server is sent that reads this notation.
    pub fn constraint(&self, notation: Notation) -> Result<Constraint, GrammarError> {
        match notation {
            Notation::StructuralTag if self.choice.is_auto() => {
                let tag = self.structural_tag()?;
                Ok(Constraint::StructuralTag(Arc::new(tag)))
            }
            Notation::Gbnf | Notation::StructuralTag => Ok(Constraint::Gbnf(self.gbnf()?.into())),
        }
    }
}
