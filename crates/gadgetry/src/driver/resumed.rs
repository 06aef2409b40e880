//! The place of a resumed run among the requests of its model.

use gadgetry_proto::run::Run;

use crate::journal::Recording;

/// The replies that a run had read before it was resumed.
#[derive(Clone, Copy)]
pub(super) enum Resumed {
    /// At least this many. A reply in flight that something has acted on counts too, and is not requested again.
    AtLeast(u32),
    Exactly(u32),
}

impl Resumed {
    pub(super) fn of(run: &Run, recording: Option<&Recording>) -> Self {
        match recording.map(Recording::model_calls) {
            None => Self::Exactly(0),
            Some(0) if run.pending().is_empty() => Self::Exactly(0),
            Some(calls) => Self::AtLeast(calls),
        }
    }

    /// The number, when the request with this iteration is sent.
    pub(super) fn at(&mut self, iteration: u32) -> u32 {
        let number = match *self {
            Self::AtLeast(calls) => calls.max(iteration.saturating_sub(1)),
            Self::Exactly(calls) => calls,
        };
        *self = Self::Exactly(number);
        number
    }
}
