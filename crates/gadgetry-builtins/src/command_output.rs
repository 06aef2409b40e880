//! Output of commands while they run.

use std::fmt;
use std::sync::Arc;

type Watch = dyn Fn(&str, &[u8]) + Send + Sync;

/// Receives the output of commands while they run, to show it. It is a value of an agent or of a run, given by
/// [`AgentBuilder::with`](gadgetry::AgentBuilder::with) or [`AgentRun::with`](gadgetry::AgentRun::with). The output is not part of the
/// run: the model reads the result of the call, and a log has no more than that.
///
/// ```
/// use gadgetry_builtins::CommandOutput;
///
/// # async fn run(agent: gadgetry::Agent) -> Result<(), gadgetry::RunError> {
/// let show = CommandOutput::new(|call, bytes| {
///     print!("{call}: {}", String::from_utf8_lossy(bytes));
/// });
/// agent.ask("Run the tests.").with(show).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CommandOutput(Arc<Watch>);

impl CommandOutput {
    /// Calls `watch` with the [key](gadgetry::ExecutionContext::idempotency_key) of a call and a piece of what its command writes. It
    /// must not block.
    pub fn new(watch: impl Fn(&str, &[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(watch))
    }

    pub(crate) fn write(&self, call: &str, bytes: &[u8]) {
        (self.0)(call, bytes);
    }
}

impl fmt::Debug for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandOutput").finish_non_exhaustive()
    }
}
