//! Commands in terminals of the client.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, ReleaseTerminalRequest,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use gadgetry::terminal::{TerminalCommand, TerminalEnd, TerminalRun};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::error::TerminalError;
use crate::live::{Live, Seen};
use crate::peer::{Peer, read};

/// Maximum time for an answer that does not wait for a command.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a command, and shows its terminal in a call. If the future is dropped, the client ends the command.
pub(crate) async fn run(
    peer: Peer,
    session: String,
    command: TerminalCommand,
    shown: Shown,
) -> Result<TerminalRun, TerminalError> {
    let longest = command.timeout;
    let (sender, ended) = oneshot::channel();
    // A task of its own: the command must end although nothing waits for it any more.
    tokio::spawn(started(peer, session, command, shown, sender));
    // Up to five answers, and the command.
    let ended = timeout(longest + 5 * PATIENCE, ended).await;
    ended.map_or(Err(TerminalError::Lost), |it| {
        it.unwrap_or(Err(TerminalError::Lost))
    })
}

async fn started(
    peer: Peer,
    session: String,
    command: TerminalCommand,
    shown: Shown,
    mut sender: oneshot::Sender<Result<TerminalRun, TerminalError>>,
) {
    let longest = command.timeout;
    let id = match created(&peer, &session, command).await {
        Ok(id) => id,
        Err(error) => {
            // Nothing may wait for it any more.
            let _ = sender.send(Err(error));
            return;
        }
    };
    let terminal = Terminal { peer, session, id };
    // The call of one that was late is over.
    if !sender.is_closed() {
        shown.show(&terminal.id);
    }
    let mut has_timed_out = false;
    let mut end = tokio::select! {
        biased;
        () = sender.closed() => None,
        status = terminal.ended() => status.and_then(end_of),
        () = sleep(longest) => {
            has_timed_out = true;
            None
        }
    };
    if end.is_none() {
        terminal.kill().await;
        let status = timeout(PATIENCE, terminal.ended()).await;
        // Without it, the command may be running.
        let has_ended = status.is_ok_and(|it| it.is_some());
        end = (has_timed_out && has_ended).then_some(TerminalEnd::TimedOut);
    }
    let output = terminal.output().await;
    shown.withdraw();
    terminal.release().await;
    let run = end.zip(output);
    let run = run.map(|(end, output)| TerminalRun { output, end });
    let _ = sender.send(run.ok_or(TerminalError::Lost));
}

/// Creates a terminal, without a limit of time: what starts late must be ended.
async fn created(
    peer: &Peer,
    session: &str,
    command: TerminalCommand,
) -> Result<TerminalId, TerminalError> {
    let program = command.program.display().to_string();
    let request = CreateTerminalRequest::new(session.to_owned(), program)
        .args(command.arguments)
        .cwd(command.folder)
        .output_byte_limit(command.output as u64);
    let created = peer.request("terminal/create", request).await;
    let created = created.ok_or(TerminalError::NotStarted)?;
    let created: CreateTerminalResponse = read(Some(created)).ok_or(TerminalError::Lost)?;
    Ok(created.terminal_id)
}

fn end_of(status: TerminalExitStatus) -> Option<TerminalEnd> {
    match (status.exit_code, status.signal) {
        (Some(code), None) => Some(TerminalEnd::Exited(code)),
        (_, Some(signal)) => Some(TerminalEnd::Killed(signal)),
        (None, None) => None,
    }
}

/// The call in which a terminal is shown.
pub(crate) struct Shown {
    pub(crate) live: Arc<Live>,
    pub(crate) key: String,
}

impl Shown {
    fn show(&self, terminal: &TerminalId) {
        self.live.show(&self.key, Seen::Terminal(terminal.clone()));
    }

    fn withdraw(&self) {
        self.live.withdraw(&self.key);
    }
}

/// A terminal that the client has made.
struct Terminal {
    peer: Peer,
    session: String,
    id: TerminalId,
}

impl Terminal {
    /// Waits until the command has ended.
    async fn ended(&self) -> Option<TerminalExitStatus> {
        let request = WaitForTerminalExitRequest::new(self.session.clone(), self.id.clone());
        let answer = self.peer.request("terminal/wait_for_exit", request);
        let ended: WaitForTerminalExitResponse = read(answer.await)?;
        Some(ended.exit_status)
    }

    async fn output(&self) -> Option<String> {
        let request = TerminalOutputRequest::new(self.session.clone(), self.id.clone());
        let output = answer::<TerminalOutputResponse>(&self.peer, "terminal/output", request);
        output.await.map(|it| it.output)
    }

    async fn kill(&self) {
        let request = KillTerminalRequest::new(self.session.clone(), self.id.clone());
        // A client that refuses is noted in the log by the connection.
        let _ = timeout(PATIENCE, self.peer.request("terminal/kill", request)).await;
    }

    async fn release(&self) {
        let request = ReleaseTerminalRequest::new(self.session.clone(), self.id.clone());
        let _ = timeout(PATIENCE, self.peer.request("terminal/release", request)).await;
    }
}

/// Sends a request, and waits for its answer, but not for long.
async fn answer<T: DeserializeOwned>(
    peer: &Peer,
    method: &str,
    request: impl Serialize,
) -> Option<T> {
    let answer = timeout(PATIENCE, peer.request(method, request)).await;
    read(answer.ok()?)
}
