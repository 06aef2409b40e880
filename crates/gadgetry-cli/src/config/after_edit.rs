//! `after-edit`: commands that run after a file was changed.

use std::time::Duration;

use gadgetry::command::parse_duration;
use gadgetry_builtins::AfterEdit;

use super::layer::unknown;
use super::value::{Item, Value};
use crate::error::Error;
use crate::options::Place;

/// Commands of a file.
const MOST: usize = 100;
const KEYS: [&str; 3] = ["files", "command", "timeout"];

/// A command of `after-edit`.
#[derive(Clone, Debug)]
pub(crate) struct AfterEditCommand {
    pub(crate) command: AfterEdit,
    /// The command line, as written.
    pub(crate) line: String,
    /// The globs of its files, as written; none for all files.
    pub(crate) files: Vec<String>,
    pub(crate) place: Place,
}

impl AfterEditCommand {
    /// The command as the user is shown it.
    pub(super) fn written(&self) -> String {
        let Self { line, files, .. } = self;
        let files = if files.is_empty() {
            String::new()
        } else {
            format!(" {files:?}")
        };
        format!("after-edit{files} = {line:?}")
    }
}

/// Reads `after-edit`: a list of command lines, and of tables with `command` and optionally `files` and `timeout`.
pub(super) fn after_edit(item: &Item) -> Result<Vec<AfterEditCommand>, Error> {
    let Value::List(items) = &item.value else {
        return Err(item.wrong_type("after-edit", "a list of commands"));
    };
    if let Some(item) = items.get(MOST) {
        let problem = format_args!("after-edit has more than {MOST} commands");
        return Err(item.place.error(problem));
    }
    items.iter().map(command).collect()
}

fn command(item: &Item) -> Result<AfterEditCommand, Error> {
    if let Value::Text(text) = &item.value {
        return Ok(AfterEditCommand {
            command: AfterEdit::new(text.as_str()),
            line: text.clone(),
            files: Vec::new(),
            place: item.place.clone(),
        });
    }
    let (mut files, mut line, mut timeout) = (Vec::new(), None, None);
    for entry in item.table("after-edit")? {
        let (key, place) = (entry.key.as_str(), &entry.item.place);
        match key {
            "files" => files = entry.item.texts(key)?,
            "command" => line = Some(entry.item.text(key)?.to_owned()),
            "timeout" => {
                let text = entry.item.text(key)?;
                let parsed = parse_duration(text).filter(|it| *it > Duration::ZERO);
                timeout = Some(parsed.ok_or_else(|| {
                    place.error(format_args!("{text:?} is not a duration such as 30s"))
                })?);
            }
            _ => return Err(unknown(entry, KEYS)),
        }
    }
    let missing = || item.place.error("after-edit needs a command");
    let line = line.ok_or_else(missing)?;
    let mut command = AfterEdit::new(line.as_str());
    for (glob, place) in &files {
        let added = command.files([glob]);
        command = added.map_err(|problem| place.error(problem))?;
    }
    if let Some(timeout) = timeout {
        command = command.timeout(timeout);
    }
    Ok(AfterEditCommand {
        command,
        line,
        files: files.into_iter().map(|(glob, _)| glob).collect(),
        place: item.place.clone(),
    })
}
