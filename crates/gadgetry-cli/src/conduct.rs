//! A run with a model and gadgets, from its first request to its end, or until somebody stops it.

use std::time::Duration;

use gadgetry::driver::{Observer, drive};
use gadgetry::proto::run::{Command, Run, Summary};
use gadgetry::{Model, Toolbox};
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::interrupts::Interrupts;

/// How long threads that are stuck may hold up the end of the program: one may write to a pipe that nobody reads.
const PATIENCE: Duration = Duration::from_secs(1);

/// The ends of the channel through which a run is told to stop.
pub(crate) type Commands = (mpsc::Sender<Command>, mpsc::Receiver<Command>);

/// Such a channel.
pub(crate) fn commands() -> Commands {
    mpsc::channel(8)
}

/// Runs it, and gives the observer back. The first interrupt cancels the run, the second one drops it: either way no
/// process of a gadget stays.
pub(crate) fn conduct<W: Observer + 'static>(
    run: Run,
    model: impl Model + 'static,
    toolbox: Toolbox,
    (sender, receiver): Commands,
    mut watch: W,
) -> Result<(Summary, W), Error> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::machine(&error))?;
    let done = runtime.block_on(async {
        // Before any gadget starts: they are in process groups of their own, which a signal reaches only through us.
        let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
        // On a thread of its own, so that interrupts are heard while it waits for a reader.
        let mut driving = tokio::spawn(async move {
            let summary = drive(run, &model, &toolbox, receiver, &mut watch).await;
            (summary, watch)
        });
        let mut cancelled = false;
        let done = loop {
            tokio::select! {
                done = &mut driving => break done,
                () = interrupts.next() => {
                    if std::mem::replace(&mut cancelled, true) {
                        return Err(Error::Failed("stopped without waiting for the gadgets".to_owned()));
                    }
                    // Full means that it has been told; closed, that it is over.
                    let _ = sender.try_send(Command::Cancel);
                }
            }
        };
        done.map_err(|error| Error::Failed(format!("a bug in gadgetry ended the run: {error}")))
    });
    runtime.shutdown_timeout(PATIENCE);
    done
}
