//! A call of a gadget: its parameters while the model writes them, its time while it runs, and its result.

use std::borrow::Cow;
use std::mem;
use std::time::Duration;

use gadgetry::proto::call::Parameters;
use gadgetry::proto::event::Ancestor;
use gadgetry::proto::id::CallId;
use gadgetry::proto::visible::{output_line, uncolored};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use crate::calls::{self, EDITING, READING, body, change};
use crate::chat::text::{BAD, BOLD, DIM, GOOD, NAME, clean, long_line};
use crate::lines::{counted, short};

/// Lines of a result that are shown; of the output of a command, the last ones.
const RESULT_LINES: usize = 5;
/// Time that is worth showing.
const LONG: Duration = Duration::from_secs(1);
/// Lines of a diff in a result that are shown.
pub(super) const DIFF_LINES: usize = 40;
/// Characters of a line of a result that are shown.
const LINE_CHARS: usize = 200;
/// Bytes of a text that are kept, from its end.
pub(super) const KEPT_BYTES: usize = 256 << 10;
/// Lines at the end of an argument that are shown while it is written.
const ARGUMENT_LINES: usize = 4;
/// How a call ended that has no answer.
const ENDED: &str = "ended with the run";
/// Bytes of an argument that are kept to show them.
const ARGUMENT_BYTES: usize = 2 << 10;

#[derive(Debug)]
pub(super) struct CallItem {
    path: Vec<Ancestor>,
    call: CallId,
    gadget: String,
    /// The name, or a verb for a built-in gadget.
    name: String,
    parameters: String,
    /// The file that it is about; empty without one.
    file: String,
    /// The idempotency key, once it runs.
    key: String,
    phase: Phase,
    /// The end of its command line, if that is longer than its title, and of its answer.
    command: String,
    whole: String,
}

#[derive(Debug)]
enum Phase {
    /// The model writes the call: the argument so far.
    Writing { field: String, text: String },
    /// The call waits for others, or for approval.
    Waiting,
    /// The call runs.
    Running {
        since: Duration,
        progress: Option<String>,
        /// The end of what its command has written.
        output: String,
    },
    /// The call is answered.
    Done {
        fate: Fate,
        /// After the head of the call, such as `exit 1`.
        remark: String,
        text: String,
        /// About a command that ran after an edit and failed: how it ended, and its last lines.
        check: String,
        took: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Succeeded,
    Failed,
    Skipped,
    Abandoned,
}

impl CallItem {
    /// A call whose header was read.
    pub(super) fn new(path: Vec<Ancestor>, call: CallId, name: &str) -> Self {
        Self {
            path,
            call,
            gadget: name.to_owned(),
            name: calls::name_of(name),
            parameters: String::new(),
            file: String::new(),
            key: String::new(),
            phase: Phase::Writing {
                field: String::new(),
                text: String::new(),
            },
            command: String::new(),
            whole: String::new(),
        }
    }

    pub(super) fn is(&self, path: &[Ancestor], call: CallId) -> bool {
        self.call == call && self.path == path
    }

    /// Returns whether the run of `other`, a subagent, was begun by this call.
    pub(super) fn has_begun(&self, other: &Self) -> bool {
        let begun = other.path.split_last();
        begun.is_some_and(|(last, path)| path == self.path && last.call == self.call)
    }

