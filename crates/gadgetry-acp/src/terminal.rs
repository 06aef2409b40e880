//! Commands in terminals of the client.

use std::path::PathBuf;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, ReleaseTerminalRequest,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::peer::Peer;

/// Maximum time for an answer that does not wait for a command.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command for a terminal of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalCommand {
    /// Its program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it runs in, an absolute path.
    pub folder: PathBuf,
    /// Maximum time. After it, the client ends the command.
    pub timeout: Duration,
    /// Maximum bytes of output that the client keeps, from its end.
    pub output: usize,
}

/// A command that has ended in a terminal of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalRun {
    /// The end of its output, as the terminal has it: stdout and stderr, perhaps with escape sequences.
    pub output: String,
    /// How it has ended.
    pub end: TerminalEnd,
}

/// How a command has ended in a terminal of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEnd {
    /// With this exit code.
    Exited(u32),
    /// By this signal, if the client names it.
    Killed(Option<String>),
    /// It took too long.
    TimedOut,
}

/// The client has not run a command as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// The command has not run.
    #[error("the client has not started the command in a terminal")]
    NotStarted,
    /// The command may have run, and may still be running.
    #[error("the client does not say how the command ended in its terminal; it may have run")]
    Lost,
}

/// Runs a command. `show` is called with its terminal. If the future is dropped, the client ends the command.
pub(crate) async fn run(
    peer: Peer,
    session: String,
    command: TerminalCommand,
    show: impl FnOnce(TerminalId) + Send + 'static,
) -> Result<TerminalRun, TerminalError> {
    let longest = command.timeout;
    let (sender, ended) = oneshot::channel();
    // A task of its own: the command must end although nothing waits for it any more.
    tokio::spawn(started(peer, session, command, show, sender));
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
    show: impl FnOnce(TerminalId) + Send,
    mut sender: oneshot::Sender<Result<TerminalRun, TerminalError>>,
) {
    let longest = command.timeout;
    let created = created(&peer, &session, command).await;
    let Some(terminal) = created else {
        // Nothing may wait for it any more.
        let _ = sender.send(Err(TerminalError::NotStarted));
        return;
    };
    let terminal = Terminal {
        peer,
        session,
        id: terminal,
    };
    show(terminal.id.clone());
    let ended = tokio::select! {
        biased;
        () = sender.closed() => None,
        ended = terminal.ended() => Some(ended.map(end)),
        () = sleep(longest) => Some(Some(TerminalEnd::TimedOut)),
    };
    if !matches!(
        ended,
        Some(Some(TerminalEnd::Exited(_) | TerminalEnd::Killed(_)))
    ) {
        terminal.kill().await;
    }
    let output = terminal.output().await;
    terminal.release().await;
    let run = ended.flatten().zip(output);
    let run = run.map(|(end, output)| TerminalRun { output, end });
    let _ = sender.send(run.ok_or(TerminalError::Lost));
}

async fn created(peer: &Peer, session: &str, command: TerminalCommand) -> Option<TerminalId> {
    let request = CreateTerminalRequest::new(session.to_owned(), command.program)
        .args(command.arguments)
        .cwd(command.folder)
        .output_byte_limit(command.output as u64);
    // Without a limit: what it starts late must be ended.
    let created = peer.request("terminal/create", request).await?;
    let created: CreateTerminalResponse = serde_json::from_value(created).ok()?;
    Some(created.terminal_id)
}

fn end(status: TerminalExitStatus) -> TerminalEnd {
    match (status.exit_code, status.signal) {
        (Some(code), None) => TerminalEnd::Exited(code),
        (_, signal) => TerminalEnd::Killed(signal),
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
        let answer = self.peer.request("terminal/wait_for_exit", request).await?;
        let ended: WaitForTerminalExitResponse = serde_json::from_value(answer).ok()?;
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
    serde_json::from_value(answer.ok()??).ok()
}
