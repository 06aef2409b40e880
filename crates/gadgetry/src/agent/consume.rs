//! Shorter ways to consume a run.

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;

use crate::agent::{AgentRun, Finished, RunError};

impl AgentRun<'_> {
    /// Returns the visible text of this run, piece by piece as the model writes it, without that of subagents. Afterwards,
    /// [`AgentRun::finished`] reports how the run ended; [`AgentRun::text`] returns the answer and fails without one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// use futures_util::StreamExt as _;
    /// let mut run = gadgetry::Agent::builder().model(model).build()?.ask("What is 2+2?");
    /// let mut texts = run.texts();
    /// while let Some(piece) = texts.next().await {
    ///     print!("{piece}");
    /// }
    /// drop(texts);
    /// assert!(run.finished().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn texts(&mut self) -> impl Stream<Item = String> + Send + Unpin {
        let texts =
            self.filter_map(|event| std::future::ready(event.own_text().map(str::to_owned)));
        Box::pin(texts)
    }
}

/// `.await` on a run is [`AgentRun::finish`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: gadgetry::ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let agent = gadgetry::Agent::builder().model(model).build()?;
/// assert_eq!(agent.ask("What is 2+2?").await?.summary.answer, "4");
/// # Ok(())
/// # }
/// ```
impl<'t> IntoFuture for AgentRun<'t> {
    type Output = Result<Finished, RunError>;
    type IntoFuture = BoxFuture<'t, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish())
    }
}