    /// Returns whether this is a call of the run that `other` is of, or of one below it.
    pub(super) fn is_in_run_of(&self, other: &Self) -> bool {
        self.path.starts_with(&other.path)
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    pub(super) fn argument(&mut self, path: &str, delta: &str) {
        if let Phase::Writing { field, text } = &mut self.phase {
            if field != path {
                path.clone_into(field);
                text.clear();
            }
            text.push_str(delta);
            if text.len() > 2 * ARGUMENT_BYTES {
                let from = text.ceil_char_boundary(text.len() - ARGUMENT_BYTES);
                text.drain(..from);
            }
        }
    }

    pub(super) fn written(&mut self, parameters: &Parameters) {
        self.parameters = match parameters {
            Parameters::Parsed(parameters) => self.title(parameters),
            Parameters::Malformed(error) => format!("(malformed: {})", short(error)),
        };
        self.phase = Phase::Waiting;
    }

    pub(super) fn start(&mut self, now: Duration, parameters: &Value, key: String) {
        self.parameters = self.title(parameters);
        self.key = key;
        self.restart(now);
    }

    pub(super) fn restart(&mut self, now: Duration) {
        self.phase = Phase::Running {
            since: now,
            progress: None,
            output: String::new(),
        };
    }

    pub(super) fn report(&mut self, message: &str) {
        if let Phase::Running { progress, .. } = &mut self.phase {
            *progress = Some(short(message));
        }
    }

    /// Takes the end of what its command has written so far.
    pub(super) fn output(&mut self, end: &str) {
        if let Phase::Running { output, .. } = &mut self.phase {
            end.clone_into(output);
        }
    }

    /// Takes the end of what its command has written, which a result without it would remove from the screen.
    fn take_output(&mut self) -> String {
        match &mut self.phase {
            Phase::Running { output, .. } => mem::take(output),
            Phase::Writing { .. } | Phase::Waiting | Phase::Done { .. } => String::new(),
        }
    }

    pub(super) fn has_key(&self, key: &str) -> bool {
        self.is_running() && self.key == key
    }

    /// Returns the words for the parameters, and takes the verb of a built-in gadget.
    fn title(&mut self, parameters: &Value) -> String {
        let path = calls::path(&self.gadget, parameters);
        path.clone_into(&mut self.file);
        let command = parameters["command"].as_str().unwrap_or_default();
        if command.contains('\n') || short(command) != command {
            self.command = end_of(command);
        }
        match calls::title(&self.gadget, parameters) {
            Some((verb, about)) => {
                verb.clone_into(&mut self.name);
                short(&about)
            }
            // The result, or the question, shows it.
            None if ["TellUser", "AskUser"].contains(&&*self.gadget) => String::new(),
            None => summary(parameters),
        }
    }

    /// The gadget and its file.
    pub(super) fn subject(&self) -> (&str, &str) {
        (&self.gadget, &self.file)
    }

    /// Takes the answer. `was_seen` says whether the user has seen the change of the file already.
    pub(super) fn answer(&mut self, is_ok: bool, text: &str, took: Duration, was_seen: bool) {
        self.whole = end_of(text);
        let output = self.take_output();
        let mut fate = if is_ok { Fate::Succeeded } else { Fate::Failed };
        let mut remark = String::new();
        let gadget = &*self.gadget;
        let check = calls::failed_check(gadget, text).filter(|_| is_ok);
        let check = check.map(|check| {
            let head = format!("{} · {}", short(check.command), check.how);
            format!("after the edit: {head}\n{}", last_lines(check.output))
        });
        let text = if !is_ok {
            let error = calls::error_of(text);
            let of_command = error.split_once("\n\n").filter(|_| gadget == "RunCommand");
            let (error, written) = of_command.unwrap_or((error, &output));
            if of_command.is_none() && !output.is_empty() {
                self.whole = format!("{text}\n\n{output}");
            }
            after(last_lines(written), &excerpt(error))
        } else if let Some(words) = calls::remark(gadget, text) {
            remark = words;
            let diff = change(text).filter(|_| EDITING.contains(&gadget) && !was_seen);
            diff.map_or_else(String::new, excerpt)
        } else if gadget == "RunCommand" {
            if let Some(how) = calls::failure(gadget, text) {
                (fate, remark) = (Fate::Failed, how);
            }
            last_lines(body(text))
        } else {
            excerpt(text)
        };
        self.phase = Phase::Done {
            fate,
            remark,
            text,
            check: check.unwrap_or_default(),
            took,
        };
    }

    /// It does not run, because a call failed on which it depends.
    pub(super) fn skip(&mut self, error: &str) {
        self.phase = Phase::Done {
            fate: Fate::Skipped,
            remark: "skipped".to_owned(),
            text: excerpt(error),
            check: String::new(),
            took: Duration::ZERO,
        };
    }

    /// No more events about it come.
    pub(super) fn abandon(&mut self) {
        if !self.is_complete() {
            let output = self.take_output();
            self.whole = format!("{ENDED}\n\n{output}");
            self.phase = Phase::Done {
                fate: Fate::Abandoned,
                remark: String::new(),
                text: after(last_lines(&output), ENDED),
                check: String::new(),
                took: Duration::ZERO,
            };
        }
    }

    fn is_success(&self) -> bool {
        let fate = Fate::Succeeded;
        matches!(&self.phase, Phase::Done { fate: it, .. } if *it == fate)
    }

    /// What the whole of it shows of its answer.
    pub(super) fn whole_text(&self) -> &str {
        &self.whole
    }

    /// What its command has written so far, if it runs.
    pub(super) fn output_so_far(&self) -> Option<&str> {
        match &self.phase {
            Phase::Running { output, .. } if !output.is_empty() => Some(output),
            Phase::Running { .. } | Phase::Writing { .. } | Phase::Waiting | Phase::Done { .. } => {
                None
            }
        }
    }

    /// The call with its whole answer, or with all that is known of the output of its command.
    pub(super) fn whole(&self, now: Duration) -> Vec<Line<'static>> {
        let mut lines = self.lines(now);
        let so_far = self.output_so_far();
        if !self.is_complete() && so_far.is_none() {
            return lines;
        }
        lines.truncate(1);
        let indent = "  ".repeat(self.path.len() + 1);
        for line in self.command.lines() {
            lines.push(Line::raw(format!("{indent}$ {}", clean(line))));
        }
        let text = match &*self.gadget {
            _ if so_far.is_some() => so_far.unwrap_or_default(),
            "RunCommand" if !body(&self.whole).is_empty() => body(&self.whole),
            gadget if EDITING.contains(&gadget) => change(&self.whole).unwrap_or(&self.whole),
            gadget if READING.contains(&gadget) && self.is_success() => body(&self.whole),
            _ => &self.whole,
        };
        let text = text.trim_end();
        let is_diff = is_diff(text);
        for line in text.lines() {
            let style = if is_diff { diff_style(line) } else { DIM };
            let line = clean(&undecorated(line, is_diff));
            lines.push(Line::styled(format!("{indent}{line}"), style));
        }
        lines
    }

