//! `gadgetry sessions list`: one line for each session.

use std::env;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gadgetry::proto::event::FinishReason;
use serde::Serialize;

use super::record::status;
use crate::cli::ListArgs;
use crate::error::Error;
use crate::lines::{age_words, one_line, short, tail};
use crate::printer::Printer;
use crate::sessions::{Session, Sessions};

const NONE: &str = "no sessions\n";
const HEAD: [&str; 7] = [
    "NAME", "STATUS", "AGE", "PROMPTS", "COST", "FOLDER", "TITLE",
];
/// Characters of a folder that are shown, from its end.
const FOLDER: usize = 32;

/// Runs the command.
pub(super) async fn run(args: &ListArgs, printer: &Printer) -> Result<(), Error> {
    let Some(sessions) = Sessions::existing(&args.data)? else {
        printer.progress(NONE);
        return Ok(());
    };
    let all = sessions.all().await?;
    if all.is_empty() {
        printer.progress(NONE);
    }
    let now = SystemTime::now();
    let mut rows = Vec::new();
    for session in &all {
        let listed = Listed::of(session)?;
        if args.json {
            printer.json(&listed)?;
            printer.flush_if_full()?;
        } else {
            rows.push(listed.row(now.duration_since(session.updated()).unwrap_or_default()));
        }
    }
    if !rows.is_empty() {
        printer.text(&table(&rows));
    }
    Ok(())
}

/// A session as the list shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<FinishReason>,
    created_ms: u64,
    updated_ms: u64,
    prompts: usize,
    /// `None` if the price of a model call is not known.
    cost: Option<f64>,
    known_cost: f64,
    folder: Option<String>,
    /// The beginning of the first prompt.
    title: String,
    last_prompt: String,
}

impl Listed {
    /// Nothing but the records of the runs is read for it, however long they are.
    fn of(session: &Session) -> Result<Self, Error> {
        let (_, last) = session.last()?;
        let first = session.runs.values().next().unwrap_or(last);
        let mut prompts = 0;
        for run in session.runs.values() {
            prompts += 1 + crate::sessions::details(run).map_or(0, |it| it.added.len());
        }
        Ok(Self {
            name: session.name.to_string(),
            status: status(last),
            reason: last.progress.summary.as_ref().map(|it| it.reason),
            created_ms: since_epoch(first.created),
            updated_ms: since_epoch(session.updated()),
            prompts,
            cost: session.total_cost(),
            known_cost: session.cost(),
            folder: session.folder(),
            title: crate::sessions::title(first),
            last_prompt: crate::sessions::title(last),
        })
    }

    fn row(&self, age: Duration) -> [String; HEAD.len()] {
        [
            self.name.clone(),
            self.status.to_owned(),
            age_words(age),
            self.prompts.to_string(),
            match self.cost {
                Some(cost) => format!("${cost:.4}"),
                None => "?".to_owned(),
            },
            shown(self.folder.as_deref().unwrap_or("?")),
            short(&self.title),
        ]
    }
}

/// The end of a folder's path, from the home directory if it is there.
fn shown(folder: &str) -> String {
    let home = env::var("HOME").ok().filter(|it| !it.is_empty());
    let below = home.and_then(|home| folder.strip_prefix(&home).map(|it| format!("~{it}")));
    let folder = one_line(&below.unwrap_or_else(|| folder.to_owned()));
    let length = folder.chars().count();
    if length <= FOLDER {
        return folder;
    }
    format!("…{}", tail(&folder, FOLDER - 1))
}

fn since_epoch(time: SystemTime) -> u64 {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The rows below their head.
fn table(rows: &[[String; HEAD.len()]]) -> String {
    let mut widths = HEAD.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let mut line = |cells: [&str; HEAD.len()]| {
        for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            // Writing to a string cannot fail. Numbers are aligned to the right.
            let _ = match column {
                0 => write!(out, "{cell:<width$}"),
                1 | 5 => write!(out, "  {cell:<width$}"),
                2..=4 => write!(out, "  {cell:>width$}"),
                _ => write!(out, "  {cell}"),
            };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line(HEAD);
    for row in rows {
        line(row.each_ref().map(String::as_str));
    }
    out
}
