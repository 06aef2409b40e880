//! A model that reads its replies from a script: for tests, demonstrations and replays without a key.
//!
//! A script is a `.jsonl` file with one reply per line; blank lines are ignored.
//!
//! ```json
//! {"text": "A whole reply at once."}
//! {"chunks": ["In ", {"delayMs": 20}, "pieces."], "usage": {"inputTokens": 9, "outputTokens": 3}}
//! {"text": "Cut off", "finish": "length"}
//! {"text": "Done.", "expect": {"contains": ["the result of the first gadget"]}}
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `text` or `chunks` | the reply; an element of `chunks` is a text or `{"delayMs": N}` |
//! | `finish` | `stop` (default), `length` (the token limit), `error` (a model error), `disconnect` (the stream ends without an end of the message) |
//! | `usage` | token counts: `inputTokens`, `outputTokens`, `totalTokens`, `reasoningTokens`, `cachedInputTokens`, `cacheCreationTokens` |
//! | `expect` | `{"contains": ["…"]}`: texts that the request must contain; otherwise the reply is a model error with the code `expectation` |

mod line;
mod reply;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::message::Request;

use gadgetry_files as files;
use gadgetry_providers::model::Model;
use reply::{ScriptedReply, Step};

/// Maximum bytes of a script.
const LIMIT: u64 = 64 << 20;

/// A model that returns the replies of a script, one per call, in order.
///
/// A call takes its reply when [`Model::stream`] is called, whether or not the stream is read to its end. After the last reply
/// every further call gets an empty reply that ends cleanly. A durable run that another process began continues after the replies
/// that it has read there ([`Request::resumed_after`]); its subagents need their own models for that. Delays use tokio's clock,
/// so they pass at once if it is paused.
#[derive(Debug)]
pub struct ScriptedModel {
    name: String,
    replies: Vec<ScriptedReply>,
    next: AtomicUsize,
}

impl ScriptedModel {
    /// Reads a script. The model's name is `script:` and the path.
    ///
    /// Fails if the file cannot be read, and at the first line that is not a reply.
    pub fn from_path(path: &Path) -> Result<Self, ScriptError> {
        let text = files::text(path, LIMIT).map_err(|error| ScriptError::Read {
            path: path.to_owned(),
            error,
        })?;
        let name = path.display().to_string();
        Ok(Self {
            replies: parse(&name, &text)?,
            name: format!("script:{name}"),
            next: AtomicUsize::new(0),
        })
    }

    /// Begins with reply `number`, counted from 0, for a run that has read the ones before it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use gadgetry::{Agent, ScriptedModel};
    /// let model: ScriptedModel = "{\"text\": \"one\"}\n{\"text\": \"two\"}".parse()?;
    /// let agent = Agent::builder().model(model.starting_at(1)).build()?;
    /// assert_eq!(agent.ask("Next?").text().await?, "two");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn starting_at(self, number: usize) -> Self {
        Self {
            next: AtomicUsize::new(number),
            ..self
        }
    }
}

impl FromStr for ScriptedModel {
    type Err = ScriptError;

    /// Parses the text of a script. The model's name is `script`.
    fn from_str(script: &str) -> Result<Self, ScriptError> {
        Ok(Self {
            replies: parse("script", script)?,
            name: "script".to_owned(),
            next: AtomicUsize::new(0),
        })
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let resumed = usize::try_from(request.resumed_after).unwrap_or(usize::MAX);
        self.next.fetch_max(resumed, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let steps = match self.replies.get(number) {
            Some(reply) => reply.steps(&request),
            None => vec![Step::Send(Delta::MessageEnd {
                stop_reason: StopReason::Stop,
                usage: None,
            })],
        };
        stream::iter(steps)
            .filter_map(|step| async {
                match step {
                    Step::Send(delta) => Some(delta),
                    Step::Wait(delay) => {
                        tokio::time::sleep(delay).await;
                        None
                    }
                }
            })
            .boxed()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Error for a script that cannot be used. The mistake is in the file or in its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {path}: {error}", path = path.display())]
    Read {
        /// Path, as the caller gave it.
        path: PathBuf,
        /// Error of the file system.
        error: std::io::Error,
    },
    /// A line is not a reply.
    #[error("{script}:{line}:{column}: {message}")]
    Line {
        /// The path, or `script`.
        script: String,
        /// One-based line.
        line: usize,
        /// One-based column, in bytes.
        column: usize,
        /// Mistake, with the expected form.
        message: String,
    },
}

impl Classified for ScriptError {
    fn fault(&self) -> Fault {
        if matches!(self, Self::Read { .. }) {
            Fault::Environment
        } else {
            Fault::Program
        }
    }
}

fn parse(script: &str, text: &str) -> Result<Vec<ScriptedReply>, ScriptError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().zip(1..);
    lines
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| {
            line::parse(line, number).map_err(|mistake| ScriptError::Line {
                script: script.to_owned(),
                line: number,
                column: mistake.column,
                message: mistake.message,
            })
        })
        .collect()
}
