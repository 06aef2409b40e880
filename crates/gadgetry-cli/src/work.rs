//! The work of a verb that waits for something.

use futures_util::future::LocalBoxFuture;

use crate::error::Error;

/// The rest of the work of a verb.
pub(crate) enum Work<'p> {
    /// Nothing is left. Most verbs wait for nothing.
    Done,
    /// Waits for models, gadgets, servers or the journal.
    Waits(LocalBoxFuture<'p, Result<(), Error>>),
    /// Waits for clients, perhaps for many of them.
    Serves(LocalBoxFuture<'p, Result<(), Error>>),
}

impl<'p> Work<'p> {
    /// Makes it of the work of a verb that waits.
    pub(crate) fn waits(work: impl Future<Output = Result<(), Error>> + 'p) -> Self {
        Self::Waits(Box::pin(work))
    }

    /// Makes it of the work of a server.
    pub(crate) fn serves(work: impl Future<Output = Result<(), Error>> + 'p) -> Self {
        Self::Serves(Box::pin(work))
    }
}
