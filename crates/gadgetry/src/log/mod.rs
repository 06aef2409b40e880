//! The log of a run: the parts that it was made from, and every input with its time. This is enough to replay it without model or
//! gadgets, with the same events.
//!
//! A log is JSON Lines: first the [`LogHeader`], then one [`Entry`] per line. A last line that a crash has cut off is ignored.
//!
//! ```
//! use gadgetry::log::{LogWriter, replay};
//! use gadgetry::{Agent, Event, ScriptedModel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
//! let mut run = Agent::builder().model(model).ask("What is 2+2?")?;
//! let mut file = Vec::new();
//! let mut log = LogWriter::new(&mut file, &run.header().await?)?;
//! let finished = run.observe(&mut log).await?;
//! log.finish()?;
//!
//! let summary = replay(&file[..], &mut |event: &Event| println!("{event:?}"))?;
//! assert_eq!(summary, Some(finished.summary));
//! # Ok(())
//! # }
//! ```

mod error;
mod header;

use std::io::{self, BufRead, Write};

use gadgetry_proto::event::Event;
use gadgetry_proto::run::{Input, Output, Run, Summary};
use gadgetry_proto::time::Time;
use serde::{Deserialize, Serialize};

use crate::observer::Observer;
use gadgetry_files as files;

pub use error::LogError;
pub use header::LogHeader;

use error::VERSION;

/// One input of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Time since the beginning of the run, in milliseconds.
    #[serde(rename = "timeMs")]
    pub time: Time,
    /// Input of the run.
    pub input: Input,
}

/// Writes a log during a run, line by line, so that a crash loses only the line that it cuts off. It is an [`Observer`], for
/// [`drive`](crate::drive) and [`AgentRun::observe`](crate::AgentRun::observe).
#[derive(Debug)]
pub struct LogWriter<W> {
    out: W,
    /// The first failure; nothing is written after it.
    error: Option<std::io::Error>,
}

impl<W: Write> LogWriter<W> {
    /// Begins a log.
    ///
    /// # Errors
    ///
    /// [`LogError::Code`] if code decides about the run, and if `out` cannot be written.
    pub fn new(out: W, header: &LogHeader) -> Result<Self, LogError> {
        header.without_code()?;
        let mut writer = Self { out, error: None };
        writer.line(header);
        writer.finish_line()?;
        Ok(writer)
    }

    /// Writes one input.
    pub fn input(&mut self, time: Time, input: &Input) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Line<'a> {
            #[serde(rename = "timeMs")]
            time: Time,
            input: &'a Input,
        }
        self.line(&Line { time, input });
    }

    /// Checks that everything was written. Fails with the first error of `out`.
    pub fn finish(mut self) -> Result<(), LogError> {
        self.finish_line()
    }

    fn line(&mut self, line: &impl Serialize) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_vec(line)
            .map_err(std::io::Error::from)
            .and_then(|mut text| {
                text.push(b'\n');
                self.out.write_all(&text)?;
                self.out.flush()
            });
        self.error = written.err();
    }

    fn finish_line(&mut self) -> Result<(), LogError> {
        match self.error.take() {
            Some(error) => Err(LogError::Io(error)),
            None => Ok(()),
        }
    }
}

impl<W: Write + Send> Observer for LogWriter<W> {
    fn event(&mut self, _: &Event) {}

    fn input(&mut self, time: Time, input: &Input) {
        LogWriter::input(self, time, input);
    }
}

/// Returns whether a file that begins with these bytes is a log, of any version; a few dozen of them are enough.
///
/// ```
/// use gadgetry::log::is_log;
/// assert!(is_log(br#"{"version":3,"config":{"system":"Be"#));
/// assert!(!is_log(br#"{"version":1,"lockfileVersion":3}"#));
/// ```
pub fn is_log(beginning: &[u8]) -> bool {
    let version = beginning.strip_prefix(b"{\"version\":").unwrap_or_default();
    let digits = version.iter().take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    digits > 0 && version[digits..].starts_with(b",\"config\":{")
}

/// Maximum bytes of a line of a log, which contains one input.
const LINE: u64 = 256 << 20;

