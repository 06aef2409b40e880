//! The client as an editor: files as it has them, with changes that are not saved, and its terminals.

use std::path::PathBuf;

use gadgetry::GadgetError;
use gadgetry_acp::{self as acp, Client};
use gadgetry_builtins::{
    CommandOutput, Editor, EditorAnswer, Terminal, TerminalCommand, TerminalEnd, TerminalRun,
};

use crate::live_output::LiveOutput;

/// The editor that a client is.
#[derive(Debug)]
pub(super) struct ClientEditor(pub(super) Client);

impl Editor for ClientEditor {
    fn read(&self, path: PathBuf) -> EditorAnswer<'_, Option<String>> {
        Box::pin(async move { self.0.read_text_file(&path).await })
    }

    fn write(&self, path: PathBuf, text: String) -> EditorAnswer<'_, bool> {
        Box::pin(async move { self.0.write_text_file(&path, &text).await })
    }

    fn terminal(&self) -> Option<&dyn Terminal> {
        self.0.has_terminals().then_some(self)
    }
}

impl Terminal for ClientEditor {
    fn run(&self, command: TerminalCommand) -> EditorAnswer<'_, Result<TerminalRun, GadgetError>> {
        let wanted = acp::TerminalCommand {
            program: command.program.display().to_string(),
            arguments: command.arguments,
            folder: command.folder,
            timeout: command.timeout,
            output: command.output,
        };
        Box::pin(async move {
            let run = self.0.run_in_terminal(&command.call, wanted).await;
            let run = run.map_err(GadgetError::new)?;
            let end = match run.end {
                acp::TerminalEnd::Exited(code) => TerminalEnd::Exited(code),
                acp::TerminalEnd::Killed(signal) => TerminalEnd::Killed(signal),
                acp::TerminalEnd::TimedOut => TerminalEnd::TimedOut,
            };
            let output = run.output;
            Ok(TerminalRun { output, end })
        })
    }
}

/// Shows the output of the commands of a run while they run.
pub(super) fn shown_by(client: Client) -> CommandOutput {
    let ends = LiveOutput::default();
    CommandOutput::new(move |call, bytes| {
        ends.write(call, bytes);
        for (call, end) in ends.take_new() {
            client.show_output(&call, end);
        }
    })
}
