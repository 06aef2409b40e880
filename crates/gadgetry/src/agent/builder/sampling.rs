//! Settings of replies.

use super::AgentBuilder;

/// # Settings of replies
///
/// They take precedence over the options of the model. A model without such a setting ignores it.
impl AgentBuilder {
    /// Sets the sampling temperature.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use gadgetry::{Agent, ScriptedModel};
    /// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
    /// let agent = Agent::builder().model(model).temperature(0.0).max_tokens(500).stop(["END"]).build()?;
    /// # let _ = agent;
    /// # Ok(())
    /// # }
    /// ```
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.config.sampling.temperature = Some(temperature);
        self
    }

    /// Sets the maximum number of tokens in a reply, reasoning included. No incomplete call of a reply that is cut off there is
    /// executed.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.config.sampling.max_tokens = Some(tokens);
        self
    }

    /// Sets the stop sequences: the server ends a reply before the first of them. An empty list removes those of the model.
    /// An API without stop sequences, such as OpenAI's Responses, refuses the request.
    pub fn stop(mut self, sequences: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.config.sampling.stop = Some(sequences.into_iter().map(Into::into).collect());
        self
    }
}
