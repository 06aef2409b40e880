//! Signals to all processes of a call at once, where the system has process groups.

pub use system::Group;

#[derive(Clone, Copy)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, kill_process_group, test_kill_process_group};
    use tokio::process::Child;

    use super::Signal;

    /// A process group, until it is known to be empty.
    ///
    /// Its number cannot refer to another group while one of its processes is left, and the leader counts until it has been
    /// waited for. Errors are ignored on purpose: they mean that no process is left, or none that may be signalled.
    pub struct Group(Option<Pid>);

    impl Group {
        /// The group that `leader` was started in, which has its number.
        pub(in crate::command) fn of(leader: &Child) -> Self {
            let number = leader.id().and_then(|id| i32::try_from(id).ok());
            Self(number.and_then(Pid::from_raw))
        }

        pub(in crate::command) fn signal(&self, signal: Signal) {
            let signal = match signal {
                Signal::Terminate => rustix::process::Signal::TERM,
                Signal::Kill => rustix::process::Signal::KILL,
            };
            if let Some(group) = self.0 {
                let _ = kill_process_group(group, signal);
            }
        }

        /// Forgets a group without processes; returns whether it is forgotten.
        pub(in crate::command) fn forget_if_empty(&mut self) -> bool {
            self.0 = (self.0).filter(|group| test_kill_process_group(*group).is_ok());
            self.0.is_none()
        }

        pub(in crate::command) fn forget(&mut self) {
            self.0 = None;
        }
    }
}

#[cfg(not(unix))]
mod system {
    use tokio::process::Child;

    use super::Signal;

    /// This system has no process groups: only the program itself can be killed, and its owner does that.
    pub struct Group;

    #[expect(clippy::unused_self, reason = "the same signatures as above")]
    impl Group {
        pub(in crate::command) fn of(_leader: &Child) -> Self {
            Self
        }

        pub(in crate::command) fn signal(&self, signal: Signal) {
            match signal {
                Signal::Terminate | Signal::Kill => {}
            }
        }

        pub(in crate::command) fn forget_if_empty(&mut self) -> bool {
            true
        }

        pub(in crate::command) fn forget(&mut self) {}
    }
}
