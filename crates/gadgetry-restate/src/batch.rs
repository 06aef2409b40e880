//! What one step of a run keeps in Restate: lines of its journal, and what the run does next.
//!
//! A batch is JSON Lines, so that it can be read in Restate's own pages: first a [`Head`], then one [`Line`] each.

use std::collections::VecDeque;

use gadgetry::journal::OpenQuestion;
use gadgetry::log::{Entry, Header};
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of one entry of a run. Restate refuses messages of 32 MiB, and then it repeats the step that made one forever.
pub const MAX_ENTRY: usize = 10_000_000;

/// Bytes after which a batch is full.
const FULL: usize = 4 << 20;

/// The first line of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Head {
    /// The version of the format.
    pub(crate) version: u32,
    /// What the run does next.
    pub(crate) then: Then,
    /// The questions that are open, if others were before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) questions: Option<Vec<OpenQuestion>>,
}

/// The version of the format of a batch.
pub(crate) const VERSION: u32 = 1;

/// What a run does after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Then {
    /// It works on; the next step has this name.
    Work(String),
    /// It waits for the message with this number, because nothing else can happen.
    Wait {
        /// The number of the next message of the inbox.
        message: u64,
    },
    /// It has ended with this result.
    End(Value),
    /// It cannot continue, for this reason.
    Fail {
        /// As an HTTP status.
        code: u16,
        /// The reason.
        message: String,
    },
}

/// A line of a batch, as it is read: something that happened in a run or in one of its subagents.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Line {
    /// The run; empty for the outermost one, as `5.0` for a subagent.
    #[serde(default)]
    pub(crate) run: String,
    /// What.
    pub(crate) what: What,
}

/// What a line says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum What {
    /// The run was begun with this header.
    Begin(Box<Header>),
    /// An input.
    Entry(Box<Entry>),
    /// The input before this line came from this message.
    Took(u64),
    /// The run and its subagents were removed.
    Forget,
}

/// A [`Line`], as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    run: &'a str,
    what: WrittenWhat<'a>,
}

/// A [`What`], as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WrittenWhat<'a> {
    Begin(&'a Header),
    Entry {
        #[serde(rename = "timeMs")]
        time: Time,
        input: &'a Input,
    },
    Took(u64),
    Forget,
}

impl WrittenWhat<'_> {
    /// The line of a run, without its end.
    pub(crate) fn line(self, run: &str) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Written { run, what: self })
    }
}

/// The lines that are to be kept, and who waits for that.
#[derive(Debug)]
pub(crate) struct Outbox<W> {
    lines: VecDeque<String>,
    /// How many lines were acknowledged so far.
    kept: u64,
    /// How many of the lines are in the batch that Restate has not acknowledged yet.
    sent: usize,
    /// Who waits for how many lines.
    waiting: VecDeque<(u64, W)>,
}

impl<W> Default for Outbox<W> {
    fn default() -> Self {
        Self {
            lines: VecDeque::new(),
            kept: 0,
            sent: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<W> Outbox<W> {
    /// Adds lines. `waits` comes out of [`Outbox::acknowledge`] once all of them are kept.
    pub(crate) fn push(&mut self, lines: impl IntoIterator<Item = String>, waits: W) {
        self.lines.extend(lines);
        self.waiting
            .push_back((self.kept + self.lines.len() as u64, waits));
    }

    /// Whether nothing is to be kept, and no one waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next batch: as many lines as it has room for, always the first one. The same again until it is acknowledged.
    /// Also whether these are all.
    pub(crate) fn batch(&mut self) -> (String, bool) {
        let mut text = String::new();
        self.sent = 0;
        for line in &self.lines {
            if self.sent > 0 && text.len() + line.len() > FULL {
                break;
            }
            text.push_str(line);
            text.push('\n');
            self.sent += 1;
        }
        (text, self.sent == self.lines.len())
    }

    /// Restate has the last batch. Returns those who need not wait any longer.
    pub(crate) fn acknowledge(&mut self) -> Vec<W> {
        self.lines.drain(..self.sent);
        self.kept += self.sent as u64;
        self.sent = 0;
        let mut done = Vec::new();
        while self
            .waiting
            .front()
            .is_some_and(|(lines, _)| *lines <= self.kept)
        {
            done.extend(self.waiting.pop_front().map(|(_, waits)| waits));
        }
        done
    }
}

/// Writes a batch.
pub(crate) fn write(head: &Head, lines: &str) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(head)?;
    text.push('\n');
    text.push_str(lines);
    Ok(text)
}

/// Reads the head of a batch, and the text of its lines.
pub(crate) fn read(batch: &str) -> Result<(Head, &str), String> {
    let (head, lines) = batch.split_once('\n').unwrap_or((batch, ""));
    let head: Head = serde_json::from_str(head).map_err(|error| error.to_string())?;
    if head.version != VERSION {
        return Err(format!(
            "it has format version {}, and this gadgetry reads version {VERSION}",
            head.version
        ));
    }
    Ok((head, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each batch has, of lines of these lengths, and who need not wait after it.
    #[track_caller]
    fn check(commits: &[&[usize]], batches: &[(usize, &[usize])]) {
        let mut outbox = Outbox::default();
        for (waits, lengths) in commits.iter().enumerate() {
            outbox.push(lengths.iter().map(|length| "x".repeat(*length)), waits);
        }
        for (number, (lines, done)) in batches.iter().enumerate() {
            let (text, is_all) = outbox.batch();
            assert_eq!(text.lines().count(), *lines, "batch {number}");
            assert_eq!(is_all, number + 1 == batches.len(), "batch {number}");
            // The same again, if Restate has not taken it.
            assert_eq!(outbox.batch(), (text, is_all));
            assert_eq!(outbox.acknowledge(), *done, "batch {number}");
        }
        assert!(outbox.is_empty());
        assert_eq!(outbox.batch(), (String::new(), true));
    }

    #[test]
    fn batches_have_room_for_any_line() {
        check(&[&[]], &[(0, &[0])]);
        check(&[&[1, 2], &[3]], &[(3, &[0, 1])]);
        check(&[&[1], &[FULL]], &[(1, &[0]), (1, &[1])]);
        check(
            &[&[FULL, FULL], &[], &[1]],
            &[(1, &[]), (1, &[0, 1]), (1, &[2])],
        );
        check(&[&[MAX_ENTRY], &[1]], &[(1, &[0]), (1, &[1])]);
    }

    #[test]
    fn a_batch_is_read_as_it_was_written() {
        let head = Head {
            version: VERSION,
            then: Then::Work("model/1".to_owned()),
            questions: Some(Vec::new()),
        };
        let text = write(&head, "one\ntwo\n").unwrap();
        assert_eq!(read(&text), Ok((head, "one\ntwo\n")));
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert!(read(&newer).unwrap_err().contains("version 2"));
        assert!(read("nothing").is_err());
    }
}
