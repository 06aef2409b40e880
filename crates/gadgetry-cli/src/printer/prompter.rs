//! Questions at the terminal, in lines.
//!
//! Each row of a question begins with a mark of the program, also where the terminal would wrap it. So no text of others looks
//! like a question, a note or a prompt of ours.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use tokio::sync::Mutex;

use super::held;
use super::spinner::Pause;
use crate::lines::one_line;
use crate::pages::{Mark, Row, Shade, exact, more, pages};

/// The columns that are assumed if the terminal has none.
const COLUMNS: usize = 80;
/// The least columns for the text of a row.
const LEAST: usize = 20;

/// One question at a time, because there is one stdin: an answer must not reach another question.
static TURN: Mutex<()> = Mutex::const_new(());

/// Asks the user at the terminal.
#[derive(Debug)]
pub(crate) struct Prompter(pub(super) Option<Pause>);

impl Prompter {
    /// The line that the user types; `None` at the end of the input.
    ///
    /// Cancel safety: dropping the future leaves a thread that reads a line.
    pub(crate) async fn ask(&self, question: String) -> Option<String> {
        let _turn = TURN.lock().await;
        let _asking = self.begin();
        let read =
            tokio::task::spawn_blocking(move || line_after(&question_text(&question), false));
        let line = read.await.ok().flatten()?;
        Some(without_end(&line))
    }

    /// The line that the user types about a call, which is an answer; `None` at the end of the input. What was typed before
    /// the question does not count. Until the last page was shown, only a refusal counts.
    ///
    /// Cancel safety: dropping the future leaves a thread that reads a line.
    pub(crate) async fn approve(
        &self,
        head: &str,
        pages: &[Vec<Row>],
        answers: &str,
        is_answer: &(dyn Fn(&str) -> bool + Sync),
    ) -> Option<String> {
        let _turn = TURN.lock().await;
        let _asking = self.begin();
        let columns = columns();
        let mut text = marked(HEAD, &exact(head), columns);
        for (index, page) in pages.iter().enumerate() {
            text.extend(page.iter().map(|row| shown(row, columns)));
            let rest = &pages[index + 1..];
            let answers = if rest.is_empty() {
                answers.to_owned()
            } else {
                format!("Enter shows more ({}), n no, n REASON", more(rest))
            };
            loop {
                text += &worded(ANSWERS, &exact(&answers), columns);
                text += PROMPT;
                let shown = std::mem::take(&mut text);
                let read = tokio::task::spawn_blocking(move || line_after(&shown, true));
                let line = read.await.ok().flatten()?;
                let is_more = !rest.is_empty() && line.trim().is_empty();
                if is_more {
                    break;
                }
                let refuses = || line.trim_start().starts_with(['n', 'N']);
                if is_answer(&line) && (rest.is_empty() || refuses()) {
                    return Some(line);
                }
            }
        }
        None
    }

    fn begin(&self) -> Asking<'_> {
        held::begin();
        if let Some(pause) = &self.0 {
            pause.begin();
        }
        Asking(self)
    }
}

/// A question is open: the spinner is away, and progress is held. Dropping it ends that.
struct Asking<'a>(&'a Prompter);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        held::end();
        if let Some(pause) = &self.0.0 {
            pause.end();
        }
    }
}

/// The marks of a row and of its continuation.
type Marks = (&'static str, &'static str);
const HEAD: Marks = ("  ? ", "  : ");
const LINE: Marks = ("  | ", "  : ");
const NOTE: Marks = ("  - ", "  : ");
const REST: Marks = ("  : ", "  : ");
const ITEM: Marks = ("  ", "  : ");
const ANSWERS: Marks = ("  ", "  : ");
const REST_OF_LINE: Marks = ("", "      ");
const PROMPT: &str = "  > ";

fn shown(row: &Row, columns: usize) -> String {
    let (marks, shade) = match row.mark {
        Mark::Note => (NOTE, Shade::Plain),
        Mark::Item => (ITEM, Shade::Plain),
        Mark::Line(shade) => (LINE, shade),
        Mark::Rest(shade) => (REST, shade),
    };
    let text = match row.mark {
        Mark::Note | Mark::Item => worded(marks, &row.text, columns),
        Mark::Line(_) | Mark::Rest(_) => marked(marks, &row.text, columns),
    };
    let (on, off) = if colours() { codes(shade) } else { ("", "") };
    if on.is_empty() {
        return text;
    }
    let row = |row: &str| {
        let (mark, words) = row.split_at(marks.0.len());
        format!("{mark}{on}{words}{off}\n")
    };
    text.lines().map(row).collect()
}

/// A text in rows that the terminal does not wrap, each with a mark and a line break.
fn marked((first, rest): Marks, text: &str, columns: usize) -> String {
    let room = room_after(rest, columns);
    let mut out = String::from(first);
    let mut used = 0;
    for c in text.chars() {
        if used + width_of(c) > room {
            out.push('\n');
            out.push_str(rest);
            used = 0;
        }
        used += width_of(c);
        out.push(c);
    }
    out.push('\n');
    out
}

