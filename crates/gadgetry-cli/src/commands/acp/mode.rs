//! Modes of a session: which calls run without a question, and which do not run at all.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::control::{BeforeGadget, Hook, RunContext, Start};
use gadgetry::{DynGadget, Permission};
use gadgetry_acp::Choice;

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Rules decide, and the user about the rest.
    Ask,
    /// The same, but changes of files in the workspace run.
    AcceptEdits,
    /// Gadgets that change anything do not run.
    ReadOnly,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Ask, Self::AcceptEdits, Self::ReadOnly];

    /// Returns the id.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::ReadOnly => "read-only",
        }
    }

    /// The mode of this id.
    pub(super) fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.id() == id)
    }

    /// The modes for the user.
    pub(super) fn choices() -> Vec<Choice> {
        let choices = Self::ALL.into_iter().map(|mode| {
            let (name, description) = match mode {
                Self::Ask => ("Ask", "Asks before it writes, runs or fetches"),
                Self::AcceptEdits => (
                    "Accept edits",
                    "Writes and edits files of the workspace without asking",
                ),
                Self::ReadOnly => ("Read only", "Reads and plans, and changes nothing"),
            };
            Choice::new(mode.id(), name).described(description)
        });
        choices.collect()
    }
}

/// The mode of a session. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct CurrentMode(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Index in [`Mode::ALL`].
    mode: AtomicU8,
    /// Gadgets that may change something: those that need approval unless a rule says otherwise.
    changing: Mutex<BTreeSet<String>>,
}

impl CurrentMode {
    /// Returns the mode.
    pub(super) fn get(&self) -> Mode {
        let index = usize::from(self.0.mode.load(Ordering::Relaxed));
        Mode::ALL.get(index).copied().unwrap_or(Mode::ReadOnly)
    }

    /// Sets the mode, also for a run in progress.
    pub(super) fn set(&self, mode: Mode) {
        let index = Mode::ALL.iter().position(|it| *it == mode);
        let index = index.and_then(|it| u8::try_from(it).ok());
        self.0
            .mode
            .store(index.unwrap_or_default(), Ordering::Relaxed);
    }

    /// Takes note of a gadget of the agent.
    pub(super) fn add(&self, gadget: &dyn DynGadget) {
        if gadget.permission() != Permission::Allow {
            let changing = self.0.changing.lock();
            let mut changing = changing.unwrap_or_else(PoisonError::into_inner);
            changing.insert(gadget.spec().name.clone());
        }
    }
}

impl Hook for CurrentMode {
    async fn before_gadget(&self, _: &RunContext, start: &Start) -> BeforeGadget {
        let changing = self.0.changing.lock();
        let changing = changing.unwrap_or_else(PoisonError::into_inner);
        if self.get() == Mode::ReadOnly && changing.contains(&start.gadget_name) {
            let reason = "Denied: the session is read-only. Describe what you would do instead.";
            return BeforeGadget::Deny(reason.to_owned());
        }
        BeforeGadget::Proceed
    }
}
