//! A switch that takes the right to change the workspace from commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// While it is on, commands run in the sandbox, in which they cannot change the workspace either. Clones are the same switch.
///
/// It may be switched at any time: a command that was approved before is shown again.
///
/// ```
/// use gadgetry_builtins::{Builtins, ReadOnly};
/// let read_only = ReadOnly::default();
/// let gadgets = Builtins::in_dir(".")?.read_only(read_only.clone()).gadgets();
/// // From now on, `RunCommand` changes nothing.
/// read_only.set(true);
/// assert!(read_only.is_on());
/// # Ok::<(), gadgetry_builtins::WorkspaceError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOnly(Arc<AtomicBool>);

impl ReadOnly {
    /// Switches it on or off, for commands that start from now on.
    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    /// Returns whether it is on.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