/// The same for words of the program: a row ends between two of them.
fn worded((first, rest): Marks, text: &str, columns: usize) -> String {
    let room = room_after(rest, columns);
    let mut rows = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let width: usize = word.chars().map(width_of).sum();
        let is_last = used + width - usize::from(word.ends_with(' ')) > room;
        if is_last && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push_str(word);
        }
    }
    let firsts = std::iter::once(first).chain(std::iter::repeat(rest));
    let rows = rows.iter().zip(firsts);
    rows.map(|(row, first)| marked((first, rest), row.trim_end(), columns))
        .collect()
}

/// Lines of progress in rows that the terminal does not wrap.
pub(super) fn rows(lines: &str) -> String {
    let columns = columns();
    let fits = |line: &str| line.chars().map(width_of).sum::<usize>() < columns;
    let rows = lines.split_inclusive('\n').map(|line| {
        if fits(line) {
            line.to_owned()
        } else {
            worded(REST_OF_LINE, line.trim_end_matches('\n'), columns)
        }
    });
    rows.collect()
}

/// The columns for the text of a row.
fn room_after(mark: &str, columns: usize) -> usize {
    columns.saturating_sub(mark.len() + 1).max(LEAST)
}

/// No terminal needs more columns for a character than this.
fn width_of(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

/// Rows as they are printed where no terminal wraps them.
pub(super) fn unwrapped(rows: &[Row]) -> String {
    rows.iter().map(|row| shown(row, usize::MAX)).collect()
}

/// Shows all rows, page by page, and returns the line that the user types after the last one; `no` if they do not read on, and
/// `None` at the end of the input.
pub(super) fn ask_about(head: &str, rows: Vec<Row>, question: &str) -> Option<String> {
    let columns = columns();
    let pages = pages(rows);
    let mut text = worded(("", "  : "), &exact(head), columns);
    for (index, page) in pages.iter().enumerate() {
        text.extend(page.iter().map(|row| shown(row, columns)));
        let rest = &pages[index + 1..];
        if rest.is_empty() {
            break;
        }
        let more = format!("Enter shows more ({}), n ends", more(rest));
        loop {
            text += &worded(ANSWERS, &more, columns);
            text += PROMPT;
            let line = line_after(&std::mem::take(&mut text), false)?;
            match line.trim() {
                "" => break,
                "n" | "N" | "no" => return Some("n".to_owned()),
                _ => {}
            }
        }
    }
    text += &question_text(question);
    line_after(&text, false).as_deref().map(without_end)
}

/// Returns the codes that switch a colour on and off.
fn codes(shade: Shade) -> (&'static str, &'static str) {
    match shade {
        Shade::Plain => ("", ""),
        Shade::Added => ("\x1b[32m", "\x1b[0m"),
        Shade::Removed => ("\x1b[31m", "\x1b[0m"),
    }
}

/// Returns whether stderr shows colours.
fn colours() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb()
}

/// Returns whether the terminal shows text and nothing else.
pub(super) fn is_dumb() -> bool {
    env::var_os("TERM").is_none_or(|terminal| terminal == "dumb")
}

/// Columns of the terminal, or the usual number of them.
fn columns() -> usize {
    columns_of(io::stderr()).unwrap_or(COLUMNS)
}

/// Columns of a terminal; `None` if they are unknown, or it is not a terminal.
#[cfg(unix)]
pub(super) fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

#[cfg(not(unix))]
pub(super) fn columns_of<S>(_: S) -> Option<usize> {
    None
}

/// Discards what was typed and not read: it answers no question that was not there yet.
fn forget_typed() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

fn question_text(question: &str) -> String {
    marked(HEAD, &one_line(question), columns()) + PROMPT
}

fn line_after(text: &str, forgets_typed: bool) -> Option<String> {
    let mut stderr = io::stderr();
    if forgets_typed {
        forget_typed();
    }
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
    let mut line = String::new();
    let bytes = io::stdin().read_line(&mut line).ok()?;
    (bytes > 0).then_some(line)
}

fn without_end(line: &str) -> String {
    line.trim_end_matches(['\r', '\n']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_mark() {
        let check = |text: &str, columns: usize, expected: &str| {
            assert_eq!(marked(LINE, text, columns), expected);
        };
        check("ls", 80, "  | ls\n");
        check("", 80, "  | \n");
        let text = format!("{}  ? forged  ", "x".repeat(75));
        let expected = format!("  | {}\n  :   ? forged  \n", "x".repeat(75));
        check(&text, 80, &expected);
        // Characters may take two columns, and rows are never too short to be read.
        check(
            &"語".repeat(11),
            10,
            &format!("  | {}\n  : 語\n", "語".repeat(10)),
        );
    }

    #[test]
    fn words_of_the_program_are_whole() {
        let check = |text: &str, columns: usize, expected: &str| {
            assert_eq!(worded(NOTE, text, columns), expected);
        };
        check("", 80, "  - \n");
        check("a file ", 80, "  - a file\n");
        check(
            "it asks before it runs a command",
            30,
            "  - it asks before it runs a\n  : command\n",
        );
        // Longer than a row.
        let long = "x".repeat(30);
        let expected = format!(
            "  - in\n  : {}\n  : {}\n  : is\n",
            "x".repeat(20),
            "x".repeat(10)
        );
        check(&format!("in {long} is"), 10, &expected);
    }
}
