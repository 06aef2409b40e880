//! Settings of replies.

use super::AgentBuilder;

/// # Settings of replies
///
/// They take precedence over the options of the model. A model that knows no such setting ignores it.
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

    /// Sets the maximum number of tokens in a reply, reasoning included. A reply that is cut off there executes no incomplete call.
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
