//! An editor that has files of the workspace open, and perhaps terminals.

use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;
use std::thread;
use std::time::Duration;

use gadgetry::GadgetError;
use gadgetry::terminal::{TerminalCommand, TerminalRun};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Maximum time for an answer of the editor; then the file on disk counts.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an editor will answer.
pub type EditorAnswer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An editor that has files open, perhaps with changes that are not saved. Gadgets read texts as it has them, and write them through
/// it. Which files they are is decided before, as for files on disk.
pub trait Editor: Debug + Send + Sync {
    /// Returns the text of a file as the editor has it; `None` if that on disk counts. The path is absolute.
    fn read(&self, path: PathBuf) -> EditorAnswer<'_, Option<String>>;

    /// Writes a file, and returns whether that was done; if not, it is written on disk. The path is absolute, and its folder exists.
    fn write(&self, path: PathBuf, text: String) -> EditorAnswer<'_, bool>;

    /// Returns its terminals; `None` if it has none. They are used by programs that have called [`dispatch`](crate::dispatch).
    fn terminal(&self) -> Option<&dyn Terminal> {
        None
    }
}

/// The terminals of an editor. Commands that have no sandbox run in them, where the user sees them.
pub trait Terminal: Debug + Send + Sync {
    /// Runs a program in a terminal of its own: the one that has called [`dispatch`](crate::dispatch), which runs the command line. `call`
    /// is the [key](gadgetry::ExecutionContext::idempotency_key) of its call. If the future is dropped, the program ends.
    ///
    /// The error says whether the program may have run.
    fn run(
        &self,
        call: String,
        command: TerminalCommand,
    ) -> EditorAnswer<'_, Result<TerminalRun, GadgetError>>;
}

/// Waits for the editor, for a while. On a thread of its own: that of the caller may be one that must not wait for futures.
pub(super) fn wait<T: Send>(answer: EditorAnswer<'_, T>) -> Option<T> {
    let runtime = Handle::try_current().ok()?;
    thread::scope(|scope| {
        let waiting = move || runtime.block_on(async { timeout(PATIENCE, answer).await.ok() });
        let waiting = thread::Builder::new().spawn_scoped(scope, waiting).ok()?;
        waiting.join().ok().flatten()
    })
}
