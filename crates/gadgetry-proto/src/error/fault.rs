//! The party that has to change something after an error.

/// The party that has to change something, so that an error does not occur again.
///
/// A server can map it to a status: [`Fault::Caller`] is 4xx, [`Fault::Program`] is 500, [`Fault::Model`] and [`Fault::Provider`]
/// are 502, [`Fault::Environment`] is 503.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The input of the one who uses the program: a name, a file, a conversation that is too long.
    Caller,
    /// The program, or its configuration: an agent without a model, a key that is refused, a file of options.
    Program,
    /// The model: its reply cannot be used.
    Model,
    /// The service that serves the model, another service, or the connection to it.
    Provider,
    /// The machine: files, processes, a database, other programs.
    Environment,
}

/// An error that names the [`Fault`], and whether the same attempt may succeed later. All public error types of gadgetry
/// implement it.
///
/// ```
/// use gadgetry_proto::error::{Classified, Fault, ModelError, ModelErrorKind};
/// let error = ModelError::new(ModelErrorKind::RateLimit, "slow down");
/// assert_eq!(error.fault(), Fault::Provider);
/// assert!(error.is_retryable());
/// ```
pub trait Classified: std::error::Error {
    /// Returns the party that has to change something.
    fn fault(&self) -> Fault;

    /// Returns `true` if the same attempt may succeed later, although nothing was changed.
    fn is_retryable(&self) -> bool {
        false
    }
}
