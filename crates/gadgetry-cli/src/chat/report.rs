//! Output of slash commands, on the screen and in a pipe.

use std::fmt::Write as _;

use super::commands::COMMANDS;
use super::text::{clean, width};

/// Columns of the names of a table at most.
const WIDEST: usize = 24;

/// Style of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Information without a problem.
    Plain,
    /// A note that the user should read.
    Alert,
    /// A failure.
    Bad,
}

/// A part of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// A line.
    Note(Tone, String),
    /// Names, each with what it is.
    Table(Vec<(String, String)>),
    /// The change of a file, as a unified diff.
    Diff(String),
    /// The output of a command.
    Output(String),
}

impl Report {
    /// A line of information.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::Note(Tone::Plain, text.into())
    }

    /// The slash commands.
    pub(crate) fn commands() -> Vec<(String, String)> {
        let row = |name: &str, argument: &str| format!("{name} {argument}").trim_end().to_owned();
        let rows = COMMANDS.iter();
        let rows = rows.map(|it| (row(it.name, it.argument), it.summary.to_owned()));
        rows.collect()
    }

    /// Returns the lines of the report, as text without control characters.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        match self {
            Self::Note(_, note) => {
                for line in note.lines() {
                    let _ = writeln!(text, "{}", clean(line));
                }
            }
            Self::Table(rows) => {
                for (name, what) in padded(rows) {
                    let _ = writeln!(text, "{}", format!("  {name}  {what}").trim_end());
                }
            }
            Self::Diff(lines) | Self::Output(lines) => {
                for line in lines.lines() {
                    let _ = writeln!(text, "  {}", clean(line));
                }
            }
        }
        text
    }
}

/// The rows of a table, whose names are equally wide, without control characters.
pub(crate) fn padded(rows: &[(String, String)]) -> Vec<(String, String)> {
    let rows: Vec<_> = rows
        .iter()
        .map(|(name, what)| (clean(name), clean(what)))
        .collect();
    let widest = rows.iter().map(|(name, _)| width(name)).max();
    let widest = widest.unwrap_or_default().min(WIDEST);
    let pad = |name: &str| " ".repeat(widest.saturating_sub(width(name)));
    let rows = rows.into_iter();
    rows.map(|(name, what)| (name.clone() + &pad(&name), what))
        .collect()
}