/// Reads a log to continue its run. The run is as it was after the last input of the log.
///
/// [`drive`](crate::drive) continues it by itself, also with work in flight ([`Run::pending`]): gadgets that were running
/// have failed with an unknown effect, and a reply of which nothing was used is requested again.
///
/// # Errors
///
/// If the log cannot be read or is not one, with the number of the line.
///
/// ```
/// use gadgetry::log::{LogWriter, load};
/// use gadgetry::{Agent, Event, ScriptedModel, Services, Toolbox, drive};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model: Arc<ScriptedModel> = Arc::new(r#"{"text": "4"}"#.parse()?);
/// let mut run = Agent::builder().model(Arc::clone(&model)).ask("What is 2+2?")?;
/// // The program ends right after the first line.
/// let mut file = Vec::new();
/// LogWriter::new(&mut file, &run.header().await?)?.finish()?;
///
/// let run = load(&file[..])?;
/// assert!(run.pending().reply);
/// let services = Services::new(model, Toolbox::default());
/// let (_commands, receiver) = tokio::sync::mpsc::channel(1);
/// let ended = drive(run, &services, receiver, &mut |_: &Event| {}).await;
/// assert_eq!(ended.summary.answer, "4");
/// # Ok(())
/// # }
/// ```
pub fn load(log: impl BufRead) -> Result<Run, LogError> {
    play(log, &mut |_: &Event| {}).map(|(run, _)| run)
}

/// Replays a log. `observer` sees the same events as the first time. Returns `None` if the log ends before the run.
///
/// Fails if the log cannot be read or is not one, with the number of the line.
pub fn replay(log: impl BufRead, observer: &mut dyn Observer) -> Result<Option<Summary>, LogError> {
    play(log, observer).map(|(_, summary)| summary)
}

/// Returns the run after the last input of a log, and its summary if it has ended.
fn play(
    log: impl BufRead,
    observer: &mut dyn Observer,
) -> Result<(Run, Option<Summary>), LogError> {
    let mut lines = lines(log).enumerate().peekable();
    let Some((_, first)) = lines.next() else {
        return Err(LogError::Empty);
    };
    let first = first?;
    let header: LogHeader =
        serde_json::from_slice(&first).map_err(|error| version_error(&first, &error))?;
    if header.version != VERSION {
        return Err(LogError::Version(header.version));
    }
    let mut run = header.run()?;
    let mut summary = drain(&mut run, observer);
    while let Some((index, line)) = lines.next() {
        let line = line?;
        let entry: Entry = match serde_json::from_slice(&line) {
            Ok(entry) => entry,
            Err(error) if error.is_eof() && lines.peek().is_none() => break,
            Err(error) => return Err(line_error(index + 1, &error)),
        };
        observer.input(entry.time, &entry.input);
        run.handle(entry.time, entry.input)
            .map_err(|error| LogError::Misuse {
                line: index + 1,
                error,
            })?;
        summary = drain(&mut run, observer);
    }
    Ok((run, summary))
}

/// The lines of a log, each within a cap.
fn lines(mut log: impl BufRead) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match files::line(&mut log, &mut line, LINE) {
            Ok(0) => None,
            Ok(_) => {
                line.pop_if(|last| *last == b'\n');
                Some(Ok(line))
            }
            Err(error) => Some(Err(error)),
        }
    })
}

fn version_error(line: &[u8], error: &serde_json::Error) -> LogError {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    match serde_json::from_slice(line) {
        Ok(Version { version }) if version != VERSION => LogError::Version(version),
        Ok(_) | Err(_) => line_error(1, error),
    }
}

/// Makes the error of a line: `serde_json` always reports line 1.
fn line_error(line: usize, error: &serde_json::Error) -> LogError {
    let problem = error.to_string().replace(" at line 1 column", " at column");
    LogError::Line { line, problem }
}

fn drain(run: &mut Run, observer: &mut dyn Observer) -> Option<Summary> {
    loop {
        match run.poll() {
            Output::Event(event) => observer.event(&event),
            Output::Wait(_) => return None,
            Output::Finished(summary) => return Some(summary),
            Output::Send(request) => observer.request(&request),
            Output::CloseModel | Output::Start(_) | Output::Cancel(_) | Output::Ask(_) => {}
        }
    }
}
