//! The result of one step of a run, as Restate stores it: lines of the run's journal, and what the run does next.
//!
//! It is JSON Lines, so that it can be read in Restate's own pages: first a [`StepHead`], then one [`Line`] each.

use std::collections::VecDeque;

use gadgetry::journal::OpenQuestion;
use gadgetry::log::{Entry, LogHeader};
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of bytes after which a step is full.
const FULL: usize = 4 << 20;

/// The first line of a step's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StepHead {
    /// The version of the format.
    pub(crate) version: u32,
    /// The next action of the run.
    #[serde(rename = "then")]
    pub(crate) next: NextAction,
    /// The questions that are open, if others were before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) questions: Option<Vec<OpenQuestion>>,
}

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The action of a run after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum NextAction {
    /// The run works on; the next step has this name.
    Work(String),
    /// The run waits for the message with this number, because nothing else can happen.
    Wait {
        /// The number of the next message of the inbox.
        message: u64,
    },
    /// The run has ended with this result.
    End(Value),
    /// The run cannot continue, for this reason.
    Fail {
        /// As an HTTP status.
        code: u16,
        /// The reason.
        message: String,
    },
}

/// A line of a step's result, as it is read: something that happened in a run or in one of its subagents.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Line {
    /// The run; empty for the outermost one, as `5.0` for a subagent.
    #[serde(default)]
    pub(crate) run: String,
    /// The thing that happened.
    #[serde(rename = "what")]
    pub(crate) content: LineContent,
}

/// The content of a [`Line`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LineContent {
    /// The run was begun with this header.
    Begin(Box<LogHeader>),
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
struct LineRef<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    run: &'a str,
    #[serde(rename = "what")]
    content: LineContentRef<'a>,
}

/// A [`LineContent`], as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LineContentRef<'a> {
    Begin(&'a LogHeader),
    Entry {
        #[serde(rename = "timeMs")]
        time: Time,
        input: &'a Input,
    },
    Took(u64),
    Forget,
}

impl LineContentRef<'_> {
    /// The line of a run, without its end.
    pub(crate) fn line(self, run: &str) -> Result<String, serde_json::Error> {
        serde_json::to_string(&LineRef { run, content: self })
    }
}

/// The lines that Restate does not have yet, and those who wait for that.
#[derive(Debug)]
pub(crate) struct StepBuffer<W> {
    lines: VecDeque<String>,
    /// Number of lines that were acknowledged so far.
    kept: u64,
    /// Number of lines in the step that Restate has not acknowledged yet.
    sent: usize,
    /// The number of lines that each of the waiting ones waits for.
    waiting: VecDeque<(u64, W)>,
}

impl<W> Default for StepBuffer<W> {
    fn default() -> Self {
        Self {
            lines: VecDeque::new(),
            kept: 0,
            sent: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<W> StepBuffer<W> {
    /// Adds lines. `waits` comes out of [`StepBuffer::acknowledge`] once all of them are kept.
    pub(crate) fn push(&mut self, lines: impl IntoIterator<Item = String>, waits: W) {
        self.lines.extend(lines);
        self.waiting
            .push_back((self.kept + self.lines.len() as u64, waits));
    }

    /// Returns whether nothing is to be kept, and no one waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the lines of the next step: as many as there is room for, always the first one. The same again until they are
    /// acknowledged. Also returns whether these are all.
    pub(crate) fn next_lines(&mut self) -> (String, bool) {
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

    /// Takes note that Restate has the last step. Returns those who need not wait any longer.
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

/// Writes the result of a step.
pub(crate) fn write(head: &StepHead, lines: &str) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(head)?;
    text.push('\n');
    text.push_str(lines);
    Ok(text)
}

/// Reads the result of a step: its head, and the text of its lines.
pub(crate) fn read(result: &str) -> Result<(StepHead, &str), String> {
    let (head, lines) = result.split_once('\n').unwrap_or((result, ""));
    let head: StepHead = serde_json::from_str(head).map_err(|error| error.to_string())?;
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
    use crate::protocol::MAX_ENTRY;

    /// Checks what each step has of lines of these lengths, and who need not wait after it.
    #[track_caller]
    fn check(commits: &[&[usize]], steps: &[(usize, &[usize])]) {
        let mut buffer = StepBuffer::default();
        for (waits, lengths) in commits.iter().enumerate() {
            buffer.push(lengths.iter().map(|length| "x".repeat(*length)), waits);
        }
        for (number, (lines, done)) in steps.iter().enumerate() {
            let (text, is_all) = buffer.next_lines();
            assert_eq!(text.lines().count(), *lines, "step {number}");
            assert_eq!(is_all, number + 1 == steps.len(), "step {number}");
            // The same again, if Restate has not taken it.
            assert_eq!(buffer.next_lines(), (text, is_all));
            assert_eq!(buffer.acknowledge(), *done, "step {number}");
        }
        assert!(buffer.is_empty());
        assert_eq!(buffer.next_lines(), (String::new(), true));
    }

    #[test]
    fn steps_have_room_for_any_line() {
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
    fn a_step_is_read_as_it_was_written() {
        let head = StepHead {
            version: VERSION,
            next: NextAction::Work("model/1".to_owned()),
            questions: Some(Vec::new()),
        };
        let text = write(&head, "one\ntwo\n").unwrap();
        assert_eq!(read(&text), Ok((head, "one\ntwo\n")));
        let newer = text.replace("\"version\":1", "\"version\":2");
        assert!(read(&newer).unwrap_err().contains("version 2"));
        assert!(read("nothing").is_err());
    }

    /// Restate has steps of earlier versions.
    #[test]
    fn the_format_stays() {
        let head = StepHead {
            version: VERSION,
            next: NextAction::Wait { message: 2 },
            questions: None,
        };
        let line = LineContentRef::Took(2).line("5.0").unwrap();
        let text = write(&head, &line).unwrap();
        assert_eq!(
            text,
            "{\"version\":1,\"then\":{\"wait\":{\"message\":2}}}\n{\"run\":\"5.0\",\"what\":{\"took\":2}}"
        );
        let line: Line = serde_json::from_str(&line).unwrap();
        assert!(matches!(line.content, LineContent::Took(2)), "{line:?}");
    }
}
