//! Errors of gadgets.

use std::error::Error;
use std::fmt;

use gadgetry_proto::call::{Outcome, amount};

/// Maximum number of causes of an error that are reported.
const CAUSES: usize = 8;

/// Reason for which a gadget has no result: it failed, it ends the run, or it asks a human.
///
/// Errors and texts convert to it: `?` works on a `std::error::Error`, a `Box<dyn Error + Send + Sync>`, an `anyhow::Error`, a
/// `&str` and a `String`. The model reads the error with its causes, on one line. To make these conversions possible, it does not
/// implement [`std::error::Error`] itself.
///
/// ```
/// use gadgetry::GadgetError;
///
/// fn double(text: &str) -> Result<i32, GadgetError> {
///     let number: i32 = text.trim().parse()?;
///     Ok(number.checked_mul(2).ok_or("too large")?)
/// }
/// assert_eq!(double("x").unwrap_err().to_string(), "invalid digit found in string");
/// assert_eq!(double("2000000000").unwrap_err().to_string(), "too large");
/// ```
pub struct GadgetError {
    kind: Kind,
    cost: f64,
}

enum Kind {
    Failed(Box<dyn Error + Send + Sync>),
    TaskComplete(String),
    HumanInputRequired(String),
    Cancelled,
}

impl GadgetError {
    /// Makes a failure with this message. If an error shows its causes with `{:#}`, as `anyhow`'s does, they are kept.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::of(Kind::Failed(format!("{message:#}").into()))
    }

    /// Ends the run once the other calls of the same reply are done, including those that still wait for a dependency. `summary`
    /// is the result, and the run's answer.
    pub fn task_complete(summary: impl Into<String>) -> Self {
        Self::of(Kind::TaskComplete(summary.into()))
    }

    /// Asks a human; the answer becomes the result. If no user is available, the call fails.
    pub fn human_input_required(question: impl Into<String>) -> Self {
        Self::of(Kind::HumanInputRequired(question.into()))
    }

    /// Reports that the gadget noticed its cancellation and stopped.
    pub fn cancelled() -> Self {
        Self::of(Kind::Cancelled)
    }

    /// Adds `dollars` to the cost of the call until then. Anything but a finite amount of 0 or more adds nothing.
    #[must_use]
    pub fn with_cost(mut self, dollars: f64) -> Self {
        self.cost = (self.cost + amount(dollars)).min(f64::MAX);
        self
    }

    /// Returns the underlying error, if that is an `E`.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match &self.kind {
            Kind::Failed(error) => error.downcast_ref(),
            Kind::TaskComplete(_) | Kind::HumanInputRequired(_) | Kind::Cancelled => None,
        }
    }

    fn of(kind: Kind) -> Self {
        Self { kind, cost: 0.0 }
    }

    pub(crate) fn outcome(self) -> Outcome {
        let text = self.to_string();
        let base = match self.kind {
            Kind::TaskComplete(summary) => Outcome {
                completes_run: true,
                ..Outcome::ok(summary)
            },
            Kind::HumanInputRequired(question) => Outcome {
                // Applies where no user is available.
                ..Outcome {
                    result: Err(format!(
                        "The question has no answer: no user is available in this run, or they declined. The question was: {question}"
                    )),
                    asks_human: Some(question),
                    ..Outcome::error("")
                }
            },
            Kind::Failed(_) | Kind::Cancelled => Outcome::error(text),
        };
        Outcome {
            cost: self.cost,
            ..base
        }
    }
}

/// Converts errors, boxed errors, `anyhow::Error` and texts.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for GadgetError {
    fn from(error: E) -> Self {
        Self::of(Kind::Failed(error.into()))
    }
}

/// Writes the text for the model.
impl fmt::Display for GadgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Failed(error) => f.write_str(&with_causes(error.as_ref())),
            Kind::TaskComplete(summary) => f.write_str(summary),
            Kind::HumanInputRequired(question) => write!(f, "Human input required: {question}"),
            Kind::Cancelled => f.write_str("Gadget execution was cancelled"),
        }
    }
}

impl fmt::Debug for GadgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, inside): (_, &dyn fmt::Debug) = match &self.kind {
            Kind::Failed(error) => ("Failed", error),
            Kind::TaskComplete(summary) => ("TaskComplete", summary),
            Kind::HumanInputRequired(question) => ("HumanInputRequired", question),
            Kind::Cancelled => ("Cancelled", &()),
        };
        f.debug_struct("GadgetError")
            .field(name, inside)
            .field("cost", &self.cost)
            .finish()
    }
}

/// Returns the messages of an error and of its causes. If a message already ends with its cause, the cause is not repeated.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    for cause in causes.take(CAUSES) {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
    }
    text
}
