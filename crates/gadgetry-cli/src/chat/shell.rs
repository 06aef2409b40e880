//! `!command`: a command line of the user, whose output the model reads with the next message.

use std::future::pending;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use gadgetry::CancellationToken;
use gadgetry::command::{Ran, RunLimits, remove_secrets, run_watched, supervisor};
use tokio::task::JoinHandle;

use crate::live_output::{LiveOutput, SHELL};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// Longest time of a command.
const LONGEST: Duration = Duration::from_hours(1);
/// Bytes of each stream that are kept.
const OUTPUT: usize = 32 << 10;

/// A command that runs. Dropping it ends its processes.
pub(super) struct Shell {
    task: JoinHandle<Ended>,
    cancellation: CancellationToken,
}

/// A command that has ended.
pub(super) struct Ended {
    pub(super) line: String,
    /// How it ended, such as `exit 0`.
    pub(super) how: String,
    pub(super) is_ok: bool,
    pub(super) output: String,
}

impl Shell {
    /// Starts a command line in a folder, without the variables that hold keys.
    pub(super) fn start(line: String, folder: &Path, output: &LiveOutput) -> Self {
        let cancellation = CancellationToken::new();
        let token = cancellation.clone();
        let (folder, output) = (folder.to_owned(), output.clone());
        output.forget(SHELL);
        let task = tokio::spawn(async move {
            let limits = RunLimits {
                timeout: LONGEST,
                grace: GRACE,
                output: OUTPUT,
            };
            let ran = match supervisor::command("sh", GRACE) {
                Ok(mut command) => {
                    command.args(["-c", &line]).current_dir(folder);
                    remove_secrets(&mut command, &[], &[]);
                    let watch = |bytes: &[u8]| output.write(SHELL, bytes);
                    run_watched(command, Stdio::null(), limits, &token, &watch).await
                }
                Err(error) => Err(error),
            };
            match ran {
                Ok(ran) => Ended::of(line, &ran),
                Err(error) => Ended {
                    line,
                    how: format!("not started: {error}"),
                    is_ok: false,
                    output: String::new(),
                },
            }
        });
        Self { task, cancellation }
    }

    /// Ends the command soon.
    pub(super) fn cancel(&self) {
        self.cancellation.cancel();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Ended {
    fn of(line: String, ran: &Ran) -> Self {
        let (out, err) = (ran.stdout.trim_end(), ran.stderr.trim_end());
        let between = if out.is_empty() || err.is_empty() {
            ""
        } else {
            "\n"
        };
        let how = match ran.status {
            None => "interrupted".to_owned(),
            Some(status) => match status.code() {
                Some(code) => format!("exit {code}"),
                None => format!("killed ({status})"),
            },
        };
        Self {
            line,
            how,
            is_ok: ran.status.is_some_and(|it| it.success()),
            output: format!("{out}{between}{err}"),
        }
    }

    /// What the model reads.
    pub(super) fn note(&self) -> String {
        let Self {
            line, how, output, ..
        } = self;
        let output = if output.is_empty() {
            "(no output)"
        } else {
            output
        };
        format!("[The user has run a command, {how}:]\n$ {line}\n{output}")
    }
}

/// Waits for the end of the command, if there is one.
pub(super) async fn ended(shell: &mut Option<Shell>) -> Option<Ended> {
    match shell {
        Some(running) => {
            let ended = (&mut running.task).await.ok();
            *shell = None;
            ended
        }
        None => pending().await,
    }
}
