//! One run, as records.

use serde_json::{Value, json};

use crate::record::Records;

/// One run, as it is shown.
///
/// ```
/// use gadgetry_inspect::Recording;
///
/// let events = r#"{"v":1,"seq":0,"timeMs":0,"type":"text","text":"4"}"#;
/// let recording = Recording::read(events.as_bytes())?;
/// assert_eq!(recording.title(), "run");
/// # Ok::<(), gadgetry::log::LogError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) title: String,
    pub(crate) records: Records,
}

impl Recording {
    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Returns the title: the beginning of the user's message, or else the id of the run.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns whether the run has finished.
    pub fn is_finished(&self) -> bool {
        self.records.is_finished
    }

    /// The records as values, one after the other.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> {
        self.records.lines().iter().map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| {
                let message = format!("A record cannot be read: {error}");
                json!({ "type": "inspect_limit", "message": message })
            })
        })
    }

    #[cfg(test)]
    pub(crate) fn is_full(&self) -> bool {
        let mut lines = self.records.lines().iter();
        lines.any(|line| line.contains("inspect_limit"))
    }

    /// The state of the run, as text.
    pub(crate) fn state(&self) -> &'static str {
        self.records.end().unwrap_or("not finished")
    }
}