    pub(super) fn lines(&self, now: Duration) -> Vec<Line<'static>> {
        let indent = "  ".repeat(self.path.len());
        let (mark, style, took) = match &self.phase {
            Phase::Writing { .. } | Phase::Waiting => ("·", DIM, None),
            Phase::Running { since, .. } => (spinner(now), NAME, Some(now.saturating_sub(*since))),
            Phase::Done { fate, took, .. } => {
                let (mark, style) = match fate {
                    Fate::Succeeded => ("✓", GOOD),
                    Fate::Failed => ("✗", BAD),
                    Fate::Skipped | Fate::Abandoned => ("-", DIM),
                };
                (mark, style, Some(*took).filter(|it| *it >= LONG))
            }
        };
        let mut head = vec![
            Span::raw(indent.clone()),
            Span::styled(format!("{mark} "), style),
            Span::styled(self.name.clone(), BOLD),
        ];
        if !self.parameters.is_empty() {
            head.push(Span::raw(format!(" {}", self.parameters)));
        }
        if let Phase::Done { remark, fate, .. } = &self.phase
            && !remark.is_empty()
        {
            let style = if *fate == Fate::Failed { BAD } else { DIM };
            head.push(Span::styled(format!(" · {remark}"), style));
        }
        if let Some(took) = took {
            head.push(Span::styled(format!(" {}", seconds(took)), DIM));
        }
        let mut lines = vec![Line::from(head)];
        let mut below = |text: String, style: Style| {
            let text = format!("{indent}  {text}");
            lines.push(Line::from(Span::styled(text, style)));
        };
        match &self.phase {
            Phase::Writing { field, text } => {
                let skipped = text.lines().count().saturating_sub(ARGUMENT_LINES);
                let label = |index: usize| {
                    if index == 0 {
                        format!("{}: ", clean(field))
                    } else {
                        "  ".to_owned()
                    }
                };
                for (index, line) in text.lines().skip(skipped).enumerate() {
                    below(format!("{}{}", label(index), clean(line)), DIM);
                }
            }
            Phase::Waiting => {}
            Phase::Running {
                progress, output, ..
            } => {
                if let Some(progress) = progress {
                    below(progress.clone(), DIM);
                }
                for line in last_lines(output).lines() {
                    below(clean(line), DIM);
                }
            }
            Phase::Done {
                fate, text, check, ..
            } => {
                for line in text.lines() {
                    let is_output = self.gadget == "RunCommand";
                    let style = if *fate == Fate::Failed && !is_output {
                        BAD
                    } else {
                        result_style(text, line)
                    };
                    below(clean(line), style);
                }
                for line in check.trim_end().lines() {
                    below(clean(line), BAD);
                }
            }
        }
        lines
    }
}

