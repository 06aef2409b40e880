//! Output of commands while they run: its end, for the screen.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gadgetry_builtins::CommandOutput;

/// In place of a call, for the command of the user.
#[cfg(feature = "chat")]
pub(crate) const SHELL: &str = "!";

/// Bytes of the output of a command that are kept, from its end.
const BYTES: usize = 4 << 10;
/// Commands whose output is kept.
const COMMANDS: usize = 64;

/// The ends of what commands have written. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveOutput(Arc<Mutex<BTreeMap<String, End>>>);

#[derive(Debug, Default)]
struct End {
    bytes: Vec<u8>,
    is_new: bool,
}

impl LiveOutput {
    /// Returns what gadgets write to.
    #[cfg(feature = "chat")]
    pub(crate) fn sink(&self) -> CommandOutput {
        let ends = self.clone();
        CommandOutput::new(move |call, bytes| ends.write(call, bytes))
    }

    /// Adds what the command of a call has written.
    pub(crate) fn write(&self, call: &str, bytes: &[u8]) {
        let mut ends = self.lock();
        if !ends.contains_key(call) {
            if ends.len() >= COMMANDS {
                // Those of commands that have ended are among them.
                ends.retain(|_, end| end.is_new);
            }
            if ends.len() >= COMMANDS {
                return;
            }
            ends.insert(call.to_owned(), End::default());
        }
        if let Some(end) = ends.get_mut(call) {
            let bytes = &bytes[bytes.len().saturating_sub(BYTES)..];
            end.bytes.extend_from_slice(bytes);
            let extra = end.bytes.len().saturating_sub(BYTES);
            end.bytes.drain(..extra);
            end.is_new = true;
        }
    }

    /// Takes the ends that have changed since the last time, by call.
    pub(crate) fn take_new(&self) -> Vec<(String, String)> {
        let mut ends = self.lock();
        let mut new = Vec::new();
        for (call, end) in ends.iter_mut() {
            if mem::take(&mut end.is_new) {
                let text = String::from_utf8_lossy(&end.bytes).into_owned();
                new.push((call.clone(), text));
            }
        }
        new
    }

    /// Forgets the output of a command that has ended.
    #[cfg(feature = "chat")]
    pub(crate) fn forget(&self, call: &str) {
        self.lock().remove(call);
    }

    /// Forgets all of it.
    #[cfg(feature = "chat")]
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_bounded_and_taken_once() {
        let output = LiveOutput::default();
        assert_eq!(output.take_new(), []);
        output.write("a", b"one\n");
        output.write("a", b"two\n");
        let taken = output.take_new();
        assert_eq!(taken, [("a".to_owned(), "one\ntwo\n".to_owned())]);
        assert_eq!(output.take_new(), []);
        output.write("a", &[b'x'; 3 * BYTES]);
        output.write("a", b"end");
        let taken = output.take_new();
        assert!(taken[0].1.len() == BYTES && taken[0].1.ends_with("xend"));
        for call in 0..2 * COMMANDS {
            output.write(&call.to_string(), b"text");
        }
        assert_eq!(output.take_new().len(), COMMANDS);
        // Those that were taken make room.
        output.write("new", b"text");
        assert_eq!(output.take_new().len(), 1);
    }
}
