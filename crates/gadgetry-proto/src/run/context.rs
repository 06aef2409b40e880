//! Parts of a run that others share while one input is handled.

use crate::run::outbox::Outbox;
use crate::run::plan::Plan;
use crate::run::questions::Questions;

/// The configuration, and where outputs and questions go. Every part may use it.
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) out: &'a mut Outbox,
    pub(super) questions: &'a mut Questions,
}