/// The spinner at a time.
pub(super) fn spinner(now: Duration) -> &'static str {
    const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    let frame = now.as_millis() / 100 % 10;
    FRAMES[usize::try_from(frame).unwrap_or_default()]
}

/// A time in seconds.
pub(super) fn seconds(time: Duration) -> String {
    if time < Duration::from_mins(1) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

/// The style of a line of a diff.
pub(super) fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => NAME,
        Some(_) | None => DIM,
    }
}

fn result_style(text: &str, line: &str) -> Style {
    if is_diff(text) { diff_style(line) } else { DIM }
}

/// The output of a command, and how it ended.
fn after(mut output: String, end: &str) -> String {
    if !output.is_empty() && !end.is_empty() {
        output.push('\n');
    }
    output + end
}

/// The end of a text that is kept.
pub(super) fn end_of(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(KEPT_BYTES));
    text[from..].to_owned()
}

fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@ "))
}

/// The last lines of the output of a command, because they say how it ended.
pub(super) fn last_lines(text: &str) -> String {
    let text = text.trim_end();
    let skipped = text.lines().count().saturating_sub(RESULT_LINES);
    let mut out = Vec::new();
    if skipped > 0 {
        out.push(format!("… {} before", counted(skipped, "line")));
    }
    let last = text.lines().skip(skipped);
    out.extend(last.map(|line| long_line(&output_line(line), LINE_CHARS).into_owned()));
    out.join("\n")
}

/// The first lines of a result, and how many follow.
fn excerpt(text: &str) -> String {
    let text = text.trim_end();
    let is_diff = is_diff(text);
    let shown = if is_diff { DIFF_LINES } else { RESULT_LINES };
    let lines = text.lines().count();
    let first = text.lines().take(shown);
    let line = |line| long_line(&undecorated(line, is_diff), LINE_CHARS).into_owned();
    let mut out: Vec<String> = first.map(line).collect();
    if lines > shown {
        out.push(format!("… {}", counted(lines - shown, "more line")));
    }
    out.join("\n")
}

/// A line of a result; of a diff with everything that is in the file.
fn undecorated(line: &str, is_diff: bool) -> Cow<'_, str> {
    if is_diff {
        line.into()
    } else {
        uncolored(line)
    }
}

/// Parameters in a few words: the value if there is one, otherwise names and values.
fn summary(parameters: &Value) -> String {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let words = match parameters.as_object() {
        Some(fields) if fields.len() == 1 => fields.values().map(text).collect(),
        Some(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}={}", short(&text(value))));
            fields.collect::<Vec<_>>().join(" ")
        }
        None => text(parameters),
    };
    short(&words)
}
