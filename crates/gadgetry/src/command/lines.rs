//! Results as JSON Lines on stdout.

use std::io;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::media::{Media, MediaData};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::context::ExecutionContext;
use crate::gadget::{GadgetError, IntoOutcome as _};

const CHUNK: usize = 64 * 1024;

/// One line as written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    text: Option<String>,
    cost: Option<f64>,
    #[serde(default)]
    completes_run: bool,
    asks_human: Option<String>,
    #[serde(default)]
    media: Vec<Media>,
}

/// Content of the lines so far. Costs go to the context as their lines arrive, so they count however the call ends.
pub(super) struct Lines<'c> {
    context: &'c ExecutionContext,
    /// The unfinished line.
    rest: Vec<u8>,
    /// Lines that have ended.
    count: usize,
    text: Option<String>,
    completes_run: bool,
    asks_human: Option<String>,
    media: Vec<Media>,
    /// Mistake in the first line that does not have this form.
    error: Option<String>,
}

impl<'c> Lines<'c> {
    pub(super) fn new(context: &'c ExecutionContext) -> Self {
        Self {
            context,
            rest: Vec::new(),
            count: 0,
            text: None,
            completes_run: false,
            asks_human: None,
            media: Vec::new(),
            error: None,
        }
    }

    /// Reads all of `pipe`; returns whether that ended within `cap` bytes. If it is dropped, the bytes read so far stay.
    pub(super) async fn read(
        &mut self,
        mut pipe: impl AsyncRead + Unpin,
        cap: usize,
    ) -> io::Result<bool> {
        let mut read = 0;
        loop {
            self.rest.reserve(CHUNK);
            let new = self.rest.len();
            if pipe.read_buf(&mut self.rest).await? == 0 {
                return Ok(true);
            }
            read += self.rest.len() - new;
            if read > cap {
                return Ok(false);
            }
            self.take_lines(new);
        }
    }

    /// Takes the lines that have ended; `new` is where the last piece begins.
    fn take_lines(&mut self, new: usize) {
        let Some(last) = self.rest[new..].iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.rest.split_off(new + last + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            self.take(line);
        }
    }

    fn take(&mut self, line: &[u8]) {
        self.count += 1;
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        if let Err(problem) = self.line(line) {
            let count = self.count;
            self.error
                .get_or_insert_with(|| format!("line {count} of stdout: {problem}"));
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let line: Line = serde_json::from_slice(line).map_err(|error| {
            format!("{error}; with `result = \"jsonl\"` each line is a JSON object like {{\"text\":\"…\"}}")
        })?;
        if let Some(cost) = line.cost {
            let reported = self.context.report_cost(cost);
            reported.map_err(|error| error.to_string())?;
        }
        for medium in &line.media {
            if let MediaData::Base64(bytes) = &medium.data
                && !is_base64(bytes)
            {
                return Err("the data of a medium is not Base64 with padding".to_owned());
            }
        }
        if line.text.is_some() {
            self.text = line.text;
        }
        if line.asks_human.is_some() {
            self.asks_human = line.asks_human;
        }
        self.completes_run |= line.completes_run;
        self.media.extend(line.media);
        Ok(())
    }

    /// Handles the end of the program: the last line needs no newline.
    fn end(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.take(&rest);
        }
    }

    /// Returns the message of a program that failed.
    pub(super) fn failure(&mut self) -> Option<String> {
        self.end();
        self.text.take()
    }

    /// The outcome of a program that succeeded. The error describes an invalid line.
    pub(super) fn outcome(mut self) -> Result<Outcome, String> {
        self.end();
        if let Some(error) = self.error {
            return Err(error);
        }
        let outcome = match (self.text, self.asks_human) {
            (None, Some(question)) => {
                Err::<String, _>(GadgetError::human_input_required(question)).into_outcome()
            }
            // The text applies where no user is available.
            (text, asks_human) => Outcome {
                asks_human,
                ..Outcome::ok(text.unwrap_or_default())
            },
        };
        Ok(Outcome {
            completes_run: self.completes_run,
            media: self.media,
            ..outcome
        })
    }
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
