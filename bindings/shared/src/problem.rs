//! Errors of the crates as a name, a text and fields.

#[cfg(feature = "runtime")]
use gadgetry::{AgentError, Finished, RunError, TypedError};
use gadgetry_proto::error::{Classified, Fault};
use serde_json::{Map, Value};

/// An error, by the name of its class in the packages.
#[derive(Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The class: one of the packages' own, or `TypeError`.
    pub name: &'static str,
    /// The text.
    pub message: String,
    /// Who has to change something.
    pub fault: &'static str,
    /// True if the same attempt may succeed later.
    pub is_retryable: bool,
    /// The error of the model call that ended a run.
    pub model_error: Option<Box<Value>>,
    /// The end of a run without an answer.
    #[cfg(feature = "runtime")]
    pub finished: Option<Box<Finished>>,
}

impl Problem {
    /// An error that is the caller's.
    pub fn new(name: &'static str, message: impl Into<String>) -> Self {
        Self {
            name,
            message: message.into(),
            fault: "program",
            is_retryable: false,
            model_error: None,
            #[cfg(feature = "runtime")]
            finished: None,
        }
    }

    /// An error of the configuration.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new("ConfigError", message)
    }

    /// A value of another type than the one that is wanted.
    pub fn wrong_type(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }

    /// An error of this class, whose fault its own words name.
    pub fn classified(
        name: &'static str,
        error: &(impl Classified + std::fmt::Display + ?Sized),
    ) -> Self {
        Self {
            fault: fault(error.fault()),
            is_retryable: error.is_retryable(),
            ..Self::new(name, error.to_string())
        }
    }

    /// A word that is not one of those admitted.
    pub fn choice(option: &str, value: &str, admitted: &str) -> Self {
        Self::config(format!("{option} is {admitted}, not {value:?}"))
    }

    /// The error as JSON, without the end of a run.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), Value::from(self.name));
        fields.insert("message".to_owned(), Value::from(self.message.as_str()));
        fields.insert("fault".to_owned(), Value::from(self.fault));
        fields.insert("isRetryable".to_owned(), Value::from(self.is_retryable));
        if let Some(error) = &self.model_error {
            fields.insert("modelError".to_owned(), (**error).clone());
        }
        Value::Object(fields)
    }
}

#[cfg(feature = "runtime")]
impl Problem {
    /// An agent that cannot be built.
    pub fn agent(error: &AgentError) -> Self {
        let name = if matches!(error, AgentError::NoApprovals { .. }) {
            "ApprovalsMissing"
        } else {
            "ConfigError"
        };
        Self::classified(name, error)
    }

    /// A run without an answer. Its class follows from the reason, which is in [`Problem::finished`].
    pub fn run(error: RunError) -> Self {
        Self {
            model_error: error
                .model_error()
                .and_then(|it| serde_json::to_value(it).ok().map(Box::new)),
            ..Self::classified("RunError", &error)
        }
        .ended(error)
    }

    fn ended(mut self, error: RunError) -> Self {
        self.finished = Some(Box::new(error.into_finished()));
        self
    }

    /// A run without an answer of the type.
    pub fn typed(error: TypedError) -> Self {
        match error {
            TypedError::Run(error) => Self::run(error),
            TypedError::Agent(error) => Self::classified("ConfigError", &error),
            other => Self::classified("ConfigError", &other),
        }
    }
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Caller => "caller",
        Fault::Model => "model",
        Fault::Program => "program",
        Fault::Provider => "provider",
        Fault::Environment => "environment",
        _ => "unknown",
    }
}
