//! What stops the program from outside: signals, and a reader of stdout who goes away.

pub(crate) use system::{Interrupts, when_reader_goes};

#[cfg(unix)]
mod system {
    use std::io::{self, IsTerminal as _};
    use std::thread;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// Ctrl-C, a polite kill, and a terminal that is closed.
    #[derive(Debug)]
    pub(crate) struct Interrupts {
        interrupt: Signal,
        terminate: Signal,
        hangup: Option<Signal>,
    }

    impl Interrupts {
        /// From now on these signals do nothing but come out of [`Self::next`].
        pub(crate) fn listen() -> io::Result<Self> {
            // Without a terminal there is nothing to hang up, and `nohup` shall have its way.
            let hangup = io::stderr().is_terminal();
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hangup: hangup.then(|| signal(SignalKind::hangup())).transpose()?,
            })
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
                _ = self.terminate.recv() => {}
                _ = hangup => {}
            }
        }
    }

    /// Calls `then` when nobody reads stdout any more, even while nothing is written.
    pub(crate) fn when_reader_goes(then: impl FnOnce() + Send + 'static) {
        thread::spawn(move || {
            let stdout = io::stdout();
            loop {
                // Asks for nothing, and so is told only of errors and of the other end's end.
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

    /// Ctrl-C.
    #[derive(Debug)]
    pub(crate) struct Interrupts;

    impl Interrupts {
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        }
    }

    /// It is noticed at the next write.
    pub(crate) fn when_reader_goes(_then: impl FnOnce() + Send + 'static) {}
}
