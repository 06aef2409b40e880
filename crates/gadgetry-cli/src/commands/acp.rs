//! `gadgetry acp`: an agent for editors.
//!
//! | module | what it does |
//! |---|---|
//! | `describe`, `files` | calls of built-in gadgets for the user; files as the editor has them |
//! | `choices` | options that the user can change |
//! | `ground` | what sessions begin with: options, and the configuration in their folders |
//! | `models` | models to choose from |
//! | `past` | what happened in the runs of a session |
//! | `session`, `host` | a session; all of them |

mod choices;
mod describe;
mod editor;
mod ground;
mod host;
mod models;
mod past;
mod session;

use gadgetry_acp::serve;
use tokio::io::{stdin, stdout};

use crate::cli::AcpArgs;
use crate::error::Error;
use crate::interrupts::Interrupts;
use crate::invocation::Invocation;
use crate::printer::{Printer, is_at_terminal};

use ground::Ground;
use host::{AcpHost, may_read_images};

/// Runs the command until the client leaves, or until an interrupt.
pub(super) async fn run(
    args: AcpArgs,
    invocation: Invocation,
    printer: &Printer,
) -> Result<(), Error> {
    if args.options.model.quiet {
        printer.be_quiet();
    }
    if is_at_terminal() {
        printer.progress(
            "an editor starts this, and talks to it in JSON lines; `gadgetry chat` is for terminals\n",
        );
    }
    let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
    let reads_images = may_read_images(&args.options.model);
    let ground = Ground::new(args.options.model.data, invocation, printer.clone())?;
    let host = AcpHost::new(ground, reads_images)?;
    let sessions = host.sessions();
    let served = serve(host, stdin(), stdout(), interrupts.next()).await;
    sessions.flush().await;
    served.map_err(|error| Error::Failed(error.to_string()))
}
