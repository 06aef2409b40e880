//! What the parts of a run share while one input is handled.

use crate::run::outbox::Outbox;
use crate::run::questions::Questions;
use crate::run::spec::RunSpec;

/// The configuration, and where outputs and questions go. Every part may use it.
pub(super) struct Context<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) out: &'a mut Outbox,
    pub(super) questions: &'a mut Questions,
}
