//! Events that stop the program from outside: signals, and a reader of stdout who goes away.

use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use system::{Interrupts, when_reader_goes};

/// Number of [`Interrupts`] that exist.
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// Returns whether at most one part of the program waits for interrupts.
#[cfg(feature = "mcp")]
pub(crate) fn has_one_listener() -> bool {
    LISTENERS.load(Ordering::Relaxed) <= 1
}

/// Counts one of [`LISTENERS`] until it is dropped.
#[derive(Debug)]
struct Listener;

impl Listener {
    fn new() -> Self {
        LISTENERS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::thread;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::Listener;

    /// Ctrl-C, Ctrl-\\, a polite kill, and a terminal that is closed.
    #[derive(Debug)]
    pub(crate) struct Interrupts {
        interrupt: Signal,
        quit: Signal,
        terminate: Signal,
        hangup: Option<Signal>,
        _listener: Listener,
    }

    impl Interrupts {
        /// From now on these signals do nothing but come out of [`Self::next`].
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                terminate: signal(SignalKind::terminate())?,
                // `nohup` shall have its way.
                hangup: (!ignores_hangup())
                    .then(|| signal(SignalKind::hangup()))
                    .transpose()?,
                _listener: Listener::new(),
            })
        }

        /// The same, but for a terminal that is closed: the command has another meaning for that signal.
        pub(crate) fn listen_but_hangup() -> io::Result<Self> {
            let mut interrupts = Self::listen()?;
            interrupts.hangup = None;
            Ok(interrupts)
        }

        /// Waits for one.
        pub(crate) async fn next(&mut self) {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.quit.recv() => {}
                _ = self.terminate.recv() => {}
                _ = hangup => {}
            }
        }
    }

    /// Returns whether we were started so that a closed terminal means nothing. Only Linux says; elsewhere it means something.
    fn ignores_hangup() -> bool {
        const HANGUP: u64 = 1;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & HANGUP != 0)
    }

    /// Calls `then` when stdout is closed by its reader, even while nothing is written. Without a thread for it, the next
    /// write notices.
    pub(crate) fn when_reader_goes(then: impl FnOnce() + Send + 'static) {
        let _ = thread::Builder::new().spawn(move || {
            let stdout = io::stdout();
            loop {
                // Polls for no event, so it is woken only by errors and by the close of the other end.
                let mut stdout = [PollFd::new(&stdout, PollFlags::empty())];
                match poll(&mut stdout, None) {
                    Err(Errno::INTR) => {}
                    Ok(_) => return then(),
                    Err(_) => return,
                }
            }
        });
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use super::Listener;

    /// Listener for Ctrl-C, the only signal outside Unix.
    #[derive(Debug)]
    pub(crate) struct Interrupts(Listener);

    impl Interrupts {
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self(Listener::new()))
        }

        pub(crate) fn listen_but_hangup() -> io::Result<Self> {
            Self::listen()
        }

        pub(crate) async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        }
    }

    /// Does nothing: a reader that goes away is noticed at the next write.
    pub(crate) fn when_reader_goes(_then: impl FnOnce() + Send + 'static) {}
}
