//! Writes every request and every reply to a separate file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::event::{Ancestor, Event, EventKind};
use gadgetry_proto::message::{Purpose, Request};
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;

use crate::observer::Observer;
use crate::presets::path_words;

/// Writes model calls to a folder: the request to `0001.request`, and the reply to `0001.response`.
///
/// A request is written as the text of its messages; images and audio are named, not written. A reply of the run itself is
/// written as the model sent it; of a subagent's, the visible text and the calls. A line `---` follows, and the reason why the
/// reply ended. Requests of subagents are not available here; add a separate logger to their runs.
///
/// The files contain neither headers nor API keys, which are not part of a request at this level. They do contain the whole
/// conversation.
///
/// Numbering continues after the files that are already in the folder, and no file is overwritten. Each file is written when a
/// request is sent or a reply has ended, and the run waits for it. The first error is kept for [`FileLogging::finish`]; nothing
/// is written after it, and the run continues.
///
/// ```no_run
/// let observer = gadgetry::presets::FileLogging::new("model-calls");
/// # drop(observer);
/// ```
#[derive(Debug)]
pub struct FileLogging {
    folder: PathBuf,
    /// Number of the next call.
    next: u32,
    /// The calls in progress: one of the run itself, and one of each subagent.
    calls: BTreeMap<Vec<Ancestor>, Call>,
    error: Option<FileLoggingError>,
}

/// A model call in progress.
#[derive(Debug)]
struct Call {
    number: u32,
    requested: bool,
    reply: String,
}

/// Error for a model call that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {error}", path = path.display())]
pub struct FileLoggingError {
    /// The folder, or the file.
    pub path: PathBuf,
    /// Error of the file system.
    pub error: io::Error,
}

impl Classified for FileLoggingError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}

impl FileLogging {
    /// Writes to `folder`, which is created if it does not exist. If that fails, [`FileLogging::finish`] returns the error.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let (next, error) = match prepare(&folder) {
            Ok(last) => (last.saturating_add(1), None),
            Err(error) => {
                let path = folder.clone();
                (1, Some(FileLoggingError { path, error }))
            }
        };
        Self {
            folder,
            next,
            calls: BTreeMap::new(),
            error,
        }
    }

    /// Writes the received part of replies that have not ended. Fails if anything could not be written.
    pub fn finish(&mut self) -> Result<(), FileLoggingError> {
        while let Some((path, _)) = self.calls.first_key_value() {
            let path = path.clone();
            self.respond(&path, "the reply did not end");
        }
        self.error.take().map_or(Ok(()), Err)
    }

    /// Starts a new call. A call still in progress in the same run was abandoned.
    fn begin(&mut self, path: &[Ancestor]) {
        self.respond(path, "no further events of this reply");
        let call = Call {
            number: self.next,
            requested: false,
            reply: String::new(),
        };
        self.next = self.next.saturating_add(1);
        self.calls.insert(path.to_vec(), call);
    }

    fn append(&mut self, path: &[Ancestor], text: &str) {
        if self.error.is_none()
            && let Some(call) = self.calls.get_mut(path)
        {
            call.reply.push_str(text);
        }
    }

    /// Writes the reply of the call in progress, if there is one.
    fn respond(&mut self, path: &[Ancestor], ending: &str) {
        let Some(Call {
            number, mut reply, ..
        }) = self.calls.remove(path)
        else {
            return;
        };
        if !reply.is_empty() && !reply.ends_with('\n') {
            reply.push('\n');
        }
        reply.push_str("---\n");
        if !path.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = writeln!(reply, "subagent {}", path_words(path));
        }
        reply.extend([ending, "\n"]);
        self.write(number, "response", &reply);
    }

    fn write(&mut self, number: u32, kind: &str, text: &str) {
        if self.error.is_some() {
            return;
        }
        let path = self.folder.join(format!("{number:04}.{kind}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        self.error = written.err().map(|error| FileLoggingError { path, error });
    }
}

/// Creates the folder. Returns the highest number of its files.
fn prepare(folder: &Path) -> io::Result<u32> {
    fs::create_dir_all(folder)?;
    let mut last = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let stem = name.to_str().and_then(|name| {
            let stem = name.strip_suffix(".request");
            stem.or_else(|| name.strip_suffix(".response"))
        });
        let number = stem.and_then(|stem| stem.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

impl Observer for FileLogging {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most events belong to no file"
    )]
    fn event(&mut self, event: &Event) {
        let path = event.path.as_slice();
        match &event.kind {
            EventKind::ModelCallStart { .. } => self.begin(path),
            EventKind::ModelRetry { attempt, error, .. } => {
                self.respond(path, &format!("failed, retry {attempt} follows: {error}"));
            }
            EventKind::ModelCallEnd {
                stop_reason,
                usage,
                cost,
                error,
                ..
            } => {
                let (input, output) = (usage.input_tokens, usage.output_tokens);
                let cost = cost.map_or("price unknown".to_owned(), |cost| format!("${cost:.6}"));
                let mut ending =
                    format!("{stop_reason:?}, {input} tokens in, {output} out, {cost}");
                if let Some(error) = error {
                    ending.extend(["\n", &error.message]);
                }
                self.respond(path, &ending);
            }
            // The run's own replies come as they were sent, as inputs.
            _ if path.is_empty() => {}
            EventKind::Text { text } => self.append(path, text),
            EventKind::ReplyWithdrawn { .. } => {
                self.append(path, "\n[the reply so far was withdrawn]\n");
            }
            EventKind::GadgetCall { written: call, .. } => {
                let (name, id, body) =
                    (&call.gadget_name, &call.invocation_id, &call.parameters_raw);
                self.append(path, &format!("\n[{name} {id}]\n{body}\n"));
            }
            EventKind::RunFinished { .. } => self.respond(path, "the run has finished"),
            _ => {}
        }
    }

    fn input(&mut self, _: Time, input: &Input) {
        if let Input::Delta(Delta::Text { delta, .. }) = input {
            self.append(&[], delta);
        }
    }

    fn request(&mut self, request: &Request) {
        // A retry may be announced by an event of its own only.
        if self.calls.get(&[][..]).is_none_or(|call| call.requested) {
            self.begin(&[]);
        }
        if let Some(call) = self.calls.get_mut(&[][..]) {
            call.requested = true;
            let number = call.number;
            self.write(number, "request", &request_text(request));
        }
    }
}

/// Returns the messages, each under a line with its role.
fn request_text(request: &Request) -> String {
    let what_for = match request.purpose {
        Purpose::Reply => "reply",
        Purpose::Summary => "summary",
    };
    let mut text = format!("{what_for} {}\n", request.iteration);
    for message in request.all_messages() {
        text.extend(["\n--- ", message.role.name(), "\n", &prompt_text(message)]);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}
