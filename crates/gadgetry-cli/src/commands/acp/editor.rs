//! The client as an editor: files as it has them, with changes that are not saved, and its terminals.

use std::path::PathBuf;

use gadgetry::GadgetError;
use gadgetry::terminal::{TerminalCommand, TerminalRun};
use gadgetry_acp::Client;
use gadgetry_builtins::{CommandOutput, Editor, EditorAnswer, Terminal};

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
    fn run(
        &self,
        call: String,
        command: TerminalCommand,
    ) -> EditorAnswer<'_, Result<TerminalRun, GadgetError>> {
        Box::pin(async move {
            let run = self.0.run_in_terminal(&call, command).await;
            run.map_err(GadgetError::new)
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
