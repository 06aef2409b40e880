//! The user of a session, whom its gadgets may ask.

/// Answers the questions of a run.
#[derive(Debug, Default)]
pub(crate) struct Asker {}

impl Asker {
    /// The answer, or `None` if no user is available.
    #[expect(clippy::unused_self, reason = "the terminal follows")]
    pub(crate) fn ask(&self, _question: &str) -> Option<String> {
        None
    }
}
